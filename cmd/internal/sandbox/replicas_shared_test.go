package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/fixtures"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// status returns the status of a request to the management API.
func status(t testing.TB, api *sandbox.APIClient, method, path string) int {
	t.Helper()
	return exchange(t, api, method, path, "").StatusCode
}

// exchange sends a request to the management API. The body of the response is read.
func exchange(t testing.TB, api *sandbox.APIClient, method, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, api.BaseURL+path, strings.NewReader(body))
	require.NoError(t, err)
	if api.Token != "" {
		req.Header.Set("Authorization", "SSWS "+api.Token)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, errors.Join(err, res.Body.Close()))
	return res
}

// passworded creates an active user with a password and returns its id.
func passworded(t testing.TB, api *sandbox.APIClient, login string) string {
	t.Helper()
	var u struct{ ID string }
	do(t, api, http.MethodPost, "/api/v1/users", fmt.Sprintf(`{"profile":{"login":%q,"email":%q,"firstName":"Test","lastName":"Person"},
		"credentials":{"password":{"value":"Tlpwd-2026"}}}`, login, login), &u)
	return u.ID
}

func TestReplicas_SessionsAndTokens(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	passworded(t, p.a, "ann@replica.example")

	var step struct{ SessionToken string }
	do(t, p.a, http.MethodPost, "/api/v1/authn", `{"username":"ann@replica.example","password":"Tlpwd-2026"}`, &step)
	var session struct{ ID string }
	do(t, p.b, http.MethodPost, "/api/v1/sessions", fmt.Sprintf(`{"sessionToken":%q}`, step.SessionToken), &session)
	require.Equal(t, http.StatusOK, status(t, p.a, http.MethodGet, "/api/v1/sessions/"+session.ID))
	require.Equal(t, http.StatusNoContent, status(t, p.a, http.MethodDelete, "/api/v1/sessions/"+session.ID))
	require.Equal(t, http.StatusNotFound, status(t, p.b, http.MethodGet, "/api/v1/sessions/"+session.ID))

	var made struct{ ID, Token string }
	do(t, p.a, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"brief","userId":"me"}`, &made)
	brief := &sandbox.APIClient{BaseURL: p.b.BaseURL, Token: made.Token}
	require.Equal(t, http.StatusOK, status(t, brief, http.MethodGet, "/api/v1/users/me"), "B accepts and caches the token")
	require.Equal(t, http.StatusNoContent, status(t, p.a, http.MethodDelete, "/api/v1/api-tokens/"+made.ID))
	require.Equal(t, http.StatusUnauthorized, status(t, brief, http.MethodGet, "/api/v1/users/me"))
}

// TestReplicas_FactorAtSignIn sends each step of a sign-in with a factor to the other replica.
func TestReplicas_FactorAtSignIn(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	ann := passworded(t, p.a, "ann@replica.example")
	do(t, p.b, http.MethodPost, "/api/v1/users/"+ann+"/factors",
		`{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"a medal"}}`, nil)
	var policies []struct{ ID string }
	do(t, p.a, http.MethodGet, "/api/v1/policies?type=SVC_SIGN_ON", "", &policies)
	do(t, p.a, http.MethodPost, "/api/v1/policies/"+policies[0].ID+"/rules",
		`{"name":"Two factors","actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`, nil)
	for i := range 2 {
		sides := []*sandbox.APIClient{p.a, p.b}
		one, other := sides[i], sides[1-i]
		var step struct {
			Status, StateToken string
			Embedded           struct {
				Factors []struct{ ID string }
			} `json:"_embedded"`
		}
		do(t, one, http.MethodPost, "/api/v1/authn", `{"username":"ann@replica.example","password":"Tlpwd-2026"}`, &step)
		require.Equal(t, "MFA_REQUIRED", step.Status)
		var done struct{ Status, SessionToken string }
		verify := "/api/v1/authn/factors/" + step.Embedded.Factors[0].ID + "/verify"
		body := fmt.Sprintf(`{"stateToken":%q,"answer":"a medal"}`, step.StateToken)
		do(t, other, http.MethodPost, verify, body, &done)
		require.Equal(t, "SUCCESS", done.Status)
		require.Equal(t, http.StatusUnauthorized, exchange(t, one, http.MethodPost, verify, body).StatusCode, "the state token is spent")
		do(t, one, http.MethodPost, "/api/v1/sessions", fmt.Sprintf(`{"sessionToken":%q}`, done.SessionToken), nil)
	}
}

