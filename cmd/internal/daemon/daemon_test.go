package daemon_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/cmd/internal/serving"
)

func TestDaemon_ProvisionsAndRestarts(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		d, stop := start(t, daemon.Options{DB: databaseURL})
		c := callerOf(t, d)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		require.Len(t, target.Users(), 1)
		shown := c.do(http.StatusOK, http.MethodGet, "/apps/crm", "").body
		assert.Contains(t, shown, `"hasCredentials":true`)
		assert.NotContains(t, shown, "t0k3n")
		stop()

		d, _ = start(t, daemon.Options{DB: databaseURL})
		assert.Empty(t, d.Ready().AdminToken)
		c = callerOf(t, d)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(2, "bob"))
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		require.Len(t, target.Users(), 1)
		assert.Equal(t, "bob", target.Users()[0].Text("userName"))
	})
}

func TestDaemon_HealthAndDocument(t *testing.T) {
	d, _ := start(t, daemon.Options{Metrics: serving.MetricsOptions{Token: "metrics-token"}})
	c := callerOf(t, d)
	_, url := newTarget(t)
	c.as("acme", "apps", "secrets", "write").do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	c.tenant = "acme"
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	root := &caller{t: t, url: d.Ready().BaseURL, token: "metrics-token"}
	for _, path := range []string{"/livez", "/readyz"} {
		assert.Contains(t, root.do(http.StatusOK, http.MethodGet, path, "").body, `"status":"ok"`)
	}
	assert.Contains(t, root.do(http.StatusOK, http.MethodGet, "/openapi.json", "").body, `"operationId": "putUser"`)
	assert.Contains(t, root.do(http.StatusOK, http.MethodGet, "/metrics", "").body, `scim_engine_due{app="crm",tenant="acme"} 0`)
	root.token = ""
	root.do(http.StatusUnauthorized, http.MethodGet, "/metrics", "")
}

func TestStart_FirstAdminToken(t *testing.T) {
	o := daemon.Options{Listen: "127.0.0.1:0", DB: "sqlite:" + filepath.Join(t.TempDir(), "engine.db")}
	d, err := daemon.Start(t.Context(), o)
	require.NoError(t, err)
	c := callerOf(t, d)
	c.token = d.Ready().AdminToken
	require.NotEmpty(t, c.token)
	file := strings.TrimPrefix(o.DB, "sqlite:") + ".admin-token"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, c.token+"\n", string(text))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	var welcome strings.Builder
	d.PrintWelcome(&welcome)
	assert.Contains(t, welcome.String(), file)
	assert.NotContains(t, welcome.String(), c.token, "the journal of a service does not contain the token")
	c.do(http.StatusOK, http.MethodGet, "/tokens", "")
	key, err := os.Stat(strings.TrimPrefix(o.DB, "sqlite:") + ".key")
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), key.Mode().Perm())
	require.NoError(t, d.Close(t.Context()))
	data, err := os.ReadFile(strings.TrimPrefix(o.DB, "sqlite:"))
	require.NoError(t, err)
	assert.NotContains(t, string(data), c.token, "the token is stored as its digest only")

	require.NoError(t, os.Remove(strings.TrimPrefix(o.DB, "sqlite:")+".key"))
	_, err = daemon.Start(t.Context(), o)
	require.ErrorContains(t, err, "missing")
}

