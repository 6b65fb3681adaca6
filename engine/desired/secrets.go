package desired

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/seal"
)

// Seal encrypts secrets at rest. The binding identifies the place where the encrypted text is stored: Open fails with another binding.
type Seal interface {
	Seal(plain, binding string) (string, error)
	Open(sealed, binding string) (string, error)
}

// NewKey returns a Seal with one key of 32 bytes (AES-256-GCM).
func NewKey(key []byte) (Seal, error) {
	k, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("desired: %w", err)
	}
	return k, nil
}

// NewKeys returns a Seal with several keys of 32 bytes (AES-256-GCM): the first key encrypts, and all keys decrypt. To replace a key, put
// the new one first, and remove the old one after Store.Reseal.
func NewKeys(first []byte, others ...[]byte) (Seal, error) {
	ring := &keyring{}
	for _, key := range append([][]byte{first}, others...) {
		k, err := seal.New(key)
		if err != nil {
			return nil, fmt.Errorf("desired: %w", err)
		}
		ring.keys = append(ring.keys, k)
	}
	return ring, nil
}

// keyring is a Seal with several keys.
type keyring struct{ keys []*seal.Key }

// Seal implements Seal.
func (k *keyring) Seal(plain, binding string) (string, error) { return k.keys[0].Seal(plain, binding) }

// Open implements Seal.
func (k *keyring) Open(sealed, binding string) (plain string, err error) {
	for _, key := range k.keys {
		if plain, err = key.Open(sealed, binding); err == nil {
			return plain, nil
		}
	}
	return "", err
}

// Current reports whether the first key decrypts a text.
func (k *keyring) Current(sealed, binding string) bool {
	_, err := k.keys[0].Open(sealed, binding)
	return err == nil
}

type withoutSecrets struct{}

// WithoutSecrets returns a context for writes of a caller that may not write secrets: a write with a credential or a password returns
// ErrSecrets.
func WithoutSecrets(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutSecrets{}, true)
}

// secretsAllowed returns ErrSecrets if the context is of WithoutSecrets.
func secretsAllowed(ctx context.Context) error {
	if ctx.Value(withoutSecrets{}) != nil {
		return ErrSecrets
	}
	return nil
}

// hide returns the encrypted form of a secret, and an empty string for an empty secret.
func (s *Store) hide(secret, binding string) (string, error) {
	switch {
	case secret == "":
		return "", nil
	case s.seal == nil:
		return "", ErrNoSeal
	}
	text, err := s.seal.Seal(secret, binding)
	if err != nil {
		return "", fmt.Errorf("desired: %w", err)
	}
	return text, nil
}

// reveal returns the secret of an encrypted form.
func (s *Store) reveal(hidden, binding string) (string, error) {
	switch {
	case hidden == "":
		return "", nil
	case s.seal == nil:
		return "", ErrNoSeal
	}
	secret, err := s.seal.Open(hidden, binding)
	if err != nil {
		return "", fmt.Errorf("desired: no key decrypts the stored secret: write it again with a higher version, or restore the key: %w", err)
	}
	return secret, nil
}

func appBinding(app string) string { return "desired_app/" + app }

// passwordBinding binds a password to its user. The id of an app contains no slash.
func passwordBinding(app, user string) string { return "desired_principal/" + app + "/" + user }
