package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// clockTime is the response of the clock.
type clockTime struct {
	Now, RealTime time.Time
	AheadSeconds  float64
}

func TestClock_ConfiguredTokenOutlivesJumps(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Listen: "127.0.0.1:0", Empty: true, Data: filepath.Join(t.TempDir(), "data"), APIToken: "configured-token"}
	s, err := sandbox.Start(t.Context(), o)
	require.NoError(t, err)
	api := &sandbox.APIClient{BaseURL: s.Ready().BaseURL, Token: s.Ready().APIToken}
	for range 3 {
		advance(t, api, 200*day)
		do(t, api, http.MethodGet, "/api/v1/users/me", "", nil)
	}
	var made struct{ Token string }
	do(t, api, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"other","userId":"me"}`, &made)
	other := &sandbox.APIClient{BaseURL: api.BaseURL, Token: made.Token}
	advance(t, other, 200*day)
	do(t, other, http.MethodGet, "/api/v1/users/me", "", nil)
	do(t, api, http.MethodPost, "/sandbox/v1/reset", `{}`, nil)
	advance(t, api, 200*day)
	require.NoError(t, s.Close(context.WithoutCancel(t.Context())))

	_, api = startSandbox(t, o)
	var at clockTime
	do(t, api, http.MethodGet, "/sandbox/v1/clock", "", &at)
	require.InDelta(t, (1000 * day).Seconds(), at.AheadSeconds, 1)
	require.WithinDuration(t, time.Now(), at.RealTime, patience)
	advance(t, api, 200*day)
	do(t, api, http.MethodPost, "/sandbox/v1/clock", `{"realTime":true}`, &at)
	require.Zero(t, at.AheadSeconds)
	require.WithinDuration(t, time.Now(), at.Now, patience)
	do(t, api, http.MethodGet, "/api/v1/users/me", "", nil)
}

func TestClock_MovedBackWithAccessToken(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	c := newCaller(t, s)
	app := c.ok("localhost", "POST", "/api/v1/apps", c.admin(),
		`{"name":"oidc_client","label":"Robot","signOnMode":"OPENID_CONNECT",`+
			`"credentials":{"oauthClient":{"token_endpoint_auth_method":"client_secret_post"}},`+
			`"settings":{"oauthClient":{"application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}}}`)
	oauth := app["credentials"].(object)["oauthClient"].(object)
	c.ok("localhost", "POST", "/api/v1/apps/"+app["id"].(string)+"/grants", c.admin(),
		fmt.Sprintf(`{"scopeId":"svc.sandbox.manage","issuer":%q}`, c.ready.BaseURL))
	c.ok("localhost", "POST", "/oauth2/v1/clients/"+oauth["client_id"].(string)+"/roles", c.admin(), `{"type":"SUPER_ADMIN"}`)
	form := url.Values{"client_id": {oauth["client_id"].(string)}, "client_secret": {oauth["client_secret"].(string)},
		"grant_type": {"client_credentials"}, "scope": {"svc.sandbox.manage"}}.Encode()
	token := func() string {
		return "Bearer " + c.ok("localhost", "POST", "/oauth2/v1/token", "", form)["access_token"].(string)
	}
	mover, idle := token(), token()
	c.ok("localhost", "POST", "/sandbox/v1/clock", mover, `{"advanceSeconds":17280000}`)
	status, _ := c.do("localhost", "GET", "/sandbox/v1/clock", idle, "")
	require.Equal(t, 401, status)
	require.InDelta(t, 17280000, c.ok("localhost", "GET", "/sandbox/v1/clock", mover, "")["aheadSeconds"], 1)
	back := c.ok("localhost", "POST", "/sandbox/v1/clock", mover, `{"realTime":true}`)
	require.Zero(t, back["aheadSeconds"])
	c.ok("localhost", "GET", "/sandbox/v1/clock", idle, "")
}

// TestClock_WorkContinuesAfterStepBack checks that no lane waits for a time that was set before the clock moved back.
func TestClock_WorkContinuesAfterStepBack(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	tg, down := newThrottling(t)
	app := newApp(t, api, tg.URL, scimToken)
	assign := func(login string) {
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, newUser(t, api, login)), nil)
	}
	drain := func() { do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil) }
	advance(t, api, 400*day)
	assign("ahead@chain.example")
	drain()
	down.Store(true)
	assign("paused@chain.example")
	eventually(t, "the lane is paused for an hour", func() bool { return laneState(t, api, app) == "pause" })
	down.Store(false)
	do(t, api, http.MethodPost, "/sandbox/v1/clock", `{"realTime":true}`, nil)
	drain()
	assign("back@chain.example")
	drain()
	require.EqualValues(t, 3, tg.posts.Load(), "one create per account")
}
