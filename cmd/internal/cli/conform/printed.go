package conform

import (
	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/mockserver"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// printed is the flag for commands that print text by default. Members of the JSON that a report also has have the names of the report.
type printed struct {
	AsJSON bool `name:"json" env:"-" help:"Print JSON instead of text."`
}

// A checkJSON is a check without a result.
type checkJSON struct {
	ID       string                     `json:"id"`
	Title    string                     `json:"title"`
	Area     string                     `json:"area"`
	Level    conformance.Level          `json:"level"`
	Requests int                        `json:"requests"`
	Skip     string                     `json:"skip,omitempty"` // plan: why the check does not run
	Why      string                     `json:"why,omitempty"`  // this and the following: explain
	Clients  []string                   `json:"clients,omitempty"`
	Fix      string                     `json:"fix,omitempty"`
	Needs    []conformance.Need         `json:"needs,omitempty"`
	Clauses  []requirements.Requirement `json:"clauses,omitempty"`
}

func shortJSON(c conformance.Check) checkJSON {
	return checkJSON{ID: c.ID, Title: c.Title, Area: c.Area(), Level: c.Level, Requests: c.Requests}
}

func fullJSON(c conformance.Check) checkJSON {
	out := shortJSON(c)
	out.Why, out.Clients, out.Fix, out.Needs = c.Why, report.Clients(c), c.Fix, c.Needs
	for _, id := range c.Requirements {
		if r, ok := requirements.Lookup(id); ok {
			out.Clauses = append(out.Clauses, r)
		}
	}
	return out
}

func listJSON(in *invocation, all []conformance.Check, form func(conformance.Check) checkJSON) error {
	out := struct {
		Checks []checkJSON `json:"checks"`
	}{[]checkJSON{}}
	for _, c := range all {
		out.Checks = append(out.Checks, form(c))
	}
	return frame.WriteJSON(in.stdout, out)
}

// clauseJSON writes a clause with the ids of the checks that test it.
func clauseJSON(in *invocation, r requirements.Requirement) error {
	ids := []string{}
	for _, c := range checks.All() {
		for _, id := range c.Requirements {
			if id == r.ID {
				ids = append(ids, c.ID)
			}
		}
	}
	return frame.WriteJSON(in.stdout, struct {
		requirements.Requirement
		Checks []string `json:"checks"`
	}{r, ids})
}

func planJSON(in *invocation, p *conformance.Plan) error {
	out := struct {
		Target   string      `json:"target"`
		Reason   string      `json:"reason,omitempty"` // why the target cannot be tested
		Requests int         `json:"requests"`
		Writes   bool        `json:"writes"`
		Checks   []checkJSON `json:"checks"`
	}{p.Target, p.Reason, p.Requests, p.Writes, []checkJSON{}}
	for _, c := range p.Checks {
		check := shortJSON(c.Check)
		check.Skip = c.Skip
		out.Checks = append(out.Checks, check)
	}
	return frame.WriteJSON(in.stdout, out)
}

func diffJSON(in *invocation, d report.Difference) error {
	type change struct {
		ID     string              `json:"id"`
		Title  string              `json:"title"`
		Before conformance.Outcome `json:"before"`
		After  conformance.Outcome `json:"after"`
		Reason string              `json:"reason,omitempty"`
	}
	list := func(all []report.Change) []change {
		out := []change{}
		for _, c := range all {
			out = append(out, change(c))
		}
		return out
	}
	return frame.WriteJSON(in.stdout, struct {
		New        []change `json:"new"`
		Fixed      []change `json:"fixed"`
		Unobserved []change `json:"unobserved"`
		Still      []change `json:"still"`
	}{list(d.New), list(d.Fixed), list(d.Unobserved), list(d.Still)})
}

func cleanupJSON(in *invocation, r *conformance.CleanupResult) error {
	leftovers := []report.Leftover{}
	for _, l := range r.Leftovers {
		leftovers = append(leftovers, report.Leftover(l))
	}
	return frame.WriteJSON(in.stdout, struct {
		Target    string            `json:"target"`
		Removed   int               `json:"removed"`
		Absent    int               `json:"absent"`
		Leftovers []report.Leftover `json:"leftovers"`
	}{r.Target, r.Removed, r.Absent, leftovers})
}

// A Quirk is a quirk in the JSON of --list-quirks, with the members of the API of the sandbox.
type Quirk struct {
	Usage    string          `json:"usage"`
	Category quirks.Category `json:"category"`
	Does     string          `json:"does"`
	Seen     string          `json:"seen,omitempty"`
}

// Quirks returns all quirks.
func Quirks() []Quirk {
	var out []Quirk
	for _, q := range quirks.All() {
		out = append(out, Quirk{q.Usage(), q.Category, q.Does, q.Seen})
	}
	return out
}

// quirksJSON writes the quirks, and the servers that the command mock simulates.
func quirksJSON(in *invocation) error {
	type server struct {
		Name   string   `json:"name"`
		Title  string   `json:"title"`
		Quirks []string `json:"quirks"`
	}
	servers := []server{}
	for _, p := range mockserver.Profiles() {
		servers = append(servers, server(p))
	}
	return frame.WriteJSON(in.stdout, struct {
		Available []Quirk  `json:"available"`
		Servers   []server `json:"servers"`
	}{Quirks(), servers})
}
