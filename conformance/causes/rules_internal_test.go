package causes

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const base = "https://scim.example.com/v2"

type shown struct {
	check, what, want, got string
	exchange               *wirelog.Exchange
}

func sent(method, path string, status int, body string) *wirelog.Exchange {
	return &wirelog.Exchange{Method: method, URL: base + path, Status: status, ResponseBody: body}
}

func (s shown) symptom() *symptom {
	f := conformance.Finding{Outcome: conformance.Fail, What: s.what, Want: s.want, Got: s.got, Exchange: s.exchange}
	return &symptom{check: conformance.Check{ID: s.check}, findings: []conformance.Finding{f}, evidence: []evidence{evidenceOf(f, base)}}
}

// TestRules_Link checks for each rule a pair of symptoms that it links, and one that it does not.
func TestRules_Link(t *testing.T) {
	const taken = `{"scimType":"uniqueness"}`
	same := sent("GET", "/Users/1", 200, "")
	cases := map[string]struct{ a, linked, other shown }{
		"exchange": {
			shown{check: "a.one", what: "x", exchange: same},
			shown{check: "b.two", what: "y", exchange: same},
			shown{check: "b.two", what: "y", exchange: sent("GET", "/Users/1", 200, "")},
		},
		"closed-connection": {
			shown{check: "a.one", want: completeResponse, got: "the connection was closed before the end", exchange: sent("PUT", "/Users/1", 0, "")},
			shown{check: "steadiness.responses", got: "the connection was closed before the end", exchange: sent("GET", "/Users", 200, "")},
			shown{check: "b.two", want: completeResponse, got: "no response within 10 s", exchange: sent("GET", "/Users", 0, "")},
		},
		"server-error": {
			shown{check: "a.one", exchange: sent("PATCH", "/Users/1", 500, "")},
			shown{check: "b.two", exchange: sent("PATCH", "/Users/2?attributes=id", 503, "")},
			shown{check: "b.two", exchange: sent("PUT", "/Users/2", 500, "")},
		},
		"wrong-answer": {
			shown{check: "a.one", what: "status of GET /Users/17-a", want: "200", got: "404", exchange: sent("GET", "/Users/17-a", 404, "")},
			shown{check: "b.two", what: "status of GET /Users/18-b", want: "200", got: "404", exchange: sent("GET", "/Users/18-b", 404, "")},
			shown{check: "b.two", what: "status of GET /Users/18-b", want: "200", got: "410", exchange: sent("GET", "/Users/18-b", 410, "")},
		},
		"wrong-status": {
			shown{check: "a.one", what: "status of a PATCH", want: "400", got: "409", exchange: sent("PATCH", "/Users/1", 409, taken)},
			shown{check: "b.two", what: "status of an add", want: "400", got: "409", exchange: sent("PATCH", "/Users/2", 409, taken)},
			shown{check: "b.two", what: "status of an add", want: "400", got: "409", exchange: sent("PATCH", "/Users/2", 409, "")},
		},
		"subject":   {shown{check: "put.extension"}, shown{check: "put.extension-null"}, shown{check: "put.active"}},
		"value":     {shown{what: "members", got: "[]"}, shown{what: "members", got: "[]"}, shown{what: "members", got: `[1]`}},
		"attribute": {shown{what: "externalId after PUT"}, shown{what: "a second externalId"}, shown{what: "the title after PUT"}},
		"feature":   {shown{check: "oracle.sort"}, shown{check: "sort.user-name"}, shown{check: "list.total"}},
		"request": {
			shown{exchange: sent("GET", "/Users?count=1&filter=a", 200, "")},
			shown{exchange: sent("GET", "/Users?filter=b&count=2", 200, "")},
			shown{exchange: sent("GET", "/Users?filter=b", 200, "")},
		},
	}
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			c, ok := cases[r.ID]
			require.True(t, ok, "add a case for the rule")
			require.NotEmpty(t, r.Evidence)
			require.NotZero(t, r.Weight)
			require.Subset(t, r.keys(c.linked.symptom()), r.keys(c.a.symptom()))
			require.NotEmpty(t, r.keys(c.a.symptom()))
			for _, k := range r.keys(c.other.symptom()) {
				require.NotEqual(t, r.keys(c.a.symptom())[0], k)
			}
		})
	}
	require.Len(t, cases, len(Rules()), "a case without a rule")
}

