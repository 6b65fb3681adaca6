package u2f

import (
	"bytes"
	"crypto/sha256"
)

// RegisterUnsigned accepts a registration without checking type, origin or signature: the client data must be for the challenge. The key
// handle comes from the registration data. If the data is not a registration message, the key handle is a hash of the client data and the
// registration data.
func RegisterUnsigned(challenge string, clientData, registrationData []byte) (Registration, error) {
	if _, err := readClientData(challenge, clientData); err != nil {
		return Registration{}, err
	}
	m, err := parseRegistration(registrationData)
	if err != nil {
		// the hash is unique, because the client data includes the challenge
		handle := sha256.Sum256(bytes.Join([][]byte{clientData, registrationData}, nil))
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
