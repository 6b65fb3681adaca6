package slicetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// hookWorld returns an API that trusts the certificate of an endpoint, and the endpoint.
func hookWorld(t *testing.T, adjust ...func(*calls.Network)) (*apitest.Env, *hookstest.Endpoint) {
	t.Helper()
	endpoint := hookstest.New(t)
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) {
		o.Hooks = calls.Network{CA: endpoint.CA}
		for _, f := range adjust {
			f(&o.Hooks)
		}
	})
	t.Cleanup(e.API.CloseIdleConnections)
	return e, endpoint
}

// executed lists the log events of calls, the last one first.
const executed = "GET /api/v1/logs?sortOrder=DESCENDING&filter=eventType+eq+%22inline_hook.executed%22"

// Proves A-hooks-16, A-hooks-18, A-hooks-43, A-hooks-44.
func TestHook_Executed(t *testing.T) {
	e, endpoint := hookWorld(t)
	saved := e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: httpHook("h", telephony, endpoint.URL+"/call"), Save: map[string]string{"id": "id"}})
	do := "POST " + hookRoot + "/" + saved["id"] + "/execute"

	endpoint.Answer(hookstest.JSON(200, ` {"z": 1.50, "a": [null, {"commands": "anything"}]} `))
	a := e.Do(t, do, "{\"z\": 1.0, \"a\":\n [2]}", nil)
	require.Equal(t, 200, a.Status)
	require.Equal(t, `{"z":1.50,"a":[null,{"commands":"anything"}]}`, strings.TrimSpace(string(a.Body)), "the response is returned unchanged")
	call := endpoint.Called(1)[0]
	require.Equal(t, "{\"z\": 1.0, \"a\":\n [2]}", call.Body, "the body is forwarded unchanged")
	require.Equal(t, "POST", call.Method)
	require.Equal(t, "/call", call.Path)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "X-Other": "some",
		"X-Api-Key": hookSecret, "Authorization": ""} {
		require.Equal(t, value, call.Header.Get(name), name)
	}

	endpoint.Answer(hookstest.JSON(204, ""))
	e.Run(t, apitest.Step{Name: "a response without a body", Do: do, Body: `[]`, Then: func(t *testing.T, a *apitest.Answer) {
		require.Equal(t, "{}", strings.TrimSpace(string(a.Body)))
	}})

	tries := 0
	endpoint.Answer(func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			hookstest.JSON(500, "")(w, r)
			return
		}
		hookstest.JSON(201, `{"second":true}`)(w, r)
	})
	e.Run(t,
		apitest.Step{Name: "the second attempt succeeds", Do: do, Body: `{}`, Equal: map[string]any{"second": true}},
		apitest.Step{Do: executed, Equal: map[string]any{
			"#": 3, "0.outcome.result": "SUCCESS", "0.debugContext.debugData.attempts": "2", "0.debugContext.debugData.status": "201",
			"0.debugContext.debugData.envelope": "{}", "0.debugContext.debugData.answer": `{"second":true}`,
			"0.target.0.type": "InlineHook", "0.target.0.id": saved["id"],
		}},
	)
	endpoint.Called(2)
}

