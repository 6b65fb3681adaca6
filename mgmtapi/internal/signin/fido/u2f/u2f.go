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

// Version is the protocol version as clients spell it.
const Version = "U2F_V2"

// Site is the relying party of U2F.
type Site struct {
	// AppID is the application id that registrations are bound to. It is the origin of the site unless the site has several origins.
	AppID string
	// Origin is the required origin of responses, as browsers write it.
	Origin string
}

// Registration is the stored data of a registered token.
type Registration struct {
	// KeyHandle identifies the key pair.
	KeyHandle []byte `json:"keyHandle"`
	// PublicKey is the public key: an uncompressed point on P-256, 65 bytes.
	PublicKey []byte `json:"publicKey"`
	// Counter is the counter of the last authentication, 0 before the first.
	Counter uint32 `json:"counter"`
}

var (
	// ErrMessage reports a malformed U2F message.
	ErrMessage = errors.New("u2f: malformed message")
	// ErrClientData reports client data for another challenge, site or action.
	ErrClientData = errors.New("u2f: the client data does not match")
	// ErrPresence reports that no user touched the token.
	ErrPresence = errors.New("u2f: the user was not present")
	// ErrSignature reports a wrong signature.
	ErrSignature = errors.New("u2f: wrong signature")
	// ErrCounter reports that the counter did not increase: the response was replayed, or the token was cloned.
	ErrCounter = errors.New("u2f: the counter did not increase")
)

// The types of client data, one for each action.
const (
	Enrolling = "navigator.id.finishEnrollment"
	Asserting = "navigator.id.getAssertion"
)

// Register checks the registration response message of a token (section 4.3) for the challenge.
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

// Authenticate checks the authentication response message of a token (section 5.4) for the challenge and returns the counter to store.
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

// clientData is the client data of an action (FIDO U2F Raw Message Formats, section 7).
type clientData struct {
	Type      string `json:"typ"`
	Challenge string `json:"challenge"`
	Origin    string `json:"origin"`
}

// readClientData parses client data and checks that it is for the challenge.
func readClientData(challenge string, data []byte) (said clientData, err error) {
	if err := json.Unmarshal(data, &said); err != nil {
		return said, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if subtle.ConstantTimeCompare([]byte(said.Challenge), []byte(challenge)) != 1 {
		return said, fmt.Errorf("%w: another challenge", ErrClientData)
	}
	return said, nil
}

// checkClientData checks the challenge, the action and the origin of client data.
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

// The bytes of messages with fixed values.
const (
	Marker   = 0x05 // first byte of a registration
	Reserved = 0x00 // first byte of the data that a registration signs
	Present  = 0x01 // bit for user presence
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

// stored returns the data of the registration that the server stores.
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
	var certificate asn1.RawValue // receives the bytes of the certificate; the remaining bytes are the signature
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
