package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Format is the version of the JSON report. It increases when a member changes its meaning or is removed, not when members are added.
const Format = 1

// A Document is the JSON report.
type Document struct {
	Format     int                         `json:"format"` // see [Format]
	Tool       string                      `json:"tool"`   // always "scim-conformance"
	Version    string                      `json:"version,omitempty"`
	Target     string                      `json:"target"`
	Run        string                      `json:"run"`  // the marker in the names of the objects that the run created
	Seed       uint64                      `json:"seed"` // the seed of the checks of the area "oracle"
	Started    time.Time                   `json:"started"`
	DurationMs int64                       `json:"durationMs"`
	Requests   int                         `json:"requests"`
	Verdict    conformance.Verdict         `json:"verdict"` // clean, findings or untested
	Reason     string                      `json:"reason,omitempty"`
	Outcomes   map[conformance.Outcome]int `json:"outcomes"`         // number of checks by outcome, without steps of client flows
	Causes     []Cause                     `json:"causes,omitempty"` // of findings that are not waived, the most consequential first
	Blocks     []Block                     `json:"blocks,omitempty"` // what blocked checks, most checks first
	Checks     []Check                     `json:"checks"`           // the checks, then the steps of client flows
	Clauses    []Verdict                   `json:"clauses"`          // one verdict for each clause that the checks of the run cite
	Profiles   []Profile                   `json:"profiles,omitempty"`
	Cautions   []string                    `json:"cautions,omitempty"`
	Complaints []string                    `json:"complaints,omitempty"` // problems with the waivers; a run with a complaint is not clean
	LagMs      int64                       `json:"lagMs,omitempty"`      // time until a created object could be found
	Steadiness *Steadiness                 `json:"steadiness,omitempty"` // only if equal requests had different results, or some were slow
	Leftovers  []Leftover                  `json:"leftovers,omitempty"`
	Journal    string                      `json:"journal,omitempty"`
}

// A Cause is a fault of the target that explains findings (package causes).
type Cause struct {
	ID       string              `json:"id"`
	Headline string              `json:"headline"`
	Rule     string              `json:"rule,omitempty"`    // title of the check that describes the cause best
	Level    conformance.Level   `json:"level,omitempty"`   // of what the headline states; absent if the cause only blocks checks
	Outcome  conformance.Outcome `json:"outcome"`           // fail or warn
	Checks   []string            `json:"checks"`            // ids of the checks that complain, the one of Rule first
	Blocked  []string            `json:"blocked,omitempty"` // ids of the checks that have no result because of the cause
	Findings int                 `json:"findings"`
	Fails    int                 `json:"fails,omitempty"` // number of findings that violate a MUST
	First    []string            `json:"first,omitempty"` // commands that create the objects on which After and Curl depend
	After    string              `json:"after,omitempty"`
	Curl     string              `json:"curl,omitempty"`
	Last     string              `json:"last,omitempty"` // commands that delete these objects
	Why      string              `json:"why,omitempty"`
	Fix      string              `json:"fix,omitempty"`
	Clients  []string            `json:"clients,omitempty"` // provisioning clients that depend on a violated requirement
}

// A Check is one check of the JSON report.
type Check struct {
	ID         string              `json:"id"`
	Title      string              `json:"title"`
	Area       string              `json:"area"`
	Profile    string              `json:"profile,omitempty"` // the profile whose client flow contains the check as a step
	Level      conformance.Level   `json:"level"`
	Outcome    conformance.Outcome `json:"outcome"` // a step of a client flow that breaks the client has fail
	Reason     string              `json:"reason,omitempty"`
	BlockedBy  string              `json:"blockedBy,omitempty"` // the text of the block that contains the check
	Clauses    []Clause            `json:"clauses"`
	Findings   []Finding           `json:"findings,omitempty"`
	Waived     bool                `json:"waived,omitempty"` // every finding that fails or warns is waived
	Notes      []string            `json:"notes,omitempty"`
	Why        string              `json:"why,omitempty"`     // Why, Clients and Fix are set only if there are findings
	Clients    []string            `json:"clients,omitempty"` // provisioning clients that depend on the requirement
	Fix        string              `json:"fix,omitempty"`
	Requests   int                 `json:"requests"`
	DurationMs int64               `json:"durationMs"`
}

