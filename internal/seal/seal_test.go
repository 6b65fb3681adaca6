package seal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/seal"
)

func TestOpen_ReturnsPlaintext(t *testing.T) {
	key := seal.Random()
	rapid.Check(t, func(t *rapid.T) {
		plain, binding := rapid.String().Draw(t, "plain"), rapid.String().Draw(t, "binding")
		sealed, err := key.Seal(plain, binding)
		require.NoError(t, err)
		opened, err := key.Open(sealed, binding)
		require.NoError(t, err)
		require.Equal(t, plain, opened)
	})
}

func TestSeal_Randomized(t *testing.T) {
	key := seal.Random()
	first, err := key.Seal("secret", "app")
	require.NoError(t, err)
	second, err := key.Seal("secret", "app")
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NotContains(t, first, "secret")
}

func TestOpen_Rejected(t *testing.T) {
	key := seal.Random()
	sealed, err := key.Seal("secret", "app 1")
	require.NoError(t, err)

	cases := map[string]struct {
		key             *seal.Key
		sealed, binding string
	}{
		"in another place":           {key, sealed, "app 2"},
		"under another key":          {seal.Random(), sealed, "app 1"},
		"with a changed character":   {key, flipLast(sealed), "app 1"},
		"when truncated":             {key, sealed[:8], "app 1"},
		"when it is not base64":      {key, "v1:%%%", "app 1"},
		"when the format is unknown": {key, "secret", "app 1"},
		"when it is empty":           {key, "", "app 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.key.Open(c.sealed, c.binding)
			require.ErrorIs(t, err, seal.ErrOpen)
		})
	}
}

func TestNew_RequiresKeySize(t *testing.T) {
	for _, n := range []int{0, 16, 31, 33} {
		_, err := seal.New(bytes.Repeat([]byte{1}, n))
		require.Error(t, err, "%d bytes", n)
	}
	_, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	require.NoError(t, err)
}

// flipLast changes a character inside the encoded ciphertext.
func flipLast(s string) string {
	i := len(s) - 3
	c := "A"
	if s[i] == 'A' {
		c = "B"
	}
	return s[:i] + c + s[i+1:]
}