// TestReplicas_LockOutCounted checks that failed sign-ins count over both replicas.
func TestReplicas_LockOutCounted(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	ann := passworded(t, p.a, "ann@replica.example")
	for range 10 { // the limit of the password policy
		exchange(t, p.balanced, http.MethodPost, "/api/v1/authn", `{"username":"ann@replica.example","password":"wrong"}`)
	}
	var u struct{ Status string }
	do(t, p.b, http.MethodGet, "/api/v1/users/"+ann, "", &u)
	require.Equal(t, "LOCKED_OUT", u.Status)
}

func TestReplicas_RateLimitShared(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true})
	const limit = 100 // of the bucket of GET /api/v1/apps
	for i := range limit {
		res := exchange(t, p.balanced, http.MethodGet, "/api/v1/apps", "")
		require.Equal(t, http.StatusOK, res.StatusCode, "request %d", i)
		require.Equal(t, fmt.Sprint(limit-1-i), res.Header.Get("X-Rate-Limit-Remaining"))
	}
	for range 4 {
		require.Equal(t, http.StatusTooManyRequests, status(t, p.balanced, http.MethodGet, "/api/v1/apps"))
	}
	var events []json.RawMessage
	do(t, p.balanced, http.MethodGet, "/api/v1/logs?filter="+url.QueryEscape(`eventType eq "system.org.rate_limit.violation"`), "", &events)
	require.Len(t, events, 1, "one replica logs the violation of the window")

	do(t, p.a, http.MethodPost, "/sandbox/v1/clock", `{"advanceSeconds":60}`, nil)
	res := exchange(t, p.b, http.MethodGet, "/api/v1/apps", "")
	require.Equal(t, http.StatusOK, res.StatusCode, "the window of the clock of A ends on B")
	require.Equal(t, fmt.Sprint(limit-1), res.Header.Get("X-Rate-Limit-Remaining"))
}

// TestReplicas_RateLimitConcurrent checks that concurrent requests to both replicas together get no more than the limit.
func TestReplicas_RateLimitConcurrent(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true})
	var accepted atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if err := p.balanced.Do(context.WithoutCancel(t.Context()), http.MethodGet, "/api/v1/apps", nil, nil); err == nil {
					accepted.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 100, accepted.Load())
}

