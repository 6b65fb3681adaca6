package fido

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// The signature algorithms of credentials as COSE identifiers, in order of preference.
const (
	ES256 = int(webauthncose.AlgES256) // -7
	RS256 = int(webauthncose.AlgRS256) // -257
)

// Algorithms returns the signature algorithms of credentials in order of preference.
func Algorithms() []int { return []int{ES256, RS256} }

// Credential is the stored data of a registration.
type Credential struct {
	// ID is the credential id.
	ID []byte `json:"id"`
	// PublicKey is the public key in COSE format.
	PublicKey []byte `json:"publicKey"`
	// Counter is the signature counter, 0 for authenticators without a counter.
	Counter uint32 `json:"counter"`
}

// Registration is the response of an authenticator to navigator.credentials.create.
type Registration struct {
	ClientData  []byte // clientDataJSON
	Attestation []byte // attestationObject
}

// Assertion is the response of an authenticator to navigator.credentials.get.
type Assertion struct {
	ClientData        []byte // clientDataJSON
	AuthenticatorData []byte
	Signature         []byte
}

// ErrCounter reports that the signature counter did not increase: the response was replayed, or the authenticator was cloned.
var ErrCounter = errors.New("fido: the signature counter did not increase")

// Register checks a registration for the challenge: client data, relying party, user presence, algorithm and attestation statement.
func (p Party) Register(challenge string, r Registration) (Credential, error) {
	answer := protocol.AuthenticatorAttestationResponse{
		AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: r.ClientData},
		AttestationObject:     r.Attestation,
	}
	parsed, err := answer.Parse()
	if err != nil {
		return Credential{}, fmt.Errorf("fido: registration: %w", err)
	}
	err = parsed.CollectedClientData.Verify(challenge, protocol.CreateCeremony, []string{p.Origin}, nil, nil,
		protocol.TopOriginExplicitVerificationMode, false)
	if err != nil {
		return Credential{}, fmt.Errorf("fido: client data: %w", err)
	}
	var accepted []protocol.CredentialParameter
	for _, algorithm := range Algorithms() {
		accepted = append(accepted, protocol.CredentialParameter{
			Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.COSEAlgorithmIdentifier(algorithm),
		})
	}
	object := &parsed.AttestationObject
	hash := sha256.Sum256(r.ClientData)
	err = object.Verify(p.ID, hash[:], false, true, nil, accepted, protocol.AttestationPolicy{}, protocol.SignaturePolicy{})
	if err != nil {
		return Credential{}, fmt.Errorf("fido: attestation: %w", err)
	}
	data := object.AuthData.AttData
	if len(data.CredentialID) == 0 {
		return Credential{}, errors.New("fido: attestation: the credential has no id")
	}
	if _, err := webauthncose.ParsePublicKey(data.CredentialPublicKey); err != nil {
		return Credential{}, fmt.Errorf("fido: attestation: %w", err)
	}
	return Credential{
		ID: bytes.Clone(data.CredentialID), PublicKey: bytes.Clone(data.CredentialPublicKey), Counter: object.AuthData.Counter,
	}, nil
}

// Assert checks an assertion of the credential for the challenge: client data, relying party, user presence, signature and counter. It
// returns the counter to store.
func (p Party) Assert(c Credential, challenge string, a Assertion) (counter uint32, err error) {
	answer := protocol.CredentialAssertionResponse{
		PublicKeyCredential: protocol.PublicKeyCredential{
			Credential: protocol.Credential{ID: base64.RawURLEncoding.EncodeToString(c.ID), Type: string(protocol.PublicKeyCredentialType)},
			RawID:      c.ID,
		},
		AssertionResponse: protocol.AuthenticatorAssertionResponse{
			AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: a.ClientData},
			AuthenticatorData:     a.AuthenticatorData, Signature: a.Signature,
		},
	}
	parsed, err := answer.Parse()
	if err != nil {
		return 0, fmt.Errorf("fido: assertion: %w", err)
	}
	err = parsed.Verify(challenge, p.ID, "", []string{p.Origin}, nil, nil, protocol.TopOriginExplicitVerificationMode,
		false, false, true, c.PublicKey, protocol.SignaturePolicy{})
	if err != nil {
		return 0, fmt.Errorf("fido: assertion: %w", err)
	}
	counter = parsed.Response.AuthenticatorData.Counter
	if counter <= c.Counter && (counter != 0 || c.Counter != 0) { // both 0: the authenticator does not count
		return 0, ErrCounter
	}
	return counter, nil
}
