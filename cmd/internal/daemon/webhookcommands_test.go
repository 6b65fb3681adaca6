package daemon_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// TestWebhookCommands_Operate runs the commands for webhooks against a daemon, with an endpoint that fails first.
func TestWebhookCommands_Operate(t *testing.T) {
	d, _ := start(t, daemon.Options{Webhooks: daemon.WebhookOptions{Attempts: 1, RetryInitial: time.Millisecond, RetryMax: time.Millisecond}})
	c := callerOf(t, d)
	_, remote := newTarget(t)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, remote))
	x := newInbox(t)
	run := func(code int, args ...string) string {
		t.Helper()
		var out, problems bytes.Buffer
		args = append([]string{"engine", "webhook"}, append(args, "--url", d.Ready().EngineURL, "--api-token", adminToken)...)
		got := cli.Run(t.Context(), args, &out, &problems, func(string) (string, bool) { return "", false })
		require.Equal(t, code, got, "%v: %s", args, problems.String())
		for line := range strings.Lines(out.String()) {
			assert.LessOrEqual(t, len(line), 101, line)
		}
		return out.String() + problems.String()
	}
	value := func(text, name string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + name + ` +(\S+)$`).FindStringSubmatch(text)
		require.NotNil(t, m, "%s in %s", name, text)
		return m[1]
	}
	assert.Equal(t, "No webhooks.\n", run(cli.ExitOK, "list"))
	made := run(cli.ExitOK, "create", x.url, "--type", "user.created", "--type", "user.failed", "--description", "of tests")
	id, secret := value(made, "id"), value(made, "secret")
	assert.Contains(t, made, "The secret is shown only now.")
	assert.Regexp(t, id+` +all +enabled +0 +0 +http`, run(cli.ExitOK, "list"))
	x.set(true, secret)
	for _, user := range []string{"u-1", "u-2"} {
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/"+user, userBody(1, user))
	}
	evt := regexp.MustCompile(`(?m)^evt_\S+`)
	var letters []string
	eventually(t, "two dead letters", func() bool {
		letters = evt.FindAllString(run(cli.ExitOK, "letters", id), -1)
		return len(letters) == 2
	})
	assert.Contains(t, run(cli.ExitOK, "show", id), "dead letters  2")
	assert.Equal(t, "No messages.\n", run(cli.ExitOK, "letters", id, "--waiting"))
	assert.Regexp(t, `failing +0 +2`, run(cli.ExitOK, "list"))

	next := strings.TrimSpace(run(cli.ExitOK, "rotate", id, "--overlap", "0s"))
	assert.NotEqual(t, secret, next)
	x.set(false, next)
	assert.Equal(t, "The dead letter is delivered again.\n", run(cli.ExitOK, "replay", id, letters[0]))
	assert.Equal(t, "1 dead letter is delivered again.\n", run(cli.ExitOK, "replay", id, "--all"))
	eventually(t, "both messages", func() bool { return x.has("user.created", "u-1") && x.has("user.created", "u-2") })

	updated := run(cli.ExitOK, "update", id, "--disable")
	assert.Contains(t, updated, "user.created user.failed")
	assert.Contains(t, updated, "of tests")
	assert.Equal(t, "disabled", value(updated, "state"))
	assert.Regexp(t, `types +all\n`, run(cli.ExitOK, "update", id, "--all-types", "--new-url", x.url+"/other"))
	assert.Equal(t, "disabled", value(run(cli.ExitOK, "show", id), "state"))
	assert.Contains(t, run(cli.ExitOK, "enable", id), "The endpoint is enabled.")
	assert.Contains(t, run(cli.ExitOK, "show", id, "--json"), `"url": "`+x.url+`/other"`)
	assert.Equal(t, "The endpoint is deleted.\n", run(cli.ExitOK, "delete", id))
	assert.Contains(t, run(cli.ExitFailure, "show", id), "not found")

	assert.Contains(t, run(cli.ExitUsage, "update", id), "name a change")
	assert.Contains(t, run(cli.ExitUsage, "replay", id), "name a dead letter, or use --all")
	assert.Contains(t, run(cli.ExitUsage, "replay", id, letters[0], "--all"), "name a dead letter, or use --all")
	assert.Contains(t, run(cli.ExitFailure, "create", x.url, "--type", "user.creatd"), "types")
}
