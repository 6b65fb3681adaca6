package connect_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
)

// inner is a secret in the responses of a server that the administrator may not read.
const inner = "1nner-secret"

// raw starts a server that sends the same bytes to every connection.
func raw(t *testing.T, bytes string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-served })
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, bytes)
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// responder starts a server that sends the same response to every request.
func responder(t *testing.T, status int, mediaType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Location", "/"+inner)
		w.Header().Set("WWW-Authenticate", "Bearer realm="+inner)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// secured starts a server with a certificate and without a handler.
func secured(t *testing.T, certificate, key string) string {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes are expected
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestTest_QuotesNoResponse(t *testing.T) {
	hidden := newAuthority(t)
	_, _, certificate, key := hidden.issue(inner+".example", false)
	secure := secured(t, certificate, key)
	cases := map[string]struct{ url, says string }{
		"a page":                {responder(t, 200, "text/html", "<b>"+inner), "200: the response is text/html, not SCIM"},
		"a page as an error":    {responder(t, 500, "text/html", "<b>"+inner), "500: expected 200"},
		"a text":                {responder(t, 200, "text/plain", inner), "200: the response is text/plain, not SCIM"},
		"an invalid media type": {responder(t, 200, inner+" "+inner, inner), "200: the response is of undeclared type, not SCIM"},
		"JSON without SCIM": {responder(t, 200, "application/json", `{"password":"`+inner+`","detail":"`+inner+`"}`),
			"200: the response is not a ListResponse"},
		"an error without SCIM": {responder(t, 401, "application/json", `{"detail":"`+inner+`","error":"`+inner+`"}`), "401: expected 200"},
		"an array": {responder(t, 200, "application/json", `["`+inner+`"]`),
			"200: the response is not a JSON object (error at byte 0)"},
		"a repeated member": {responder(t, 200, "application/json", `{"`+inner+`":1,"`+inner+`":2}`),
			"the response is not a JSON object (error at byte 18)"},
		"half an object":          {responder(t, 200, "application/json", `{"a":"`+inner+`"`), "the response is not a JSON object"},
		"a redirection":           {responder(t, 302, "text/html", inner), "302: the target redirects"},
		"no HTTP":                 {raw(t, inner+" SSH-2.0\r\n\r\n"), "no valid HTTP response"},
		"an invalid status":       {raw(t, "HTTP/1.1 "+inner+"\r\n\r\n"), "no valid HTTP response"},
		"an invalid HTTP version": {raw(t, "HTTP/"+inner+" 200 OK\r\n\r\n"), "no valid HTTP response"},
		"an invalid header":       {raw(t, "HTTP/1.1 200 OK\r\n"+inner+"\r\n\r\n"), "no valid HTTP response"},
		"an invalid length":       {raw(t, "HTTP/1.1 200 OK\r\nContent-Length: "+inner+"\r\n\r\n"), "no valid HTTP response"},
		"an invalid encoding":     {raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+inner+"\r\n\r\n"), "no valid HTTP response"},
		"no TLS":                  {strings.Replace(raw(t, inner+"\r\n"), "http:", "https:", 1), "the server does not use TLS"},
		"HTTP without TLS": {strings.Replace(raw(t, "HTTP/1.0 200 "+inner+"\r\n\r\n"), "http:", "https:", 1),
			"the server does not use TLS"},
		"an unknown certificate": {secure, "tls: failed to verify certificate: x509: certificate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			network := &connect.Network{}
			t.Cleanup(network.CloseIdleConnections)
			client, err := connect.New(connect.Config{BaseURL: c.url, Network: network})
			require.NoError(t, err)
			err = client.Test(t.Context())
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), inner)
			if err := client.Do(t.Context(), users).Err; err != nil {
				require.NotContains(t, err.Error(), inner, "the error of a sequence does not quote the response")
			}

			client, err = connect.New(connect.Config{BaseURL: "https://target.example.com", Network: network, Auth: engine.Auth{
				Scheme: engine.ClientCredentials, Secret: "s", OAuth: engine.OAuth{TokenURL: c.url, ClientID: "me"},
			}})
			require.NoError(t, err)
			err = client.Test(t.Context())
			require.ErrorContains(t, err, "no access token from "+c.url)
			require.NotContains(t, err.Error(), inner, "the error of a token request does not quote the response")
		})
	}
	other, err := connect.New(connect.Config{BaseURL: secure, TLS: engine.TLS{CA: hidden.PEM}})
	require.NoError(t, err)
	err = other.Test(t.Context())
	require.ErrorContains(t, err, "x509: certificate is not valid for the host of the URL")
	require.NotContains(t, err.Error(), inner)
}

// TestTest_QuotesDetailOfSCIMError checks that the error quotes the detail of a SCIM error, up to a length.
func TestTest_QuotesDetailOfSCIMError(t *testing.T) {
	test := func(detail string) string {
		body := fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"401","detail":%q,"other":%q}`, detail, inner)
		client, err := connect.New(
			connect.Config{BaseURL: responder(t, 401, "application/scim+json", body), Auth: engine.Auth{Secret: "cl1ent-s3cret"}})
		require.NoError(t, err)
		return client.Test(t.Context()).Error()
	}
	require.Contains(t, test("the token cl1ent-s3cret has expired"), "401: expected 200; error detail: the token [redacted] has expired")
	require.NotContains(t, test("x"), inner)
	require.Less(t, len(test(strings.Repeat("é", 4096))), 700)
}
