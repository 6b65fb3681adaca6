package slicetest_test

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/hookkeys"
)

const (
	keys        = "/api/v1/hook-keys"
	inlineHooks = "/api/v1/inlineHooks"
)

// hook is a hook that authenticates with a key.
func hook(key string) string {
	return fmt.Sprintf(
		`{"name":"h","type":"com.svc.telephony.provider","version":"1.0.0","channel":{"type":"OAUTH","version":"1.0.0","config":{
		"uri":"https://hook.example.com","authType":"private_key_jwt","clientId":"c","tokenUrl":"https://as.example.com/token","hookKeyId":%q}}}`,
		key)
}

// Proves A-hookkeys-01, A-hookkeys-06, A-hookkeys-08, A-hookkeys-09, A-hookkeys-10, A-hookkeys-11, A-hookkeys-12, A-hookkeys-14,
// A-hookkeys-15, A-hookkeys-16, A-hookkeys-17, A-hookkeys-18, A-hookkeys-20, A-hookkeys-21.
func TestHookKey_Lifecycle(t *testing.T) {
	secrets := seal.Random()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, func(o *assembly.Options) { o.Secrets = secrets })
		uuid := `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		saved := e.Run(t,
			apitest.Step{Do: "GET " + keys, Equal: map[string]any{"#": 0}, Has: []string{"link:self"}},
			apitest.Step{
				Do: "POST " + keys, Body: `{"name":"first","isUsed":true,"id":"x"}`,
				Save: map[string]string{"id": "id", "keyId": "keyId", "n": "_embedded.n"},
				Equal: map[string]any{"name": "first", "isUsed": false, "_embedded.kty": "RSA", "_embedded.alg": "RSA", "_embedded.use": nil,
					"_embedded.e": "AQAB"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Regexp(t, "^HKY[0-9A-Za-z]{17}$", a.Value("id"))
					require.Regexp(t, uuid, a.Value("keyId"))
					require.Equal(t, a.Value("keyId"), a.Value("_embedded.kid"))
					modulus, err := base64.RawURLEncoding.DecodeString(a.Value("_embedded.n"))
					require.NoError(t, err)
					require.Len(t, modulus, signkey.Bits/8)
				},
			},
			apitest.Step{Do: "GET " + keys + "/{{id}}", Equal: map[string]any{"keyId": "{{keyId}}", "isUsed": false, "_embedded.n": "{{n}}"}},
			apitest.Step{Do: "GET " + keys + "/{{id}}?expand=publickey", Equal: map[string]any{"_embedded.kid": "{{keyId}}"}},
			apitest.Step{Do: "GET " + keys, Equal: map[string]any{"#": 1, "0.id": "{{id}}"}, Lacks: []string{"0._embedded", "link:next"}},
			apitest.Step{
				Name: "the public half by the alias", Do: "GET " + keys + "/public/{{keyId}}", Lacks: []string{"id", "name", "_embedded"},
				Equal: map[string]any{"kid": "{{keyId}}", "kty": "RSA", "alg": "RSA", "use": nil, "e": "AQAB", "n": "{{n}}"},
			},
			apitest.Step{Name: "and on the path of the key", Do: "GET " + keys + "/{{keyId}}",
				Equal: map[string]any{"kid": "{{keyId}}", "n": "{{n}}"}, Lacks: []string{"id", "name", "_embedded"}},
			apitest.Step{Do: "PUT " + keys + "/{{id}}", Body: `{"name":"renamed"}`,
				Equal: map[string]any{"name": "renamed", "keyId": "{{keyId}}", "_embedded.n": "{{n}}"}},
			apitest.Step{Name: "a hook uses the key", Do: "POST " + inlineHooks, Body: hook("{{id}}"), Save: map[string]string{"hook": "id"},
				Equal: map[string]any{"channel.config.hookKeyId": "{{id}}"}},
			apitest.Step{Do: "GET " + keys + "/{{id}}", Equal: map[string]any{"isUsed": true}},
			apitest.Step{Do: "GET " + keys, Equal: map[string]any{"0.isUsed": true}},
			apitest.Step{Name: "so it stays", Do: "DELETE " + keys + "/{{id}}", Status: 400, Code: "E0000001", Causes: []string{"isUsed"}},
			apitest.Step{Do: "POST " + inlineHooks + "/{{hook}}/lifecycle/deactivate"},
			apitest.Step{Name: "a hook that is not active uses it too", Do: "DELETE " + keys + "/{{id}}", Status: 400, Code: "E0000001",
				Causes: []string{"isUsed"}},
			apitest.Step{Name: "the key can be renamed", Do: "PUT " + keys + "/{{id}}", Body: `{"name":"Renamed"}`,
				Equal: map[string]any{"isUsed": true, "name": "Renamed"}},
			apitest.Step{
				Name: "the hook turns to a secret", Do: "POST " + inlineHooks + "/{{hook}}",
				Body:  `{"channel":{"config":{"authType":"client_secret_post","clientSecret":"s"}}}`,
				Lacks: []string{"channel.config.hookKeyId"},
			},
			apitest.Step{Do: "GET " + keys + "/{{id}}", Equal: map[string]any{"isUsed": false}},
		)
		doc, err := e.Model.HookKeys.Get(t.Context(), e.Store.Reader(), saved["id"])
		require.NoError(t, err)
		private, err := doc.Value.Key.Private(secrets)
		require.NoError(t, err)
		var public jose.JSONWebKey
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"kty":"RSA","e":"AQAB","n":%q}`, saved["n"]), &public))
		require.True(t, private.PublicKey.Equal(public.Key.(*rsa.PublicKey)))
		stored, err := json.Marshal(doc.Value)
		require.NoError(t, err)
		require.NotContains(t, string(stored), base64.StdEncoding.EncodeToString(private.D.Bytes())[:32])
		e.Run(t,
			apitest.Step{Do: "DELETE " + keys + "/" + saved["id"], Status: 204},
			apitest.Step{Do: "GET " + keys + "/" + saved["id"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET " + keys + "/" + saved["keyId"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET " + keys + "/public/" + saved["keyId"], Status: 404, Code: "E0000007"},
			apitest.Step{Name: "what is gone cannot be used", Do: "POST " + inlineHooks, Body: hook(saved["id"]), Status: 400, Code: "E0000001",
				Causes: []string{"channel.config.hookKeyId"}},
			apitest.Step{Do: "GET " + keys, Equal: map[string]any{"#": 0}},
		)
	})
}

