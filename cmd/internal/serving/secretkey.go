package serving

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scimwright/scimwright/internal/seal"
)

// SecretKey returns the key that encrypts secrets at rest: the given key (base64, 32 bytes), otherwise the key in the file, which is
// created if it does not exist. Without a file, the key is random and never stored.
func SecretKey(given, file string) ([]byte, error) {
	if given != "" {
		return DecodeKey(given, "the secret key")
	}
	if file == "" {
		return newKey(), nil
	}
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		return DecodeKey(strings.TrimSpace(string(text)), file)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key := newKey()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("create the secret key: %w", err)
	}
	// The flag O_EXCL ensures that only one of two processes that start concurrently writes a key.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the secret key: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("write the secret key: %w", err)
	}
	return key, nil
}

// DecodeKey returns the key in a text. source names the text in errors.
func DecodeKey(text, source string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != seal.KeySize {
		return nil, fmt.Errorf("%s must be %d bytes in base64", source, seal.KeySize)
	}
	return key, nil
}

func newKey() []byte {
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key
}
