package scimserver_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

var million = flag.Bool("scimserver.million", false, "measure growth with 1,000,000 users too")

// grownUser returns the i-th user of the growth benchmarks.
func grownUser(i int) *scimserver.Record {
	name := fmt.Sprintf("user%07d", i)
	o, err := scim.DecodeResource([]byte(benchUser(name)))
	if err != nil {
		panic(err)
	}
	o.Set("title", fmt.Sprintf("Title %d", i%1000))
	return &scimserver.Record{Type: "User", ID: "id-" + name, Resource: o, Display: name}
}

// largeGroup is the maximum size of the group "large".
const largeGroup = 100_000

// stride returns the distance between the members of a group, so that they are distributed over all users.
func stride(users, size int) int { return users / size }

// grow fills a store with users, a group of 10, and a group of all users, with largeGroup members at most.
func grow(b *testing.B, store scimserver.Store, users int) {
	b.Helper()
	growUsers(b, store, users)
	for name, size := range map[string]int{"small": 10, "large": min(users, largeGroup)} {
		growGroup(b, store, name, users, size)
	}
}

// growUsers fills a store with users.
func growUsers(b *testing.B, store scimserver.Store, users int) {
	b.Helper()
	var next atomic.Int64
	work, ctx := errgroup.WithContext(b.Context())
	for range 256 { // many goroutines, because concurrent creates share commits and are faster
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
}

// growGroup creates a group of some of the users.
func growGroup(b *testing.B, store scimserver.Store, name string, users, size int) {
	b.Helper()
	members := make([]string, size)
	for i := range members {
		members[i] = grownUser(i * stride(users, size)).ID
	}
	o, err := scim.DecodeResource(fmt.Appendf(nil, `{"schemas":[%q],"displayName":%q}`, scim.GroupSchema, name))
	require.NoError(b, err)
	_, err = store.Create(b.Context(), &scimserver.Record{Type: "Group", ID: "id-" + name, Resource: o, Display: name}, members)
	require.NoError(b, err)
}

// grown is a server with users, and the data that the requests of the growth benchmarks need.
type grown struct {
	h              http.Handler
	stored         http.Handler // the same server, without resources in memory
	users          int
	far, farSorted string // cursors near the end of the list of users
	turn, made     int
}

func newGrown(b *testing.B, users int) *grown {
	b.Helper()
	place := "sqlite:" + filepath.Join(b.TempDir(), "grown.db")
	serve := func(o sqlopen.Options) (scimserver.Store, http.Handler) {
		db, err := sqlopen.Open(b.Context(), place, o)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, db.Close()) })
		store := storeOn(b, db)
		h, err := scimserver.New(scimserver.Options{
			Store: store, Tokens: scimserver.StaticTokens(token), Limits: scimserver.Limits{MaxTurnTime: time.Hour}, // servers are measured in turns
		})
		require.NoError(b, err)
		return store, h
	}
	store, h := serve(sqlopen.Options{})
	grow(b, store, users)
	_, stored := serve(sqlopen.Options{NoRowCache: true})
	g := &grown{h: h, stored: stored, users: users}
	g.far, g.farSorted = g.walk(b, ""), g.walk(b, "&sortBy=userName")
	return g
}

// walk returns a cursor near the end.
func (g *grown) walk(b *testing.B, query string) (cursor string) {
	page := func(count int) {
		o, err := scim.Decode(
			g.ask(b, http.MethodGet, fmt.Sprintf("/Users?attributes=id&count=%d%s&cursor=%s", count, query, cursor), "", http.StatusOK))
		require.NoError(b, err)
		cursor = o.Text("nextCursor")
	}
	for range g.users/1000 - 1 {
		page(1000)
	}
	if cursor == "" {
		page(500)
	}
	return cursor
}

func (g *grown) ask(b *testing.B, method, target, body string, want int) []byte {
	return askOf(b, g.h, method, target, body, want)
}

