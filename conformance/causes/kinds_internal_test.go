package causes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// symptomWith returns the symptom of a check with the given texts and findings.
func symptomWith(why, fix string, findings ...conformance.Finding) *symptom {
	s := &symptom{check: conformance.Check{ID: "area.check", Why: why, Fix: fix}}
	for _, f := range findings {
		f.Outcome = conformance.Fail
		if f.Exchange == nil {
			f.Exchange = &wirelog.Exchange{Method: "POST", URL: "https://x/Users", Status: 400}
		}
		s.findings = append(s.findings, f)
		s.evidence = append(s.evidence, evidenceOf(f, "https://x"))
	}
	return s
}

func causeOf(s *symptom) Cause {
	g := &group{checks: []string{s.check.ID}}
	return g.cause(map[string]*symptom{s.check.ID: s})
}

// TestCause_HeadlineOfTexts checks that the headline is that of the finding which the texts of the check describe.
func TestCause_HeadlineOfTexts(t *testing.T) {
	const why, fix = "Okta creates groups with their members.", "Store members, and return them by GET."
	resourceType := conformance.Finding{What: "meta.resourceType of the new group", Want: "Group", Got: "nothing"}
	members := conformance.Finding{What: "members in GET /Groups/7", Want: "the members", Got: "[]"}
	require.Equal(t, "members in GET /Groups/{id}: [] instead of the members", causeOf(symptomWith(why, fix, resourceType, members)).Headline)
	require.Equal(t, "members in GET /Groups/{id}: [] instead of the members", causeOf(symptomWith(why, fix, members, resourceType)).Headline)
	require.Equal(t, "meta.resourceType of the new group: nothing instead of Group (POST /Users)",
		causeOf(symptomWith(why, fix, resourceType)).Headline)
	status := conformance.Finding{What: "status of POST /Users", Want: "201", Got: "400"}
	require.Equal(t, "POST /Users returns 400 instead of 201", causeOf(symptomWith(why, fix, status, members)).Headline)
}

// TestCause_TextsOfKind checks that the texts belong to the finding if the target rejects a request in another way than it must.
func TestCause_TextsOfKind(t *testing.T) {
	const why, fix = "After a 201, two accounts have the same name.", "Enforce unique userNames."
	for _, c := range []struct {
		finding  conformance.Finding
		status   int
		body     string
		why, fix string
		checkWhy string
	}{
		{finding: conformance.Finding{What: "scimType of the 409", Want: "uniqueness", Got: "an empty string"}, status: 409,
			why: "Clients choose their reaction by scimType: without it, this error looks like any other one with the status 409.",
			fix: "Return the Error with scimType uniqueness (RFC 7644 section 3.12, table 9)."},
		{finding: conformance.Finding{What: "scimType of a PATCH", Want: "mutability", Got: "invalidValue"}, status: 400,
			why: "Clients choose their reaction by scimType: with another value, they react as to another error.",
			fix: "Return the Error with scimType mutability (RFC 7644 section 3.12, table 9)."},
		{finding: conformance.Finding{What: "scimType of a PATCH", Want: "mutability", Got: "invalidValue"}, status: 400,
			checkWhy: "Clients read scimType.", why: "Clients read scimType.", fix: fix},
		{finding: conformance.Finding{What: "status of GET /Users with credentials of the scheme Basic", Want: "401", Got: "500"}, status: 500,
			why: "With a 5xx status, clients assume that the server failed temporarily, and send again a request that cannot succeed.", fix: fix},
		{finding: conformance.Finding{What: "status of GET /Users", Want: "200 or 400", Got: "500"}, status: 500, why: why, fix: fix},
		{finding: conformance.Finding{What: "status of GET /Users with count=ten", Want: "200 or 400", Got: "404"}, status: 404,
			why: "From 404, a client concludes that the endpoint or the object does not exist, and not that its request is invalid.", fix: fix},
		{finding: conformance.Finding{What: "status of GET /Users?filter=emails.value eq \"a\"", Want: "200, or 400 with scimType invalidFilter",
			Got: "400 with scimType invalidValue"}, status: 400, body: `{"detail":"Cannot convert undefined or null to object"}`,
			why: "The server rejects the filter because of an error in its program, so the client finds no object.",
			fix: "Correct the program error that the response contains (Cannot convert undefined or null to object), and evaluate the filter."},
		{finding: conformance.Finding{What: "status of the second POST", Want: "409", Got: "201"}, status: 201, why: why, fix: fix},
	} {
		c.finding.Exchange = &wirelog.Exchange{Method: "GET", URL: "https://x/Users", Status: c.status, ResponseBody: c.body}
		text := why
		if c.checkWhy != "" {
			text = c.checkWhy
		}
		got := causeOf(symptomWith(text, fix, c.finding))
		require.Equal(t, c.why, got.Why, c.finding.What)
		require.Equal(t, c.fix, got.Fix, c.finding.What)
	}
}

// TestPutTellingFirst_SimplerCheck checks that the finding of the simpler of two requests describes the fault.
func TestPutTellingFirst_SimplerCheck(t *testing.T) {
	g := &group{checks: []string{"create.duplicate-other-case", "create.duplicate-user-name"}, exact: true}
	g.putTellingFirst(nil)
	require.Equal(t, []string{"create.duplicate-user-name", "create.duplicate-other-case"}, g.checks)
}