// Proves A-hooks-48, A-hooks-49.
func TestHook_InvalidResponse(t *testing.T) {
	e, endpoint := hookWorld(t)
	saved := e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook("h", telephony, endpoint.URL), Save: map[string]string{"id": "id"}})
	do := "POST " + hookRoot + "/" + saved["id"] + "/execute"
	redirected := 0
	elsewhere := hookstest.New(t)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status string
		begins string
	}{
		"an error":                            {hookstest.JSON(500, `{"sorry":"`+strings.Repeat("é", 300)+`"}`), "500", `body: {"sorry":"é`},
		"a rejection":                         {hookstest.JSON(403, ``), "403", "body: "},
		"a response that contains the secret": {hookstest.JSON(400, "you sent "+hookSecret+", sorry"), "400", "body: you sent [redacted], sorry"},
		"HTML":                                {hookstest.JSON(200, "<html>hello</html>"), "200", "body: <html>"},
		"nothing":                             {hookstest.JSON(200, ""), "200", "body: "},
		"two values":                          {hookstest.JSON(200, `{} {}`), "200", "body: {} {}"},
		"an incomplete value":                 {hookstest.JSON(200, `{"a":`), "200", `body: {"a":`},
		"invalid UTF-8":                       {hookstest.JSON(200, "{\"a\":\"\xff\"}"), "200", `body: {"a":"`},
		"an endless body":                     {hookstest.Endless(200), "200", `body: {"a":"aaaa`},
		"an endless error":                    {hookstest.Endless(502), "502", `body: {"a":"aaaa`},
		"a redirection": {func(w http.ResponseWriter, r *http.Request) {
			redirected++
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "307", "body: "},
	} {
		endpoint.Answer(c.answer)
		e.Run(t,
			apitest.Step{
				Name: name, Do: do, Body: `{}`, Status: 400, Code: "E0000135",
				Causes: []string{"uri: the hook endpoint answered with ", "status: " + c.status, "attempts: 2", c.begins},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.NotContains(t, string(a.Body), hookSecret)
					require.LessOrEqual(t, len(a.Value("errorCauses.3.errorSummary")), len("body: ")+255)
				},
			},
			apitest.Step{Name: "the failure is logged", Do: executed + "&limit=1", Equal: map[string]any{
				"0.outcome.result": "FAILURE", "0.debugContext.debugData.status": c.status, "0.debugContext.debugData.attempts": "2",
			}, Then: func(t *testing.T, a *apitest.Answer) { require.NotContains(t, string(a.Body), hookSecret) }},
		)
		endpoint.Called(2)
	}
	require.Equal(t, 2, redirected)
	elsewhere.Called(0)
	endpoint.Answer(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // without a response
		}
	})
	e.Run(t,
		apitest.Step{Name: "a connection that is closed", Do: do, Body: `{}`, Status: 400, Code: "E0000137",
			Causes: []string{"uri: the hook endpoint could not be reached", "attempts: 2"}})
	require.NotContains(t, e.Log.String(), hookSecret)
}

// Proves A-hooks-47.
func TestHook_UnreachableEndpoint(t *testing.T) {
	_, endpoint := hookWorld(t)
	saved := func(e *apitest.Env, uri string) string {
		return "POST " + hookRoot + "/" +
			e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook("h", telephony, uri), Save: map[string]string{"id": "id"}})["id"] +
			"/execute"
	}
	distrusting, _ := hookWorld(t)
	distrusting.Run(t,
		apitest.Step{Name: "an untrusted CA", Do: saved(distrusting, endpoint.URL), Body: `{}`, Status: 400, Code: "E0000137",
			Causes: []string{"uri: the hook endpoint could not be reached: tls: failed to verify certificate", "attempts: 2"}})
	endpoint.Called(0)

	guarded, inside := hookWorld(t, func(n *calls.Network) { n.Egress.Range = egress.Public })
	guarded.Run(t,
		apitest.Step{Name: "a forbidden address", Do: saved(guarded, inside.URL), Body: `{}`, Status: 400, Code: "E0000137",
			Causes: []string{"uri: the hook endpoint has an address that is not allowed: 127.0.0.1 is this machine itself", "attempts: 1"}})
	inside.Called(0)
	metadata, _ := hookWorld(t)
	metadata.Run(t,
		apitest.Step{Name: "the address of a metadata service", Do: saved(metadata, "https://169.254.169.254/latest"), Body: `{}`, Status: 400,
			Code:   "E0000137",
			Causes: []string{"uri: the hook endpoint has an address that is not allowed: 169.254.169.254", "attempts: 1"}})

	allowed, own := hookWorld(t, func(n *calls.Network) {
		n.Egress = calls.Egress{Range: egress.Public, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	})
	own.Answer(hookstest.JSON(200, `{}`))
	allowed.Run(t, apitest.Step{Name: "an address that an exception allows", Do: saved(allowed, own.URL), Body: `{}`})

	// The test does not depend on timing: the endpoint does not respond before the caller has closed the connection.
	impatient, silent := hookWorld(t, func(n *calls.Network) { n.Timeout = 200 * time.Millisecond })
	silent.Answer(hookstest.Hang)
	impatient.Run(t,
		apitest.Step{Name: "an endpoint that does not respond", Do: saved(impatient, silent.URL), Body: `{}`, Status: 400, Code: "E0000137",
			Causes: []string{"uri: the hook endpoint did not answer within 200ms", "attempts: 2"}},
		apitest.Step{Do: executed,
			Equal: map[string]any{"0.outcome.result": "FAILURE", "0.outcome.reason": "the hook endpoint did not answer within 200ms (attempts: 2)"}},
	)
}