// A Block is a fixture or a prerequisite that failed, with the checks that it kept from their results.
type Block struct {
	What     string    `json:"what"`
	Number   int       `json:"number"` // number of checks
	Checks   []string  `json:"checks"` // ids of the checks
	Curl     string    `json:"curl,omitempty"`
	Exchange *Exchange `json:"exchange,omitempty"`
}

// large reports whether the block is one of the main results of the run.
func (b Block) large() bool { return b.Number >= conformance.ManyBlocked }

// A Clause is a requirement that the check tests.
type Clause struct {
	ID      string `json:"id"`
	Section string `json:"section"`
	Level   string `json:"level"`
	Basis   string `json:"basis,omitempty"` // the source of the statement, see requirements.Requirement
	Text    string `json:"text"`
}

// Strength returns the level, and whether it is an interpretation; see [requirements.Strength].
func (c Clause) Strength() string { return requirements.Strength(c.Level, c.Basis) }

// A Finding is one difference between the target and an expectation.
type Finding struct {
	Outcome  conformance.Outcome `json:"outcome"` // fail, warn or info
	What     string              `json:"what"`
	Want     string              `json:"want"`
	Got      string              `json:"got"`
	Unsteady bool                `json:"unsteady,omitempty"` // the finding did not occur again when the check was repeated
	Waiver   *Waiver             `json:"waiver,omitempty"`
	After    string              `json:"after,omitempty"` // the curl command of the write before the read in Curl
	Curl     string              `json:"curl,omitempty"`
	Exchange *Exchange           `json:"exchange,omitempty"`

	above bool // an earlier finding of the check shows the same exchange
}

// Commands returns the curl commands that show the finding, one on each line.
func (f Finding) Commands() string {
	if f.After == "" {
		return f.Curl
	}
	return f.After + "\n" + f.Curl
}

// A Waiver explains why a finding is accepted.
type Waiver struct {
	Reason  string `json:"reason"`
	Ticket  string `json:"ticket,omitempty"`
	Owner   string `json:"owner,omitempty"`
	Expires string `json:"expires,omitempty"` // a date: 2026-12-31
}

// A Verdict is the result of the run for one clause.
type Verdict struct {
	Clause
	Outcome conformance.Outcome `json:"outcome"`
	Checks  []string            `json:"checks"` // ids of the checks that cite it
}

// A Profile is the verdict on one client flow of a provisioning client.
type Profile struct {
	Profile      string                    `json:"profile"`
	Conversation string                    `json:"conversation,omitempty"`
	Client       string                    `json:"client"`
	Title        string                    `json:"title"`
	Fit          conformance.Compatibility `json:"fit"`
	Breaks       []BrokenStep              `json:"breaks,omitempty"`  // every step that fails
	Untried      int                       `json:"untried,omitempty"` // number of steps that could not be tested after an earlier failure
	Step         string                    `json:"step,omitempty"`    // Step, Action, Why, Fix and Finding are those of the first of Breaks
	Action       string                    `json:"action,omitempty"`
	Why          string                    `json:"why,omitempty"` // without Breaks: why Fit is unknown
	Fix          string                    `json:"fix,omitempty"`
	Finding      *Finding                  `json:"finding,omitempty"`
	Limits       []string                  `json:"limits,omitempty"`
	Doubt        string                    `json:"doubt,omitempty"`
}

// A BrokenStep is a step of a client flow that fails.
type BrokenStep struct {
	Check   string  `json:"check"`  // id of the step
	Action  string  `json:"action"` // what the client does in the step
	Why     string  `json:"why"`
	Fix     string  `json:"fix"`
	Finding Finding `json:"finding"`
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
	Error           string      `json:"error,omitempty"` // why there is no complete response; the status is then 0
}