func TestReplicas_ProvidersAndQuirks(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	on := func(api *sandbox.APIClient, name, token string) *tenant {
		return &tenant{base: api.BaseURL + tenants.Prefix(name), token: token}
	}
	var made provider
	do(t, p.a, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme","quirks":["no-patch"]}`, &made)
	ann := on(p.b, "acme", made.Token).send(t, http.MethodPost, "/Users", userBody("ann")).id(t)
	require.Equal(t, http.StatusOK, on(p.a, "acme", made.Token).send(t, http.MethodGet, "/Users/"+ann, "").status)
	patch := patchBody(`{"op":"replace","path":"nickName","value":"z"}`)
	require.Equal(t, http.StatusNotImplemented, on(p.b, "acme", made.Token).send(t, http.MethodPatch, "/Users/"+ann, patch).status)
	do(t, p.b, http.MethodPut, "/sandbox/v1/scim/acme/quirks", `{"active":[]}`, nil)
	require.Equal(t, http.StatusOK, on(p.a, "acme", made.Token).send(t, http.MethodPatch, "/Users/"+ann, patch).status)

	var extra madeToken
	do(t, p.a, http.MethodPost, "/sandbox/v1/scim/acme/tokens", `{"readOnly":true}`, &extra)
	require.Equal(t, http.StatusOK, on(p.b, "acme", extra.Token).send(t, http.MethodGet, "/Users", "").status)
	require.Equal(t, http.StatusForbidden, on(p.b, "acme", extra.Token).send(t, http.MethodDelete, "/Users/"+ann, "").status)
	do(t, p.a, http.MethodDelete, "/sandbox/v1/scim/acme/tokens/"+extra.ID, "", nil)
	require.Equal(t, http.StatusUnauthorized, on(p.b, "acme", extra.Token).send(t, http.MethodGet, "/Users", "").status)

	// The tenants of the configuration have the same quirks on both, and their chaos affects requests to both together.
	do(t, p.a, http.MethodPut, "/sandbox/v1/scim/default/quirks", `{"active":["error=502,p=1,times=3"]}`, nil)
	var affected []int
	for i := range 8 {
		side := []*sandbox.APIClient{p.a, p.b}[i%2]
		if on(side, tenants.Default, p.first.Ready().SCIMToken).send(t, http.MethodGet, "/Users", "").status == http.StatusBadGateway {
			affected = append(affected, i)
		}
	}
	require.Equal(t, []int{0, 1, 2}, affected)
	do(t, p.b, http.MethodPut, "/sandbox/v1/scim/default/quirks", `{"active":["lookup-lag=1m"]}`, nil)
	on(p.a, tenants.Default, p.first.Ready().SCIMToken).send(t, http.MethodPost, "/Users", userBody("late")).id(t)
	found, err := find(t.Context(), p.b.BaseURL+tenants.Prefix(tenants.Default), p.first.Ready().SCIMToken, "late")
	require.NoError(t, err)
	require.Zero(t, found.TotalResults, "B hides the user that A has just created")

	// A replica that starts later has the quirks too.
	_, c := startOne(t, p.options)
	var list struct{ Active []string }
	do(t, c, http.MethodGet, "/sandbox/v1/scim/default/quirks", "", &list)
	require.Equal(t, []string{"lookup-lag=1m"}, list.Active)

	do(t, p.b, http.MethodDelete, "/sandbox/v1/scim/acme", "", nil)
	require.Equal(t, http.StatusNotFound, on(p.a, "acme", made.Token).send(t, http.MethodGet, "/Users", "").status)
	do(t, p.a, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme"}`, &made)
	require.Contains(t, on(p.b, "acme", made.Token).send(t, http.MethodGet, "/Users", "").text, `"totalResults":0`)
}

// TestReplicas_QuirksEndWithLastReplica checks that quirks set for a tenant of the configuration end when no replica runs.
func TestReplicas_QuirksEndWithLastReplica(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	active := func(api *sandbox.APIClient) []string {
		var list struct{ Active []string }
		do(t, api, http.MethodGet, "/sandbox/v1/scim/default/quirks", "", &list)
		return list.Active
	}
	do(t, p.a, http.MethodPut, "/sandbox/v1/scim/default/quirks", `{"active":["no-patch"]}`, nil)
	require.NoError(t, p.first.Close(t.Context()))
	third, c := startOne(t, p.options)
	require.Equal(t, []string{"no-patch"}, active(c))
	require.NoError(t, p.second.Close(t.Context()))
	require.NoError(t, third.Close(t.Context()))
	_, d := startOne(t, p.options)
	require.Empty(t, active(d))
}

// page is a page of a list with a cursor.
type page struct {
	NextCursor string
	Resources  []scimUser
}

// walkPages reads all users with cursors, each page from another service provider, and returns the userNames.
func walkPages(t *testing.T, sides ...*tenant) []string {
	t.Helper()
	var names []string
	cursor := ""
	for i := 0; ; i++ {
		r := sides[i%len(sides)].send(t, http.MethodGet, "/Users?count=2&cursor="+url.QueryEscape(cursor), "")
		require.Equal(t, http.StatusOK, r.status, r.text)
		var p page
		require.NoError(t, json.Unmarshal([]byte(r.text), &p))
		for _, u := range p.Resources {
			names = append(names, u.UserName)
		}
		if cursor = p.NextCursor; cursor == "" {
			return names
		}
	}
}

func TestReplicas_CursorsContinue(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	token := p.first.Ready().SCIMToken
	require.Equal(t, token, p.second.Ready().SCIMToken)
	a := &tenant{base: p.a.BaseURL + tenants.Prefix(tenants.Default), token: token}
	b := &tenant{base: p.b.BaseURL + tenants.Prefix(tenants.Default), token: token}
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint("user", i))
		a.send(t, http.MethodPost, "/Users", userBody(want[i])).id(t)
	}
	require.Equal(t, want, walkPages(t, a, b))

	var first page
	require.NoError(t, json.Unmarshal([]byte(a.send(t, http.MethodGet, "/Users?count=2&cursor=", "").text), &first))
	require.NoError(t, p.first.Close(t.Context()))
	require.NoError(t, p.second.Close(t.Context()))
	_, c := startOne(t, p.options)
	r := (&tenant{base: c.BaseURL + tenants.Prefix(tenants.Default), token: token}).send(t, http.MethodGet,
		"/Users?count=2&cursor="+url.QueryEscape(first.NextCursor), "")
	require.Equal(t, http.StatusOK, r.status, "a cursor continues after a restart: %s", r.text)
}

