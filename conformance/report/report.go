// Package report writes the result of a conformance run down: as text for people and as versioned JSON for programs. It
// does not judge: outcomes and verdicts come from package conformance, clauses from package requirements.
package report

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/requirements"
)

// clauses returns the catalogue entries that a check cites, in its order.
func clauses(c conformance.Check) []requirements.Requirement {
	var out []requirements.Requirement
	for _, id := range c.Requirements {
		if r, ok := requirements.Lookup(id); ok {
			out = append(out, r)
		}
	}
	return out
}

// areas returns the areas of the results in order of appearance.
func areas(results []conformance.CheckResult) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range results {
		if area := r.Check.Area(); !seen[area] {
			seen[area] = true
			out = append(out, area)
		}
	}
	return out
}
