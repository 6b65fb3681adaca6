package mutants

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var (
	// queryRoot matches queries on the base URL: any path without a collection.
	queryRoot match = func(r *http.Request) bool {
		_, c, _ := place(r)
		return c == "" && r.Method == http.MethodGet && r.URL.Query().Has("filter")
	}
	searchRoot match = func(r *http.Request) bool {
		_, c, _ := place(r)
		return c == "" && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/.search")
	}
)

// atRoot returns a wrapper that replaces the matches of a pattern in the filters of queries on the base URL.
func atRoot(pattern, replacement string) wrap {
	re := regexp.MustCompile(pattern)
	return filtering(queryRoot, func(f string) string { return re.ReplaceAllString(f, replacement) })
}

func isGroup(o *scim.Object) bool {
	return scim.Equal(o.Array("schemas"), []any{scim.GroupSchema})
}

var root = []Mutant{
	{"root.users-only", "a query on the base URL covers users only",
		keep(queryRoot, func(_ *http.Request, o *scim.Object) bool { return !isGroup(o) })},
	{"root.groups-only", "a query on the base URL covers groups only",
		keep(queryRoot, func(_ *http.Request, o *scim.Object) bool { return isGroup(o) })},
	{"root.type-ignored", "conditions on meta.resourceType are always true", atRoot(`meta\.resourceType eq "\w+"`, `id pr`)},
	{"root.type-none", "conditions on meta.resourceType are never true", atRoot(`meta\.resourceType eq "\w+"`, `id eq "nobody"`)},
	{"root.present-always", "pr on userName is also true for groups", atRoot(`userName pr`, `id pr`)},
	{"root.equal-400", "eq on an attribute that groups do not have is rejected with 400",
		instead(queryRoot, func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("filter"), "userName eq") {
				return invalidFilter()
			}
			return serve(next, r)
		})},
	{"root.equal-none", "eq on an attribute that groups do not have matches no resources",
		instead(queryRoot, func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("filter"), "userName eq") {
				return newReply(200, scim.NewObject(scim.Member{Name: "totalResults", Value: 0}))
			}
			return serve(next, r)
		})},
	{"root.unknown-dropped", "a condition on an unknown attribute is dropped", atRoot(` and scimconfNoSuchAttribute.*`, ``)},
	{"root.filter-ignored", "filters on the base URL are ignored", filtering(queryRoot, func(string) string { return "id pr" })},
	{"root.untyped", "all items of a query on the base URL have the User schema",
		afterEach(queryRoot, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"root.type-wrong", "meta.resourceType of all items is \"Resource\"", afterEach(queryRoot, func(o *scim.Object) {
		if meta := o.Complex("meta"); meta != nil {
			meta.Set("resourceType", "Resource")
		}
	})},
	{"root.total-of-page", "totalResults on the base URL is the size of the page",
		afterBody(queryRoot, func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"root.count-ignored", "the count parameter is ignored on the base URL", query(queryRoot, func(q url.Values) { q.Del("count") })},
	{"root.start-ignored", "startIndex is ignored on the base URL", query(queryRoot, func(q url.Values) { q.Del("startIndex") })},
	{"root.attributes-ignored", "the attributes parameter is ignored on the base URL",
		query(queryRoot, func(q url.Values) { q.Del("attributes") })},
	{"root.broken-filter-taken", "an invalid filter on the base URL returns an empty list",
		after(queryRoot, func(_ *http.Request, rep *reply) {
			if rep.status == 400 {
				*rep = *emptyList()
			}
		})},
	{"root.sort-ignored", "sortBy is ignored on the base URL", query(queryRoot, func(q url.Values) { q.Del("sortBy") })},
	{"root.search-unfiltered", "a search on the base URL ignores its filter", before(searchRoot, func(o *scim.Object) { o.Delete("filter") })},
	{"root.search-users", "a search on the base URL covers users only", instead(searchRoot, func(next http.Handler, r *http.Request) *reply {
		return serve(next, derivedRequest(r, http.MethodPost, strings.TrimSuffix(r.URL.Path, ".search")+"Users/.search", "", readBody(r)))
	})},
	{"root.search-count-ignored", "a search on the base URL ignores count", before(searchRoot, func(o *scim.Object) { o.Delete("count") })},
}
