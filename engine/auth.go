package engine

import "cmp"

// Scheme determines how the secret is sent to the target.
type Scheme string

// The schemes. The zero value means Bearer.
const (
	Bearer Scheme = "BEARER" // Authorization: Bearer <secret>
	Raw    Scheme = "RAW"    // Authorization: <secret>
	Basic  Scheme = "BASIC"  // the secret is user:password, sent base64-encoded (RFC 7617)
	Header Scheme = "HEADER" // <Auth.Header>: <secret>
	// ClientCredentials fetches access tokens from Auth.OAuth with the secret of the client, and sends them like Bearer.
	ClientCredentials Scheme = "CLIENT_CREDENTIALS"
)

// Auth holds the credentials for a target. Without a secret no credentials are sent. Values can be compared with ==.
type Auth struct {
	Scheme Scheme
	Secret string
	Header string // name of the header that carries the secret; scheme Header only
	OAuth  OAuth  // scheme ClientCredentials only
}

// String returns a description without the secret, so that a printed Target does not disclose it.
func (a Auth) String() string {
	if a.Secret == "" {
		return "no credentials"
	}
	return string(cmp.Or(a.Scheme, Bearer)) + " [redacted]"
}

// GoString returns the same as String, for %#v.
func (a Auth) GoString() string { return a.String() }

// TLS holds the settings for https targets. Its zero value uses the system's certificate authorities, no client certificate
// and at least TLS 1.2.
type TLS struct {
	// CA holds PEM certificates that are trusted instead of the system's.
	CA string
	// Certificate is the client certificate with its chain, Key its private key, both PEM. Set both or neither.
	Certificate, Key string
	// MinVersion is "1.2" or "1.3". Default: "1.2". Older versions are not supported (RFC 8996).
	MinVersion string
}

// String returns a description without the key, so that a printed Target does not disclose it.
func (t TLS) String() string {
	switch {
	case t == TLS{}:
		return "system defaults"
	case t.Key != "":
		return "own settings, client certificate [redacted]"
	default:
		return "own settings"
	}
}

// GoString returns the same as String, for %#v.
func (t TLS) GoString() string { return t.String() }

// OAuth configures the token endpoint for the client credentials grant (RFC 6749 section 4.4).
type OAuth struct {
	TokenURL string
	ClientID string
	Scope    string // separated by spaces; may be empty
	// InBody sends the client's id and secret as form fields (client_secret_post) instead of as HTTP Basic credentials
	// (client_secret_basic, which RFC 6749 section 2.3.1 prefers).
	InBody bool
}
