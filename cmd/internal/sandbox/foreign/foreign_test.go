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

// Each target goes through the same history with each style. After each phase, the target matches the directory, or the engine reports the
// difference. docs/interop/engine.md contains the results.
func TestEngine_ProvisionsForeignServers(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			dir := s.installed(t)
			for _, style := range s.styles {
				t.Run(string(style), func(t *testing.T) {
					r := newRun(t, s.start(t, dir), style)
					r.play()
					s.check(t, style, r.report())
					for _, phase := range r.results {
						require.Zero(t, phase.unsettled, phase.phase)
						for _, what := range slices.Sorted(maps.Keys(phase.found.silent)) {
							require.Contains(t, s.knownDifferences, what, "%s: %+v", phase.phase, *phase.found.silent[what])
						}
					}
				})
			}
		})
	}
}
