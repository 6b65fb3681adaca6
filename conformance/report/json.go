package report

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/wirelog"
)

// Format is the version of the JSON report. It grows when a member changes its meaning or goes away; new members may come
// without that.
const Format = 1

// A Document is the JSON report.
type Document struct {
	Format     int                         `json:"format"` // see [Format]
	Tool       string                      `json:"tool"`   // always "scim-conformance"
	Version    string                      `json:"version,omitempty"`
	Target     string                      `json:"target"`
	Run        string                      `json:"run"` // the marker in the names of the objects that the run created
	Started    time.Time                   `json:"started"`
	DurationMs int64                       `json:"durationMs"`
	Requests   int                         `json:"requests"`
	Verdict    conformance.Verdict         `json:"verdict"` // clean, findings or untested
	Reason     string                      `json:"reason,omitempty"`
	Outcomes   map[conformance.Outcome]int `json:"outcomes"` // number of checks by outcome
	Checks     []Check                     `json:"checks"`
	Cautions   []string                    `json:"cautions,omitempty"`
	Leftovers  []Leftover                  `json:"leftovers,omitempty"`
	Journal    string                      `json:"journal,omitempty"`
}

// A Check is one check of the JSON report.
type Check struct {
	ID         string              `json:"id"`
	Title      string              `json:"title"`
	Area       string              `json:"area"`
	Level      conformance.Level   `json:"level"`
	Outcome    conformance.Outcome `json:"outcome"`
	Reason     string              `json:"reason,omitempty"`
	Clauses    []Clause            `json:"clauses"`
	Findings   []Finding           `json:"findings,omitempty"`
	Notes      []string            `json:"notes,omitempty"`
	Fix        string              `json:"fix,omitempty"` // only with findings
	Requests   int                 `json:"requests"`
	DurationMs int64               `json:"durationMs"`
}

// A Clause is a requirement that the check proves.
type Clause struct {
	ID      string `json:"id"`
	Section string `json:"section"`
	Level   string `json:"level"`
	Text    string `json:"text"`
}

// A Finding is one thing that was otherwise than expected.
type Finding struct {
	Outcome  conformance.Outcome `json:"outcome"` // fail, warn or info
	What     string              `json:"what"`
	Want     string              `json:"want"`
	Got      string              `json:"got"`
	Curl     string              `json:"curl,omitempty"`
	Exchange *Exchange           `json:"exchange,omitempty"`
}

// An Exchange is the redacted evidence of a finding.
type Exchange struct {
	Method          string      `json:"method"`
	URL             string      `json:"url"`
	RequestHeaders  http.Header `json:"requestHeaders"`
	RequestBody     string      `json:"requestBody,omitempty"`
	Status          int         `json:"status"`
	ResponseHeaders http.Header `json:"responseHeaders"`
	ResponseBody    string      `json:"responseBody,omitempty"`
	DurationMs      int64       `json:"durationMs"`
}

// A Leftover is an object that could not be removed.
type Leftover struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// JSON writes the versioned report for programs. Version is the version of the program that ran the checks, "" when unknown.
func JSON(w io.Writer, r *conformance.Result, version string) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document(r, version))
}

func document(r *conformance.Result, version string) Document {
	d := Document{
		Format: Format, Tool: "scim-conformance", Version: version, Target: r.Target, Run: r.Run, Started: r.Started.UTC(),
		DurationMs: r.Duration.Milliseconds(), Requests: r.Requests, Verdict: r.Verdict, Reason: r.Reason,
		Outcomes: map[conformance.Outcome]int{}, Checks: []Check{}, Cautions: r.Cautions, Journal: r.Journal,
	}
	for _, l := range r.Leftovers {
		d.Leftovers = append(d.Leftovers, Leftover(l))
	}
	for _, o := range conformance.Outcomes() {
		d.Outcomes[o] = r.Count(o)
	}
	for _, c := range r.Checks {
		entry := Check{
			ID: c.Check.ID, Title: c.Check.Title, Area: c.Check.Area(), Level: c.Check.Level, Outcome: c.Outcome, Reason: c.Reason,
			Notes: c.Notes, Requests: c.Requests, DurationMs: c.Duration.Milliseconds(), Clauses: []Clause{},
		}
		for _, q := range clauses(c.Check) {
			entry.Clauses = append(entry.Clauses, Clause{ID: q.ID, Section: q.Section, Level: string(q.Level), Text: q.Text})
		}
		for _, f := range c.Findings {
			entry.Findings = append(entry.Findings, finding(f))
			entry.Fix = c.Check.Fix
		}
		d.Checks = append(d.Checks, entry)
	}
	return d
}

func finding(f conformance.Finding) Finding {
	out := Finding{Outcome: f.Outcome, What: f.What, Want: f.Want, Got: f.Got}
	if e := f.Exchange; e != nil {
		out.Curl = wirelog.Curl(*e)
		out.Exchange = &Exchange{
			Method: e.Method, URL: e.URL, RequestHeaders: e.RequestHeader, RequestBody: e.RequestBody, Status: e.Status,
			ResponseHeaders: e.ResponseHeader, ResponseBody: e.ResponseBody, DurationMs: e.Duration.Milliseconds(),
		}
	}
	return out
}
