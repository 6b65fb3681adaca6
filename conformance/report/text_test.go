package report_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// bad returns the result of a server about which every n-th check complains. The requests have bodies of the given length.
func bad(n, body int) *conformance.Result {
	r := mixed()
	r.Checks, r.Complaints = nil, nil
	for i, c := range checks.All() {
		entry := conformance.CheckResult{Check: c, Outcome: conformance.Pass}
		if n > 0 && i%n == 0 {
			entry.Outcome = c.Level.Violation()
			entry.Findings = []conformance.Finding{{
				Outcome: entry.Outcome, What: "the attribute of " + c.ID, Want: "absent", Got: "the value of " + c.ID,
				Exchange: &wirelog.Exchange{Method: "PATCH", URL: "https://scim.example.com/v2/Users/42", Status: 204,
					RequestHeader: http.Header{"Content-Type": {"application/scim+json"}}, RequestBody: `{"` + strings.Repeat("x", body) + `":1}`},
			}}
		}
		r.Checks = append(r.Checks, entry)
	}
	return r
}

// terminalLines returns the number of lines on a terminal of 100 columns.
func terminalLines(text string) int {
	n := 0
	for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(text, "")) {
		n += max(1, (utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))+99)/100)
	}
	return n
}

// unusable adds to a result what a target has that no client can use: changes, limits, blocks and cautions.
func unusable(r *conformance.Result, flows, changes, blocks int) *conformance.Result {
	long := strings.Repeat("of some length ", 12)
	exchange := &wirelog.Exchange{Method: "PUT", URL: "https://scim.example.com/v2/Users/42", Status: 405,
		RequestBody:  strings.Repeat("x", 3000),
		ResponseBody: strings.Repeat("y", 3000)}
	for i := range flows {
		f := conformance.ProfileResult{Client: fmt.Sprint("Client ", i), ClientFlow: "flow", Compatibility: conformance.Breaks,
			Limits: []string{"a limit " + long, "another limit"}, Steps: []conformance.CheckResult{{}}, Doubt: "a doubt"}
		for n := range changes {
			f.Breaks = append(f.Breaks, conformance.BrokenStep{Check: fmt.Sprint("client.step-", n), Action: "An action " + long,
				Fix: fmt.Sprint("Change ", n, " ", long), Why: "Why " + long, Finding: conformance.Finding{What: long, Want: long, Got: long}})
		}
		r.Profiles = append(r.Profiles, f)
	}
	for i := range blocks {
		b := conformance.Block{Blocker: conformance.Blocker{What: fmt.Sprint("fixture ", i, " ", long), Exchange: exchange}}
		for n := range 40 {
			b.Checks = append(b.Checks, fmt.Sprint("area.check-", n))
		}
		r.Blocks = append(r.Blocks, b)
	}
	r.Cautions = []string{"16 applicable checks are blocked: " + long}
	return r
}

func TestText_FitsTerminalIfAllBreaks(t *testing.T) {
	for _, n := range []struct{ flows, changes, blocks int }{{7, 0, 0}, {1, 1, 1}, {7, 3, 1}, {7, 40, 2}, {7, 40, 40}, {14, 40, 40}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, report.Text(&b, unusable(bad(3, 2000), n.flows, n.changes, n.blocks), report.TextOptions{}))
			require.LessOrEqual(t, terminalLines(b.String()), 60, b.String())
			require.Contains(t, b.String(), " 1. MUST ")
			for i := range min(n.changes, 2) {
				require.Contains(t, b.String(), fmt.Sprint("Change ", i))
			}
			if n.blocks > 0 {
				require.Contains(t, b.String(), "BLOCK 40 checks")
				require.Contains(t, b.String(), "  response  405")
			}
		})
	}
}

