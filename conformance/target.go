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
	// URL is the base URL, for example https://example.com/scim/v2. Query and fragment are not allowed.
	URL string
	// Token is sent as a bearer token. Defaults to none.
	Token string
	// Header is sent with every request, for example a tenant header or another kind of Authorization.
	Header http.Header
	// Authorize, when set, returns the value of the Authorization header for the next request, for credentials that expire
	// during a run. It should keep what it can reuse. An error counts as no answer from the target.
	Authorize func(ctx context.Context) (string, error)
	// Transport carries the requests. Defaults to a clone of http.DefaultTransport. A transport that serves an http.Handler
	// runs the suite without a network.
	Transport http.RoundTripper
}

// parse validates the base URL and returns it without a trailing slash.
func (t Target) parse() (*url.URL, error) {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return nil, &UsageError{Problem: fmt.Sprintf("%q is not a URL", t.URL)}
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

// hasCredentials tells whether requests carry an Authorization header that can be left out.
func (t Target) hasCredentials() bool {
	return t.Token != "" || t.Authorize != nil || t.Header.Get("Authorization") != ""
}

// isLoopback tells whether a host is this machine by its spelling; names are not resolved.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
