package scimserver_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// byCursor requests a page by cursor, by GET or, with search, by POST.
func (h *harness) byCursor(t testing.TB, endpoint string, search bool, params object, cursor string) *response {
	t.Helper()
	params = maps.Clone(params)
	params["cursor"] = cursor
	if search {
		params["schemas"] = []string{scim.SearchRequestMessage}
		return h.do(t, http.MethodPost, endpoint+"/.search", params)
	}
	query := url.Values{}
	for name, value := range params {
		if name != "schemas" {
			query.Set(name, fmt.Sprint(value))
		}
	}
	return h.do(t, http.MethodGet, endpoint+"?"+query.Encode(), nil)
}

// cursors returns nextCursor and previousCursor, or "" if absent.
func (a *response) cursors(t testing.TB) (next, previous string) {
	t.Helper()
	for name, dest := range map[string]*string{"nextCursor": &next, "previousCursor": &previous} {
		if v, ok := a.body.Get(name); ok {
			require.Regexp(t, `^[A-Za-z0-9._~-]+$`, v, "unreserved characters only")
			*dest = v.(string)
		}
	}
	return next, previous
}

func labels(t testing.TB, a *response) []string {
	t.Helper()
	a.want(t, http.StatusOK)
	out := []string{}
	for _, r := range a.body.Array("Resources") {
		o := r.(*scim.Object)
		name := o.Text("userName")
		if name == "" {
			name = o.Text("displayName")
		}
		out = append(out, name)
	}
	require.Equal(t, fmt.Sprint(len(out)), a.json("itemsPerPage"))
	_, indexed := a.body.Get("startIndex")
	require.False(t, indexed, "a page by cursor has no index")
	return out
}

func TestCursors_WalkBothDirections(t *testing.T) {
	eachDatabase(t, func(t *testing.T, h *harness) {
		for i, name := range []string{"dan", "Bob", "carol", "ann", "eve", "fay", "Gus"} {
			more := object{"externalId": fmt.Sprint(i % 2)}
			if i%3 != 0 {
				more["title"], more["displayName"] = fmt.Sprint("t", i%2), fmt.Sprint("d", i%2)
			}
			h.newUser(t, name, more)
		}
		for _, name := range []string{"team", "d0", "zoo"} {
			h.newGroup(t, name)
		}
		for _, endpoint := range []string{"/Users", ""} {
			for _, params := range []object{
				{}, {"sortBy": "userName"}, {"sortBy": "userName", "sortOrder": "descending"}, {"sortBy": "title"},
				{"sortBy": "title", "sortOrder": "descending"},
				{"sortBy": "displayName"}, {"sortBy": "displayName", "sortOrder": "descending"}, {"sortBy": "externalId", "filter": `title pr`},
				{"filter": `title pr`}, {"filter": `externalId eq "1"`}, {"sortBy": "meta.created"}, {"sortBy": "id"},
				{"sortBy": "unknown", "sortOrder": "descending"},
				{"filter": `displayName co "d"`, "sortBy": "meta.lastModified", "sortOrder": "descending"}, {"filter": `userName eq "nobody"`},
			} {
				list := url.Values{"count": {"100"}}
				for name, value := range params {
					list.Set(name, fmt.Sprint(value))
				}
				total := h.get(t, endpoint+"?"+list.Encode()).json("totalResults")
				var all []string
				for _, r := range h.get(t, endpoint+"?"+list.Encode()).body.Array("Resources") {
					o := r.(*scim.Object)
					all = append(all, o.Text("userName")+o.Text("displayName"))
				}
				for _, count := range []int{1, 2, 3, 100} {
					t.Run(fmt.Sprint(endpoint, params, count), func(t *testing.T) {
						params["count"] = count
						var forth, back []string
						names := func(a *response) []string {
							_ = labels(t, a)
							var out []string
							for _, r := range a.body.Array("Resources") {
								o := r.(*scim.Object)
								out = append(out, o.Text("userName")+o.Text("displayName"))
							}
							require.LessOrEqual(t, len(out), count)
							require.Equal(t, total, a.json("totalResults"))
							return out
						}
						cursor, previous := "", ""
						for page := 0; ; page++ {
							a := h.byCursor(t, endpoint, page%2 == 1, params, cursor)
							forth = append(forth, names(a)...)
							next, prev := a.cursors(t)
							require.Equal(t, page == 0, prev == "", "every page except the first has previousCursor")
							if cursor, previous = next, prev; next == "" {
								break
							}
							require.NotEmpty(t, a.body.Array("Resources"))
						}
						require.Equal(t, all, forth)
						for previous != "" {
							a := h.byCursor(t, endpoint, false, params, previous)
							back = append(names(a), back...)
							next, prev := a.cursors(t)
							require.NotEmpty(t, next)
							previous = prev
						}
						last := len(all) - len(back) // number of resources on the last page
						require.True(t, slices.Equal(all[:len(back)], back), "the pages backwards contain all resources before the last page: %v", back)
						require.LessOrEqual(t, last, count)
					})
				}
			}
		}
	})
}

