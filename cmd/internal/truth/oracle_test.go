package truth_test

import (
	"flag"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// oracleSeeds is the number of seeds for the checks with generated requests. Before a release it is 200 or more.
var oracleSeeds = flag.Int("oracle-seeds", 8, "number of seeds for the generated requests")

// TestOracle_NoFalsePositives checks that the reference server passes the generated checks with several seeds.
func TestOracle_NoFalsePositives(t *testing.T) {
	t.Parallel()
	h := newReferenceServer(t)
	for seed := range uint64(*oracleSeeds) {
		r := oracleRun(t, h, seed+2, 1)
		for _, c := range r.Checks {
			require.Equal(t, conformance.Pass, c.Outcome, "seed %d: %s", seed+2, describe(c))
			require.LessOrEqual(t, c.Requests, c.Check.Requests, "seed %d: %s: no seed sends more requests than declared", seed+2, c.Check.ID)
		}
		require.Empty(t, r.Leftovers)
	}
}

func TestOracle_RoundsIncreaseRequests(t *testing.T) {
	r := oracleRun(t, newReferenceServer(t), 1, 3)
	for _, c := range r.Checks {
		require.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
		require.LessOrEqual(t, c.Requests, c.Check.Requests+2*c.Check.PerRound, c.Check.ID)
		require.Greater(t, c.Requests, c.Check.Requests+c.Check.PerRound, c.Check.ID)
	}
}

// oracleRun runs the checks of the area oracle with a seed.
func oracleRun(t *testing.T, h http.Handler, seed uint64, rounds int) *conformance.Result {
	t.Helper()
	selected, err := conformance.Selection{Only: []string{"oracle"}}.Apply(checks.All())
	require.NoError(t, err)
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: selected, Seed: seed, OracleRounds: rounds})
	require.NoError(t, err)
	return r
}
