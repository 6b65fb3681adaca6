// Package softkey implements a security key in software: one key pair that signs registrations and assertions of WebAuthn (W3C Web
// Authentication, section 6) and of U2F (FIDO U2F Raw Message Formats 1.1). Every signature is genuine.
//
// The caller stores the key pair, so that a key survives a restart. It must be encrypted at rest.
package softkey

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/u2f"
)

// Key is a security key with one key pair on P-256.
type Key struct {
	// ID is the credential id of WebAuthn, and the key handle of U2F.
	ID []byte `json:"id"`
	// Private is the private half of the key pair, a scalar of 32 bytes.
	Private []byte `json:"private"`
	// Counter is the number of assertions that the key has signed.
	Counter uint32 `json:"counter"`
}

// idSize is the length of a credential id in bytes.
const idSize = 32

// New generates a key.
func New() (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("softkey: generate a key pair: %w", err)
	}
	scalar, err := private.Bytes()
	if err != nil {
		return nil, fmt.Errorf("softkey: encode the private key: %w", err)
	}
	k := &Key{ID: make([]byte, idSize), Private: scalar}
	_, _ = rand.Read(k.ID) // never fails
	return k, nil
}

func (k *Key) private() (*ecdsa.PrivateKey, error) {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), k.Private)
	if err != nil {
		return nil, fmt.Errorf("softkey: stored private key: %w", err)
	}
	return private, nil
}

// sign returns the signature of the concatenated parts.
func sign(private *ecdsa.PrivateKey, parts ...[]byte) ([]byte, error) {
	digest := sha256.Sum256(bytes.Join(parts, nil))
	signature, err := ecdsa.SignASN1(rand.Reader, private, digest[:])
	if err != nil {
		return nil, fmt.Errorf("softkey: sign: %w", err)
	}
	return signature, nil
}

// The flags of authenticator data (Web Authentication, section 6.1).
const (
	userPresent  = 0x01
	userVerified = 0x04
	attested     = 0x40
)

// coseKey is an EC2 public key (RFC 9053, section 7.1.1).
type coseKey struct {
	Type      int    `cbor:"1,keyasint"`
	Algorithm int    `cbor:"3,keyasint"`
	Curve     int    `cbor:"-1,keyasint"`
	X         []byte `cbor:"-2,keyasint"`
	Y         []byte `cbor:"-3,keyasint"`
}

// The values of a coseKey: an elliptic curve with two coordinates, and P-256.
const (
	coseEC2  = 2
	coseP256 = 1
)

// coordinateSize is the length of a coordinate on P-256 in bytes.
const coordinateSize = 32

// attestationObject is the result of a registration (Web Authentication, section 6.5.4).
type attestationObject struct {
	Format    string    `cbor:"fmt"`
	Statement statement `cbor:"attStmt"`
	AuthData  []byte    `cbor:"authData"`
}

// statement is a packed attestation statement without a certificate: the credential attests itself.
type statement struct {
	Algorithm int    `cbor:"alg"`
	Signature []byte `cbor:"sig"`
}

// clientData returns the client data that a browser on the page of the party writes.
func clientData(kind, challenge, origin string) ([]byte, error) {
	data, err := json.Marshal(struct {
		Type        string `json:"type"`
		Challenge   string `json:"challenge"`
		Origin      string `json:"origin"`
		CrossOrigin bool   `json:"crossOrigin"`
	}{kind, challenge, origin, false})
	if err != nil {
		return nil, fmt.Errorf("softkey: client data: %w", err)
	}
	return data, nil
}

// authData returns authenticator data for the party.
func (k *Key) authData(p fido.Party, flags byte) []byte {
	party := sha256.Sum256([]byte(p.ID))
	return binary.BigEndian.AppendUint32(append(party[:], flags), k.Counter)
}

