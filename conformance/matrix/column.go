package matrix

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/conformance/report"
)

// A column collects the report of one product, and computes the cells of the product from it.
type column struct {
	entry    Entry
	document report.Document
	checks   map[string]report.Check
	causes   map[string][]int // the positions of the causes of a check, starting at 1
	clients  map[string]bool  // ids of the profiles in the report: the checks of these areas are steps of client flows
}

func newColumn(t tested) *column {
	d := t.document
	c := &column{
		document: d, checks: map[string]report.Check{}, causes: map[string][]int{}, clients: map[string]bool{},
		entry: Entry{
			ID: t.id, Product: t.product, Suite: d.Version, Tested: d.Started.UTC(), DurationMs: d.DurationMs, Requests: d.Requests,
			Verdict: d.Verdict, Reason: d.Reason, Outcomes: d.Outcomes, Leftovers: len(d.Leftovers), Cautions: d.Cautions, Causes: []Cause{},
		},
	}
	for _, p := range d.Profiles {
		c.clients[p.Profile] = true
	}
	for _, check := range d.Checks {
		c.checks[check.ID] = check
	}
	for _, g := range d.Causes {
		c.cause(Cause{Headline: g.Headline, Checks: g.Checks, Curl: g.Curl, Why: g.Why, Fix: g.Fix})
	}
	c.group()
	return c
}

// group adds causes for the complaining checks that no cause of the report explains: one for all such checks of an area with the same
// expected and actual value, and one for all steps of a client that require the same change. Reports of earlier versions contain no causes.
func (c *column) group() {
	type key struct{ area, want, got, fix string }
	index := map[key]int{}
	var groups [][]report.Check
	for _, check := range c.document.Checks {
		if !complains(check.Outcome) || len(c.causes[check.ID]) > 0 {
			continue
		}
		f := decisive(check)
		k := key{check.Area, f.Want, f.Got, ""}
		if c.isStep(check) {
			// Several client flows of one client, and several steps, require the same change.
			k = key{check.Area, "", "", check.Fix}
		}
		i, known := index[k]
		if !known || f.Want == "" && k.fix == "" {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], check)
	}
	for _, g := range groups {
		f := decisive(g[0])
		cause := Cause{Headline: headline(g[0].Title, f), Curl: f.Curl, Why: g[0].Why, Fix: g[0].Fix}
		for _, check := range g {
			cause.Checks = append(cause.Checks, check.ID)
		}
		c.cause(cause)
	}
}

// cause adds a cause and completes it from the checks that it explains.
func (c *column) cause(cause Cause) {
	at := len(c.entry.Causes) + 1
	for _, id := range cause.Checks {
		check, known := c.checks[id]
		if !known {
			continue
		}
		c.causes[id] = append(c.causes[id], at)
		cause.Outcome = graver(cause.Outcome, check.Outcome)
		if len(check.Clauses) > 0 && !slices.Contains(cause.Clauses, check.Clauses[0].ID) {
			cause.Clauses = append(cause.Clauses, check.Clauses[0].ID)
		}
		for _, client := range check.Clients {
			if !slices.Contains(cause.Clients, client) {
				cause.Clients = append(cause.Clients, client)
			}
		}
	}
	slices.Sort(cause.Clauses)
	slices.Sort(cause.Clients)
	c.entry.Causes = append(c.entry.Causes, cause)
}

// decisive returns the most severe finding of a check, or an empty finding.
func decisive(check report.Check) report.Finding {
	for _, o := range conformance.Outcomes() {
		for _, f := range check.Findings {
			if f.Outcome == o {
				return f
			}
		}
	}
	return report.Finding{}
}

// maxValue is the maximum length of a value in a headline, in bytes.
const maxValue = 120

// headline states which requirement a finding violates, and how.
func headline(title string, f report.Finding) string {
	if f.What == "" {
		return "violated: " + title
	}
	return "violated: " + title + " (" + shorten(f.What) + ": expected " + shorten(f.Want) + ", got " + shorten(f.Got) + ")"
}

// shorten returns a text of a finding without ids, with a limited length.
func shorten(s string) string {
	s = causes.Plain(s)
	if len(s) <= maxValue {
		return s
	}
	cut := strings.ToValidUTF8(s[:maxValue], "")
	if i := strings.LastIndexAny(cut, " ,;:/"); i > maxValue/2 {
		cut = strings.TrimRight(cut[:i], " ,;:/")
	}
	return cut + "…"
}

// isStep reports whether a check is a step of a client flow.
func (c *column) isStep(check report.Check) bool { return c.clients[check.Area] }

// add adds the causes of a check to the causes of a cell.
func (c *column) add(causes []int, check report.Check) []int {
	if !complains(check.Outcome) {
		return causes
	}
	for _, at := range c.causes[check.ID] {
		if !slices.Contains(causes, at) {
			causes = append(causes, at)
		}
	}
	slices.Sort(causes)
	return causes
}

// clientCell returns the cell of a client flow.
func (c *column) clientCell(p report.Profile) Cell {
	cell := Cell{Fit: p.Fit, Outcome: outcomes[p.Fit]}
	if p.Action != "" {
		cell.Why = "First failing step: " + p.Action
	} else {
		cell.Why = strings.Join(p.Limits, "; ")
	}
	if cell.Why == "" && p.Fit == conformance.UnknownCompatibility {
		cell.Why = p.Why
	}
	prefix := p.Profile + "."
	if p.Conversation != "" {
		prefix += p.Conversation + "-"
	}
	for _, check := range c.document.Checks {
		if strings.HasPrefix(check.ID, prefix) {
			cell.Causes = c.add(cell.Causes, check)
		}
	}
	if p.Fit == conformance.Breaks && len(cell.Causes) == 0 {
		cause := Cause{Headline: p.Client + " breaks: " + p.Action, Outcome: conformance.Fail, Checks: []string{p.Step},
			Clients: []string{p.Client}, Why: p.Why, Fix: p.Fix}
		if p.Finding != nil {
			cause.Headline, cause.Curl = headline(p.Action, *p.Finding), p.Finding.Curl
		}
		c.entry.Causes = append(c.entry.Causes, cause)
		cell.Causes = []int{len(c.entry.Causes)}
	}
	return cell
}

// outcomes maps the verdict on a client flow to the outcome whose color its cell has.
var outcomes = map[conformance.Compatibility]conformance.Outcome{
	conformance.Works:                conformance.Pass,
	conformance.WorksWithLimits:      conformance.Warn,
	conformance.Breaks:               conformance.Fail,
	conformance.UnknownCompatibility: conformance.Skip,
}
