package scimserver_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// emails returns an attribute with that many elements.
func emails(n int) []object {
	out := make([]object, n)
	for i := range out {
		out[i] = object{"value": fmt.Sprintf("user%06d@example.com", i), "type": "work"}
	}
	return out
}

func TestLimits_SizesOfValues(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		for _, tt := range []struct {
			name   string
			more   object
			status int
			typ    scim.Type
			detail string
		}{
			{"string", object{"title": strings.Repeat("x", 1001)}, 400, scim.InvalidValue, "a value of title has 1001 bytes; the limit is 1000"},
			{"sub-attribute", object{"name": object{"formatted": strings.Repeat("x", 1001)}}, 400, scim.InvalidValue, "name"},
			{"elements", object{"emails": emails(31)}, 400, scim.InvalidValue, "emails has 31 elements; the limit is 30"},
			{"resource", object{"title": strings.Repeat("x", 900), "nickName": strings.Repeat("x", 900), "displayName": strings.Repeat("x", 900),
				"locale": strings.Repeat("x", 900)}, 413, "", "the limit is 3000"},
			{"escapes", object{"title": strings.Repeat("\x01", 600)}, 413, "", "the limit is 3000"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got := h.do(t, http.MethodPost, "/Users", user("large", tt.more)).wantError(t, tt.status, tt.typ)
				require.Contains(t, got.text, tt.detail)
			})
		}
		small := h.newUser(t, "small", object{"emails": emails(30), "title": strings.Repeat("x", 1000)})
		h.patch(t, "/Users/"+small.id(), op("add", "emails", object{"value": "one@more"})).wantError(t, 400, scim.InvalidValue)
		h.patch(t, "/Users/"+small.id(), op("replace", "title", strings.Repeat("y", 1000))).want(t, 200)
		h.do(t, http.MethodPut, "/Users/"+small.id(), user("small", object{"emails": emails(31)})).wantError(t, 400, scim.InvalidValue)
	}, func(o *scimserver.Options) {
		o.Limits = scimserver.Limits{MaxValue: 1000, MaxElements: 30, MaxResource: 3000}
	})
}

// TestLimits_MembersAreNotCounted adds more members to a group than MaxElements and MaxResource allow for attributes.
func TestLimits_MembersAreNotCounted(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		var ids []string
		for i := range 8 {
			ids = append(ids, h.newUser(t, fmt.Sprint("m", i)).id())
		}
		g := h.newGroup(t, "team", ids...)
		require.Len(t, h.get(t, "/Groups/"+g.id()).want(t, 200).body.Array("members"), len(ids))
	}, func(o *scimserver.Options) { o.Limits = scimserver.Limits{MaxElements: 5, MaxResource: 400} })
}

// TestLimits_StoredResources changes a resource that was stored with higher limits.
func TestLimits_StoredResources(t *testing.T) {
	store := newMapStore()
	before := serve(t, store)
	id := before.newUser(t, "large", object{"emails": emails(50), "title": strings.Repeat("x", 2000)}).id()
	h := serve(t, store, func(o *scimserver.Options) {
		o.Limits = scimserver.Limits{MaxValue: 1000, MaxElements: 30, MaxResource: 3000}
	})
	path := "/Users/" + id
	h.get(t, path).want(t, 200)
	h.patch(t, path, op("replace", "title", strings.Repeat("y", 2000))).want(t, 200)
	h.patch(t, path, op("replace", "title", strings.Repeat("y", 2001))).wantError(t, 400, scim.InvalidValue)
	h.patch(t, path, op("add", "emails", object{"value": "one@more"})).wantError(t, 400, scim.InvalidValue)
	h.patch(t, path, op("add", "nickName", "Larger")).wantError(t, 413, "")
	h.patch(t, path, op("remove", "emails"), op("replace", "title", "Small")).want(t, 200)
	h.patch(t, path, op("add", "nickName", "Larger")).want(t, 200)
}

func TestLimits_PatchWork(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		id := h.newUser(t, "many", object{"emails": emails(100)}).id()
		operations := func(n int, path string) (ops []object) {
			for i := range n {
				ops = append(ops, op("replace", path, fmt.Sprint("t", i)))
			}
			return ops
		}
		for _, path := range []string{"emails.type", `emails[value eq "user000007@example.com"].type`} {
			got := h.patch(t, "/Users/"+id, operations(60, path)...).wantError(t, 413, "")
			require.Contains(t, got.text, "compare more than 2000 values")
			require.Equal(t, "1", h.get(t, filtered("/Users", `not (emails.type ne "work")`)).json("totalResults"), "nothing is changed")
		}
		h.patch(t, "/Users/"+id, operations(60, "title")...).want(t, 200)
	}, func(o *scimserver.Options) { o.Limits = scimserver.Limits{MaxPatchWork: 2000} })
}

