package tokens_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// FuzzAssertions passes assertions to the client authentication. Arbitrary texts must be rejected. Texts signed with the key of the client
// must be accepted if their claims are valid, and a jti only once.
func FuzzAssertions(f *testing.F) {
	const client, audience = "robot", "https://as.example/v1/token"
	now := time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC)
	deps := modeltest.Deps(f, sqldbtest.SQLite(f), func() time.Time { return now })
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey}}})
	require.NoError(f, err)
	settings := model.AppOAuthSettings{JWKS: &model.AppJWKS{}}
	require.NoError(f, json.Unmarshal(set, settings.JWKS))
	require.NoError(f, deps.Update(f.Context(), func(tx *docstore.Tx) error {
		app := model.NewOIDCApp("Robot", model.AppOAuthClient{ID: client, AuthMethod: model.AuthPrivateKey}, settings)
		_, err := deps.Apps.Insert(f.Context(), tx, model.NewID(model.KindApp), app)
		return err
	}))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(f, err)
	clients := &tokens.Clients{Deps: deps, Secrets: seal.Random()}

	soon := time.Minute
	good, err := json.Marshal(map[string]any{"iss": client, "sub": client, "aud": []string{audience}, "exp": now.Add(soon).Unix(), "jti": "1"})
	require.NoError(f, err)
	f.Add(string(good), true)
	f.Add(strings.Replace(string(good), `"1"`, `1`, 1), true)
	f.Add(`{"iss":"robot","sub":"robot","aud":"https://as.example/v1/token","exp":1e300,"nbf":-1e300,"iat":0.5}`, true)
	f.Add(`{"iss":"robot","sub":"robot","aud":null,"exp":null}`, true)
	f.Add("eyJhbGciOiJub25lIn0."+"eyJpc3MiOiJyb2JvdCIsInN1YiI6InJvYm90In0.", false)
	f.Add("eyJhbGciOiJFUzI1NiIsImNyaXQiOlsieCJdfQ.e30.AAAA", false)
	f.Fuzz(func(t *testing.T, text string, signed bool) {
		assertion := text
		if signed {
			object, err := signer.Sign([]byte(text))
			require.NoError(t, err)
			assertion, err = object.CompactSerialize()
			require.NoError(t, err)
		}
		show := func() error {
			_, err := clients.Authenticate(t.Context(), tokens.Credentials{AssertionType: tokens.AssertionBearer, Assertion: assertion}, audience)
			return err
		}
		err := show()
		if !signed {
			require.Error(t, err)
			return
		}
		if err != nil {
			return
		}
		var says struct {
			Issuer, Subject string
			Expires         float64
			ID              string
		}
		var members map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &members))
		says.Issuer, _ = members["iss"].(string)
		says.Subject, _ = members["sub"].(string)
		says.Expires, _ = members["exp"].(float64)
		says.ID, _ = members["jti"].(string)
		require.Equal(t, []string{client, client}, []string{says.Issuer, says.Subject})
		list, _ := members["aud"].([]any)
		require.True(t, members["aud"] == audience || slices.Contains(list, any(audience)), "%v", members["aud"])
		require.InDelta(t, float64(now.Unix()), says.Expires, (time.Hour + 2*time.Minute).Seconds())
		if says.ID != "" {
			require.Error(t, show(), "already used")
		}
	})
}
