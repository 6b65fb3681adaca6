package slicetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/inlinehooks"
)

const (
	hookRoot   = "/api/v1/inlineHooks"
	hookSecret = "the-secret-of-the-header"
	hookClient = "the-secret-of-the-client"
)

// httpHook returns a hook with a secret in a header.
func httpHook(name, kind, uri string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q,"method":"POST",
		"headers":[{"key":"X-Other","value":"some"}],"authScheme":{"type":"HEADER","key":"X-Api-Key","value":%q}}}}`, name, kind, uri, hookSecret)
}

// oauthHook returns a hook that obtains an access token with a client secret.
func oauthHook(name, kind, uri, tokens string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"version":"1.0.0","channel":{"type":"OAUTH","version":"1.0.0","config":{"uri":%q,"method":"POST",
		"clientId":"the-client","clientSecret":%q,"tokenUrl":%q,"authType":"client_secret_post","scope":"call hooks"}}}`, name, kind, uri,
		hookClient, tokens)
}

const (
	telephony = "com.svc.telephony.provider"
	transform = "com.svc.oauth2.tokens.transform"
)

// Proves A-hooks-14, A-hooks-15, A-hooks-17, A-hooks-19, A-hooks-20, A-hooks-21, A-hooks-22, A-hooks-27, A-hooks-28, A-hooks-29,
// A-hooks-30, A-hooks-32, A-hooks-33, A-hooks-35, A-hooks-36, A-hooks-37, A-hooks-38, A-hooks-39, A-hooks-41.
func TestHook_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		whole := map[string]any{
			"status": "ACTIVE", "name": "first", "type": telephony, "version": "1.0.0", "channel.type": "HTTP", "channel.version": "1.0.0",
			"channel.config.uri": "https://hook.example.com/call", "channel.config.method": "POST", "channel.config.headers.0.key": "X-Other",
			"channel.config.headers.0.value": "some", "channel.config.authScheme.type": "HEADER", "channel.config.authScheme.key": "X-Api-Key",
			"_links.self.hints.allow.0": "GET", "_links.execute.hints.allow.0": "POST", "_links.deactivate.hints.allow.0": "POST",
		}
		secrets := []string{"channel.config.authScheme.value", "channel.config.clientSecret"}
		var read string
		saved := e.Run(t,
			apitest.Step{Do: "GET " + hookRoot, Equal: map[string]any{"#": 0}, Has: []string{"link:self"}},
			apitest.Step{
				Do: "POST " + hookRoot, Body: httpHook("first", telephony, "https://hook.example.com/call"), Equal: whole,
				Lacks: append(secrets, "_links.activate"),
				Save:  map[string]string{"id": "id", "self": "_links.self.href", "deactivate": "_links.deactivate.href"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Regexp(t, "^cal[0-9A-Za-z]{17}$", a.Value("id"))
					require.NotContains(t, string(a.Body), hookSecret)
					read = string(a.Body)
				},
			},
			apitest.Step{Do: "GET {{self}}", Equal: whole, Lacks: secrets},
			apitest.Step{Do: "POST " + hookRoot, Body: oauthHook("second", transform, "https://hook.example.com", "https://as.example.com/token"),
				Save: map[string]string{"oauth": "id"},
				Equal: map[string]any{
					"channel.config.authScheme": nil, "channel.config.clientId": "the-client", "channel.config.tokenUrl": "https://as.example.com/token",
					"channel.config.authType": "client_secret_post", "channel.config.scope": "call hooks", "channel.config.headers.#": 0,
				}, Lacks: append(secrets, "channel.config.hookKeyId")},
			apitest.Step{Name: "another host requires the client secret again", Do: "POST " + hookRoot + "/{{oauth}}",
				Body:   `{"channel":{"config":{"tokenUrl":"https://elsewhere.example.com/token"}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"channel.config.clientSecret: The field cannot be left blank"}},
			apitest.Step{Do: "PUT " + hookRoot + "/{{oauth}}",
				Body: strings.Replace(oauthHook("second", transform, "https://hook.example.com", "https://as.example.com:444/token"),
					`"clientSecret":"`+hookClient+`",`, "", 1),
				Status: 400, Code: "E0000001", Causes: []string{"channel.config.clientSecret: "}},
			apitest.Step{Name: "another path keeps the client secret", Do: "POST " + hookRoot + "/{{oauth}}",
				Body: `{"channel":{"config":{"tokenUrl":"https://AS.example.com/v2/token"}}}`},
			apitest.Step{Do: "PUT " + hookRoot + "/{{oauth}}",
				Body: strings.Replace(oauthHook("second", transform, "https://hook.example.com", "https://as.example.com/token"),
					`"clientSecret":"`+hookClient+`",`, "", 1)},
			apitest.Step{Do: "GET " + hookRoot, Equal: map[string]any{"#": 2, "0.id": "{{id}}", "1.id": "{{oauth}}"}, Lacks: []string{"link:next"}},
			apitest.Step{Do: "GET " + hookRoot + "?type=" + transform, Equal: map[string]any{"#": 1, "0.id": "{{oauth}}"}},
			apitest.Step{Do: "GET " + hookRoot + "?type=com.svc.import.transform", Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "GET " + hookRoot + "?type=com.svc.nothing", Status: 400, Code: "E0000001",
				Causes: []string{"type: The value must be one of"}},
			apitest.Step{Name: "an update changes the given members", Do: "POST {{self}}",
				Body: `{"channel":{"config":{"uri":"https://hook.example.com/other","authScheme":{"key":"Authorization"}}}}`,
				Equal: map[string]any{"name": "first", "channel.config.uri": "https://hook.example.com/other",
					"channel.config.authScheme.key": "Authorization", "channel.config.headers.#": 1}},
			apitest.Step{Name: "an update of the name", Do: "POST {{self}}", Body: `{"name":"renamed","channel":null}`,
				Equal: map[string]any{"name": "renamed", "channel.config.uri": "https://hook.example.com/other"}},
			apitest.Step{Name: "an update of the headers", Do: "POST {{self}}", Body: `{"channel":{"config":{"headers":[]}}}`,
				Equal: map[string]any{"channel.config.headers.#": 0}},
			apitest.Step{Name: "an empty update", Do: "POST {{self}}", Body: `{}`, Equal: map[string]any{"name": "renamed"}},
		)
		e.Run(t,
			apitest.Step{Name: "a replacement with the response body keeps the secret", Do: "PUT " + saved["self"], Body: read,
				Equal: map[string]any{
					"name": "first", "channel.config.uri": "https://hook.example.com/call", "channel.config.authScheme.key": "X-Api-Key"}},
		)
		doc, err := e.Model.InlineHooks.Get(t.Context(), e.Store.Reader(), saved["id"])
		require.NoError(t, err)
		require.NotEmpty(t, doc.Value.Channel.SealedAuthValue)
		stored, err := json.Marshal(doc.Value)
		require.NoError(t, err)
		require.NotContains(t, string(stored), hookSecret)
		e.Run(t,
			apitest.Step{Name: "a replacement without headers and authentication drops them", Do: "PUT " + saved["self"],
				Body:  `{"name":"first","type":"` + telephony + `","version":"1.0.0","channel":{"config":{"uri":"https://hook.example.com"}}}`,
				Equal: map[string]any{"channel.config.authScheme": nil, "channel.config.headers.#": 0, "channel.type": "HTTP"}},
			apitest.Step{Name: "the secret was deleted, too", Do: "POST " + saved["self"],
				Body:   `{"channel":{"config":{"authScheme":{"type":"HEADER","key":"X-Api-Key"}}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"channel.config.authScheme.value: The field cannot be left blank"}},
			apitest.Step{Name: "the type of the channel can be changed", Do: "POST " + saved["self"],
				Body: `{"channel":{"type":"OAUTH","config":{"uri":"https://hook.example.com","clientId":"c","clientSecret":"s",` +
					`"tokenUrl":"https://as.example.com"}}}`,
				Equal: map[string]any{"channel.type": "OAUTH", "channel.config.authScheme": nil, "channel.config.authType": "client_secret_post"},
				Lacks: secrets},
			apitest.Step{Name: "the channel can be changed back", Do: "PUT " + saved["self"],
				Body:  httpHook("first", telephony, "https://hook.example.com/call"),
				Lacks: append(secrets, "channel.config.clientId", "channel.config.tokenUrl")},
			apitest.Step{Name: "activating an active hook changes nothing", Do: "POST " + saved["self"] + "/lifecycle/activate",
				Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Name: "an active hook cannot be deleted", Do: "DELETE " + saved["self"], Status: 400, Code: "E0000001",
				Causes: []string{"status: The hook must be inactive"}},
			apitest.Step{Do: "POST " + saved["deactivate"], Equal: map[string]any{"status": "INACTIVE", "_links.activate.hints.allow.0": "POST"},
				Lacks: []string{"_links.deactivate"}},
			apitest.Step{Name: "deactivating an inactive hook changes nothing", Do: "POST " + saved["deactivate"],
				Equal: map[string]any{"status": "INACTIVE"}},
			apitest.Step{Name: "an inactive hook cannot be executed", Do: "POST " + saved["self"] + "/execute", Body: `{}`, Status: 400,
				Code:   "E0000001",
				Causes: []string{"status: The hook must be active"}},
			apitest.Step{Name: "an inactive hook can be changed", Do: "POST " + saved["self"], Body: `{"name":"last"}`,
				Equal: map[string]any{"name": "last", "status": "INACTIVE"}},
			apitest.Step{Do: "POST " + saved["self"] + "/lifecycle/activate", Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Do: "POST " + saved["deactivate"]},
			apitest.Step{Do: "DELETE " + saved["self"], Status: 204},
			apitest.Step{Do: "GET " + saved["self"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE " + saved["self"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET " + hookRoot, Equal: map[string]any{"#": 1}},
			apitest.Step{Name: "the name can be used again", Do: "POST " + hookRoot, Body: httpHook("last", telephony, "https://hook.example.com")},
			apitest.Step{Name: "the log has one event per change",
				Do: `GET /api/v1/logs?filter=target.id+eq+%22` + saved["id"] + `%22+and+eventType+ew+%22activated%22`, Equal: map[string]any{"#": 3}},
		)
		require.NotContains(t, e.Log.String(), hookSecret)
	})
}

