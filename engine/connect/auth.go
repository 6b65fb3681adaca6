package connect

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Scheme says how the secret becomes the Authorization header.
type Scheme string

// The schemes. The zero value reads as Bearer.
const (
	Bearer Scheme = "BEARER" // Authorization: Bearer <secret>
	Raw    Scheme = "RAW"    // Authorization: <secret>
	Basic  Scheme = "BASIC"  // the secret is user:password, sent base64-encoded (RFC 7617)
	Header Scheme = "HEADER" // <Auth.Header>: <secret>
	// ClientCredentials fetches access tokens from Auth.OAuth with the secret of the client, and sends them as Bearer does.
	ClientCredentials Scheme = "CLIENT_CREDENTIALS"
)

// Auth holds the credentials for a target. Without a secret no credentials are sent. Values can be compared with ==.
type Auth struct {
	Scheme Scheme
	Secret string
	Header string // name of the header that carries the secret; scheme Header only
	OAuth  OAuth  // scheme ClientCredentials only
}

// String hides the secret, so that a printed Target does not tell it.
func (a Auth) String() string {
	if a.Secret == "" {
		return "no credentials"
	}
	return string(cmp.Or(a.Scheme, Bearer)) + " [redacted]"
}

// GoString is String, for %#v.
func (a Auth) GoString() string { return a.String() }

func schemeOf(a Auth) Scheme {
	if a.Scheme == "" {
		return Bearer
	}
	return a.Scheme
}

// secretsOf are the values that must not be told to anybody but the target.
func secretsOf(a Auth) []string {
	if a.Secret == "" {
		return nil
	}
	secrets := []string{a.Secret}
	if _, password, ok := strings.Cut(a.Secret, ":"); ok && schemeOf(a) == Basic {
		secrets = append(secrets, password)
	}
	return secrets
}

// reserved are headers that a client sets itself, or that would change where a request goes.
var reserved = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Host", "If-Match", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent"}

// headerOf returns the header that carries credentials which do not change; it is empty for none.
func headerOf(a Auth) (http.Header, error) {
	if schemeOf(a) == ClientCredentials {
		if a.Secret == "" {
			return nil, errors.New("CLIENT_CREDENTIALS needs the secret of the client")
		}
		return nil, checkOAuth(a.OAuth)
	}
	if a.Secret == "" {
		return nil, nil
	}
	name, value := "Authorization", a.Secret
	switch schemeOf(a) {
	case Bearer:
		value = "Bearer " + a.Secret
	case Raw:
	case Basic:
		if !strings.Contains(a.Secret, ":") {
			return nil, errors.New("the secret for BASIC must have the form user:password")
		}
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Secret))
	case Header:
		name = http.CanonicalHeaderKey(a.Header)
		if !httpguts.ValidHeaderFieldName(a.Header) || slices.Contains(reserved, name) {
			return nil, fmt.Errorf("the header %q cannot carry the secret", a.Header)
		}
	default:
		return nil, fmt.Errorf("unknown authorization scheme %q: want BEARER, RAW, BASIC, HEADER or CLIENT_CREDENTIALS", a.Scheme)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return nil, errors.New("the secret contains a control character, which a header cannot carry")
	}
	return http.Header{name: {value}}, nil
}
