package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
)

// TextOptions configure the text report. The zero value works.
type TextOptions struct {
	// Color marks outcomes with ANSI colors. Default: plain text.
	Color bool
	// All adds every finding in detail, the summary by area, and all causes in full. Default: at most 60 lines.
	All bool
	// Skipped lists every skipped check with its reason. Default: only their number.
	Skipped bool
	// Cleanup returns the command line that removes the objects of a journal. Default: the report contains only the path of the journal.
	Cleanup func(journal string) string
}

// Text writes the report as text: the verdict per client, the causes of the findings, the most consequential first, a summary by level and
// the verdict. Without opts.All it takes at most 60 lines of a terminal with 100 columns, unless opts.Skipped is set.
func Text(w io.Writer, r *conformance.Result, opts TextOptions) error {
	found := slices.DeleteFunc(causesOf(r), func(c causes.Cause) bool { return shownAsBlock(r, c.Checks, c.Blocked) })
	// The first cause in full, and the headlines of some others.
	wanted, whole := minCauses, 0
	if len(found) > 0 {
		first := &printer{}
		first.cause(1, found[0], false)
		whole = max(0, first.lines()+2-wanted)
	}
	if len(found) > 1 {
		wanted += min(len(found)+2, wantedHeadlines)
	}
	var head, tail *printer
	for brief := plain; brief <= fewClients; brief++ {
		head, tail = textHead(r, opts, brief), textTail(r, found, opts, brief)
		if brief == shortBlocks {
			whole = 0 // a change in full is more important than a long first cause in full
		}
		if opts.All || head.lines()+tail.lines()+wanted+whole <= maxLines {
			break
		}
	}
	middle := &printer{color: opts.Color}
	room := unlimited
	if !opts.All {
		room = maxLines - head.lines() - tail.lines()
	}
	middle.causes(found, room)
	if opts.All && len(r.Checks) > 0 {
		middle.details(r)
	}
	for _, p := range []*printer{head, middle, tail} {
		if _, err := io.WriteString(w, p.b.String()); err != nil {
			return err
		}
	}
	return nil
}

// brevity says what a text report omits so that it fits its number of lines. Each value omits what the one before omits, and more.
type brevity int

const (
	plain         brevity = iota
	withoutLimits         // the limits of clients that break, and the names of those clients at the end
	shortBlocks           // curl commands and check ids of blocks, and all but the first block in full
	fewChanges            // all but the first change in full, and notes beyond two lines
	briefest              // all changes in full
	fewClients            // all limits, all but the first clients, and changes and notes beyond one line and a few
)

// wantedHeadlines is the number of lines for the headlines of causes and their summary, for which a report omits other parts.
const wantedHeadlines = 12

// shortNote is the maximum number of characters of a note with the brevity fewChanges: two lines.
const shortNote = 2*width - 20

// textHead writes what the report says before the causes.
func textHead(r *conformance.Result, opts TextOptions, brief brevity) *printer {
	head := &printer{color: opts.Color, brief: brief}
	head.line("SCIM conformance of %s", visible(r.Target))
	if r.Observed() {
		head.line("observed exchanges: %d, checks: %d, time: %s", r.Requests, len(r.Checks), r.Duration.Round(time.Millisecond))
	} else {
		head.line("run %s, seed: %d, checks: %d, requests: %d, time: %s", r.Run, r.Seed, len(r.Checks), r.Requests,
			r.Duration.Round(time.Millisecond))
	}
	for _, line := range r.Steadiness.Sentences() {
		head.wrapped("unsteady: ", line)
	}
	head.line("")
	head.clients(r, opts.All)
	head.blocks(r)
	return head
}

// textTail writes what the report says after the causes.
func textTail(r *conformance.Result, found []causes.Cause, opts TextOptions, brief brevity) *printer {
	tail := &printer{color: opts.Color, brief: brief}
	if len(r.Checks) > 0 && !opts.All {
		tail.levels(r)
	}
	tail.unfinished(r, opts)
	tail.leftovers(r, opts)
	if !opts.All {
		tail.waived(r)
	}
	for _, complaint := range r.Complaints {
		tail.wrapped("waivers: ", complaint)
	}
	for i, caution := range r.Cautions {
		if brief >= fewClients && i == maxNotes {
			tail.line("note: %d more; --all lists them", len(r.Cautions)-i)
			break
		}
		if brief >= fewChanges {
			caution = clipTo(visible(caution), shortNote)
		}
		tail.wrapped("note: ", caution)
	}
	if len(r.Leftovers)+len(r.Complaints)+len(r.Cautions) > 0 || waived(r) > 0 && !opts.All {
		tail.line("")
	}
	tail.verdict(r, found)
	return tail
}

