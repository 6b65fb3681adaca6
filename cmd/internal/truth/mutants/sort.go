package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// sortedBy matches requests for lists of users whose sortBy is an attribute, compared case-insensitively. An empty attribute matches any
// sortBy.
func sortedBy(attribute string) match {
	return func(r *http.Request) bool {
		by := r.URL.Query().Get("sortBy")
		return listUsers(r) && by != "" && (attribute == "" || strings.EqualFold(by, attribute))
	}
}

// rearrange returns a wrapper that changes the order of the items in matching responses.
func rearrange(m match, fn func(r *http.Request, items []*scim.Object)) wrap {
	return after(m, func(r *http.Request, rep *reply) {
		o := rep.object()
		if !rep.ok() || o == nil {
			return
		}
		var items []*scim.Object
		for _, item := range o.Array("Resources") {
			items = append(items, objectOf(item))
		}
		fn(r, items)
		out := []any{}
		for _, item := range items {
			out = append(out, item)
		}
		o.Set("Resources", out)
		rep.body = o.AppendJSON(nil)
	})
}

func isDescending(r *http.Request) bool { return r.URL.Query().Get("sortOrder") == "descending" }

// absentAt returns a wrapper that moves the items without an attribute to the start of a list sorted by the attribute if front is set, and
// to the end otherwise. It changes only responses to requests that satisfy cond.
func absentAt(attribute string, front bool, cond func(*http.Request) bool) wrap {
	return rearrange(sortedBy(attribute), func(r *http.Request, items []*scim.Object) {
		if !cond(r) {
			return
		}
		slices.SortStableFunc(items, func(a, b *scim.Object) int {
			_, one := a.Get(attribute)
			_, two := b.Get(attribute)
			switch {
			case one == two:
				return 0
			case one != front:
				return -1
			}
			return 1
		})
	})
}

// unsortedBy returns a wrapper that ignores sortBy for one attribute.
func unsortedBy(attribute string) wrap {
	return query(sortedBy(attribute), func(q url.Values) { q.Del("sortBy") })
}

// sortBreaks returns a wrapper that returns 500 for lists of users with a query parameter that satisfies cond.
func sortBreaks(parameter string, cond func(string) bool) wrap {
	return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if cond(r.URL.Query().Get(parameter)) {
			return failure(500, "")
		}
		return serve(next, r)
	})
}

// everyOther returns a wrapper that reverses the items of every second matching response.
func everyOther(m match) wrap {
	return func(next http.Handler) http.Handler {
		var n atomic.Int64
		return rearrange(m, func(_ *http.Request, items []*scim.Object) {
			if n.Add(1)%2 == 0 {
				slices.Reverse(items)
			}
		})(next)
	}
}

