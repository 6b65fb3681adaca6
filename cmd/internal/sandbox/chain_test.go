package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestAssignment_CreatesTargetUser(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	base, token := newSCIMServer(t)
	app := newApp(t, api, base, token)
	user := newUser(t, api, "chain@chain.example")

	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	var remote scimUser
	eventually(t, "the user arrives", func() bool {
		list, err := find(t.Context(), base, token, "chain@chain.example")
		if err == nil && len(list.Resources) == 1 {
			remote = list.Resources[0]
		}
		return remote.Active
	})
	var assigned appUser
	eventually(t, "the app user is synchronized", func() bool {
		do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users/"+user, "", &assigned)
		return assigned.SyncState == "SYNCHRONIZED"
	})
	require.Equal(t, "PROVISIONED", assigned.Status)
	require.Equal(t, remote.ID, assigned.ExternalID)

	log := attempts(t, api, app, user)
	require.Len(t, log, 2)
	require.Equal(t, "GET", log[0].Method)
	require.Contains(t, log[0].Path, "/Users?filter=userName%20eq%20%22chain%40chain.example%22&startIndex=1&count=100")
	require.Equal(t, "POST", log[1].Method)
	require.Equal(t, 201, log[1].Status)
	require.NotContains(t, fmt.Sprint(log), token, "no credential is recorded")

	do(t, api, http.MethodPost, "/api/v1/users/"+user, `{"profile":{"lastName":"Renamed"}}`, nil)
	eventually(t, "an update arrives", func() bool {
		list, err := find(t.Context(), base, token, "chain@chain.example")
		return err == nil && len(list.Resources) == 1 && list.Resources[0].Name.FamilyName == "Renamed"
	})

	do(t, api, http.MethodPost, "/api/v1/users/"+user+"/lifecycle/deactivate", "", nil)
	eventually(t, "a deactivation arrives", func() bool {
		list, err := find(t.Context(), base, token, "chain@chain.example")
		return err == nil && len(list.Resources) == 1 && !list.Resources[0].Active
	})
}

func TestTarget_ReceivesOAuthTokens(t *testing.T) {
	t.Parallel()
	scim := scimHandler(t)
	var fetched atomic.Int64
	tg := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			scim.ServeHTTP(w, r)
			return
		}
		id, secret, _ := r.BasicAuth()
		if id != "me" || secret != "cl1ent-s3cret" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "scim write" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fetched.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, scimToken)
	}))
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	var app struct{ ID string }
	do(t, api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"OAuth","settings":{"app":{}}}`, &app)
	connect := func(secret string) error {
		body := fmt.Sprintf(
			`{"baseUrl":%q,"profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":%q,"tokenUrl":%q,"scope":"scim write"}}`, tg.URL, secret,
			tg.URL+"/token")
		return api.Do(t.Context(), http.MethodPost, "/api/v1/apps/"+app.ID+"/connections/default?activate=true", json.RawMessage(body), nil)
	}
	err := connect("another-s3cret")
	require.ErrorContains(t, err, "E0000059", "a connection without an access token is not activated")
	require.NotContains(t, err.Error(), "another-s3cret")
	require.NoError(t, connect("cl1ent-s3cret"))
	do(t, api, http.MethodPut, "/api/v1/apps/"+app.ID+"/features/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`,
		nil)
	ann := newUser(t, api, "ann@example.com")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app.ID+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	var a appUser
	do(t, api, http.MethodGet, "/api/v1/apps/"+app.ID+"/users/"+ann, "", &a)
	require.Equal(t, "PROVISIONED", a.Status)
	require.EqualValues(t, 1, fetched.Load(), "a token is used until it expires")
}

// Whatever a target returns, the task contains the request and the response. The assignment converges once the target is available again.
func TestTarget_RetriedUntilAvailable(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	faults := []struct {
		name    string
		handler http.HandlerFunc
		want    string // must occur in the error of the task
	}{
		{"status 503", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
		}, "503"},
		{"HTML login page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html><body>Sign in</body></html>"))
		}, "text/html"},
		{"truncated response", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"schemas":[`))
			panic(http.ErrAbortHandler)
		}, "closed the connection"},
		{"dropped connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection"},
		{"timeout", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "no complete response within 1s"},
	}
	_, api := startSandbox(t, sandbox.Options{Empty: true, TargetTimeout: testCallTimeout, RetryMax: testRetryMax})
	for i, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			good := scimHandler(t)
			tg := newTarget(t, good)
			app := newApp(t, api, tg.URL, scimToken)
			setFallback(t, api, app, "LEARN")
			login := fmt.Sprintf("fault%d@chain.example", i)
			user := newUser(t, api, login)

			tg.set(fault.handler)
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
			var tasks []struct{ ErrorSummary string }
			eventually(t, "the failure is listed", func() bool {
				do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", "", &tasks)
				return len(tasks) == 1
			})
			require.Contains(t, tasks[0].ErrorSummary, fault.want, "the summary contains the response")
			require.Contains(t, tasks[0].ErrorSummary, "lookup", "the summary contains the request")
			log := attempts(t, api, app, user)
			require.NotEmpty(t, log)
			require.Contains(t, log[0].Path, "/Users?filter=")

			tg.set(good)
			eventually(t, "the assignment converges", func() bool {
				list, err := find(t.Context(), tg.URL, scimToken, login)
				return err == nil && list.TotalResults == 1
			})
		})
	}
	close(release)
}

func TestTarget_RetriedAfterRefusedConnection(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	// The target is available when the app is connected. It is then unavailable for some time, and available again at the same address.
	good := scimHandler(t)
	first := newTarget(t, good)
	addr := first.Listener.Addr().String()
	app := newApp(t, api, first.URL, scimToken)
	setFallback(t, api, app, "LEARN")
	first.Server.Close()

	user := newUser(t, api, "down@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	eventually(t, "the refused connection is recorded", func() bool {
		log := attempts(t, api, app, user)
		return len(log) > 0 && strings.Contains(log[0].Error, "refused")
	})
	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	second := &http.Server{Handler: good}
	go func() { _ = second.Serve(listener) }()
	t.Cleanup(func() { second.Close() })
	eventually(t, "the assignment converges", func() bool {
		list, err := find(t.Context(), "http://"+addr, scimToken, "down@chain.example")
		return err == nil && list.TotalResults == 1
	})
}