// maxNotes is the greatest number of notes in a report with the brevity fewClients.
const maxNotes = 3

// maxLines is the greatest number of lines of a report on a terminal, without TextOptions.All.
const maxLines = 60

// maxUnfinished is the greatest number of checks with the outcome Error in a report without TextOptions.All.
const maxUnfinished = 3

// maxWaived is the greatest number of waived checks in a report without TextOptions.All.
const maxWaived = 5

// waived writes the checks whose findings are all waived, with the reasons.
func (p *printer) waived(r *conformance.Result) {
	n := 0
	for c := range r.All() {
		if !c.Waived() {
			continue
		}
		if n++; n > maxWaived {
			continue
		}
		for _, f := range c.Findings {
			if f.Waiver != nil {
				p.wrapped("waived    ", c.Check.ID+": "+waiverText(f.Waiver))
				break
			}
		}
	}
	if n > maxWaived {
		p.line("waived    %d more; --all lists them", n-maxWaived)
	}
}

// unfinished writes the checks that ended with an error and, with TextOptions.Skipped, the skipped ones.
func (p *printer) unfinished(r *conformance.Result, opts TextOptions) {
	errors := 0
	for c := range r.All() {
		if c.Outcome == conformance.Error {
			if errors++; errors > maxUnfinished && !opts.All {
				continue
			}
		}
		if c.Outcome == conformance.Error || opts.Skipped && c.Outcome == conformance.Skip {
			p.line("%s %s", p.paint(c.Outcome), c.Check.ID)
			p.wrapped("  ", c.Reason)
			p.line("")
		}
	}
	if errors > maxUnfinished && !opts.All {
		p.line("%d more checks ended with an error; --all lists them.", errors-maxUnfinished)
		p.line("")
	}
}

// width is the column at which running text is broken.
const width = 100

type printer struct {
	b     strings.Builder
	color bool
	brief brevity
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// ansiCode is a code that changes the color.
var ansiCode = regexp.MustCompile("\x1b\\[[0-9]*m")

// lines returns the number of lines that the text takes on a terminal.
func (p *printer) lines() int {
	n := 0
	for line := range strings.Lines(p.b.String()) {
		columns := utf8.RuneCountInString(ansiCode.ReplaceAllString(strings.TrimRight(line, "\n"), ""))
		n += max(1, (columns+width-1)/width)
	}
	return n
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
		p.command("Remove the leftovers with: ", opts.Cleanup(r.Journal))
	}
}

// infoText returns the number of checks that only inform, as text.
func infoText(r *conformance.Result) string {
	if n := r.Count(conformance.Info); n > 0 {
		return fmt.Sprintf(", info: %d", n)
	}
	return ""
}

func (p *printer) verdict(r *conformance.Result, found []causes.Cause) {
	switch r.Verdict {
	case conformance.Clean:
		p.line("Verdict: clean. Passed: %d%s, skipped: %d%s.", r.Count(conformance.Pass), infoText(r), r.Count(conformance.Skip),
			waivedText(r))
	case conformance.Findings:
		p.line("Verdict: findings. Failed: %d, warned: %d, passed: %d%s%s.", r.Count(conformance.Fail), r.Count(conformance.Warn),
			r.Count(conformance.Pass), infoText(r), waivedText(r))
		if r.Reason != "" {
			p.wrapped("", sentence(r.Reason))
		}
		if broken := brokenClients(r); len(broken) > 0 && p.brief < withoutLimits {
			p.wrapped("Clients that break: ", strings.Join(broken, ", ")+".")
		}
		switch c := telling(r, found); {
		case c.ID == "":
		case r.Observed():
			p.wrapped("Next: ", fmt.Sprintf("explain %s describes the first cause.", c.ID))
		case len(c.Requirements) == 0: // a step of a client flow, which always runs as a whole
			p.wrapped("Next: ", fmt.Sprintf("explain %s describes the first cause; run with --profile %s repeats the client flow.", c.ID,
				c.Area()))
		default:
			p.wrapped("Next: ", fmt.Sprintf("explain %s describes the first cause; run with --only %s repeats it alone.", c.ID, c.ID))
		}
	default:
		p.wrapped("Verdict: could not test. ", sentence(cmp.Or(r.Reason, "the result has no verdict")))
	}
}

// sentence returns a reason, which has at least one character, with a capital letter and a full stop.
func sentence(reason string) string { return strings.ToUpper(reason[:1]) + reason[1:] + "." }

// telling returns the telling check of the first cause that has one, the zero value if there is none.
func telling(r *conformance.Result, found []causes.Cause) conformance.Check {
	for _, cause := range found {
		for c := range r.All() {
			if c.Check.ID == cause.ID {
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
	for c := range r.All() {
		if c.Waived() {
			n++
		}
	}
	return n
}
