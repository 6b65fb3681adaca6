package daemon_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// TestClose_EndsWaits closes a daemon while a client waits for a user whose target does not respond.
func TestClose_EndsWaits(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, stop := start(t, daemon.Options{DB: databaseURL})
		c := callerOf(t, d)
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, "http://127.0.0.1:1"))
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		waited := make(chan response, 1)
		go func() {
			r, err := c.send(http.MethodPost, "/apps/crm/wait?timeoutSeconds=600", "application/json", nil)
			assert.NoError(t, err)
			waited <- r
		}()
		eventually(t, "the wait runs", func() bool { return d.Requests("default") == 1 })
		stop()
		r := <-waited
		require.Equal(t, http.StatusServiceUnavailable, r.status, r.body)
		require.NotEmpty(t, r.header.Get("Retry-After"))
	})
}

func TestReadiness_DatabaseGone(t *testing.T) {
	var log logged
	d, _ := start(t, daemon.Options{Logger: log.logger()})
	root := &caller{t: t, url: d.Ready().BaseURL}
	root.do(http.StatusOK, http.MethodGet, "/readyz", "")
	require.NoError(t, d.CloseDatabase())
	r := root.do(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	assert.Contains(t, r.body, "database")
	root.do(http.StatusOK, http.MethodGet, "/livez", "")
}

// TestCommands_Operate runs commands of the CLI against a daemon.
func TestCommands_Operate(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	c := callerOf(t, d)
	_, url := newTarget(t)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann@example.com"))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	run := func(args ...string) string {
		t.Helper()
		var out, problems bytes.Buffer
		args = append([]string{"engine"}, append(args, "--url", d.Ready().EngineURL, "--api-token", adminToken)...)
		code := cli.Run(t.Context(), args, &out, &problems, func(string) (string, bool) { return "", false })
		require.Zero(t, code, "%v: %s", args, problems.String())
		return out.String()
	}
	assert.Regexp(t, `crm +crm +running`, run("apps"))
	assert.Contains(t, run("tasks", "crm"), "crm has no tasks")
	assert.Contains(t, run("explain", "crm", "u-1"), "ann@example.com")
	assert.Contains(t, run("verify", "crm", "u-1"), "read back equal")
	assert.Contains(t, run("events", "crm"), "user.created")
	assert.Contains(t, run("fleet"), "daemon")
	assert.Contains(t, run("reseal"), "0 secrets are encrypted again.")
	assert.Contains(t, run("audit"), "putUser")
	token := run("token", "create", "--scope", "read", "--name", "reports")
	assert.Regexp(t, `^swe_[A-Za-z0-9_-]{43}\n$`, token)
	assert.Regexp(t, `tok-[a-z0-9]{16} +reports +default +read`, run("token", "list"))
}
