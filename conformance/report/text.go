package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// TextOptions configure the text report. The zero value works.
type TextOptions struct {
	// Color marks outcomes with ANSI colors. Default: plain text.
	Color bool
	// Skipped lists every skipped check with its reason. Default: only their number.
	Skipped bool
	// Cleanup returns the command line that removes the objects of a journal. Default: the report contains only the path of the journal.
	Cleanup func(journal string) string
}

// Text writes the report as text: the verdict, a summary by area and by level, and every finding with its clause, the expected and the
// actual value, a curl command that shows it, and how to fix it.
func Text(w io.Writer, r *conformance.Result, opts TextOptions) error {
	p := &printer{w: bufio.NewWriter(w), color: opts.Color}
	p.line("SCIM conformance of %s", r.Target)
	if r.Observed() {
		p.line("observed exchanges: %d, checks: %d, time: %s", r.Requests, len(r.Checks), r.Duration.Round(time.Millisecond))
	} else {
		p.line("run %s, seed: %d, checks: %d, requests: %d, time: %s", r.Run, r.Seed, len(r.Checks), r.Requests,
			r.Duration.Round(time.Millisecond))
	}
	p.line("")
	if len(r.Checks) > 0 {
		p.summary(r)
	}
	p.blocks(r)
	for _, outcome := range []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Info} {
		for _, c := range r.Checks {
			p.findings(c, outcome)
		}
	}
	for _, c := range r.Checks {
		if c.Outcome == conformance.Error || opts.Skipped && c.Outcome == conformance.Skip {
			p.line("%s %s", p.paint(c.Outcome), c.Check.ID)
			p.wrapped("  ", c.Reason)
			p.line("")
		}
	}
	p.profiles(r)
	p.leftovers(r, opts)
	for _, complaint := range r.Complaints {
		p.wrapped("waivers: ", complaint)
	}
	for _, caution := range r.Cautions {
		p.wrapped("note: ", caution)
	}
	if len(r.Leftovers)+len(r.Complaints)+len(r.Cautions) > 0 {
		p.line("")
	}
	p.verdict(r)
	return p.w.Flush()
}

// width is the column at which running text is broken.
const width = 110

type printer struct {
	w     *bufio.Writer
	color bool
}

// bufio stores write errors and returns them from Flush.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// visible replaces control characters, with which a target could overwrite text on a terminal, by spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// wrapped writes text after a prefix; further lines are indented.
func (p *printer) wrapped(prefix, text string) {
	indent := strings.Repeat(" ", len([]rune(prefix)))
	line, column := prefix, len([]rune(prefix))
	for i, word := range strings.Fields(visible(text)) {
		n := len([]rune(word))
		switch {
		case i == 0:
			line, column = line+word, column+n
		case column+1+n > width:
			p.line("%s", line)
			line, column = indent+word, len(indent)+n
		default:
			line, column = line+" "+word, column+1+n
		}
	}
	p.line("%s", line)
}

var ansi = map[conformance.Outcome]string{
	conformance.Pass: "\x1b[32m", conformance.Fail: "\x1b[31m", conformance.Error: "\x1b[31m", conformance.Warn: "\x1b[33m",
	conformance.Info: "\x1b[36m", conformance.Skip: "\x1b[2m",
}

// paint returns the name of an outcome, padded to five columns.
func (p *printer) paint(o conformance.Outcome) string {
	word := fmt.Sprintf("%-5s", strings.ToUpper(string(o)))
	if p.color {
		return ansi[o] + word + "\x1b[0m"
	}
	return word
}

func (p *printer) summary(r *conformance.Result) {
	heads := []conformance.Outcome{conformance.Pass, conformance.Fail, conformance.Warn, conformance.Info, conformance.Skip, conformance.Error}
	table := func(title string, rows []string, of func(conformance.CheckResult) string) {
		head := fmt.Sprintf("%-16s", title)
		for _, o := range heads {
			head += fmt.Sprintf("%6s", o)
		}
		p.line("%s", head)
		for _, row := range rows {
			counts := map[conformance.Outcome]int{}
			for _, c := range r.Checks {
				if of(c) == row {
					counts[c.Outcome]++
				}
			}
			if len(counts) == 0 {
				continue
			}
			line := fmt.Sprintf("%-16s", row)
			for _, o := range heads {
				cell := "."
				if counts[o] > 0 {
					cell = fmt.Sprint(counts[o])
				}
				line += fmt.Sprintf("%6s", cell)
			}
			p.line("%s", line)
		}
		p.line("")
	}
	table("area", areas(r.Checks), func(c conformance.CheckResult) string { return c.Check.Area() })
	var levels []string
	for _, l := range conformance.Levels() {
		levels = append(levels, string(l))
	}
	table("level", levels, func(c conformance.CheckResult) string { return string(c.Check.Level) })
}

