package causes

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/checks"
)

// TestTopics_NameChecks checks that each check and each pattern of a topic names an existing check.
func TestTopics_NameChecks(t *testing.T) {
	var ids []string
	for _, c := range checks.All() {
		ids = append(ids, c.ID)
	}
	for id := range leaks {
		require.Contains(t, ids, id, "leaks")
	}
	seen := map[string]bool{}
	for _, topic := range topics {
		require.False(t, seen[topic.id], topic.id)
		seen[topic.id] = true
		require.NotEmpty(t, topic.evidence, topic.id)
		for _, pattern := range slices.Concat(topic.checks, topic.unless) {
			named := slices.ContainsFunc(ids, func(id string) bool { ok, _ := path.Match(pattern, id); return ok })
			require.True(t, named, "%s: %s", topic.id, pattern)
		}
		require.True(t, topic.requires == "" || slices.Contains(ids, topic.requires), topic.requires)
	}
}

// accepts returns a symptom: the target accepts a request that it must reject.
func accepts(check string) shown {
	return shown{check: check, what: "status of POST /Users", want: "400", got: "201", exchange: sent("POST", "/Users", 201, "")}
}

// fails returns a symptom: the target rejects a request with 400 and the given detail.
func fails(check, detail string) shown {
	return shown{check: check, what: "status of PATCH /Users/1", want: "200 or 204", got: "400",
		exchange: sent("PATCH", "/Users/1", 400, `{"detail":"`+detail+`"}`)}
}

// patched returns a symptom: the target rejects a PATCH of an attribute.
func patched(check, op, path string) shown {
	s := fails(check, check)
	s.exchange.RequestBody = `{"Operations":[{"op":"` + op + `","path":"` + path + `"}]}`
	return s
}

// declined returns a symptom: the target rejects a filter.
func declined(check string) shown {
	return shown{check: check, what: "status of a GET with a filter", want: "200", got: "400",
		exchange: sent("GET", "/Users?filter=a", 400, "")}
}

// lettered returns a symptom: an error has a scimType that is not registered.
func lettered(check, scimType string) shown {
	return shown{check: check, what: "scimType of the error", want: "another", got: scimType,
		exchange: sent("PATCH", "/Users/1", 400, `{"scimType":"`+scimType+`"}`)}
}

// missed returns a symptom: a filter finds nothing.
func missed(check string) shown {
	return shown{check: check, what: "users found by title", want: `["ada"]`, got: "[]", exchange: sent("GET", "/Users?filter=title", 200, "")}
}

// severalMissed returns the symptoms of missed for the checks filter.a, filter.b and so on.
func severalMissed(n int) (out []shown) {
	for i := range n {
		out = append(out, missed(fmt.Sprintf("filter.%c", 'a'+i)))
	}
	return out
}

// crash returns a symptom: the target responds with a server error.
func crash(check, method string) shown {
	return shown{check: check, what: "status of " + method + " /Users", want: "400", got: "500", exchange: sent(method, "/Users", 500, "")}
}

// doubled returns a symptom: a bulk request has another status of success than expected.
func doubled(check string) shown {
	return shown{check: check, what: "status of POST /Bulk", want: "200", got: "201", exchange: sent("POST", "/Bulk", 201, "")}
}

// TestTopics_MostChecksPassed checks that a topic of which most checks have passed does not apply: the symptoms are separate faults.
func TestTopics_MostChecksPassed(t *testing.T) {
	var symptoms []*symptom
	for _, id := range []string{"filter.value-path", "filter.value-path-or", "filter.value-path-not", "filter.value-path-twice"} {
		symptoms = append(symptoms, missed(id).symptom())
	}
	passed := map[string]bool{"filter.eq": true}
	require.Len(t, topicsOf(symptoms, passed), 4)
	for _, c := range checks.All() {
		if strings.HasPrefix(c.ID, "filter.value-path-") && !slices.ContainsFunc(symptoms, func(s *symptom) bool { return s.check.ID == c.ID }) {
			passed[c.ID] = true
		}
	}
	require.Empty(t, topicsOf(symptoms, passed), "%d checks passed", len(passed))
}

