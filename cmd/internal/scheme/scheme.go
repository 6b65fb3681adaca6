// Package scheme detects a URL with the wrong scheme: http for a server that uses TLS, or https for one that does not. Every command that
// sends requests to a URL uses its Transport, so that the error says what to type instead.
package scheme

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An Error means that the URL of a request has the wrong scheme. It hides the error of the request, such as io.EOF: callers would take that
// for a connection that broke, and repeat the request.
type Error struct {
	// Host is the host of the URL, with its port if the URL has one.
	Host string
	// TLS reports whether the server uses TLS; the URL then begins with http://.
	TLS bool
}

func (e *Error) Error() string {
	if e.TLS {
		return fmt.Sprintf("the URL begins with http://, but the server at %s uses TLS: begin it with https://", e.Host)
	}
	return fmt.Sprintf("the URL begins with https://, but the server at %s does not use TLS: begin it with http://", e.Host)
}

// handshakeTimeout is the maximum time of the handshake that determines whether a server uses TLS.
const handshakeTimeout = 3 * time.Second

// maxPlain is the maximum size of a response that can be that of a TLS server to a request without TLS.
const maxPlain = 4 << 10

// Transport sends requests with another transport. It returns an *Error for a request whose URL has the wrong scheme.
type Transport struct {
	Next http.RoundTripper

	known sync.Map // hosts, with the result of a handshake
}

// New returns a Transport that sends requests with next; nil means http.DefaultTransport.
func New(next http.RoundTripper) *Transport {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Transport{Next: next}
}

// CloseIdleConnections closes the idle connections of the other transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.Next.RoundTrip(r)
	switch {
	case err != nil && t.wrong(r.Context(), r.URL, err):
		return nil, &Error{Host: r.URL.Host, TLS: r.URL.Scheme == "http"}
	case err != nil:
		return nil, err
	case r.URL.Scheme == "http" && res.StatusCode == http.StatusBadRequest && rejectsPlain(res):
		_ = res.Body.Close()
		return nil, &Error{Host: r.URL.Host, TLS: true}
	}
	return res, nil
}

// wrong reports whether a request failed because of the scheme of its URL.
func (t *Transport) wrong(ctx context.Context, u *url.URL, err error) bool {
	if u.Scheme == "https" {
		return WithoutTLS(err)
	}
	// A server that uses TLS closes the connection, or sends an alert, which is no HTTP response.
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
	if u.Scheme != "http" || !closed && !strings.Contains(err.Error(), "malformed HTTP") || ctx.Err() != nil {
		return false
	}
	secure, known := t.known.Load(u.Host)
	if !known {
		secure = UsesTLS(ctx, u)
		t.known.Store(u.Host, secure)
	}
	return secure == true
}

// WithoutTLS reports whether a request with https or a TLS handshake failed because the response of the server is not a TLS record. It may
// be an HTTP response, also one without a status line.
func WithoutTLS(err error) bool {
	header, isHeader := errors.AsType[tls.RecordHeaderError](err)
	return errors.Is(err, http.ErrSchemeMismatch) || isHeader && !slices.Contains(recordTypes, header.RecordHeader[0])
}

// recordTypes are the types of TLS records (RFC 8446 section 5.1, and RFC 6520 for the last one).
var recordTypes = []byte{20, 21, 22, 23, 24}

// rejectsPlain reports whether a response is that of a TLS server to a request without TLS. It does not change the body for the caller.
func rejectsPlain(res *http.Response) bool {
	body := res.Body
	start, err := io.ReadAll(io.LimitReader(body, maxPlain))
	var rest io.Reader = body
	if err != nil {
		rest = failing{err}
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), body}
	text := strings.ToLower(string(start))
	for _, sign := range []string{
		"client sent an http request to an https server", // Go
		"the plain http request was sent to https port",  // nginx
		"speaking plain http to an ssl-enabled server",   // Apache
		"combination of host and port requires tls",      // Tomcat
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// failing is a reader that returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// UsesTLS reports whether a TLS handshake with the server of a URL begins. The certificate does not matter.
func UsesTLS(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: u.Hostname()}} //nolint:gosec // nothing is sent
	conn, err := dialer.DialContext(ctx, "tcp", Address(u, u.Scheme))
	if err != nil {
		// An alert is a part of TLS, for example that the server requires another version or a certificate of the client.
		_, alert := errors.AsType[tls.AlertError](err)
		return alert || strings.Contains(err.Error(), "remote error: tls:")
	}
	_ = conn.Close()
	return true
}

// Address returns the host and the port of a URL. Without a port, it is that of the scheme.
func Address(u *url.URL, scheme string) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