func askOf(b *testing.B, h http.Handler, method, target, body string, want int) []byte {
	w := send(h, method, target, body)
	if w.Code != want {
		b.Fatal(method, target, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// nextMember returns the userName of another member of "large" with each call. Each of these users is in the same number of groups,
// regardless of the number of users in the store.
func (g *grown) nextMember() string {
	size := min(g.users, largeGroup)
	g.turn = (g.turn + 7919) % size
	return fmt.Sprintf("user%07d", g.turn*stride(g.users, size))
}

// nextHot is nextMember for 100 of the members: after their first reads, they are in the memory of the server.
func (g *grown) nextHot() string {
	g.turn = (g.turn + 1) % 100
	return fmt.Sprintf("user%07d", g.turn*stride(g.users, min(g.users, largeGroup)))
}

// byID and byName return the target of a request for a user.
func byID(name string) string   { return "/Users/id-" + name }
func byName(name string) string { return "/Users?filter=" + url.QueryEscape(`userName eq "`+name+`"`) }

// task is one or several requests to a server.
type task func(b *testing.B, g *grown)

func getting(target func(g *grown) string) task {
	return func(b *testing.B, g *grown) { g.ask(b, http.MethodGet, target(g), "", http.StatusOK) }
}

// fromDatabase returns a task that reads a user from the database.
func fromDatabase(target func(name string) string) task {
	return func(b *testing.B, g *grown) {
		askOf(b, g.stored, http.MethodGet, target(g.nextMember()), "", http.StatusOK)
	}
}

// moving returns a task that removes a member of a group and adds it again.
func moving(group string) task {
	return func(b *testing.B, g *grown) {
		for _, operation := range []string{`{"op":"remove","path":"members[value eq \"id-user0000000\"]"}`,
			`{"op":"add","path":"members","value":[{"value":"id-user0000000"}]}`} {
			g.ask(b, http.MethodPatch, "/Groups/id-"+group, fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage, operation),
				http.StatusNoContent)
		}
	}
}

func posting(b *testing.B, g *grown) {
	g.made++
	g.ask(b, http.MethodPost, "/Users", benchUser(fmt.Sprintf("zoe%d", g.made)), http.StatusCreated)
}

// patching returns a task that changes a user.
func patching(server func(g *grown) http.Handler, name func(g *grown) string) task {
	return func(b *testing.B, g *grown) {
		g.made++
		askOf(b, server(g), http.MethodPatch, byID(name(g)),
			fmt.Sprintf(`{"schemas":[%q],"Operations":[{"op":"replace","path":"nickName","value":"n%d"}]}`, scim.PatchOpMessage, g.made),
			http.StatusOK)
	}
}

func cached(g *grown) http.Handler   { return g.h }
func uncached(g *grown) http.Handler { return g.stored }

// page returns a task that reads a list of 100. Pages are compared without groups, which not all users have.
func page(rest func(g *grown) string) task {
	return getting(func(g *grown) string { return "/Users?count=100&excludedAttributes=groups" + rest(g) })
}

func constantly(text string) func(*grown) string { return func(*grown) string { return text } }

// BenchmarkGrowth compares the cost of every kind of request with few and with many users, and the cost of the last pages of a list with
// that of the first pages. The compared tasks take turns; see compete.
func BenchmarkGrowth(b *testing.B) {
	sizes := []int{1000, 100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	servers := make([]*grown, len(sizes))
	for i, users := range sizes {
		servers[i] = newGrown(b, users)
	}
	for _, m := range []struct {
		name string
		task task
	}{
		{"get", getting(func(g *grown) string { return byID(g.nextMember()) })},
		{"get-from-memory", getting(func(g *grown) string { return byID(g.nextHot()) })},
		{"get-from-database", fromDatabase(byID)},
		{"userName-eq", getting(func(g *grown) string { return byName(g.nextMember()) })},
		{"userName-eq-from-memory", getting(func(g *grown) string { return byName(g.nextHot()) })},
		{"userName-eq-from-database", fromDatabase(byName)},
		{"externalId-eq", getting(func(g *grown) string {
			return "/Users?filter=" + url.QueryEscape(`externalId eq "e-`+g.nextMember()+`"`)
		})},
		{"post", posting},
		{"patch", patching(cached, (*grown).nextMember)},
		{"patch-from-memory", patching(cached, (*grown).nextHot)},
		{"patch-from-database", patching(uncached, (*grown).nextMember)},
		{"group-without-members", getting(constantly("/Groups/id-large?excludedAttributes=members"))},
		{"cursor-first", page(constantly("&cursor="))},
		{"cursor-sorted-first", page(constantly("&sortBy=userName&cursor="))},
		{"index-first", page(constantly(""))},
		{"scan", getting(constantly("/Users?count=10&filter=" + url.QueryEscape(`title eq "Title 7"`)))},
		{"scan-sorted", getting(constantly("/Users?count=10&sortBy=title"))},
	} {
		b.Run(m.name, func(b *testing.B) {
			var all []contender
			for i, g := range servers {
				all = append(all, contender{fmt.Sprint(sizes[i]), func(b *testing.B) { m.task(b, g) }})
			}
			compete(b, all)
		})
	}
	for _, m := range []struct {
		name         string
		first, other string
		base, task   task
	}{
		{"member", "of-10", "of-all", moving("small"), moving("large")},
		{"cursor", "first", "far", page(constantly("&cursor=")), page(func(g *grown) string { return "&cursor=" + g.far })},
		{"cursor-sorted", "first", "far", page(constantly("&sortBy=userName&cursor=")),
			page(func(g *grown) string { return "&sortBy=userName&cursor=" + g.farSorted })},
		{"index", "first", "far", page(constantly("")), page(func(g *grown) string { return fmt.Sprintf("&startIndex=%d", g.users-100) })},
	} {
		for _, g := range servers {
			b.Run(fmt.Sprintf("%s/users=%d", m.name, g.users), func(b *testing.B) {
				compete(b, []contender{
					{m.first, func(b *testing.B) { m.base(b, g) }},
					{m.other, func(b *testing.B) { m.task(b, g) }},
				})
			})
		}
	}
}