// TestTopics_Share checks that a topic does not apply if more of its checks have passed than its share permits, even if it needs few
// symptoms.
func TestTopics_Share(t *testing.T) {
	json := []*symptom{accepts("create.accepts-json-media-type").symptom(), accepts("patch.accepts-json-media-type").symptom()}
	require.Len(t, topicsOf(json, nil), 2, "the third check of the topic did not run")
	require.Empty(t, topicsOf(json, map[string]bool{"search.accepts-json-media-type": true}))
	filters := []*symptom{missed("filter.eq").symptom(), missed("filter.group-members").symptom()}
	require.Len(t, topicsOf(filters, map[string]bool{"filter.and": true}), 2)
	passed := map[string]bool{"filter.and": true, "filter.or": true, "filter.pr": true, "filter.gt": true, "filter.lt": true}
	require.Empty(t, topicsOf(filters, passed))
}

// TestGenerated_Attached checks that the groups of checks with generated requests join the groups of the features that they test, and
// that a single one that is exactly a known fault does not.
func TestGenerated_Attached(t *testing.T) {
	groups := func(ids ...string) (out []*group) {
		for _, id := range ids {
			out = append(out, &group{checks: []string{id}})
		}
		return out
	}
	texts := func(groups []*group) (out []string) {
		for _, g := range groups {
			out = append(out, strings.Join(g.checks, " "))
		}
		return out
	}
	require.Equal(t, []string{"filter.eq oracle.filter", "patch.order oracle.patch", "oracle.sort"},
		texts(attachGenerated(groups("filter.eq", "oracle.filter", "patch.order", "oracle.patch", "oracle.sort"), nil, false)))
	require.Equal(t, []string{"filter.eq oracle.filter"}, texts(attachGenerated(groups("filter.eq", "oracle.filter"), nil, false)))
	known := groups("filter.eq", "oracle.filter")
	known[1].exact = true
	require.Equal(t, []string{"filter.eq", "oracle.filter"}, texts(attachGenerated(known, nil, false)))
}

// TestEvidence_ExceptionsDiffer checks that the details of different exceptions differ, and that other details ignore quoted values.
func TestEvidence_ExceptionsDiffer(t *testing.T) {
	detail := func(text string) string {
		return fails("patch.order", strings.ReplaceAll(text, `"`, `\"`)).symptom().evidence[0].detail
	}
	const message = `Cannot invoke "org.example.Schema.attribute(String)" because "%s" is null`
	require.NotEqual(t, detail(strings.Replace(message, "%s", "schema", 1)), detail(strings.Replace(message, "%s", "source", 1)))
	require.Equal(t, detail(`the value "a" is invalid`), detail(`the value "b" is invalid`))
}

