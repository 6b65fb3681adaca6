// Package fidotest simulates authenticators for tests: WebAuthn authenticators with descope/virtualwebauthn, and a separate U2F token.
package fidotest

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
)

// Browser is an authenticator with one credential, and the page that calls it.
type Browser struct {
	Page          virtualwebauthn.RelyingParty
	Authenticator virtualwebauthn.Authenticator
	Credential    virtualwebauthn.Credential
}

// NewBrowser returns an authenticator with a new credential, on a page of the origin.
func NewBrowser(origin string, kind virtualwebauthn.KeyType) *Browser {
	page := virtualwebauthn.RelyingParty{Origin: origin}
	if u, err := url.Parse(origin); err == nil {
		page.ID = u.Hostname()
	}
	return &Browser{Page: page, Authenticator: virtualwebauthn.NewAuthenticator(), Credential: newCredential(kind)}
}

// ec2KeySize is the size of the COSE encoding of a P-256 public key whose coordinates have 32 bytes each (RFC 9053, section 7.1.1).
const ec2KeySize = 77

// newCredential returns a credential with a new key. The library omits leading zeros of a coordinate, which no genuine authenticator does,
// so that one of 128 keys of P-256 is malformed: newCredential discards these.
func newCredential(kind virtualwebauthn.KeyType) virtualwebauthn.Credential {
	for {
		c := virtualwebauthn.NewCredential(kind)
		if kind != virtualwebauthn.KeyTypeEC2 || len(c.Key.AttestationData()) == ec2KeySize {
			return c
		}
	}
}

// Raw decodes base64url without padding.
func Raw(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

// Create returns the response of navigator.credentials.create.
func (b *Browser) Create(t testing.TB, challenge string) fido.Registration {
	t.Helper()
	answer := virtualwebauthn.CreateAttestationResponse(b.Page, b.Authenticator, b.Credential,
		virtualwebauthn.AttestationOptions{Challenge: Raw(t, challenge)})
	var parsed struct {
		Response struct {
			Attestation string `json:"attestationObject"`
			ClientData  string `json:"clientDataJSON"`
		} `json:"response"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &parsed))
	return fido.Registration{ClientData: Raw(t, parsed.Response.ClientData), Attestation: Raw(t, parsed.Response.Attestation)}
}

// Get returns the response of navigator.credentials.get.
func (b *Browser) Get(t testing.TB, challenge string) fido.Assertion {
	t.Helper()
	answer := virtualwebauthn.CreateAssertionResponse(b.Page, b.Authenticator, b.Credential,
		virtualwebauthn.AssertionOptions{Challenge: Raw(t, challenge)})
	var parsed struct {
		Response struct {
			AuthenticatorData string `json:"authenticatorData"`
			ClientData        string `json:"clientDataJSON"`
			Signature         string `json:"signature"`
		} `json:"response"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &parsed))
	return fido.Assertion{
		ClientData: Raw(t, parsed.Response.ClientData), AuthenticatorData: Raw(t, parsed.Response.AuthenticatorData),
		Signature: Raw(t, parsed.Response.Signature),
	}
}