func TestReplicas_ServeSCIM(t *testing.T) {
	t.Parallel()
	t.Run("direct", func(t *testing.T) { testServedReplicas(t, sqldbtest.PostgresURL(t)) })
	t.Run("pooled", func(t *testing.T) { testServedReplicas(t, sqldbtest.PooledURL(t)) })
}

// testServedReplicas compares the responses of two servers on one database.
func testServedReplicas(t *testing.T, databaseURL string) {
	t.Helper()
	o := sandbox.SCIMOptions{
		Listen: "127.0.0.1:0", DB: databaseURL, Tokens: []string{"token-default"},
		Tenants: []tenants.Config{{Name: "globex", Tokens: []tenants.Token{tenants.NewToken("token-globex")}}},
	}
	start := func() *sandbox.SCIMServer {
		t.Helper()
		s, err := sandbox.ServeSCIM(t.Context(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
		return s
	}
	first, second := start(), start()
	for name, token := range map[string]string{tenants.Default: "token-default", "globex": "token-globex"} {
		a, b := &tenant{base: first.TenantURL(name), token: token}, &tenant{base: second.TenantURL(name), token: token}
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprint("user", i))
			[]*tenant{a, b}[i%2].send(t, http.MethodPost, "/Users", userBody(want[i])).id(t)
		}
		require.Equal(t, want, walkPages(t, a, b))
		require.Equal(t, http.StatusConflict, b.send(t, http.MethodPost, "/Users", userBody("user0")).status)
		wrong := &tenant{base: b.base, token: "token"}
		require.Equal(t, http.StatusUnauthorized, wrong.send(t, http.MethodGet, "/Users", "").status)
	}
}

// TestReplicas_ServeSCIMChaos checks that two servers together return the errors of a quirk with a limited number, and return them again
// after both servers were started again.
func TestReplicas_ServeSCIMChaos(t *testing.T) {
	t.Parallel()
	o := sandbox.SCIMOptions{
		Listen: "127.0.0.1:0", DB: sqldbtest.PostgresURL(t), Tokens: []string{"token-default"}, Quirks: []string{"error=503,p=1,times=2"},
	}
	for range 2 {
		first, err := sandbox.ServeSCIM(t.Context(), o)
		require.NoError(t, err)
		second, err := sandbox.ServeSCIM(t.Context(), o)
		require.NoError(t, err)
		var got []int
		for i := range 4 {
			c := &tenant{base: []*sandbox.SCIMServer{first, second}[i%2].URL(), token: "token-default"}
			got = append(got, c.send(t, http.MethodGet, "/Users", "").status)
		}
		require.Equal(t, []int{503, 503, 200, 200}, got)
		require.NoError(t, errors.Join(first.Close(t.Context()), second.Close(t.Context())))
	}
}

type clockState struct {
	Ahead float64 `json:"aheadSeconds"`
}

