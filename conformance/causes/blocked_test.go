package causes_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const errorMessage = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400",`

// shown is an exchange with bodies.
func shown(method, path, request string, status int, response string) *wirelog.Exchange {
	e := exchange(method, path, status)
	e.RequestBody, e.ResponseBody = request, response
	return e
}

// patchOf returns the body of a PATCH with one operation.
func patchOf(operation string) string {
	return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[` + operation + `]}`
}

// TestOf_BlockedBy checks that a blocked check belongs to a cause only if a finding of the cause shows the same request with the same
// response, or if the reason names a check of the cause.
func TestOf_BlockedBy(t *testing.T) {
	for name, c := range map[string]struct {
		check   string // the check with the finding
		want    string
		shows   *wirelog.Exchange
		reason  string
		blocker *wirelog.Exchange
		same    bool
	}{
		"another detail": {
			check: "create.names-ignore-case", want: "201",
			shows:   shown("POST", "/Users", "{}", 400, errorMessage+`"scimType":"invalidValue","detail":"userName is required"}`),
			reason:  "blocked: POST /Users, which prepares the check, returned 400: the target accepts the object only without emails",
			blocker: shown("POST", "/Users", "{}", 400, errorMessage+`"scimType":"invalidValue","detail":"emails cannot contain duplicates"}`),
		},
		"the same detail": {
			check: "create.repeated-emails", want: "201",
			shows:   shown("POST", "/Users", "{}", 400, errorMessage+`"scimType":"invalidValue","detail":"emails cannot contain \"work\" twice"}`),
			reason:  "blocked: POST /Users, which prepares the check, returned 400",
			blocker: shown("POST", "/Users", "{}", 400, errorMessage+`"scimType":"invalidValue","detail":"emails cannot contain \"home\" twice"}`),
			same:    true,
		},
		"another error that is not in SCIM form": {
			check: "traffic.error-schemas", want: "an Error",
			shows:   shown("POST", "/Users", "{}", 400, `{"message":"[body.name] Required"}`),
			reason:  "blocked: POST /Users is a prerequisite and returned 400",
			blocker: shown("POST", "/Users", "{}", 400, `{"message":"[body.userName] Invalid lowercase"}`),
		},
		"members of a group": {
			check: "groups.external-id", want: "Ext-ID", shows: shown("GET", "/Groups/7", "", 200, `{"members":[]}`),
			reason:  "blocked: GET /Groups/{id} returned 200 without the members that accepted requests have set",
			blocker: shown("GET", "/Groups/8", "", 200, `{"members":[]}`),
		},
		"members of a new group": {
			check: "groups.create", want: "a member", shows: shown("POST", "/Groups", "{}", 201, `{"members":[]}`),
			reason:  "blocked: GET /Groups/{id} returned 200 without the members that accepted requests have set",
			blocker: shown("GET", "/Groups/8", "", 200, `{"members":[]}`), same: true,
		},
		"a startIndex that the target ignores": {
			check: "list.start-index", want: "other items", shows: shown("GET", "/Users?startIndex=3&count=2", "", 200, "{}"),
			reason: "blocked: GET /Users?startIndex=3 returned the items of startIndex=1, which list.start-index reports", same: true,
		},
		"another filter": {
			check: "filter.invalid-syntax", want: "400", shows: shown("GET", "/Users?filter=userName+eq+%22unclosed", "", 200, "{}"),
			reason: "blocked: GET /Users?filter, with the same operator and userName, title or displayName, returned 200 and not exactly the " +
				"users that match",
			blocker: shown("GET", "/Users?filter=title+co+%22a%22", "", 200, "{}"),
		},
		"the same operator": {
			check: "filter.co", want: "one", shows: shown("GET", "/Users?filter=userName+co+%22a%22", "", 200, "{}"),
			reason: "blocked: GET /Users?filter, with the same operator and userName, title or displayName, returned 200 and not exactly the " +
				"users that match",
			blocker: shown("GET", "/Users?filter=title+co+%22a%22", "", 200, "{}"), same: true,
		},
		"the same filter": {
			check: "filter.absent-less", want: "one", shows: shown("GET", "/Users?filter=title+lt+%22a%22&count=9", "", 200, "{}"),
			reason: "blocked: GET /Users?filter, with the same operator and userName, title or displayName, returned 200 and not exactly the " +
				"users that match",
			blocker: shown("GET", "/Users?filter=title+lt+%22b%22", "", 200, "{}"), same: true,
		},
		"the same operation": {
			check: "patch.remove-value-path", want: "204",
			shows:   shown("PATCH", "/Users/7", patchOf(`{"op":"remove","path":"emails[type eq \"work\"]"}`), 400, errorMessage+`"detail":"no"}`),
			reason:  `blocked: PATCH /Users/{id}, with the operation remove and the path emails[type eq "home"], returned 400`,
			blocker: shown("PATCH", "/Users/8", patchOf(`{"op":"remove","path":"emails[type eq \"home\"]"}`), 400, errorMessage+`"detail":"no!"}`),
			same:    true,
		},
		"another operation": {
			check: "patch.remove-external-id", want: "204",
			shows:   shown("PATCH", "/Users/7", patchOf(`{"op":"remove","path":"externalId"}`), 400, errorMessage+`"detail":"no value"}`),
			reason:  "blocked: PATCH /Users/{id}, with the operation replace and the path title, returned 400",
			blocker: shown("PATCH", "/Users/8", patchOf(`{"op":"replace","path":"title","value":"x"}`), 400, errorMessage+`"detail":"unknown"}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := resultWith(map[string]conformance.Finding{
				c.check: {Outcome: conformance.Fail, What: "status of the request", Want: c.want, Got: "another", Exchange: c.shows},
			})
			const blocked = "oracle.filter"
			i := slices.IndexFunc(r.Checks, func(result conformance.CheckResult) bool { return result.Check.ID == blocked })
			r.Checks[i].Outcome, r.Checks[i].Reason = conformance.Skip, c.reason
			r.Checks[i].BlockedBy = &conformance.Blocker{What: c.reason, Exchange: c.blocker}
			found := causes.Of(r)
			if c.same {
				require.Len(t, found, 1)
				require.Equal(t, []string{blocked}, found[0].Blocked)
				return
			}
			require.Len(t, found, 2)
			require.Empty(t, found[0].Blocked)
			require.Equal(t, []string{blocked}, found[1].Blocked)
		})
	}
}

