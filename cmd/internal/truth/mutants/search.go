package mutants

import (
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// searchAt matches searches in a collection.
func searchAt(collection string) match {
	return func(r *http.Request) bool {
		_, c, id := place(r)
		return r.Method == http.MethodPost && c == collection && id == ".search"
	}
}

var (
	searchUsers  = searchAt("Users")
	searchGroups = searchAt("Groups")
)

// searchWithout returns a wrapper that removes members from the search message.
func searchWithout(names ...string) wrap {
	return before(searchUsers, func(o *scim.Object) {
		for _, name := range names {
			o.Delete(name)
		}
	})
}

func searchBroken(o *scim.Object) bool {
	f := o.Text("filter")
	return strings.HasSuffix(f, " eq") || strings.Count(f, `"`)%2 == 1
}

var search = []Mutant{
	{"search.not-served", "searches are not supported",
		instead(searchUsers, func(http.Handler, *http.Request) *reply { return failure(404, "") })},
	{"search.status-201", "a search returns 201", after(searchUsers, func(_ *http.Request, rep *reply) {
		if rep.status == 200 {
			rep.status = 201
		}
	})},
	{"search.bare-list", "the search response has no schemas", afterBody(searchUsers, func(o *scim.Object) { o.Delete("schemas") })},
	{"search.filter-ignored", "the filter of a search is ignored", searchWithout("filter")},
	{"search.eq-is-sw", "eq acts as sw in searches",
		before(searchUsers, func(o *scim.Object) { o.Set("filter", strings.ReplaceAll(o.Text("filter"), " eq ", " sw ")) })},
	{"search.and-ignored", "only the first condition of a search filter is evaluated", before(searchUsers, func(o *scim.Object) {
		first, _, _ := strings.Cut(o.Text("filter"), " and ")
		o.Set("filter", first)
	})},
	{"search.no-match-404", "a search without a match returns 404", after(searchUsers, func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() && scim.Equal(first(o.Get("totalResults")), jsonInteger(0)) {
			*rep = *failure(404, "")
		}
	})},
	{"search.filter-required", "a search without a filter returns an empty list",
		instead(withJSON(searchUsers, func(o *scim.Object) bool { return o.Text("filter") == "" }), func(http.Handler, *http.Request) *reply {
			return emptyList()
		})},
	{"search.attributes-ignored", "the parameter attributes of a search is ignored", searchWithout("attributes")},
	{"search.excluded-ignored", "the parameter excludedAttributes of a search is ignored", searchWithout("excludedAttributes")},
	{"search.excluded-is-attributes", "the parameter excludedAttributes of a search acts as the parameter attributes",
		before(searchUsers, func(o *scim.Object) {
			if names := o.Array("excludedAttributes"); len(names) > 0 {
				o.Set("attributes", names)
				o.Delete("excludedAttributes")
			}
		})},
	{"search.password-shown", "a search returns the password if the search has the parameter attributes",
		afterEach(withJSON(searchUsers, func(o *scim.Object) bool { return len(o.Array("attributes")) > 0 }), func(o *scim.Object) {
			o.Set("password", "$2a$10$hash")
		})},
	{"search.count-ignored", "the parameter count of a search is ignored", searchWithout("count")},
	{"search.count-zero-is-all", "the parameter count of a search is ignored if it is 0", before(searchUsers, func(o *scim.Object) {
		if v, ok := o.Get("count"); ok && scim.Equal(v, jsonInteger(0)) {
			o.Delete("count")
		}
	})},
	{"search.total-of-page", "totalResults of a search is the size of the page",
		afterBody(searchUsers, func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"search.start-ignored", "startIndex of a search is ignored", searchWithout("startIndex")},
	{"search.start-not-echoed", "startIndex in the response to every search is 1",
		afterBody(searchUsers, func(o *scim.Object) { o.Set("startIndex", 1) })},
	{"search.sort-ignored", "sortBy of a search is ignored", searchWithout("sortBy")},
	{"search.order-ignored", "sortOrder of a search is ignored", searchWithout("sortOrder")},
	{"search.schema-optional", "a search without schemas is accepted", before(searchUsers, func(o *scim.Object) {
		if len(o.Array("schemas")) == 0 {
			o.Set("schemas", []any{scim.SearchRequestMessage})
		}
	})},
	{"search.any-schema", "a search is accepted whatever its schemas contains", before(searchUsers, func(o *scim.Object) {
		if len(o.Array("schemas")) > 0 {
			o.Set("schemas", []any{scim.SearchRequestMessage})
		}
	})},
	{"search.broken-filter-taken", "an invalid search filter returns an empty list", refuse(searchUsers, searchBroken, emptyList)},
	{"search.not-json-taken", "a search that is not JSON returns an empty list",
		instead(searchUsers, func(next http.Handler, r *http.Request) *reply {
			if _, err := scim.Decode(readBody(r)); err != nil {
				return emptyList()
			}
			return serve(next, r)
		})},
	{"search.creates", "a search with a userName creates that user",
		instead(withJSON(searchUsers, func(o *scim.Object) bool { return o.Text("userName") != "" }),
			func(next http.Handler, r *http.Request) *reply {
				o, _ := scim.Decode(readBody(r))
				user := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.UserSchema}},
					scim.Member{Name: "userName", Value: o.Text("userName")})
				return serve(next, derivedRequest(r, http.MethodPost, strings.TrimSuffix(r.URL.Path, "/.search"), "", user.AppendJSON(nil)))
			})},
	{"search.by-get", "GET on /.search lists users",
		instead(func(r *http.Request) bool { return readUser(r) && strings.HasSuffix(r.URL.Path, "/.search") },
			func(next http.Handler, r *http.Request) *reply {
				return serve(next, derivedRequest(r, http.MethodGet, strings.TrimSuffix(r.URL.Path, "/.search"), "", nil))
			})},
	{"search.groups-are-users", "a search for groups returns users", instead(searchGroups, func(next http.Handler, r *http.Request) *reply {
		return serve(next, derivedRequest(r, http.MethodPost, strings.Replace(r.URL.Path, "/Groups/", "/Users/", 1), "", readBody(r)))
	})},
	{"search.groups-unfiltered", "a search for groups ignores its filter", before(searchGroups, func(o *scim.Object) { o.Delete("filter") })},
	{"search.long-500", "a long search causes 500",
		refuse(searchUsers, func(o *scim.Object) bool { return len(o.Text("filter")) > 4096 }, func() *reply { return failure(500, "") })},
}

// first returns the first of two results.
func first[T any](v T, _ bool) T { return v }
