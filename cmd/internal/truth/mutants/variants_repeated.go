package mutants

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// repeatedVariants are servers that checks have accused, until their findings about third-party servers were repeated manually.
var repeatedVariants = []Variant{
	{"email-derived", "a user that is created without emails gets an email address without type, derived from userName",
		before(createUser, func(o *scim.Object) {
			if len(o.Array("emails")) == 0 && o.Text("userName") != "" {
				o.Set("emails", []any{scim.NewObject(scim.Member{Name: "value", Value: o.Text("userName")})})
			}
		})},
	{"body-before-credentials", "an operation remove without a value is rejected with 400 before the credentials are checked",
		instead(either(on("PATCH", "Users", true), on("PATCH", "Groups", true)), func(next http.Handler, r *http.Request) *reply {
			body := readBody(r)
			rep := serve(next, r)
			if o, err := scim.Decode(body); err == nil && rep.status == http.StatusUnauthorized && anyOp(removesAttribute)(o) {
				return invalidValue()
			}
			return rep
		})},
	{"path-filters-eq-only", "a PATCH with a filter in a path is rejected with 400, unless the filter compares one value by eq",
		refuse(either(patchUser, patchGroup), anyOp(func(op *scim.Object) bool {
			_, rest, filtered := strings.Cut(op.Text("path"), "[")
			return filtered && !singleEquality.MatchString(rest)
		}), func() *reply { return failure(http.StatusBadRequest, scim.InvalidPath) })},
	{"error-charset", "errors in ASCII have the charset ISO-8859-1, as a servlet container adds it", after(everything,
		func(_ *http.Request, rep *reply) {
			if rep.status >= 400 && len(rep.body) > 0 && !slices.ContainsFunc(rep.body, func(b byte) bool { return b >= 0x80 }) {
				rep.header.Set("Content-Type", "application/scim+json;charset=ISO-8859-1")
			}
		})},
	{"options-text", "the response to OPTIONS is a text with the allowed methods, as frameworks send it",
		instead(func(r *http.Request) bool { return r.Method == http.MethodOptions }, func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusOK, body: []byte("GET, HEAD, POST"),
				header: http.Header{"Allow": {"GET, HEAD, POST"}, "Content-Type": {"text/plain; charset=utf-8"}}}
		})},
	{"discovery-filter-applied", "a filter by name on /Schemas and /ResourceTypes is applied",
		instead(with(either(listSchemas, listTypes), "filter"), func(next http.Handler, r *http.Request) *reply {
			match := nameEquals.FindStringSubmatch(r.URL.Query().Get("filter"))
			if match == nil {
				return serve(next, r)
			}
			rep := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
			list := rep.object()
			for _, v := range list.Array("Resources") {
				if item, ok := v.(*scim.Object); ok && item.Text("name") != match[1] {
					withoutItem(list, "name", item.Text("name"))
				}
			}
			return newReply(http.StatusOK, list)
		})},
}

var (
	// singleEquality matches the rest of a path after the opening bracket of a filter that compares one value by eq.
	singleEquality = regexp.MustCompile(`(?i)^\s*[\w.:$]+ eq ("(\\.|[^"\\])*"|true|false)\s*\]`)
	nameEquals     = regexp.MustCompile(`^name eq "([^"\\]*)"$`)
)

// removesAttribute reports whether an operation of a PATCH removes an attribute and has no value.
func removesAttribute(op *scim.Object) bool {
	_, valued := op.Get("value")
	return strings.EqualFold(op.Text("op"), "remove") && !valued
}
