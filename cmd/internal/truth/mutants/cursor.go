package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// byCursor matches requests for lists of users with a cursor. If later is set, byCursor does not match requests for the first page.
func byCursor(later bool) match {
	return func(r *http.Request) bool {
		q := r.URL.Query()
		return listUsers(r) && q.Has("cursor") && (!later || q.Get("cursor") != "")
	}
}

var (
	cursorPage match = byCursor(false)
	laterPage  match = byCursor(true)
	firstPage  match = func(r *http.Request) bool { return cursorPage(r) && !laterPage(r) }
)

// count returns a wrapper that sets the count parameter of matching requests to n.
func count(m match, n string) wrap {
	return query(m, func(q url.Values) { q.Set("count", n) })
}

// badCursor returns a wrapper that replaces responses with scimType invalidCursor by the result of fn.
func badCursor(fn func(next http.Handler, r *http.Request) *reply) wrap {
	return instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
		rep := serve(next, r)
		if rep.status == 400 && rep.object().Text("scimType") == string(scim.InvalidCursor) {
			return fn(next, r)
		}
		return rep
	})
}

// firstCursorPage returns the response with the first page.
func firstCursorPage(next http.Handler, r *http.Request) *reply {
	q := r.URL.Query()
	q.Set("cursor", "")
	return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
}

// changeString returns a wrapper that changes a member of responses, given by its name, if the member is a string.
func changeString(m match, name string, fn func(text string) any) wrap {
	return afterBody(m, func(o *scim.Object) {
		if text := o.Text(name); text != "" {
			o.Set(name, fn(text))
		}
	})
}

// restoreCursor returns a wrapper that changes the cursors of requests with fn. fn reverses a change that changeString has made to
// nextCursor.
func restoreCursor(fn func(cursor string) string) wrap {
	return query(laterPage, func(q url.Values) { q.Set("cursor", fn(q.Get("cursor"))) })
}

