package fidotest

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
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Token is a U2F token. It is implemented from the specification, independently of the package that checks it.
type Token struct {
	maker, key *ecdsa.PrivateKey
	// Certificate is the attestation certificate, Handle the key handle of the only key pair.
	Certificate []byte
	Handle      []byte
	counter     uint32
}

// NewToken generates a token.
func NewToken(t testing.TB) *Token {
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return k
	}
	d := &Token{maker: key(), key: key(), Handle: bytes.Repeat([]byte{7}, 64)}
	d.Certificate = Certificate(t, &d.maker.PublicKey, d.maker)
	return d
}

// Certificate returns a certificate of the public key, signed by the private key.
func Certificate(t testing.TB, public, private any) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "A token"}, NotAfter: time.Unix(1<<31, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	return der
}

// Point returns the public key as an uncompressed point.
func (d *Token) Point(t testing.TB) []byte {
	point, err := d.key.PublicKey.Bytes()
	require.NoError(t, err)
	return point
}

func sign(t testing.TB, key *ecdsa.PrivateKey, parts ...[]byte) []byte {
	digest := sha256.Sum256(bytes.Join(parts, nil))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	require.NoError(t, err)
	return signature
}

// Register returns the registration message for the client data.
func (d *Token) Register(t testing.TB, appID string, clientData []byte) []byte {
	app, challenge := sha256.Sum256([]byte(appID)), sha256.Sum256(clientData)
	signature := sign(t, d.maker, []byte{0}, app[:], challenge[:], d.Handle, d.Point(t))
	return bytes.Join([][]byte{{5}, d.Point(t), {byte(len(d.Handle))}, d.Handle, d.Certificate, signature}, nil)
}

// Authenticate returns the authentication message for the client data and increments the counter.
func (d *Token) Authenticate(t testing.TB, appID string, clientData []byte, presence byte) []byte {
	d.counter++
	app, challenge := sha256.Sum256([]byte(appID)), sha256.Sum256(clientData)
	head := binary.BigEndian.AppendUint32([]byte{presence}, d.counter)
	return append(head, sign(t, d.key, app[:], head, challenge[:])...)
}

// ClientData returns the client data of a browser for an action.
func ClientData(t testing.TB, action, challenge, origin string) []byte {
	data, err := json.Marshal(map[string]any{"typ": action, "challenge": challenge, "origin": origin, "cid_pubkey": "unused"})
	require.NoError(t, err)
	return data
}
