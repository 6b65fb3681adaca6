package sandbox

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretKey(t *testing.T) {
	t.Run("missing file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "deep", "secret.key")
		first, err := secretKey("", file)
		require.NoError(t, err)
		again, err := secretKey("", file)
		require.NoError(t, err)
		require.Equal(t, first, again)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("key overrides file", func(t *testing.T) {
		given := base64.StdEncoding.EncodeToString(make([]byte, 32))
		key, err := secretKey(given, "/nowhere/secret.key")
		require.NoError(t, err)
		require.Equal(t, make([]byte, 32), key)
	})
	t.Run("wrong length", func(t *testing.T) {
		_, err := secretKey("c2hvcnQ=", "")
		require.ErrorContains(t, err, "32 bytes")
	})
	t.Run("no file", func(t *testing.T) {
		a, err := secretKey("", "")
		require.NoError(t, err)
		b, err := secretKey("", "")
		require.NoError(t, err)
		require.NotEqual(t, a, b)
	})
}

// TestSecretKey_MissingNotReplaced checks that a start generates no secret key for a database that exists.
func TestSecretKey_MissingNotReplaced(t *testing.T) {
	data := t.TempDir()
	key := filepath.Join(data, keyName)
	fresh := Options{Data: data}
	_, err := fresh.complete()
	require.NoError(t, err, "without a database a new key is safe")

	require.NoError(t, os.WriteFile(filepath.Join(data, databaseName), []byte("SQLite format 3"), 0o600))
	for name, o := range map[string]Options{"a directory": {Data: data},
		"a database": {DB: "sqlite:" + filepath.Join(data, databaseName), SecretKeyFile: key}} {
		t.Run(name, func(t *testing.T) {
			_, err := o.complete()
			require.ErrorContains(t, err, key)
			require.ErrorContains(t, err, "missing")
			require.NoFileExists(t, key)
		})
	}
	given := Options{Data: data, SecretKey: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	_, err = given.complete()
	require.NoError(t, err)
	_, err = secretKey("", key)
	require.NoError(t, err)
	again := Options{Data: data}
	_, err = again.complete()
	require.NoError(t, err)
}
