package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/scim/wirelog"
)

func write(t *testing.T, form string, r *conformance.Result) string {
	t.Helper()
	w, ok := report.WriterNamed(form)
	require.True(t, ok)
	var b bytes.Buffer
	require.NoError(t, w.Write(&b, r, "v1.2.3"))
	return b.String()
}

// compile reads a JSON Schema.
func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return s.Validate(doc)
}

// TestWriters_ResultWithoutVerdict writes results that a program has built and not concluded.
func TestWriters_ResultWithoutVerdict(t *testing.T) {
	for _, r := range []*conformance.Result{{}, {Target: "https://scim.example.com/v2", Verdict: conformance.Untested}} {
		for _, w := range report.Writers() {
			require.NoError(t, w.Write(&bytes.Buffer{}, r, "v1.2.3"), w.Name)
		}
		require.NoError(t, report.Text(&bytes.Buffer{}, r, report.TextOptions{All: true}))
	}
}

func TestJSON_MatchesSchema(t *testing.T) {
	s := compile(t, report.Schema())
	for _, r := range []*conformance.Result{mixed(), clean(), untested()} {
		text := write(t, "json", r)
		require.NoError(t, validate(t, s, text))
		require.Error(t, validate(t, s, strings.Replace(text, `"format": 1`, `"format": 2`, 1)), "the schema rejects invalid reports")
	}
}

// TestSchema_DescribesEveryMember checks that the schema describes every member of the report: readers cannot rely on others.
func TestSchema_DescribesEveryMember(t *testing.T) {
	var strict map[string]any
	require.NoError(t, json.Unmarshal(report.Schema(), &strict))
	var close func(v any)
	close = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, has := v["properties"].(map[string]any); has && v["type"] == "object" {
				v["additionalProperties"] = false
			}
			for _, inner := range v {
				close(inner)
			}
		case []any:
			for _, inner := range v {
				close(inner)
			}
		}
	}
	close(strict)
	text, err := json.Marshal(strict)
	require.NoError(t, err)
	require.NoError(t, validate(t, compile(t, text), write(t, "json", mixed())))
}

func TestJUnit_CountsMatchCases(t *testing.T) {
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	require.NoError(t, xml.Unmarshal([]byte(write(t, "junit", mixed())), &suites))
	require.Len(t, suites.Cases, suites.Tests)
	failures, errs, skipped := 0, 0, 0
	for _, c := range suites.Cases {
		if c.Failure != nil {
			failures++
		}
		if c.Error != nil {
			errs++
		}
		if c.Skipped != nil {
			skipped++
		}
	}
	require.Equal(t, []int{suites.Failures, suites.Errors, suites.Skipped}, []int{failures, errs, skipped})
	require.Equal(t, []int{12, 5, 1, 3}, []int{suites.Tests, failures, errs, skipped},
		"one MUST, three steps and the waivers fail, a waived SHOULD is skipped")
	require.NoError(t, xml.Unmarshal([]byte(write(t, "junit", untested())), &suites))
	require.Equal(t, 1, suites.Errors, "a target that could not be tested is not a success")
}

func TestReports_EscapeTargetOutput(t *testing.T) {
	r := mixed()
	r.Checks[1].Findings[0].Got = "\x00\x1b[31m ]]> <script>alert(1)</script> \xff"
	r.Checks[1].Findings[0].Exchange.ResponseBody = `</pre><script src="https://evil.example.com/x.js"></script>`
	require.NoError(t, xml.Unmarshal([]byte(write(t, "junit", r)), new(struct{})))
	page := write(t, "html", r)
	require.Equal(t, 1, strings.Count(page, "<script"), "the only script is that of the page")
	require.Contains(t, page, "&lt;script&gt;alert(1)")
	require.Contains(t, write(t, "markdown", r), "got `   [31m ]]> <script>alert(1)</script>", "within a code span")
	for _, form := range []string{"markdown", "text"} {
		require.NotContains(t, write(t, form, r), "\x1b", "no control characters for terminals")
	}
}