// The mutants of this area require a server that supports sorting.
var sort = []Mutant{
	{"sort.ignored", "sortBy is ignored", query(listUsers, func(q url.Values) { q.Del("sortBy") })},
	{"sort.order-ignored", "sortOrder is ignored", query(listUsers, func(q url.Values) { q.Del("sortOrder") })},
	{"sort.first-page-only", "only the first page is sorted", query(listUsers, func(q url.Values) {
		if start := q.Get("startIndex"); start != "" && start != "1" {
			q.Del("sortBy")
		}
	})},
	{"sort.by-code-point", "strings are ordered by code points",
		rearrange(sortedBy("displayName"), func(r *http.Request, items []*scim.Object) {
			slices.SortStableFunc(items, func(a, b *scim.Object) int { return strings.Compare(a.Text("displayName"), b.Text("displayName")) })
			if isDescending(r) {
				slices.Reverse(items)
			}
		})},
	{"sort.missing-first", "users without a value of the attribute in sortBy come first in ascending order",
		absentAt("nickName", true, func(r *http.Request) bool { return !isDescending(r) })},
	{"sort.missing-last", "users without a value of the attribute in sortBy come last in descending order",
		absentAt("nickName", false, isDescending)},
	{"sort.missing-dropped", "users without a value of the attribute in sortBy are omitted",
		keep(sortedBy("nickName"), func(_ *http.Request, o *scim.Object) bool { return o.Text("nickName") != "" })},
	{"sort.doubled", "users with two values of the attribute in sortBy are listed twice",
		after(sortedBy("emails.value"), func(_ *http.Request, rep *reply) {
			o := rep.object()
			if !rep.ok() || o == nil {
				return
			}
			var out []any
			for _, item := range o.Array("Resources") {
				for range max(1, len(objectOf(item).Array("emails"))) {
					out = append(out, item)
				}
			}
			o.Set("Resources", out)
			o.Set("totalResults", len(out))
			rep.body = o.AppendJSON(nil)
		})},
	{"sort.first-not-primary", "a multi-valued attribute is sorted by its first value instead of the primary value",
		rearrange(sortedBy("emails.value"), func(_ *http.Request, items []*scim.Object) {
			byAddress(items, func(emails []string) string { return emails[0] })
		})},
	{"sort.greatest-value", "a multi-valued attribute is sorted by its greatest value",
		rearrange(sortedBy("emails.value"), func(_ *http.Request, items []*scim.Object) {
			byAddress(items, func(emails []string) string { return slices.Max(emails) })
		})},
	{"sort.element-path-ignored", "sortBy is ignored if it is the path of a sub-attribute of a multi-valued attribute",
		unsortedBy("emails.value")},
	{"sort.element-path-rejected", "sortBy is rejected if it is the path of a sub-attribute of a multi-valued attribute",
		refusing(sortedBy("emails.value"), 400)},
	{"sort.name-case-exact", "the name in sortBy is case-sensitive", query(sortedBy(""), func(q url.Values) {
		if q.Get("sortBy") == "NAME.familyname" {
			q.Del("sortBy")
		}
	})},
	{"sort.urn-unknown", "a name with a URN is not recognized in sortBy", query(sortedBy(""), func(q url.Values) {
		if strings.HasPrefix(q.Get("sortBy"), "urn:") {
			q.Del("sortBy")
		}
	})},
	{"sort.user-name-ignored", "sortBy is ignored for userName", unsortedBy("userName")},
	{"sort.user-name-order-ignored", "sortOrder is ignored for userName",
		query(sortedBy("userName"), func(q url.Values) { q.Del("sortOrder") })},
	{"sort.reference-reversed", "a list sorted by a reference is in reverse order",
		rearrange(sortedBy("profileUrl"), func(_ *http.Request, items []*scim.Object) { slices.Reverse(items) })},
	{"sort.shown-only", "sortBy is ignored in requests with the attributes parameter",
		instead(with(sortedBy(""), "attributes"), func(next http.Handler, r *http.Request) *reply {
			q := r.URL.Query()
			q.Del("sortBy")
			return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, q.Encode(), nil))
		})},
	{"sort.date-disordered", "a list sorted by date is not in chronological order",
		rearrange(sortedBy("meta.created"), func(_ *http.Request, items []*scim.Object) {
			for i, item := range items {
				complexOf(item, "meta").Set("created", []string{"2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"}[i%2])
			}
		})},
	{"sort.unknown-500", "an unknown name in sortBy causes 500",
		sortBreaks("sortBy", func(v string) bool { return strings.Contains(v, "NoSuchAttribute") })},
	{"sort.unknown-nobody", "an unknown name in sortBy returns an empty list",
		instead(sortedBy("scimconfNoSuchAttribute"), func(http.Handler, *http.Request) *reply { return emptyList() })},
	{"sort.hostile-500", "a quotation mark, semicolon or parenthesis in sortBy causes 500",
		sortBreaks("sortBy", func(v string) bool { return strings.ContainsAny(v, "';(") })},
	{"sort.unknown-order-500", "an unknown sortOrder causes 500",
		sortBreaks("sortOrder", func(v string) bool { return v == "sideways" })},
	{"sort.order-alone", "sortOrder without sortBy reverses the list",
		rearrange(with(listUsers, "sortOrder"), func(r *http.Request, items []*scim.Object) {
			if r.URL.Query().Get("sortBy") == "" {
				slices.Reverse(items)
			}
		})},
	{"sort.ties-change", "equal values are in another order in every second response", everyOther(sortedBy("name.familyName"))},
	{"sort.pages-reversed", "each page of a descending list is reversed separately",
		rearrange(with(sortedBy(""), "count"), func(r *http.Request, items []*scim.Object) {
			if isDescending(r) {
				slices.Reverse(items)
			}
		})},
	{"sort.groups-ignored", "sortBy is ignored for groups", query(listGroups, func(q url.Values) { q.Del("sortBy") })},
}

// byAddress sorts users by the email address that choose returns. Users without an email address come last.
func byAddress(items []*scim.Object, choose func(emails []string) string) {
	key := func(o *scim.Object) string {
		var emails []string
		for _, item := range o.Array("emails") {
			emails = append(emails, objectOf(item).Text("value"))
		}
		if len(emails) == 0 {
			return "\uffff"
		}
		return choose(emails)
	}
	slices.SortStableFunc(items, func(a, b *scim.Object) int { return strings.Compare(key(a), key(b)) })
}
