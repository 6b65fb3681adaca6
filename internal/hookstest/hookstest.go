// Package hookstest is an endpoint for inline hooks in tests: it serves TLS with its own CA, records requests, and returns the responses
// that the test sets.
package hookstest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Endpoint is the endpoint of a hook, and of the authorization server that issues the access tokens of hooks.
type Endpoint struct {
	URL string
	// CA is the certificate to trust, in PEM format.
	CA string

	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	calls  []Call
}

// Call is a request that the endpoint received.
type Call struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// New starts an endpoint that returns 204 to every call until Answer sets another response.
func New(t testing.TB) *Endpoint {
	t.Helper()
	e := &Endpoint{t: t}
	e.Answer(JSON(http.StatusNoContent, ""))
	e.server = httptest.NewUnstartedServer(http.HandlerFunc(e.serve))
	e.server.Config.ErrorLog = log.New(io.Discard, "", 0) // discards the errors of TLS handshakes that fail in tests
	e.server.TLS = &tls.Config{}
	e.CA, e.server.TLS.Certificates = certificates(t)
	e.server.StartTLS()
	t.Cleanup(e.server.Close)
	e.URL = e.server.URL
	return e
}

// certificates creates a CA, which it returns in PEM format, and a certificate for the loopback address signed by it.
func certificates(t testing.TB) (string, []tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, public *ecdsa.PublicKey, private *ecdsa.PrivateKey) []byte {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, private)
		require.NoError(t, err)
		return der
	}
	key := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	ours, theirs := key(), key()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA for tests"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed := sign(ca, ca, &ours.PublicKey, ours)
	leaf := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a hook"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, &theirs.PublicKey, ours)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), []tls.Certificate{
		{Certificate: [][]byte{leaf}, PrivateKey: theirs}}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has disconnected
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // so that the handler of the test can read the body again
	e.mu.Lock()
	e.calls = append(e.calls, Call{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body)})
	answer := e.answer
	e.mu.Unlock()
	answer(w, r)
}

// Answer sets the handler of the following calls, and deletes the recorded calls.
func (e *Endpoint) Answer(f http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer, e.calls = f, nil
}

// Calls returns the calls since the last Answer.
func (e *Endpoint) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Call(nil), e.calls...)
}

// Called checks the number of calls since the last Answer and returns them.
func (e *Endpoint) Called(times int) []Call {
	e.t.Helper()
	calls := e.Calls()
	require.Len(e.t, calls, times, "calls of the endpoint")
	return calls
}

// JSON returns a handler that writes a status and a body with the media type of JSON.
func JSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the caller may have disconnected
	}
}

// Hang sends no response until the caller disconnects.
func Hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Endless returns a handler that sends JSON text without an end until the caller disconnects.
func Endless(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		for _, err := io.WriteString(w, `{"a":"`); err == nil; {
			_, err = io.WriteString(w, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
		}
	}
}
