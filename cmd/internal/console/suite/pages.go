package suite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/look"
)

// RunPage shows a run: its progress, or its report.
type RunPage struct {
	Run     Run
	Active  *Progress // nil when the run has ended
	Took    time.Duration
	May     bool
	Command string

	HasReport bool
	Document  report.Document
	Checks    []report.Check
	Matching  int // checks
	Total     int
	Outcomes  []conformance.Outcome
	Areas     []string
	Filter    filter
	Next      template.URL
	Others    []Run // other runs with a report, for a comparison
}

// filter selects checks.
type filter struct{ Outcome, Area, Query string }

// shownFindings is the value of the filter for all outcomes with a finding.
const shownFindings = "findings"

// checksPage is the maximum number of checks on a page.
const checksPage = 100

// found returns a run. It has sent a response if ok is false.
func (s *Section) found(w http.ResponseWriter, r *http.Request, v *console.Visit, id string) (run Run, ok bool) {
	run, err := s.runner.o.Store.Get(r.Context(), id)
	switch {
	case errors.Is(err, ErrNone):
		s.frame.Fail(w, r, v, http.StatusNotFound, "This run does not exist, or is no longer stored.",
			"Go to the list of runs. The console stores the last "+strconv.Itoa(Max)+" runs.")
	case err != nil:
		s.frame.Problem(w, r, v, err)
	default:
		return run, true
	}
	return run, false
}

// document returns the report of a run. It has sent a response if ok is false.
func (s *Section) document(w http.ResponseWriter, r *http.Request, v *console.Visit, id string) (d report.Document, ok bool) {
	d, err := s.recent.get(r.Context(), id, s.runner.o.Store.Report)
	return d, s.read(w, r, v, err)
}

// outline returns the checks of a run without their findings. It has sent a response if ok is false.
func (s *Section) outline(w http.ResponseWriter, r *http.Request, v *console.Visit, id string) (d report.Document, ok bool) {
	d, err := s.runner.o.Store.Outline(r.Context(), id)
	return d, s.read(w, r, v, err)
}

// read sends a response for the error of a report, and reports whether there was none.
func (s *Section) read(w http.ResponseWriter, r *http.Request, v *console.Visit, err error) bool {
	switch {
	case errors.Is(err, ErrNone):
		s.frame.Fail(w, r, v, http.StatusNotFound, "This run has no report.", "Go to the list of runs, and choose another run.")
	case err != nil:
		s.frame.Problem(w, r, v, err)
	default:
		return true
	}
	return false
}

// recent caches the last report, because an operator opens several pages of one report, and each of them would parse it.
type recent struct {
	mu  sync.Mutex
	id  string
	doc report.Document
	end *time.Timer
}

// recentTime is the time after the last use for which a report is cached.
const recentTime = time.Minute

// get returns a report from the cache, or reads and caches it. The report of a run does not change.
func (c *recent) get(
	ctx context.Context, id string, read func(ctx context.Context, id string) (report.Document, error),
) (report.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == id {
		c.end.Reset(recentTime)
		return c.doc, nil
	}
	d, err := read(ctx, id)
	if err != nil {
		return d, err
	}
	if c.end == nil {
		c.end = time.AfterFunc(recentTime, c.drop)
	}
	c.id, c.doc = id, d
	c.end.Reset(recentTime)
	return d, nil
}

func (c *recent) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.doc = "", report.Document{}
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	run, ok := s.found(w, r, v, r.PathValue("run"))
	if !ok {
		return
	}
	p := RunPage{Run: run, Command: command(run), May: v.Caller().May(engine.AccessWrite), Took: run.Ended.Sub(run.Started)}
	if active, ok := s.runner.Progress(); ok && active.ID == run.ID {
		p.Active, p.Took = &active, s.runner.o.Now().Sub(run.Started)
	}
	d, err := s.runner.o.Store.Report(r.Context(), run.ID)
	if err != nil && !errors.Is(err, ErrNone) {
		s.frame.Problem(w, r, v, err)
		return
	}
	if err == nil {
		p.HasReport = true
		p.fill(d, r.URL.Query())
		all, err := s.runner.o.Store.List(r.Context())
		if err != nil {
			s.frame.Problem(w, r, v, err)
			return
		}
		p.Others = slices.DeleteFunc(all, func(o Run) bool { return o.ID == run.ID || o.State != Done && o.State != Canceled })
		slices.SortStableFunc(p.Others, func(a, b Run) int { // runs of the same target first
			return cmp.Compare(strings.Compare(a.Target, run.Target)&1, strings.Compare(b.Target, run.Target)&1)
		})
	}
	s.frame.Write(w, r, v, "conformancerun", "Conformance of "+run.Target, p)
}