// TestGroupsOf_AlmostExact checks that a known fault explains requests of different kinds that are accepted, if almost all of its checks
// have findings, and not if some of them pass.
func TestGroupsOf_AlmostExact(t *testing.T) {
	var symptoms []*symptom
	predicted := map[string]bool{}
	signature := Signature{Telling: "bulk.a"}
	add := func(s shown) {
		symptoms = append(symptoms, s.symptom())
		predicted[s.check] = true
		if s.check != signature.Telling {
			signature.Others = append(signature.Others, s.check)
		}
	}
	for _, id := range []string{"bulk.a", "bulk.b", "bulk.c", "bulk.d", "bulk.e", "bulk.f", "bulk.g", "bulk.h", "bulk.i"} {
		add(missed(id))
	}
	add(accepts("put.j"))
	for misses, want := range map[int]int{0: 1, 1: 1, 2: 2} {
		groups := groupsOf(symptoms, nil, []pick{{signature: signature, symptoms: predicted, misses: misses}}, newLinker(symptoms, together{}),
			map[string]int{})
		require.Len(t, groups, want, "%d checks pass", misses)
	}
}

// TestGroupsOf_OtherKindOfRequest checks that a known fault, of which other checks pass, does not explain a request of another kind that is
// accepted, although the checks are linked.
func TestGroupsOf_OtherKindOfRequest(t *testing.T) {
	signature := Signature{Telling: "patch.remove-value-path", Others: []string{"patch.again-and-again", "patch.replace-no-target",
		"patch.replace-value-path", "patch.replace-value-path-object"}}
	symptoms := []*symptom{
		patched("patch.remove-value-path", "remove", "emails[]").symptom(),
		patched("patch.again-and-again", "replace", "emails[]").symptom(),
		patched("patch.replace-value-path-object", "replace", "emails[]").symptom(),
		accepts("patch.replace-no-target").symptom(),
	}
	observed := map[string]bool{}
	for _, s := range symptoms {
		observed[s.check.ID] = true
	}
	l := newLinker(symptoms, togetherOf([]Signature{signature}, observed))
	require.GreaterOrEqual(t, l.weight("patch.remove-value-path", "patch.replace-no-target"), minLink)
	var got []string
	for _, g := range groupsOf(symptoms, nil, []pick{{signature: signature, symptoms: observed, misses: 1}}, l, map[string]int{}) {
		got = append(got, strings.Join(slices.Sorted(slices.Values(g.checks)), " "))
	}
	require.Equal(t, []string{"patch.again-and-again patch.remove-value-path patch.replace-value-path-object", "patch.replace-no-target"}, got)
}

// TestGroup_GeneratedCheckNotFirst checks that a check that generates its requests does not describe a cause if another check does.
func TestGroup_GeneratedCheckNotFirst(t *testing.T) {
	for _, c := range []struct{ checks, want []string }{
		{[]string{"oracle.equivalences", "oracle.filter", "filter.not"}, []string{"filter.not", "oracle.equivalences", "oracle.filter"}},
		{[]string{"filter.not", "oracle.filter"}, []string{"filter.not", "oracle.filter"}},
		{[]string{"oracle.filter"}, []string{"oracle.filter"}},
	} {
		g := &group{checks: slices.Clone(c.checks)}
		g.putTellingFirst(nil)
		require.Equal(t, c.want, g.checks)
		exact := &group{checks: slices.Clone(c.checks), exact: true}
		exact.putTellingFirst(nil)
		require.Equal(t, c.want, exact.checks, "an exact group")
	}
}

