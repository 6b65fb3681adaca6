package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// caller sends requests to a sandbox with several host names.
type caller struct {
	t     *testing.T
	ready sandbox.Ready
	port  string
}

func newCaller(t *testing.T, s *sandbox.Sandbox) *caller {
	u, err := url.Parse(s.Ready().BaseURL)
	require.NoError(t, err)
	return &caller{t: t, ready: s.Ready(), port: u.Port()}
}

// do sends a request with a Host header, to which it adds the port of the sandbox. It returns the status and the JSON object of the
// response.
func (c *caller) do(host, method, path, credentials, body string) (int, object) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.ready.BaseURL+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if req.Host = host; !strings.Contains(host, ".example") {
		req.Host += ":" + c.port
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	}
	if credentials != "" {
		req.Header.Set("Authorization", credentials)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	var answer object
	if len(data) > 0 && data[0] == '{' {
		require.NoError(c.t, json.Unmarshal(data, &answer), "%s", data)
	}
	return res.StatusCode, answer
}

// ok sends a request as do does, and fails the test unless the request succeeds.
func (c *caller) ok(host, method, path, credentials, body string) object {
	c.t.Helper()
	status, answer := c.do(host, method, path, credentials, body)
	require.Less(c.t, status, 300, "%s %s at %s: %v", method, path, host, answer)
	return answer
}

func (c *caller) admin() string { return "SSWS " + c.ready.APIToken }

// client registers an OAuth client of the default authorization server, and returns the form parameters with the credentials of this
// client.
func (c *caller) client() string {
	c.t.Helper()
	client := c.ok("127.0.0.1", "POST", "/oauth2/v1/clients", c.admin(),
		`{"client_name":"Robot","application_type":"service","grant_types":["client_credentials"],"response_types":["token"],`+
			`"token_endpoint_auth_method":"client_secret_post"}`)
	c.ok("127.0.0.1", "POST", "/api/v1/authorizationServers/default/scopes", c.admin(), `{"name":"orders"}`)
	return url.Values{"client_id": {client["client_id"].(string)}, "client_secret": {client["client_secret"].(string)}}.Encode()
}

