package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Run(ctx, args, &out, &err, os.LookupEnv)
	return code, out.String(), err.String()
}

// usedAddress returns an address that is in use until the test ends.
func usedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestExitCodesAndTexts(t *testing.T) {
	dir := t.TempDir()
	missing, wrong, main := filepath.Join(dir, "missing.json"), filepath.Join(dir, "wrong.yaml"), filepath.Join(dir, "main.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("tenants:\n  acme:\n    tokens: [x]\n    quirk: [no-put]\n"), 0o600))
	require.NoError(t, os.WriteFile(main, []byte("tenants: {default: {tokens: [x]}}"), 0o600))
	policy := filepath.Join(dir, "policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("egress: pubic\n"), 0o600))
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"no arguments print help", nil, cli.ExitOK, "sandbox", ""},
		{"help lists the commands", []string{"--help"}, cli.ExitOK, "serve scim", ""},
		{"the version", []string{"version"}, cli.ExitOK, "scimwright ", ""},
		{"the version as a flag", []string{"--version"}, cli.ExitOK, "scimwright ", ""},
		{"the help of a command", []string{"help", "sandbox"}, cli.ExitOK, "--ready-file", ""},
		{"help as a command", []string{"help"}, cli.ExitOK, "serve scim", ""},
		{"an unknown command", []string{"frobnicate"}, cli.ExitUsage, "", "frobnicate"},
		{"an unknown flag", []string{"sandbox", "--bogus"}, cli.ExitUsage, "", `Try "scimwright sandbox --help".`},
		{"data and database at once", []string{"sandbox", "--data", "x", "--db", "sqlite:y"}, cli.ExitUsage, "", "exclude each other"},
		{"an error that only the command detects", []string{"token", "create"}, cli.ExitUsage, "", `Try "scimwright token create --help".`},
		{"an invalid listen address", []string{"sandbox", "--listen", "127.0.0.1:notaport"}, cli.ExitFailure, "", "listen on"},
		{
			"a base URL with credentials", []string{"sandbox", "--listen", "127.0.0.1:notaport", "--base-url", "http://u:p@id.example.com"},
			cli.ExitUsage, "", "--base-url",
		},
		{
			"a base URL with a query", []string{"sandbox", "--listen", "127.0.0.1:notaport", "--base-url", "http://id.example.com?q"},
			cli.ExitUsage, "", "--base-url",
		},
		{
			"a base URL with a fragment", []string{"sandbox", "--listen", "127.0.0.1:notaport", "--base-url", "http://id.example.com/#"},
			cli.ExitUsage, "", "--base-url",
		},
		{"an address in use", []string{"sandbox", "--listen", usedAddress(t)}, cli.ExitFailure, "", "set another address with --listen"},
		{"a database of another kind", []string{"sandbox", "--db", "mysql://u@h/x"}, cli.ExitUsage, "",
			`databases of the kind "mysql" are not supported`},
		{"a database without its kind", []string{"serve", "scim", "--db", "x.db"}, cli.ExitUsage, "", "sqlite:PATH"},
		{"a token with an unknown option", []string{"serve", "scim", "--token", "x;readonly"}, cli.ExitUsage, "",
			"part 1 is not one of read-only, expires=TIME, me=ID"},
		{"a token with an invalid expiry", []string{"serve", "scim", "--read-token", "x;expires=soon"}, cli.ExitUsage, "",
			"expires= without a time"},
		{"a token given as read-only and as read-write", []string{"serve", "scim", "--token", "x", "--read-token", "x"}, cli.ExitUsage, "",
			"is given twice"},
		{"a quirk given twice", []string{"serve", "scim", "--quirk", "no-put", "--quirk", "no-put"}, cli.ExitUsage, "", "no-put occurs twice"},
		{"a missing tenants file", []string{"serve", "scim", "--tenants", missing}, cli.ExitUsage, "", "missing.json"},
		{"an invalid tenants file", []string{"serve", "scim", "--tenants", wrong}, cli.ExitUsage, "",
			`tenant acme: line 4: unknown member "quirk"`},
		{"the same for the sandbox", []string{"sandbox", "--tenants", wrong}, cli.ExitUsage, "",
			`tenant acme: line 4: unknown member "quirk"`},
		{"the default tenant in two places", []string{"serve", "scim", "--tenants", main, "--token", "x"}, cli.ExitUsage, "",
			`the tenant "default" and other options configure the same service provider, /scim/v2`},
		{"the help of a server with tenants", []string{"serve", "scim", "--help"}, cli.ExitOK, "--tenants=FILE", ""},
		{"a certificate without its key", []string{"serve", "scim", "--tls-cert", missing}, cli.ExitUsage, "", "TLS requires two files"},
		{"a missing certificate", []string{"serve", "scim", "--tls-cert", missing, "--tls-key", missing}, cli.ExitUsage, "",
			"TLS certificate: open "},
		{"an invalid certificate", []string{"serve", "scim", "--tls-cert", wrong, "--tls-key", wrong}, cli.ExitUsage, "",
			"TLS certificate: "},
		{"PostgreSQL without a key", []string{"sandbox", "--listen", "127.0.0.1:0", "--db", "postgres://u@127.0.0.1:1/x"}, cli.ExitFailure, "",
			"secret key"},
		{"a secret key of the wrong length", []string{"sandbox", "--listen", "127.0.0.1:0", "--secret-key", "c2hvcnQ="}, cli.ExitUsage, "",
			"32 bytes"},
		{"a token that a header cannot contain", []string{"sandbox", "--listen", "127.0.0.1:0", "--api-token", "a b"}, cli.ExitFailure, "",
			"visible ASCII"},
		{"an unknown address policy", []string{"sandbox", "--egress", "all"}, cli.ExitUsage, "",
			`--egress must be one of any, private, public, but is "all"`},
		{"a misspelled address policy", []string{"serve", "engine", "--egress", "pubic"}, cli.ExitUsage, "", `; did you mean "public"?`},
		{"an address without TLS", []string{"serve", "engine", "--listen", "0.0.0.0:0", "--db", "sqlite:" + dir + "/x.db"}, cli.ExitUsage, "",
			"TLS is required: other machines can reach 0.0.0.0:0"},
		{"a configuration with an unknown address policy", []string{"serve", "engine", "--listen", "127.0.0.1:notaport", "--config", policy},
			cli.ExitUsage, "", `unknown address policy "pubic"`},
		{"a misspelled level", []string{"--log-level", "wran", "version"}, cli.ExitUsage, "",
			`--log-level: level must be one of debug, info, warn, error, but is "wran"; did you mean "warn"?`},
		{"an unknown kind of database", []string{"serve", "scim", "--db", "mysql://x"}, cli.ExitUsage, "",
			`databases of the kind "mysql" are not supported`},
		{"a misspelled quirk", []string{"serve", "scim", "--quirk", "no-putt"}, cli.ExitUsage, "", `; did you mean "no-put"?`},
		{"a misspelled argument", []string{"openapi", "mangement"}, cli.ExitUsage, "", `; did you mean "management"?`},
		{"a metrics token that a header cannot contain", []string{"sandbox", "--metrics-token", "a b"}, cli.ExitUsage, "", "visible ASCII"},
		{"the same for the SCIM server", []string{"serve", "scim", "--metrics-token", "a b"}, cli.ExitUsage, "", "visible ASCII"},
		{"a metrics address in use", []string{"serve", "scim", "--listen", "127.0.0.1:0", "--metrics-listen", usedAddress(t)}, cli.ExitFailure,
			"", "set another address with --metrics-listen"},
		{"a token without credentials", []string{"token", "create"}, cli.ExitUsage, "", "--api-token"},
		{"a missing ready file", []string{"token", "create", "--ready-file", missing}, cli.ExitUsage, "", "missing.json"},
		{"a URL without a scheme", []string{"engine", "apps", "--api-token", "t", "--url", "127.0.0.1:8090"}, cli.ExitUsage, "",
			"absolute http"},
		{"a PostgreSQL database without a key", []string{"serve", "engine", "--db", "postgres://127.0.0.1:1/x"}, cli.ExitUsage, "",
			"requires a key"},
		{"a load without consent", []string{"bench", "http://127.0.0.1:1/scim/v2"}, cli.ExitUsage, "",
			"creates 1,008 users and a group of 1,000 members on each server"},
		{"a load with too many clients", []string{"bench", "http://127.0.0.1:1", "--clients", "1000"}, cli.ExitUsage, "", "from 1 to 256"},
		{"a load with the second process only", []string{"bench", "http://127.0.0.1:1", "--pid2", "7"}, cli.ExitUsage, "", "second URL"},
		{"a load with a missing CA file", []string{"bench", "https://127.0.0.1:1", "--ca-file", missing}, cli.ExitUsage, "", "--ca-file"},
		{"a load with an invalid output file", []string{"bench", "http://127.0.0.1:1", "--yes-write", "--json", dir}, cli.ExitUsage, "",
			"--json"},
		{"a load without a server", []string{"bench", "http://127.0.0.1:1", "--yes-write"}, cli.ExitFailure, "", "GET /Users: no response"},
		{"the conformance commands are mounted", []string{"conform", "list"}, cli.ExitOK, "discovery.", ""},
		{"the conformance commands keep their exit codes", []string{"conform", "run"}, cli.ExitUsage, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t.Context(), tt.args...)
			require.Equal(t, tt.code, code, "stdout: %s\nstderr: %s", stdout, stderr)
			require.Contains(t, stdout, tt.stdout)
			require.Contains(t, stderr, tt.stderr)
		})
	}
}

