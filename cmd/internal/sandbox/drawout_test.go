package sandbox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/internal/hookstest"
)

// The secrets that an administrator of applications must not read.
const (
	targetSecret = "st0red-target-token"
	clientSecret = "st0red-client-secret"
	accessToken  = "f3tched-access-token"
	hookSecret   = "st0red-hook-secret"
	userPassword = "P3nding-user-password"
	innerPage    = "1nner-page-of-another-server"
	ownToken     = "token-of-the-attacker"
	echoed       = "the credentials were "
)

// requireNoSecrets fails if the text contains a secret in one of the encodings of a request.
func requireNoSecrets(t *testing.T, where, text string, more ...string) {
	t.Helper()
	for _, secret := range append([]string{targetSecret, clientSecret, accessToken, hookSecret, userPassword}, more...) {
		for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte("me:" + secret))} {
			require.NotContains(t, text, form, where)
		}
	}
}

// recorder is a server that records all requests.
type recorder struct {
	*httptest.Server
	mu       sync.Mutex
	received bytes.Buffer
	requests int
}

func newRecorder(t *testing.T, answer http.HandlerFunc) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.requests++
		fmt.Fprintf(&r.received, "%s %s\n", req.Method, req.URL)
		_ = req.Header.Write(&r.received)
		if user, password, ok := req.BasicAuth(); ok {
			fmt.Fprintf(&r.received, "%s:%s\n", user, password)
		}
		r.received.Write(body)
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, req)
	}))
	t.Cleanup(func() { r.CloseClientConnections(); r.Server.Close() })
	return r
}

// got returns the text of the recorded requests, and the number of requests.
func (r *recorder) got() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received.String(), r.requests
}

