package report

import (
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/conformance"
)

// Parse decodes a JSON report of scim-conformance. It returns an error if the report has another format than Format.
func Parse(data []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("not a JSON report of the suite: %w", err)
	}
	if d.Tool != "scim-conformance" || d.Format != Format {
		return d, fmt.Errorf("not a JSON report of the suite in format %d", Format)
	}
	// Earlier versions wrote warn for a step that breaks its client.
	steps := map[string]bool{}
	for _, p := range d.Profiles {
		steps[p.Profile] = true
	}
	for i := range d.Checks {
		if c := &d.Checks[i]; c.Profile != "" || steps[c.Area] {
			c.breaks()
		}
	}
	return d, nil
}

// A Change is a check that has, or had, a finding.
type Change struct {
	ID, Title string
	// Before and After are its outcomes, "absent" if the check was not in that run.
	Before, After conformance.Outcome
	// Reason explains why the check has no result in the later run.
	Reason string
}

// Absent is the outcome of a check that is not in a run.
const Absent conformance.Outcome = "absent"

// A Difference lists the checks with a finding in at least one of two runs, each in one of the groups below, in the order of the later run.
type Difference struct {
	// New contains checks whose findings are more severe than in the earlier run. Fixed contains checks that had findings and now pass.
	// Unobserved contains checks that had findings and that the later run has not tested. Still contains checks with the same findings in both
	// runs.
	New, Fixed, Unobserved, Still []Change
}

// Compare returns the differences between two runs, by check. Waived findings do not count.
func Compare(before, after Document) Difference {
	var d Difference
	was := map[string]Check{}
	for _, c := range before.Checks {
		was[c.ID] = c
	}
	seen := map[string]bool{}
	for _, c := range after.Checks {
		seen[c.ID] = true
		old, ran := was[c.ID]
		change := Change{ID: c.ID, Title: c.Title, Before: Absent, After: c.Outcome}
		if ran {
			change.Before = old.Outcome
		}
		then, now := severity(old), severity(c)
		switch {
		case now > then:
			d.New = append(d.New, change)
		case then == 0:
		case now > 0:
			d.Still = append(d.Still, change)
		case c.Outcome == conformance.Skip || c.Outcome == conformance.Error:
			change.Reason = c.Reason
			d.Unobserved = append(d.Unobserved, change)
		default:
			d.Fixed = append(d.Fixed, change)
		}
	}
	for _, c := range before.Checks {
		if severity(c) > 0 && !seen[c.ID] {
			d.Unobserved = append(d.Unobserved, Change{
				ID:     c.ID,
				Title:  c.Title,
				Before: c.Outcome,
				After:  Absent,
				Reason: "the check was not part of the later run",
			})
		}
	}
	return d
}

// severity returns the severity of a check's result. It is 0 unless a finding has the outcome fail or warn and is not waived.
func severity(c Check) int {
	switch {
	case c.Waived:
		return 0
	case c.Outcome == conformance.Fail:
		return 2
	case c.Outcome == conformance.Warn:
		return 1
	}
	return 0
}