// Steadiness describes how equal requests had different results.
type Steadiness struct {
	Summary          []string `json:"summary"`                // one sentence for each kind of unsteadiness
	UnstableOrder    bool     `json:"unstableOrder"`          // lists without sortBy changed their order
	VisibilityMs     int64    `json:"visibilityMs,omitempty"` // time until a created object could be found
	Requests         int      `json:"requests"`
	Repeated         int      `json:"repeated"`       // requests that failed and had another result when repeated
	Slow             int      `json:"slow,omitempty"` // requests that exceeded the timeout and got a response within a longer one
	UnsteadyFindings int      `json:"unsteadyFindings"`
	Repeats          []Repeat `json:"repeats,omitempty"` // the first of the repeated requests
}

// A Repeat is a request that failed and had another result when the run repeated it.
type Repeat struct {
	Request string `json:"request"` // method and path
	First   string `json:"first"`   // a status, or the reason why there was no response
	Second  string `json:"second"`
}

// A Leftover is an object that could not be removed.
type Leftover struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// JSON writes the versioned report for programs. Version is the version of the program that ran the checks, "" if unknown.
func JSON(w io.Writer, r *conformance.Result, version string) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document(r, version))
}

func document(r *conformance.Result, version string) Document {
	d := Document{
		Format: Format, Tool: "scim-conformance", Version: version, Target: r.Target, Run: r.Run, Seed: r.Seed, Started: r.Started.UTC(),
		DurationMs: r.Duration.Milliseconds(), Requests: r.Requests, Verdict: r.Verdict, Reason: r.Reason,
		Outcomes: map[conformance.Outcome]int{}, Checks: []Check{}, Clauses: ledger(r), Cautions: r.Cautions, Complaints: r.Complaints,
		LagMs: r.Lag.Milliseconds(), Journal: r.Journal,
	}
	if st := r.Steadiness; len(st.Sentences()) > 0 {
		d.Steadiness = &Steadiness{Summary: st.Sentences(), UnstableOrder: st.UnstableOrder, VisibilityMs: st.Visibility.Milliseconds(),
			Requests: st.Requests, Repeated: st.Repeated, Slow: st.Slow, UnsteadyFindings: st.UnsteadyFindings}
		for _, repeat := range st.Repeats {
			d.Steadiness.Repeats = append(d.Steadiness.Repeats, Repeat(repeat))
		}
	}
	for _, c := range causesOf(r) {
		d.Causes = append(d.Causes, cause(c))
	}
	for _, p := range r.Profiles {
		d.Profiles = append(d.Profiles, profileOf(p))
	}
	for _, b := range r.Blocks {
		entry := Block{What: b.What, Number: len(b.Checks), Checks: b.Checks}
		if b.Exchange != nil {
			entry.Curl, entry.Exchange = wirelog.Curl(*b.Exchange), exchange(*b.Exchange)
		}
		d.Blocks = append(d.Blocks, entry)
	}
	for _, l := range r.Leftovers {
		d.Leftovers = append(d.Leftovers, Leftover(l))
	}
	for _, o := range conformance.Outcomes() {
		d.Outcomes[o] = r.Count(o)
	}
	steps := map[string]string{} // the profile of each step
	for _, p := range r.Profiles {
		for _, c := range p.Steps {
			steps[c.Check.ID] = p.Profile
		}
	}
	for c := range r.All() {
		entry := Check{
			ID:         c.Check.ID,
			Title:      c.Check.Title,
			Area:       c.Check.Area(),
			Profile:    steps[c.Check.ID],
			Level:      c.Check.Level,
			Outcome:    c.Outcome,
			Reason:     c.Reason,
			Waived:     c.Waived(),
			Notes:      c.Notes,
			Requests:   c.Requests,
			DurationMs: c.Duration.Milliseconds(),
			Clauses:    []Clause{},
		}
		if c.BlockedBy != nil {
			entry.BlockedBy = c.BlockedBy.What
		}
		for _, q := range clauses(c.Check) {
			entry.Clauses = append(entry.Clauses, clause(q))
		}
		for _, f := range c.Findings {
			entry.Findings = append(entry.Findings, finding(f))
		}
		if entry.Profile != "" {
			entry.breaks()
		}
		if len(c.Findings) > 0 {
			entry.Why, entry.Fix, entry.Clients = c.Check.Why, c.Check.Fix, affected(r, Clients(c.Check))
		}
		d.Checks = append(d.Checks, entry)
	}
	return d
}

