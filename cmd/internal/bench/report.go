package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A Report is the result of a run. Its JSON form is the file of the flag --json.
type Report struct {
	Marker      string          `json:"marker"` // the start of the names of all created objects
	Users       int             `json:"users"`
	Members     int             `json:"groupMembers"`
	Clients     int             `json:"clients"`
	Duration    float64         `json:"secondsPerRow"`
	Interrupted bool            `json:"interrupted"`
	Targets     []TargetSummary `json:"targets"`
	Rows        []Row           `json:"rows"`
}

// A TargetSummary describes a target and what happened there.
type TargetSummary struct {
	Name     string  `json:"name"` // A or B
	URL      string  `json:"url"`
	PID      int     `json:"pid,omitempty"`
	Resident int64   `json:"residentBytes,omitempty"` // after the load
	Peak     int64   `json:"peakBytes,omitempty"`     // since the start of the process
	Cleanup  Cleanup `json:"cleanup"`
}

// A Cleanup is the result of removing the created objects of a target.
type Cleanup struct {
	Created   int    `json:"created"`
	Removed   int    `json:"removed"`
	NotFound  int    `json:"notFound,omitempty"` // creates that had no usable response, and whose object a search by name did not find
	Remaining []Left `json:"remaining,omitempty"`
}

// A Left is an object that remains on a target. Path is relative to the base URL, and empty if the id is unknown.
type Left struct {
	Path   string `json:"path,omitempty"`
	Name   string `json:"name"` // userName or displayName
	Reason string `json:"reason"`
}

// A Row has the results of one kind of request.
type Row struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Results []Result `json:"results"`
	Ratio   float64  `json:"ratio,omitempty"` // requests per second of A to those of B: the median of the pairs of turns
	Pairs   int      `json:"pairs,omitempty"`

	ratios []float64
}

// A Result has the numbers of one target in a row. Times are in milliseconds.
type Result struct {
	Target      string  `json:"target"`
	NotMeasured string  `json:"notMeasured,omitempty"` // the reason, if the row has no numbers
	Note        string  `json:"note,omitempty"`        // a circumstance that limits what the numbers show
	Requests    int     `json:"requests"`              // including the ones with errors
	Errors      int     `json:"errors"`
	FirstError  string  `json:"firstError,omitempty"`
	PerSecond   float64 `json:"perSecond"`               // successful requests
	P50         float64 `json:"p50"`                     // of successful requests
	P99         float64 `json:"p99"`                     // the same
	CPU         float64 `json:"cpuPerRequest,omitempty"` // processor time of the server
}

func newReport(o Options, marker string) *Report {
	r := &Report{Marker: marker, Users: o.Users, Members: o.members(), Clients: o.Clients, Duration: o.Duration.Seconds()}
	for i, t := range o.Targets {
		r.Targets = append(r.Targets, TargetSummary{Name: letter(i), URL: strings.TrimRight(t.URL, "/"), PID: t.PID})
	}
	return r
}

// Err returns an error if the run was interrupted, if objects remain, or if a target has no numbers at all.
func (r *Report) Err() error {
	var all []error
	if r.Interrupted {
		all = append(all, errors.New("the run was interrupted"))
	}
	for i, t := range r.Targets {
		if n := len(t.Cleanup.Remaining); n > 0 {
			all = append(all, fmt.Errorf("%s not removed from %s: the userName or displayName of each starts with %s",
				plural(n, "object"), t.URL, r.Marker))
		}
		if measured := r.measured(i); !measured && !r.Interrupted {
			all = append(all, fmt.Errorf("%s could not be measured", t.URL))
		}
	}
	return errors.Join(all...)
}

