package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// details writes the tables by area and by level, and every finding with its clause, the expected and the actual value, a curl command that
// shows it, and the fix.
func (p *printer) details(r *conformance.Result) {
	p.table("area", areas(r.Checks), r, func(c conformance.CheckResult) string { return c.Check.Area() })
	p.levels(r)
	for _, outcome := range []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Info} {
		for _, c := range r.Checks {
			p.findings(r, c, outcome)
		}
	}
}

// levels writes the number of checks by level and outcome.
func (p *printer) levels(r *conformance.Result) {
	var levels []string
	for _, l := range conformance.Levels() {
		levels = append(levels, string(l))
	}
	p.table("level", levels, r, func(c conformance.CheckResult) string { return string(c.Check.Level) })
}

// table writes the number of checks by row and outcome. of returns the row of a check. Rows without checks are omitted.
func (p *printer) table(title string, rows []string, r *conformance.Result, of func(conformance.CheckResult) string) {
	heads := []conformance.Outcome{conformance.Pass, conformance.Fail, conformance.Warn, conformance.Info, conformance.Skip, conformance.Error}
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

// findings writes the findings of one check with one outcome, then once the clause and the fix of the check.
func (p *printer) findings(r *conformance.Result, c conformance.CheckResult, outcome conformance.Outcome) {
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
				p.wrapped("  clause    ", cited[0].Section+", "+cited[0].Strength()+" ("+cited[0].ID+"): "+cited[0].Text)
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
			p.line("  shown by  the request above")
		default:
			shown = f.Exchange
			if f.Write != nil {
				p.command("  after     ", wirelog.Curl(*f.Write))
			}
			p.command("  shown by  ", wirelog.Curl(*f.Exchange))
		}
	}
	if headed {
		if c.Check.Why != "" {
			p.wrapped("  why       ", c.Check.Why)
		}
		if clients := affected(r, Clients(c.Check)); len(clients) > 0 {
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