// TestOf_BlockedAmongKnownFaults checks that a blocked check without a cause of its own belongs to the known fault about the same kind of
// request, if all findings are those of known faults.
func TestOf_BlockedAmongKnownFaults(t *testing.T) {
	r := resultWith(failingAll("put.replaces", "delete.gone"))
	signatures := causes.NewSignatures(map[string]causes.Observed{
		"one": causes.Observe(resultWith(failingAll("put.replaces"))), "two": causes.Observe(resultWith(failingAll("delete.gone"))),
	})
	i := slices.IndexFunc(r.Checks, func(result conformance.CheckResult) bool { return result.Check.ID == "filter.eq" })
	blocked := func(reason string, signatures []causes.Signature) map[string][]string {
		r.Checks[i].Outcome, r.Checks[i].Reason = conformance.Skip, "blocked: "+reason
		out := map[string][]string{}
		for _, c := range causes.Explain(r, signatures) {
			out[c.ID] = c.Blocked
		}
		return out
	}
	own := []string{"filter.eq"}
	require.Equal(t, map[string][]string{"put.replaces": own, "delete.gone": nil}, blocked("a value could not be removed by PUT", signatures))
	require.Equal(t, map[string][]string{"put.replaces": nil, "delete.gone": own}, blocked("the user could not be deleted", signatures))
	require.Equal(t, own, blocked("the group could not be patched", signatures)["blocked.1"], "no known fault is about a PATCH")
	require.Equal(t, own, blocked("a value could not be removed by PUT", nil)["blocked.1"], "no fault is known")
}
