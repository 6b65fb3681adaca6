package u2f

import (
	"bytes"
	"crypto/sha256"
)

// RegisterUnsigned accepts a registration without checking type, origin or signature: the client data must be for the challenge. The key
// handle is the one in the registration data if that is a registration message, otherwise a hash.
func RegisterUnsigned(challenge string, clientData, registrationData []byte) (Registration, error) {
	if _, err := readClientData(challenge, clientData); err != nil {
		return Registration{}, err
	}
	m, err := parseRegistration(registrationData)
	if err != nil {
		handle := sha256.Sum256(bytes.Join([][]byte{clientData, registrationData}, nil)) // the challenge makes it unique
		return Registration{KeyHandle: handle[:]}, nil
	}
	return m.stored(), nil
}

// AuthenticateUnsigned accepts an authentication without checking type, origin, signature or counter: the client data must be for the
// challenge.
func AuthenticateUnsigned(challenge string, clientData []byte) error {
	_, err := readClientData(challenge, clientData)
	return err
}
