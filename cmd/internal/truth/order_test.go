package truth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// TestOrder_NamesExistingChecks checks that every entry of the order selects a check, and that the last phases select all of them.
func TestOrder_NamesExistingChecks(t *testing.T) {
	named := map[string]bool{}
	for _, p := range checks.Order() {
		require.NotEqual(t, p.Clients, len(p.Checks) > 0, "%s: either checks or client flows", p.Name)
		for _, name := range p.Checks {
			selected, err := conformance.Selection{Only: []string{name}}.Apply(checks.All())
			require.NoError(t, err, p.Name)
			for _, c := range selected {
				if c.ID == name {
					assert.False(t, named[name], "%s is in two phases", name)
				}
				named[c.ID] = true
			}
		}
	}
	for _, c := range checks.All() {
		assert.True(t, named[c.ID], c.ID)
	}
}

// TestOrder_SameResults checks that the order of a run does not change the results on the reference server, and that the results have the
// order of the catalog.
func TestOrder_SameResults(t *testing.T) {
	t.Parallel()
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{newReferenceServer(t)}}
	catalog, err := conformance.Run(t.Context(), target, conformance.Options{Checks: checks.All()})
	require.NoError(t, err)
	var plan *conformance.Plan
	ordered, err := conformance.Run(t.Context(), target, conformance.Options{Checks: checks.All(), Order: checks.Order(),
		Planned: func(p *conformance.Plan) { plan = p }})
	require.NoError(t, err)
	require.Len(t, ordered.Checks, len(catalog.Checks))
	for i, c := range ordered.Checks {
		require.Equal(t, catalog.Checks[i].Check.ID, c.Check.ID)
		assert.Equal(t, catalog.Checks[i].Outcome, c.Outcome, "%s", describe(c))
	}
	assert.InEpsilon(t, plan.Requests, ordered.Requests, 0.01, "the estimate of the plan and the requests of the run")
}
