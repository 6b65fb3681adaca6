package mutants

import (
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// authorizedAs matches requests whose Authorization header starts with prefix.
func authorizedAs(prefix string) match {
	return func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), prefix) }
}

// both matches the requests that a and b both match.
func both(a, b match) match { return func(r *http.Request) bool { return a(r) && b(r) } }

func below(part string) match {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

func writing(r *http.Request) bool { return r.Method != http.MethodGet }

var authEverywhere = []Mutant{
	{"auth.groups-open", "groups can be changed without credentials",
		withEarlierCredentials(both(unauthenticated, both(writing, below("/Groups"))))},
	{"auth.any-token-writes", "any token may change users", withEarlierCredentials(both(writing, authorizedAs("Bearer ")))},
	{"auth.any-scheme", "credentials of the scheme Basic are not verified", withEarlierCredentials(authorizedAs("Basic "))},
	{"auth.bare-scheme", "the word Bearer without a token is accepted",
		withEarlierCredentials(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer" })},
	{"auth.scheme-exact", "the scheme name Bearer is compared case-sensitively", func(next http.Handler) http.Handler {
		return instead(func(r *http.Request) bool { return !unauthenticated(r) && !authorizedAs("Bearer")(r) },
			func(next http.Handler, r *http.Request) *reply {
				bare := r.Clone(r.Context())
				bare.Header.Del("Authorization")
				return serve(next, bare)
			})(next)
	}},
	{"auth.token-in-address", "a token in the URL is accepted", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if token := r.URL.Query().Get("access_token"); token != "" {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", "Bearer "+token)
			}
			next.ServeHTTP(w, r)
		})
	}},
	{"auth.search-open", "a query with POST to /.search needs no credentials",
		withEarlierCredentials(both(unauthenticated, below("/.search")))},
	{"auth.unknown-listed", "an unknown endpoint returns an empty list to every client", instead(func(r *http.Request) bool {
		_, collection, _ := place(r)
		return unauthenticated(r) && collection == ""
	}, func(http.Handler, *http.Request) *reply {
		return newReply(http.StatusOK,
			scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.ListResponseMessage}}, scim.Member{Name: "totalResults", Value: 0}))
	})},
}
