package foreign_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// Every target goes through the same history in every style. Afterwards it has what the directory says, or the engine says itself
// what it has not; and docs/interop/engine.md is what happened on the way.
func TestEngine_ProvisionsForeignServers(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			dir := s.installed(t)
			for _, style := range s.styles {
				t.Run(string(style), func(t *testing.T) {
					r := newRun(t, s.start(t, dir), style)
					r.play()
					s.check(t, style, r.report())
					for _, phase := range r.told {
						require.Zero(t, phase.unsettled, phase.phase)
						for _, what := range slices.Sorted(maps.Keys(phase.found.silent)) {
							require.Contains(t, s.leaves, what, "%s: %+v", phase.phase, *phase.found.silent[what])
						}
					}
				})
			}
		})
	}
}