// TestOfOneKind checks that rejections and wrong contents of successful responses do not share a known fault, of which other checks pass.
func TestOfOneKind(t *testing.T) {
	rejects := func(check string) shown {
		return shown{check: check, what: "status of GET /Users", want: "200", got: "400", exchange: sent("GET", "/Users?filter=a", 400, "")}
	}
	for _, c := range []struct {
		name     string
		symptoms []shown
		want     []string
	}{
		{"a wrong value among rejections", []shown{rejects("a.one"), rejects("a.two"), rejects("a.three"), rejects("a.four"), missed("b.one")},
			[]string{"a.one", "a.two", "a.three", "a.four"}},
		{"a rejection among wrong values", []shown{missed("a.one"), missed("a.two"), rejects("b.one"), missed("a.three"), missed("a.four")},
			[]string{"a.one", "a.two", "a.three", "a.four"}},
		{"no typical kind", []shown{rejects("a.one"), rejects("a.two"), missed("b.one"), missed("b.two")},
			[]string{"a.one", "a.two", "b.one", "b.two"}},
		{"too few", []shown{rejects("a.one"), missed("b.one"), rejects("a.two")}, []string{"a.one", "b.one", "a.two"}},
		{"a missing rejection", []shown{rejects("a.one"), rejects("a.two"), rejects("a.three"), rejects("a.four"), accepts("b.one")},
			[]string{"a.one", "a.two", "a.three", "a.four", "b.one"}},
	} {
		byID := map[string]*symptom{}
		var ids []string
		for _, s := range c.symptoms {
			byID[s.check] = s.symptom()
			ids = append(ids, s.check)
		}
		require.Equal(t, c.want, ofOneKind(ids, byID), c.name)
	}
}

// TestBroadRules_Merge checks for each broad rule that it merges the least number of groups with its evidence, and does not merge one group
// fewer.
func TestBroadRules_Merge(t *testing.T) {
	patch := func(status int) *wirelog.Exchange { return sent("PATCH", "/Users/1", status, "") }
	cases := map[string]shown{
		"discovery-missing":    {what: "status of %s", want: "%s", got: "404", exchange: sent("GET", "/Schemas", 404, "")},
		"success-status":       {what: "status of %s", want: "201", got: "200", exchange: sent("POST", "/Users", 200, "")},
		"values-not-checked":   {what: "%s", want: "absent", got: "%s", exchange: patch(200)},
		"complex-replaced":     {what: "name.givenName of %s", want: "%s", got: "nothing", exchange: sent("GET", "/Users/1", 200, "")},
		"filter-finds-nothing": {what: "users found by title", want: "%s", got: "[]", exchange: sent("GET", "/Users?filter=title", 200, "")},
		"server-errors":        {what: "status of %s", want: "%s", got: "500", exchange: sent("GET", "/Users/1", 500, "")},
		"projection-rejected":  {what: "status of %s", want: "200", got: "400", exchange: sent("GET", "/Users/1?attributes=title", 400, "")},
		"scim-type-unknown":    {what: "scimType of %s", want: "%s", got: "odd", exchange: sent("GET", "/Users/1", 400, `{"scimType":"odd"}`)},
		"method-not-served":    {what: "status of %s", want: "%s", got: "501", exchange: patch(501)},
		"write-projection":     {what: "%s", want: "%s", got: "a value", exchange: sent("PATCH", "/Users/1?attributes=userName", 200, "")},
		"scim-type":            {what: "scimType of %s", want: "%s", got: "an empty string", exchange: patch(400)},
		// The text keeps other rules for the same value from merging the groups.
		"scim-type-missing":    {what: "scimType found by %s", want: "%s", got: "nothing", exchange: patch(400)},
		"write-response-empty": {what: "%s", want: "%s", got: "nothing", exchange: patch(200)},
		"attribute-missing":    {what: "members of %s", want: "%s", got: "[]"},
		"projection-empty":     {what: "attribute of %s", want: "%s", got: "nothing", exchange: sent("GET", "/Users/1?attributes=name", 200, "")},
		"counter-type":         {what: "totalResults of %s", want: "%s", got: `"5"`},
		"counter":              {what: "totalResults of %s", want: "%s", got: "one more than %s"},
		"endpoint-status":      {what: "status of %s", want: "%s", got: "409", exchange: patch(409)},
		"same-value":           {what: "%s", want: "absent", got: "another value", exchange: patch(200)},
	}
	count := func(n int, like shown) int {
		var symptoms []*symptom
		var groups []*group
		for i := range n {
			id := "x" + strings.Repeat("y", i)
			s := like
			s.check = "patch." + id
			s.what, s.want, s.got = strings.ReplaceAll(s.what, "%s", id), strings.ReplaceAll(s.want, "%s", id), strings.ReplaceAll(s.got, "%s", id)
			symptoms = append(symptoms, s.symptom())
			groups = append(groups, &group{checks: []string{s.check}})
		}
		return len(mergeBroad(broadRules, groups, symptoms))
	}
	for _, r := range broadRules {
		t.Run(r.id, func(t *testing.T) {
			like, ok := cases[r.id]
			require.True(t, ok, "add a case for the rule")
			require.NotEmpty(t, r.evidence)
			least := max(r.minGroups, r.minSymptoms)
			require.Equal(t, 1, count(least, like))
			require.Equal(t, least-1, count(least-1, like))
		})
	}
	require.Equal(t, 9, count(9, shown{what: "status of %s", want: "%s", got: "200", exchange: patch(200)}), "different expected values")
	projected := sent("PATCH", "/Users/1?attributes=id", 204, "")
	require.Equal(t, 3, count(3, shown{what: "status of %s", want: "200 for %s", got: "204", exchange: projected}),
		"a wrong status of requests that select attributes")
	read := sent("GET", "/Users/1?attributes=name", 200, "")
	require.Equal(t, 3, count(3, shown{what: "name.givenName of %s", want: "%s", got: "nothing", exchange: read}),
		"sub-attributes of requests that select attributes")
}

