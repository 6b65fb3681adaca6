package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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

// TestCommands_WrongScheme checks that every command that sends requests to a URL says which scheme is right.
func TestCommands_WrongScheme(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(func() { plain.Close(); secure.Close(); http.DefaultClient.CloseIdleConnections() })
	for wrong, right := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):  "http://",
		strings.Replace(secure.URL, "https:", "http:", 1): "https://",
	} {
		for _, args := range [][]string{
			{"engine", "apps", "--api-token", "t", "--url", wrong}, {"engine", "apps", "--api-token", "t", "--url", wrong + "/engine/v1"},
			{"token", "create", "--api-token", "t", "--url", wrong}, {"bench", wrong, "--yes-write"}, {"doctor", "--data", t.TempDir(), wrong},
			{"conform", "run", wrong, "--read-only"}, {"conform", "plan", wrong},
		} {
			t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
				code, stdout, stderr := run(t.Context(), args...)
				require.NotEqual(t, cli.ExitOK, code)
				text := strings.Join(strings.Fields(stdout+stderr), " ")
				require.Contains(t, text, "begin it with "+right)
			})
		}
	}
}

// A request of the sandbox API to the address of serve engine is rejected like one with an unknown token.
func TestRemote_URLOfServiceWithoutPrefix(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"errorCode":"E0000011","errorSummary":"Invalid token provided","errorCauses":[]}`))
	}))
	t.Cleanup(func() { service.Close(); http.DefaultClient.CloseIdleConnections() })
	for _, command := range [][]string{{"console", "link"}, {"token", "create"}, {"engine", "apps"}} {
		code, _, stderr := run(t.Context(), append(command, "--url", service.URL, "--api-token", "t")...)
		require.Equal(t, cli.ExitFailure, code)
		require.Contains(t, stderr, "401 E0000011: Invalid token provided\n", "no JSON")
		require.Contains(t, stderr, "it must end with /engine/v1")
	}
	code, _, stderr := run(t.Context(), "token", "create", "--url", service.URL+"/engine/v1", "--api-token", "t")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "scimwright engine token create")
}
