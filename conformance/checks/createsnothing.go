package checks

import (
	_ "embed"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// createsNothing lists the ids of the checks that write but create no object on a conforming target, one per line.
// TestChecks_CreateNothing in cmd/internal/truth compares the list with a run against the reference server, and updates it with -update.
//
//go:embed createsnothing.txt
var createsNothing string

// withCreatesNothing sets CreatesNothing of the listed checks.
func withCreatesNothing(all []conformance.Check) []conformance.Check {
	listed := map[string]bool{}
	for _, id := range strings.Fields(createsNothing) {
		listed[id] = true
	}
	for i := range all {
		all[i].CreatesNothing = listed[all[i].ID]
	}
	return all
}