func TestOpenAPI_PrintsDocument(t *testing.T) {
	code, stdout, stderr := run(t.Context(), "openapi")
	require.Equal(t, cli.ExitOK, code, stderr)
	var doc struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.NotEmpty(t, doc.OpenAPI)
	for _, path := range []string{"/api/v1/users", "/api/v1/apps/{appId}/users", "/sandbox/v1/jobs/drain"} {
		require.Contains(t, doc.Paths, path)
	}
}

// start runs a server command, waits for its ready file, and returns a function that stops it.
func start(t *testing.T, args ...string) (ready sandbox.Ready, output func() string, stop func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	exit := make(chan int, 1)
	go func() { exit <- cli.Run(ctx, append(args, "--ready-file", file), &stdout, &stderr, os.LookupEnv) }()
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(data, &ready) == nil
	}, 30*time.Second, 10*time.Millisecond)
	stopped := false
	stop = func() int {
		stopped = true
		cancel()
		return <-exit
	}
	t.Cleanup(func() {
		if !stopped {
			stop()
		}
	})
	return ready, func() string { return stdout.String() + stderr.String() }, stop
}

func TestServers_InterruptedDuringStart(t *testing.T) {
	for _, command := range [][]string{{"sandbox", "--empty"}, {"serve", "scim"}, {"serve", "engine"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		db := "sqlite:" + filepath.Join(t.TempDir(), "data.db")
		code, stdout, stderr := run(ctx, append(command, "--listen", "127.0.0.1:0", "--db", db)...)
		require.Equal(t, cli.ExitOK, code, "%v: %s", command, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "shutting down")
	}
}

func TestSandbox_RunsUntilInterrupted(t *testing.T) {
	ready, output, stop := start(t, "--log-level", "debug", "sandbox", "--listen", "127.0.0.1:0", "--empty", "--api-token", "secret",
		"--scim-token", "other")
	require.Equal(t, "secret", ready.APIToken)
	require.Equal(t, "other", ready.SCIMToken)
	require.Equal(t, os.Getpid(), ready.PID)

	code, stdout, stderr := run(t.Context(), "token", "create", "--url", ready.BaseURL, "--api-token", "secret", "--name", "second")
	require.Equal(t, cli.ExitOK, code, stderr)
	token := strings.TrimSpace(stdout)
	require.Regexp(t, `^00[\w-]{40}$`, token)
	api := &sandbox.APIClient{BaseURL: ready.BaseURL, Token: token}
	require.NoError(t, api.Do(t.Context(), http.MethodGet, "/api/v1/users/me", nil, nil))
	http.DefaultClient.CloseIdleConnections()

	require.Equal(t, cli.ExitOK, stop(), output())
	require.Contains(t, output(), "scimwright sandbox is ready")
	for _, logged := range []string{`"msg":"sandbox started"`, `"route":"/sandbox/v1/api-tokens","status":201`, `"msg":"stopped"`} {
		require.Contains(t, output(), logged)
	}
	require.NotRegexp(t, `"msg".*`+token, output(), "no log line contains a token")
	require.Error(t, api.Do(t.Context(), http.MethodGet, "/api/v1/users/me", nil, nil), "the server has stopped")
}

// TestCompletion_FlagsOfGroups checks that completion offers the flags that all commands of a group share.
func TestCompletion_FlagsOfGroups(t *testing.T) {
	_, script, _ := run(t.Context(), "completion", "bash")
	_, apps, found := strings.Cut(script, "\n    ' engine apps')\n")
	require.True(t, found)
	apps, _, _ = strings.Cut(apps, ";;")
	require.Contains(t, apps, "--url=")
	require.Contains(t, apps, "--ready-file=")
	_, page, _ := run(t.Context(), "man")
	require.Contains(t, page, "The following commands accept these flags, too.\n.TP\n.B \\-\\-url")
}
