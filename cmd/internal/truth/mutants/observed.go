package mutants

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// withUserName sets a generated userName if the user has none.
func withUserName(o *scim.Object) {
	if v, ok := o.Get("userName"); !ok || v == "" {
		o.Set("userName", "user-"+rand.Text())
	}
}

// displayNameEquals matches a filter that compares displayName with a string.
var displayNameEquals = regexp.MustCompile(`^displayName eq "([^"\\]*)"$`)

// parentOfSub matches a comparison of a sub-attribute of the core schema in a filter, and the name of its attribute.
var parentOfSub = regexp.MustCompile(`(?:^|[ (])([A-Za-z0-9]+)\.[\w$]+ (?:eq|ne|co|sw|ew|gt|ge|lt|le) `)

// failures returns the number of failed operations in a bulk response.
func failures(o *scim.Object) int {
	n := 0
	for _, v := range o.Array("Operations") {
		if result, ok := v.(*scim.Object); ok && strings.HasPrefix(result.Text("status"), "4") {
			n++
		}
	}
	return n
}

// atLimit returns a wrapper that changes the response to a bulk request in which the number of errors has reached failOnErrors. fn receives
// the operations of the request.
func atLimit(fn func(operations []any, rep *reply, o *scim.Object)) wrap {
	return instead(postBulk, func(next http.Handler, r *http.Request) *reply {
		job, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		v, limited := job.Get("failOnErrors")
		if o := rep.object(); o != nil && err == nil && limited && rep.ok() && scim.Equal(v, jsonInteger(failures(o))) {
			fn(job.Array("Operations"), rep, o)
		}
		return rep
	})
}

