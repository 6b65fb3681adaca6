package fido

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

var errClientData = errors.New("fido: the client data has another type or challenge")

// RegisterUnsigned accepts a registration without checking origin, relying party, user presence or attestation: the client data must be
// that of a registration for the challenge. The credential id comes from the attestation. If the attestation has no id that can be parsed,
// the credential id is a hash of the registration.
func RegisterUnsigned(challenge string, r Registration) (Credential, error) {
	if err := checkType(protocol.CreateCeremony, challenge, r.ClientData); err != nil {
		return Credential{}, err
	}
	answer := protocol.AuthenticatorAttestationResponse{
		AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: r.ClientData},
		AttestationObject:     r.Attestation,
	}
	parsed, err := answer.Parse()
	if err != nil || len(parsed.AttestationObject.AuthData.AttData.CredentialID) == 0 {
		// the hash is unique, because the client data includes the challenge
		id := sha256.Sum256(bytes.Join([][]byte{r.ClientData, r.Attestation}, nil))
		return Credential{ID: id[:]}, nil
	}
	data := parsed.AttestationObject.AuthData
	credential := Credential{ID: bytes.Clone(data.AttData.CredentialID), Counter: data.Counter}
	if _, err := webauthncose.ParsePublicKey(data.AttData.CredentialPublicKey); err == nil {
		credential.PublicKey = bytes.Clone(data.AttData.CredentialPublicKey)
	}
	return credential, nil
}

// AssertUnsigned accepts an assertion without checking origin, relying party, user presence, signature or counter: the client data must
// be that of an assertion for the challenge.
func AssertUnsigned(challenge string, a Assertion) error {
	return checkType(protocol.AssertCeremony, challenge, a.ClientData)
}

// checkType returns an error if client data has another type than want, or another challenge.
func checkType(want protocol.CeremonyType, challenge string, data []byte) error {
	var said struct {
		Type      protocol.CeremonyType `json:"type"`
		Challenge string                `json:"challenge"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return fmt.Errorf("fido: client data: %w", err)
	}
	if said.Type != want || subtle.ConstantTimeCompare([]byte(said.Challenge), []byte(challenge)) != 1 {
		return errClientData
	}
	return nil
}