// TestHTML_LoadsNothingExternal checks that the page loads no external resource: it is read on machines without a network, and must not
// send data.
func TestHTML_LoadsNothingExternal(t *testing.T) {
	page := write(t, "html", mixed())
	for _, m := range regexp.MustCompile(`(?i)(?:src|href|action|srcset)\s*=\s*"([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.True(t, strings.HasPrefix(m[1], "#"), m[0])
	}
	require.NotContains(t, page, "@import")
	require.NotContains(t, page, "url(")
	require.Contains(t, page, "default-src &#39;none&#39;")
}

func TestHTML_LinksResolve(t *testing.T) {
	page := write(t, "html", mixed())
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, page, `id="`+m[1]+`"`)
	}
}

func TestSARIF_FollowsRules(t *testing.T) {
	for _, r := range []*conformance.Result{mixed(), clean(), untested()} {
		require.NoError(t, validate(t, compile(t, []byte(sarifRules)), write(t, "sarif", r)))
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID string }
				}
			}
			Results []struct {
				RuleID              string
				RuleIndex           int
				Level               string
				Suppressions        []struct{ Kind string }
				PartialFingerprints map[string]string
			}
			Invocations []struct{ ExecutionSuccessful bool }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(write(t, "sarif", mixed())), &log))
	run := log.Runs[0]
	var levels []string
	for _, result := range run.Results {
		require.Equal(t, result.RuleID, run.Tool.Driver.Rules[result.RuleIndex].ID)
		levels = append(levels, result.Level)
	}
	require.Equal(t, []string{"error", "error", "warning", "note", "warning", "error", "error", "error"}, levels)
	require.Len(t, run.Results[4].Suppressions, 1, "waived findings are suppressed")
	require.True(t, run.Invocations[0].ExecutionSuccessful)
	require.NoError(t, json.Unmarshal([]byte(write(t, "sarif", untested())), &log))
	require.False(t, log.Runs[0].Invocations[0].ExecutionSuccessful)
}

// TestSARIF_LocationsInLog checks that each location is a line of an artifact of the log, with a relative URI: code scanning requires
// startLine and rejects the scheme of the target.
func TestSARIF_LocationsInLog(t *testing.T) {
	var log struct {
		Runs []struct {
			Artifacts []struct {
				Location struct{ URI string }
				Contents struct{ Text string }
			}
			Results []struct {
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI   string
							Index int
						}
						Region struct {
							StartLine int
							Snippet   struct{ Text string }
						}
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(write(t, "sarif", mixed())), &log))
	var seen []string
	for _, result := range log.Runs[0].Results {
		require.Len(t, result.Locations, 1)
		at := result.Locations[0].PhysicalLocation
		artifact := log.Runs[0].Artifacts[at.ArtifactLocation.Index]
		require.Equal(t, artifact.Location.URI, at.ArtifactLocation.URI)
		require.NotContains(t, at.ArtifactLocation.URI, ":")
		require.Equal(t, strings.Split(artifact.Contents.Text, "\n")[at.Region.StartLine-1], at.Region.Snippet.Text)
		seen = append(seen, at.ArtifactLocation.URI)
	}
	require.Equal(t, []string{"Users", "Users", ".", ".", ".", "Users", "Users", "Users"}, seen)
}

func TestSARIF_StableFingerprints(t *testing.T) {
	prints := func(run, id string) []string {
		r := mixed()
		r.Run = run
		r.Checks[1].Findings[0].What = "userName of GET /Users/" + id + " (" + run + "-17-ada)"
		return regexp.MustCompile(`"finding/v1": "([0-9a-f]+)"`).FindAllString(write(t, "sarif", r), -1)
	}
	first := prints("scimconf-abcdefgh", "41c9a1b2-2222-4333-8444-555566667777")
	require.Equal(t, first, prints("scimconf-zyxwvuts", "9"))
	slices.Sort(first)
	require.Len(t, slices.Compact(first), 8, "different findings of a check are different alerts")
}

// TestClauses_OutcomeFromPrimaryChecks checks that the outcome of a clause comes from the checks that cite it first, if there are any,
// and that a need of clients violates no clause.
func TestClauses_OutcomeFromPrimaryChecks(t *testing.T) {
	r := &conformance.Result{Target: "http://x", Verdict: conformance.Findings, Checks: []conformance.CheckResult{
		{Check: check("a.one", conformance.Must, "RFC7644-3.3-05", "RFC7644-3.12-08", "RFC7644-3.1-01"), Outcome: conformance.Fail},
		{Check: check("a.two", conformance.Must, "RFC7644-3.12-08", "RFC7644-3.3-05"), Outcome: conformance.Pass},
		{Check: check("a.three", conformance.Must, "RFC7644-3.12-08"), Outcome: conformance.Skip},
		{Check: check("a.four", conformance.Must, "RFC7644-3.4.2.2-09"), Outcome: conformance.Skip},
		{Check: check("a.five", conformance.Interop, "RFC7643-2.3.2-01"), Outcome: conformance.Warn},
	}}
	var d report.Document
	require.NoError(t, json.Unmarshal([]byte(write(t, "json", r)), &d))
	got := map[string]conformance.Outcome{}
	for _, c := range d.Clauses {
		got[c.ID] = c.Outcome
	}
	require.Equal(t, map[string]conformance.Outcome{
		"RFC7644-3.3-05": conformance.Fail, "RFC7644-3.12-08": conformance.Pass, "RFC7644-3.1-01": conformance.Fail,
		"RFC7644-3.4.2.2-09": conformance.Skip, "RFC7643-2.3.2-01": conformance.Info,
	}, got)
}

func TestHAR_ContainsTraffic(t *testing.T) {
	r := mixed()
	for i := range 3 {
		r.Traffic = append(r.Traffic,
			conformance.Sent{Check: "a.b",
				Exchange: &wirelog.Exchange{At: started.Add(time.Duration(i) * time.Second), Method: "GET",
					URL: "http://x/Users?filter=a%20eq%20%22b%22&count=1", Status: 200, ResponseHeader: http.Header{"Location": {"http://x/1"}}}})
	}
	var archive struct {
		Log struct {
			Version string
			Entries []struct {
				StartedDateTime time.Time
				Request         struct {
					QueryString []struct{ Name, Value string }
				}
				Response struct{ RedirectURL string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(write(t, "har", r)), &archive))
	require.Equal(t, "1.2", archive.Log.Version)
	require.Len(t, archive.Log.Entries, 3)
	require.Equal(t, []struct{ Name, Value string }{{"count", "1"}, {"filter", `a eq "b"`}}, archive.Log.Entries[2].Request.QueryString)
	r.Traffic, r.Profiles = nil, nil
	require.NoError(t, json.Unmarshal([]byte(write(t, "har", r)), &archive))
	require.Len(t, archive.Log.Entries, 1, "without a recording: the evidence, each exchange once")
}

// TestJUnit_WarningsPass checks that a check that warns is a passed case with its findings as output, and a broken step a failure.
func TestJUnit_WarningsPass(t *testing.T) {
	r := mixed()
	r.Checks[4].Findings[0].Waiver = nil
	text := write(t, "junit", r)
	require.Regexp(t, `<testcase classname="scim.sort" name="sort.ascending" time="0.000">\s*<system-out>\s*clause`,
		strings.ReplaceAll(text, "&#xA;", "\n"))
	require.Regexp(t, `name="okta.catalog-deactivate" time="0.000">\s*<failure`, text)
}

// TestClients_ApartFromChecks checks that the findings of client flows are neither in the numbers of the checks nor among their findings,
// and that every report names each step that fails.
func TestClients_ApartFromChecks(t *testing.T) {
	r := mixed()
	var d report.Document
	require.NoError(t, json.Unmarshal([]byte(write(t, "json", r)), &d))
	require.Equal(t, 1, d.Outcomes[conformance.Warn], "only the waived check of sort")
	require.Len(t, d.Profiles[0].Breaks, 3)
	require.Equal(t, d.Profiles[0].Breaks[0].Check, d.Profiles[0].Step, "the members of the first step remain")
	require.Equal(t, d.Profiles[0].Breaks[0].Fix, d.Profiles[0].Fix)
	for _, form := range []string{"text", "markdown", "html", "json", "junit", "sarif"} {
		text := write(t, form, r)
		for _, id := range []string{"okta.catalog-deactivate", "okta.catalog-reactivate", "okta.catalog-group-members"} {
			require.Contains(t, text, id, form)
		}
	}
	text := write(t, "text", r)
	require.NotContains(t, text, "WARN  okta.")
	require.Less(t, strings.Index(text, "Okta, catalog"), strings.Index(text, "FAIL  filter.eq"), "the answer is first")
	require.Equal(t, 1, strings.Count(text, "Accept operations without path."), "a change that two steps require is listed once")
	require.Contains(t, text, "1 later step not tested")
	summary := write(t, "markdown", r)
	require.Less(t, strings.Index(summary, "Provisioning by client"), strings.Index(summary, "| Area |"))
	require.NotContains(t, summary, "<code>okta.")
	page := write(t, "html", r)
	require.Less(t, strings.Index(page, `id="clients"`), strings.Index(page, `id="areas"`))
}

// TestText_Fits100Columns checks that no line is longer than 100 columns.
func TestText_Fits100Columns(t *testing.T) {
	r := mixed()
	r.Checks[1].Findings[0].Got = strings.Repeat("a value of many words ", 20)
	r.Profiles[1].ClientFlow, r.Profiles[0].Untried = "default", 10
	r.Profiles[0].Title = strings.Repeat("long title ", 15)
	r.Profiles[0].Limits = append(r.Profiles[0].Limits, strings.Repeat("a limit ", 30))
	for line := range strings.Lines(write(t, "text", r)) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 100, line)
	}
}

func TestClients_EveryRowUsed(t *testing.T) {
	all := checks.All()
	for _, p := range profiles.All() {
		all = append(all, p.Checks()...)
	}
	concerned := map[string]bool{}
	for _, c := range all {
		for _, client := range report.Clients(c) {
			concerned[client] = true
		}
	}
	require.Len(t, concerned, 7)
	require.Contains(t, report.Clients(conformance.Check{ID: "filter.eq"}), "OneLogin")
	require.NotContains(t, report.Clients(conformance.Check{ID: "filter.equal"}), "OneLogin", "a prefix ends at a word")
	require.Empty(t, report.Clients(conformance.Check{ID: "sort.ascending"}))
}

// TestForms_AffectOnlySelectedClients checks that a run of one client alone names no other client, in every form.
func TestForms_AffectOnlySelectedClients(t *testing.T) {
	result := func(ids ...string) *conformance.Result {
		r := &conformance.Result{Verdict: conformance.Findings,
			Profiles: []conformance.ProfileResult{{Profile: "okta", Client: "Okta", Compatibility: conformance.Works}}}
		for _, id := range ids {
			r.Checks = append(r.Checks, conformance.CheckResult{Check: conformance.Check{ID: id, Level: conformance.Must}, Outcome: conformance.Fail,
				Requests: 1, Findings: []conformance.Finding{{Outcome: conformance.Fail, What: "what", Want: "1", Got: "2"}}})
		}
		return r
	}
	for _, form := range []string{"text", "json", "html", "markdown", "junit", "sarif"} {
		require.NotContains(t, write(t, form, result("filter.eq")), "OneLogin", form)
		require.Contains(t, write(t, form, result("filter.eq")), "Okta", form)
		require.Contains(t, write(t, form, result("filter.eq", "sort.ascending")), "OneLogin", "%s: a run with all checks", form)
	}
}

// sarifRules is the part of the schema of SARIF 2.1.0 for the members of the report. It permits no other members.
const sarifRules = `{
"$schema": "https://json-schema.org/draft/2020-12/schema",
"$defs": {
  "text": {"type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string",
    "minLength": 1}}},
  "level": {"enum": ["none", "note", "warning", "error"]},
  "headers": {"type": "object", "additionalProperties": {"type": "string"}},
  "bag": {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}},
  "location": {"type": "object", "required": ["uri"], "additionalProperties": false, "properties": {
    "uri": {"type": "string", "format": "uri-reference"}, "index": {"type": "integer", "minimum": 0}}}
},
"type": "object", "required": ["version", "runs"], "additionalProperties": false,
"properties": {
  "$schema": {"type": "string", "format": "uri"},
  "version": {"const": "2.1.0"},
  "runs": {"type": "array", "items": {
    "type": "object", "required": ["tool"], "additionalProperties": false,
    "properties": {
      "tool": {"type": "object", "required": ["driver"], "additionalProperties": false, "properties": {"driver": {
        "type": "object", "required": ["name"], "additionalProperties": false,
        "properties": {"name": {"type": "string"}, "version": {"type": "string"}, "rules": {"type": "array", "uniqueItems": true, "items": {
          "type": "object", "required": ["id"], "additionalProperties": false,
          "properties": {"id": {"type": "string"}, "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
            "shortDescription": {"$ref": "#/$defs/text"}, "fullDescription": {"$ref": "#/$defs/text"},
            "help": {"$ref": "#/$defs/text"}, "defaultConfiguration": {"type": "object", "additionalProperties": false,
              "properties": {"level": {"$ref": "#/$defs/level"}}}, "properties": {"$ref": "#/$defs/bag"}}
        }}}}}},
      "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
      "artifacts": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
        "location": {"$ref": "#/$defs/location"}, "contents": {"$ref": "#/$defs/text"}}}},
      "properties": {"$ref": "#/$defs/bag"},
      "invocations": {"type": "array", "items": {"type": "object", "required": ["executionSuccessful"], "additionalProperties": false,
        "properties": {
        "executionSuccessful": {"type": "boolean"}, "startTimeUtc": {"type": "string", "format": "date-time"},
          "endTimeUtc": {"type": "string", "format": "date-time"},
        "toolExecutionNotifications": {"type": "array", "items": {"type": "object", "required": ["message"],
          "additionalProperties": false, "properties": {"level": {"$ref": "#/$defs/level"}, "message": {"$ref": "#/$defs/text"}}}}}}},
      "results": {"type": "array", "items": {
        "type": "object", "required": ["message"], "additionalProperties": false,
        "properties": {
          "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": -1}, "level": {"$ref": "#/$defs/level"},
            "message": {"$ref": "#/$defs/text"},
          "locations": {"type": "array", "items": {"type": "object", "additionalProperties": false,
            "properties": {"physicalLocation": {"type": "object", "required": ["artifactLocation", "region"], "additionalProperties": false,
            "properties": {"artifactLocation": {"$ref": "#/$defs/location"},
              "region": {"type": "object", "required": ["startLine"], "additionalProperties": false, "properties": {
                "startLine": {"type": "integer", "minimum": 1}, "snippet": {"$ref": "#/$defs/text"}}}}}}}},
          "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
          "suppressions": {"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["kind"],
            "additionalProperties": false, "properties": {"kind": {"enum": ["inSource", "external"]},
            "justification": {"type": "string"}}}},
          "webRequest": {"type": "object", "additionalProperties": false, "properties": {"protocol": {"type": "string"},
            "version": {"type": "string"}, "target": {"type": "string"}, "method": {"type": "string"},
            "headers": {"$ref": "#/$defs/headers"}, "body": {"$ref": "#/$defs/text"}}},
          "webResponse": {"type": "object", "additionalProperties": false, "properties": {"protocol": {"type": "string"},
            "version": {"type": "string"}, "statusCode": {"type": "integer"}, "reasonPhrase": {"type": "string"},
            "headers": {"$ref": "#/$defs/headers"}, "body": {"$ref": "#/$defs/text"}}},
          "properties": {"$ref": "#/$defs/bag"}
        }}}
    }}}
}}`

// TestHTML_ContainsExchangeOnce checks that the page contains the exchange of a finding once, a long body that several findings show once,
// and only the request lines of passed checks.
func TestHTML_ContainsExchangeOnce(t *testing.T) {
	long := strings.Repeat("Body of the list. ", 100)
	sent := func(path, body string) *wirelog.Exchange {
		return &wirelog.Exchange{Method: "GET", URL: "https://scim.example.com" + path, Status: 200, ResponseBody: body}
	}
	first, second, quiet := sent("/first", long), sent("/second", long), sent("/quiet", "quiet body")
	find := func(e *wirelog.Exchange) conformance.Finding {
		return conformance.Finding{Outcome: conformance.Fail, What: "x", Want: "1", Got: "2", Exchange: e}
	}
	r := &conformance.Result{Target: "https://scim.example.com", Checks: []conformance.CheckResult{
		{Check: check("list.a", conformance.Must), Outcome: conformance.Fail, Findings: []conformance.Finding{find(first), find(first)}},
		{Check: check("list.b", conformance.Must), Outcome: conformance.Fail, Findings: []conformance.Finding{find(second)}},
		{Check: check("list.c", conformance.Must), Outcome: conformance.Pass},
	}}
	for i, e := range []*wirelog.Exchange{first, second, quiet} {
		r.Traffic = append(r.Traffic, conformance.Sent{Check: r.Checks[i].Check.ID, Exchange: e})
	}
	page := write(t, "html", r)
	require.Equal(t, 1, strings.Count(page, long))
	require.Contains(t, page, "as in the response that the check list.a shows")
	require.Contains(t, page, "same exchange as above")
	require.Contains(t, page, "/quiet")
	require.NotContains(t, page, "quiet body")
}

// TestParse_EarlierSteps checks that a report of an earlier version, in which a broken step has the outcome warn, equals a new one.
func TestParse_EarlierSteps(t *testing.T) {
	now, err := report.Parse([]byte(write(t, "json", mixed())))
	require.NoError(t, err)
	earlier := now
	earlier.Checks = slices.Clone(now.Checks)
	broken := 0
	for i, c := range earlier.Checks {
		if c.Profile != "" && c.Outcome == conformance.Fail {
			broken++
			c.Outcome, c.Profile = conformance.Warn, ""
			c.Findings = slices.Clone(c.Findings)
			c.Findings[0].Outcome = conformance.Warn
			earlier.Checks[i] = c
		}
	}
	require.Positive(t, broken)
	data, err := json.Marshal(earlier)
	require.NoError(t, err)
	earlier, err = report.Parse(data)
	require.NoError(t, err)
	require.Empty(t, report.Compare(earlier, now).New)
	require.Equal(t, now.Checks[len(now.Checks)-1].Outcome, earlier.Checks[len(now.Checks)-1].Outcome)
}