// TestBroadRules_KnownFaultsApart checks that a broad rule merges neither a single symptom with a large group that is exactly a known
// fault, nor a leak with a finding of another kind.
func TestBroadRules_KnownFaultsApart(t *testing.T) {
	var symptoms []*symptom
	known := &group{exact: true}
	for _, id := range []string{"patch.a", "patch.b", "patch.c", "patch.d", "patch.e", "patch.f", "patch.g", "patch.h"} {
		symptoms = append(symptoms, shown{check: id, what: "name of " + id, want: id, got: "nothing"}.symptom())
		known.checks = append(known.checks, id)
	}
	symptoms = append(symptoms, shown{check: "read.i", what: "name of a user", want: "i", got: "nothing"}.symptom())
	require.Len(t, mergeBroad(broadRules, []*group{known, {checks: []string{"read.i"}}}, symptoms), 2)

	projected := sent("POST", "/Users?attributes=userName", 201, "")
	leak := shown{check: "traffic.no-password", what: "password of POST", want: "nothing", got: "a value", exchange: projected}
	other := shown{check: "projection.on-write", what: "further members", want: "[]", got: "x", exchange: projected}
	require.Len(t, mergeBroad(broadRules, []*group{{checks: []string{leak.check}}, {checks: []string{other.check}}},
		[]*symptom{leak.symptom(), other.symptom()}), 2)
}

// TestGroupsOf_OpposedKinds checks that a rejection and a wrong value are not one cause, although they share evidence.
func TestGroupsOf_OpposedKinds(t *testing.T) {
	for check, want := range map[string]int{"patch.filter-not": 1, "patch.filter-not-group": 2} {
		symptoms := []*symptom{patched("patch.filter-brackets", "remove", "emails[]").symptom()}
		if want == 1 {
			symptoms = append(symptoms, patched(check, "remove", "emails[]").symptom())
		} else {
			changed := sent("PATCH", "/Users/1", 200, "")
			symptoms = append(symptoms, shown{check: check, what: "emails", want: "[]", got: "[1]", exchange: changed}.symptom())
		}
		both := map[string]bool{"patch.filter-brackets": true, check: true}
		l := newLinker(symptoms, togetherOf([]Signature{{Telling: "patch.filter-brackets", Others: []string{check}}}, both))
		require.GreaterOrEqual(t, l.weight("patch.filter-brackets", check), minLink)
		require.Len(t, groupsOf(symptoms, nil, nil, l, map[string]int{}), want, check)
	}
}