// Proves A-hookkeys-03, A-hookkeys-04, A-hookkeys-19, A-hookkeys-22.
func TestHookKey_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	long := strings.Repeat("é", 255)
	e.Run(t,
		apitest.Step{Name: "without credentials", Do: "GET " + keys, Header: map[string]string{"Authorization": ""}, Status: 403,
			Code: "E0000005"},
		apitest.Step{Name: "without a body", Do: "POST " + keys, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "with an array", Do: "POST " + keys, Body: `[]`, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "with another media type", Do: "POST " + keys, Body: `{"name":"x"}`,
			Header: map[string]string{"Content-Type": "text/plain"}, Status: 400, Code: "E0000021"},
		apitest.Step{Name: "without a name", Do: "POST " + keys, Body: `{}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: The field cannot be left blank"}},
		apitest.Step{Name: "with an empty name", Do: "POST " + keys, Body: `{"name":""}`, Status: 400, Code: "E0000001",
			Causes: []string{"name"}},
		apitest.Step{Name: "with a name that is no text", Do: "POST " + keys, Body: `{"name":7}`, Status: 400, Code: "E0000001",
			Causes: []string{"name"}},
		apitest.Step{Name: "with a name that is too long", Do: "POST " + keys, Body: `{"name":"` + long + `x"}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: The field must have at most 255"}},
		apitest.Step{Name: "with the longest name", Do: "POST " + keys, Body: `{"name":"` + long + `"}`, Save: map[string]string{"long": "id"}},
		apitest.Step{Do: "POST " + keys, Body: `{"name":"One"}`, Save: map[string]string{"one": "id"}},
		apitest.Step{Name: "with a name that is taken", Do: "POST " + keys, Body: `{"name":"one"}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: An object with this field already exists"}},
		apitest.Step{Name: "renamed to one that is taken", Do: "PUT " + keys + "/{{long}}", Body: `{"name":"ONE"}`, Status: 400, Code: "E0000001",
			Causes: []string{"name: An object with this field already exists"}},
		apitest.Step{Do: "PUT " + keys + "/{{one}}", Status: 400, Code: "E0000003"},
		apitest.Step{Do: "PUT " + keys + "/{{one}}", Body: `{"name":null}`, Status: 400, Code: "E0000001", Causes: []string{"name"}},
		apitest.Step{Name: "existence comes before the body", Do: "PUT " + keys + "/HKY00000000000000000", Body: "{", Status: 404,
			Code: "E0000007"},
		apitest.Step{Do: "DELETE " + keys + "/HKY00000000000000000", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "a user is no key", Do: "GET /api/v1/users/me", Save: map[string]string{"user": "id"}},
		apitest.Step{Do: "GET " + keys + "/{{user}}", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET " + keys + "/00000000-0000-4000-8000-000000000000", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET " + keys + "/public/nothing", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "PATCH " + keys + "/{{one}}", Status: 405, Code: "E0000022"},
		apitest.Step{Name: "nothing was left behind", Do: "GET " + keys, Equal: map[string]any{"#": 2}},
	)
	// Making the others would take long, so that they are copies of one.
	page, err := e.Model.HookKeys.Query(t.Context(), e.Store.Reader(), docstore.Query[model.HookKey]{Limit: 1})
	require.NoError(t, err)
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		for i := range hookkeys.MaxKeys - 2 {
			copied := page.Docs[0].Value
			copied.Name, copied.KeyID = fmt.Sprint("copy ", i), model.NewUUID()
			if _, err := e.Model.HookKeys.Insert(t.Context(), tx, model.NewID(model.KindHookKey), copied); err != nil {
				return err
			}
		}
		return nil
	}))
	e.Run(t,
		apitest.Step{Do: "GET " + keys, Equal: map[string]any{"#": hookkeys.MaxKeys}, Lacks: []string{"link:next"}},
		apitest.Step{Name: "there are too many", Do: "POST " + keys, Body: `{"name":"more"}`, Status: 400, Code: "E0000001",
			Causes: []string{"hookKeys: There can be at most 50"}},
	)
}
