package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// The elements of a JUnit report, as defined by the widely used Jenkins schema.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Skipped *junitRemark `xml:"skipped,omitempty"`
		Error   *junitRemark `xml:"error,omitempty"`
		Failure *junitRemark `xml:"failure,omitempty"`
		Output  string       `xml:"system-out,omitempty"`
	}
	junitRemark struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as test results for CI systems: a suite for each area and client, a case for each check and step. Checks that
// fail and steps of client flows that break the client are failures. A check that warns is a passed case, whose output contains the
// findings; waived checks are skipped. If the target could not be tested, that is an error of a separate case.
func JUnit(w io.Writer, r *conformance.Result, version string) error {
	d := document(r, version)
	out := junitSuites{Name: "SCIM conformance of " + d.Target, Time: seconds(d.DurationMs)}
	for _, area := range areas(slices.Collect(everyCheck(r))) {
		suite := junitSuite{Name: area, Timestamp: d.Started.Format("2006-01-02T15:04:05"),
			Properties: []junitProperty{{"target", d.Target}, {"run", d.Run}}}
		ms := int64(0)
		for _, c := range d.Checks {
			if c.Area != area {
				continue
			}
			ms += c.DurationMs
			suite.add(junitCaseOf(c))
		}
		suite.Time = seconds(ms)
		out.add(suite)
	}
	run := junitSuite{Name: "run", Time: seconds(0), Timestamp: d.Started.Format("2006-01-02T15:04:05")}
	if d.Verdict == conformance.Untested {
		run.add(
			junitCase{Class: "scim.run", Name: "the target can be tested", Time: seconds(0),
				Error: &junitRemark{Message: d.Reason, Type: "untested"}})
	}
	for _, complaint := range d.Complaints {
		run.add(
			junitCase{Class: "scim.run", Name: "the waivers are up to date", Time: seconds(0),
				Failure: &junitRemark{Message: complaint, Type: "waiver"}})
	}
	if run.Tests > 0 {
		out.add(run)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// everyCheck returns the results of the checks and of the steps of client flows.
func everyCheck(r *conformance.Result) iter.Seq[conformance.CheckResult] {
	return func(yield func(conformance.CheckResult) bool) {
		for c := range r.All() {
			if !yield(*c) {
				return
			}
		}
	}
}

func (s *junitSuites) add(suite junitSuite) {
	s.Suites = append(s.Suites, suite)
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Errors += suite.Errors
	s.Skipped += suite.Skipped
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func junitCaseOf(c Check) junitCase {
	out := junitCase{Class: "scim." + c.Area, Name: c.ID, Time: seconds(c.DurationMs)}
	details := findingsText(c)
	switch {
	case c.Waived:
		out.Skipped = &junitRemark{Message: "waived: " + c.Findings[0].waiverReason(), Text: details}
	case c.Outcome == conformance.Fail || c.Outcome == conformance.Warn && c.Profile != "":
		out.Failure = &junitRemark{Message: c.Title, Type: string(c.Level), Text: details}
	case c.Outcome == conformance.Error:
		out.Error = &junitRemark{Message: c.Reason, Type: "error", Text: details}
	case c.Outcome == conformance.Skip:
		out.Skipped = &junitRemark{Message: c.Reason, Text: details}
	default:
		out.Output = details
	}
	return out
}

func (f Finding) waiverReason() string {
	if f.Waiver == nil {
		return "see the other findings"
	}
	return f.Waiver.Reason
}

// findingsText returns the findings of a check as plain text.
func findingsText(c Check) string {
	if len(c.Findings) == 0 {
		return ""
	}
	var b strings.Builder
	if len(c.Clauses) > 0 {
		fmt.Fprintf(&b, "\nclause: %s, %s (%s): %s", c.Clauses[0].Section, c.Clauses[0].Strength(), c.Clauses[0].ID, c.Clauses[0].Text)
	}
	for _, f := range c.Findings {
		fmt.Fprintf(&b, "\n%s: %s\n  expected: %s\n  got:      %s", f.Outcome, f.What, f.Want, f.Got)
		if f.Unsteady {
			b.WriteString("\n  unsteady: the finding did not occur again in the repeated check")
		}
		if f.Curl != "" {
			fmt.Fprintf(&b, "\n  %s", strings.ReplaceAll(f.Commands(), "\n", "\n  "))
		}
	}
	if c.Why != "" {
		fmt.Fprintf(&b, "\nwhy: %s", c.Why)
	}
	if len(c.Clients) > 0 {
		fmt.Fprintf(&b, "\naffects: %s", strings.Join(c.Clients, ", "))
	}
	fmt.Fprintf(&b, "\nfix: %s\n", c.Fix)
	return b.String()
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
