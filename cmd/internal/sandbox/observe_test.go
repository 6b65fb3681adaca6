package sandbox_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/serving"
)

func TestMetrics_CountRequestsPerProvider(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, api := startSandbox(t,
		sandbox.Options{Empty: true, Metrics: serving.MetricsOptions{Token: metricsToken}, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	_, err := find(t.Context(), s.Ready().BaseURL+"/t/chat/scim/v2", s.Ready().SCIMToken, "ann@northwind.example")
	require.NoError(t, err)
	eventually(t, "the request is counted", func() bool {
		return strings.Contains(metricsOf(t, api.BaseURL), `scim_requests_total{method="GET",provider="chat",route="/Users",status="200"} 1`)
	})
	require.NoError(t, s.Close(t.Context())) // after Close, the log is complete
	require.Contains(t, log.String(), `"msg":"scim request","provider":"chat"`)
	require.NotContains(t, log.String(), "ann@northwind")
	require.NotContains(t, log.String(), s.Ready().SCIMToken)
}

// TestStoppedServer_FinishesRunningRequests checks that Close lets a running request finish, and that the server rejects new connections.
func TestStoppedServer_FinishesRunningRequests(t *testing.T) {
	t.Parallel()
	s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{
		Listen: "127.0.0.1:0", Quirks: []string{"latency=500ms,p=1"}, Metrics: serving.MetricsOptions{Token: metricsToken},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	base := strings.TrimSuffix(s.URL(), "/scim/v2")
	running := make(chan error, 1)
	go func() {
		_, err := listUsers(context.WithoutCancel(t.Context()), s.URL(), s.Token(), url.Values{})
		running <- err
	}()
	eventually(t, "a request is running", func() bool {
		return strings.Contains(metricsOf(t, base), `scim_requests_in_flight{provider="default"} 1`)
	})
	http.DefaultClient.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	address, err := url.Parse(base)
	require.NoError(t, err)
	eventually(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", address.Host)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case err := <-closed:
		t.Fatalf("the server was closed before the running request received its response: %v", err)
	default:
	}
	require.NoError(t, <-running, "the running request received its response")
	require.NoError(t, <-closed)
	require.NoError(t, s.Close(ctx), "a second call does nothing")
}
