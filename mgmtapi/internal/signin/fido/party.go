package fido

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Party is the relying party: who asks authenticators.
type Party struct {
	// ID is the domain that credentials are bound to, without a port.
	ID string
	// Origin is where answers must come from: scheme, host, and port unless it is the usual one.
	Origin string
}

// PartyAt returns the party whose public base is a URL, such as http://localhost:8080.
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

// challengeSize is the number of random bytes in a challenge (section 13.4.3 asks for 16 at least).
const challengeSize = 32

// NewChallenge returns a random challenge in base64url without padding, as it has to stand in the client data.
func NewChallenge() string {
	challenge := make([]byte, challengeSize)
	rand.Read(challenge) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(challenge)
}

var errBase64 = errors.New("fido: not base64")

// Decode reads base64 in either alphabet, with and without padding, since clients send all of these. Empty text is an error.
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