// TestTopics_Gather checks which groups the topics merge and split.
func TestTopics_Gather(t *testing.T) {
	for _, c := range []struct {
		name     string
		symptoms []shown
		groups   []*group
		want     []string
	}{
		{
			"a topic in several groups",
			[]shown{accepts("create.missing-user-name"), accepts("put.null-required"), accepts("patch.replace-required")},
			[]*group{{checks: []string{"create.missing-user-name"}}, {checks: []string{"put.null-required"}},
				{checks: []string{"patch.replace-required"}}},
			[]string{"create.missing-user-name put.null-required patch.replace-required"},
		},
		{
			"a finding of another kind",
			[]shown{accepts("create.missing-user-name"), accepts("put.null-required"),
				{check: "patch.remove-required", what: "scimType of a PATCH", want: "mutability", got: "invalidValue",
					exchange: sent("PATCH", "/Users/1", 400, "")}},
			[]*group{{checks: []string{"create.missing-user-name"}}, {checks: []string{"put.null-required", "patch.remove-required"}}},
			[]string{"create.missing-user-name put.null-required", "patch.remove-required"},
		},
		{
			"fewer symptoms than the topic needs",
			[]shown{accepts("create.kind-text"), accepts("patch.wrong-type")},
			[]*group{{checks: []string{"create.kind-text"}}, {checks: []string{"patch.wrong-type"}}},
			[]string{"create.kind-text", "patch.wrong-type"},
		},
		{
			"several topics in one group",
			[]shown{accepts("read.primary-once"), accepts("put.two-primaries"), accepts("put.conflict"), accepts("patch.replace-conflict"),
				accepts("put.rename")},
			[]*group{{checks: []string{"put.two-primaries", "put.rename", "put.conflict", "read.primary-once", "patch.replace-conflict"}}},
			[]string{"put.rename", "put.two-primaries read.primary-once", "put.conflict patch.replace-conflict"},
		},
		{
			"a known fault with several topics",
			[]shown{accepts("put.conflict"), accepts("patch.replace-conflict"), accepts("put.null-required"), accepts("patch.replace-required"),
				accepts("create.missing-user-name")},
			[]*group{{checks: []string{"put.conflict", "put.rename", "put.null-required"}, exact: true, sure: true,
				predicted: map[string]bool{"put.conflict": true, "put.rename": true, "put.null-required": true}},
				{checks: []string{"patch.replace-conflict"}}, {checks: []string{"patch.replace-required", "create.missing-user-name"}}},
			[]string{"put.conflict put.rename put.null-required", "patch.replace-conflict", "patch.replace-required create.missing-user-name"},
		},
		{
			"names in another case in PATCH requests",
			[]shown{fails("patch.manager-as-text", "a"), fails("patch.extension-key-case", "a"), fails("patch.filter-ignores-case", "b")},
			[]*group{{checks: []string{"patch.manager-as-text", "patch.extension-key-case"}}, {checks: []string{"patch.filter-ignores-case"}}},
			[]string{"patch.manager-as-text", "patch.extension-key-case patch.filter-ignores-case"},
		},
		{
			"a symptom that the known fault of its group does not predict",
			[]shown{fails("patch.manager-as-text", "a"), fails("patch.add-creates-element", "b")},
			[]*group{{checks: []string{"patch.manager-as-text", "patch.add-creates-element"}, exact: true, sure: true,
				predicted: map[string]bool{"patch.manager-as-text": true}}},
			[]string{"patch.manager-as-text", "patch.add-creates-element"},
		},
		{
			"a rejection among wrong values, in a known fault",
			[]shown{{check: "create.external-id", what: "externalId of a user created without one", want: "absent", got: "x",
				exchange: sent("POST", "/Users", 201, "")}, declined("filter.external-id")},
			[]*group{{checks: []string{"create.external-id", "filter.external-id"}, exact: true, sure: true,
				predicted: map[string]bool{"create.external-id": true, "filter.external-id": true}}},
			[]string{"create.external-id", "filter.external-id"},
		},
		{
			"two rejections, in a known fault",
			[]shown{declined("filter.id-eq"), declined("filter.external-id")},
			[]*group{{checks: []string{"filter.id-eq", "filter.external-id"}, exact: true, sure: true,
				predicted: map[string]bool{"filter.id-eq": true, "filter.external-id": true}}},
			[]string{"filter.id-eq filter.external-id"},
		},
		{
			"null as the value of an attribute, and the removal of all emails",
			[]shown{patched("patch.replace-null", "replace", "title"), patched("patch.replace-null-sub-attribute", "replace", ""),
				patched("patch.remove-multi-valued", "remove", "emails")},
			[]*group{{checks: []string{"patch.replace-null", "patch.remove-multi-valued"}}, {checks: []string{"patch.replace-null-sub-attribute"}}},
			[]string{"patch.remove-multi-valued", "patch.replace-null patch.replace-null-sub-attribute"},
		},
		{
			"null as the value of emails, and the removal of all emails",
			[]shown{patched("patch.replace-null", "replace", "emails"), patched("patch.replace-null-sub-attribute", "replace", ""),
				patched("patch.remove-multi-valued", "remove", "emails")},
			[]*group{{checks: []string{"patch.replace-null", "patch.replace-null-sub-attribute"}}, {checks: []string{"patch.remove-multi-valued"}}},
			[]string{"patch.replace-null patch.remove-multi-valued", "patch.replace-null-sub-attribute"},
		},
		{
			"a symptom of the topic of another group, in a known fault that is not exact",
			[]shown{accepts("create.missing-user-name"), accepts("put.null-required"), accepts("put.conflict"), accepts("patch.replace-conflict")},
			[]*group{{checks: []string{"put.conflict", "patch.replace-conflict", "put.null-required"}, sure: true,
				predicted: map[string]bool{"put.conflict": true, "patch.replace-conflict": true, "put.null-required": true}},
				{checks: []string{"create.missing-user-name"}}},
			[]string{"put.conflict patch.replace-conflict", "put.null-required create.missing-user-name"},
		},
		{
			"an attribute that is not stored, in a group of filters that find nothing",
			[]shown{missed("filter.eq"), missed("filter.not"),
				{check: "groups.external-id", what: "externalId read back", want: "x", got: "nothing", exchange: sent("GET", "/Groups/1", 200, "")}},
			[]*group{{checks: []string{"filter.eq", "groups.external-id", "filter.not"}}},
			[]string{"filter.eq filter.not", "groups.external-id"},
		},
		{
			"a value without primary, in a list and in a path",
			[]shown{missed("filter.value-path-primary"), missed("patch.filter-quotes"), missed("patch.filter-brackets"),
				missed("patch.filter-not-primary")},
			[]*group{{checks: []string{"filter.value-path-primary"}},
				{checks: []string{"patch.filter-quotes", "patch.filter-brackets", "patch.filter-not-primary"}}},
			[]string{"patch.filter-quotes patch.filter-brackets", "filter.value-path-primary patch.filter-not-primary"},
		},
		{
			"no filter finds anything",
			[]shown{missed("filter.eq"), missed("filter.not"), missed("filter.not-of-and"), missed("filter.double-negation")},
			[]*group{{checks: []string{"filter.eq", "filter.not", "filter.not-of-and"}}, {checks: []string{"filter.double-negation"}}},
			[]string{"filter.eq filter.not filter.not-of-and filter.double-negation"},
		},
		{
			"filters with not find nothing",
			[]shown{missed("filter.or"), missed("filter.not"), missed("filter.not-of-and"), missed("filter.double-negation")},
			[]*group{{checks: []string{"filter.or", "filter.not", "filter.not-of-and"}}, {checks: []string{"filter.double-negation"}}},
			[]string{"filter.or", "filter.not filter.not-of-and filter.double-negation"},
		},
		{
			"a predicted symptom without a topic",
			[]shown{missed("filter.or"), missed("filter.not"), missed("filter.not-of-and"), missed("filter.double-negation")},
			[]*group{{checks: []string{"filter.or", "filter.not", "filter.not-of-and"}, predicted: map[string]bool{"filter.or": true}},
				{checks: []string{"filter.double-negation"}}},
			[]string{"filter.not filter.not-of-and filter.or filter.double-negation"},
		},
		{
			"the same error for all requests",
			[]shown{fails("patch.add-core-urn", "x"), fails("patch.replace-core-urn", "x"), fails("patch.remove-core-urn", "x"),
				fails("patch.manager-as-text", "x"), fails("patch.order", "x")},
			[]*group{{checks: []string{"patch.order", "patch.manager-as-text", "patch.add-core-urn", "patch.replace-core-urn"}},
				{checks: []string{"patch.remove-core-urn"}}},
			[]string{"patch.order patch.manager-as-text patch.add-core-urn patch.replace-core-urn patch.remove-core-urn"},
		},
		{
			"a topic that another check excludes",
			[]shown{fails("patch.urn-case", "x"), fails("filter.urn-ignores-case", "y"), fails("patch.add-core-urn", "x")},
			[]*group{{checks: []string{"patch.urn-case"}}, {checks: []string{"filter.urn-ignores-case"}}, {checks: []string{"patch.add-core-urn"}}},
			[]string{"patch.urn-case", "filter.urn-ignores-case", "patch.add-core-urn"},
		},
		{
			"text after a filter",
			[]shown{accepts("filter.invalid-no-conjunction"), accepts("filter.invalid-syntax"), missed("filter.group-without-blanks")},
			[]*group{{checks: []string{"filter.invalid-no-conjunction"}}, {checks: []string{"filter.invalid-syntax"}},
				{checks: []string{"filter.group-without-blanks"}}},
			[]string{"filter.invalid-no-conjunction filter.invalid-syntax filter.group-without-blanks"},
		},
		{
			"filters in paths, of which those with \"and\" are evaluated",
			[]shown{accepts("patch.filter-ne-absent"), accepts("patch.filter-quotes"), accepts("patch.replace-no-target"),
				accepts("patch.filter-groups"), accepts("patch.filter-co")},
			[]*group{{checks: []string{"patch.filter-ne-absent"}}, {checks: []string{"patch.filter-quotes"}},
				{checks: []string{"patch.replace-no-target"}}, {checks: []string{"patch.filter-groups"}}, {checks: []string{"patch.filter-co"}}},
			[]string{"patch.filter-ne-absent", "patch.filter-quotes", "patch.replace-no-target", "patch.filter-groups", "patch.filter-co"},
		},
		{
			"values of scimType in another case",
			[]shown{lettered("patch.remove-required", "Mutability"), lettered("body.put", "InvalidSyntax"),
				lettered("patch.add-no-value", "InvalidValue"), lettered("filter.unknown-operator", "InvalidFilter")},
			[]*group{{checks: []string{"patch.remove-required", "body.put", "patch.add-no-value", "filter.unknown-operator"}}},
			[]string{"patch.remove-required body.put patch.add-no-value filter.unknown-operator"},
		},
		{
			"a proved fault with findings of two kinds and topics",
			[]shown{accepts("filter.invalid-syntax"), accepts("search.invalid-filter"), accepts("filter.unknown-operator"),
				accepts("filter.invalid-no-operator"), accepts("filter.invalid-not-alone"), accepts("patch.add-creates-element"),
				declined("filter.pr")},
			[]*group{{checks: []string{"filter.pr", "filter.invalid-syntax"}, exact: true, sure: true, proved: true,
				predicted: map[string]bool{"filter.pr": true, "filter.invalid-syntax": true}}},
			[]string{"filter.pr filter.invalid-syntax"},
		},
		{
			"a wrong status of all bulk requests",
			[]shown{doubled("bulk.post"), doubled("bulk.version"), doubled("bulk.reference-extension"), doubled("bulk.status-text")},
			[]*group{{checks: []string{"bulk.post", "bulk.version", "bulk.reference-extension", "bulk.status-text"}}},
			[]string{"bulk.post bulk.version bulk.reference-extension bulk.status-text"},
		},
		{
			"the check of all server errors",
			[]shown{accepts("read.head"), crash(anyServerError, "GET"), crash("sort.hostile-name", "GET"), crash("filter.empty", "GET")},
			[]*group{{checks: []string{"read.head", anyServerError}}, {checks: []string{"sort.hostile-name"}}, {checks: []string{"filter.empty"}}},
			[]string{"read.head", "sort.hostile-name " + anyServerError, "filter.empty"},
		},
		{
			"a wrong itemsPerPage in two lists",
			[]shown{{check: "list.last-page", what: "itemsPerPage at startIndex=5", want: "1", got: "3",
				exchange: sent("GET", "/Users?count=3", 200, "")},
				{check: "traffic.counters", what: "itemsPerPage of GET /Schemas", want: "2", got: "20", exchange: sent("GET", "/Schemas", 200, "")}},
			[]*group{{checks: []string{"list.last-page"}}, {checks: []string{"traffic.counters"}}},
			[]string{"list.last-page traffic.counters"},
		},
		{
			"users without a value in filters with lt, among wrong filters",
			[]shown{missed("filter.value-path"), missed("filter.absent-less"), missed("filter.value-path-or")},
			[]*group{{checks: []string{"filter.absent-less", "filter.value-path", "filter.value-path-or"}}},
			[]string{"filter.value-path filter.value-path-or", "filter.absent-less"},
		},
		{
			"the check of all server errors, without another server error",
			[]shown{accepts("cursor.count-garbage"), crash(anyServerError, "GET")},
			[]*group{{checks: []string{"cursor.count-garbage", anyServerError}, exact: true, sure: true}},
			[]string{"cursor.count-garbage", anyServerError},
		},
		{
			"the check of all server errors, with a finding about a request that was repeated",
			[]shown{{check: "steadiness.responses", what: "first response of GET /Users", got: "503 Service Unavailable"},
				crash(anyServerError, "GET")},
			[]*group{{checks: []string{"steadiness.responses", anyServerError}, exact: true, sure: true}},
			[]string{"steadiness.responses " + anyServerError},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var symptoms []*symptom
			for _, s := range c.symptoms {
				symptoms = append(symptoms, s.symptom())
			}
			for _, g := range c.groups {
				for _, id := range g.checks {
					if !slices.ContainsFunc(symptoms, func(s *symptom) bool { return s.check.ID == id }) {
						symptoms = append(symptoms, accepts(id).symptom())
					}
				}
			}
			var got []string
			for _, g := range attachServerErrors(gatherTopics(c.groups, symptoms, nil), symptoms, false) {
				got = append(got, strings.Join(g.checks, " "))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			require.Equal(t, c.want, got)
		})
	}
}
