package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/counted"
)

// maxMarkdown is the maximum number of findings in a summary; job pages truncate summaries of more than a megabyte.
const maxMarkdown = 100

// Markdown writes a summary for pull requests and job pages: the verdict, the causes, a table by area, the verdicts on clients, and the
// findings in collapsed sections. It does not contain the exchanges.
func Markdown(w io.Writer, r *conformance.Result, version string) error {
	d := document(r, version)
	b := bufio.NewWriter(w)
	p := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	p("## SCIM conformance: %s\n", verdictWords[d.Verdict])
	seed := ""
	if !r.Observed() {
		seed = fmt.Sprintf("seed %d, ", d.Seed)
	}
	p("Target %s, %s, %s, %s%s.", code(d.Target), counted.Of(len(r.Checks), "check"), counted.Of(d.Requests, "request"), seed,
		d.Started.Format("2006-01-02 15:04 MST"))
	if d.Reason != "" {
		p("\n> %s.", markdownText(d.Reason))
	}
	if d.Steadiness != nil {
		for _, line := range d.Steadiness.Summary {
			p("\n> **Unsteady:** %s.", markdownText(line))
		}
	}
	for _, c := range d.Complaints {
		p("\n> **Waivers:** %s.", markdownText(c))
	}
	markdownClients(p, r)
	markdownBlocks(p, d)
	markdownCauses(p, slices.DeleteFunc(d.Causes, func(c Cause) bool { return shownAsBlock(r, c.Checks, c.Blocked) }))
	if len(r.Checks) > 0 {
		markdownAreas(p, r)
	}
	markdownFindings(p, d)
	for _, c := range d.Cautions {
		p("\n- Note: %s.", markdownText(c))
	}
	for _, l := range d.Leftovers {
		p("\n- Leftover: %s: %s.", code(l.Path), markdownText(l.Reason))
	}
	return b.Flush()
}

var verdictWords = map[conformance.Verdict]string{conformance.Clean: "clean", conformance.Findings: "findings",
	conformance.Untested: "could not test"}

// markdownClients writes the verdict on each client flow, then what the clients that break require of the target.
func markdownClients(p func(string, ...any), r *conformance.Result) {
	if len(r.Profiles) == 0 {
		return
	}
	p("\n### Provisioning by client\n\n| Client | Set-up | Provisioning | Details |\n|---|---|---|---|")
	for _, f := range r.Profiles {
		details := []string{summaryOf(f), f.Reason}
		for _, limit := range f.Limits {
			details = append(details, "limit: "+limit)
		}
		details = slices.DeleteFunc(details, func(s string) bool { return s == "" })
		fit := markdownText(string(f.Compatibility))
		if f.Compatibility == conformance.Breaks {
			fit = "**" + fit + "**"
		}
		p("| %s | %s | %s | %s |", markdownText(f.Client), markdownText(f.Title), fit, markdownText(strings.Join(details, "; ")))
	}
	for i, c := range changes(r) {
		if i == 0 {
			p("\n### What to change for these clients\n")
		}
		mark := ""
		if c.Waived {
			mark = " (waived)"
		}
		var steps []string
		for _, id := range c.Steps[:min(len(c.Steps), maxMarkdownSteps)] {
			steps = append(steps, code(id))
		}
		if more := len(c.Steps) - maxMarkdownSteps; more > 0 {
			steps = append(steps, fmt.Sprintf("and %d more", more))
		}
		p("%d. **%s**%s %s", i+1, markdownText(c.Fix), mark, markdownText(c.Why))
		p("   - %s: %s", breaksText(c), markdownText(c.Action))
		p("   - Steps: %s", strings.Join(steps, ", "))
		p("   - %s: expected %s, got %s", markdownText(c.Finding.What), code(c.Finding.Want), code(c.Finding.Got))
	}
}

// maxMarkdownSteps is the maximum number of steps that a change lists in a summary.
const maxMarkdownSteps = 5

// maxMarkdownCauses is the maximum number of causes in a summary.
const maxMarkdownCauses = 50

func markdownCauses(p func(string, ...any), found []Cause) {
	if len(found) == 0 {
		return
	}
	p("\n### Causes\n")
	for i, c := range found[:min(len(found), maxMarkdownCauses)] {
		var counts []string
		if c.Findings > 0 {
			counts = append(counts, counted.Of(c.Findings, "finding"))
		}
		if fails := otherFails(c.Level, c.Fails); fails != "" {
			counts = append(counts, fails)
		}
		if len(c.Blocked) > 0 {
			counts = append(counts, counted.Of(len(c.Blocked), "check")+" without a result")
		}
		p("%d. **%s** %s (%s)", i+1, labels[c.Level], markdownText(c.Headline), strings.Join(counts, ", "))
		if c.Fix != "" {
			p("   - **Fix:** %s", markdownText(c.Fix))
		}
		if len(c.Clients) > 0 {
			p("   - **Affects:** %s", markdownText(strings.Join(c.Clients, ", ")))
		}
	}
	if more := len(found) - maxMarkdownCauses; more > 0 {
		p("\nAnd %d more; the JSON and HTML reports contain all of them.", more)
	}
}

