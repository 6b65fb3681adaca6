package provision_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// words returns the arguments that a shell passes to curl.
func words(t interface {
	require.TestingT
	Helper()
}, command string) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	out, err := exec.Command(sh, "-n", "-c", command).CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	script := `TOKEN='t0k en'; curl() { for word; do printf '%s\001' "$word"; done; }; ` + command
	out, err = exec.Command(sh, "-c", script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	return strings.Split(strings.TrimSuffix(string(out), "\x01"), "\x01")
}

func withShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		alltest.Lacks(t, "a shell (sh)")
	}
}

func TestCurl_CommandLine(t *testing.T) {
	withShell(t)
	bearer := http.Header{"Authorization": {"Bearer [redacted]"}, "Accept": {"application/scim+json"}}
	for name, c := range map[string]struct {
		attempt     engine.Attempt
		credentials bool
		want        []string
	}{
		"a lookup": {
			engine.Attempt{Method: "GET", URL: "https://h/Users?filter=userName%20eq%20%22o'hara%22&count=1", RequestHeader: bearer}, true,
			[]string{"https://h/Users?filter=userName%20eq%20%22o'hara%22&count=1", "-H", "Accept: application/scim+json", "-H",
				"Authorization: Bearer t0k en"},
		},
		"without credentials": {
			engine.Attempt{Method: "DELETE", URL: "https://h/Users/1", RequestHeader: bearer}, false,
			[]string{"-X", "DELETE", "https://h/Users/1", "-H", "Accept: application/scim+json"},
		},
		"a custom header": {
			engine.Attempt{Method: "GET", URL: "https://h/", RequestHeader: http.Header{"X-Api-Key": {"[redacted]"}}}, true,
			[]string{"https://h/", "-H", "X-Api-Key: t0k en"},
		},
		"a scheme with shell characters": {
			engine.Attempt{Method: "GET", URL: "https://h/", RequestHeader: http.Header{"Authorization": {"$(id) \"`id`\\ [redacted]"}}}, true,
			[]string{"https://h/", "-H", "Authorization: $(id) \"`id`\\ t0k en"},
		},
		"a body of quotes, newlines and other scripts": {
			engine.Attempt{Method: "POST", URL: "https://h/Users", RequestBody: "{\"name\":\"O'Neil\"\n\"$(rm -rf /)\"; `id` \\ ü 漢 '' # }"}, true,
			[]string{"-X", "POST", "https://h/Users", "--data-binary", "{\"name\":\"O'Neil\"\n\"$(rm -rf /)\"; `id` \\ ü 漢 '' # }"},
		},
		"a body that starts with @": {
			engine.Attempt{Method: "POST", URL: "https://h/Users", RequestBody: "@/etc/passwd"}, true,
			[]string{"-X", "POST", "https://h/Users", "--data-raw", "@/etc/passwd"},
		},
		"a URL that curl would expand": {
			engine.Attempt{Method: "GET", URL: "https://h/Users/{a,b}[1-9]"}, true, []string{"-g", "https://h/Users/{a,b}[1-9]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(c.want, words(t, c.attempt.Curl(c.credentials))))
		})
	}
}

// TestCurl_QuotesForShell checks that a shell passes random values of a command line unchanged to curl.
func TestCurl_QuotesForShell(t *testing.T) {
	withShell(t)
	text := rapid.StringMatching("[ -~\n\täß漢]{1,12}")
	rapid.Check(t, func(t *rapid.T) {
		a := engine.Attempt{Method: "PUT", URL: "https://h/" + text.Draw(t, "path"), RequestBody: "{" + text.Draw(t, "body")}
		a.RequestHeader = http.Header{"If-Match": {text.Draw(t, "tag")}}
		got := words(t, a.Curl(true))
		require.Equal(t, []string{"-X", "PUT", a.URL, "-H", "If-Match: " + a.RequestHeader.Get("If-Match"), "--data-binary", a.RequestBody},
			got[len(got)-7:])
	})
}

func TestCurl_HidesSecret(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	attempts, err := w.engine.Traces().Attempts(t.Context(), engine.AttemptQuery{App: app, Limit: 1})
	require.NoError(t, err)
	got := attempts[0].Curl(true)
	require.Contains(t, got, `-H "Authorization: Bearer $TOKEN"`)
	require.Contains(t, got, "curl -X 'POST' '"+w.server.URL+"/Users'")
	require.NotContains(t, got, "s3cr3t")
	require.NotContains(t, attempts[0].Curl(false), "Authorization")
}
