package scheme_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/scheme"
)

// get sends a request with a Transport.
func get(t *testing.T, target string, next http.RoundTripper) (*http.Response, error) {
	t.Helper()
	transport := scheme.New(next)
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	return transport.RoundTrip(req)
}

// closing is a TLS server that sends nothing to a client without TLS, as that of Node.js.
func closing(t *testing.T) string {
	t.Helper()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	return accepting(t, func(conn net.Conn) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(conn, first); err != nil || first[0] != 22 { // 22: the record of a TLS handshake
			return
		}
		up, err := new(net.Dialer).DialContext(context.Background(), "tcp", secure.Listener.Addr().String())
		if err != nil {
			return
		}
		defer up.Close()
		_, _ = up.Write(first)
		var sent sync.WaitGroup
		sent.Go(func() { _, _ = io.Copy(up, conn); _ = up.Close() })
		_, _ = io.Copy(conn, up)
		_ = conn.Close() // ends the copy in the other direction
		sent.Wait()
	})
}

// accepting returns the address of a server that calls serve for each connection, and closes the connection afterwards.
func accepting(t *testing.T, serve func(conn net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	return l.Addr().String()
}

func TestTransport_HTTPForTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	host := server.Listener.Addr().String()
	silent := closing(t)
	for name, host := range map[string]string{"a response with 400": host, "a closed connection": silent} {
		t.Run(name, func(t *testing.T) {
			_, err := get(t, "http://"+host+"/scim/v2/Users", nil)
			require.EqualError(t, err, fmt.Sprintf("the URL begins with http://, but the server at %s uses TLS: begin it with https://", host))
		})
	}
}

func TestTransport_HTTPSWithoutTLS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for name, host := range map[string]string{
		"a response with a status line": server.Listener.Addr().String(), "a response without": replying(t, "<!DOCTYPE HTML>"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(t, "https://"+host+"/scim/v2/Users", nil)
			require.EqualError(t, err,
				fmt.Sprintf("the URL begins with https://, but the server at %s does not use TLS: begin it with http://", host))
			require.NotErrorAs(t, err, new(tls.RecordHeaderError))
		})
	}
}

// replying returns the address of a server that sends a text to each client and closes the connection.
func replying(t *testing.T, text string) string {
	t.Helper()
	return accepting(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = io.WriteString(conn, text)
	})
}

// TestTransport_OtherErrors checks that a response and an error of another kind are returned unchanged.
func TestTransport_OtherErrors(t *testing.T) {
	long := "rejected" + strings.Repeat(".", 10_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, long)
	}))
	t.Cleanup(server.Close)
	res, err := get(t, server.URL, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, long, string(body))

	for _, want := range []error{io.EOF, errors.New("no route to host")} {
		_, err = get(t, server.URL, failing{want})
		require.ErrorIs(t, err, want)
		_, isScheme := errors.AsType[*scheme.Error](err)
		require.False(t, isScheme, "the server does not use TLS")
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestAddress_DefaultPorts(t *testing.T) {
	for text, want := range map[string]string{
		"http://a": "a:80", "https://a/x": "a:443", "https://a:8443": "a:8443", "http://[::1]": "[::1]:80",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, scheme.Address(u, u.Scheme))
	}
}
