package u2f

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the version of the protocol, as clients call it.
const Version = "U2F_V2"

// Site is who asks tokens.
type Site struct {
	// AppID is what registrations are bound to. It is the origin of the site unless the site has several.
	AppID string
	// Origin is where answers must come from, as browsers write it.
	Origin string
}

// Registration is what is kept of a token that has been registered.
type Registration struct {
	// KeyHandle names the key pair.
	KeyHandle []byte `json:"keyHandle"`
	// PublicKey is the public half: an uncompressed point on P-256, 65 bytes.
	PublicKey []byte `json:"publicKey"`
	// Counter is that of the last authentication, 0 before the first.
	Counter uint32 `json:"counter"`
}

var (
	// ErrMessage says that a message is no message of U2F.
	ErrMessage = errors.New("u2f: malformed message")
	// ErrClientData says that the client data is for another challenge, site or action.
	ErrClientData = errors.New("u2f: the client data does not match")
	// ErrPresence says that nobody touched the token.
	ErrPresence = errors.New("u2f: the user was not present")
	// ErrSignature says that a signature is wrong.
	ErrSignature = errors.New("u2f: wrong signature")
	// ErrCounter says that the counter did not grow: the answer was replayed, or the token was cloned.
	ErrCounter = errors.New("u2f: the counter did not increase")
)

// The types of client data: what it is for.
const (
	Enrolling = "navigator.id.finishEnrollment"
	Asserting = "navigator.id.getAssertion"
)

// Register checks the registration response message of a token (section 4.3) for the challenge that was given.
func (s Site) Register(challenge string, clientData, registrationData []byte) (Registration, error) {
	if err := s.checkClientData(challenge, Enrolling, clientData); err != nil {
		return Registration{}, err
	}
	m, err := parseRegistration(registrationData)
	if err != nil {
		return Registration{}, err
	}
	application, sent := sha256.Sum256([]byte(s.AppID)), sha256.Sum256(clientData)
	signed := bytes.Join([][]byte{{Reserved}, application[:], sent[:], m.keyHandle, m.publicKey}, nil)
	if err := m.certificate.CheckSignature(x509.ECDSAWithSHA256, signed, m.signature); err != nil {
		return Registration{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return m.stored(), nil
}

// Authenticate checks the authentication response message of a token (section 5.4) for the challenge that was given and returns
// the counter to keep.
func (s Site) Authenticate(r Registration, challenge string, clientData, signatureData []byte) (counter uint32, err error) {
	if err := s.checkClientData(challenge, Asserting, clientData); err != nil {
		return 0, err
	}
	if len(signatureData) <= presenceSize+counterSize {
		return 0, fmt.Errorf("%w: the signature data is too short", ErrMessage)
	}
	head, signature := signatureData[:presenceSize+counterSize], signatureData[presenceSize+counterSize:]
	if head[0]&Present == 0 {
		return 0, ErrPresence
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), r.PublicKey)
	if err != nil {
		return 0, fmt.Errorf("u2f: stored key: %w", err)
	}
	application, sent := sha256.Sum256([]byte(s.AppID)), sha256.Sum256(clientData)
	digest := sha256.Sum256(bytes.Join([][]byte{application[:], head, sent[:]}, nil))
	if !ecdsa.VerifyASN1(key, digest[:], signature) {
		return 0, ErrSignature
	}
	counter = binary.BigEndian.Uint32(head[presenceSize:])
	if counter <= r.Counter {
		return 0, ErrCounter
	}
	return counter, nil
}

// clientData is what a client says of an action (FIDO U2F Raw Message Formats, section 7).
type clientData struct {
	Type      string `json:"typ"`
	Challenge string `json:"challenge"`
	Origin    string `json:"origin"`
}

// readClientData reads client data and checks that it is for the challenge.
func readClientData(challenge string, data []byte) (said clientData, err error) {
	if err := json.Unmarshal(data, &said); err != nil {
		return said, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if subtle.ConstantTimeCompare([]byte(said.Challenge), []byte(challenge)) != 1 {
		return said, fmt.Errorf("%w: another challenge", ErrClientData)
	}
	return said, nil
}

// checkClientData checks client data of an action.
func (s Site) checkClientData(challenge, action string, data []byte) error {
	said, err := readClientData(challenge, data)
	switch {
	case err != nil:
		return err
	case said.Type != action:
		return fmt.Errorf("%w: its type is %q", ErrClientData, said.Type)
	case said.Origin != s.Origin:
		return fmt.Errorf("%w: its origin is %q", ErrClientData, said.Origin)
	}
	return nil
}

// The bytes of the messages that have fixed values.
const (
	Marker   = 0x05 // starts a registration
	Reserved = 0x00 // starts what a registration signs
	Present  = 0x01 // the bit of user presence
)

// The layout of the messages.
const (
	presenceSize  = 1
	counterSize   = 4
	publicKeySize = 65
)

// registration is a registration response message.
type registration struct {
	publicKey   []byte
	keyHandle   []byte
	certificate *x509.Certificate
	signature   []byte
}

// kept is what the server stores of the registration.
func (m registration) stored() Registration {
	return Registration{KeyHandle: bytes.Clone(m.keyHandle), PublicKey: bytes.Clone(m.publicKey)}
}

func parseRegistration(data []byte) (m registration, err error) {
	if len(data) < 1+publicKeySize+1 || data[0] != Marker {
		return m, fmt.Errorf("%w: not a registration", ErrMessage)
	}
	data = data[1:]
	m.publicKey, data = data[:publicKeySize], data[publicKeySize:]
	if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), m.publicKey); err != nil {
		return m, fmt.Errorf("%w: public key: %w", ErrMessage, err)
	}
	size := int(data[0])
	data = data[1:]
	if size == 0 || len(data) < size {
		return m, fmt.Errorf("%w: no key handle", ErrMessage)
	}
	m.keyHandle, data = data[:size], data[size:]
	var certificate asn1.RawValue // tells where the certificate ends
	if m.signature, err = asn1.Unmarshal(data, &certificate); err != nil {
		return m, fmt.Errorf("%w: certificate: %w", ErrMessage, err)
	}
	if m.certificate, err = x509.ParseCertificate(certificate.FullBytes); err != nil {
		return m, fmt.Errorf("%w: certificate: %w", ErrMessage, err)
	}
	if key, ok := m.certificate.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return m, fmt.Errorf("%w: the certificate has no P-256 key", ErrMessage)
	}
	return m, nil
}
