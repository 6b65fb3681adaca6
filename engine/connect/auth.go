package connect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Scheme says how the secret becomes the Authorization header.
type Scheme string

// The schemes. The zero value reads as Bearer.
const (
	Bearer Scheme = "BEARER" // Authorization: Bearer <secret>
	Raw    Scheme = "RAW"    // Authorization: <secret>
	Basic  Scheme = "BASIC"  // the secret is user:password, sent base64-encoded (RFC 7617)
)

// Auth holds the credentials for a target. Without a secret no Authorization header is sent.
type Auth struct {
	Scheme Scheme
	Secret string
}

// String hides the secret, so that a printed Target does not tell it.
func (a Auth) String() string {
	if a.Secret == "" {
		return "no credentials"
	}
	return string(a.scheme()) + " [redacted]"
}

// GoString is String, for %#v.
func (a Auth) GoString() string { return a.String() }

func (a Auth) scheme() Scheme {
	if a.Scheme == "" {
		return Bearer
	}
	return a.Scheme
}

// secrets are the values that must not be told to anybody but the target.
func (a Auth) secrets() []string {
	if a.Secret == "" {
		return nil
	}
	secrets := []string{a.Secret}
	if _, password, ok := strings.Cut(a.Secret, ":"); ok && a.scheme() == Basic {
		secrets = append(secrets, password)
	}
	return secrets
}

// header returns the value of the Authorization header, "" for none.
func (a Auth) header() (string, error) {
	if a.Secret == "" {
		return "", nil
	}
	if strings.ContainsFunc(a.Secret, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("the secret contains a control character, which a header cannot carry")
	}
	switch a.scheme() {
	case Bearer:
		return "Bearer " + a.Secret, nil
	case Raw:
		return a.Secret, nil
	case Basic:
		if !strings.Contains(a.Secret, ":") {
			return "", errors.New("the secret for BASIC must have the form user:password")
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Secret)), nil
	default:
		return "", fmt.Errorf("unknown authorization scheme %q: want BEARER, RAW or BASIC", a.Scheme)
	}
}
