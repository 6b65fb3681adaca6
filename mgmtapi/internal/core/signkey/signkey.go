package signkey

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/scimwright/scimwright/internal/seal"
)

const (
	// Bits is the size of a key, in bits.
	Bits = 2048
	// DefaultValidity is the default validity of a key's certificate: ten years.
	DefaultValidity = 10 * 365 * 24 * time.Hour
)

// Key is a key pair as it is stored. The private key is encrypted with the secrets of the service.
type Key struct {
	ID          string    `json:"kid"`
	Sealed      string    `json:"sealed"`      // private key, PKCS #8, encrypted with the binding of the key
	Public      []byte    `json:"public"`      // PKIX, DER
	Certificate []byte    `json:"certificate"` // X.509, DER, self-signed
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires"` // expiry of the certificate
}

// Source generates key pairs.
type Source func() (*rsa.PrivateKey, error)

func generate() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, Bits) }

// Options are the options of New.
type Options struct {
	// Name is the common name of the certificate, for example that of the organization.
	Name string
	// Validity is the validity of the certificate. Default: DefaultValidity.
	Validity time.Duration
	// Now is the creation time of the key. Default: the current time.
	Now time.Time
	// ID is the id of the key, for a key whose id was assigned earlier. Default: the SHA-256 thumbprint of the public key (RFC 7638), 43
	// characters.
	ID string
	// Source generates the key pair. Default: [rsa.GenerateKey] with Bits bits.
	Source Source
}

// New generates a key.
func New(secrets seal.Secrets, o Options) (Key, error) {
	if o.Validity <= 0 {
		o.Validity = DefaultValidity
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Source == nil {
		o.Source = generate
	}
	private, err := o.Source()
	if err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	if o.ID == "" {
		thumb, err := (&jose.JSONWebKey{Key: &private.PublicKey}).Thumbprint(crypto.SHA256)
		if err != nil {
			return Key{}, fmt.Errorf("signkey: %w", err)
		}
		o.ID = base64.RawURLEncoding.EncodeToString(thumb)
	}
	k := Key{ID: o.ID, Created: o.Now.UTC(), Expires: o.Now.Add(o.Validity).UTC()}
	if k.Public, err = x509.MarshalPKIXPublicKey(&private.PublicKey); err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: o.Name}, NotBefore: k.Created, NotAfter: k.Expires,
		KeyUsage: x509.KeyUsageDigitalSignature, SignatureAlgorithm: x509.SHA256WithRSA,
	}
	if k.Certificate, err = x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private); err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	if k.Sealed, err = secrets.Seal(base64.StdEncoding.EncodeToString(der), k.binding()); err != nil {
		return Key{}, fmt.Errorf("signkey: %w", err)
	}
	return k, nil
}

// binding binds the encrypted private key to the key id: the private key of another key does not decrypt in its place.
func (k Key) binding() string { return "signkey/" + k.ID }

// Private decrypts the private key. The error wraps seal.ErrOpen if the key was encrypted with other secrets.
func (k Key) Private(secrets seal.Secrets) (*rsa.PrivateKey, error) {
	plain, err := secrets.Open(k.Sealed, k.binding())
	if err != nil {
		return nil, fmt.Errorf("signkey: %s: %w", k.ID, err)
	}
	der, err := base64.StdEncoding.DecodeString(plain)
	if err != nil {
		return nil, fmt.Errorf("signkey: %s: %w", k.ID, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("signkey: %s: %w", k.ID, err)
	}
	pair, ok := private.(*rsa.PrivateKey)
	if !ok {
		return nil, errNotRSA
	}
	return pair, nil
}

var errNotRSA = errors.New("signkey: stored key is not an RSA key")

// PublicKey returns the public key.
func (k Key) PublicKey() (*rsa.PublicKey, error) {
	public, err := x509.ParsePKIXPublicKey(k.Public)
	if err != nil {
		return nil, fmt.Errorf("signkey: %s: %w", k.ID, err)
	}
	pair, ok := public.(*rsa.PublicKey)
	if !ok {
		return nil, errNotRSA
	}
	return pair, nil
}

// Signer returns a signer for RS256 that writes the key id into the header. Signer decrypts and checks the private key, which takes several
// times as long as a signature: reuse the signer for many signatures.
func (k Key) Signer(secrets seal.Secrets, o *jose.SignerOptions) (jose.Signer, error) {
	private, err := k.Private(secrets)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: private, KeyID: k.ID}}, o)
	if err != nil {
		return nil, fmt.Errorf("signkey: %s: %w", k.ID, err)
	}
	return signer, nil
}

// JWK is the public key as the API returns it (RFC 7517, RFC 7518 section 6.3.1).
type JWK struct {
	Kty string `json:"kty" readOnly:"true"` // RSA
	Alg string `json:"alg,omitempty" readOnly:"true"`
	Kid string `json:"kid" readOnly:"true"`
	Use string `json:"use" readOnly:"true"` // sig
	E   string `json:"e" readOnly:"true"`
	N   string `json:"n" readOnly:"true"`
}

// JWK returns the public key, without an algorithm.
func (k Key) JWK() (JWK, error) {
	public, err := k.PublicKey()
	if err != nil {
		return JWK{}, err
	}
	return JWK{
		Kty: "RSA", Kid: k.ID, Use: "sig",
		E: base64.RawURLEncoding.EncodeToString(big.NewInt(int64(public.E)).Bytes()),
		N: base64.RawURLEncoding.EncodeToString(public.N.Bytes()),
	}, nil
}

// X5C returns the certificate chain (RFC 7517 section 4.7): the certificate alone, in base64.
func (k Key) X5C() []string { return []string{base64.StdEncoding.EncodeToString(k.Certificate)} }

// X5TS256 returns the SHA-256 thumbprint of the certificate (RFC 7517 section 4.9).
func (k Key) X5TS256() string {
	sum := sha256.Sum256(k.Certificate)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
