package conformance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// A Target is the service provider under test.
type Target struct {
	// URL is the base URL, for example https://example.com/scim/v2. A query or fragment is an error.
	URL string
	// Token is sent as a bearer token. Default: none.
	Token string
	// Header is sent with every request, for example a tenant header or an Authorization header of another scheme.
	Header http.Header
	// Authorize, if set, returns the value of the Authorization header for the next request, for credentials that expire during a run. It
	// should cache the value. If it returns an error, the request is not sent and counts as a request without a response.
	Authorize func(ctx context.Context) (string, error)
	// Transport sends the requests. Default: a clone of http.DefaultTransport. A transport that calls an http.Handler runs the suite without a
	// network.
	Transport http.RoundTripper
}

// parse validates the base URL and returns it without a trailing slash.
func (t Target) parse() (*url.URL, error) {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return nil, &UsageError{Problem: fmt.Sprintf("%q is not an absolute http or https URL such as https://example.com/scim/v2", t.URL)}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, &UsageError{Problem: fmt.Sprintf("%q is not an absolute http or https URL such as https://example.com/scim/v2", t.URL)}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, &UsageError{Problem: "the base URL must not have a query or a fragment"}
	case u.User != nil:
		return nil, &UsageError{Problem: "credentials do not belong in the URL: pass them as a token or a header"}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// hasCredentials reports whether requests carry an Authorization header.
func (t Target) hasCredentials() bool {
	return t.Token != "" || t.Authorize != nil || t.Header.Get("Authorization") != ""
}

// isLoopback reports whether the name or address of a host is a loopback one. Names are not resolved.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
