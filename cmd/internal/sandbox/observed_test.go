package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/observed"
)

// The suite runs through the recorder like any other client. The suite and the checks on the recorded traffic find no error in the
// reference server, and no response violates a rule for single documents.
func TestReferenceServer_CleanTraffic(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(scimHandler(t))
	defer server.Close()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	recorder, err := observed.NewRecorder(server.URL, observed.Options{Transport: transport})
	require.NoError(t, err)
	front := httptest.NewServer(recorder)
	defer front.Close()
	selected, err := conformance.Selection{Only: []string{"traffic", "discovery", "create", "list", "bulk", "groups", "errors"}}.Apply(
		checks.All())
	require.NoError(t, err)
	client := &http.Transport{}
	result, err := conformance.Run(t.Context(), conformance.Target{URL: front.URL, Token: scimToken, Transport: client},
		conformance.Options{Checks: selected})
	require.NoError(t, err)
	require.Equal(t, conformance.Clean, result.Verdict, result.Reason)
	client.CloseIdleConnections()
	front.Close()

	exchanges := recorder.Exchanges()
	require.Len(t, exchanges, result.Requests)
	verdict := observed.Judge(recorder.Target(), exchanges, observed.Checks(observed.Server))
	for _, c := range verdict.Checks {
		require.NotContains(t, []conformance.Outcome{conformance.Fail, conformance.Warn}, c.Outcome, "%s: %+v", c.Check.ID, c.Findings)
	}
	judged := 0
	for _, x := range exchanges {
		if x.ResponseBody == "" || x.Cut || x.Method == http.MethodHead {
			continue
		}
		judged++
		report := lint.Lint([]byte(x.ResponseBody), lint.Options{From: lint.Server, Partial: true})
		for _, f := range report.Findings {
			asSent := f.Rule.ID == "resource.email" // the suite itself sends an invalid email address, which the server stores
			require.True(t, asSent || f.Outcome() == conformance.Info, "%s %s: %+v", x.Method, x.Path, f)
		}
	}
	require.Positive(t, judged)
}
