package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
)

// unused returns a URL at which no server listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

func TestRemote_UnreachableSuggestsFlags(t *testing.T) {
	for _, args := range [][]string{{"engine", "apps"}, {"engine", "verify", "CRM", "ann"}, {"token", "create"}} {
		code, _, stderr := run(t.Context(), append(args, "--url", unused(t), "--api-token", "t")...)
		require.Equal(t, cli.ExitFailure, code)
		require.Contains(t, stderr, "refused")
		require.Contains(t, stderr, "--ready-file")
		require.Contains(t, stderr, "--url (or SCIMWRIGHT_URL)")
	}
}

func TestRemote_URLFromEnvironment(t *testing.T) {
	answer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[]")) }))
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); answer.Close() })
	nothing := unused(t)

	t.Setenv("SCIMWRIGHT_URL", answer.URL)
	code, _, stderr := run(t.Context(), "engine", "apps", "--api-token", "t")
	require.Equal(t, cli.ExitOK, code, stderr)
	code, _, stderr = run(t.Context(), "engine", "apps", "--api-token", "t", "--url", nothing)
	require.Equal(t, cli.ExitFailure, code, "the flag overrides the variable")
	require.Contains(t, stderr, nothing)

	t.Setenv("SCIMWRIGHT_URL", nothing)
	code, _, stderr = run(t.Context(), "engine", "apps", "--api-token", "t", "--url", answer.URL)
	require.Equal(t, cli.ExitOK, code, stderr)

	t.Setenv("SCIMWRIGHT_URL", "")
	_, _, stderr = run(t.Context(), "engine", "apps", "--help")
	require.Empty(t, stderr)
}