// fill selects the checks of a report that the page shows.
func (p *RunPage) fill(d report.Document, q url.Values) {
	p.Document, p.Outcomes, p.Total = d, conformance.Outcomes(), len(d.Checks)
	p.Filter = filter{Outcome: cmp.Or(q.Get("outcome"), shownFindings), Area: q.Get("area"), Query: strings.TrimSpace(q.Get("q"))}
	for _, c := range d.Checks {
		if !slices.Contains(p.Areas, c.Area) {
			p.Areas = append(p.Areas, c.Area)
		}
	}
	slices.Sort(p.Areas)
	all := slices.Clone(d.Checks)
	all = slices.DeleteFunc(all, func(c report.Check) bool { return !p.Filter.matches(c) })
	slices.SortStableFunc(all, func(a, b report.Check) int {
		return cmp.Compare(slices.Index(p.Outcomes, a.Outcome), slices.Index(p.Outcomes, b.Outcome))
	})
	p.Matching = len(all)
	from, _ := strconv.Atoi(q.Get("from"))
	from = min(max(from, 0), len(all))
	to := min(from+checksPage, len(all))
	p.Checks = all[from:to]
	if to < len(all) {
		p.Next = console.Query("outcome", p.Filter.Outcome, "area", p.Filter.Area, "q", p.Filter.Query, "from", strconv.Itoa(to))
	}
}

func (f filter) matches(c report.Check) bool {
	switch f.Outcome {
	case "any":
	case shownFindings:
		if c.Outcome != conformance.Fail && c.Outcome != conformance.Error && c.Outcome != conformance.Warn {
			return false
		}
	default:
		if string(c.Outcome) != f.Outcome {
			return false
		}
	}
	if f.Area != "" && c.Area != f.Area {
		return false
	}
	text := strings.ToLower(c.ID + " " + c.Title + " " + c.Reason)
	for _, found := range c.Findings {
		text += " " + strings.ToLower(found.What+" "+found.Got)
	}
	for word := range strings.FieldsSeq(strings.ToLower(f.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// CheckPage shows a check of a run with its findings.
type CheckPage struct {
	Run      Run
	Check    report.Check
	Findings []look.Finding
}

func (s *Section) check(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	run, ok := s.found(w, r, v, r.PathValue("run"))
	if !ok {
		return
	}
	d, ok := s.document(w, r, v, run.ID)
	if !ok {
		return
	}
	i := slices.IndexFunc(d.Checks, func(c report.Check) bool { return c.ID == r.PathValue("check") })
	if i < 0 {
		s.frame.Fail(w, r, v, http.StatusNotFound, "This run has no such check.", "Go to the report of the run, and search for the check there.")
		return
	}
	p := CheckPage{Run: run, Check: d.Checks[i]}
	for _, f := range d.Checks[i].Findings {
		p.Findings = append(p.Findings, findingOf(f))
	}
	s.frame.Write(w, r, v, "conformancecheck", d.Checks[i].ID+" at "+run.Target, p)
}

// findingOf returns a finding of a report as a page shows it.
func findingOf(f report.Finding) look.Finding {
	out := look.Finding{Tone: look.Tone(f.Outcome), What: f.What, Want: f.Want, Got: f.Got}
	if f.Unsteady {
		out.Note = "unsteady: the finding did not occur again in the repeated check"
	}
	if f.Waiver != nil {
		out.Waived = f.Waiver.Reason
	}
	if e := f.Exchange; e != nil {
		out.Exchange = &look.Exchange{
			Request:  look.NewMessage(e.Method+" "+e.URL, e.RequestHeaders, e.RequestBody),
			Response: look.NewMessage(e.StatusLine(), e.ResponseHeaders, e.ResponseBody),
			Curl:     f.Commands(),
		}
	}
	return out
}

// ComparePage compares two runs.
type ComparePage struct {
	Before, After Run
	Groups        []group
}

// group are changes of one kind.
type group struct {
	Title, What, Tone string
	Changes           []report.Change
}

func (s *Section) compare(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	before, ok := s.found(w, r, v, r.URL.Query().Get("before"))
	if !ok {
		return
	}
	after, ok := s.found(w, r, v, r.URL.Query().Get("after"))
	if !ok {
		return
	}
	if after.Started.Before(before.Started) {
		before, after = after, before
	}
	earlier, ok := s.outline(w, r, v, before.ID)
	if !ok {
		return
	}
	later, ok := s.outline(w, r, v, after.ID)
	if !ok {
		return
	}
	d := report.Compare(earlier, later)
	s.frame.Write(w, r, v, "conformancecompare", "Comparison of two runs", ComparePage{
		Before: before, After: after,
		Groups: []group{
			{"New", "findings of the later run only", "bad", d.New},
			{"Gone", "checks that pass in the later run", "good", d.Fixed},
			{"Not observed", "checks that the later run did not complete", "quiet", d.Unobserved},
			{"Same", "findings of both runs", "warn", d.Still},
		},
	})
}

func (s *Section) download(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	run, ok := s.found(w, r, v, r.PathValue("run"))
	if !ok {
		return
	}
	data, err := s.runner.o.Store.JSON(r.Context(), run.ID)
	if errors.Is(err, ErrNone) {
		s.frame.Fail(w, r, v, http.StatusNotFound, "This run has no report.", "Go to the list of runs, and choose another run.")
		return
	}
	if err != nil {
		s.frame.Problem(w, r, v, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="scim-conformance-`+run.ID+`.json"`)
	_, _ = bytes.NewReader(data).WriteTo(w)
}
