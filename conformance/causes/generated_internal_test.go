package causes

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestGroup_PutsComparisonLast checks that a check that compares two responses does not describe a cause if another check does.
func TestGroup_PutsComparisonLast(t *testing.T) {
	g := &group{checks: []string{"oracle.equivalences", "oracle.filter"}}
	g.putGeneratedLast()
	assert.Equal(t, []string{"oracle.filter", "oracle.equivalences"}, g.checks)
}
