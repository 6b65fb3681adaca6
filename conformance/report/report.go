package report

import (
	"io"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/requirements"
)

// A Writer writes the report in one format.
type Writer struct {
	// Name is the name of the format on the command line. What describes the format.
	Name, What string
	// Traffic reports whether the format contains every exchange of the run, not only those of findings. Then Options.Record should be set.
	Traffic bool
	// Write writes the report. Version is the version of the program that ran the checks, "" if unknown.
	Write func(w io.Writer, r *conformance.Result, version string) error
}

// Writers returns the writers of all formats.
func Writers() []Writer {
	return []Writer{
		{Name: "text", What: "plain text, with every finding", Write: func(w io.Writer, r *conformance.Result, _ string) error {
			return Text(w, r, TextOptions{All: true})
		}},
		{Name: "json", What: "everything, versioned, with a JSON Schema", Write: JSON},
		{Name: "html", What: "one HTML file: every check, clause and finding", Traffic: true, Write: HTML},
		{Name: "markdown", What: "a summary for pull requests and job pages", Write: Markdown},
		{Name: "junit", What: "test results for CI systems", Write: JUnit},
		{Name: "sarif", What: "SARIF 2.1.0 for code scanning", Write: SARIF},
		{Name: "har", What: "every exchange as an HTTP archive 1.2", Traffic: true, Write: HAR},
		{Name: "badge", What: "a badge as SVG", Write: Badge},
		{Name: "shields", What: "a badge as JSON for shields.io", Write: Shields},
	}
}

// WriterNamed returns the writer of the format with the given name.
func WriterNamed(name string) (Writer, bool) {
	i := slices.IndexFunc(Writers(), func(w Writer) bool { return w.Name == name })
	if i < 0 {
		return Writer{}, false
	}
	return Writers()[i], true
}

// clauses returns the entries of the requirements catalog that a check cites, in the order in which the check cites them.
func clauses(c conformance.Check) []requirements.Requirement {
	var out []requirements.Requirement
	for _, id := range c.Requirements {
		if r, ok := requirements.Lookup(id); ok {
			out = append(out, r)
		}
	}
	return out
}

func clause(r requirements.Requirement) Clause {
	return Clause{ID: r.ID, Section: r.Section, Level: string(r.Level), Basis: r.Basis, Text: r.Text}
}

// weight orders outcomes for the verdict on a clause: any other result overrides a pass, and a pass overrides a skip.
var weight = []conformance.Outcome{conformance.Skip, conformance.Pass, conformance.Info, conformance.Error, conformance.Warn,
	conformance.Fail}

// ledger returns a verdict for every clause that the checks cite, in the order of the requirements catalog. A clause has the most severe
// outcome of the checks that cite it first. If no check cites the clause first, its outcome is the most severe one of the other checks
// that cite it, although the findings of these checks may be about the clause that they cite first. A finding of the level Interop violates
// no clause: it counts as Info.
func ledger(r *conformance.Result) []Verdict {
	type mention struct {
		principal bool
		outcome   conformance.Outcome
		checks    []string
	}
	seen := map[string]*mention{}
	for _, c := range r.Checks {
		outcome := c.Outcome
		if c.Check.Level == conformance.Interop && outcome == conformance.Warn {
			outcome = conformance.Info
		}
		for i, id := range c.Check.Requirements {
			m := seen[id]
			if m == nil {
				m = &mention{outcome: conformance.Skip}
				seen[id] = m
			}
			m.checks = append(m.checks, c.Check.ID)
			switch {
			case i == 0 && !m.principal:
				m.principal, m.outcome = true, outcome
			case m.principal != (i == 0):
			case slices.Index(weight, outcome) > slices.Index(weight, m.outcome):
				m.outcome = outcome
			}
		}
	}
	out := []Verdict{}
	for _, q := range requirements.All() {
		if m := seen[q.ID]; m != nil {
			out = append(out, Verdict{Clause: clause(q), Outcome: m.outcome, Checks: m.checks})
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

// Clients returns the provisioning clients that are known to depend on the requirement of the check; see [causes.Clients].
func Clients(c conformance.Check) []string { return causes.Clients(c) }

// affected returns the clients of a list that a result is about. If the run had only checks on which its clients depend, the result is
// about these clients; otherwise, it is about all.
func affected(r *conformance.Result, clients []string) []string {
	selected := selectedClients(r)
	if selected == nil {
		return clients
	}
	var out []string
	for _, c := range clients {
		if slices.Contains(selected, c) {
			out = append(out, c)
		}
	}
	return out
}

// selectedClients returns the names of the clients of a run that had only checks on which these clients depend, nil for any other run.
func selectedClients(r *conformance.Result) []string {
	var selected []conformance.Profile
	var names []string
	for _, p := range profiles.All() {
		if slices.ContainsFunc(r.Profiles, func(v conformance.ProfileResult) bool { return v.Profile == p.ID }) {
			selected = append(selected, p)
			names = append(names, p.Client)
		}
	}
	for _, c := range r.Checks {
		if !slices.ContainsFunc(selected, func(p conformance.Profile) bool { return profiles.Depends(p, c.Check) }) {
			return nil
		}
	}
	return names
}

// causesOf returns the causes of the findings of a result. Cause.Clients lists only clients that the result is about.
func causesOf(r *conformance.Result) []causes.Cause {
	out := causes.Of(r)
	for i := range out {
		out[i].Clients = affected(r, out[i].Clients)
	}
	return out
}
