package sandbox

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/serving"
)

func TestSecretKey(t *testing.T) {
	t.Run("missing file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "deep", "secret.key")
		first, err := serving.SecretKey("", file)
		require.NoError(t, err)
		again, err := serving.SecretKey("", file)
		require.NoError(t, err)
		require.Equal(t, first, again)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("key overrides file", func(t *testing.T) {
		given := base64.StdEncoding.EncodeToString(make([]byte, 32))
		key, err := serving.SecretKey(given, "/nowhere/secret.key")
		require.NoError(t, err)
		require.Equal(t, make([]byte, 32), key)
	})
	t.Run("wrong length", func(t *testing.T) {
		_, err := serving.SecretKey("c2hvcnQ=", "")
		require.ErrorContains(t, err, "32 bytes")
	})
	t.Run("no file", func(t *testing.T) {
		a, err := serving.SecretKey("", "")
		require.NoError(t, err)
		b, err := serving.SecretKey("", "")
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

	require.NoError(t, os.WriteFile(filepath.Join(data, serving.DatabaseName), []byte("SQLite format 3"), 0o600))
	for name, o := range map[string]Options{"a directory": {Data: data},
		"a database": {DB: "sqlite:" + filepath.Join(data, serving.DatabaseName), SecretKeyFile: key}} {
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
	_, err = serving.SecretKey("", key)
	require.NoError(t, err)
	again := Options{Data: data}
	_, err = again.complete()
	require.NoError(t, err)
}
