package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// The objects of SARIF 2.1.0 that the report uses, with the members of its schema.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Artifacts   []sarifArtifact   `json:"artifacts"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
		Properties  map[string]any    `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID         string         `json:"id"`
		Name       string         `json:"name"`
		Short      sarifText      `json:"shortDescription"`
		Full       sarifText      `json:"fullDescription"`
		Help       sarifText      `json:"help"`
		Default    sarifConfig    `json:"defaultConfiguration"`
		Properties map[string]any `json:"properties"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Start         string              `json:"startTimeUtc"`
		End           string              `json:"endTimeUtc"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifArtifact struct {
		Location sarifURI  `json:"location"`
		Contents sarifText `json:"contents"`
	}
	sarifURI struct {
		URI   string `json:"uri"`
		Index *int   `json:"index,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Request      *sarifRequest      `json:"webRequest,omitempty"`
		Response     *sarifResponse     `json:"webResponse,omitempty"`
		Properties   map[string]any     `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifURI    `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	sarifRegion struct {
		StartLine int       `json:"startLine"`
		Snippet   sarifText `json:"snippet"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifRequest struct {
		Protocol string            `json:"protocol"`
		Version  string            `json:"version"`
		Target   string            `json:"target"`
		Method   string            `json:"method"`
		Headers  map[string]string `json:"headers"`
		Body     *sarifText        `json:"body,omitempty"`
	}
	sarifResponse struct {
		Protocol   string            `json:"protocol,omitempty"`
		Version    string            `json:"version,omitempty"`
		StatusCode int               `json:"statusCode,omitempty"`
		Reason     string            `json:"reasonPhrase,omitempty"`
		Headers    map[string]string `json:"headers,omitempty"`
		Missing    bool              `json:"noResponseReceived,omitempty"`
		Body       *sarifText        `json:"body,omitempty"`
	}
)

var sarifLevels = map[conformance.Outcome]string{conformance.Fail: "error", conformance.Warn: "warning", conformance.Info: "note"}

// SARIF writes the findings for code scanning, in version 2.1.0. There are no source files. A location is a line of an artifact in the log:
// each path below the base URL is an artifact, and its lines are the requests with findings. The URIs of locations are relative, because
// code scanning rejects the schemes http and https. Waived findings are suppressed results. Fingerprints omit values that differ from
// run to run, so that the same finding is the same alert.
func SARIF(w io.Writer, r *conformance.Result, version string) error {
	d := document(r, version)
	run := sarifRun{
		Tool:       sarifTool{Driver: sarifDriver{Name: d.Tool, Version: version, Rules: []sarifRule{}}},
		Artifacts:  []sarifArtifact{},
		Results:    []sarifResult{},
		ColumnKind: "utf16CodeUnits",
		Properties: map[string]any{"target": d.Target},
	}
	invocation := sarifInvocation{
		Successful: d.Verdict != conformance.Untested, Start: d.Started.Format("2006-01-02T15:04:05Z"),
		End: d.Started.Add(r.Duration).Format("2006-01-02T15:04:05Z"),
	}
	if d.Reason != "" {
		invocation.Notifications = append(invocation.Notifications, sarifNotification{"error", sarifText{d.Reason}})
	}
	for _, complaint := range d.Complaints {
		invocation.Notifications = append(invocation.Notifications, sarifNotification{"error", sarifText{"waivers: " + complaint}})
	}
	for _, c := range d.Checks {
		if c.Outcome == conformance.Error {
			invocation.Notifications = append(invocation.Notifications, sarifNotification{"error", sarifText{c.ID + ": " + c.Reason}})
		}
		if len(c.Findings) == 0 {
			continue
		}
		for _, f := range c.Findings {
			run.Results = append(run.Results, run.result(d, c, f))
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(c))
	}
	run.Invocations = []sarifInvocation{invocation}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRuleOf(c Check) sarifRule {
	full := c.Title + "."
	tags := []string{"scim", c.Area, string(c.Level)}
	for _, q := range c.Clauses {
		tags = append(tags, q.ID)
	}
	if len(c.Clauses) > 0 {
		full += fmt.Sprintf(" %s, %s: %s", c.Clauses[0].Section, c.Clauses[0].Strength(), c.Clauses[0].Text)
	}
	help := strings.TrimSpace(c.Why + " " + c.Fix)
	return sarifRule{
		ID:         c.ID,
		Name:       sarifName(c.ID),
		Short:      sarifText{c.Title + "."},
		Full:       sarifText{full},
		Help:       sarifText{help},
		Default:    sarifConfig{sarifLevels[violation(c)]},
		Properties: map[string]any{"tags": tags},
	}
}

// violation returns the outcome of a violation of a check. A step that fails breaks its client.
func violation(c Check) conformance.Outcome {
	if c.Profile != "" {
		return conformance.Fail
	}
	return c.Level.Violation()
}

// sarifName converts an id to the Pascal case that SARIF requires for names.
func sarifName(id string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(id, func(r rune) bool { return r == '.' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// result returns the result for a finding, and adds the line of its location to the artifacts.
func (r *sarifRun) result(d Document, c Check, f Finding) sarifResult {
	out := sarifResult{
		RuleID: c.ID, RuleIndex: len(r.Tool.Driver.Rules), Level: sarifLevels[f.Outcome],
		Message:    sarifText{fmt.Sprintf("%s: expected %s, got %s.", f.What, f.Want, f.Got)},
		Properties: map[string]any{"expected": f.Want, "got": f.Got, "concerns": orEmpty(c.Clients)},
	}
	fingerprinted := f
	if c.Profile != "" && f.Outcome == conformance.Fail {
		fingerprinted.Outcome = conformance.Warn // earlier versions reported steps as warnings; their fingerprints remain
	}
	print := fingerprint(d.Run, c.ID, fingerprinted)
	out.Fingerprints = map[string]string{"finding/v1": print, "primaryLocationLineHash": print}
	// The base URL itself is the artifact of a finding without an exchange.
	uri, line := ".", c.ID+": "+c.Title
	if e := f.Exchange; e != nil {
		out.Request, out.Response = sarifExchange(*e)
		out.Properties["curl"] = f.Curl
		line = e.Method + " " + e.URL
		if u, err := url.Parse(e.URL); err == nil {
			if path, found := strings.CutPrefix(u.EscapedPath(), mustPath(d.Target)+"/"); found && path != "" {
				uri = path
			}
		}
	}
	out.Locations = []sarifLocation{{r.locate(uri, visible(line))}}
	if w := f.Waiver; w != nil {
		out.Suppressions = []sarifSuppression{{"external", strings.TrimSpace(w.Reason + " " + w.Ticket)}}
	}
	return out
}

// locate returns the line of the artifact with the URI. It adds the artifact and the line if they do not exist.
func (r *sarifRun) locate(uri, line string) sarifPhysical {
	i := slices.IndexFunc(r.Artifacts, func(a sarifArtifact) bool { return a.Location.URI == uri })
	if i < 0 {
		i = len(r.Artifacts)
		r.Artifacts = append(r.Artifacts, sarifArtifact{Location: sarifURI{URI: uri}})
	}
	text := &r.Artifacts[i].Contents.Text
	lines := strings.Split(strings.TrimSuffix(*text, "\n"), "\n")
	if *text == "" {
		lines = nil
	}
	n := slices.Index(lines, line)
	if n < 0 {
		n = len(lines)
		*text += line + "\n"
	}
	return sarifPhysical{Artifact: sarifURI{URI: uri, Index: &i}, Region: sarifRegion{StartLine: n + 1, Snippet: sarifText{line}}}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// mustPath returns the path of the base URL, which the run has already parsed.
func mustPath(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// marker matches the names that a run gives to its objects, with the number of the check; identifiers matches ids of any kind.
var (
	marker      = regexp.MustCompile(`scimconf-[a-z0-9]+(-[a-z0-9]+-)?`)
	identifiers = regexp.MustCompile(`[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*`)
)

func fingerprint(run, check string, f Finding) string {
	what := identifiers.ReplaceAllString(marker.ReplaceAllString(strings.ReplaceAll(f.What, run, ""), ""), "")
	sum := sha256.Sum256([]byte(check + "\x00" + string(f.Outcome) + "\x00" + what))
	return hex.EncodeToString(sum[:16])
}

func sarifExchange(e Exchange) (*sarifRequest, *sarifResponse) {
	request := &sarifRequest{Protocol: "http", Version: "1.1", Target: e.URL, Method: e.Method, Headers: sarifHeaders(e.RequestHeaders)}
	if e.RequestBody != "" {
		request.Body = &sarifText{e.RequestBody}
	}
	response := &sarifResponse{Protocol: "http", Version: "1.1", StatusCode: e.Status, Reason: http.StatusText(e.Status),
		Headers: sarifHeaders(e.ResponseHeaders)}
	if e.Status == 0 {
		return request, &sarifResponse{Missing: true}
	}
	if e.ResponseBody != "" {
		response.Body = &sarifText{e.ResponseBody}
	}
	return request, response
}

func sarifHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		out[name] = strings.Join(h[name], ", ")
	}
	return out
}