func TestLimits_FilterWork(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		for i := range 20 {
			h.newUser(t, fmt.Sprint("u", i), object{"title": "Tour guide", "emails": emails(10)})
		}
		terms := func(n int) string { return strings.TrimSuffix(strings.Repeat(`title eq "x" or `, n), " or ") }
		h.get(t, filtered("/Users", terms(8))).want(t, 200)
		got := h.do(t, http.MethodGet, filtered("/Users", terms(9)), nil).wantError(t, 400, scim.InvalidFilter)
		require.Contains(t, got.text, "9 comparisons; the limit is 8")
		got = h.do(t, http.MethodGet, filtered("/Users", `emails.type eq "home" or emails.display eq "x"`), nil).wantError(t, 400, scim.TooMany)
		require.Contains(t, got.text, "more than 200 values")
		h.get(t, filtered("/Users", `userName eq "u1" and emails.type eq "work"`)).want(t, 200)
	}, func(o *scimserver.Options) { o.Limits = scimserver.Limits{MaxFilterTerms: 8, MaxFilterWork: 200} })
}

// TestLimits_Memory sends bodies that together exceed the memory of the server.
func TestLimits_Memory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limit  func(*scimserver.Options)
		status int
	}{
		{"own", func(o *scimserver.Options) { o.Limits.MaxMemory = 64 << 10 }, http.StatusTooManyRequests},
		{"shared", func(o *scimserver.Options) { o.Memory = scimserver.NewMemory(64 << 10) }, http.StatusServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := serve(t, newMapStore(), tt.limit)
			var send *io.PipeWriter
			var ended chan int
			// begin sends a part of a body. The server holds the buffer of this body while the rest does not arrive.
			begin := func() {
				var slow *io.PipeReader
				slow, send = io.Pipe()
				ended = make(chan int, 1)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/Users", slow)
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer "+token)
				go func(ended chan<- int) {
					resp, err := h.http.Do(req)
					_ = slow.Close()
					if err != nil {
						ended <- 0
						return
					}
					_ = resp.Body.Close()
					ended <- resp.StatusCode
				}(ended)
				_, _ = io.WriteString(send, `{"schemas":["`+scim.UserSchema+`"],"userName":"slow","title":"`+strings.Repeat("x", 33<<10))
			}
			begin()
			var got *response
			require.Eventually(t, func() bool {
				got = h.do(t, http.MethodPost, "/Users", user("quick", object{"title": strings.Repeat("y", 20<<10)}))
				select {
				case <-ended: // the server rejected the slow body, because it held the quick one
					begin()
					return false
				default:
					return got.status == tt.status
				}
			}, 30*time.Second, 50*time.Millisecond) // between two quick bodies, the server reads the slow one
			require.Equal(t, "1", got.header.Get("Retry-After"))
			h.get(t, "/Users").want(t, 200)
			require.NoError(t, send.CloseWithError(io.ErrUnexpectedEOF))
			<-ended
			require.Eventually(t, func() bool {
				return h.do(t, http.MethodPost, "/Users", user("after", object{"title": strings.Repeat("y", 20<<10)})).status != tt.status
			}, 30*time.Second, time.Millisecond, "the memory is free again")
		})
	}
	t.Run("one body", func(t *testing.T) {
		h := serve(t, newMapStore(), func(o *scimserver.Options) { o.Limits.MaxMemory = 64 << 10 })
		got := h.do(t, http.MethodPost, "/Users", `{"schemas":[`+strings.Repeat("1,", 4000)+`1]}`).wantError(t, 413, "")
		require.Contains(t, got.text, "65536 bytes of memory")
	})
}

// leavingStore calls leave when a scan has read some resources, and counts the resources that are read afterwards.
type leavingStore struct {
	scimserver.Store
	left  int // resources to read before leave is called
	leave func()
	after int
}

func (s *leavingStore) Scan(ctx context.Context, typ string, f filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
	return func(yield func(*scimserver.Record, error) bool) {
		for rec, err := range s.Store.Scan(ctx, typ, f, after) {
			switch {
			case s.left > 0:
				s.left--
			case s.left == 0:
				s.leave()
				s.left--
			default:
				s.after++
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// TestList_EndsWithItsClient cancels a request in the middle of a filter on all resources.
func TestList_EndsWithItsClient(t *testing.T) {
	store := newMapStore()
	for i := range 1000 {
		o, err := scim.DecodeResource(fmt.Appendf(nil, `{"schemas":[%q],"userName":"u%d"}`, scim.UserSchema, i))
		require.NoError(t, err)
		_, err = store.Create(t.Context(), &scimserver.Record{Type: "User", ID: fmt.Sprint("id-", i), Resource: o}, nil)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	leaving := &leavingStore{Store: store, left: 150, leave: cancel}
	h, err := scimserver.New(scimserver.Options{Store: leaving, Tokens: scimserver.StaticTokens(token)})
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/Users?filter=title+eq+%22x%22", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body)
	require.Less(t, leaving.after, 100, "at most the rest of a batch is read")
}
