package fido

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Party is the relying party.
type Party struct {
	// ID is the domain that credentials are bound to, without a port.
	ID string
	// Origin is the required origin of responses: scheme, host, and the port unless it is the default.
	Origin string
}

// PartyAt returns the party with a public base URL such as http://localhost:8080.
func PartyAt(base string) (Party, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Party{}, fmt.Errorf("fido: %w", err)
	}
	usual, known := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if !known || u.Hostname() == "" {
		return Party{}, fmt.Errorf("fido: %q is not a base URL of web pages", base)
	}
	host := strings.ToLower(u.Host)
	return Party{
		ID:     strings.ToLower(u.Hostname()),
		Origin: u.Scheme + "://" + strings.TrimSuffix(strings.TrimSuffix(host, ":"+usual), ":"),
	}, nil
}

// challengeSize is the number of random bytes in a challenge (section 13.4.3 requires at least 16).
const challengeSize = 32

// NewChallenge returns a random challenge in base64url without padding, the encoding that the client data uses.
func NewChallenge() string {
	challenge := make([]byte, challengeSize)
	rand.Read(challenge) // rand.Read returns no error: on a failure, it crashes the process
	return base64.RawURLEncoding.EncodeToString(challenge)
}

var errBase64 = errors.New("fido: not base64")

// Decode decodes base64 in either alphabet, with or without padding, because clients use all of these. An empty string is an error.
func Decode(text string) ([]byte, error) {
	bare := strings.TrimRight(text, "=")
	if bare == "" || len(text)-len(bare) > 2 || strings.ContainsAny(text, "\r\n") {
		return nil, errBase64
	}
	encoding := base64.RawURLEncoding
	if strings.ContainsAny(bare, "+/") {
		encoding = base64.RawStdEncoding
	}
	data, err := encoding.DecodeString(bare)
	if err != nil {
		return nil, errBase64
	}
	return data, nil
}