func TestCursors_SurviveDeletions(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for _, params := range []object{{"count": 2}, {"count": 2, "sortBy": "userName"},
			{"count": 2, "sortBy": "title", "sortOrder": "descending"}, {"count": 2, "filter": "title pr"}} {
			ids := map[string]string{}
			names := []string{"a", "b", "c", "d", "e", "f"}
			if params["sortOrder"] != nil {
				slices.Reverse(names)
			}
			for _, name := range slices.Sorted(slices.Values(names)) {
				ids[name] = h.newUser(t, name, object{"title": name}).id()
			}
			remove := func(names ...string) {
				for _, name := range names {
					h.do(t, http.MethodDelete, "/Users/"+ids[name], nil).want(t, http.StatusNoContent)
				}
			}
			first := h.byCursor(t, "/Users", false, params, "")
			require.Equal(t, names[:2], labels(t, first))
			next, _ := first.cursors(t)
			remove(names[1], names[2]) // the last resource of the first page, and the next one
			second := h.byCursor(t, "/Users", false, params, next)
			require.Equal(t, names[3:5], labels(t, second))
			next, previous := second.cursors(t)
			back := h.byCursor(t, "/Users", false, params, previous)
			require.Equal(t, names[:1], labels(t, back))
			_, before := back.cursors(t)
			require.Empty(t, before)
			remove(names[5])
			end := h.byCursor(t, "/Users", false, params, next)
			require.Empty(t, labels(t, end))
			next, previous = end.cursors(t)
			require.Empty(t, next)
			require.Equal(t, []string{names[3], names[4]}, labels(t, h.byCursor(t, "/Users", false, params, previous)),
				"the page before the deleted end")
			_, previous = second.cursors(t)
			remove(names[0])
			back = h.byCursor(t, "/Users", false, params, previous)
			require.Empty(t, labels(t, back))
			next, before = back.cursors(t)
			require.Empty(t, before)
			require.Equal(t, names[3:5], labels(t, h.byCursor(t, "/Users", false, params, next)))
			remove(names[3], names[4])
		}
	})
}

func TestCursors_BoundToQueryAndClient(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for i := range 5 {
			h.newUser(t, fmt.Sprint("user", i))
		}
		h.newGroup(t, "team")
		params := object{"count": 2, "filter": `userName sw "user"`, "sortBy": "userName"}
		first := h.byCursor(t, "/Users", false, params, "")
		cursor, _ := first.cursors(t)
		refused := func(endpoint string, params object, cursor string, with ...func(*http.Request)) {
			t.Helper()
			query := url.Values{"cursor": {cursor}}
			for name, value := range params {
				query.Set(name, fmt.Sprint(value))
			}
			h.do(t, http.MethodGet, endpoint+"?"+query.Encode(), nil, with...).wantError(t, http.StatusBadRequest, scim.InvalidCursor)
		}
		refused("/Users", object{"filter": `userName sw "user1"`, "sortBy": "userName"}, cursor)
		refused("/Users", object{"sortBy": "userName"}, cursor)
		refused("/Users", object{"filter": `userName sw "user"`}, cursor)
		refused("/Users", object{"filter": `userName sw "user"`, "sortBy": "userName", "sortOrder": "descending"}, cursor)
		refused("/Groups", params, cursor)
		refused("", params, cursor)
		refused("/Users", params, cursor, header("Authorization", "Bearer second-token"))
		for _, other := range []string{"x", " ", "=", "AAAA", cursor + "A", cursor[1:], cursor[:len(cursor)-2], strings.ToUpper(cursor),
			strings.Repeat("A", 10_000)} {
			refused("/Users", params, other)
		}
		h.do(t, http.MethodPost, "/Users/.search", object{"schemas": []string{scim.SearchRequestMessage}, "cursor": cursor}).wantError(t,
			http.StatusBadRequest, scim.InvalidCursor)
		other := serve(t, newMapStore())
		other.do(t, http.MethodGet, "/Users?cursor="+cursor, nil).wantError(t, http.StatusBadRequest, scim.InvalidCursor)
		require.Equal(t, []string{"user2", "user3"}, labels(t, h.byCursor(t, "/Users", true, params, cursor)), "the cursor is still valid")
		require.NotContains(t, cursor, "user")
	})
}

