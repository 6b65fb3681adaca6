package connect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/scimwright/scimwright/engine"
)

func schemeOf(a engine.Auth) engine.Scheme {
	if a.Scheme == "" {
		return engine.Bearer
	}
	return a.Scheme
}

// secretsOf returns the values that must be disclosed only to the target.
func secretsOf(a engine.Auth) []string {
	if a.Secret == "" {
		return nil
	}
	secrets := []string{a.Secret}
	if _, password, ok := strings.Cut(a.Secret, ":"); ok && schemeOf(a) == engine.Basic {
		secrets = append(secrets, password)
	}
	return secrets
}

// reserved are headers that a client sets itself, or that would change the destination of a request.
var reserved = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Host", "If-Match", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "User-Agent"}

// headerOf returns the header with static credentials; empty if the scheme has no static credentials.
func headerOf(a engine.Auth) (http.Header, error) {
	if schemeOf(a) == engine.ClientCredentials {
		if a.Secret == "" {
			return nil, errors.New("CLIENT_CREDENTIALS requires the client secret")
		}
		return nil, checkOAuth(a.OAuth)
	}
	if a.Secret == "" {
		return nil, nil
	}
	name, value := "Authorization", a.Secret
	switch schemeOf(a) {
	case engine.Bearer:
		value = "Bearer " + a.Secret
	case engine.Raw:
	case engine.Basic:
		if !strings.Contains(a.Secret, ":") {
			return nil, errors.New("the secret for BASIC must have the form user:password")
		}
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Secret))
	case engine.Header:
		name = http.CanonicalHeaderKey(a.Header)
		if !httpguts.ValidHeaderFieldName(a.Header) || slices.Contains(reserved, name) {
			return nil, fmt.Errorf("the header %q cannot carry the secret: set Auth.Header to another name, such as X-API-Key", a.Header)
		}
	case engine.ClientCredentials: // handled above
	default:
		return nil, fmt.Errorf("unknown authorization scheme %q: want BEARER, RAW, BASIC, HEADER or CLIENT_CREDENTIALS", a.Scheme)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return nil, errors.New("the secret contains a control character, which a header cannot carry")
	}
	return http.Header{name: {value}}, nil
}