// authorizationServer issues tokens. As the hook endpoint, it accepts only the last issued token.
type authorizationServer struct {
	given  int
	expiry string // the expiry member of token responses
	token  string // the accepted token
}

func (s *authorizationServer) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" {
		status := 200
		if r.Header.Get("Authorization") != "Bearer "+s.token {
			status = 401
		}
		hookstest.JSON(status, `{"authorization":"seen"}`)(w, r)
		return
	}
	s.given++
	s.token = fmt.Sprint("access-token-", s.given)
	hookstest.JSON(200, fmt.Sprintf(`{"access_token":%q,"token_type":"bearer"%s}`, s.token, s.expiry))(w, r)
}

// tokenForms returns the forms that the token endpoint received.
func tokenForms(t *testing.T, calls []hookstest.Call) (out []url.Values) {
	t.Helper()
	for _, call := range calls {
		if call.Path == "/token" {
			require.Equal(t, "application/x-www-form-urlencoded", call.Header.Get("Content-Type"))
			require.Empty(t, call.Header.Get("Authorization"))
			form, err := url.ParseQuery(call.Body)
			require.NoError(t, err)
			out = append(out, form)
		}
	}
	return out
}

// Proves A-hooks-23, A-hooks-25, A-hooks-26.
func TestHook_AccessTokenBySecret(t *testing.T) {
	e, endpoint := hookWorld(t)
	saved := e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: oauthHook("h", telephony, endpoint.URL+"/call", endpoint.URL+"/token"),
			Save: map[string]string{"id": "id"}})
	do := "POST " + hookRoot + "/" + saved["id"] + "/execute"
	server := &authorizationServer{expiry: `,"expires_in":3600`}
	endpoint.Answer(server.serve)
	execute := apitest.Step{Do: do, Body: `{}`, Equal: map[string]any{"authorization": "seen"}}
	e.Run(t, execute, execute)
	calls := endpoint.Called(3)
	require.Equal(t,
		[]url.Values{{"grant_type": {"client_credentials"}, "client_id": {"the-client"}, "client_secret": {hookClient}, "scope": {"call hooks"}}},
		tokenForms(t, calls))
	require.Equal(t, "Bearer access-token-1", calls[2].Header.Get("Authorization"))

	e.Clock.Advance(time.Hour - 29*time.Second)
	e.Run(t, execute)
	require.Equal(t, 2, server.given, "a new token shortly before the expiry of the previous one")

	server.token = "revoked"
	e.Run(t, execute)
	require.Equal(t, 3, server.given, "a new token after a rejection of the previous one")

	e.Run(t, apitest.Step{Do: "POST " + hookRoot + "/" + saved["id"], Body: `{"channel":{"config":{"scope":"other"}}}`}, execute)
	require.Equal(t, 4, server.given, "a new token after a change of the channel")

	server.expiry = ""
	e.Clock.Advance(2 * time.Hour)
	e.Run(t, execute, execute)
	require.Equal(t, 6, server.given, "tokens without a lifetime are not cached")

	const without = "answered without a bearer token"
	for name, c := range map[string]struct{ answer, code, says string }{
		"a rejection": {`{"error":"invalid_client","error_description":"` + hookClient + `"}`, "400",
			"answered with 400 Bad Request: invalid_client"},
		"another error":             {`{"error":"1nner"}`, "400", "answered with 400 Bad Request"},
		"no token":                  {`{"token_type":"Bearer"}`, "200", without},
		"a token with a line break": {`{"access_token":"a\nb","token_type":"Bearer"}`, "200", without},
		"another token type":        {`{"access_token":"x","token_type":"mac"}`, "200", without},
		"HTML":                      {`<html>1nner`, "200", without},
		"HTML as an error":          {`<html>1nner`, "500", "answered with 500 Internal Server Error"},
	} {
		var status int
		_, err := fmt.Sscan(c.code, &status)
		require.NoError(t, err)
		endpoint.Answer(hookstest.JSON(status, c.answer))
		e.Run(t, apitest.Step{Name: "the token endpoint responds with " + name, Do: do, Body: `{}`, Status: 400, Code: "E0000135",
			Causes: []string{"uri: the token endpoint " + c.says, "status: " + c.code, "attempts: 2", "body: "},
			Then: func(t *testing.T, a *apitest.Answer) {
				for _, hidden := range []string{hookClient, "1nner"} {
					require.NotContains(t, string(a.Body), hidden)
				}
			}})
		for _, call := range endpoint.Called(2) {
			require.Equal(t, "/token", call.Path, "the endpoint of the hook is not called")
		}
	}
	logs := e.Do(t, "GET /api/v1/logs?limit=1000", "", nil)
	for _, text := range []string{hookClient, "access-token", "1nner"} {
		require.NotContains(t, string(logs.Body), text)
		require.NotContains(t, e.Log.String(), text)
	}
}