func TestText_FitsTerminal(t *testing.T) {
	for _, c := range []struct{ n, body int }{{0, 0}, {600, 20}, {120, 20}, {20, 20}, {3, 20}, {1, 20}, {3, 2000}, {600, 5000}} {
		t.Run(fmt.Sprintf("every %d with %d", c.n, c.body), func(t *testing.T) {
			for _, color := range []bool{false, true} {
				var b, all bytes.Buffer
				require.NoError(t, report.Text(&b, bad(c.n, c.body), report.TextOptions{Color: color}))
				require.LessOrEqual(t, terminalLines(b.String()), 60, b.String())
				require.Equal(t, c.n != 0, strings.Contains(b.String(), "Causes: "))
				require.Equal(t, c.n != 0, strings.Contains(b.String(), "    fix       "), "the first cause is in full")
				require.NoError(t, report.Text(&all, bad(c.n, c.body), report.TextOptions{All: true}))
				if c.n == 3 {
					require.Contains(t, b.String(), "more causes; --all lists them.")
				}
				require.NotContains(t, all.String(), "--all")
				for _, r := range bad(c.n, c.body).Checks {
					if len(r.Findings) > 0 {
						require.Contains(t, all.String(), r.Check.ID+": ", "every finding is listed")
					}
				}
			}
		})
	}
}

// TestText_FitsTerminalWithManyClients checks the number of lines if many clients break, others have limits, and the run has many notes.
func TestText_FitsTerminalWithManyClients(t *testing.T) {
	r := unusable(bad(3, 2000), 6, 12, 1)
	long := strings.Repeat("of some length ", 12)
	for i := range 8 {
		r.Profiles = append(r.Profiles, conformance.ProfileResult{Client: fmt.Sprint("Other ", i), Compatibility: conformance.WorksWithLimits,
			Limits: []string{"a limit " + long, "another limit"}, Steps: []conformance.CheckResult{{}}})
	}
	for range 8 {
		r.Cautions = append(r.Cautions, "a note "+long)
	}
	var b, all bytes.Buffer
	require.NoError(t, report.Text(&b, r, report.TextOptions{}))
	require.LessOrEqual(t, terminalLines(b.String()), 60, b.String())
	require.Contains(t, b.String(), "11 more: --all lists them")
	require.Contains(t, b.String(), "Client 4")
	require.NoError(t, report.Text(&all, r, report.TextOptions{All: true}))
	require.Contains(t, all.String(), "Other 7")
}

// TestBlocks_NoSecondListing checks that reports with a section of large blocks do not list these blocks among the causes, and that they
// list a small block there.
func TestBlocks_NoSecondListing(t *testing.T) {
	r := &conformance.Result{Target: "https://scim.example.com", Verdict: conformance.Findings}
	for _, b := range []struct {
		what   string
		checks int
	}{{"the group could not be replaced", conformance.ManyBlocked}, {"the manager could not be read", 2}} {
		block := conformance.Block{Blocker: conformance.Blocker{What: b.what}}
		for i := range b.checks {
			id := fmt.Sprintf("area%d.check-%d", b.checks, i)
			block.Checks = append(block.Checks, id)
			r.Checks = append(r.Checks, conformance.CheckResult{Check: conformance.Check{ID: id}, Outcome: conformance.Skip,
				Reason: "blocked: " + b.what, BlockedBy: &block.Blocker})
		}
		r.Blocks = append(r.Blocks, block)
	}
	var text, html, markdown bytes.Buffer
	require.NoError(t, report.Text(&text, r, report.TextOptions{}))
	require.NoError(t, report.HTML(&html, r, "test"))
	require.NoError(t, report.Markdown(&markdown, r, "test"))
	_, causes, found := strings.Cut(html.String(), `<section id="causes">`)
	require.True(t, found)
	causes, _, _ = strings.Cut(causes, "</section>")
	require.Contains(t, html.String(), `<section id="blocks">`)
	require.NotContains(t, causes, "the group could not be replaced")
	require.Contains(t, causes, "the manager could not be read")
	for _, form := range []string{text.String(), markdown.String()} {
		require.Equal(t, 1, strings.Count(form, "the group could not be replaced"), form)
		require.Equal(t, 1, strings.Count(form, "the manager could not be read"), form)
	}
}
