package causes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestGeneral_SmallPart checks when a known fault keeps findings that also show a general fault: if it has them, and as many others.
func TestGeneral_SmallPart(t *testing.T) {
	byID := subjects(map[string][]string{
		"projection.attributes": nil, "projection.id-alone": nil, "put.replaces": {"title"}, "patch.order": {"title"},
	})
	for _, id := range []string{"projection.attributes", "projection.id-alone"} {
		f := conformance.Finding{Outcome: conformance.Fail, What: "further members of a user", Want: "none", Got: `["title"]`}
		byID[id].findings, byID[id].evidence = []conformance.Finding{f}, []evidence{evidenceOf(f, "")}
	}
	all := []string{"projection.attributes", "projection.id-alone", "put.replaces", "patch.order"}
	symptoms := func(ids []string) (out []*symptom) {
		for _, id := range ids {
			out = append(out, byID[id])
		}
		return out
	}
	for _, c := range []struct {
		name             string
		checks           []string
		predicted        int // the first ones of checks
		exact, sure      bool
		known, separates bool
	}{
		{"a certain fault", all, 4, true, true, false, false},
		{"a probable fault among known ones", all, 4, false, true, true, false},
		{"a probable fault", all, 4, false, true, false, true},
		{"an improbable fault", all, 4, false, false, true, true},
		{"a fault with one of them", all, 1, true, true, true, true},
		{"a fault that shows little else", all[:3], 3, true, true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &group{checks: slices.Clone(c.checks), exact: c.exact, sure: c.sure, predicted: map[string]bool{}}
			for _, id := range c.checks[:c.predicted] {
				g.predicted[id] = true
			}
			groups := gatherGeneral([]*group{g}, symptoms(c.checks), c.known)
			general := slices.ContainsFunc(groups, func(g *group) bool { return g.general.headline != "" })
			require.Equal(t, c.separates, general)
		})
	}
}

// TestGeneral_ClosedConnection checks that a closed connection is a fault of the request only if the target does not also close connections
// of requests that succeed when they are repeated.
func TestGeneral_ClosedConnection(t *testing.T) {
	const got = "the connection was closed before the end of the response"
	request := shown{check: "concurrency.add-members", want: completeResponse, got: got, exchange: sent("PATCH", "/Groups/1", 0, "")}
	atRandom := shown{check: anyUnsteady, got: got, exchange: sent("GET", "/Users", 200, "")}
	causes := func(shown ...shown) []string {
		var symptoms []*symptom
		for _, s := range shown {
			symptoms = append(symptoms, s.symptom())
		}
		return groupTexts(groupsOf(symptoms, nil, nil, newLinker(symptoms, together{}), map[string]int{}))
	}
	require.Equal(t, []string{"concurrency.add-members steadiness.responses"}, causes(request, atRandom))
	atRandom.got = "503"
	require.Equal(t, []string{"concurrency.add-members", "steadiness.responses"}, causes(request, atRandom))
}

// TestGeneral_KnownFaultsApart checks that a general fault does not combine several proved faults that explain all its findings.
func TestGeneral_KnownFaultsApart(t *testing.T) {
	var symptoms []*symptom
	for _, id := range []string{"projection.list", "me.projection"} {
		f := conformance.Finding{Outcome: conformance.Fail, What: "further members of a user", Want: "none", Got: `["meta"]`}
		s := &symptom{check: conformance.Check{ID: id}, findings: []conformance.Finding{f}, evidence: []evidence{evidenceOf(f, "")}}
		symptoms = append(symptoms, s)
	}
	for _, f := range severalMissed(18) {
		symptoms = append(symptoms, f.symptom())
	}
	groups := func(proved, known bool, symptoms []*symptom) []string {
		var out []*group
		for _, s := range symptoms[:2] {
			out = append(out, &group{checks: []string{s.check.ID}, proved: proved, predicted: map[string]bool{s.check.ID: true}})
		}
		return groupTexts(gatherGeneral(out, symptoms, known))
	}
	together := []string{"me.projection projection.list"}
	require.Equal(t, []string{"me.projection", "projection.list"}, groups(true, true, symptoms))
	require.Equal(t, together, groups(true, true, symptoms[:19]), "more than a tenth of the symptoms")
	require.Equal(t, together, groups(false, true, symptoms))
	require.Equal(t, together, groups(true, false, symptoms))
}
