package report_test

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim/wirelog"
)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	goldentest.Check(t, path, string(got))
}

var started = time.Date(2026, 1, 31, 10, 20, 30, 0, time.UTC)

func check(id string, level conformance.Level, requirements ...string) conformance.Check {
	return conformance.Check{
		ID: id, Title: "A conforming target does what " + id + " says", Level: level, Requirements: requirements,
		Why: "Clients that look up a user before they create one link the wrong user.",
		Fix: "Check the code that builds the response, and compare it with the clause that is cited above.",
	}
}

// mixed is a result with every outcome in it.
func mixed() *conformance.Result {
	exchange := &wirelog.Exchange{
		At: started, Method: "GET", URL: "https://scim.example.com/v2/Users?filter=userName%20eq%20%22ada%22", Status: 200,
		Duration:       12 * time.Millisecond,
		RequestHeader:  http.Header{"Accept": {"application/scim+json"}, "Authorization": {"Bearer " + wirelog.Redacted}},
		ResponseHeader: http.Header{"Content-Type": {"application/scim+json"}}, ResponseBody: `{"totalResults":2}`,
	}
	rejected := conformance.Finding{Outcome: conformance.Warn, What: "status of PATCH /Users/42", Want: "200 or 204", Got: "400",
		Exchange: exchange}
	return &conformance.Result{
		Target: "https://scim.example.com/v2", Run: "scimconf-abcdefgh", Seed: 7, Started: started, Duration: 1234567 * time.Microsecond,
		Requests: 42, Verdict: conformance.Findings,
		Checks: []conformance.CheckResult{
			{Check: check("create.status", conformance.Must, "RFC7644-3.3-05"), Outcome: conformance.Pass, Requests: 2,
				Duration: 3 * time.Millisecond},
			{Check: check("filter.eq", conformance.Must, "RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-03"), Outcome: conformance.Fail, Requests: 3,
				Duration: 40 * time.Millisecond, Findings: []conformance.Finding{
					{Outcome: conformance.Fail, What: `users found by userName eq "ada"`, Want: `["ada"]`, Got: `["ada","ada.eve"]`, Exchange: exchange},
					{Outcome: conformance.Fail, What: "totalResults of the same response", Want: "1", Got: "2", Exchange: exchange},
					{Outcome: conformance.Warn, What: "a side remark", Want: "this", Got: "that"},
				}},
			{Check: check("filter.pr", conformance.Must, "RFC7644-3.4.2.2-16"), Outcome: conformance.Skip,
				Reason: "the target rejects these filters with 400 or 501, as it may", Notes: []string{"rejected with 400: title pr"}, Requests: 1},
			{Check: check("read.media-type", conformance.May, "RFC7644-3.1-01"), Outcome: conformance.Info, Requests: 1,
				Findings: []conformance.Finding{
					{Outcome: conformance.Info, What: "Content-Type of GET /Users", Want: "application/scim+json", Got: "application/json"},
				}},
			{Check: check("sort.ascending", conformance.Should, "RFC7644-3.4.2.3-01"), Outcome: conformance.Warn, Requests: 1,
				Findings: []conformance.Finding{
					{Outcome: conformance.Warn, What: "order of `userName` | <b>bold</b>", Want: "a, b", Got: "b, a\nc ``` d", Waiver: &conformance.Waiver{
						Check: "sort.ascending", Reason: "sorting comes with 4.3", Ticket: "https://issues.example.com/7", Owner: "directory team",
						Expires: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}},
				}},
			{Check: check("auth.wrong-token", conformance.Should, "RFC7644-3.12-08"), Outcome: conformance.Error,
				Reason: "GET /Users: no complete response within 15s", Requests: 1},
		},
		Cautions:   []string{"1 applicable check blocked without a result: patch.add"},
		Complaints: []string{"the waiver of create.status expired on 2026-01-30: no longer needed after release 4.2"},
		Lag:        800 * time.Millisecond,
		Profiles: []conformance.ProfileResult{
			{Profile: "okta", ClientFlow: "catalog", Client: "Okta", Title: "an app of the catalog", Compatibility: conformance.Breaks,
				Untried: 1, Limits: []string{"groups cannot be read: no import of groups"},
				Breaks: []conformance.BrokenStep{
					{Check: "okta.catalog-deactivate", Action: "A user is deactivated with a PATCH without path",
						Why: "Okta marks the task as failed and does not repeat it.", Fix: "Accept operations without path.", Finding: rejected},
					{Check: "okta.catalog-reactivate", Action: "A user is reactivated with a PATCH without path",
						Why: "A returning user remains locked out.", Fix: "Accept operations without path.", Finding: rejected},
					{Check: "okta.catalog-group-members", Action: "One member is removed and one is added, in one PATCH",
						Why: "The groups of the target and of the client differ.", Fix: "Apply all operations of a PATCH in order.", Finding: rejected},
				},
				Steps: []conformance.CheckResult{
					{Check: check("okta.catalog-create", conformance.Interop), Outcome: conformance.Pass, Requests: 2},
					{Check: check("okta.catalog-deactivate", conformance.Interop), Outcome: conformance.Warn, Requests: 1,
						Findings: []conformance.Finding{rejected}},
					{Check: check("okta.catalog-lookup-inactive", conformance.Interop), Outcome: conformance.Skip, Requests: 1,
						Reason: "blocked: the step deactivate, on which this step depends, failed"},
					{Check: check("okta.catalog-reactivate", conformance.Interop), Outcome: conformance.Warn, Requests: 1,
						Findings: []conformance.Finding{rejected}},
					{Check: check("okta.catalog-group-members", conformance.Interop), Outcome: conformance.Warn, Requests: 1,
						Findings: []conformance.Finding{rejected}},
				}},
			{Profile: "entra", Client: "Microsoft Entra ID", Title: "default", Compatibility: conformance.WorksWithLimits,
				Limits: []string{"the manager is not stored"}, Doubt: "known from recordings of one tenant"},
			{Profile: "google", Client: "Google Workspace", Title: "default", Compatibility: conformance.Works},
		},
		Leftovers: []conformance.Leftover{{Path: "/Users/42", Name: "scimconf-abcdefgh-3-ada@example.com", Reason: "DELETE /Users/42 returned " +
			"500 Internal Server Error"}},
		Journal: "/var/tmp/run.journal",
	}
}

