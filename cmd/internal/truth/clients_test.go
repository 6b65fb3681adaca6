package truth_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/internal/alltest"
)

// The checks of the RFCs, which a run without profiles selects, notice every fault that breaks the flow of a known client.
func TestSuite_NoticesIncompatibleServers(t *testing.T) {
	t.Parallel()
	for _, m := range alltest.Sample(mutants.Incompatible(), 10) {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			r := suite(t, m.Wrap(newReferenceServer(t)))
			assert.True(t, slices.ContainsFunc(r.Checks, noticed), "no check detects the fault: %s", m.Breaks)
		})
	}
}
