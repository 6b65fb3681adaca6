package tenants_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scimserver/tenants"
)

func TestParseToken(t *testing.T) {
	sum := sha256.Sum256([]byte("secret"))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]tenants.Token{
		"secret":                              {Digest: sum},
		digest:                                {Digest: sum},
		"secret;read-only":                    {Digest: sum, ReadOnly: true},
		"secret;expires=2026-12-01T00:00:00Z": {Digest: sum, Expires: at},
		digest + ";me=4711;read-only;expires=2026-12-01T00:00:00Z": {Digest: sum, ReadOnly: true, Expires: at, Me: "4711"},
	} {
		got, err := tenants.ParseToken(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.Equal(t, hex.EncodeToString(sum[:])[:12], got.ID())
	}
	require.Equal(t, "secret", tenants.Value("secret;read-only"))
	require.Empty(t, tenants.Value(digest))
}

// TestParseToken_Errors checks that ParseToken rejects invalid strings with errors that do not repeat them.
func TestParseToken_Errors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "empty",
		";read-only":               "empty",
		"hush hush":                "visible ASCII",
		"hüsh":                     "visible ASCII",
		"sha256:hush":              "64 hexadecimal digits",
		"sha256:00":                "64 hexadecimal digits",
		"x;hush":                   "part 1 is not one of read-only, expires=TIME, me=ID",
		"x;read-only;hush":         "part 2 is not one of",
		"x;expires=hush":           "a time such as",
		"x;expires=2026-12-01":     "a time such as",
		"x;me=":                    "not one of",
		string(make([]byte, 5000)): "more than",
	} {
		_, err := tenants.ParseToken(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hush")
		require.NotContains(t, err.Error(), "hüsh")
	}
}

// TestToken_StringRoundTrip checks that ParseToken reads the string of a token, which does not contain the value.
func TestToken_StringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9._~+/=-]{8,40}`).Draw(t, "value")
		token := tenants.NewToken(value)
		token.ReadOnly = rapid.Bool().Draw(t, "read-only")
		token.Me = rapid.StringMatching(`[A-Za-z0-9-]{0,20}`).Draw(t, "me")
		if rapid.Bool().Draw(t, "expires") {
			token.Expires = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
		}
		require.NotContains(t, token.String(), value)
		back, err := tenants.ParseToken(token.String())
		require.NoError(t, err)
		require.Equal(t, token, back)
	})
}

func FuzzParseToken(f *testing.F) {
	for _, text := range []string{"a", "a;read-only", "sha256:00;me=1", "a;expires=2026-12-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := tenants.ParseToken(text)
		if err != nil {
			return
		}
		back, err := tenants.ParseToken(token.String())
		require.NoError(t, err)
		require.Equal(t, token.String(), back.String())
	})
}