// Proves A-hookkeys-23, A-hooks-24.
func TestHook_AccessTokenByKey(t *testing.T) {
	e, endpoint := hookWorld(t)
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/hook-keys", Body: `{"name":"k"}`, Save: map[string]string{"key": "id", "keyId": "keyId"}},
		apitest.Step{Do: "POST " + hookRoot,
			Body: fmt.Sprintf(
				`{"name":"h","type":%q,"version":"1.0.0","channel":{"type":"OAUTH","version":"1.0.0","config":{"uri":%q,"clientId":"the-client",
			"tokenUrl":%q,"authType":"private_key_jwt","hookKeyId":"{{key}}","clientSecret":null}}}`, telephony, endpoint.URL+"/call",
				endpoint.URL+"/token"), Save: map[string]string{"id": "id"}},
	)
	server := &authorizationServer{expiry: `,"expires_in":3600`}
	endpoint.Answer(server.serve)
	e.Run(t, apitest.Step{Do: "POST " + hookRoot + "/" + saved["id"] + "/execute", Body: `{}`, Equal: map[string]any{"authorization": "seen"}})
	form := tokenForms(t, endpoint.Called(2))[0]
	require.Equal(t, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", form.Get("client_assertion_type"))
	require.Equal(t, "the-client", form.Get("client_id"))
	require.False(t, form.Has("client_secret"))
	require.False(t, form.Has("scope"))

	public := e.Do(t, "GET /api/v1/hook-keys/public/"+saved["keyId"], "", nil)
	var key jose.JSONWebKey
	shown := public.JSON.(map[string]any)
	delete(shown, "alg") // RSA is not a signature algorithm, so jose would reject the key
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &key))
	assertion, err := jwt.ParseSigned(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	require.Equal(t, saved["keyId"], assertion.Headers[0].KeyID)
	var claims jwt.Claims
	require.NoError(t, assertion.Claims(key.Key, &claims))
	require.NoError(t,
		claims.Validate(
			jwt.Expected{Issuer: "the-client", Subject: "the-client", AnyAudience: jwt.Audience{endpoint.URL + "/token"}, Time: e.Clock.Now()}))
	require.NotEmpty(t, claims.ID)
	require.LessOrEqual(t, claims.Expiry.Time().Sub(e.Clock.Now()), time.Hour)
}
