package report_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// shaky is a result with a request without a response, an unsteady finding and every kind of unsteadiness.
func shaky() *conformance.Result {
	exchange := &wirelog.Exchange{
		At: started, Method: "POST", URL: "https://scim.example.com/v2/Users", RequestBody: `{"userName":"ada"}`, Duration: time.Millisecond,
		RequestHeader: http.Header{"Accept": {"application/scim+json"}}, ResponseHeader: http.Header{},
		Err: "the connection was closed before the end of the response",
	}
	got := exchange.Err + ", also when repeated"
	return &conformance.Result{
		Target: "https://scim.example.com/v2", Run: "scimconf-abcdefgh", Started: started, Requests: 2610, Verdict: conformance.Findings,
		Checks: []conformance.CheckResult{
			{Check: check("create.status", conformance.May, "RFC7644-3.3-05"), Outcome: conformance.Fail, Requests: 2,
				Findings: []conformance.Finding{
					{Outcome: conformance.Fail, What: "robustness: response to POST /Users", Want: "a complete HTTP response", Got: got,
						Exchange: exchange},
					{Outcome: conformance.Info, What: "a passing fault", Want: "this", Got: "that", Unsteady: true},
				}},
		},
		Steadiness: conformance.Steadiness{UnstableOrder: true, Visibility: 300 * time.Millisecond, Requests: 2610, Repeated: 14,
			Repeats: []conformance.Repeat{{Request: "GET /Users", First: "503 Service Unavailable", Second: "200 OK"}}, UnsteadyFindings: 1},
	}
}

// TestReports_ShowMissingResponse checks that every report shows a request without a response and why there is none, and that the reports
// with findings state the unsteadiness.
func TestReports_ShowMissingResponse(t *testing.T) {
	const reason = "the connection was closed before the end of the response"
	want := map[string][]string{
		"text": {reason, "curl -X ", `'{"userName":"ada"}'`, "unsteady: lists: the order changes from request to request",
			"unsteady: writes: visible after 300ms",
			"unsteady: responses: 14 of 2,610 requests failed and had another result when repeated", "unsteady: findings: 1 did not occur again"},
		"markdown": {reason, "curl -X ", "**Unsteady:** lists: the order changes",
			"unsteady: the finding did not occur again in the repeated check"},
		"html":  {"no response: " + reason, "curl -X ", "<b>Unsteady:</b> writes: visible after 300ms"},
		"json":  {`"error": "` + reason, `"curl": "curl -X `, `"first": "503 Service Unavailable"`, `"unsteady": true`},
		"junit": {reason, "curl -X ", "unsteady: the finding did not occur again in the repeated check"},
		"sarif": {reason, `"noResponseReceived": true`, `"method": "POST"`},
		"har":   {`"comment":"` + reason, `"status":0`},
	}
	for name, parts := range want {
		var b bytes.Buffer
		switch name {
		case "text":
			require.NoError(t, report.Text(&b, shaky(), report.TextOptions{All: true}))
		default:
			form, ok := report.WriterNamed(name)
			require.True(t, ok, name)
			require.NoError(t, form.Write(&b, shaky(), "1.0"), name)
		}
		for _, part := range parts {
			require.Contains(t, b.String(), part, name)
		}
	}
	steady := shaky()
	steady.Steadiness = conformance.Steadiness{Requests: 2610}
	var b bytes.Buffer
	require.NoError(t, report.JSON(&b, steady, ""))
	var document map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &document))
	require.NotContains(t, document, "steadiness")
}