// claims decodes the payload of a token.
func claims(t *testing.T, token any) object {
	t.Helper()
	parsed, err := jwt.ParseSigned(token.(string), []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	var out object
	require.NoError(t, parsed.UnsafeClaimsWithoutVerification(&out))
	return out
}

var loopback = []string{"127.0.0.1", "localhost", "[::1]", "LOCALHOST"}

func TestAddress_AliasesOfOneIssuer(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	c := newCaller(t, s)
	form := c.client()
	issuer := c.ready.BaseURL + "/oauth2/default"
	const token = "grant_type=client_credentials&scope=orders&"
	for _, from := range loopback {
		require.Equal(t, issuer, c.ok(from, "GET", "/oauth2/default/.well-known/openid-configuration", "", "")["issuer"])
		require.Equal(t, c.ready.BaseURL, c.ok(from, "GET", "/.well-known/oauth-authorization-server", "", "")["issuer"])
		require.Equal(t, issuer, c.ok(from, "GET", "/api/v1/authorizationServers/default", c.admin(), "")["issuer"])
		fetched := c.ok(from, "POST", "/oauth2/default/v1/token", "", token+form)["access_token"].(string)
		require.Equal(t, issuer, claims(t, fetched)["iss"])
		for _, through := range loopback {
			require.Equal(t, true, c.ok(through, "POST", "/oauth2/default/v1/introspect", "", "token="+fetched+"&"+form)["active"],
				"from %s through %s", from, through)
		}
	}

	foreign := []string{"evil.example", "evil.example:" + c.port, "127.0.0.1.example", "localhost.example"}
	for _, host := range foreign {
		for _, do := range []string{
			"GET /.well-known/openid-configuration", "GET /.well-known/oauth-authorization-server",
			"GET /oauth2/default/.well-known/openid-configuration",
			"GET /oauth2/default/.well-known/oauth-authorization-server", "POST /oauth2/default/v1/token", "POST /oauth2/default/v1/introspect",
			"POST /oauth2/default/v1/revoke", "POST /oauth2/v1/token", "POST /oauth2/v1/introspect", "POST /oauth2/v1/revoke",
		} {
			method, path, _ := strings.Cut(do, " ")
			status, answer := c.do(host, method, path, "", map[string]string{"POST": token + form + "&token=x"}[method])
			require.Equal(t, 400, status, "%s at %s: %v", do, host, answer)
			require.Equal(t, "invalid_request", answer["error"])
			require.Contains(t, answer["error_description"], c.ready.BaseURL, "the error names the address to use")
		}
		status, answer := c.do(host, "GET", "/api/v1/users/me", "Bearer x.y.z", "")
		require.Equal(t, 400, status, "%v", answer)
		require.Equal(t, "E0000001", answer["errorCode"])
		require.NotEmpty(t, answer["errorId"])

		// Resources that do not depend on an issuer are served.
		c.ok(host, "GET", "/oauth2/default/v1/keys", "", "")
		me := c.ok(host, "GET", "/api/v1/users/me", c.admin(), "")
		require.True(t, strings.HasPrefix(me["_links"].(object)["self"].(object)["href"].(string), c.ready.BaseURL+"/"), "%v", me["_links"])
		require.Equal(t, issuer, c.ok(host, "GET", "/api/v1/authorizationServers/default", c.admin(), "")["issuer"])
	}
}

func TestAddress_AssertionAudience(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true, CustomDomain: "id.localhost"})
	c := newCaller(t, s)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := json.Marshal(jose.JSONWebKey{Key: &key.PublicKey, KeyID: "robot", Algorithm: string(jose.RS256), Use: "sig"})
	require.NoError(t, err)
	client := c.ok("localhost", "POST", "/oauth2/v1/clients", c.admin(),
		fmt.Sprintf(`{"client_name":"Robot","application_type":"service","grant_types":["client_credentials"],"response_types":["token"],`+
			`"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[%s]}}`, public))["client_id"].(string)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "robot"}},
		(&jose.SignerOptions{}).WithType("JWT"))
	require.NoError(t, err)
	ask := func(host, path, audience string) (int, object) {
		assertion, err := jwt.Signed(signer).Claims(
			jwt.Claims{Issuer: client, Subject: client, Audience: jwt.Audience{audience},
				Expiry: jwt.NewNumericDate(time.Now().Add(time.Minute))}).Serialize()
		require.NoError(t, err)
		return c.do(host, "POST", path, "", url.Values{
			"grant_type": {"client_credentials"}, "scope": {"x"}, "client_assertion": {assertion},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		}.Encode())
	}
	for _, server := range []string{"/oauth2", "/oauth2/default"} {
		endpoint := server + "/v1/token"
		for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "id.localhost"} {
			_, answer := ask("127.0.0.1", endpoint, "http://"+host+":"+c.port+endpoint)
			require.Equal(t, "invalid_scope", answer["error"], "%s: the client is known: %v", host, answer)
		}
		for _, audience := range []string{"http://evil.example" + endpoint, "http://evil.example:" + c.port + endpoint,
			"https://127.0.0.1:" + c.port + endpoint, "http://127.0.0.1" + endpoint} {
			status, answer := ask("127.0.0.1", endpoint, audience)
			require.Equal(t, 401, status)
			require.Equal(t, "invalid_client", answer["error"], "%v", answer)
			status, answer = ask("evil.example", endpoint, audience)
			require.Equal(t, 400, status)
			require.Equal(t, "invalid_request", answer["error"], "%v", answer)
		}
	}
}

func TestAddress_BearerThroughAliases(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	c := newCaller(t, s)
	client := c.ok("localhost", "POST", "/api/v1/apps", c.admin(),
		`{"name":"oidc_client","label":"Robot","signOnMode":"OPENID_CONNECT",`+
			`"credentials":{"oauthClient":{"token_endpoint_auth_method":"client_secret_post"}},`+
			`"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`)
	oauth := client["credentials"].(object)["oauthClient"].(object)
	id := oauth["client_id"].(string)
	for i, host := range []string{"localhost", "[::1]"} { // the base URL that the administrative client is configured with
		scope := []string{"svc.users.read", "svc.groups.read"}[i]
		c.ok(host, "POST", "/api/v1/apps/"+client["id"].(string)+"/grants", c.admin(),
			fmt.Sprintf(`{"scopeId":%q,"issuer":"http://%s:%s"}`, scope, host, c.port))
	}
	c.ok("localhost", "POST", "/oauth2/v1/clients/"+id+"/roles", c.admin(), `{"type":"SUPER_ADMIN"}`)
	form := url.Values{"client_id": {id}, "client_secret": {oauth["client_secret"].(string)}, "grant_type": {"client_credentials"},
		"scope": {"svc.users.read"}}.Encode()
	for _, from := range loopback {
		token := c.ok(from, "POST", "/oauth2/v1/token", "", form)["access_token"].(string)
		require.Equal(t, c.ready.BaseURL, claims(t, token)["aud"])
		for _, through := range loopback {
			status, answer := c.do(through, "GET", "/api/v1/users", "Bearer "+token, "")
			require.Equal(t, 200, status, "from %s through %s: %v", from, through, answer)
		}
	}
	set := c.ok("localhost", "POST", "/api/v1/iam/resource-sets", c.admin(),
		fmt.Sprintf(`{"label":"Set","description":"d","resources":["http://localhost:%s/api/v1/users"]}`, c.port))
	require.NotEmpty(t, set["id"])
}