// emptySCIM is a target without users that accepts every request.
func emptySCIM(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/scim+json")
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"1","userName":"x","active":true}`)
}

// attack is a sandbox with secrets, and an administrator of applications who tries to read them.
type attack struct {
	t     *testing.T
	admin *sandbox.APIClient // SUPER_ADMIN
	token string             // of the APP_ADMIN
	app   string             // with a token
	oauth string             // with a client
	hook  string

	seen bytes.Buffer // by the APP_ADMIN
}

// try sends a request as the APP_ADMIN and records the response.
func (a *attack) try(method, path, body string) (status int, text string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.admin.BaseURL+path, strings.NewReader(body))
	require.NoError(a.t, err)
	req.Header.Set("Authorization", "SSWS "+a.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(a.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(a.t, err)
	_ = res.Header.Write(&a.seen)
	a.seen.Write(data)
	requireNoSecrets(a.t, method+" "+path, string(data), innerPage)
	return res.StatusCode, string(data)
}

// refused sends a request that must be rejected.
func (a *attack) refused(status int, code, method, path, body string) {
	a.t.Helper()
	got, text := a.try(method, path, body)
	require.Equal(a.t, status, got, "%s %s %s: %s", method, path, body, text)
	require.Contains(a.t, text, code, "%s %s", method, path)
}

func (a *attack) connection(app string) string { return "/api/v1/apps/" + app + "/connections/default" }

// An administrator of applications may configure connections but does not know their secrets. The test tries to read the secrets with every
// operation of the program.
func TestSecrets_HiddenFromAppAdmin(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	hookEndpoint := hookstest.New(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(hookEndpoint.CA), 0o600))
	s, admin := startSandbox(t, sandbox.Options{
		Empty: true, HookCA: ca, TargetTimeout: testCallTimeout, RetryMax: testRetryMax, Metrics: serving.MetricsOptions{Token: metricsToken},
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	a := &attack{t: t, admin: admin}

	// With the mode echo, the target and the token endpoint repeat the credentials of the request in an error, as some servers do.
	var mode sync.Map
	catcher := newRecorder(t, emptySCIM)
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"%s%s"}`, echoed,
			r.Header.Get("Authorization"))
	}
	target := newRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		switch how, _ := mode.Load("target"); how {
		case "echo":
			echo(w, r)
		case "redirect":
			http.Redirect(w, r, catcher.URL+r.URL.Path, http.StatusTemporaryRedirect)
		default:
			emptySCIM(w, r)
		}
	})
	issuer := newRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch how, _ := mode.Load("issuer"); how {
		case "echo":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":"%s%s"}`, clientSecret, echoed, clientSecret)
		case "redirect":
			http.Redirect(w, r, catcher.URL+"/token", http.StatusTemporaryRedirect)
		default:
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, accessToken)
		}
	})
	inner := newRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>"+innerPage)
	})

	// A SUPER_ADMIN configures connections that contain the secrets.
	connected := func(label, connection string) string {
		var app object
		do(t, admin, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"`+label+`"}`, &app)
		do(t, admin, http.MethodPost, a.connection(app["id"].(string))+"?activate=true", connection, nil)
		do(t, admin, http.MethodPut, "/api/v1/apps/"+app["id"].(string)+"/features/USER_PROVISIONING",
			`{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"profile":{"status":"ENABLED"},"password":{"status":"ENABLED",`+
				`"seed":"SVC","change":"CHANGE"}}}`, nil)
		return app["id"].(string)
	}
	a.app = connected("HR", fmt.Sprintf(`{"baseUrl":"%s/scim","profile":{"token":%q}}`, target.URL, targetSecret))
	a.oauth = connected("Files",
		fmt.Sprintf(`{"baseUrl":"%s/scim","profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":%q,"tokenUrl":"%s/token"}}`,
			target.URL, clientSecret, issuer.URL))
	var hook object
	do(t, admin, http.MethodPost, "/api/v1/inlineHooks",
		fmt.Sprintf(`{"name":"h","type":"com.svc.telephony.provider","version":"1.0.0","channel":{"config":
		{"uri":"https://hooks.example.com","authScheme":{"type":"HEADER","key":"X-Key","value":%q}}}}`, hookSecret), &hook)
	a.hook = hook["id"].(string)
	eve := newUser(t, admin, "eve@northwind.example")
	do(t, admin, http.MethodPost, "/api/v1/users/"+eve+"/roles", `{"type":"APP_ADMIN"}`, nil)
	var given object
	do(t, admin, http.MethodPost, "/sandbox/v1/api-tokens", fmt.Sprintf(`{"name":"eve","userId":%q}`, eve), &given)
	a.token = given["token"].(string)
	var ann object
	do(t, admin, http.MethodPost, "/api/v1/users", fmt.Sprintf(
		`{"profile":{"login":"ann@northwind.example","email":"ann@northwind.example","firstName":"Ann","lastName":"Other"},`+
			`"credentials":{"password":{"value":%q}}}`,
		"Correct-horse-7"), &ann)
	user := ann["id"].(string)
	drain := func() { _ = admin.Do(t.Context(), http.MethodPost, "/sandbox/v1/jobs/drain", nil, nil) }
	nothingCaught := func(t *testing.T) {
		t.Helper()
		text, _ := catcher.got()
		requireNoSecrets(t, "requests to the attacker's server", text)
	}
	steps := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			outer := a.t
			a.t = t
			defer func() { a.t = outer }()
			run(t)
			drain()
			nothingCaught(t)
		})
	}

	steps("another baseUrl", func(t *testing.T) {
		for _, app := range []string{a.app, a.oauth} {
			for _, query := range []string{"", "?activate=true"} {
				for _, base := range []string{catcher.URL, catcher.URL + "/scim", strings.Replace(target.URL, "127.0.0.1", "localhost", 1) + "/scim",
					"https" + target.URL[4:]} {
					a.refused(400, "must be given again", "POST", a.connection(app)+query, fmt.Sprintf(`{"baseUrl":%q}`, base))
					a.refused(400, "must be given again", "POST", a.connection(app)+query,
						fmt.Sprintf(`{"baseUrl":%q,"profile":{"userNameAttribute":"emails.value"}}`, base))
				}
			}
		}
		_, requests := catcher.got()
		require.Zero(t, requests, "no request is sent")
	})
	steps("another tokenUrl", func(t *testing.T) {
		a.refused(400, "must be given again", "POST", a.connection(a.oauth)+"?activate=true",
			fmt.Sprintf(`{"profile":{"tokenUrl":"%s/token"}}`, catcher.URL))
		a.refused(400, "must be given again", "POST", a.connection(a.oauth),
			fmt.Sprintf(`{"profile":{"authScheme":"OAUTH2","clientId":"you","tokenUrl":"%s"}}`, catcher.URL))
	})
	steps("another kind of credentials", func(t *testing.T) {
		a.refused(400, "clientSecret", "POST", a.connection(a.app)+"?activate=true",
			fmt.Sprintf(`{"profile":{"authScheme":"OAUTH2","clientId":"me","tokenUrl":%q}}`, catcher.URL))
		a.refused(400, "profile.token", "POST", a.connection(a.oauth)+"?activate=true",
			fmt.Sprintf(`{"baseUrl":%q,"profile":{"authScheme":"TOKEN"}}`, catcher.URL))
	})
	steps("members twice, of which one is checked", func(t *testing.T) {
		a.refused(400, "E0000003", "POST", a.connection(a.app), fmt.Sprintf(`{"baseUrl":"%s/scim","baseUrl":%q}`, target.URL, catcher.URL))
		a.refused(400, "E0000001", "POST", a.connection(a.app), fmt.Sprintf(`{"baseUrl":"%s\u0000.%s"}`, target.URL, catcher.URL[7:]))
		a.refused(400, "E0000001", "POST", a.connection(a.app), fmt.Sprintf(`{"baseUrl":"%s@%s"}`, target.URL, catcher.URL[7:]))
	})
	steps("reading stored values", func(t *testing.T) {
		for _, path := range []string{
			"/api/v1/apps", "/api/v1/apps/" + a.app, a.connection(a.app), a.connection(a.oauth), "/api/v1/apps/" + a.app + "/features",
			"/api/v1/apps/" + a.app + "/users", "/api/v1/mappings?sourceId=" + a.app, "/api/v1/logs?limit=1000", "/api/v1/users/" + user,
		} {
			status, text := a.try("GET", path, "")
			require.Equal(t, 200, status, "%s: %s", path, text)
		}
		for _, path := range []string{"/api/v1/inlineHooks", "/api/v1/inlineHooks/" + a.hook} {
			a.refused(403, "E0000006", "GET", path, "")
		}
	})
	steps("the hook", func(t *testing.T) {
		moved := fmt.Sprintf(`{"channel":{"config":{"uri":%q}}}`, hookEndpoint.URL)
		a.refused(403, "E0000006", "POST", "/api/v1/inlineHooks/"+a.hook, moved)
		a.refused(403, "E0000006", "PUT", "/api/v1/inlineHooks/"+a.hook, moved)
		a.refused(403, "E0000006", "POST", "/api/v1/inlineHooks/"+a.hook+"/execute", `{}`)
		hookEndpoint.Called(0)
	})
	steps("the sandbox API", func(t *testing.T) {
		for _, path := range []string{"/attempts", "/tasks", "/links", "/principals", "/events", "/plans"} {
			a.refused(403, "E0000006", "GET", "/sandbox/v1/apps/"+a.app+path, "")
		}
		a.refused(403, "E0000006", "GET", "/sandbox/v1/outbox", "")
		a.refused(403, "E0000006", "POST", "/sandbox/v1/apps/"+a.app+"/import", `{"type":"USERS"}`)
		a.refused(403, "E0000006", "POST", "/sandbox/v1/api-tokens", `{"name":"x"}`)
	})
	steps("the error of the connection test", func(t *testing.T) {
		var app object
		do(t, admin, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Mine"}`, &app)
		own := a.connection(app["id"].(string)) + "?activate=true"
		for body, says := range map[string]string{
			fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, inner.URL,
				ownToken): "the response is text/html, not SCIM",
			fmt.Sprintf(`{"baseUrl":%q,"profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":%q,"tokenUrl":%q}}`, target.URL, ownToken,
				inner.URL): "the response contains no access token",
		} {
			status, text := a.try("POST", own, body)
			require.Equal(t, 400, status)
			require.Contains(t, text, says)
		}
	})
	steps("a target that repeats the secret", func(t *testing.T) {
		mode.Store("target", "echo")
		defer mode.Delete("target")
		status, text := a.try("POST", a.connection(a.app)+"/lifecycle/activate", "")
		require.Equal(t, 400, status)
		require.Contains(t, text, echoed+"Bearer [redacted]", "the error is the target's")
		status, _ = a.try("POST", a.connection(a.oauth)+"/lifecycle/activate", "")
		require.Equal(t, 400, status)
		status, _ = a.try("POST", "/api/v1/apps/"+a.app+"/users", fmt.Sprintf(`{"id":%q}`, user))
		require.Equal(t, 200, status)
		drain()
		var job object
		do(t, admin, http.MethodPost, "/sandbox/v1/apps/"+a.app+"/import", `{"type":"USERS"}`, &job)
		drain()
		for _, path := range []string{
			"/sandbox/v1/apps/" + a.app + "/tasks", "/sandbox/v1/apps/" + a.app + "/attempts",
			"/sandbox/v1/apps/" + a.app + "/import/" + job["jobId"].(string),
			"/sandbox/v1/apps/" + a.app + "/links", "/sandbox/v1/apps/" + a.app + "/principals",
		} {
			var text json.RawMessage
			do(t, admin, http.MethodGet, path, "", &text)
			requireNoSecrets(t, path, string(text))
		}
		b := consoleLogin(t, admin)
		at := "/apps/" + a.app
		opened := regexp.MustCompile(`/requests/\w+/\d+`).FindString(b.get("/requests"))
		require.NotEmpty(t, opened)
		for _, path := range []string{
			"/", at, at + "/user/" + user, at + "/people", at + "/tasks", at + "/requests", at + "/target", at + "/events", at + "/imports",
			at + "/imports/" + job["jobId"].(string), "/requests", opened,
		} {
			page := b.get(path)
			require.NotContains(t, page, "API token", "the page, not the login")
			requireNoSecrets(t, "console "+path, page)
		}
	})
	steps("a token endpoint that repeats the secret", func(t *testing.T) {
		// With another scope, the sandbox requests a new access token, so it sends the client secret to the token endpoint.
		mode.Store("issuer", "echo")
		defer mode.Delete("issuer")
		a.refused(400, "the status is 400", "POST", a.connection(a.oauth)+"?activate=true", `{"profile":{"scope":"echoed"}}`)
	})
	steps("a target that redirects", func(t *testing.T) {
		mode.Store("target", "redirect")
		defer mode.Delete("target")
		_, before := catcher.got()
		a.refused(400, "E0000059", "POST", a.connection(a.app)+"/lifecycle/activate", "")
		a.refused(400, "E0000059", "POST", a.connection(a.oauth)+"/lifecycle/activate", "")
		a.try("POST", "/api/v1/apps/"+a.oauth+"/users", fmt.Sprintf(`{"id":%q}`, user))
		drain()
		_, after := catcher.got()
		require.Equal(t, before, after, "no redirect is followed")
	})
	steps("a token endpoint that redirects", func(t *testing.T) {
		mode.Store("issuer", "redirect")
		defer mode.Delete("issuer")
		_, before := catcher.got()
		a.refused(400, "the status is 307", "POST", a.connection(a.oauth)+"?activate=true", `{"profile":{"scope":"redirected"}}`)
		_, after := catcher.got()
		require.Equal(t, before, after, "no redirect is followed")
	})
	steps("the metrics", func(t *testing.T) {
		status, _, _ := scrape(t, admin.BaseURL+"/metrics", "SSWS "+a.token)
		require.Equal(t, 401, status)
		requireNoSecrets(t, "metrics", metricsOf(t, admin.BaseURL))
	})
	// This step comes last, because it changes the connection. The API permits the change: an administrator of applications who sets a new
	// secret may connect the application to another server.
	steps("a pending password", func(t *testing.T) {
		mode.Store("target", "echo") // the target rejects the password, so the password remains pending
		do(t, admin, http.MethodPost, "/api/v1/users/"+user, fmt.Sprintf(`{"credentials":{"password":{"value":%q}}}`, userPassword), nil)
		drain()
		status, text := a.try("POST", a.connection(a.app)+"?activate=true",
			fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, catcher.URL, ownToken))
		require.Equal(t, 200, status, text)
		drain()
		a.try("POST", "/api/v1/apps/"+a.app+"/users/"+user, `{"profile":{}}`)
		drain()
		eventually(t, "the user is provisioned to the new target", func() bool {
			text, _ := catcher.got()
			return strings.Contains(text, ownToken) && strings.Contains(text, "ann@northwind.example")
		})
	})

	text, _ := target.got()
	require.Contains(t, text, targetSecret, "the target receives its secret")
	text, _ = issuer.got()
	require.Contains(t, text, clientSecret, "the token endpoint receives its secret")
	var logs json.RawMessage
	do(t, admin, http.MethodGet, "/api/v1/logs?limit=1000", "", &logs)
	requireNoSecrets(t, "the system log", string(logs))
	requireNoSecrets(t, "all responses to the administrator of applications", a.seen.String())
	require.NoError(t, s.Close(t.Context())) // after Close, the log is complete
	requireNoSecrets(t, "the log", log.String())
}