func markdownAreas(p func(string, ...any), r *conformance.Result) {
	heads := []conformance.Outcome{conformance.Pass, conformance.Fail, conformance.Warn, conformance.Info, conformance.Skip, conformance.Error}
	head, rule := "\n| Area |", "|---|"
	for _, o := range heads {
		head += " " + string(o) + " |"
		rule += "--:|"
	}
	p("%s\n%s", head, rule)
	for _, area := range areas(r.Checks) {
		counts := map[conformance.Outcome]int{}
		for _, c := range r.Checks {
			if c.Check.Area() == area {
				counts[c.Outcome]++
			}
		}
		row := "| " + area + " |"
		for _, o := range heads {
			if counts[o] > 0 {
				row += fmt.Sprintf(" %d", counts[o])
			}
			row += " |"
		}
		p("%s", row)
	}
}

// markdownBlocks writes what kept many checks from their results.
func markdownBlocks(p func(string, ...any), d Document) {
	for _, b := range d.Blocks {
		if !b.large() {
			continue
		}
		p("\n<details><summary><b>BLOCK</b> %s have no result: %s</summary>\n", counted.Of(b.Number, "check"), markdownText(b.What))
		if e := b.Exchange; e != nil {
			p("%s\n", fence(b.Curl))
			p("Response: %s\n", code(fmt.Sprint(e.Status, " ", shortened(e.ResponseBody))))
		}
		p("Checks: %s\n\n</details>", code(strings.Join(b.Checks, ", ")))
	}
}

func markdownFindings(p func(string, ...any), d Document) {
	shown := 0
	for _, outcome := range []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error} {
		for _, c := range d.Checks {
			// The findings of client flows are omitted here: markdownClients writes them.
			if c.Outcome != outcome || c.Profile != "" && outcome != conformance.Error {
				continue
			}
			if shown++; shown > maxMarkdown {
				continue
			}
			mark := ""
			if c.Waived {
				mark = " (waived)"
			}
			p("\n<details><summary><b>%s</b>%s <code>%s</code> %s</summary>\n", strings.ToUpper(string(outcome)), mark, c.ID, markdownText(c.Title))
			if len(c.Clauses) > 0 {
				p("%s, **%s** (%s): %s\n", c.Clauses[0].Section, c.Clauses[0].Strength(), c.Clauses[0].ID, markdownText(c.Clauses[0].Text))
			}
			if c.Reason != "" {
				p("%s\n", markdownText(c.Reason))
			}
			for _, f := range c.Findings {
				p("- %s: expected %s, got %s", markdownText(f.What), code(f.Want), code(f.Got))
				if f.Unsteady {
					p("  - unsteady: the finding did not occur again in the repeated check")
				}
				if f.Waiver != nil {
					p("  - waived: %s %s", markdownText(f.Waiver.Reason), markdownText(f.Waiver.Ticket))
				}
			}
			if len(c.Findings) > 0 {
				if f := c.Findings[0]; f.Curl != "" {
					p("\n%s", fence(f.Commands()))
				}
				p("\n**Why:** %s\n", markdownText(c.Why))
				if len(c.Clients) > 0 {
					p("**Affects:** %s\n", markdownText(strings.Join(c.Clients, ", ")))
				}
				p("**Fix:** %s", markdownText(c.Fix))
			}
			p("\n</details>")
		}
	}
	if shown > maxMarkdown {
		p("\nAnd %d more; the JSON and HTML reports contain all of them.", shown-maxMarkdown)
	}
}

// markdownText escapes a text so that it is not interpreted as Markdown or HTML.
func markdownText(s string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]",
		"\\]", "|", "\\|",
		"#", "\\#", "\r", " ", "\n", " ", "@", "&#64;").Replace(s)
}

// code returns a code span whose fence is longer than any run of backticks in the text.
func code(s string) string {
	s = visible(s)
	ticks := strings.Repeat("`", longestRun(s)+1)
	return ticks + " " + s + " " + ticks
}

func fence(s string) string {
	ticks := strings.Repeat("`", max(3, longestRun(s)+1))
	return ticks + "sh\n" + s + "\n" + ticks
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