// findings writes the findings of one check with one outcome, then once the clause and the fix of the check.
func (p *printer) findings(c conformance.CheckResult, outcome conformance.Outcome) {
	headed := false
	var shown *wirelog.Exchange
	for _, f := range c.Findings {
		if f.Outcome != outcome {
			continue
		}
		if !headed {
			headed = true
			p.wrapped(p.paint(outcome)+" ", c.Check.ID+": "+c.Check.Title)
			if cited := clauses(c.Check); len(cited) > 0 {
				p.wrapped("  clause    ", cited[0].Section+", "+string(cited[0].Level)+" ("+cited[0].ID+"): "+cited[0].Text)
			}
		}
		p.wrapped("  checked   ", f.What)
		p.wrapped("  expected  ", f.Want)
		p.wrapped("  got       ", f.Got)
		if f.Waiver != nil {
			p.wrapped("  waived    ", waiverText(f.Waiver))
		}
		switch f.Exchange {
		case nil:
		case shown:
			p.line("  shown by  the same request")
		default:
			shown = f.Exchange
			p.line("  shown by  %s", wirelog.Curl(*f.Exchange))
		}
	}
	if headed {
		if c.Check.Why != "" {
			p.wrapped("  why       ", c.Check.Why)
		}
		if clients := Clients(c.Check); len(clients) > 0 {
			p.wrapped("  affects   ", strings.Join(clients, ", "))
		}
		p.wrapped("  fix       ", c.Check.Fix)
		p.line("")
	}
}

// waiverText returns one line about a waiver.
func waiverText(w *conformance.Waiver) string {
	text := w.Reason
	if w.Ticket != "" {
		text += " (" + w.Ticket + ")"
	}
	if !w.Expires.IsZero() {
		text += ", until " + w.Expires.Format(time.DateOnly)
	}
	return text
}

// profiles writes the verdicts on the client flows.
func (p *printer) profiles(r *conformance.Result) {
	for _, f := range r.Profiles {
		p.wrapped(fmt.Sprintf("%s, %s: ", f.Client, f.Title), string(f.Compatibility))
		if f.Action != "" {
			p.wrapped("  first failing step: ", f.Action+" ("+f.Step+")")
		}
		for _, detail := range []struct{ head, text string }{{"  why       ", f.Why}, {"  fix       ", f.Fix}, {"  doubt     ", f.Doubt}} {
			if detail.text != "" {
				p.wrapped(detail.head, detail.text)
			}
		}
		for _, limit := range f.Limits {
			p.wrapped("  limit     ", limit)
		}
	}
	if len(r.Profiles) > 0 {
		p.line("")
	}
}

// maxLeftovers is the maximum number of leftovers in the report; the JSON report and the journal contain all.
const maxLeftovers = 10

func (p *printer) leftovers(r *conformance.Result, opts TextOptions) {
	for i, l := range r.Leftovers {
		if i == maxLeftovers {
			p.line("leftover: %d more", len(r.Leftovers)-i)
			break
		}
		p.wrapped("leftover: ", fmt.Sprintf("%s (%s): %s", l.Path, l.Name, l.Reason))
	}
	switch {
	case r.Journal == "":
	case opts.Cleanup == nil:
		p.line("Journal of the leftovers: %s", r.Journal)
	default:
		// The line is not wrapped, so that it can be copied.
		p.line("Remove the leftovers with: %s", opts.Cleanup(r.Journal))
	}
}

func (p *printer) verdict(r *conformance.Result) {
	switch r.Verdict {
	case conformance.Clean:
		p.line("Verdict: clean. Passed: %d, skipped: %d%s.", r.Count(conformance.Pass)+r.Count(conformance.Info), r.Count(conformance.Skip),
			waivedText(r))
	case conformance.Findings:
		p.line("Verdict: findings. Failed: %d, warned: %d, passed: %d%s.", r.Count(conformance.Fail), r.Count(conformance.Warn),
			r.Count(conformance.Pass)+r.Count(conformance.Info), waivedText(r))
		if r.Reason != "" {
			p.wrapped("", strings.ToUpper(r.Reason[:1])+r.Reason[1:]+".")
		}
		switch c := first(r); {
		case c.ID == "":
		case r.Observed():
			p.line("Next: explain %s describes the first of them.", c.ID)
		case len(c.Requirements) == 0: // a step of a client flow, which always runs as a whole
			p.line("Next: explain %s describes the first of them; run with --profile %s repeats the client flow.", c.ID, c.Area())
		default:
			p.line("Next: explain %s describes the first of them; run with --only %s repeats it alone.", c.ID, c.ID)
		}
	default:
		p.wrapped("Verdict: could not test. ", strings.ToUpper(r.Reason[:1])+r.Reason[1:]+".")
	}
}

// first returns the check whose finding is printed first, the zero value if all findings are waived.
func first(r *conformance.Result) conformance.Check {
	for _, outcome := range []conformance.Outcome{conformance.Fail, conformance.Warn} {
		for _, c := range r.Checks {
			if c.Outcome == outcome && !c.Waived() {
				return c.Check
			}
		}
	}
	return conformance.Check{}
}

// waivedText returns the number of checks whose findings are all waived, as text.
func waivedText(r *conformance.Result) string {
	if n := waived(r); n > 0 {
		return fmt.Sprintf(", waived: %d", n)
	}
	return ""
}

func waived(r *conformance.Result) int {
	n := 0
	for _, c := range r.Checks {
		if c.Waived() {
			n++
		}
	}
	return n
}