var cursor = []Mutant{
	{"cursor.no-next", "nextCursor is never returned", afterBody(cursorPage, func(o *scim.Object) { o.Delete("nextCursor") })},
	{"cursor.next-null", "nextCursor is an object",
		changeString(cursorPage, "nextCursor", func(text string) any { return scim.NewObject(scim.Member{Name: "value", Value: text}) })},
	{"cursor.bare-list", "a page of cursor pagination has no schemas", afterBody(cursorPage, func(o *scim.Object) { o.Delete("schemas") })},
	{"cursor.items-per-page-wrong", "itemsPerPage is always 100 in cursor pagination",
		afterBody(cursorPage, func(o *scim.Object) { o.Set("itemsPerPage", 100) })},
	{"cursor.first-has-previous", "the first page has a previousCursor",
		afterBody(firstPage, func(o *scim.Object) { o.Set("previousCursor", "start") })},
	{"cursor.skips-one", "every page after the first starts one item too late", afterBody(laterPage, func(o *scim.Object) {
		if items := o.Array("Resources"); len(items) > 1 {
			o.Set("Resources", items[1:])
			o.Set("itemsPerPage", len(items)-1)
		}
	})},
	{"cursor.repeats-first", "every cursor returns the first page", instead(laterPage, firstCursorPage)},
	{"cursor.never-ends", "nextCursor of the last page points to the same page",
		instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			if o := rep.object(); o != nil && rep.ok() && !hasMember(o, "nextCursor") {
				given := r.URL.Query().Get("cursor")
				if given == "" {
					given = "end"
				}
				o.Set("nextCursor", given)
				rep.body = o.AppendJSON(nil)
			}
			return rep
		})},
	{"cursor.count-ignored", "the count parameter is ignored in cursor pagination", query(cursorPage, func(q url.Values) { q.Del("count") })},
	{"cursor.later-count-ignored", "the count parameter is ignored after the first page", count(laterPage, "50")},
	{"cursor.count-zero-is-all", "count=0 with a cursor is ignored", query(cursorPage, func(q url.Values) {
		if q.Get("count") == "0" {
			q.Del("count")
		}
	})},
	{"cursor.negative-is-all", "a negative count with a cursor is ignored", query(cursorPage, func(q url.Values) {
		if strings.HasPrefix(q.Get("count"), "-") {
			q.Del("count")
		}
	})},
	{"cursor.count-garbage-500", "a nonnumeric count with a cursor causes 500",
		instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			if rep.object().Text("scimType") == string(scim.InvalidCount) {
				return failure(500, "")
			}
			return rep
		})},
	{"cursor.count-type-wrong", "a nonnumeric count is rejected with invalidValue", after(cursorPage, func(_ *http.Request, rep *reply) {
		if rep.object().Text("scimType") == string(scim.InvalidCount) {
			*rep = *failure(400, scim.InvalidValue)
		}
	})},
	{"cursor.counts-pages", "if count changes between pages, the later page lacks its last item", func(next http.Handler) http.Handler {
		return after(laterPage, func(r *http.Request, rep *reply) {
			if o := rep.object(); o != nil && rep.ok() && r.URL.Query().Get("count") == "50" {
				items := o.Array("Resources")
				o.Set("Resources", items[:max(0, len(items)-1)])
				o.Set("itemsPerPage", max(0, len(items)-1))
				rep.body = o.AppendJSON(nil)
			}
		})(next)
	}},
	{"cursor.reserved-characters", "cursors contain characters that are reserved in URLs", func(next http.Handler) http.Handler {
		marked := changeString(cursorPage, "nextCursor", func(text string) any { return text + "==" })
		return marked(restoreCursor(func(c string) string { return strings.TrimSuffix(c, "==") })(next))
	}},
	{"cursor.total-of-page", "totalResults is the size of the page in cursor pagination",
		afterBody(cursorPage, func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"cursor.invalid-begins", "an unknown cursor returns the first page", badCursor(firstCursorPage)},
	{"cursor.invalid-500", "an unknown cursor causes 500",
		badCursor(func(http.Handler, *http.Request) *reply { return failure(500, "") })},
	{"cursor.invalid-untyped", "an unknown cursor is rejected without scimType",
		badCursor(func(http.Handler, *http.Request) *reply { return failure(400, "") })},
	{"cursor.any-filter", "a cursor is accepted with another filter",
		badCursor(func(http.Handler, *http.Request) *reply { return emptyList() })},
	{"cursor.any-endpoint", "a cursor of /Users is accepted on /Groups", instead(listGroups, func(next http.Handler, r *http.Request) *reply {
		if r.URL.Query().Has("cursor") {
			return emptyList()
		}
		return serve(next, r)
	})},
	{"cursor.once", "a cursor can be used only once", func(next http.Handler) http.Handler {
		var used sync.Map
		return instead(laterPage, func(next http.Handler, r *http.Request) *reply {
			if _, again := used.LoadOrStore(r.URL.Query().Get("cursor"), true); again {
				return failure(400, scim.InvalidCursor)
			}
			return serve(next, r)
		})(next)
	}},
	{"cursor.previous-wrong", "previousCursor points to the current page", after(laterPage, func(r *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() && o.Text("previousCursor") != "" {
			o.Set("previousCursor", r.URL.Query().Get("cursor"))
			rep.body = o.AppendJSON(nil)
		}
	})},
	{"cursor.unsorted", "sortBy is ignored in cursor pagination", query(cursorPage, func(q url.Values) { q.Del("sortBy") })},
	{"cursor.order-ignored", "sortOrder is ignored in cursor pagination", query(cursorPage, func(q url.Values) { q.Del("sortOrder") })},
	{"cursor.unprojected", "the attributes parameter is ignored after the first page",
		query(laterPage, func(q url.Values) { q.Del("attributes") })},
	{"cursor.search-ignored", "a search ignores its cursor", searchWithout("cursor")},
	{"cursor.search-count-ignored", "a search with a cursor ignores count", searchWithout("count")},
	{"cursor.mixed", "startIndex is accepted together with cursor", instead(cursorPage, func(next http.Handler, r *http.Request) *reply {
		q := r.URL.Query()
		start := q.Get("startIndex")
		q.Del("startIndex")
		rep := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
		if o := rep.object(); o != nil && rep.ok() && start != "" {
			o.Set("startIndex", 2)
			rep.body = o.AppendJSON(nil)
		}
		return rep
	})},
	{"cursor.default-untold", "lists have no startIndex",
		afterBody(listUsers, func(o *scim.Object) { o.Delete("startIndex") })},
	{"cursor.page-size-low", "pages are larger than the advertised maxPageSize", func(next http.Handler) http.Handler {
		return afterBody(config, func(o *scim.Object) { complexOf(o, "pagination").Set("maxPageSize", 2) })(next)
	}},
	{"cursor.not-understood", "the cursor parameter is ignored", query(cursorPage, func(q url.Values) { q.Del("cursor") })},
	{"cursor.reversed-pages", "every page after the first is in reverse order", afterBody(laterPage, func(o *scim.Object) {
		items := slices.Clone(o.Array("Resources"))
		slices.Reverse(items)
		o.Set("Resources", items)
	})},
}

func hasMember(o *scim.Object, name string) bool {
	_, ok := o.Get(name)
	return ok
}
