package mutants

import (
	"crypto/rand"
	"net/http"
	"regexp"
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
	{"create.nameless-everywhere", "a user without userName gets a generated one, also in a bulk request",
		chain(before(createUser, withUserName), bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			for _, op := range list {
				if method(op, "POST") && op.Text("path") == "/Users" && op.Complex("data") != nil {
					withUserName(op.Complex("data"))
				}
			}
			return list
		}))},
	{"bulk.limit-reached-400", "a bulk request in which the number of errors reaches failOnErrors returns 400 with its results",
		atLimit(func(_ []any, rep *reply, _ *scim.Object) { rep.status = http.StatusBadRequest })},
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
	{"patch.empty-name-generated", "a PATCH that replaces userName with an empty string sets a generated name",
		edit(patchUser, func(o *scim.Object) {
			if v, _ := o.Get("value"); is(o, "replace", "userName") && v == "" {
				o.Set("value", "user-"+rand.Text())
			}
		})},
}
