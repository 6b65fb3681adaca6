package cli_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEngineWait_NamesPendingUsers uses a target that returns 429, and then 202.
func TestEngineWait_NamesPendingUsers(t *testing.T) {
	t.Parallel()
	x := newTranscript(t)
	crm, ann := x.app("CRM"), x.user("ann")
	engine := func(args ...string) (int, string, string) {
		return run(t.Context(), append([]string{"engine", "--url", x.api.BaseURL, "--api-token", x.api.Token}, args...)...)
	}
	answer := func(status int, header, value string) {
		x.answer.Store(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				return false
			}
			w.Header().Set(header, value)
			w.WriteHeader(status)
			return true
		})
	}
	answer(http.StatusTooManyRequests, "Retry-After", "1000")
	x.do(http.MethodPost, "/api/v1/apps/"+crm+"/users", `{"id":"`+ann+`","scope":"USER"}`)
	const paused = `user ann@northwind\.example of CRM \(dirty\): on hold \(pause\): create: 429 Too Many Requests; until 20\S+Z\n`
	for _, args := range [][]string{{"wait", "CRM", "--timeout", "1s"}, {"wait", "CRM", "ann@northwind.example", "--timeout", "1s"}} {
		code, stdout, stderr := engine(args...)
		require.Equal(t, 1, code)
		require.Regexp(t, `^`+paused+`$`, stdout)
		require.Contains(t, stderr, args[len(args)-3]+" has not converged after 1s")
	}
	code, stdout, _ := engine("tasks", "CRM")
	require.Equal(t, 1, code)
	require.Regexp(t, `user +ann@northwind\.example +dirty +create +\d +20\S+ \S+Z +on hold \(pause\): create: 429 Too Many`, stdout)

	answer(http.StatusAccepted, "Set-Txn", "t81c0")
	code, _, stderr := engine("retry", "CRM", "ann@northwind.example")
	require.Zero(t, code, stderr)
	// Repeat the command: if the engine is reading the state of the accepted create when the wait ends, the output states that the user is
	// being provisioned.
	require.Eventually(t, func() bool {
		code, stdout, _ = engine("wait", "CRM", "--timeout", "1s")
		return code == 1 && !strings.HasSuffix(stdout, "(pending): is being provisioned\n")
	}, time.Minute, time.Millisecond)
	require.Regexp(t, `^user ann@northwind\.example of CRM \(pending\): create: accepted at 20\S+Z with transaction t81c0, `+
		`not carried out yet; until 20\S+Z\n$`, stdout)
	code, stdout, _ = engine("tasks", "CRM")
	require.Equal(t, 1, code)
	require.Regexp(t, `user +ann@northwind\.example +pending +create +\d +20\S+ \S+Z +create: accepted at`, stdout)
	_, stdout, _ = engine("explain", "CRM", "ann@northwind.example")
	require.Regexp(t, `accepted +POST /Users +20\S+ \S+Z +transaction t81c0 +read \d times?, deadline 20\S+ \S+Z`, stdout)
	code, stdout, _ = engine("apps", "CRM")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^accepted +1$`, stdout)
	code, stdout, _ = engine("apps")
	require.Zero(t, code)
	require.Regexp(t, `WAITING +RETRYING +ACCEPTED +FAILED .*\nCRM +\S+ +running +catalog +none +0 +0 +1 +0 `, stdout)
}
