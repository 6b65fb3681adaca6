package conformance

import (
	"net/http"
	"net/url"
	"strings"
)

// Credentials select how a request authenticates.
type Credentials struct {
	// Kind is one of: "" to send the configured credentials; "none" to send none; "other" to send the header value in Authorization;
	// "invalid" is "other" with a value that is not secret; "spelled" to send the configured credentials with Authorization as the name of
	// the scheme; "query" to send the configured token as a query parameter.
	Kind          string
	Authorization string
}

// WithoutCredentials sends no Authorization header.
func WithoutCredentials() Credentials { return Credentials{Kind: "none"} }

// OtherCredentials sends the given Authorization header in place of the configured one.
func OtherCredentials(authorization string) Credentials {
	return Credentials{Kind: "other", Authorization: authorization}
}

// InvalidCredentials is OtherCredentials for a value that no target accepts. Reports contain the value instead of a placeholder, so that
// their curl commands repeat the request.
func InvalidCredentials(authorization string) Credentials {
	return Credentials{Kind: "invalid", Authorization: authorization}
}

// SpelledCredentials sends the configured credentials with another spelling of their scheme, such as "bearer".
func SpelledCredentials(scheme string) Credentials {
	return Credentials{Kind: "spelled", Authorization: scheme}
}

// QueryCredentials sends the configured token as the query parameter access_token, and no Authorization header.
func QueryCredentials() Credentials { return Credentials{Kind: "query"} }

// A Request is one HTTP request to the target.
type Request struct {
	Method string
	// Path is relative to the base URL and starts with a slash. An id in the path must be escaped; [Created.Path] returns
	// an escaped path.
	Path  string
	Query url.Values
	// Body is sent unchanged if it is a []byte, and as JSON otherwise. nil means no body.
	Body any
	// Header overrides the default headers: Accept and Content-Type application/scim+json.
	Header      http.Header
	Credentials Credentials
	// Smaller is the response to a smaller request of the same kind. The timeout of the request is at least 16 times the time that this
	// response took, so that a busy target gets as much more time as it needs. nil means the timeout of the run.
	Smaller *Response

	first string // how the request failed before; empty unless the request is a repeat
	// repeated is called before the request is repeated because it got no response.
	repeated func()
	short    bool // the request has a short timeout, because it only tests whether the target responds
	patient  bool // the request has a long timeout, because it repeats one that has timed out
}

func (r Request) name() string { return r.Method + " " + r.Path }

// respell changes how a request sends the configured credentials.
func (c Credentials) respell(r *http.Request) {
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch c.Kind {
	case "spelled":
		r.Header.Set("Authorization", c.Authorization+" "+value)
	case "query":
		r.Header.Del("Authorization")
		query := r.URL.Query()
		query.Set("access_token", value)
		r.URL.RawQuery = query.Encode()
	}
}

func pairs(query []string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		values.Add(query[i], query[i+1])
	}
	return values
}