func TestCursors_Parameters(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for i := range 5 {
			h.newUser(t, fmt.Sprint("user", i))
		}
		t.Run("index is the default", func(t *testing.T) {
			a := h.get(t, "/Users?count=2")
			require.Equal(t, "1", a.json("startIndex"))
			next, _ := a.cursors(t)
			require.Empty(t, next)
		})
		for _, params := range []string{"cursor&count=2", "cursor=&count=2"} {
			a := h.get(t, "/Users?"+params)
			require.Equal(t, []string{"user0", "user1"}, labels(t, a))
			next, _ := a.cursors(t)
			require.NotEmpty(t, next)
		}
		for _, count := range []string{"0", "-3"} {
			a := h.get(t, "/Users?cursor=&count="+count)
			require.Empty(t, labels(t, a))
			require.Equal(t, "5", a.json("totalResults"))
			next, previous := a.cursors(t)
			require.NotEmpty(t, next, "there are more resources")
			require.Empty(t, previous)
			require.Equal(t, []string{"user0"}, labels(t, h.get(t, "/Users?count=1&cursor="+next)), "count may change")
		}
		t.Run("errors", func(t *testing.T) {
			for params, want := range map[string]scim.Type{
				"cursor=&count=ten": scim.InvalidCount, "cursor=&count=1.5": scim.InvalidCount, "cursor=&startIndex=1": scim.InvalidValue,
				"cursor=&cursor=": scim.InvalidValue,
				"cursor=&filter=": scim.InvalidFilter,
			} {
				h.do(t, http.MethodGet, "/Users?"+params, nil).wantError(t, http.StatusBadRequest, want)
			}
			search := object{"schemas": []string{scim.SearchRequestMessage}, "cursor": "", "count": "ten"}
			h.do(t, http.MethodPost, "/Users/.search", search).wantError(t, http.StatusBadRequest, scim.InvalidCount)
			h.do(t, http.MethodPost, "/Users/.search", object{"schemas": search["schemas"], "cursor": 7}).wantError(t, http.StatusBadRequest,
				scim.InvalidValue)
		})
	}, func(o *scimserver.Options) { o.Limits.MaxPage = 7 })
	h := serve(t, newMapStore(), func(o *scimserver.Options) { o.Limits.MaxPage = 2 })
	for i := range 5 {
		h.newUser(t, fmt.Sprint("user", i))
	}
	require.Len(t, labels(t, h.get(t, "/Users?cursor=&count=100")), 2, "no page exceeds maxPageSize")
}

func TestCursors_Expire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := scimserver.New(
			scimserver.Options{Store: newMapStore(), Tokens: scimserver.StaticTokens(token),
				Cursors: scimserver.CursorOptions{Timeout: time.Minute}})
		require.NoError(t, err)
		for i := range 3 {
			require.Equal(t, http.StatusCreated,
				send(h, http.MethodPost, "/Users", fmt.Sprintf(`{"schemas":[%q],"userName":"u%d"}`, scim.UserSchema, i)).Code)
		}
		o, err := scim.Decode(send(h, http.MethodGet, "/Users?cursor=&count=1", "").Body.Bytes())
		require.NoError(t, err)
		next := "/Users?count=1&cursor=" + o.Text("nextCursor")
		time.Sleep(time.Minute - time.Millisecond) // the fake clock of the synctest bubble
		require.Equal(t, http.StatusOK, send(h, http.MethodGet, next, "").Code)
		time.Sleep(time.Millisecond)
		w := send(h, http.MethodGet, next, "")
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), `"expiredCursor"`)
	})
}

// TestCursors_SharedByKey checks that servers with one key and one prefix share cursors, and that another prefix does not.
func TestCursors_SharedByKey(t *testing.T) {
	store := newMapStore()
	share := func(o *scimserver.Options) { o.Cursors.Key = []byte("a key of some length") }
	one, other := serve(t, store, share), serve(t, store, share)
	for i := range 3 {
		one.newUser(t, fmt.Sprint("user", i))
	}
	next, _ := one.get(t, "/Users?cursor=&count=1").cursors(t)
	require.Equal(t, []string{"user1"}, labels(t, other.get(t, "/Users?count=1&cursor="+next)))
	tenant := serve(t, store, share, func(o *scimserver.Options) { o.Prefix = "/t/other/scim/v2" })
	tenant.do(t, http.MethodGet, strings.TrimSuffix(tenant.url, prefix)+"/t/other/scim/v2/Users?count=1&cursor="+next, nil).wantError(t,
		http.StatusBadRequest, scim.InvalidCursor)
}

// eachDatabase runs a test with the stores of eachStore, on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, run func(t *testing.T, h *harness)) {
	eachStore(t, run)
	t.Run("postgres", func(t *testing.T) { run(t, serve(t, storeOn(t, sqldbtest.Postgres(t)))) })
}