// Proves A-hooks-03, A-hooks-06, A-hooks-07, A-hooks-08, A-hooks-10, A-hooks-11, A-hooks-12, A-hooks-13, A-hooks-40, A-hooks-42.
func TestHook_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: httpHook("taken", telephony, "https://hook.example.com"), Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST " + hookRoot, Body: oauthHook("oauth", transform, "https://hook.example.com", "https://as.example.com/token"),
			Save: map[string]string{"oauth": "id"}},
		apitest.Step{Do: "POST /api/v1/hook-keys", Body: `{"name":"k"}`, Save: map[string]string{"key": "id", "keyId": "keyId"}},
		apitest.Step{Name: "without credentials", Do: "GET " + hookRoot, Header: map[string]string{"Authorization": ""}, Status: 403,
			Code: "E0000005"},
		apitest.Step{Name: "without a body", Do: "POST " + hookRoot, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "without members", Do: "POST " + hookRoot, Body: `{}`, Status: 400, Code: "E0000001",
			Causes: []string{"name", "type", "version", "channel"}},
		apitest.Step{Name: "with members of wrong types", Do: "POST " + hookRoot, Body: `{"name":1,"type":[],"version":1.0,"channel":"x"}`,
			Status: 400, Code: "E0000001", Causes: []string{"name", "type", "version", "channel"}},
		apitest.Step{Name: "existence is checked before the body", Do: "PUT " + hookRoot + "/cal00000000000000000", Body: "{", Status: 404,
			Code: "E0000007"},
		apitest.Step{Name: "a key id is not a hook id", Do: "POST " + hookRoot + "/{{key}}/lifecycle/activate", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST " + hookRoot + "/{{key}}/execute", Body: `{}`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST " + hookRoot + "/{{id}}/execute", Status: 400, Code: "E0000003"},
		apitest.Step{Do: "POST " + hookRoot + "/{{id}}/execute", Body: `"text"`, Status: 400, Code: "E0000003"},
		apitest.Step{Do: "PATCH " + hookRoot + "/{{id}}", Status: 405, Code: "E0000022"},
	)
	config := func(config string) string {
		return `{"name":"x","type":"` + telephony + `","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0","config":` + config + `}}`
	}
	oauth := func(config string) string {
		return `{"name":"x","type":"` + telephony +
			`","version":"1.0.0","channel":{"type":"OAUTH","version":"1.0.0","config":{"uri":"https://h.example.com",` + config + `}}}`
	}
	uri := func(uri string) string { return config(fmt.Sprintf(`{"uri":%q}`, uri)) }
	header := func(key, value string) string {
		return config(fmt.Sprintf(`{"uri":"https://h.example.com","headers":[{"key":%q,"value":%q}],"authScheme":{"type":"HEADER",`+
			`"key":"X-Key","value":"s"}}`, key, value))
	}
	const (
		inURI, blank   = "channel.config.uri: ", "The field cannot be left blank"
		inKey, inValue = "channel.config.headers[0].key: ", "channel.config.headers[0].value: "
	)
	for name, c := range map[string]struct {
		body   string
		causes []string
	}{
		"a duplicate name": {httpHook("Taken", telephony, "https://h.example.com"),
			[]string{"name: An object with this field already exists"}},
		"a name that is too long": {httpHook(strings.Repeat("x", 256), telephony, "https://h.example.com"),
			[]string{"name: The field must have at most 255"}},
		"an unknown type": {httpHook("x", "com.svc.nothing", "https://h.example.com"),
			[]string{"type: The value must be one of"}},
		"another version": {strings.Replace(uri("https://h.example.com"), `"version":"1.0.0"`, `"version":"1.0.1"`, 1),
			[]string{"version"}},
		"another version of the channel": {
			strings.Replace(uri("https://h.example.com"), `"HTTP","version":"1.0.0"`, `"HTTP","version":"2.0.0"`, 1), []string{"channel.version"}},
		"an unknown channel":      {strings.Replace(uri("https://h.example.com"), "HTTP", "SMOKE", 1), []string{"channel.type"}},
		"no configuration":        {config("null"), []string{inURI + blank}},
		"http":                    {uri("http://h.example.com"), []string{inURI + "The value must be an https URL"}},
		"another scheme":          {uri("ftp://h.example.com"), []string{inURI}},
		"no host":                 {uri("https:///path"), []string{inURI}},
		"no URL":                  {uri("https://[::1"), []string{inURI}},
		"an invalid port":         {uri("https://h.example.com:99999"), []string{inURI}},
		"white space in the URL":  {uri("https://h.example.com/a b"), []string{inURI + "The value must not contain white space"}},
		"a line break in the URL": {uri("https://h.example.com/a\nb"), []string{inURI}},
		"a URL that is too long": {uri("https://h.example.com/" + strings.Repeat("x", 1024)),
			[]string{inURI + "The field must have at most 1024"}},
		"credentials in the URL": {uri("https://user:password@h.example.com"), []string{inURI}},
		"another method": {config(`{"uri":"https://h.example.com","method":"PUT"}`),
			[]string{"channel.config.method: The value must be one of: POST"}},
		"a header name that is not a token": {header("X Other", "v"), []string{inKey}},
		"a header without a name":           {header("", "v"), []string{inKey + blank}},
		"a header without a value":          {header("X-A", ""), []string{inValue + blank}},
		"a line break in a header":          {header("X-A", "v\r\nX-B: w"), []string{inValue}},
		"Accept as a header":                {header("accept", "v"), []string{inKey}},
		"Content-Type as a header":          {header("Content-type", "v"), []string{inKey}},
		"Host as a header":                  {header("HOST", "v"), []string{inKey}},
		"Content-Length as a header":        {header("Content-Length", "1"), []string{inKey}},
		"Transfer-Encoding as a header":     {header("Transfer-Encoding", "chunked"), []string{inKey}},
		"Authorization as a header":         {header("Authorization", "v"), []string{inKey}},
		"the authentication as a header":    {header("x-key", "v"), []string{inKey}},
		"a duplicate header": {config(`{"uri":"https://h.example.com","headers":[{"key":"X-A","value":"1"},{"key":"x-a",` +
			`"value":"2"}]}`), []string{"channel.config.headers[1].key"}},
		"too many headers": {
			config(`{"uri":"https://h.example.com","headers":[` + strings.Repeat(`{"key":"X-A","value":"1"},`, inlinehooks.MaxHeaders) +
				`{"key":"X-A","value":"1"}]}`), []string{"channel.config.headers: There can be at most"}},
		"an authentication without a secret": {config(`{"uri":"https://h.example.com","authScheme":{"type":"HEADER","key":"X-Key"}}`),
			[]string{"channel.config.authScheme.value: " + blank}},
		"an authentication without a name": {config(`{"uri":"https://h.example.com","authScheme":{"type":"HEADER","value":"s"}}`),
			[]string{"channel.config.authScheme.key: " + blank}},
		"another authentication": {config(`{"uri":"https://h.example.com","authScheme":{"type":"BASIC","key":"X","value":"s"}}`),
			[]string{"channel.config.authScheme.type"}},
		"a line break in the secret": {config(`{"uri":"https://h.example.com","authScheme":{"type":"HEADER","key":"X","value":"s\nt"}}`),
			[]string{"channel.config.authScheme.value"}},
		"the secret in Content-Type": {config(`{"uri":"https://h.example.com","authScheme":{"type":"HEADER","key":"content-type",` +
			`"value":"s"}}`), []string{"channel.config.authScheme.key"}},
		"OAuth without members": {oauth(`"headers":null`),
			[]string{"channel.config.tokenUrl: " + blank, "channel.config.clientId: " + blank, "channel.config.clientSecret: " + blank}},
		"OAuth with a header": {oauth(`"clientId":"c","clientSecret":"s","tokenUrl":"https://a.example.com",` +
			`"authScheme":{"type":"HEADER","key":"X","value":"s"}`), []string{"channel.config.authScheme"}},
		"OAuth with http": {oauth(`"clientId":"c","clientSecret":"s","tokenUrl":"http://a.example.com"`),
			[]string{"channel.config.tokenUrl: The value must be an https URL"}},
		"OAuth with another method": {oauth(`"clientId":"c","clientSecret":"s","tokenUrl":"https://a.example.com",` +
			`"authType":"client_secret_basic"`), []string{"channel.config.authType"}},
		"OAuth with a secret and a key": {
			oauth(`"clientId":"c","clientSecret":"s","tokenUrl":"https://a.example.com","hookKeyId":"` + saved["key"] + `"`),
			[]string{"channel.config.hookKeyId"}},
		"OAuth with a key and a secret": {oauth(`"clientId":"c","clientSecret":"s","tokenUrl":"https://a.example.com",` +
			`"authType":"private_key_jwt","hookKeyId":"` + saved["key"] + `"`), []string{"channel.config.clientSecret"}},
		"OAuth without its key": {oauth(`"clientId":"c","tokenUrl":"https://a.example.com","authType":"private_key_jwt"`),
			[]string{"channel.config.hookKeyId: " + blank}},
		"OAuth with an unknown key": {oauth(`"clientId":"c","tokenUrl":"https://a.example.com","authType":"private_key_jwt",` +
			`"hookKeyId":"HKY1"`), []string{"channel.config.hookKeyId"}},
		"OAuth with the alias of a key": {oauth(`"clientId":"c","tokenUrl":"https://a.example.com","authType":"private_key_jwt",` +
			`"hookKeyId":"` + saved["keyId"] + `"`), []string{"channel.config.hookKeyId"}},
	} {
		e.Run(t, apitest.Step{Name: "POST with " + name, Do: "POST " + hookRoot, Body: c.body, Status: 400, Code: "E0000001", Causes: c.causes})
		if name != "a duplicate name" && name != "an authentication without a secret" { // these two bodies are valid in a replacement
			e.Run(t, apitest.Step{Name: "PUT with " + name, Do: "PUT " + hookRoot + "/" + saved["id"], Body: c.body, Status: 400, Code: "E0000001"})
		}
	}
	e.Run(t,
		apitest.Step{Name: "a replacement cannot change the type", Do: "PUT " + hookRoot + "/" + saved["id"],
			Body: httpHook("taken", transform, "https://hook.example.com"), Status: 400, Code: "E0000001",
			Causes: []string{"type: The type cannot be changed"}},
		apitest.Step{Name: "an update cannot change the type", Do: "POST " + hookRoot + "/" + saved["id"],
			Body:   `{"type":"` + transform + `","version":"1.0.1"}`,
			Status: 400, Code: "E0000001", Causes: []string{"version", "type"}},
		apitest.Step{Name: "a replacement requires all members", Do: "PUT " + hookRoot + "/" + saved["id"], Body: `{}`, Status: 400,
			Code:   "E0000001",
			Causes: []string{"name", "channel"}},
		apitest.Step{Name: "a duplicate name", Do: "POST " + hookRoot + "/" + saved["id"], Body: `{"name":"OAUTH"}`, Status: 400,
			Code: "E0000001", Causes: []string{"name: An object"}},
		apitest.Step{Name: "the rejected requests have changed nothing", Do: "GET " + hookRoot,
			Equal: map[string]any{"#": 2, "0.name": "taken", "0.channel.config.uri": "https://hook.example.com"}},
		apitest.Step{Name: "the rejected requests are not logged", Do: "GET /api/v1/logs?filter=eventType+eq+%22inline_hook.updated%22",
			Equal: map[string]any{"#": 0}},
	)
	for i := range inlinehooks.MaxHooks - 2 {
		e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook(fmt.Sprint("n", i), telephony, "https://h.example.com")})
	}
	e.Run(t,
		apitest.Step{Name: "the number of hooks is limited", Do: "POST " + hookRoot, Body: httpHook("more", telephony, "https://h.example.com"),
			Status: 400,
			Code:   "E0000001", Causes: []string{"inlineHooks: There can be at most 50"}},
		apitest.Step{Do: "GET " + hookRoot, Equal: map[string]any{"#": inlinehooks.MaxHooks}, Lacks: []string{"link:next"}},
	)
}
