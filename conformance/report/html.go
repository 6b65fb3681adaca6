package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/internal/look"
	"github.com/scimwright/scimwright/scim/wirelog"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is the data of the template.
type page struct {
	Document
	Style    template.CSS
	Script   template.JS
	Policy   string // Content-Security-Policy: no external resources, and only the page's script
	Outcomes []conformance.Outcome
	Levels   []conformance.Level
	Areas    []pageArea
	Took     string
	Steps    []Check // the steps of client flows; Checks has only the others
	Changes  []change
	Broken   []string // the clients that break
}

type pageArea struct {
	Name   string
	Counts []int // by outcome
}

// HTML writes the report as one file for a browser, without external resources: the verdicts by area, by client and by clause, and every
// check with its findings and exchanges, to search, filter and print.
func HTML(w io.Writer, r *conformance.Result, version string) error {
	sum := sha256.Sum256([]byte(pageScript))
	p := page{
		Document: document(r, version), Style: template.CSS(Style()), Script: template.JS(pageScript),
		Policy:   "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Outcomes: conformance.Outcomes(), Levels: conformance.Levels(),
		Took:    r.Duration.Round(10 * time.Millisecond).String(),
		Changes: changes(r), Broken: brokenClients(r),
	}
	once(r, p.Checks)
	p.Causes = slices.DeleteFunc(p.Causes, func(c Cause) bool { return shownAsBlock(r, c.Checks, c.Blocked) })
	for _, c := range p.Checks {
		if c.Profile != "" {
			p.Steps = append(p.Steps, c)
		}
	}
	p.Checks = slices.DeleteFunc(p.Checks, func(c Check) bool { return c.Profile != "" })
	// Checks with findings come first; the areas have the order of the checks.
	slices.SortStableFunc(p.Checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(p.Outcomes, a.Outcome), slices.Index(p.Outcomes, b.Outcome))
	})
	for _, name := range areas(r.Checks) {
		area := pageArea{Name: name}
		for _, o := range p.Outcomes {
			n := 0
			for _, c := range r.Checks {
				if c.Check.Area() == name && c.Outcome == o {
					n++
				}
			}
			area.Counts = append(area.Counts, n)
		}
		p.Areas = append(p.Areas, area)
	}
	recorded := sentOf(r)
	steps := map[string]int{}
	for _, f := range r.Profiles {
		steps[f.Profile+f.ClientFlow] = len(f.Steps)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"finding": shown, "outcome": look.Outcome,
		"label": func(l conformance.Level) string { return strings.ToLower(labels[l]) }, "otherFails": otherFails,
		"level": func(o conformance.Outcome, word string) look.Pill { return look.NewPill(look.Tone(o), word) },
		"quiet": func(word string) look.Pill { return look.NewPill("quiet", word) },
		"large": func(all []Block) []Block {
			return slices.DeleteFunc(slices.Clone(all), func(b Block) bool { return !b.large() })
		},
		"proof": func(b Block) look.Exchange { return lay(*b.Exchange, b.Curl).Exchange },
		"sent":  func(check string) []sentExchange { return recorded[check] },
		// The template converts one exchange at a time, because a run has thousands of exchanges.
		"lay":    func(e sentExchange) laidOut { return e.lay() },
		"search": search,
		"words":  func(v conformance.Verdict) string { return verdictWords[v] },
		"join":   strings.Join,
		"breaks": breaksText,
		"limits": func(p Profile) string { return counted.Of(len(p.Limits), "limit") },
		"fails":  func(p Profile) string { return failsText(len(p.Breaks), steps[p.Profile+p.Conversation], p.Untried) },
	}).Parse(pageTemplate)
	if err == nil {
		_, err = look.Define(t)
	}
	if err != nil {
		return fmt.Errorf("report: the template of the page is damaged: %w", err)
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}

// maxWhole is the number of exchanges of a check with findings that the page contains as a whole, in addition to those of the findings.
const maxWhole = 3

// maxShown is the maximum length of a body of such an exchange, in bytes. Bodies of findings are whole.
const maxShown = 1 << 10

// A sentExchange is an exchange of a check. Unless Whole is set, the page contains only its request line and its status.
type sentExchange struct {
	*wirelog.Exchange

	Whole bool
	Note  string // why the page contains only the request line
}

