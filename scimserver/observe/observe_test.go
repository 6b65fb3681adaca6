package observe_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver/observe"
)

// teapot returns 418 with four bytes, or closes the connection.
var teapot = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Query().Get("do") {
	case "cut":
		panic(http.ErrAbortHandler)
	case "nothing":
	case "hints":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	default:
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("teas"))
	}
})

// serve returns the address of a server and a function that stops the server and returns its log. The log is complete only after the stop,
// because a record is written after the response.
func serve(t *testing.T, o observe.Options) (base string, end func() string) {
	t.Helper()
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	server := httptest.NewServer(observe.Wrap(teapot, o))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	return server.URL, func() string { server.Close(); return log.String() }
}

func ask(t *testing.T, method, url string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("secret body"))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res
}

func TestWrap_LogsRequestWithoutSecrets(t *testing.T) {
	base, end := serve(t, observe.Options{Provider: "chat", Prefix: "/scim/v2"})
	res := ask(t, "PUT", base+"/scim/v2/Users/secret-id?filter=secret", "Authorization", "Bearer secret-token", "X-Request-Id", "r-1")
	require.Equal(t, "r-1", res.Header.Get("X-Request-Id"))
	log := end()
	var record map[string]any
	require.NoError(t, json.Unmarshal([]byte(log), &record))
	require.NotContains(t, log, "secret")
	require.Positive(t, record["duration"])
	delete(record, "duration")
	delete(record, "time")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "scim request", "provider": "chat", "method": "PUT", "route": "/Users/{id}", "status": 418.0, "bytes": 4.0,
		"request_id": "r-1", "token_id": "930bbdc51b6a",
	}, record)
}

// TestWrap_RouteTemplates checks that the handler logs each path as one of a bounded set of route templates.
func TestWrap_RouteTemplates(t *testing.T) {
	for path, want := range map[string]string{
		"/scim/v2":                       "/",
		"/scim/v2/":                      "/",
		"/scim/v2/Users":                 "/Users",
		"/scim/v2/Users/":                "/Users",
		"/scim/v2/Users/abc":             "/Users/{id}",
		"/scim/v2/Users/.search":         "/Users/.search",
		"/scim/v2/.search":               "/.search",
		"/scim/v2/Printers/1":            "/Printers/{id}",
		"/scim/v2/Schemas/urn:x":         "/Schemas/{id}",
		"/scim/v2/ServiceProviderConfig": "/ServiceProviderConfig",
		"/scim/v2/wp-login.php":          "other",
		"/scim/v2/Users/a/b":             "other",
		"/scim/v2x/Users":                "other",
		"/scim/v2/v2/Users":              "/Users",
		"/scim/v2/v9/Users":              "other",
		"/elsewhere":                     "other",
	} {
		base, end := serve(t, observe.Options{Prefix: "/scim/v2", Endpoints: []string{"Users", "Printers"}})
		ask(t, "GET", base+path)
		var record struct{ Route string }
		require.NoError(t, json.Unmarshal([]byte(end()), &record))
		require.Equal(t, want, record.Route, path)
	}
}

// TestWrap_RequestID checks that the handler uses the request ID of a client only if the ID is short and plain.
func TestWrap_RequestID(t *testing.T) {
	base, _ := serve(t, observe.Options{})
	for given, kept := range map[string]bool{"abc-123": true, "": false, `"quoted"`: false, strings.Repeat("x", 65): false} {
		got := ask(t, "GET", base+"/Users", "X-Request-Id", given).Header.Get("X-Request-Id")
		require.NotEmpty(t, got)
		require.Equal(t, kept, got == given, given)
	}
}

func TestMetrics_CountResponsesBytesAborts(t *testing.T) {
	metrics := observe.NewMetrics()
	base, end := serve(t, observe.Options{Metrics: metrics})
	ask(t, "GET", base+"/Users")
	ask(t, "GET", base+"/Users?do=hints")
	ask(t, "GET", base+"/Groups?do=nothing")
	ask(t, "BREW", base+"/Users")
	require.Nil(t, ask(t, "POST", base+"/Users?do=cut"))
	log := end()
	page := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`scim_requests_total{method="GET",provider="default",route="/Users",status="418"} 2`,
		`scim_requests_total{method="GET",provider="default",route="/Groups",status="200"} 1`,
		`scim_requests_total{method="other",provider="default",route="/Users",status="418"} 1`,
		`scim_requests_total{method="POST",provider="default",route="/Users",status="0"} 1`,
		`scim_response_bytes_total{method="GET",provider="default",route="/Users"} 4`,
		`scim_request_duration_seconds_count{method="GET",provider="default",route="/Users"} 2`,
		`scim_requests_in_flight{provider="default"} 0`,
	} {
		require.Contains(t, page.Body.String(), want+"\n")
	}
	require.Contains(t, log, `"aborted":true`)
}
