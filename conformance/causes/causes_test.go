package causes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const target = "https://scim.example.com/v2"

func exchange(method, path string, status int) *wirelog.Exchange {
	return &wirelog.Exchange{Method: method, URL: target + path, Status: status}
}

// resultWith returns the result of a run of all checks in which those of complaints have a finding and all others pass.
func resultWith(complaints map[string]conformance.Finding) *conformance.Result {
	r := &conformance.Result{Target: target, Verdict: conformance.Findings}
	for _, c := range checks.All() {
		entry := conformance.CheckResult{Check: c, Outcome: conformance.Pass}
		if f, ok := complaints[c.ID]; ok {
			entry.Findings = []conformance.Finding{f}
			entry.Outcome = f.Outcome
		}
		r.Checks = append(r.Checks, entry)
	}
	return r
}

// failing returns a finding that shares no evidence with another one.
func failing(id string) conformance.Finding {
	return conformance.Finding{Outcome: conformance.Fail, What: "the subject of " + id, Want: "one", Got: "the value of " + id}
}

func failingAll(ids ...string) map[string]conformance.Finding {
	out := map[string]conformance.Finding{}
	for _, id := range ids {
		out[id] = failing(id)
	}
	return out
}

func tellings(found []causes.Cause) []string {
	var out []string
	for _, c := range found {
		out = append(out, c.ID)
	}
	slices.Sort(out)
	return out
}

// TestSignatures_Consistent checks that each signature names existing checks, and that each fault has one signature.
func TestSignatures_Consistent(t *testing.T) {
	exists := map[string]bool{}
	for _, c := range checks.All() {
		exists[c.ID] = true
	}
	seen := map[string]bool{}
	for _, s := range causes.Signatures() {
		for _, id := range slices.Concat(s.Checks(), s.Blocks) {
			require.True(t, exists[id], "%s is not a check: make causes", id)
		}
		require.NotContains(t, s.Others, s.Telling)
		require.NotEmpty(t, s.Faults)
		for _, fault := range s.Faults {
			require.False(t, seen[fault], "%s has two signatures", fault)
			seen[fault] = true
		}
	}
	require.Greater(t, len(seen), 1000)
	require.Equal(t, goldentest.Read(t, "signatures.txt"), causes.FormatSignatures(causes.Signatures()))
}

func TestNewSignatures_TellingCheck(t *testing.T) {
	got := causes.NewSignatures(map[string]causes.Observed{
		"patch.narrow": {Complaints: []string{"patch.common", "patch.rare", "traffic.rare"}, Blocked: []string{"oracle.patch"}},
		"patch.other":  {Complaints: []string{"patch.common"}},
		"put.same":     {Complaints: []string{"patch.common"}, Blocked: []string{"put.last"}},
		"bulk.wide":    {Complaints: []string{"auth.a", "bulk.first", "bulk.b", "bulk.c", "bulk.d", "bulk.e", "bulk.f"}},
		"bulk.silent":  {},
	})
	require.Equal(t, []causes.Signature{
		{Telling: "bulk.first", Others: []string{"auth.a", "bulk.b", "bulk.c", "bulk.d", "bulk.e", "bulk.f"}, Faults: []string{"bulk.wide"}},
		{Telling: "patch.common", Blocks: []string{"put.last"}, Faults: []string{"patch.other", "put.same"}},
		{Telling: "patch.rare", Others: []string{"patch.common", "traffic.rare"}, Blocks: []string{"oracle.patch"},
			Faults: []string{"patch.narrow"}},
	}, got)
}

// TestOf_KnownFaults checks that the symptoms of several signatures lead to their telling checks.
func TestOf_KnownFaults(t *testing.T) {
	signatures := []causes.Signature{
		{Telling: "put.extension", Others: []string{"put.extension-added", "put.extension-null"}},
		{Telling: "sort.user-name", Others: []string{"oracle.sort"}},
		{Telling: "put.active"},
		{Telling: "put.twice", Others: []string{"put.active", "put.rename", "put.replaces"}},
	}
	complaints := failingAll("put.extension", "put.extension-added", "put.extension-null", "sort.user-name", "oracle.sort", "put.active")
	found := causes.Explain(resultWith(complaints), signatures)
	require.Equal(t, []string{"put.active", "put.extension", "sort.user-name"}, tellings(found))
	for _, c := range found {
		if c.ID == "put.active" {
			require.Contains(t, c.Clients, "Okta")
		}
		if c.ID == "put.extension" {
			require.Equal(t, []string{"put.extension", "put.extension-null", "put.extension-added"}, c.Checks, "in the order of the run")
			require.Equal(t, 3, c.Findings)
			require.NotEmpty(t, c.Fix)
		}
	}
}

// TestOf_SmallestExplanation checks that one signature with all symptoms is preferred to several signatures with parts.
func TestOf_SmallestExplanation(t *testing.T) {
	signatures := []causes.Signature{
		{Telling: "put.active"}, {Telling: "put.rename"},
		{Telling: "put.replaces", Others: []string{"put.active", "put.rename"}},
	}
	found := causes.Explain(resultWith(failingAll("put.active", "put.rename", "put.replaces")), signatures)
	require.Equal(t, []string{"put.replaces"}, tellings(found))
}

