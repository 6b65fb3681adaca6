package signkey_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

func TestKey_SignAndVerify(t *testing.T) {
	secrets, at := seal.Random(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	k, err := signkey.New(secrets, signkey.Options{Name: "northwind", Validity: 2 * 365 * 24 * time.Hour, Now: at})
	require.NoError(t, err)
	stored, err := json.Marshal(k)
	require.NoError(t, err)
	var read signkey.Key
	require.NoError(t, json.Unmarshal(stored, &read))
	require.Equal(t, k, read)

	signer, err := read.Signer(secrets, nil)
	require.NoError(t, err)
	signed, err := signer.Sign([]byte("hello"))
	require.NoError(t, err)
	compact, err := signed.CompactSerialize()
	require.NoError(t, err)

	shown, err := read.JWK()
	require.NoError(t, err)
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	var public jose.JSONWebKey
	require.NoError(t, json.Unmarshal(text, &public))
	require.True(t, public.Valid())
	parsed, err := jose.ParseSignedCompact(compact, []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	require.Equal(t, k.ID, parsed.Signatures[0].Header.KeyID)
	payload, err := parsed.Verify(public)
	require.NoError(t, err)
	require.Equal(t, "hello", string(payload))

	certificate, err := x509.ParseCertificate(k.Certificate)
	require.NoError(t, err)
	require.Equal(t, "northwind", certificate.Subject.CommonName)
	require.Equal(t, at.Add(2*365*24*time.Hour), certificate.NotAfter)
	require.NoError(t, certificate.CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate, certificate.Signature))
	require.Len(t, k.X5C(), 1)
	require.Len(t, k.X5TS256(), 43)
}

// TestPrivate_BoundToKeyAndSecrets verifies that Private fails with other secrets and under another key id.
func TestPrivate_BoundToKeyAndSecrets(t *testing.T) {
	secrets := seal.Random()
	k, err := signkey.New(secrets, signkey.Options{})
	require.NoError(t, err)
	_, err = k.Private(seal.Random())
	require.ErrorIs(t, err, seal.ErrOpen)
	other := k
	other.ID = "another"
	_, err = other.Private(secrets)
	require.ErrorIs(t, err, seal.ErrOpen, "the private key does not decrypt with another key id")
	private, err := k.Private(secrets)
	require.NoError(t, err)
	require.NoError(t, private.Validate())
	require.NotContains(t, k.Sealed, "PRIVATE")
}

func TestNew_Source(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, signkey.Bits)
	require.NoError(t, err)
	secrets, source := seal.Random(), func() (*rsa.PrivateKey, error) { return pair, nil }
	k, err := signkey.New(secrets, signkey.Options{Source: source})
	require.NoError(t, err)
	private, err := k.Private(secrets)
	require.NoError(t, err)
	require.True(t, pair.Equal(private))

	other, err := signkey.New(secrets, signkey.Options{})
	require.NoError(t, err)
	require.NotEqual(t, k.Public, other.Public, "the default source generates a new pair")

	broken := errors.New("no entropy")
	_, err = signkey.New(secrets, signkey.Options{Source: func() (*rsa.PrivateKey, error) { return nil, broken }})
	require.ErrorIs(t, err, broken)
}
