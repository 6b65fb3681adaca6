package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scimserver"
)

// patience is the timeout of every wait in these tests; they run with real processes and real I/O on loaded machines.
const patience = 60 * time.Second

// startSandbox starts a sandbox on a free port and stops it at the end of the test. In a replicated test, it starts two replicas, and
// returns the first one and a client of both.
func startSandbox(t testing.TB, o sandbox.Options) (*sandbox.Sandbox, *sandbox.APIClient) {
	t.Helper()
	o.NoRateLimits = true
	if replicated(t) {
		p := startReplicas(t, o)
		return p.first, p.balanced
	}
	return startOne(t, o)
}

// startOne starts one sandbox.
func startOne(t testing.TB, o sandbox.Options) (*sandbox.Sandbox, *sandbox.APIClient) {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	o.HashCost = bcrypt.MinCost
	s, err := sandbox.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return s, &sandbox.APIClient{BaseURL: s.Ready().BaseURL, Token: s.Ready().APIToken}
}

const scimToken = "target-token"

// newSCIMServer starts a reference server with a temporary database.
func newSCIMServer(t testing.TB) (base, token string) {
	t.Helper()
	server := httptest.NewServer(scimHandler(t))
	t.Cleanup(server.Close)
	return server.URL, scimToken
}

func scimHandler(t testing.TB) http.Handler {
	t.Helper()
	return scimHandlerOn(t, sqldbtest.SQLite(t))
}

func scimHandlerOn(t testing.TB, db *sqldb.DB) http.Handler {
	t.Helper()
	layout := scimstore.NewLayout("")
	docs, err := docstore.Open(t.Context(), db, time.Now, layout.Tables()...)
	require.NoError(t, err)
	h, err := scimserver.New(
		scimserver.Options{Store: scimstore.New(docs, layout), Tokens: scimserver.StaticTokens(scimToken), PasswordCost: 4})
	require.NoError(t, err)
	return h
}

// target is a SCIM server whose handler a test may replace while it runs.
type target struct {
	*httptest.Server
	handler atomic.Value // http.Handler
	posts   atomic.Int64
}

type boxed struct{ http.Handler }

func newTarget(t *testing.T, h http.Handler) *target {
	t.Helper()
	tg := &target{}
	tg.set(h)
	tg.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			tg.posts.Add(1)
		}
		tg.handler.Load().(boxed).ServeHTTP(w, r)
	}))
	t.Cleanup(func() { tg.CloseClientConnections(); tg.Server.Close() })
	return tg
}

func (tg *target) set(h http.Handler) { tg.handler.Store(boxed{h}) }

// newApp creates a catalog app that is connected to the target with all options enabled.
func newApp(t testing.TB, api *sandbox.APIClient, baseURL, token string) string {
	t.Helper()
	return connectedApp(t, api, `{"name":"scim2_test_app","label":"Test app","settings":{"app":{}}}`, baseURL, token)
}

// connectedApp creates an app that is connected to the target with all options enabled.
func connectedApp(t testing.TB, api *sandbox.APIClient, body, baseURL, token string) string {
	t.Helper()
	var app struct {
		ID string `json:"id"`
	}
	do(t, api, http.MethodPost, "/api/v1/apps", body, &app)
	do(t, api, http.MethodPost, "/api/v1/apps/"+app.ID+"/connections/default?activate=true",
		fmt.Sprintf(`{"baseUrl":%q,"profile":{"authScheme":"TOKEN","token":%q}}`, baseURL, token), nil)
	do(t, api, http.MethodPut, "/api/v1/apps/"+app.ID+"/features/USER_PROVISIONING",
		`{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"profile":{"status":"ENABLED"},`+
			`"lifecycleDeactivate":{"status":"ENABLED"}}}`, nil)
	return app.ID
}

// setFallback changes the fallback of an app's connection.
func setFallback(t testing.TB, api *sandbox.APIClient, app, fallback string) {
	t.Helper()
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/connections/default?activate=true", fmt.Sprintf(`{"profile":{"fallback":%q}}`, fallback),
		nil)
}

// newUser creates an active user and returns its id.
func newUser(t *testing.T, api *sandbox.APIClient, login string) string {
	t.Helper()
	var u struct {
		ID string `json:"id"`
	}
	do(t, api, http.MethodPost, "/api/v1/users?provider=true", fmt.Sprintf(
		`{"profile":{"login":%q,"email":%q,"firstName":"Test","lastName":"Person"},"credentials":{"provider":{"type":"FEDERATION",`+
			`"name":"FEDERATION"}}}`, login, login), &u)
	return u.ID
}

func do(t testing.TB, api *sandbox.APIClient, method, path, body string, into any) {
	t.Helper()
	var payload any
	if body != "" {
		payload = json.RawMessage(body)
	}
	require.NoError(t, api.Do(t.Context(), method, path, payload, into))
}

type scimUser struct {
	ID       string `json:"id"`
	UserName string `json:"userName"`
	Active   bool   `json:"active"`
	Name     struct {
		FamilyName string `json:"familyName"`
	} `json:"name"`
}

type scimList struct {
	TotalResults int        `json:"totalResults"`
	Resources    []scimUser `json:"Resources"`
}

// find queries a SCIM server for the users with a userName.
func find(ctx context.Context, base, token, userName string) (scimList, error) {
	return listUsers(ctx, base, token, url.Values{"filter": {fmt.Sprintf("userName eq %q", userName)}})
}

func listUsers(ctx context.Context, base, token string, query url.Values) (scimList, error) {
	var list scimList
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/Users?"+query.Encode(), nil)
	if err != nil {
		return list, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return list, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return list, fmt.Errorf("status %d", res.StatusCode)
	}
	return list, json.NewDecoder(res.Body).Decode(&list)
}

type attempt struct {
	Method   string `json:"method"`
	Path     string `json:"path"`
	Status   int    `json:"status"`
	Request  string `json:"request"`
	Response string `json:"response"`
	Error    string `json:"error"`
	Curl     string `json:"curl"`
}

// attempts returns the exchanges of one user in an app, oldest first.
func attempts(t *testing.T, api *sandbox.APIClient, app, user string) []attempt {
	t.Helper()
	var list []attempt
	do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/attempts?userId="+user, "", &list)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// eventually polls until the condition is true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 20*time.Millisecond, what)
}

type appUser struct {
	Status     string `json:"status"`
	SyncState  string `json:"syncState"`
	ExternalID string `json:"externalId"`
}

// nextLink finds the address of the next page in a Link header.
var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// allAppUsers returns the app users of all pages.
func allAppUsers(t *testing.T, api *sandbox.APIClient, app string) []appUser {
	t.Helper()
	var all []appUser
	for next := api.BaseURL + "/api/v1/apps/" + app + "/users?limit=500"; next != ""; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, next, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "SSWS "+api.Token)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		var page []appUser
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		require.NoError(t, err)
		all = append(all, page...)
		next = ""
		for _, link := range res.Header.Values("Link") {
			if m := nextLink.FindStringSubmatch(link); m != nil {
				next = m[1]
			}
		}
	}
	return all
}
