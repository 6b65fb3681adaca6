package mutants

import (
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// shuffled returns the items in an order that looks random and depends only on n.
func shuffled(items []any, n int64) []any {
	rank := func(item any) uint64 {
		h := fnv.New64a()
		o, _ := item.(*scim.Object)
		_, _ = h.Write([]byte(strconv.FormatInt(n, 10) + o.Text("id")))
		return h.Sum64()
	}
	out := slices.Clone(items)
	slices.SortFunc(out, func(a, b any) int {
		if rank(a) < rank(b) {
			return -1
		}
		return 1
	})
	return out
}

// everyNth returns a wrapper that returns the result of rep for every n-th matching request.
func everyNth(n int64, m match, rep func() *reply) wrap {
	return func(next http.Handler) http.Handler {
		var count atomic.Int64
		return instead(m, func(next http.Handler, r *http.Request) *reply {
			if count.Add(1)%n == 0 {
				return rep()
			}
			return serve(next, r)
		})(next)
	}
}

// delayed returns a wrapper that hides each user from matching requests until some time after its creation.
func delayed(m match, delay time.Duration) wrap {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		visible := map[string]time.Time{}
		hidden := func(id string) bool {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Before(visible[id])
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _, id := place(r)
			if m(r) && hidden(id) {
				failure(404, "").send(w)
				return
			}
			rep := serve(next, r)
			switch o := rep.object(); {
			case o == nil || !rep.ok():
			case createUser(r):
				mu.Lock()
				visible[o.Text("id")] = time.Now().Add(delay)
				mu.Unlock()
			case m(r) && listUsers(r):
				items := slices.DeleteFunc(slices.Clone(o.Array("Resources")), func(item any) bool {
					resource, ok := item.(*scim.Object)
					return ok && hidden(resource.Text("id"))
				})
				if total, ok := o.Get("totalResults"); ok {
					n, _ := strconv.Atoi(string(scim.AppendValue(nil, total)))
					o.Set("totalResults", n-len(o.Array("Resources"))+len(items))
				}
				o.Set("Resources", items)
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// Delayed returns a wrapper that hides each user from GET and from lists until some time after its creation.
func Delayed(delay time.Duration) func(http.Handler) http.Handler {
	return delayed(either(readUser, listUsers), delay)
}

var steadiness = []Mutant{
	{"steadiness.random-order", "each list without sortBy is in another order", func(next http.Handler) http.Handler {
		var n atomic.Int64
		return after(listUsers, func(r *http.Request, rep *reply) {
			o := rep.object()
			if !rep.ok() || o == nil || r.URL.Query().Has("sortBy") {
				return
			}
			o.Set("Resources", shuffled(o.Array("Resources"), n.Add(1)))
			rep.body = o.AppendJSON(nil)
		})(next)
	}},
	{"steadiness.late-reads", "GET and lists return a new user only after 250 ms",
		delayed(either(readUser, listUsers), 250*time.Millisecond)},
	{"steadiness.late-lists", "lists return a new user only after 250 ms", delayed(listUsers, 250*time.Millisecond)},
	{"steadiness.some-503", "every seventh GET returns 503",
		everyNth(7, func(r *http.Request) bool {
			return r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "Config")
		},
			func() *reply { return failure(503, "") })},
	{"steadiness.some-dropped", "every eleventh request gets no response",
		everyNth(11, everything, func() *reply { panic(http.ErrAbortHandler) })},
}