func TestStart_Rejected(t *testing.T) {
	for name, test := range map[string]struct {
		o    daemon.Options
		says string
	}{
		"no TLS":         {daemon.Options{Listen: "0.0.0.0:0"}, "--behind-proxy"},
		"no key":         {daemon.Options{DB: "postgres://127.0.0.1:1/none"}, "requires a key"},
		"two keys":       {daemon.Options{Keys: daemon.KeyOptions{Keys: testKey, Command: "true"}}, "exclude each other"},
		"short key":      {daemon.Options{Keys: daemon.KeyOptions{Keys: "c2hvcnQ="}}, "32 bytes"},
		"failed command": {daemon.Options{Keys: daemon.KeyOptions{Command: "exit 3"}}, "key command"},
		"short token":    {daemon.Options{AdminToken: "short"}, "at least 20"},
		"database":       {daemon.Options{DB: "mysql://"}, "not supported"},
		"client CA":      {daemon.Options{ClientCA: "ca.pem"}, "require TLS"},
		"no file":        {daemon.Options{Config: "nowhere.yaml"}, "nowhere.yaml"},
		"egress":         {daemon.Options{Egress: "some"}, "address policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if test.o.Listen == "" {
				test.o.Listen = "127.0.0.1:0"
			}
			_, err := daemon.Start(t.Context(), test.o)
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestKeys_Rotation replaces the key of a database, without an interruption for the stored secrets.
func TestKeys_Rotation(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		target.Token = "t0k3n"
		var c *caller
		restart := func(keys string) func() {
			d, stop := start(t, daemon.Options{DB: databaseURL, Keys: daemon.KeyOptions{Command: "echo " + keys}})
			c = callerOf(t, d)
			return stop
		}
		stop := restart(testKey)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-0",
			`{"version":1,"want":"active","resource":{"userName":"eve"},"password":"p4ss","passwordVersion":"1"}`)
		var hook struct{ ID string }
		c.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"url":"https://idp.example.com/"}`, &hook)
		stop()
		stop = restart(otherKey + " " + testKey)
		assert.JSONEq(t, `{"changed":3,"lost":0}`, c.do(http.StatusOK, http.MethodPost, "/reseal", "").body)
		assert.JSONEq(t, `{"changed":0,"lost":0}`, c.do(http.StatusOK, http.MethodPost, "/reseal", "").body)
		stop()
		stop = restart(otherKey)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		require.Len(t, target.Users(), 2)
		c.do(http.StatusOK, http.MethodPost, "/webhooks/"+hook.ID+"/rotate", "")
		stop()
		_, err := daemon.Start(t.Context(), daemon.Options{
			Listen: "127.0.0.1:0", DB: databaseURL, AdminToken: adminToken, Keys: daemon.KeyOptions{Keys: testKey},
		})
		require.ErrorContains(t, err, "--accept-lost-key")
		restart(otherKey)
	})
}

// TestKeys_Lost starts with another key than that of the database, and writes the secrets again.
func TestKeys_Lost(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		o := daemon.Options{DB: databaseURL}
		d, stop := start(t, o)
		c := callerOf(t, d)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
		c.do(http.StatusOK, http.MethodPut, "/apps/open", fmt.Sprintf(`{"version":1,"target":{"baseUrl":%q,"createUsers":true}}`, url))
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1",
			`{"version":1,"want":"active","resource":{"userName":"eve"},"password":"p4ss","passwordVersion":"1"}`)
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		var hook struct{ ID string }
		c.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"url":"https://idp.example.com/"}`, &hook)
		stop()

		o.Listen, o.AdminToken, o.Keys.Keys = "127.0.0.1:0", adminToken, otherKey
		_, err := daemon.Start(t.Context(), o)
		require.ErrorContains(t, err, "--accept-lost-key")
		_, err = daemon.Start(t.Context(), o)
		require.Error(t, err, "a failed start accepts nothing")
		o.AcceptLostKey = true
		d, stop = start(t, o)
		c = callerOf(t, d)
		root := &caller{t: t, url: d.Ready().BaseURL}
		const lost = "no key decrypts the credentials of 1 app and the secrets of 1 webhook"
		require.Contains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, lost)
		type unreadable struct{ Kind, App, ID string }
		var all, page []unreadable
		c.do(http.StatusOK, http.MethodGet, "/unreadable", "", &all)
		require.Equal(t, []unreadable{{"app", "crm", "crm"}, {"user", "crm", "u-1"}, {"webhook", "", hook.ID}}, all)
		r := c.do(http.StatusOK, http.MethodGet, "/unreadable?limit=1", "", &page)
		require.Equal(t, all[:1], page)
		require.Contains(t, strings.Join(r.header.Values("Link"), ""), "after=crm")
		c.do(http.StatusOK, http.MethodGet, "/unreadable?limit=5&after=crm", "", &page)
		require.Equal(t, all[1:], page)
		c.do(http.StatusOK, http.MethodGet, "/unreadable?after=crm%2Fu-1", "", &page)
		require.Equal(t, all[2:], page)
		c.as("acme", "apps").do(http.StatusOK, http.MethodGet, "/unreadable", "", &page)
		require.Empty(t, page, "another tenant")

		var apps []struct {
			ID   string
			Lane struct{ State, Reason string }
		}
		c.do(http.StatusOK, http.MethodGet, "/engine/apps", "", &apps)
		require.Len(t, apps, 2)
		require.Equal(t, "unreadable", apps[0].Lane.State)
		require.Contains(t, apps[0].Lane.Reason, "no key decrypts")
		require.Equal(t, "running", apps[1].Lane.State)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(2, url))
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1",
			`{"version":2,"want":"active","resource":{"userName":"eva"},"password":"p4ss","passwordVersion":"1"}`)
		c.do(http.StatusOK, http.MethodPost, "/webhooks/"+hook.ID+"/rotate", "")
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		require.Equal(t, "eva", target.Users()[0].Text("userName"))
		require.NotContains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, "warnings")
		stop()
		o.AcceptLostKey = false
		start(t, o)
	})
}

