package scimserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// TokenVerifier decides which bearer tokens (RFC 6750) are accepted.
type TokenVerifier interface {
	// VerifyToken returns what a token that is good now allows, and [ErrBadToken] for any other. Another error means that
	// it could not be decided, and is answered as an internal error.
	VerifyToken(ctx context.Context, token string) (Grant, error)
}

// Grant is what a token allows. The zero value allows everything.
type Grant struct {
	// ReadOnly refuses changes with 403.
	ReadOnly bool
	// Subject is the resource that the token belongs to, which is what /Me stands for. Defaults to none: the token is a
	// client's own.
	Subject Subject
}

// Subject names a resource.
type Subject struct {
	Type string // name of the resource type: "User"
	ID   string
}

// ErrBadToken is returned for tokens that are unknown, expired or revoked.
var ErrBadToken = errors.New("scimserver: the token is not valid")

// StaticTokens accepts each of the given tokens. It keeps their SHA-256 only and compares in constant time. The empty token
// is never accepted.
func StaticTokens(tokens ...string) TokenVerifier {
	sums := make(staticTokens, 0, len(tokens))
	for _, t := range tokens {
		if t != "" {
			sums = append(sums, sha256.Sum256([]byte(t)))
		}
	}
	return sums
}

type staticTokens [][sha256.Size]byte

// VerifyToken implements TokenVerifier.
func (s staticTokens) VerifyToken(_ context.Context, token string) (Grant, error) {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range s {
		found |= subtle.ConstantTimeCompare(s[i][:], sum[:])
	}
	if found == 0 {
		return Grant{}, ErrBadToken
	}
	return Grant{}, nil
}

// authenticate checks the Authorization header of a request. A refusal is an *authError.
func (s *server) authenticate(r *http.Request) (Grant, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return Grant{}, &authError{detail: "this service wants a bearer token"}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Grant{}, &authError{detail: "the Authorization header does not carry one bearer token"}
	}
	grant, err := s.tokens.VerifyToken(r.Context(), token)
	if errors.Is(err, ErrBadToken) {
		return Grant{}, &authError{code: "invalid_token", detail: "the bearer token is not valid"}
	}
	return grant, err
}

// permits says whether a request is one that the grant allows. A search is a POST that changes nothing.
func (g Grant) permits(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return !g.ReadOnly || strings.HasSuffix(r.URL.Path, "/.search")
}

// authError is a 401. The code is that of RFC 6750 section 3.1; none is given when the request carried no token at all.
type authError struct {
	code, detail string
}

func (e *authError) Error() string { return e.detail }

func (e *authError) reply() *reply {
	challenge := `Bearer realm="SCIM"`
	if e.code != "" {
		challenge += `, error="` + e.code + `"`
	}
	rep := errorReply(&scim.Error{Status: http.StatusUnauthorized, Detail: e.detail})
	rep.header = http.Header{"Www-Authenticate": {challenge}}
	return rep
}