// Proves A-servers-17, A-servers-18, A-servers-31, A-servers-32, A-servers-33, A-servers-34, A-servers-35, A-servers-36, A-servers-37.
func TestIssuerMode(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	const servers = "/api/v1/authorizationServers"
	start := func(custom string, dynamic bool) (*caller, func()) {
		s, err := sandbox.Start(t.Context(),
			sandbox.Options{Listen: "127.0.0.1:0", Data: data, Empty: true, NoRateLimits: true, CustomDomain: custom, DynamicIssuer: dynamic})
		require.NoError(t, err)
		return newCaller(t, s), func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) }
	}
	create := func(c *caller, more string) object {
		t.Helper()
		return c.ok("127.0.0.1", "POST", servers, c.admin(), `{"name":"S","description":"d","audiences":["a"]`+more+`}`)
	}
	body := func(mode string) string { return fmt.Sprintf(`{"name":"S","audiences":["a"],"issuerMode":%q}`, mode) }
	rejected := func(c *caller, modes ...string) {
		t.Helper()
		for _, mode := range modes {
			status, answer := c.do("127.0.0.1", "POST", servers, c.admin(),
				fmt.Sprintf(`{"name":"S","description":"d","audiences":["a"],"issuerMode":%q}`, mode))
			require.Equal(t, 400, status)
			require.Contains(t, fmt.Sprint(answer["errorCauses"]), "issuerMode: The value must be one of: ORG_URL")
		}
	}

	c, end := start("", false)
	org := create(c, "")
	require.NotContains(t, org, "issuerMode", "requires a custom domain or Dynamic Issuer Mode")
	rejected(c, "CUSTOM_URL", "DYNAMIC", "OTHER")
	end()

	c, end = start("", true)
	require.Equal(t, "ORG_URL", c.ok("127.0.0.1", "GET", servers+"/"+org["id"].(string), c.admin(), "")["issuerMode"])
	alone := create(c, "")
	require.Equal(t, "DYNAMIC", alone["issuerMode"], "Dynamic Issuer Mode requires no custom domain")
	require.Equal(t, c.ready.BaseURL+"/oauth2/"+alone["id"].(string), alone["issuer"])
	rejected(c, "CUSTOM_URL")
	end()

	c, end = start("id.localhost", false)
	custom := "http://id.localhost:" + c.port
	kept := c.ok("127.0.0.1", "GET", servers+"/"+org["id"].(string), c.admin(), "")
	require.Equal(t, "ORG_URL", kept["issuerMode"], "an existing server keeps its mode")
	require.Equal(t, c.ready.BaseURL+"/oauth2/"+org["id"].(string), kept["issuer"])
	at := create(c, "")
	path := "/oauth2/" + at["id"].(string)
	require.Equal(t, "CUSTOM_URL", at["issuerMode"], "the default of new servers")
	require.Equal(t, custom+path, at["issuer"])
	require.Equal(t, "ORG_URL", create(c, `,"issuerMode":"ORG_URL"`)["issuerMode"])
	rejected(c, "DYNAMIC")
	for _, host := range []string{"127.0.0.1", "id.localhost"} {
		document := c.ok(host, "GET", path+"/.well-known/openid-configuration", "", "")
		require.Equal(t, custom+path, document["issuer"])
		require.Equal(t, custom+path+"/v1/token", document["token_endpoint"])
		require.Equal(t, custom+path+"/v1/keys", document["jwks_uri"])
		require.Equal(t, custom+"/oauth2/v1/clients", document["registration_endpoint"])
	}
	c.ok("id.localhost", "GET", path+"/v1/keys", "", "")
	changed := c.ok("127.0.0.1", "PUT", servers+"/"+at["id"].(string), c.admin(), body("ORG_URL"))
	require.Equal(t, "ORG_URL", changed["issuerMode"])
	require.Equal(t, c.ready.BaseURL+path, changed["issuer"])
	require.Equal(t, "ORG_URL",
		c.ok("127.0.0.1", "PUT", servers+"/"+at["id"].(string), c.admin(), `{"name":"S","audiences":["a"]}`)["issuerMode"],
		"a replacement without a mode keeps it")
	c.ok("127.0.0.1", "PUT", servers+"/"+at["id"].(string), c.admin(), body("CUSTOM_URL"))
	end()

	c, end = start("id.localhost", true)
	defer end()
	custom = "http://id.localhost:" + c.port
	require.Equal(t, "CUSTOM_URL", c.ok("127.0.0.1", "GET", servers+"/"+at["id"].(string), c.admin(), "")["issuerMode"])
	dynamic := create(c, "")
	path = "/oauth2/" + dynamic["id"].(string)
	require.Equal(t, "DYNAMIC", dynamic["issuerMode"])
	require.Equal(t, c.ready.BaseURL+path, dynamic["issuer"])
	form := c.client()
	c.ok("127.0.0.1", "PUT", servers+"/default", c.admin(), `{"name":"default","audiences":["api://default"],"issuerMode":"DYNAMIC"}`)
	for host, base := range map[string]string{"127.0.0.1": c.ready.BaseURL, "localhost": c.ready.BaseURL, "id.localhost": custom,
		"ID.localhost": custom} {
		require.Equal(t, base+path, c.ok(host, "GET", servers+"/"+dynamic["id"].(string), c.admin(), "")["issuer"])
		document := c.ok(host, "GET", path+"/.well-known/oauth-authorization-server", "", "")
		require.Equal(t, base+path, document["issuer"])
		require.Equal(t, base+path+"/v1/introspect", document["introspection_endpoint"])
		token := c.ok(host, "POST", "/oauth2/default/v1/token", "", "grant_type=client_credentials&scope=orders&"+form)["access_token"].(string)
		require.Equal(t, base+"/oauth2/default", claims(t, token)["iss"])
		for _, through := range []string{"127.0.0.1", "id.localhost"} {
			looked := c.ok(through, "POST", "/oauth2/default/v1/introspect", "", "token="+token+"&"+form)
			require.Equal(t, true, looked["active"], "from %s through %s", host, through)
			require.Equal(t, base+"/oauth2/default", looked["iss"])
		}
		c.ok("127.0.0.1", "PUT", servers+"/default", c.admin(), `{"name":"default","audiences":["api://default"],"issuerMode":"ORG_URL"}`)
		require.Equal(t, true, c.ok("127.0.0.1", "POST", "/oauth2/default/v1/introspect", "", "token="+token+"&"+form)["active"],
			"tokens remain valid after a change of the mode")
		c.ok("127.0.0.1", "PUT", servers+"/default", c.admin(), `{"name":"default","audiences":["api://default"],"issuerMode":"DYNAMIC"}`)
	}
}

