package causes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestGroup_PutsComparisonLast checks that a check that compares two responses does not describe a cause if another check does.
func TestGroup_PutsComparisonLast(t *testing.T) {
	g := &group{checks: []string{"oracle.equivalences", "oracle.filter"}}
	g.putGeneratedLast()
	assert.Equal(t, []string{"oracle.filter", "oracle.equivalences"}, g.checks)
}

// TestGenerated_AmongKnownFaults checks that a known fault that only generated requests show is a cause among other known faults if it is
// proved, which only a run with the seed of the signatures can do.
func TestGenerated_AmongKnownFaults(t *testing.T) {
	for _, c := range []struct {
		name           string
		seeded, proved bool
		want           []string
	}{
		{"proved", true, true, []string{"filter.co", "filter.eq", "oracle.filter"}},
		{"another finding than that of the fault", true, false, []string{"filter.co", "filter.eq oracle.filter"}},
		{"another seed", false, false, []string{"filter.co", "filter.eq", "oracle.filter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shown{check: "oracle.filter"}.symptom()
			s.seeded = c.seeded
			groups := []*group{{checks: []string{"filter.eq"}}, {checks: []string{"filter.co"}},
				{checks: []string{"oracle.filter"}, exact: true, proved: c.proved}}
			require.Equal(t, c.want, groupTexts(attachGenerated(groups, map[string]*symptom{"oracle.filter": s}, true)))
		})
	}
}

// TestGenerated_OwnEffect checks that a known fault that only generated requests show is a cause among other known faults without being
// proved if other faults can hardly have this effect.
func TestGenerated_OwnEffect(t *testing.T) {
	both := []string{"oracle.filter", "oracle.equivalences"}
	for _, c := range []struct {
		name      string
		generated []string
		others    []string // the checks of each other group
		apart     bool
	}{
		{"partly applied PATCH", []string{atomicity}, []string{"patch.add", "patch.remove", "patch.replace"}, true},
		{"partly applied PATCH and another check", []string{atomicity, "oracle.patch"},
			[]string{"patch.add", "patch.remove", "patch.replace"}, false},
		{"one check of filters", both[:1], []string{"filter.eq", "put.rename"}, true},
		{"one check among several faults of filters", both[:1], []string{"filter.eq", "filter.co"}, false},
		{"one check of filters, and a group that begins with a generated request", both[:1], []string{"oracle.sort filter.eq"}, true},
		{"one check among such groups", both[:1], []string{"oracle.sort filter.eq", "oracle.pages filter.co"}, false},
		{"two checks of filters", both, []string{"filter.eq", "search.filter", "put.rename"}, true},
		{"two checks among many faults of filters", both, []string{"filter.eq", "search.filter", "filter.co"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			groups := []*group{{checks: c.generated, exact: true}}
			byID := map[string]*symptom{}
			for _, id := range c.generated {
				byID[id] = shown{check: id}.symptom()
				byID[id].seeded = true
			}
			for _, checks := range c.others {
				groups = append(groups, &group{checks: strings.Fields(checks)})
			}
			want := len(c.others)
			if c.apart {
				want++
			}
			require.Len(t, attachGenerated(groups, byID, true), want)
		})
	}
}

// TestExplain_GeneratedFingerprints checks that a finding of a generated request proves a known fault, if the run has the seed of the
// signatures and all checks of the known fault generate their requests.
func TestExplain_GeneratedFingerprints(t *testing.T) {
	check := conformance.Check{ID: "oracle.filter"}
	result := func(seed uint64, what string, others ...conformance.CheckResult) *conformance.Result {
		finding := conformance.Finding{Outcome: conformance.Fail, What: what, Want: "all", Got: "none"}
		checks := append(others, conformance.CheckResult{Check: check, Outcome: conformance.Fail, Findings: []conformance.Finding{finding}})
		return &conformance.Result{Seed: seed, Checks: checks}
	}
	known := NewSignatures(map[string]Observed{"oracle.a-fault": Observe(result(conformance.DefaultSeed, "a or b"))})
	proved := func(seed uint64, what string) bool {
		symptoms := map[string]*symptom{}
		for _, s := range symptomsOf(result(seed, what)) {
			symptoms[s.check.ID] = s
		}
		picks := explain(symptoms, nil, known)
		require.Len(t, picks, 1)
		return picks[0].proved()
	}
	require.True(t, proved(conformance.DefaultSeed, "a or b"))
	require.False(t, proved(conformance.DefaultSeed, "a and b"))
	require.False(t, proved(conformance.DefaultSeed+1, "a or b"), "the seed differs")

	plain := conformance.CheckResult{Check: conformance.Check{ID: "filter.or"}, Outcome: conformance.Fail,
		Findings: []conformance.Finding{{Outcome: conformance.Fail, What: "c"}}}
	require.NotContains(t, Observe(result(conformance.DefaultSeed, "a or b", plain)).Fingerprints, check.ID)
}
