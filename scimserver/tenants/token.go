package tenants

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scimserver"
)

// Token is a bearer token of one tenant. It contains only the digest of the value.
type Token struct {
	Digest   [sha256.Size]byte // SHA-256
	ReadOnly bool
	Expires  time.Time // zero: never
	Me       string    // id of the User that the token belongs to, which is the resource at /Me; "" if the token belongs to no user
}

// NewToken returns the token with that value. It allows everything and never expires.
func NewToken(value string) Token { return Token{Digest: sha256.Sum256([]byte(value))} }

// The parts of a token's string form.
const (
	digestPrefix  = "sha256:"
	readOnlyPart  = "read-only"
	expiresPrefix = "expires="
	mePrefix      = "me="
)

// maxToken is the maximum length of a token's string form in bytes.
const maxToken = 4 << 10

// ParseToken reads the string form of a token: its value, or "sha256:" and the 64 hexadecimal digits of its SHA-256, followed by any of
// ";read-only", ";expires=TIME" (RFC 3339) and ";me=ID", the id of a user. Errors do not contain the value.
func ParseToken(text string) (Token, error) {
	if len(text) > maxToken {
		return Token{}, fmt.Errorf("a token has more than %d bytes", maxToken)
	}
	parts := strings.Split(text, ";")
	t, err := parseValue(parts[0])
	if err != nil {
		return Token{}, err
	}
	for i, part := range parts[1:] {
		if err := t.option(part); err != nil {
			return Token{}, fmt.Errorf("options after a token's first semicolon: part %d %w", i+1, err)
		}
	}
	return t, nil
}

// Value returns the value in a token's string form, which clients send as bearer token, or "" if the string form contains only the digest.
func Value(text string) string {
	value, _, _ := strings.Cut(text, ";")
	if strings.HasPrefix(value, digestPrefix) {
		return ""
	}
	return value
}

func parseValue(value string) (Token, error) {
	if digits, ok := strings.CutPrefix(value, digestPrefix); ok {
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != sha256.Size {
			return Token{}, fmt.Errorf("%s must be followed by the %d hexadecimal digits of a token's SHA-256", digestPrefix,
				hex.EncodedLen(sha256.Size))
		}
		return Token{Digest: [sha256.Size]byte(sum)}, nil
	}
	if value == "" {
		return Token{}, errors.New("a token is empty")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Token{}, errors.New("a token has characters that are not valid in an Authorization header: use visible ASCII without spaces")
	}
	return NewToken(value), nil
}

// option reads one part after the value. Its errors do not contain the part, because the part could belong to the value.
func (t *Token) option(part string) error {
	switch {
	case part == readOnlyPart:
		t.ReadOnly = true
	case strings.HasPrefix(part, expiresPrefix):
		at, err := time.Parse(time.RFC3339, part[len(expiresPrefix):])
		if err != nil {
			return errors.New("is expires= without a time such as 2026-12-01T00:00:00Z")
		}
		t.Expires = at
	case strings.HasPrefix(part, mePrefix) && len(part) > len(mePrefix):
		t.Me = part[len(mePrefix):]
	default:
		return fmt.Errorf("is not one of %s, %sTIME, %sID", readOnlyPart, expiresPrefix, mePrefix)
	}
	return nil
}

// String returns a string that [ParseToken] reads as this token. It contains the digest in place of the value.
func (t Token) String() string {
	text := digestPrefix + hex.EncodeToString(t.Digest[:])
	if t.ReadOnly {
		text += ";" + readOnlyPart
	}
	if !t.Expires.IsZero() {
		text += ";" + expiresPrefix + t.Expires.Format(time.RFC3339Nano)
	}
	if t.Me != "" {
		text += ";" + mePrefix + t.Me
	}
	return text
}

// idLength is the length in bytes of the prefix of the digest that identifies a token.
const idLength = 6

// ID returns an id of the token that does not disclose it: the first 12 hexadecimal digits of its SHA-256, as in the access log of
// scimserver/observe.
func (t Token) ID() string { return hex.EncodeToString(t.Digest[:idLength]) }

// uniqueTokens rejects two tokens with the same value, because only one of them would take effect, depending on their order.
func uniqueTokens(tokens []Token) error {
	for i, t := range tokens {
		if slices.ContainsFunc(tokens[:i], func(other Token) bool { return other.Digest == t.Digest }) {
			return fmt.Errorf("token %s occurs twice", t.ID())
		}
	}
	return nil
}

// verifier returns a verifier for the tokens. The Subject of a token with Me is a User.
func verifier(now func() time.Time, tokens []Token) scimserver.TokenVerifier {
	kept := make([]scimserver.Token, len(tokens))
	for i, t := range tokens {
		kept[i] = scimserver.Token{Digest: t.Digest, Expires: t.Expires, Grant: scimserver.Grant{ReadOnly: t.ReadOnly}}
		if t.Me != "" {
			kept[i].Subject = scimserver.Subject{Type: userType, ID: t.Me}
		}
	}
	return scimserver.Tokens(now, kept...)
}

const userType = "User"
