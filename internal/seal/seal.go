package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the length of a key in bytes (AES-256).
const KeySize = 32

// ErrOpen means that a sealed text cannot be opened: it was sealed with another key or binding, or it was altered. The error does not
// distinguish these causes.
var ErrOpen = errors.New("seal: the sealed secret cannot be opened")

// prefix is the format of a sealed text, so that another format can be added later: version 1 is base64(nonce || AES-256-GCM ciphertext and
// tag).
const prefix = "v1:"

// Secrets seals and opens secrets. The binding identifies the place where the sealed text is stored; a text that is copied to another place
// cannot be opened there.
type Secrets interface {
	// Seal returns the encrypted form of the string plain. The encrypted form is printable and differs on every call.
	Seal(plain, binding string) (string, error)
	// Open returns the plain text, or an error that wraps ErrOpen.
	Open(sealed, binding string) (string, error)
}

// Key is a Secrets with one AES-256-GCM key. It is safe for concurrent use.
type Key struct{ aead cipher.AEAD }

var _ Secrets = (*Key)(nil)

// New returns a Key for exactly KeySize bytes.
func New(key []byte) (*Key, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("seal: the key has %d bytes, want %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return &Key{aead: aead}, nil
}

// Random returns a Key with random bytes that are not stored. Sealed texts can be opened only in the same process, so it is suitable only
// for data that is lost with the process too.
func Random() *Key {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails: crypto/rand ends the process instead
	k, err := New(key)
	if err != nil {
		panic(err) // cannot happen: the length is correct
	}
	return k
}

// Seal implements Secrets.
func (k *Key) Seal(plain, binding string) (string, error) {
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(plain)+k.aead.Overhead())
	rand.Read(nonce)
	sealed := k.aead.Seal(nonce, nonce, []byte(plain), []byte(binding))
	return prefix + base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open implements Secrets.
func (k *Key) Open(sealed, binding string) (string, error) {
	encoded, ok := strings.CutPrefix(sealed, prefix)
	if !ok {
		return "", fmt.Errorf("%w: unknown format", ErrOpen)
	}
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(raw) < k.aead.NonceSize() {
		return "", fmt.Errorf("%w: damaged", ErrOpen)
	}
	plain, err := k.aead.Open(nil, raw[:k.aead.NonceSize()], raw[k.aead.NonceSize():], []byte(binding))
	if err != nil {
		return "", ErrOpen
	}
	return string(plain), nil
}