// TestOf_WithoutMisses checks that two signatures whose checks all have findings are preferred to one of which a check has passed, and that
// the latter is preferred to no signature.
func TestOf_WithoutMisses(t *testing.T) {
	partly := causes.Signature{Telling: "filter.boolean", Others: []string{"filter.long", "put.active"}}
	single := causes.Signature{Telling: "put.active"}
	complaints := failingAll("filter.long", "put.active")
	require.Equal(t, []string{"filter.long", "put.active"},
		tellings(causes.Explain(resultWith(complaints), []causes.Signature{partly, single, {Telling: "filter.long"}})))
	require.Len(t, causes.Explain(resultWith(complaints), []causes.Signature{partly}), 1)
}

func TestOf_Order(t *testing.T) {
	complaints := failingAll("put.active", "sort.user-name")
	f := failing("create.status")
	f.Outcome = conformance.Warn
	complaints["create.status"] = f
	found := causes.Explain(resultWith(complaints), nil)
	var ids []string
	for _, c := range found {
		ids = append(ids, c.ID)
	}
	require.Equal(t, []string{"put.active", "sort.user-name", "create.status"}, ids, "MUST first, then those that affect clients")
	require.Equal(t, conformance.Warn, found[2].Outcome)
}

// TestOf_OmitsWhatDoesNotCount checks waived findings, information, steps of client flows and skipped checks.
func TestOf_OmitsWhatDoesNotCount(t *testing.T) {
	r := resultWith(failingAll("put.active", "put.rename"))
	for i := range r.Checks {
		switch r.Checks[i].Check.ID {
		case "put.active":
			r.Checks[i].Findings[0].Waiver = &conformance.Waiver{Reason: "known"}
		case "put.rename":
			r.Checks[i].Findings[0].Outcome = conformance.Info
			r.Checks[i].Outcome = conformance.Info
		case "sort.user-name":
			r.Checks[i].Outcome, r.Checks[i].Reason = conformance.Skip, "the target does not sort"
		}
	}
	r.Profiles = []conformance.ProfileResult{{Profile: "okta"}}
	r.Checks = append(r.Checks, conformance.CheckResult{
		Check: conformance.Check{ID: "okta.create"}, Outcome: conformance.Warn, Findings: []conformance.Finding{failing("okta.create")},
	})
	require.Empty(t, causes.Of(r))
	require.Equal(t, causes.Observed{}, causes.Observe(r))
}

func TestOf_Blocked(t *testing.T) {
	block := func(r *conformance.Result, reason string, ids ...string) {
		for i := range r.Checks {
			if slices.Contains(ids, r.Checks[i].Check.ID) {
				r.Checks[i].Outcome, r.Checks[i].Reason = conformance.Skip, reason
			}
		}
	}
	r := resultWith(map[string]conformance.Finding{checks.All()[0].ID: {
		Outcome: conformance.Fail, What: "status of GET /Users/41c9a1b2", Want: "200", Got: "404",
		Exchange: exchange("GET", "/Users/41c9a1b2", 404),
	}})
	block(r, "blocked: GET /Users/7a, which prepares the check, returned 404 without a resource", "put.active", "put.rename")
	block(r, "blocked: POST /Groups, which prepares the check, returned 500 without an id", "groups.create", "groups.same-name")
	found := causes.Explain(r, nil)
	require.Len(t, found, 2)
	require.Equal(t, []string{"put.rename", "put.active"}, found[0].Blocked, "a finding about the same request with the same status")
	require.Equal(t, "GET /Users/{id} returns 404 instead of 200", found[0].Headline)
	require.Equal(t, "blocked.1", found[1].ID)
	require.Empty(t, found[1].Checks)
	require.Equal(t, []string{"groups.create", "groups.same-name"}, slices.Sorted(slices.Values(found[1].Blocked)))
	require.Equal(t, "POST /Groups, which prepares the check, returned 500 without an id", found[1].Headline)
}

// TestOf_Deterministic checks that a result with many symptoms has the same causes each time, in each of which the checks are distinct.
func TestOf_Deterministic(t *testing.T) {
	complaints := map[string]conformance.Finding{}
	for i, c := range checks.All() {
		if i%3 == 0 {
			complaints[c.ID] = failing(c.ID)
		}
	}
	r := resultWith(complaints)
	first := causes.Of(r)
	require.NotEmpty(t, first)
	explained := map[string]bool{}
	for _, c := range first {
		require.LessOrEqual(t, len([]rune(c.Headline)), 88, c.Headline)
		require.False(t, strings.ContainsAny(c.Headline, "\n\t"))
		for _, id := range c.Checks {
			require.False(t, explained[id], "%s has two causes", id)
			explained[id] = true
		}
	}
	require.Len(t, explained, len(complaints), "each symptom has a cause")
	for range 3 {
		require.Equal(t, first, causes.Of(r))
	}
}

// TestNewSignatures_AreaOfQuirk checks that the telling check of a quirk has the area that the name of the quirk contains.
func TestNewSignatures_AreaOfQuirk(t *testing.T) {
	got := causes.NewSignatures(map[string]causes.Observed{
		"quirk.no-delete": {Complaints: []string{"auth.a", "auth.b", "auth.c", "delete.status", "delete.unknown"}},
		"quirk.max-page":  {Complaints: []string{"list.a", "list.b", "search.a"}},
	})
	require.Equal(t, "delete.status", got[0].Telling)
	require.Equal(t, "list.a", got[1].Telling, "no area is a word of the name: the most frequent one")
}
