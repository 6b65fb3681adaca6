package cli_test

import (
	"crypto/tls"
	"io"
	"log"
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
	// Unlike Go's server, those of Node.js and Python close the connection of a client that does not use TLS.
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	silent := &http.Server{Handler: http.NotFoundHandler(), TLSConfig: secure.TLS, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = silent.Serve(tls.NewListener(tlsOnly{closing}, secure.TLS)) }()
	t.Cleanup(func() { _ = silent.Close() })
	for wrong, right := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):  "http://",
		strings.Replace(secure.URL, "https:", "http:", 1): "https://",
		"http://" + closing.Addr().String():               "https://",
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

// tlsOnly is a listener that closes each connection whose first byte is not that of a TLS record of the type handshake.
type tlsOnly struct{ net.Listener }

func (l tlsOnly) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &handshaking{Conn: conn}, nil
}

// handshaking is a connection of which reads fail if it does not begin with a TLS handshake.
type handshaking struct {
	net.Conn
	begun bool
}

func (c *handshaking) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.begun {
		c.begun = true
		if b[0] != 22 {
			_ = c.Close()
			return 0, io.EOF
		}
	}
	return n, err
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