// Create returns the response of navigator.credentials.create on the page of the party.
func (k *Key) Create(p fido.Party, challenge string) (fido.Registration, error) {
	private, err := k.private()
	if err != nil {
		return fido.Registration{}, err
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		return fido.Registration{}, fmt.Errorf("softkey: encode the public key: %w", err)
	}
	point = point[1:] // remove the first byte, which marks an uncompressed point
	public, err := cbor.Marshal(coseKey{
		Type: coseEC2, Algorithm: fido.ES256, Curve: coseP256, X: point[:coordinateSize], Y: point[coordinateSize:],
	})
	if err != nil {
		return fido.Registration{}, fmt.Errorf("softkey: encode the public key: %w", err)
	}
	said, err := clientData("webauthn.create", challenge, p.Origin)
	if err != nil {
		return fido.Registration{}, err
	}
	// 16 zero bytes are the AAGUID of an authenticator without a model
	data := append(k.authData(p, userPresent|userVerified|attested), make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(k.ID))) //nolint:gosec // idSize
	data = append(append(data, k.ID...), public...)
	sent := sha256.Sum256(said)
	signature, err := sign(private, data, sent[:])
	if err != nil {
		return fido.Registration{}, err
	}
	object, err := cbor.Marshal(attestationObject{"packed", statement{fido.ES256, signature}, data})
	if err != nil {
		return fido.Registration{}, fmt.Errorf("softkey: encode the attestation: %w", err)
	}
	return fido.Registration{ClientData: said, Attestation: object}, nil
}

// Get returns the response of navigator.credentials.get on the page of the party and increments the counter.
func (k *Key) Get(p fido.Party, challenge string) (fido.Assertion, error) {
	private, err := k.private()
	if err != nil {
		return fido.Assertion{}, err
	}
	said, err := clientData("webauthn.get", challenge, p.Origin)
	if err != nil {
		return fido.Assertion{}, err
	}
	k.Counter++
	data, sent := k.authData(p, userPresent|userVerified), sha256.Sum256(said)
	signature, err := sign(private, data, sent[:])
	return fido.Assertion{ClientData: said, AuthenticatorData: data, Signature: signature}, err
}

// u2fClientData returns the client data that a U2F client writes.
func u2fClientData(kind, challenge, origin string) ([]byte, error) {
	data, err := json.Marshal(map[string]string{"typ": kind, "challenge": challenge, "origin": origin})
	if err != nil {
		return nil, fmt.Errorf("softkey: client data: %w", err)
	}
	return data, nil
}

// certificateLife is the validity of the attestation certificate of a U2F registration.
const certificateLife = 20 * 365 * 24 * time.Hour

// Register returns the client data and the message of a U2F registration at the site. The attestation certificate is valid from now.
func (k *Key) Register(site u2f.Site, challenge string, now time.Time) (said, message []byte, err error) {
	private, err := k.private()
	if err != nil {
		return nil, nil, err
	}
	if said, err = u2fClientData(u2f.Enrolling, challenge, site.Origin); err != nil {
		return nil, nil, err
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		return nil, nil, fmt.Errorf("softkey: encode the public key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "scimwright software security key"},
		NotBefore: now, NotAfter: now.Add(certificateLife),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, fmt.Errorf("softkey: attestation certificate: %w", err)
	}
	application, sent := sha256.Sum256([]byte(site.AppID)), sha256.Sum256(said)
	signature, err := sign(private, []byte{u2f.Reserved}, application[:], sent[:], k.ID, point)
	message = bytes.Join([][]byte{{u2f.Marker}, point, {byte(len(k.ID))}, k.ID, certificate, signature}, nil)
	return said, message, err
}

// Authenticate returns the client data and the message of a U2F authentication at the site and increments the counter.
func (k *Key) Authenticate(site u2f.Site, challenge string) (said, message []byte, err error) {
	private, err := k.private()
	if err != nil {
		return nil, nil, err
	}
	if said, err = u2fClientData(u2f.Asserting, challenge, site.Origin); err != nil {
		return nil, nil, err
	}
	k.Counter++
	head := binary.BigEndian.AppendUint32([]byte{u2f.Present}, k.Counter)
	application, sent := sha256.Sum256([]byte(site.AppID)), sha256.Sum256(said)
	signature, err := sign(private, application[:], head, sent[:])
	return said, append(head, signature...), err
}
