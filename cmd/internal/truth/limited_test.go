package truth_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
)

// TestLimited_SkipsLittle checks that no check complains about a server that lacks an optional feature or rejects some objects, and bounds
// the number of checks that are skipped.
func TestLimited_SkipsLittle(t *testing.T) {
	for _, v := range mutants.Limited() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			r := suiteAndCompare(t, v.Wrap)
			reasons := map[string]int{}
			for _, c := range r.Checks {
				assert.False(t, complains(c), "%s\n%s", v.Permits, describe(c))
				if c.Outcome == conformance.Skip {
					reasons[c.Reason]++
				}
			}
			most := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] })
			for _, reason := range most {
				t.Logf("%4d %s", reasons[reason], reason)
			}
			t.Logf("%d skipped of %d, %d requests", r.Count(conformance.Skip), len(r.Checks), r.Requests)
		if dir := os.Getenv("DUMP"); dir != "" {
			var out []byte
			for _, c := range r.Checks { out = append(out, describe(c)+"\n"...) ; for _, n := range c.Notes { out = append(out, "    note "+n+"\n"...) } }
			require.NoError(t, os.WriteFile(filepath.Join(dir, v.ID), out, 0o600))
		}
		})
	}
}