// breaks sets the outcome of a step of a client flow, and of its findings, to Fail if the step breaks the client. In a result, such a step
// has the outcome Warn, because no RFC requires it; to the client, it is no warning.
func (c *Check) breaks() {
	if c.Outcome == conformance.Warn {
		c.Outcome = conformance.Fail
	}
	for i := range c.Findings {
		if c.Findings[i].Outcome == conformance.Warn {
			c.Findings[i].Outcome = conformance.Fail
		}
	}
}

func profileOf(p conformance.ProfileResult) Profile {
	entry := Profile{
		Profile:      p.Profile,
		Conversation: p.ClientFlow,
		Client:       p.Client,
		Title:        p.Title,
		Fit:          p.Compatibility,
		Untried:      p.Untried,
		Why:          p.Reason,
		Limits:       p.Limits,
		Doubt:        p.Doubt,
	}
	for i, b := range p.Breaks {
		broken := BrokenStep{Check: b.Check, Action: b.Action, Why: b.Why, Fix: b.Fix, Finding: finding(b.Finding)}
		broken.Finding.Outcome = conformance.Fail
		entry.Breaks = append(entry.Breaks, broken)
		if i == 0 {
			entry.Step, entry.Action, entry.Why, entry.Fix, entry.Finding = b.Check, b.Action, b.Why, b.Fix, &broken.Finding
		}
	}
	return entry
}

func cause(c causes.Cause) Cause {
	out := Cause{
		ID:       c.ID,
		Headline: c.Headline,
		Rule:     c.Rule,
		Level:    c.Level,
		Outcome:  c.Outcome,
		Checks:   append([]string{}, c.Checks...),
		Blocked:  c.Blocked,
		Findings: c.Findings,
		Fails:    c.Fails,
		Why:      c.Why,
		Fix:      c.Fix,
		Clients:  c.Clients,
	}
	if c.Exchange != nil {
		run := commandsOf(c)
		out.First, out.After, out.Curl, out.Last = run.creates, run.after, run.shown, run.removes
	}
	return out
}

func finding(f conformance.Finding) Finding {
	out := Finding{Outcome: f.Outcome, What: f.What, Want: f.Want, Got: f.Got, Unsteady: f.Unsteady}
	if w := f.Waiver; w != nil {
		out.Waiver = &Waiver{Reason: w.Reason, Ticket: w.Ticket, Owner: w.Owner}
		if !w.Expires.IsZero() {
			out.Waiver.Expires = w.Expires.Format(time.DateOnly)
		}
	}
	if e := f.Exchange; e != nil {
		out.Curl = wirelog.Curl(*e)
		out.Exchange = exchange(*e)
	}
	if e := f.Write; e != nil {
		out.After = wirelog.Curl(*e)
	}
	return out
}

func exchange(e wirelog.Exchange) *Exchange {
	return &Exchange{
		Method: e.Method, URL: e.URL, RequestHeaders: e.RequestHeader, RequestBody: e.RequestBody, Status: e.Status,
		ResponseHeaders: e.ResponseHeader, ResponseBody: e.ResponseBody, DurationMs: e.Duration.Milliseconds(), Error: e.Err,
	}
}

// StatusLine returns the first line of the response, or the reason why there is none.
func (e Exchange) StatusLine() string {
	if e.Status == 0 {
		return "no response: " + e.Error
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
}
