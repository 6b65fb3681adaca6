package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// integerOf returns the value of an integer query parameter. It returns -1 and false for an absent or invalid value.
func integerOf(r *http.Request, parameter string) (int, bool) {
	n, err := strconv.Atoi(r.URL.Query().Get(parameter))
	return n, err == nil
}

var list = []Mutant{
	{"list.counters-text", "totalResults is a string", afterBody(listUsers, func(o *scim.Object) {
		v, _ := o.Get("totalResults")
		data := scim.AppendValue(nil, v)
		o.Set("totalResults", string(data))
	})},
	{"list.no-schemas", "a list has no schemas", afterBody(listUsers, func(o *scim.Object) { o.Delete("schemas") })},
	{"list.bare-array", "a list is a bare array", after(listUsers, func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() {
			v, _ := o.Get("Resources")
			rep.body = scim.AppendValue(nil, v)
		}
	})},
	{"list.total-of-page", "totalResults is the size of the page",
		afterBody(listUsers, func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"list.count-ignored", "count is ignored", query(listUsers, func(q url.Values) { q.Del("count") })},
	{"list.items-per-page-asked", "itemsPerPage is one more than the number of items",
		afterBody(listUsers, func(o *scim.Object) { o.Set("itemsPerPage", len(o.Array("Resources"))+1) })},
	{"list.count-zero-is-all", "count=0 is ignored", query(listUsers, func(q url.Values) {
		if q.Get("count") == "0" {
			q.Del("count")
		}
	})},
	{"list.count-negative-400", "a negative count is rejected with 400", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if n, ok := integerOf(r, "count"); ok && n < 0 {
			return failure(400, scim.InvalidValue)
		}
		return serve(next, r)
	})},
	{"list.start-zero-400", "startIndex=0 is rejected with 400", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if n, ok := integerOf(r, "startIndex"); ok && n < 1 {
			return failure(400, scim.InvalidValue)
		}
		return serve(next, r)
	})},
	{"list.start-ignored", "startIndex is ignored", query(listUsers, func(q url.Values) { q.Del("startIndex") })},
	{"list.start-from-zero", "startIndex counts from 0", query(listUsers, func(q url.Values) {
		if n, err := strconv.Atoi(q.Get("startIndex")); err == nil {
			q.Set("startIndex", strconv.Itoa(n+1))
		}
	})},
	{"list.start-is-page", "startIndex is read as the page number", query(listUsers, func(q url.Values) {
		n, err1 := strconv.Atoi(q.Get("startIndex"))
		count, err2 := strconv.Atoi(q.Get("count"))
		if err1 == nil && err2 == nil && n > 0 && count > 0 {
			q.Set("startIndex", strconv.Itoa((n-1)*count+1))
		}
	})},
	{"list.start-not-echoed", "the response always has startIndex 1", afterBody(listUsers, func(o *scim.Object) { o.Set("startIndex", 1) })},
	{"list.beyond-404", "a startIndex past the end returns 404", after(listUsers, func(r *http.Request, rep *reply) {
		if n, ok := integerOf(r, "startIndex"); ok && n > 1 && rep.ok() && len(rep.object().Array("Resources")) == 0 {
			*rep = *failure(404, "")
		}
	})},
	{"list.order-changes", "every second response is in another order", func(next http.Handler) http.Handler {
		var n atomic.Int64
		return afterBody(listUsers, func(o *scim.Object) {
			if n.Add(1)%2 == 0 {
				items := slices.Clone(o.Array("Resources"))
				slices.Reverse(items)
				o.Set("Resources", items)
			}
		})(next)
	}},
	{"list.garbage-500", "a nonnumeric count causes 500", instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if _, ok := integerOf(r, "count"); !ok && r.URL.Query().Get("count") != "" {
			return failure(500, "")
		}
		return serve(next, r)
	})},
}