// files are the names of the golden files of each form.
var files = map[string]string{
	"text": "txt", "json": "json", "html": "html", "markdown": "md", "junit": "junit.xml", "sarif": "sarif", "har": "har", "badge": "svg",
	"shields": "shields.json",
}

func TestWriters_Golden(t *testing.T) {
	results := map[string]*conformance.Result{"findings": mixed(), "clean": clean(), "untested": untested()}
	recorded := mixed()
	for c := range recorded.All() {
		for _, f := range c.Findings {
			if f.Exchange != nil {
				recorded.Traffic = append(recorded.Traffic, conformance.Sent{Check: c.Check.ID, Exchange: f.Exchange})
			}
		}
	}
	recorded.Traffic = append(recorded.Traffic,
		conformance.Sent{
			Exchange: &wirelog.Exchange{At: started, Method: "POST", URL: "https://scim.example.com/v2/Users",
				RequestHeader: http.Header{"Content-Type": {"application/scim+json"}}, RequestBody: `{"a":"</script><b>"}`, Err: "connection reset"}})
	for name, r := range results {
		for _, w := range report.Writers() {
			t.Run(name+" as "+w.Name, func(t *testing.T) {
				var b bytes.Buffer
				if w.Name == "text" && name == "findings" {
					require.NoError(t,
						report.Text(&b, r,
							report.TextOptions{Skipped: true, Cleanup: func(journal string) string { return "scim-conformance cleanup " + journal }}))
					var all bytes.Buffer
					require.NoError(t, w.Write(&all, r, "v1.2.3"))
					golden(t, "findings-all.txt", all.Bytes())
				} else {
					require.NoError(t, w.Write(&b, r, "v1.2.3"))
				}
				golden(t, name+"."+files[w.Name], b.Bytes())
				if w.Traffic && name == "findings" {
					b.Reset()
					require.NoError(t, w.Write(&b, recorded, "v1.2.3"))
					golden(t, "recorded."+files[w.Name], b.Bytes())
				}
				require.Error(t, w.Write(broken{}, r, ""), "a writer that fails is reported")
			})
		}
	}
}

func clean() *conformance.Result {
	step := func(id string) []conformance.CheckResult {
		return []conformance.CheckResult{{Check: check(id, conformance.Interop), Outcome: conformance.Pass, Requests: 2}}
	}
	return &conformance.Result{
		Target: "http://127.0.0.1:8080/scim/v2", Run: "scimconf-abcdefgh", Seed: 7, Started: started, Duration: time.Second, Requests: 7,
		Verdict: conformance.Clean,
		Checks: []conformance.CheckResult{
			{Check: check("create.status", conformance.Must, "RFC7644-3.3-05"), Outcome: conformance.Pass, Requests: 2}},
		Profiles: []conformance.ProfileResult{
			{Profile: "okta", ClientFlow: "catalog", Client: "Okta", Title: "an app of the catalog", Compatibility: conformance.Works,
				Steps: step("okta.catalog-create")},
			{Profile: "google", Client: "Google Workspace", Title: "default", Compatibility: conformance.Works, Doubt: "PUT is assumed",
				Steps: step("google.create")},
		},
	}
}

func untested() *conformance.Result {
	return &conformance.Result{
		Target: "http://127.0.0.1:1", Run: "scimconf-abcdefgh", Seed: 7, Started: started, Requests: 1, Verdict: conformance.Untested,
		Reason: "the target cannot be reached: GET /ServiceProviderConfig: connection refused; check that it runs and that the base URL is right",
	}
}

// TestLeftovers_CountedInText checks that the text report lists ten leftovers and counts the others, and that the JSON report lists all.
func TestLeftovers_CountedInText(t *testing.T) {
	r := mixed()
	for range 20 {
		r.Leftovers = append(r.Leftovers, r.Leftovers[0])
	}
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, report.TextOptions{}))
	require.Contains(t, b.String(), "leftover: 11 more\n")
	require.Contains(t, b.String(), "Journal of the leftovers: /var/tmp/run.journal\n")
	require.Equal(t, 10, strings.Count(b.String(), "returned 500"))
	b.Reset()
	require.NoError(t, report.JSON(&b, r, ""))
	require.Equal(t, 21, strings.Count(b.String(), "returned 500"))
}

func TestText_OptionalColor(t *testing.T) {
	var plain, colored bytes.Buffer
	require.NoError(t, report.Text(&plain, mixed(), report.TextOptions{}))
	require.NoError(t, report.Text(&colored, mixed(), report.TextOptions{Color: true}))
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, colored.String(), "\x1b[31mMUST")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