// TestStart_Halted starts after a restore: nothing is sent until the operator ends the halts.
func TestStart_Halted(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		var log logged
		d, stop := start(t, daemon.Options{DB: databaseURL})
		c := callerOf(t, d)
		for _, app := range []string{"a", "b", "c"} {
			c.do(http.StatusOK, http.MethodPut, "/apps/"+app, appBody(1, url))
			c.do(http.StatusOK, http.MethodPost, "/apps/"+app+"/halt", `{"reason":"the target is not reachable"}`)
			c.do(http.StatusOK, http.MethodPut, "/apps/"+app+"/users/u-1", userBody(1, app))
		}
		acme := *c
		acme.tenant = "acme"
		acme.do(http.StatusOK, http.MethodPut, "/apps/hr", appBody(1, url))
		for _, app := range []string{"a", "b", "c"} {
			c.do(http.StatusOK, http.MethodPost, "/apps/"+app+"/wait", "")
		}
		stop()
		d, stop = start(t, daemon.Options{
			DB: databaseURL, StartHalted: true, Logger: log.logger(), Metrics: serving.MetricsOptions{Token: "metrics-token"},
		})
		c = callerOf(t, d)
		acme.url = c.url
		root := &caller{t: t, url: d.Ready().BaseURL, token: "metrics-token"}
		require.Contains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, "4 apps halted since the start")
		require.Contains(t, root.do(http.StatusOK, http.MethodGet, "/metrics", "").body, "scim_daemon_halted_apps 4")
		require.Contains(t, log.String(), "all apps are halted")
		for _, app := range []string{"a", "b", "c"} {
			c.do(http.StatusOK, http.MethodPut, "/apps/"+app+"/users/u-1", userBody(2, app+"2"))
			c.do(http.StatusOK, http.MethodPost, "/apps/"+app+"/wait", "")
		}
		require.Empty(t, target.Users())
		c.do(http.StatusOK, http.MethodPost, "/apps/a/resume", "")
		c.do(http.StatusOK, http.MethodPost, "/apps/a/wait", "")
		require.Len(t, target.Users(), 1)
		c.as("default", "apps").do(http.StatusForbidden, http.MethodPost, "/halted-at-start/resume?allTenants=true", "")
		require.JSONEq(t, `{"apps":["b","c"]}`, c.do(http.StatusOK, http.MethodPost, "/halted-at-start/resume", "").body)
		for _, app := range []string{"b", "c"} {
			c.do(http.StatusOK, http.MethodPost, "/apps/"+app+"/wait", "")
		}
		require.Len(t, target.Users(), 3)
		require.JSONEq(t, `{"apps":["acme:hr"]}`, c.do(http.StatusOK, http.MethodPost, "/halted-at-start/resume?allTenants=true", "").body)
		require.NotContains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, "warnings")
		stop()
		d, _ = start(t, daemon.Options{DB: databaseURL})
		root.url = d.Ready().BaseURL
		require.NotContains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, "warnings")
	})
}

// TestCertificates_OfClients authenticates clients by certificates that the configuration file names.
func TestCertificates_OfClients(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	ca.issue(t, "server", "localhost", "127.0.0.1")
	config := filepath.Join(dir, "engine.yaml")
	require.NoError(t, os.WriteFile(config, []byte("tenants:\n  acme:\n    tokens:\n"+
		"    - {name: idp, certificate: 'dns:idp.example.com', scopes: [read]}\n"), 0o600))
	d, _ := start(t, daemon.Options{
		TLSCert: filepath.Join(dir, "server.pem"), TLSKey: filepath.Join(dir, "server.key"), ClientCA: filepath.Join(dir, "ca.pem"),
		Config: config,
	})
	c := callerOf(t, d)
	require.True(t, strings.HasPrefix(c.url, "https://"))
	for name, status := range map[string]int{
		"idp.example.com": http.StatusOK, "other.example.com": http.StatusUnauthorized, "": http.StatusUnauthorized,
	} {
		settings := &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS12}
		if name != "" {
			settings.Certificates = []tls.Certificate{ca.issue(t, name, name)}
		}
		transport := &http.Transport{TLSClientConfig: settings}
		c.http, c.token = &http.Client{Transport: transport}, ""
		r := c.do(status, http.MethodGet, "/caller", "")
		if status == http.StatusOK {
			assert.Contains(t, r.body, `"tenant":"acme"`)
			c.do(http.StatusForbidden, http.MethodPut, "/apps/crm", appBody(1, "http://127.0.0.1:1"))
		}
		transport.CloseIdleConnections()
	}
}
