package waivers_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/waivers"
)

var known = []conformance.Check{{ID: "sort.ascending"}, {ID: "filter.eq"}, {ID: "create.status"}}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "waivers.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func read(t *testing.T, text string) waivers.List {
	t.Helper()
	list, err := waivers.Read(file(t, text), known)
	require.NoError(t, err)
	return list
}

// result returns a failure with two findings, a warning and a pass.
func result() *conformance.Result {
	finding := func(o conformance.Outcome, what, got string) conformance.Finding {
		return conformance.Finding{Outcome: o, What: what, Want: "x", Got: got}
	}
	return &conformance.Result{Verdict: conformance.Findings, Checks: []conformance.CheckResult{
		{Check: known[0], Outcome: conformance.Warn, Requests: 1,
			Findings: []conformance.Finding{finding(conformance.Warn, "order by userName", "b, a"), finding(conformance.Info, "a remark", "")}},
		{Check: known[1], Outcome: conformance.Fail, Requests: 1,
			Findings: []conformance.Finding{finding(conformance.Fail, "totalResults", "2"), finding(conformance.Fail, "status", "500")}},
		{Check: known[2], Outcome: conformance.Pass, Requests: 1},
	}}
}

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

const both = `
waivers:
  - {check: sort.ascending, reason: comes with 4.3, ticket: T-7, owner: directory, expires: 2026-06-15}
  - check: filter.eq
    reason: counted twice, known
`

func TestApply_WaivedFindingsPass(t *testing.T) {
	r := result()
	read(t, both).Apply(r, noon, true)
	require.Equal(t, conformance.Clean, r.Verdict)
	require.Empty(t, r.Complaints)
	require.Equal(t, "T-7", r.Checks[0].Findings[0].Waiver.Ticket)
	require.Nil(t, r.Checks[0].Findings[1].Waiver, "an information needs no waiver")
	require.Equal(t, conformance.Fail, r.Checks[1].Outcome, "reports still show the finding")
	require.True(t, r.Checks[1].Waived())
}

func TestApply_UnmatchedFindingFails(t *testing.T) {
	r := result()
	read(t, `waivers: [{check: sort.ascending, reason: a}, {check: filter.eq, match: "^total", reason: b}]`).Apply(r, noon, false)
	require.Equal(t, conformance.Findings, r.Verdict)
	require.NotNil(t, r.Checks[1].Findings[0].Waiver)
	require.Nil(t, r.Checks[1].Findings[1].Waiver)
	require.False(t, r.Checks[1].Waived())
}

// TestApply_ExpiredWaiverFails checks that an expired waiver fails the run even without findings.
func TestApply_ExpiredWaiverFails(t *testing.T) {
	r := result()
	r.Checks = r.Checks[2:]
	list := read(t, both)
	list.Apply(r, noon, false)
	require.Equal(t, conformance.Clean, r.Verdict, "valid on the last day")
	list.Apply(r, noon.Add(12*time.Hour), false)
	require.Equal(t, conformance.Findings, r.Verdict)
	require.Equal(t, []string{"the waiver of sort.ascending expired on 2026-06-15: comes with 4.3"}, r.Complaints)

	r = result()
	list.Apply(r, noon.AddDate(1, 0, 0), false)
	require.Nil(t, r.Checks[0].Findings[0].Waiver, "an expired waiver accepts no finding")
	require.Equal(t, conformance.Findings, r.Verdict)
}

// TestApply_StrictRejectsUnusedWaiver checks that a waiver of a check that passes fails a strict run.
func TestApply_StrictRejectsUnusedWaiver(t *testing.T) {
	for name, tt := range map[string]struct {
		strict  bool
		outcome conformance.Outcome
		verdict conformance.Verdict
	}{
		"strict, the check passed":      {true, conformance.Pass, conformance.Findings},
		"not strict, the check passed":  {false, conformance.Pass, conformance.Clean},
		"strict, the check did not run": {true, conformance.Skip, conformance.Clean},
	} {
		t.Run(name, func(t *testing.T) {
			r := result()
			r.Checks[0] = conformance.CheckResult{Check: known[0], Outcome: tt.outcome}
			read(t, both).Apply(r, noon, tt.strict)
			require.Equal(t, tt.verdict, r.Verdict, r.Complaints)
		})
	}
}

func TestApply_UntestedStaysUntested(t *testing.T) {
	r := &conformance.Result{Verdict: conformance.Untested, Reason: "the target cannot be reached"}
	read(t, both).Apply(r, noon, true)
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Equal(t, "the target cannot be reached", r.Reason)

	r = result()
	r.Checks[2].Outcome, r.Checks[2].Reason = conformance.Error, "no answer"
	read(t, both).Apply(r, noon, true)
	require.Equal(t, conformance.Untested, r.Verdict, "the remaining problem is a check without a response")
}

func TestRead_RejectsInvalidFile(t *testing.T) {
	for name, tt := range map[string]struct{ text, says string }{
		"an unknown check":          {`waivers: [{check: sort.ascendign, reason: a}]`, "waiver 1 (sort.ascendign): unknown check"},
		"no reason":                 {`waivers: [{check: filter.eq, reason: " "}]`, "reason is missing"},
		"a bad expression":          {`waivers: [{check: filter.eq, reason: a, match: "("}]`, "not a regular expression"},
		"a bad day":                 {`waivers: [{check: filter.eq, reason: a, expires: soon}]`, "not a day such as 2026-12-31"},
		"a day that does not exist": {`waivers: [{check: filter.eq, reason: a, expires: 2026-02-30}]`, "not a day such as"},
		"an unknown member":         {`waivers: [{check: filter.eq, reason: a, expire: 2026-01-01}]`, "not a list of waivers"},
		"another kind of file":      {`{"format": 1}`, "not a list of waivers"},
		"an empty file":             {``, "no waivers in the file"},
		"an empty list":             {`waivers: []`, "no waivers in the file"},
		"no YAML":                   {`waivers: [`, "not a list of waivers"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := waivers.Read(file(t, tt.text), known)
			require.ErrorAs(t, err, new(*conformance.UsageError))
			require.ErrorContains(t, err, tt.says)
		})
	}
	_, err := waivers.Read(filepath.Join(t.TempDir(), "absent"), known)
	require.ErrorAs(t, err, new(*conformance.UsageError))
}
