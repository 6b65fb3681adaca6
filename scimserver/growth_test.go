package scimserver_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

var million = flag.Bool("scimserver.million", false, "measure growth with 1,000,000 users too")

// grownUser is the i-th user of the growth benchmarks.
func grownUser(i int) *scimserver.Record {
	name := fmt.Sprintf("user%07d", i)
	o, err := scim.DecodeResource([]byte(benchUser(name)))
	if err != nil {
		panic(err)
	}
	o.Set("title", fmt.Sprintf("Title %d", i%1000))
	return &scimserver.Record{Type: "User", ID: "id-" + name, Resource: o, Display: name}
}

// grow fills a store with users, and groups of 10 and of as many as there are, 100,000 at most.
func grow(b *testing.B, store scimserver.Store, users int) {
	b.Helper()
	var next atomic.Int64
	work, ctx := errgroup.WithContext(b.Context())
	for range 256 { // they share commits
		work.Go(func() error {
			for i := int(next.Add(1)) - 1; i < users; i = int(next.Add(1)) - 1 {
				if _, err := store.Create(ctx, grownUser(i), nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, work.Wait())
	for name, size := range map[string]int{"small": 10, "large": min(users, 100_000)} {
		members := make([]string, size)
		for i := range members {
			members[i] = grownUser(i).ID
		}
		o, err := scim.DecodeResource(fmt.Appendf(nil, `{"schemas":[%q],"displayName":%q}`, scim.GroupSchema, name))
		require.NoError(b, err)
		_, err = store.Create(context.WithoutCancel(ctx), &scimserver.Record{Type: "Group", ID: "id-" + name, Resource: o, Display: name}, members)
		require.NoError(b, err)
	}
}

// BenchmarkGrowth measures every kind of request with few users and with many. The metric "growth" is what a request costs
// compared with the first size, or with the thing that the name says.
func BenchmarkGrowth(b *testing.B) {
	sizes := []int{1000, 100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	costs := map[string]float64{} // nanoseconds by the name of what others are compared with
	for _, users := range sizes {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			store := storeOn(b, sqldbtest.SQLite(b, sqldbtest.Durable))
			grow(b, store, users)
			h, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens(token)})
			require.NoError(b, err)
			var turn int
			anyone := func() string { turn = (turn + 7919) % users; return fmt.Sprintf("user%07d", turn) }
			ask := func(b *testing.B, method, target, body string, want int) []byte {
				w := send(h, method, target, body)
				if w.Code != want {
					b.Fatal(method, target, w.Code, w.Body)
				}
				return w.Body.Bytes()
			}
			get := func(target func() string) func(b *testing.B) {
				return func(b *testing.B) { ask(b, http.MethodGet, target(), "", http.StatusOK) }
			}
			// A cursor near the end. The pages are compared without groups, which not all users have.
			walk := func(query string) string {
				cursor := ""
				for range users/1000 - 1 {
					o, err := scim.Decode(ask(b, http.MethodGet, "/Users?attributes=id&count=1000"+query+"&cursor="+cursor, "", http.StatusOK))
					require.NoError(b, err)
					cursor = o.Text("nextCursor")
				}
				if cursor == "" {
					o, err := scim.Decode(ask(b, http.MethodGet, "/Users?attributes=id&count=500"+query+"&cursor=", "", http.StatusOK))
					require.NoError(b, err)
					cursor = o.Text("nextCursor")
				}
				return cursor
			}
			far, farSorted := walk(""), walk("&sortBy=userName")
			created := 0
			member := func(group string) func(b *testing.B) {
				return func(b *testing.B) {
					for _, operation := range []string{`{"op":"remove","path":"members[value eq \"id-user0000003\"]"}`, `{"op":"add","path":"members","value":[{"value":"id-user0000003"}]}`} {
						ask(b, http.MethodPatch, "/Groups/id-"+group, fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage, operation), http.StatusNoContent)
					}
				}
			}
			for _, m := range []struct {
				name, than string // than defaults to the same with the first size
				run        func(b *testing.B)
			}{
				{"get", "", get(func() string { return "/Users/id-" + anyone() })},
				{"userName-eq", "", get(func() string { return "/Users?filter=" + url.QueryEscape(`userName eq "`+anyone()+`"`) })},
				{"externalId-eq", "", get(func() string { return "/Users?filter=" + url.QueryEscape(`externalId eq "e-`+anyone()+`"`) })},
				{"post", "", func(b *testing.B) {
					created++
					ask(b, http.MethodPost, "/Users", benchUser(fmt.Sprintf("zoe%d", created)), http.StatusCreated)
				}},
				{"patch", "", func(b *testing.B) {
					created++
					ask(b, http.MethodPatch, "/Users/id-"+anyone(), fmt.Sprintf(`{"schemas":[%q],"Operations":[{"op":"replace","path":"nickName","value":"n%d"}]}`, scim.PatchOpMessage, created), http.StatusOK)
				}},
				{"member-of-10", "", member("small")},
				{"member-of-all", fmt.Sprintf("member-of-10/%d", users), member("large")},
				{"group-without-members", "", get(func() string { return "/Groups/id-large?excludedAttributes=members" })},
				{"cursor-first", "", get(func() string { return "/Users?count=100&excludedAttributes=groups&cursor=" })},
				{"cursor-far", fmt.Sprintf("cursor-first/%d", users), get(func() string { return "/Users?count=100&excludedAttributes=groups&cursor=" + far })},
				{"cursor-sorted-first", "", get(func() string { return "/Users?count=100&excludedAttributes=groups&sortBy=userName&cursor=" })},
				{"cursor-sorted-far", fmt.Sprintf("cursor-sorted-first/%d", users), get(func() string { return "/Users?count=100&excludedAttributes=groups&sortBy=userName&cursor=" + farSorted })},
				{"index-first", "", get(func() string { return "/Users?count=100&excludedAttributes=groups" })},
				{"index-far", fmt.Sprintf("index-first/%d", users), get(func() string {
					return fmt.Sprintf("/Users?count=100&excludedAttributes=groups&startIndex=%d", users-100)
				})},
				{"scan", "", get(func() string { return "/Users?count=10&filter=" + url.QueryEscape(`title eq "Title 7"`) })},
				{"scan-sorted", "", get(func() string { return "/Users?count=10&sortBy=title" })},
			} {
				b.Run(m.name, func(b *testing.B) {
					n := 0
					for b.Loop() {
						m.run(b)
						n++
					}
					cost := float64(b.Elapsed().Nanoseconds()) / float64(n)
					costs[fmt.Sprintf("%s/%d", m.name, users)] = cost
					than := m.than
					if than == "" {
						than = fmt.Sprintf("%s/%d", m.name, sizes[0])
					}
					if base := costs[than]; base > 0 {
						b.ReportMetric(cost/base, "growth")
					}
				})
			}
		})
	}
}
