package mutants

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// lacking matches the requests of m without a query parameter.
func lacking(m match, parameter string) match {
	return func(r *http.Request) bool { return m(r) && !r.URL.Query().Has(parameter) }
}

// shiftStart returns a wrapper that adds a number to a startIndex greater than 1.
func shiftStart(m match, by int) wrap {
	return query(m, func(q url.Values) {
		if n, err := strconv.Atoi(q.Get("startIndex")); err == nil && n > 1 {
			q.Set("startIndex", strconv.Itoa(n+by))
		}
	})
}

// totalOf returns totalResults of a list, or -1 if absent.
func totalOf(rep *reply) int {
	v, _ := rep.object().Get("totalResults")
	n, err := strconv.Atoi(string(scim.AppendValue(nil, v)))
	if err != nil {
		return -1
	}
	return n
}

// cacheFirst returns a wrapper that returns the first response for a URL to all later requests for the same URL.
func cacheFirst(m match) wrap {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		answers := map[string]reply{}
		return instead(m, func(next http.Handler, r *http.Request) *reply {
			mu.Lock()
			defer mu.Unlock()
			old, known := answers[r.URL.String()]
			if !known {
				old = *serve(next, r)
				answers[r.URL.String()] = old
			}
			return &old
		})(next)
	}
}

var listPages = []Mutant{
	{"list.total-so-far", "totalResults is the number of matches up to the end of the page",
		afterBody(with(listUsers, "count"), func(o *scim.Object) {
			start, _ := o.Get("startIndex")
			n, err := strconv.Atoi(string(scim.AppendValue(nil, start)))
			if items := len(o.Array("Resources")); err == nil && items > 0 {
				o.Set("totalResults", n+items-1)
			}
		})},
	{"list.pages-overlap", "every page repeats the last item of the previous page", shiftStart(listUsers, -1)},
	{"list.pages-leave-out", "every page after the first omits its first item", shiftStart(listUsers, 1)},
	{"list.last-page-filled", "the last page is filled up with items of the previous page",
		instead(with(listUsers, "startIndex"), func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			start, hasStart := integerOf(r, "startIndex")
			count, hasCount := integerOf(r, "count")
			total := totalOf(rep)
			if !hasStart || !hasCount || start <= 1 || start > total || start+count <= total+1 {
				return rep
			}
			q := r.URL.Query()
			q.Set("startIndex", strconv.Itoa(max(1, total-count+1)))
			return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
		})},
	{"list.start-needs-count", "startIndex is ignored without count",
		query(lacking(listUsers, "count"), func(q url.Values) { q.Del("startIndex") })},
	{"list.count-starts-second", "without startIndex, a page starts with the second item",
		query(lacking(with(listUsers, "count"), "startIndex"), func(q url.Values) { q.Set("startIndex", "2") })},
	{"list.huge-count-400", "a huge count is rejected", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if n, ok := integerOf(r, "count"); ok && n > 10000 {
			return failure(400, scim.InvalidValue)
		}
		return serve(next, r)
	})},
	{"list.overflow-500", "a startIndex or count out of integer range causes 500",
		instead(listUsers, func(next http.Handler, r *http.Request) *reply {
			if q := r.URL.Query(); max(len(q.Get("startIndex")), len(q.Get("count"))) > 18 {
				return failure(500, "")
			}
			return serve(next, r)
		})},
	{"list.fraction-500", "a fractional count causes 500", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if strings.Contains(r.URL.Query().Get("count"), ".") {
			return failure(500, "")
		}
		return serve(next, r)
	})},
	{"list.empty-parameter-500", "an empty startIndex causes 500", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if q := r.URL.Query(); q.Has("startIndex") && q.Get("startIndex") == "" {
			return failure(500, "")
		}
		return serve(next, r)
	})},
	{"list.sort-drops-filter", "with sortBy, only the left operand of the operator \"and\" in the filter is evaluated",
		query(with(listUsers, "sortBy"), func(q url.Values) {
			first, _, _ := strings.Cut(q.Get("filter"), " and ")
			q.Set("filter", first)
		})},
	{"list.paged-unsorted", "a page of a filtered list is not sorted",
		query(with(with(listUsers, "sortBy"), "startIndex"), func(q url.Values) { q.Del("sortBy") })},
	{"list.projected-first-page", "startIndex is ignored in requests with the attributes parameter",
		query(with(listUsers, "attributes"), func(q url.Values) { q.Del("startIndex") })},
	{"list.items-cut", "items of lists lack attributes that single resources have",
		afterEach(listUsers, func(o *scim.Object) { o.Delete("emails") })},
	{"list.items-elsewhere", "meta.location of a user in a list differs from that of the single user",
		afterEach(listUsers, func(o *scim.Object) { complexOf(o, "meta").Set("location", "/"+o.Text("id")) })},
	{"list.items-mixed", "a list of users ends with a group", afterBody(listUsers, func(o *scim.Object) {
		extra := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.GroupSchema}}, scim.Member{Name: "id", Value: "a-group"},
			scim.Member{Name: "displayName", Value: "A group"})
		o.Set("Resources", append(o.Array("Resources"), extra))
	})},
	{"list.doubled", "the first item of a page is returned twice", afterBody(listUsers, func(o *scim.Object) {
		if items := o.Array("Resources"); len(items) > 0 {
			o.Set("Resources", append(items, items[0]))
		}
	})},
	{"list.remembered", "lists are served from a cache that is never updated", cacheFirst(with(listUsers, "filter"))},
	{"list.past-the-end-500", "a startIndex past the end causes 500",
		instead(with(listUsers, "startIndex"), func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			if start, ok := integerOf(r, "startIndex"); ok && start > totalOf(rep) {
				return failure(500, "")
			}
			return rep
		})},
	{"list.unknown-parameter-400", "an unknown query parameter is rejected",
		instead(with(listUsers, "scimconfNoSuchParameter"), func(http.Handler, *http.Request) *reply { return failure(400, scim.InvalidValue) })},
	{"list.limit-not-kept", "pages are larger than maxResults in the ServiceProviderConfig",
		afterBody(on("GET", "ServiceProviderConfig", false), func(o *scim.Object) { complexOf(o, "filter").Set("maxResults", 2) })},
	{"list.groups-start-ignored", "startIndex is ignored for groups", query(listGroups, func(q url.Values) { q.Del("startIndex") })},
	{"list.groups-total-of-page", "totalResults of groups is the size of the page",
		afterBody(listGroups, func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"list.groups-no-schemas", "a list of groups has no schemas", afterBody(listGroups, func(o *scim.Object) { o.Delete("schemas") })},
	{"list.groups-nameless", "groups in lists have no displayName", afterEach(listGroups, func(o *scim.Object) { o.Delete("displayName") })},
	{"list.empty-404", "an empty list returns 404", after(with(listUsers, "filter"), func(_ *http.Request, rep *reply) {
		if rep.ok() && totalOf(rep) == 0 {
			*rep = *failure(404, "")
		}
	})},
	{"list.empty-null", "Resources of an empty list is null", afterBody(listUsers, func(o *scim.Object) {
		if len(o.Array("Resources")) == 0 {
			o.Set("Resources", nil)
		}
	})},
}