// measured reports whether at least one row has numbers of the target.
func (r *Report) measured(target int) bool {
	for _, row := range r.Rows {
		if row.Results[target].NotMeasured == "" {
			return true
		}
	}
	return false
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

const (
	width       = 100 // the maximum number of columns of a line, except for URLs and names of objects
	titleWidth  = 33  // the number of columns of the title of a row and the name of the target together
	maxLeftover = 5   // the number of remaining objects in the text
)

// Text returns the report as text.
func (r *Report) Text() string {
	var b strings.Builder
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "%s  %s\n", t.Name, t.URL)
		if t.PID != 0 {
			fmt.Fprintf(&b, "   process %d: %s resident after the load, %s at most\n", t.PID, megabytes(t.Resident), megabytes(t.Peak))
		}
	}
	fmt.Fprintf(&b, "%s users, %s, %s per row and server, in turns. Names of created objects start with\n%s.\n\n",
		grouped(r.Users), plural(r.Clients, "client"), time.Duration(r.Duration*float64(time.Second)), r.Marker)
	r.writeTable(&b)
	b.WriteString("\n")
	if len(r.Targets) == 2 {
		b.WriteString("A/B is the median ratio of requests per second in pairs of turns: above 1, A is faster.\n")
	}
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "%s: removed %s of %s created objects.\n", t.Name, grouped(t.Cleanup.Removed), grouped(t.Cleanup.Created))
		if n := t.Cleanup.NotFound; n > 0 {
			fmt.Fprintf(&b, "   %s got no usable response, and a search by name found no created object\n", plural(n, "create"))
		}
		for i, l := range t.Cleanup.Remaining {
			if i == maxLeftover {
				fmt.Fprintf(&b, "   and %s more\n", grouped(len(t.Cleanup.Remaining)-maxLeftover))
				break
			}
			fmt.Fprintf(&b, "   %s\n", strings.TrimSpace(l.Path+" "+l.Name))
			paragraph(&b, "", 5, l.Reason)
		}
	}
	return b.String()
}

func (r *Report) writeTable(b *strings.Builder) {
	cpu, ratio := false, len(r.Targets) == 2
	for _, t := range r.Targets {
		cpu = cpu || t.PID != 0
	}
	head := fmt.Sprintf("%-*s%10s%12s%12s%8s", titleWidth, "", "req/s", "p50", "p99", "errors")
	if cpu {
		head += fmt.Sprintf("%12s", "CPU/req")
	}
	if ratio {
		head += fmt.Sprintf("%8s", "A/B")
	}
	fmt.Fprintf(b, "%s\n", head)
	for _, row := range r.Rows {
		for i, result := range row.Results {
			title := row.Title
			if i > 0 {
				title = ""
			}
			label := fmt.Sprintf("%-*s%s ", titleWidth-2, title, result.Target)
			if result.NotMeasured != "" {
				paragraph(b, label, titleWidth+2, "not measured: "+result.NotMeasured)
				continue
			}
			line := label + fmt.Sprintf("%10s%12s%12s%8s", rate(result.PerSecond), duration(result.P50), duration(result.P99),
				grouped(result.Errors))
			if cpu {
				used := "-"
				if r.Targets[i].PID != 0 {
					used = duration(result.CPU)
				}
				line += fmt.Sprintf("%12s", used)
			}
			if ratio && i == 0 && row.Pairs > 0 {
				line += fmt.Sprintf("%8s", strconv.FormatFloat(row.Ratio, 'f', 2, 64))
			}
			fmt.Fprintf(b, "%s\n", strings.TrimRight(line, " "))
			for _, remark := range []string{firstError(result), result.Note} {
				if remark != "" {
					paragraph(b, strings.Repeat(" ", titleWidth), titleWidth+2, remark)
				}
			}
		}
	}
}

func firstError(r Result) string {
	if r.FirstError == "" {
		return ""
	}
	return "first error: " + r.FirstError
}

// paragraph writes a text after a label, with lines of at most width columns. Further lines are indented.
func paragraph(b *strings.Builder, label string, indent int, text string) {
	line := label + strings.Repeat(" ", max(indent-len(label), 0))
	column := len(line)
	b.WriteString(line)
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteString("\n")
}

// rate returns a number per second with three digits at least.
func rate(perSecond float64) string {
	if perSecond < 100 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return grouped(int(perSecond + 0.5))
}

// duration returns milliseconds with two to four digits.
func duration(ms float64) string {
	digits := 2
	if ms >= 10 {
		digits = 1
	}
	if ms >= 1000 {
		digits = 0
	}
	return strconv.FormatFloat(ms, 'f', digits, 64) + " ms"
}

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 0, 64) + " MB" }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped returns a number with commas between groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