// sentOf returns the exchanges of each check. The page contains those of a finding once, with the finding. It contains others as a whole
// only for checks with findings: a run has thousands of exchanges. The HAR report has all of them.
func sentOf(r *conformance.Result) map[string][]sentExchange {
	failed, shown := map[string]bool{}, map[*wirelog.Exchange]bool{}
	for c := range r.All() {
		for _, f := range c.Findings {
			failed[c.Check.ID] = failed[c.Check.ID] || f.Outcome != conformance.Info
			shown[f.Exchange] = true
		}
	}
	out := map[string][]sentExchange{}
	whole := map[string]int{}
	for check, all := range evidence(r) {
		for _, e := range all {
			sent := sentExchange{Exchange: e}
			switch {
			case shown[e]:
				sent.Note = "see the finding"
			case failed[check] && whole[check] < maxWhole:
				sent.Whole = true
				whole[check]++
			}
			out[check] = append(out[check], sent)
		}
	}
	return out
}

// lay returns the exchange as the page shows it, with shortened bodies.
func (s sentExchange) lay() laidOut {
	e := exchange(*s.Exchange)
	if !s.Whole {
		return laidOut{Status: e.Status, Line: e.Method + " " + e.URL}
	}
	curl := wirelog.Curl(*s.Exchange)
	for _, text := range []*string{&e.RequestBody, &e.ResponseBody, &curl} {
		if len(*text) > maxShown {
			*text = strings.ToValidUTF8((*text)[:maxShown], "") + "… (shortened; the HAR report has the whole exchange)"
		}
	}
	return lay(*e, curl)
}

// minShared is the minimum length of a response body that the page contains only once, in bytes.
const minShared = 1 << 10

// once removes the exchange of each finding that an earlier finding of the same check shows, and refers to an earlier check for each long
// body that is the same. checks are in the order of r.All.
func once(r *conformance.Result, checks []Check) {
	i, first := 0, map[string]string{} // the id of the first check with a body
	for c := range r.All() {
		seen := map[*wirelog.Exchange]bool{}
		for j, f := range c.Findings {
			if f.Exchange != nil && seen[f.Exchange] {
				checks[i].Findings[j].Exchange, checks[i].Findings[j].above = nil, true
			}
			if e := checks[i].Findings[j].Exchange; e != nil && len(e.ResponseBody) >= minShared {
				if id := first[e.ResponseBody]; id != "" {
					e.ResponseBody = fmt.Sprintf("The same %d bytes as in the response that the check %s shows.", len(e.ResponseBody), id)
				} else {
					first[e.ResponseBody] = c.Check.ID
				}
			}
			seen[f.Exchange] = true
		}
		i++
	}
}

// laidOut is an exchange of a check with the text of its summary.
type laidOut struct {
	look.Exchange

	Status int
	Line   string
}

// lay returns an exchange as the page shows it.
func lay(e Exchange, curl string) laidOut {
	line := e.Method + " " + e.URL
	return laidOut{Status: e.Status, Line: line, Exchange: look.Exchange{
		Request:  look.NewMessage(line, e.RequestHeaders, e.RequestBody),
		Response: look.NewMessage(e.StatusLine(), e.ResponseHeaders, e.ResponseBody), Curl: curl,
	}}
}

// shown returns a finding as the page shows it.
func shown(f Finding) look.Finding {
	out := look.Finding{Tone: look.Tone(f.Outcome), What: f.What, Want: f.Want, Got: f.Got}
	if f.above {
		out.Note = "same exchange as above"
	}
	if f.Unsteady {
		out.Note = "unsteady: the finding did not occur again in the repeated check"
	}
	if w := f.Waiver; w != nil {
		out.Waived = w.Reason
		if w.Ticket != "" {
			out.Waived += " (" + w.Ticket + ")"
		}
		if w.Expires != "" {
			out.Waived += ", until " + w.Expires
		}
	}
	if f.Exchange != nil {
		out.Exchange = new(lay(*f.Exchange, f.Commands()).Exchange)
	}
	return out
}

// search returns the text that the search of the page uses for a check, in lower case.
func search(c Check) string {
	words := []string{c.ID, c.Title, c.Reason, strings.Join(c.Clients, " ")}
	for _, q := range c.Clauses {
		words = append(words, q.ID, q.Section)
	}
	for _, f := range c.Findings {
		words = append(words, f.What, f.Want, f.Got)
	}
	return strings.ToLower(strings.Join(words, " "))
}