// TestReplicas_ClockMoved checks that a request which starts after a move was answered sees the new time on the other replica.
func TestReplicas_ClockMoved(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	sides := []*sandbox.APIClient{p.a, p.b}
	for i := range 20 {
		do(t, sides[i%2], http.MethodPost, "/sandbox/v1/clock", `{"advanceSeconds":3600}`, nil)
		var at clockState
		do(t, sides[1-i%2], http.MethodGet, "/sandbox/v1/clock", "", &at)
		require.InDelta(t, float64(3600*(i+1)), at.Ahead, 1)
	}
	// Concurrent moves of both replicas add up.
	var all sync.WaitGroup
	for _, api := range sides {
		all.Go(func() {
			for range 5 {
				step := map[string]int{"advanceSeconds": 3600}
				if err := api.Do(context.WithoutCancel(t.Context()), http.MethodPost, "/sandbox/v1/clock", step, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, api := range sides {
		var at clockState
		do(t, api, http.MethodGet, "/sandbox/v1/clock", "", &at)
		require.InDelta(t, float64(3600*30), at.Ahead, 1)
	}
	do(t, p.a, http.MethodPost, "/sandbox/v1/clock", `{"realTime":true}`, nil)
	res := exchange(t, p.b, http.MethodGet, "/api/v1/users/me", "")
	date, err := http.ParseTime(res.Header.Get("Date"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), date, time.Minute)
}

// TestReplicas_ResetWhileOtherServes checks that a reset on one replica is complete for the requests to the other one.
func TestReplicas_ResetWhileOtherServes(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{NoRateLimits: true})
	seeded := lengthOf(t, p.b, "/api/v1/users?limit=200")
	require.Greater(t, seeded, 10)
	reading, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	var readers sync.WaitGroup
	counts := make(chan int, 100_000)
	for range 3 {
		readers.Go(func() {
			for reading.Err() == nil {
				var all []any
				err := p.b.Do(reading, http.MethodGet, "/api/v1/users?limit=200", nil, &all)
				if err != nil && reading.Err() == nil {
					t.Error(err)
					return
				}
				counts <- len(all)
			}
		})
	}
	for i := range 3 {
		do(t, []*sandbox.APIClient{p.a, p.a, p.b}[i], http.MethodPost, "/sandbox/v1/reset", "", nil)
		require.Equal(t, 1, lengthOf(t, p.b, "/api/v1/users"), "after reset %d", i)
		newUser(t, p.b, "more@replica.example")
		require.Equal(t, 2, lengthOf(t, p.a, "/api/v1/users"))
	}
	stop()
	readers.Wait()
	close(counts)
	for n := range counts {
		require.Contains(t, []int{0, 1, 2, seeded}, n, "no request sees a part of a reset; 0 is a canceled request")
	}
	do(t, p.b, http.MethodPost, "/sandbox/v1/reset", `{"seed":true}`, nil)
	require.Equal(t, seeded, lengthOf(t, p.a, "/api/v1/users?limit=200"))
}

// TestReplicas_SeedOnce starts both replicas at the same time on an empty database.
func TestReplicas_SeedOnce(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{DB: sqldbtest.PostgresURL(t), SecretKeyFile: filepath.Join(t.TempDir(), "secret.key"), NoRateLimits: true,
		BaseURL: "http://replica.example"}
	_, err := sandbox.NewSecretKey(o.SecretKeyFile)
	require.NoError(t, err)
	apis := make([]*sandbox.APIClient, 2)
	started := make([]*sandbox.Sandbox, 2)
	var all sync.WaitGroup
	for i := range apis {
		all.Go(func() { started[i], apis[i] = startOne(t, o) })
	}
	all.Wait()
	require.NotNil(t, started[0])
	require.NotNil(t, started[1])
	require.Equal(t, started[0].Ready().APIToken, started[1].Ready().APIToken)
	require.Equal(t, started[0].Ready().SCIMToken, started[1].Ready().SCIMToken)
	require.Equal(t, 2, lengthOf(t, apis[0], "/api/v1/apps"))
	org, err := fixtures.Seed()
	require.NoError(t, err)
	// The list of users omits deactivated users and includes the administrator.
	require.Equal(t, len(org.Users)-len(org.Leavers)+1, lengthOf(t, apis[1], "/api/v1/users?limit=200"))
	list, err := listUsers(t.Context(), started[1].Ready().SCIMURL, started[1].Ready().SCIMToken, nil)
	require.NoError(t, err)
	require.Equal(t, 19, list.TotalResults)
}

// TestReplicas_WorkOnce checks that both replicas together send each create once, report each result once, and show the exchanges of both.
func TestReplicas_WorkOnce(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	tg := newTarget(t, scimHandler(t))
	app := newApp(t, p.balanced, tg.URL, scimToken)
	const users = 30
	for i := range users {
		user := newUser(t, p.balanced, fmt.Sprintf("u%d@replica.example", i))
		do(t, p.balanced, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	}
	do(t, p.balanced, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.EqualValues(t, users, tg.posts.Load())
	for _, u := range allAppUsers(t, p.b, app) {
		require.Equal(t, "PROVISIONED SYNCHRONIZED", u.Status+" "+u.SyncState)
	}
	var pushed []json.RawMessage
	do(t, p.a, http.MethodGet, "/api/v1/logs?limit=1000&filter="+
		url.QueryEscape(`eventType eq "application.provision.user.push" and outcome.result eq "SUCCESS"`), "", &pushed)
	require.Len(t, pushed, users)

	for _, api := range []*sandbox.APIClient{p.a, p.b} {
		page := consolePage(t, api, "/apps/"+app+"/requests?q=u0@replica.example")
		require.Contains(t, page, "POST")
		require.Contains(t, page, "u0@replica.example")
	}
}

// TestReplicas_SeededAppsFollow checks that the seeded applications, which provision into the sandbox itself, use another replica when the
// one that they use is killed.
func TestReplicas_SeededAppsFollow(t *testing.T) {
	t.Parallel()
	database, key := sqldbtest.PostgresURL(t), filepath.Join(t.TempDir(), "secret.key")
	killed := startCommand(t, "sandbox", "--listen", "127.0.0.1:0", "--db", database, "--secret-key-file", key,
		"--base-url", "http://replica.example", "--no-rate-limits")
	s, api := startOne(t, sandbox.Options{DB: database, SecretKeyFile: key, BaseURL: "http://replica.example", NoRateLimits: true})
	var apps []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/apps?q=Northwind%20Wiki", "", &apps)
	connected := func() string {
		var c struct{ BaseURL string }
		do(t, api, http.MethodGet, "/api/v1/apps/"+apps[0].ID+"/connections/default", "", &c)
		return c.BaseURL
	}
	require.Equal(t, killed.Ready.SCIMURL, connected(), "the start of another replica changes nothing")
	killed.kill()
	eventually(t, "the app is connected to the other replica", func() bool { return connected() == s.Ready().SCIMURL })
	user := newUser(t, api, "second@northwind.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+apps[0].ID+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	eventually(t, "the user arrives", func() bool {
		list, err := find(t.Context(), s.Ready().SCIMURL, s.Ready().SCIMToken, "second@northwind.example")
		return err == nil && list.TotalResults == 1
	})
}

// TestReplicas_ProvidersConcurrent creates service providers on both replicas at the same time.
func TestReplicas_ProvidersConcurrent(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	var all sync.WaitGroup
	for i, api := range []*sandbox.APIClient{p.a, p.b} {
		all.Go(func() {
			for n := range 4 {
				body := map[string]string{"name": fmt.Sprintf("acme-%d-%d", i, n)}
				if err := api.Do(context.WithoutCancel(t.Context()), http.MethodPost, "/sandbox/v1/scim", body, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, api := range []*sandbox.APIClient{p.a, p.b} {
		require.Equal(t, 8+2, lengthOf(t, api, "/sandbox/v1/scim"))
	}
}

// TestReplicas_ResultOfDeadReplicaReported checks that a result which the engine of a dead replica stored, but did not report, is reported.
func TestReplicas_ResultOfDeadReplicaReported(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	tg := newTarget(t, scimHandler(t))
	app := newApp(t, p.a, tg.URL, scimToken)
	ann := assignTo(t, p.a, app, "ann@replica.example")
	ann.becomes("PROVISIONED SYNCHRONIZED")
	account := func() string {
		var u appUser
		do(t, p.b, http.MethodGet, ann.url, "", &u)
		return u.ExternalID
	}
	id := account()
	require.NotEmpty(t, id)

	db, err := sqlopen.Open(t.Context(), p.options.DB, sqlopen.Options{})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(),
			`UPDATE app_users SET rev = rev + 1, doc = convert_to(replace(convert_from(doc, 'UTF8'), ?, ''), 'UTF8')`, id)
		return err
	}))
	require.Empty(t, account())
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(),
			`INSERT INTO sandbox_replicas VALUES ('dead', 'http://127.0.0.1:1', '', clock_timestamp() - interval '1 hour')`)
		return err
	}))
	eventually(t, "the result is reported", func() bool { return account() == id })
}