func TestAddress_ListenOnAll(t *testing.T) {
	t.Parallel()
	command := func(args ...string) (int, string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // if the command does start a sandbox, the canceled context stops it immediately
		var stderr bytes.Buffer
		code := cli.Run(ctx, append([]string{"sandbox", "--empty"}, args...), io.Discard, &stderr, func(string) (string, bool) {
			return "", false
		})
		return code, stderr.String()
	}
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"} {
		code, text := command("--listen", listen)
		require.Equal(t, cli.ExitUsage, code, listen)
		require.Contains(t, text, "--base-url", listen)
	}
	for _, domain := range []string{"http://id.localhost", "id.localhost/path", "user@id.localhost", "id.localhost:0", "id.localhost:99999",
		" "} {
		code, text := command("--listen", "127.0.0.1:0", "--custom-domain", domain)
		require.Equal(t, cli.ExitUsage, code, domain)
		require.Contains(t, text, "custom domain", domain)
	}

	s, _ := startSandbox(t, sandbox.Options{Empty: true, Listen: "0.0.0.0:0", BaseURL: "https://id.example/"})
	c := newCaller(t, s)
	for _, host := range []string{"id.example", "id.example:443", "127.0.0.1", "localhost"} {
		require.Equal(t, "https://id.example/oauth2/default",
			c.ok(host, "GET", "/oauth2/default/.well-known/openid-configuration", "", "")["issuer"])
	}
	status, _ := c.do("other.example", "GET", "/oauth2/default/.well-known/openid-configuration", "", "")
	require.Equal(t, 400, status)
}
