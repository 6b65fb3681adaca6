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

// Token is a bearer token with what it allows.
type Token struct {
	Value string
	// Digest is the SHA-256 of the value, for who does not keep the value itself. It counts when Value is empty.
	Digest [sha256.Size]byte
	// Expires is when the token stops being good. Defaults to never.
	Expires time.Time
	Grant
}

// StaticTokens accepts each of the given tokens for everything and for ever. See [Tokens].
func StaticTokens(values ...string) TokenVerifier {
	tokens := make([]Token, len(values))
	for i, value := range values {
		tokens[i].Value = value
	}
	return Tokens(nil, tokens...)
}

// Tokens accepts each of the given tokens until it expires. It keeps their SHA-256 only and compares in constant time. The
// empty token is never accepted. Of several with one value the last counts. now is the clock; it defaults to time.Now.
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
