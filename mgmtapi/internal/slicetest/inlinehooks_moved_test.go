package slicetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// A secret stays where it was given: an administrator who moves an endpoint without knowing its secret must not receive it there.
func TestHook_SecretStaysAtItsOrigin(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const blank = ": The field cannot be left blank"
	created := e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: httpHook("header", telephony, "https://hook.example.com/call"),
			Save: map[string]string{"http": "id"}},
		apitest.Step{Do: "POST " + hookRoot, Body: oauthHook("oauth", transform, "https://hook.example.com/call", "https://as.example.com/token"),
			Save: map[string]string{"oauth": "id"}},
	)
	stored := func(id string) string {
		doc, err := e.Model.InlineHooks.Get(t.Context(), e.Store.Reader(), id)
		require.NoError(t, err)
		return fmt.Sprintf("%+v", doc.Value)
	}
	moved := []string{
		"https://evil.example.com/call", "https://hook.example.com:8443/call", "https://hook.example.com.evil.example.com/call",
		"https://sub.hook.example.com/call",
	}
	for _, tt := range []struct {
		name, id, cause string
		update, replace func(uri, secret string) string
	}{
		{
			"HTTP", created["http"], "channel.config.authScheme.value" + blank,
			func(uri, secret string) string {
				if secret == "" {
					return fmt.Sprintf(`{"channel":{"config":{"uri":%q}}}`, uri)
				}
				return fmt.Sprintf(`{"channel":{"config":{"uri":%q,"authScheme":{"value":%q}}}}`, uri, secret)
			},
			func(uri, secret string) string {
				return fmt.Sprintf(`{"name":"header","type":%q,"version":"1.0.0","channel":{"config":{"uri":%q,"authScheme":{"type":"HEADER",`+
					`"key":"X-Api-Key","value":%q}}}}`, telephony, uri, secret)
			},
		},
		{
			"OAUTH", created["oauth"], "channel.config.clientSecret" + blank,
			func(uri, secret string) string {
				return fmt.Sprintf(`{"channel":{"config":{"uri":%q,"clientSecret":%q}}}`, uri, secret)
			},
			func(uri, secret string) string {
				return fmt.Sprintf(`{"name":"oauth","type":%q,"version":"1.0.0","channel":{"type":"OAUTH","config":{"uri":%q,`+
					`"clientId":"the-client","tokenUrl":"https://as.example.com/token","clientSecret":%q}}}`, transform, uri, secret)
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := stored(tt.id)
			for _, uri := range moved {
				e.Run(t,
					apitest.Step{Do: "POST " + hookRoot + "/" + tt.id, Body: tt.update(uri, ""), Status: 400, Code: "E0000001",
						Causes: []string{tt.cause}},
					apitest.Step{Do: "PUT " + hookRoot + "/" + tt.id, Body: tt.replace(uri, ""), Status: 400, Code: "E0000001",
						Causes: []string{tt.cause}},
				)
			}
			require.Equal(t, before, stored(tt.id), "nothing was stored")
			e.Run(t,
				apitest.Step{Name: "another path is the same place", Do: "POST " + hookRoot + "/" + tt.id,
					Body: tt.update("https://HOOK.example.com:443/other", "")},
				apitest.Step{Do: "PUT " + hookRoot + "/" + tt.id, Body: tt.replace("https://hook.example.com/third", "")},
				apitest.Step{Name: "who knows the secret may move it", Do: "POST " + hookRoot + "/" + tt.id, Body: tt.update(moved[0], "again"),
					Equal: map[string]any{"channel.config.uri": moved[0]}},
				apitest.Step{Do: "PUT " + hookRoot + "/" + tt.id, Body: tt.replace(moved[1], "again"),
					Equal: map[string]any{"channel.config.uri": moved[1]}},
			)
		})
	}
	e.Run(t, apitest.Step{Name: "a replacement without authentication leaves the secret behind", Do: "PUT " + hookRoot + "/" + created["http"],
		Body:  fmt.Sprintf(`{"name":"header","type":%q,"version":"1.0.0","channel":{"config":{"uri":"https://other.example.com"}}}`, telephony),
		Equal: map[string]any{"channel.config.authScheme": nil}})
}
