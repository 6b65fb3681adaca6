package conform

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// planFor returns the plan of a run of all checks for the options, on a server with all features and without resources.
func planFor(t *testing.T, opts conformance.Options) *conformance.Plan {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ServiceProviderConfig":
			handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
				"patch":{"supported":true},"bulk":{"supported":true,"maxOperations":50,"maxPayloadSize":65536},
				"filter":{"supported":true,"maxResults":200},"changePassword":{"supported":true},"sort":{"supported":true},
				"etag":{"supported":true},"authenticationSchemes":[]}`)(w, r)
		case "/Users", "/Groups":
			handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0}`)(w, r)
		default:
			openDirectory(w, r)
		}
	}))
	t.Cleanup(server.Close)
	opts.Checks, opts.Order = checks.All(), checks.Order()
	plan, err := conformance.NewPlan(t.Context(), conformance.Target{URL: server.URL, Token: "secret"}, opts)
	require.NoError(t, err)
	require.Empty(t, plan.Reason)
	return plan
}

func TestForecast_Text(t *testing.T) {
	plan := planFor(t, conformance.Options{Rate: 50, Timeout: 5 * time.Minute})
	plan.Interval = 20 * time.Millisecond // the measured interval depends on the load of the machine
	require.Regexp(t, `^About [23],[0-9]00 requests, about [0-9]+ s at 50 requests a second\.\n$`, forecast(plan, 50, 5*time.Minute))
	require.Empty(t, forecast(planFor(t, conformance.Options{Timeout: 5 * time.Minute}), 0, 5*time.Minute), "no rate limit and enough time")

	plan.Interval = 200 * time.Millisecond
	text := forecast(plan, 5, 5*time.Minute)
	require.Regexp(t, `about [0-9]+ min at 5 requests a second`, text)
	require.Contains(t, text, "the time limit of 5m0s (--timeout)")
	require.Regexp(t, `tested:     connection, lookup, create, update, deactivate, delete, [0-9]+ of [0-9]+ checks of must\n`, text)
	require.Regexp(t, `not tested: [0-9]+ of [0-9]+ checks of must, should, interop, may\n`, text)
	require.Regexp(t, `--timeout 1[0-9]m0s suffices`, text)
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(line), 101, line)
	}

	plan.Interval, plan.MaxRequests = 0, 100
	require.Contains(t, forecast(plan, 0, 5*time.Minute), "the budget of 100 requests (--max-requests)")
}

func TestForecast_Rounding(t *testing.T) {
	for n, want := range map[int]string{7: "7", 99: "99", 148: "150", 2_748: "2,700", 9_950: "10,000", 1_234_567: "1,200,000"} {
		require.Equal(t, want, thousands(rounded(n)))
	}
	for d, want := range map[time.Duration]string{0: "1 s", 99 * time.Second: "99 s", 9 * time.Minute: "9 min", 2 * time.Hour: "2.0 h"} {
		require.Equal(t, want, roughly(d))
	}
	for interval, want := range map[time.Duration]string{
		time.Second: "1 request", 200 * time.Millisecond: "5 requests", 5 * time.Second: "0.2 requests",
	} {
		require.Equal(t, want, perSecond(interval))
	}
}
