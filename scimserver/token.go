package scimserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// TokenVerifier verifies bearer tokens (RFC 6750).
type TokenVerifier interface {
	// VerifyToken returns the grant of a valid token, and [ErrBadToken] for any other token. Any other error means that VerifyToken could not
	// verify the token; the response is then 500.
	VerifyToken(ctx context.Context, token string) (Grant, error)
}

// Grant defines what a token allows. The zero value allows everything.
type Grant struct {
	// ReadOnly rejects changes with 403.
	ReadOnly bool
	// Subject is the resource that the token belongs to. Requests to /Me return that resource. Default: no resource, the token belongs to a
	// client.
	Subject Subject
}

// Subject names a resource.
type Subject struct {
	Type string // name of the resource type: "User"
	ID   string
}

// ErrBadToken is returned for tokens that are unknown, expired or revoked.
var ErrBadToken = errors.New("scimserver: the token is not valid")

// Token is a bearer token with its grant.
type Token struct {
	Value string
	// Digest is the SHA-256 of the value, for callers that do not store the value. It is used if Value is empty.
	Digest [sha256.Size]byte
	// Expires is the time at which the token becomes invalid. Zero means never.
	Expires time.Time
	Grant
}

// StaticTokens returns a verifier that accepts each of the given tokens without restriction or expiration. See [Tokens].
func StaticTokens(values ...string) TokenVerifier {
	tokens := make([]Token, len(values))
	for i, value := range values {
		tokens[i].Value = value
	}
	return Tokens(nil, tokens...)
}

// Tokens returns a verifier that accepts each of the given tokens until it expires. The verifier stores only the SHA-256 of each value and
// compares in constant time. It never accepts the empty token. Of several tokens with the same value, it uses the last one. now is the
// clock. Default: time.Now.
func Tokens(now func() time.Time, tokens ...Token) TokenVerifier {
	if now == nil {
		now = time.Now
	}
	kept := tokenList{now: now}
	for _, t := range tokens {
		sum := t.Digest
		if t.Value != "" {
			sum = sha256.Sum256([]byte(t.Value))
		}
		if sum != [sha256.Size]byte{} {
			kept.tokens = append(kept.tokens, hashedToken{sum: sum, expires: t.Expires, grant: t.Grant})
		}
	}
	return kept
}

type tokenList struct {
	now    func() time.Time
	tokens []hashedToken
}

type hashedToken struct {
	sum     [sha256.Size]byte
	expires time.Time
	grant   Grant
}

// VerifyToken implements TokenVerifier.
func (l tokenList) VerifyToken(_ context.Context, token string) (Grant, error) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range l.tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(l.tokens[i].sum[:], sum[:]), i, found)
	}
	if found < 0 {
		return Grant{}, ErrBadToken
	}
	t := l.tokens[found]
	if !t.expires.IsZero() && !l.now().Before(t.expires) {
		return Grant{}, ErrBadToken
	}
	return t.grant, nil
}

// authenticate checks the Authorization header of a request. For invalid credentials the error is an *authError.
func (s *server) authenticate(r *http.Request) (Grant, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return Grant{}, &authError{detail: "a bearer token is required"}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Grant{}, &authError{detail: "the Authorization header must contain exactly one bearer token"}
	}
	grant, err := s.tokens.VerifyToken(r.Context(), token)
	if errors.Is(err, ErrBadToken) {
		return Grant{}, &authError{code: "invalid_token", detail: "the bearer token is not valid"}
	}
	return grant, err
}

// permits reports whether the grant allows a request. With ReadOnly, a search is allowed, although it is a POST.
func (g Grant) permits(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return !g.ReadOnly || strings.HasSuffix(r.URL.Path, "/.search")
}

// authError is the error for a 401 response. code is an error code of RFC 6750 section 3.1; it is empty if the request had no token.
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