func TestHeadline_StatesFault(t *testing.T) {
	for _, c := range []struct {
		finding shown
		want    string
	}{
		{
			shown{what: "status of POST /Users", want: "201", got: "200", exchange: sent("POST", "/Users", 200, "")},
			"POST /Users returns 200 instead of 201",
		},
		{
			shown{
				what: `status of GET /Users?filter=userName sw "scimconf-abcdefgh-people-" and name.familyName eq "a"`,
				want: "200, or 400 with scimType invalidFilter", got: "400 with scimType invalidValue",
			},
			`GET /Users?filter=name.familyName eq "a" returns 400 invalidValue instead of 200`,
		},
		{
			shown{what: "status of the PATCH", want: "400", got: "500", exchange: sent("PATCH", "/Users/41c9", 500, "")},
			"PATCH returns 500 instead of 400 (PATCH /Users/{id})",
		},
		{
			shown{what: "members after the PATCH", want: `["ben"]`, got: "[]", exchange: sent("GET", "/Groups/1?attributes=members", 200, "")},
			`members after the PATCH: [] instead of ["ben"] (GET /Groups/{id}?attributes)`,
		},
		{
			shown{
				what: "users found by userName sw \"scimconf-abcdefgh-people-\" and title co \"x\"; repeat with --seed 1",
				want: "[]", got: `["ada"]`,
			},
			`users found by title co "x": ["ada"] instead of []`,
		},
		{
			shown{what: `users found by userName eq "SCIMCONF-ABCDEFGH-12-BOB@EXAMPLE.COM"`, want: `["bob"]`, got: "[]"},
			`users found by userName eq "BOB@EXAMPLE.COM": [] instead of ["bob"]`,
		},
		{
			shown{
				what: "location of 41c9a1b2-2222-4333-8444-555566667777", want: "a URL",
				got: "line one\nline\ttwo and a text that is longer than the room",
			},
			"location of {id}: line one line two and a text that is longer than… instead of a URL",
		},
	} {
		s := c.finding.symptom()
		f, e := s.shown()
		require.Equal(t, c.want, headline(f, e))
	}
}

func TestParseSignatures_Malformed(t *testing.T) {
	for _, text := range []string{"put.active\n", " < put.active\n", "put.active ! put.rename\n", "put.active=0a1b < put.rename\n"} {
		_, err := parseSignatures("# comment\n\n" + text)
		require.ErrorContains(t, err, "line 3", text)
	}
}

// TestCauses_DifferentFaultsApart checks that leaks of secrets have one cause of their own, and that requests of different kinds that the
// target accepts are different causes.
func TestCauses_DifferentFaultsApart(t *testing.T) {
	body := `{"Operations":[{"op":"Replace","path":"emails[type eq \"work\"].value"}]}`
	replaced := sent("PATCH", "/Users/1", 200, "")
	replaced.RequestBody = body
	require.Equal(t, "replace emails[].value", operationOf(body))
	require.Equal(t, "add URN:title", operationOf(`{"Operations":[{"op":"add","path":"urn:ietf:params:scim:schemas:core:2.0:User:title"}]}`))
	require.Empty(t, operationOf(`{"Operations":[{"op":"add","path":"title"},{"op":"remove","path":"title"}]}`))
	one := shown{check: "patch.one", what: "status of PATCH /Users/1", want: "400", got: "200", exchange: replaced}.symptom()
	other := shown{check: "create.two", what: "status of a POST", want: "400", got: "201", exchange: sent("POST", "/Users", 201, "")}.symptom()
	require.True(t, differentlyAccepted(one, other))
	require.False(t, differentlyAccepted(one, one))
	f, e := one.shown()
	require.Equal(t, "PATCH /Users/{id} with replace emails[].value returns 200 instead of 400", headline(f, e))

	leak := shown{check: "bulk.no-password", what: "body", exchange: sent("POST", "/Bulk", 200, "")}.symptom()
	watched := shown{check: "traffic.no-secrets", what: "body of POST /Bulk", exchange: sent("POST", "/Bulk", 200, "")}.symptom()
	own := shown{check: "put.keeps-password", what: "password in the response to PUT", exchange: sent("PUT", "/Users/1", 200, "")}.symptom()
	inPut := shown{check: "traffic.no-password", what: "password of PUT /Users/1", exchange: sent("PUT", "/Users/1", 200, "")}.symptom()
	inPuts := newLinker([]*symptom{own, inPut}, togetherOf(nil, nil))
	require.InDelta(t, weightLeak, inPuts.weight("put.keeps-password", "traffic.no-password"), 0.01)
	rejected := shown{check: "bulk.patch", what: "body", exchange: sent("POST", "/Bulk", 200, "")}.symptom()
	l := newLinker([]*symptom{leak, watched, rejected}, togetherOf(nil, nil))
	require.InDelta(t, weightLeak, l.weight("bulk.no-password", "traffic.no-secrets"), 0.01)
	require.Zero(t, l.weight("bulk.no-password", "bulk.patch"))
}