// observed are faults of servers that checks of other requirements have reported. TestSuite_AccusesOnlyFault checks that only the checks of
// the violated requirement report them now.
var observed = []Mutant{
	{"filter.parts-fail", "a filter with brackets is rejected with 400 invalidValue", filterAnswer(contains("["), invalidValue)},
	{"filter.title-unsearched", "a filter on title finds no user", filtering(listUsers, func(f string) string {
		if strings.HasPrefix(f, "title eq ") {
			return `id eq "nobody"`
		}
		return f
	})},
	{"projection.parts-of-extended-fail", "the parameter attributes with a dot is rejected for a user with the enterprise extension",
		instead(with(readUser, "attributes"), func(next http.Handler, r *http.Request) *reply {
			whole := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil)).object()
			if _, extended := whole.Get(scim.EnterpriseUserSchema); extended && strings.Contains(r.URL.Query().Get("attributes"), ".") {
				return invalidValue()
			}
			return serve(next, r)
		})},
	{"bulk.patch-refused", "a bulk request with a PATCH is rejected with 400",
		refuse(postBulk, func(o *scim.Object) bool {
			return slices.ContainsFunc(o.Array("Operations"), func(v any) bool {
				op, ok := v.(*scim.Object)
				return ok && op.Text("method") == http.MethodPatch
			})
		}, invalidValue)},
	{"create.nameless-everywhere", "a user without userName gets a generated one, also in a bulk request",
		chain(before(createUser, withUserName), bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			for _, op := range list {
				if method(op, "POST") && op.Text("path") == "/Users" && op.Complex("data") != nil {
					withUserName(op.Complex("data"))
				}
			}
			return list
		}))},
	{"bulk.unprocessed-results", "operations that are not performed because of failOnErrors have results with the status 409",
		atLimit(func(operations []any, rep *reply, o *scim.Object) {
			all := o.Array("Operations")
			for _, v := range operations[min(len(all), len(operations)):] {
				op := objectOf(v)
				all = append(all, scim.NewObject(scim.Member{Name: "method", Value: op.Text("method")},
					scim.Member{Name: "bulkId", Value: op.Text("bulkId")}, scim.Member{Name: "status", Value: "409"}))
			}
			o.Set("Operations", all)
			rep.body = o.AppendJSON(nil)
		})},
	{"bulk.location-of-collection", "the location of a DELETE in a bulk request is that of the collection", bulkResults(func(op *scim.Object) {
		if i := strings.LastIndexByte(op.Text("location"), '/'); method(op, "DELETE") && i > 0 {
			op.Set("location", op.Text("location")[:i])
		}
	})},
	{"filter.absent-fails", "a filter on emails is rejected with 400 invalidValue if a user has no emails",
		instead(with(listUsers, "filter"), func(next http.Handler, r *http.Request) *reply {
			if strings.Contains(r.URL.Query().Get("filter"), "emails") {
				without := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "filter=not+(emails+pr)&count=1", nil))
				if n, _ := without.object().Get("totalResults"); !scim.Equal(n, jsonInteger(0)) {
					return failure(400, scim.InvalidValue)
				}
			}
			return serve(next, r)
		})},
	{"filter.absent-parent-fails", "a filter on a sub-attribute is rejected with 400 invalidValue if an object lacks the attribute",
		instead(with(either(listUsers, listGroups), "filter"), func(next http.Handler, r *http.Request) *reply {
			if m := parentOfSub.FindStringSubmatch(r.URL.Query().Get("filter")); m != nil {
				absent := "not (" + m[1] + " pr)"
				if strings.HasSuffix(r.URL.Path, "/Users") {
					absent += ` and not (userName sw "owner")` // the owner of the token has only a userName
				}
				without := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "count=1&filter="+url.QueryEscape(absent), nil))
				if n, _ := without.object().Get("totalResults"); !scim.Equal(n, jsonInteger(0)) {
					return failure(400, scim.InvalidValue)
				}
			}
			return serve(next, r)
		})},
	{"filter.refused-later", "the second and every later filter that starts with name.familyName eq is rejected with 400 invalidFilter",
		func(next http.Handler) http.Handler {
			var n atomic.Int64
			return instead(with(listUsers, "filter"), func(next http.Handler, r *http.Request) *reply {
				if strings.HasPrefix(r.URL.Query().Get("filter"), "name.familyName eq ") && n.Add(1) > 1 {
					return failure(400, scim.InvalidFilter)
				}
				return serve(next, r)
			})(next)
		}},
	{"filter.display-name-exact", "eq on displayName is case-sensitive", keep(with(listUsers, "filter"),
		func(r *http.Request, o *scim.Object) bool {
			m := displayNameEquals.FindStringSubmatch(r.URL.Query().Get("filter"))
			return m == nil || o.Text("displayName") == m[1]
		})},
	{"filter.certificates-fail", "a filter on x509Certificates is rejected with 400 invalidValue",
		filterAnswer(contains("x509Certificates"), func() *reply { return failure(400, scim.InvalidValue) })},
	{"filter.display-name-unsearched", "a filter on displayName finds nobody", filterAnswer(contains("displayName"), emptyList)},
	{"filter.present-fails", "a filter with pr causes 500", filterAnswer(contains(" pr"), func() *reply { return failure(500, "") })},
	{"filter.not-per-user", "not in square brackets negates the condition for all elements of a user together",
		sub(`emails\[not \((.*)\)\]$`, `not (emails[$1])`)},
	{"delete.group-status-200", "DELETE of a group returns 200 with an empty object",
		after(on("DELETE", "Groups", true), func(_ *http.Request, rep *reply) {
			if rep.ok() {
				*rep = *newReply(http.StatusOK, scim.NewObject())
			}
		})},
	{"create.schemas-repeated", "a user that is created without schemas is returned without schemas",
		chain(before(createUser, func(o *scim.Object) {
			if len(o.Array("schemas")) == 0 {
				o.Set("schemas", []any{scim.UserSchema})
			}
		}), afterEach(either(createUser, readUser, listUsers), func(o *scim.Object) {
			if strings.Contains(o.Text("userName"), "without-schemas@") {
				o.Delete("schemas")
			}
		}))},
	{"create.required-unchecked", "a user without userName, or with null as userName, gets a generated one in a POST and a PUT",
		before(either(createUser, putUser), func(o *scim.Object) {
			if v, ok := o.Get("userName"); !ok || v == nil || v == "" {
				o.Set("userName", "user-"+rand.Text())
			}
		})},
	{"patch.add-replaces-emails", "a PATCH that adds emails replaces all emails", edit(patchUser, func(o *scim.Object) {
		if is(o, "add", "emails") {
			o.Set("op", "replace")
		}
	})},
	{"patch.read-only-skipped", "an operation of a PATCH on meta or id has no effect", edit(patchUser, func(o *scim.Object) {
		if strings.HasPrefix(o.Text("path"), "meta") || o.Text("path") == "id" {
			o.Set("op", "replace")
			o.Set("path", "active")
			o.Set("value", true)
		}
	})},
	{"patch.emails-kept", "a PATCH that removes emails is rejected with 400 invalidValue",
		refuse(patchUser, anyOp(func(o *scim.Object) bool { return is(o, "remove", "emails") }),
			func() *reply { return failure(400, scim.InvalidValue) })},
	{"read.head-404", "HEAD returns 404 for a resource that exists", instead(
		func(r *http.Request) bool { return r.Method == http.MethodHead },
		func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusNotFound, header: http.Header{}}
		})},
	{"patch.empty-name-generated", "a PATCH that replaces userName with an empty string sets a generated name",
		edit(patchUser, func(o *scim.Object) {
			if v, _ := o.Get("value"); is(o, "replace", "userName") && v == "" {
				o.Set("value", "user-"+rand.Text())
			}
		})},
}
