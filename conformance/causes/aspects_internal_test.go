package causes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// subjects returns symptoms with the given checks, each with findings about the given subjects.
func subjects(subjectsOf map[string][]string) map[string]*symptom {
	out := map[string]*symptom{}
	for id, whats := range subjectsOf {
		s := &symptom{check: conformance.Check{ID: id}}
		for _, what := range whats {
			f := conformance.Finding{Outcome: conformance.Fail, What: what, Want: "one", Got: "another"}
			s.findings, s.evidence = append(s.findings, f), append(s.evidence, evidenceOf(f, ""))
		}
		out[id] = s
	}
	return out
}

// TestAspect_Separate checks that findings about another part of the behavior leave a group, except from a known fault that has them.
func TestAspect_Separate(t *testing.T) {
	byID := subjects(map[string][]string{
		"put.two-primaries": {"number of primary emails"}, "read.primary-once": {"number of primary emails"},
		"patch.add-existing":  {"emails.value", "meta.lastModified"},
		"projection.excluded": {"name with excludedAttributes=name"}, "projection.attributes": {"further members with attributes=userName"},
		"create.external-id": {"externalId of a user created without one"}, "oracle.projection": {"name"},
	})
	checksOf := func(groups []*group) (out [][]string) {
		for _, g := range groups {
			out = append(out, g.checks)
		}
		return out
	}
	primaries := func(exact bool, fingerprints ...string) []*group {
		return []*group{{checks: []string{"patch.add-existing", "put.two-primaries", "read.primary-once"}, exact: exact,
			fingerprints: map[string][]string{"patch.add-existing": fingerprints}}}
	}
	apart := [][]string{{"put.two-primaries", "read.primary-once"}, {"patch.add-existing"}}
	require.Equal(t, apart, checksOf(primaryValues.separate(primaries(false), byID, false)))
	own := byID["patch.add-existing"].evidence
	require.Equal(t, apart, checksOf(primaryValues.separate(primaries(true, own[1].fingerprint()), byID, false)), "one finding more")
	both := primaries(true, own[0].fingerprint(), own[1].fingerprint())
	require.Len(t, primaryValues.separate(both, byID, false), 1, "the known fault has both")

	proved := primaries(true, own[1].fingerprint())
	proved[0].proved = true
	require.Len(t, primaryValues.separate(proved, byID, true), 1, "a proved fault among known ones")
	require.Len(t, primaryValues.separate(proved, byID, false), 2, "a proved fault")

	got := projection.separate([]*group{
		{checks: []string{"projection.excluded", "create.external-id", "projection.attributes", "oracle.projection"}},
		{checks: []string{"create.external-id", "projection.excluded"}},
	}, byID, false)
	require.Equal(t, [][]string{{"projection.excluded", "projection.attributes", "oracle.projection"},
		{"create.external-id", "projection.excluded"}, {"create.external-id"}}, checksOf(got))

	byID = subjects(map[string][]string{
		"projection.excluded": {"name with excludedAttributes=name"}, "projection.attributes": {"further members with attributes=userName"},
		"traffic.id-asked": {"id in the response", "id of another user"},
	})
	known := byID["traffic.id-asked"].evidence[0].fingerprint()
	got = projection.separate([]*group{{checks: []string{"projection.excluded", "projection.attributes", "traffic.id-asked"}, exact: true,
		fingerprints: map[string][]string{"traffic.id-asked": {known}}}}, byID, false)
	require.Len(t, got, 1, "traffic.id-asked evaluates the requests of all checks")
}
