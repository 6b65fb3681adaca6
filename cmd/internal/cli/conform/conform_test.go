package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/report"
)

// execute runs a command line and returns its exit code and output.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Run(t.Context(), "scim-conformance", args, &out, &errOut, os.LookupEnv)
	require.NotContains(t, out.String()+errOut.String(), "goroutine ", "the output contains a panic")
	return code, out.String(), errOut.String()
}

func handler(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestRun_UntestedOnHostileTarget checks the result for targets that are not SCIM service providers: the exit code is 3, not that of
// findings, and the output is one sentence with the next step.
func TestRun_UntestedOnHostileTarget(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"returns HTML":         {handler(200, "text/html", "<!doctype html><title>Welcome</title>"), "web site"},
		"returns HTML as JSON": {handler(200, "application/json", "<html>login</html>"), "web site"},
		"always returns 401": {handler(401, "application/scim+json", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],`+
			`"status":"401"}`), "rejects the credentials"},
		"always returns 403":    {handler(403, "text/plain", "no"), "rejects the credentials"},
		"always returns 404":    {handler(404, "application/json", `{}`), "no SCIM endpoint"},
		"always returns 500":    {handler(500, "text/plain", "boom"), "broken or not ready"},
		"always returns 400":    {handler(400, "text/plain", "no"), "does not permit reading"},
		"returns no JSON":       {handler(200, "application/scim+json", `{"schemas":`), "without a JSON object"},
		"returns an array":      {handler(200, "application/scim+json", `[]`), "without a JSON object"},
		"returns other JSON":    {handler(200, "application/json", `{"hello":"world"}`), "not SCIM"},
		"returns an empty body": {handler(200, "application/scim+json", ``), "without a JSON object"},
		"returns invalid UTF-8": {handler(200, "application/scim+json", "{\"schemas\":[\"\xff\xfe\"]}"), "without a JSON object"},
		"returns deep JSON": {handler(200, "application/scim+json", strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000)),
			"without a JSON object"},
		"returns a deep array": {handler(200, "application/scim+json", `{"a":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+"}"),
			"without a JSON object"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com"+r.URL.Path, http.StatusFound)
		}, "run again with the base URL https://elsewhere.example.com."},
		"redirects in a cycle": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects"},
		"sends megabytes": {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "larger than 8 MiB"},
		"closes half-way": {func(w http.ResponseWriter, _ *http.Request) {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sch")
		}, "closed before the end of the response"},
		"closes at once":          {func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "") }, "closed before the end of the response"},
		"speaks another protocol": {func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "SSH-2.0-OpenSSH_9.9\r\n") }, "cannot be reached"},
		"hangs":                   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no complete response within"},
		"hangs after the header": {func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() },
			"no complete response within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			defer server.Close()
			start := time.Now()
			code, stdout, stderr := execute(t, "run", server.URL, "--token", "t0ken-of-the-test", "--timeout", "20s", "--request-timeout", "500ms")
			require.Equal(t, ExitUntested, code, stdout+stderr)
			require.Contains(t, strings.Join(strings.Fields(stdout), " "), c.says)
			require.Less(t, time.Since(start), 20*time.Second)
			require.NotContains(t, stdout+stderr, "t0ken-of-the-test")

			code, stdout, _ = execute(t, "plan", server.URL, "--timeout", "20s", "--request-timeout", "500ms")
			require.Equal(t, ExitUntested, code, stdout)
		})
	}
}

func endless(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/scim+json")
	block := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func hangUp(w http.ResponseWriter, text string) {
	conn, buffer, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = buffer.WriteString(text)
	_ = buffer.Flush()
	_ = conn.Close()
}

func TestRun_UntestedOnUnreachableTarget(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	code, stdout, _ := execute(t, "run", server.URL)
	require.Equal(t, ExitUntested, code)
	require.Contains(t, stdout, "cannot be reached")
	code, stdout, _ = execute(t, "run", "http://no-such-host.localhost.invalid", "--read-only")
	require.Equal(t, ExitUntested, code, stdout)
}

func TestRun_SuggestsToken(t *testing.T) {
	server := httptest.NewServer(handler(401, "text/plain", "no"))
	defer server.Close()
	code, stdout, _ := execute(t, "run", server.URL)
	require.Equal(t, ExitUntested, code)
	require.Contains(t, stdout, "pass a token")
}

// If a target stops responding after discovery, the run ends early. It does not wait for the timeout of each check.
const emptyList = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`

func TestRun_TimesOutOnHangingTarget(t *testing.T) {
	config := `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"]}`
	seen := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen++; seen > 5 {
			_, _ = io.Copy(io.Discard, r.Body) // the server detects that a client has disconnected only after it has read the body
			<-r.Context().Done()
			return
		}
		answer := emptyList
		if r.URL.Path == "/ServiceProviderConfig" {
			answer = config
		}
		handler(200, "application/scim+json", answer)(w, r)
	}))
	defer server.Close()
	start := time.Now()
	code, stdout, _ := execute(t, "run", server.URL, "--timeout", "2s", "--request-timeout", "10s")
	require.Equal(t, ExitUntested, code, stdout)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "The time limit of 2s (--timeout) is used up")
}

func TestArguments_UsageErrors(t *testing.T) {
	dir := t.TempDir()
	noCertificate := filepath.Join(dir, "no.pem")
	require.NoError(t, os.WriteFile(noCertificate, []byte("hello"), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown command":       {[]string{"test"}, "unexpected argument"},
		"no URL":                   {[]string{"run"}, "no base URL is given"},
		"an unknown flag":          {[]string{"run", "http://localhost", "--fast"}, "unknown flag"},
		"a word that is not a URL": {[]string{"run", "localhost"}, "not an absolute http or https URL"},
		"a URL with a query":       {[]string{"run", "http://localhost?x=1"}, "query"},
		"an unknown check": {[]string{"run", "http://localhost", "--only", "filter.equal"},
			"unknown check, area, level, section or clause"},
		"an unknown area to skip": {[]string{"run", "http://localhost", "--skip", "filters"},
			"unknown check, area, level, section or clause"},
		"an unknown level":                   {[]string{"run", "http://localhost", "--level", "severe"}, "unknown level"},
		"nothing selected":                   {[]string{"run", "http://localhost", "--only", "auth", "--skip", "auth"}, "no check to run"},
		"writes without consent":             {[]string{"run", "https://scim.example.com/v2"}, "--yes-write"},
		"a header without colon":             {[]string{"run", "http://localhost", "--header", "X-Tenant"}, "--header"},
		"a missing CA file":                  {[]string{"run", "http://localhost", "--ca-file", filepath.Join(dir, "none.pem")}, "--ca-file"},
		"a CA file without a certificate":    {[]string{"run", "http://localhost", "--ca-file", noCertificate}, "no certificate"},
		"a JSON file in a missing directory": {[]string{"run", "http://localhost", "--json", filepath.Join(dir, "none", "r.json")}, "--json"},
		"a timeout of zero":                  {[]string{"run", "http://localhost", "--timeout", "0s"}, "--timeout"},
		"an invalid timeout":                 {[]string{"run", "http://localhost", "--timeout", "soon"}, "--timeout"},
		"no requests":                        {[]string{"run", "http://localhost", "--max-requests", "0"}, "--max-requests"},
		"an unknown format":                  {[]string{"run", "http://localhost", "--format", "xml"}, "--format"},
		"a command without its URL":          {[]string{"run"}, `Try "scim-conformance run --help".`},
		"an unknown clause":                  {[]string{"explain", "RFC9999-1"}, "no clause has this id"},
		"an unknown check to explain":        {[]string{"explain", "nothing.at-all"}, "unknown check, area, level, section or clause"},
		"a missing journal":                  {[]string{"cleanup", filepath.Join(dir, "none.journal")}, "journal"},
		"a token with a line break":          {[]string{"run", "http://localhost", "--token", "abc\n"}, "line break"},
		"a file that is not a journal":       {[]string{"cleanup", noCertificate}, "not a journal"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := execute(t, c.args...)
			require.Equal(t, ExitUsage, code, stdout+stderr)
			require.Contains(t, stderr, c.says)
		})
	}
}

func TestHelpAndVersion_ExitClean(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}, {"help", "run"}, {"run", "--help"}, {"--version"}, {"version"}} {
		code, stdout, _ := execute(t, args...)
		require.Zero(t, code)
		require.NotEmpty(t, stdout)
	}
}

// openDirectory is a conformant read-only service provider without users.
func openDirectory(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ServiceProviderConfig" {
		handler(404, "application/scim+json", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404"}`)(w, r)
		return
	}
	handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
		"patch":{"supported":false},"bulk":{"supported":false,"maxOperations":0,"maxPayloadSize":0},"filter":{"supported":false,"maxResults":0},
		"changePassword":{"supported":false},"sort":{"supported":false},"etag":{"supported":false},
		"authenticationSchemes":[{"type":"oauthbearertoken","name":"Bearer","description":"A token."}]}`)(w, r)
}

// TestCleanupCommand_RedactsSecrets checks the cleanup command that a run suggests: it names the journal and contains no secret.
func TestCleanupCommand_RedactsSecrets(t *testing.T) {
	tests := []struct {
		name string
		run  runCommand
		want string
	}{
		{"a plain path", runCommand{}, "scimwright conform cleanup /tmp/a.journal"},
		{"a token", runCommand{connection: connection{Token: "secret"}}, `scimwright conform cleanup /tmp/a.journal --token "$SCIM_TOKEN"`},
		{"a header without its value", runCommand{connection: connection{Header: []string{"X-Key: secret"}}},
			"scimwright conform cleanup /tmp/a.journal --header 'X-Key: ...'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.run.cleanup("scimwright conform", "/tmp/a.journal"))
		})
	}
	require.Equal(t, `'/tmp/it'\''s mine'`, quote("/tmp/it's mine"))
}

func TestRun_ExitCodes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(openDirectory))
	defer server.Close()
	code, stdout, _ := execute(t, "run", server.URL, "--only", "discovery.service-provider-config,discovery.limits")
	require.Equal(t, ExitClean, code, stdout)
	require.Contains(t, stdout, "Verdict: clean")

	code, stdout, _ = execute(t, "run", server.URL, "--only", "discovery")
	require.Equal(t, ExitFindings, code, stdout)
	require.Contains(t, stdout, "Verdict: findings")
	require.Contains(t, stdout, "curl ")

	code, stdout, _ = execute(t, "run", server.URL, "--only", "list")
	require.Equal(t, ExitUntested, code, stdout)
	require.Contains(t, stdout, "Every check was skipped")
}

func TestReports_StdoutMatchesFile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(openDirectory))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "report.json")
	code, stdout, _ := execute(t, "run", server.URL, "--only", "discovery.limits", "--json", file, "--format", "json", "--read-only")
	require.Zero(t, code)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, stdout, string(data))
	var d report.Document
	require.NoError(t, json.Unmarshal(data, &d))
	require.Equal(t, report.Format, d.Format)
	require.Equal(t, "discovery.limits", d.Checks[0].ID)
}

// TestAuthentication_SentAndRedacted checks that the command sends the token and the headers, and prints no token.
func TestAuthentication_SentAndRedacted(t *testing.T) {
	var authorization, tenant string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization, tenant = r.Header.Get("Authorization"), r.Header.Get("X-Tenant")
		openDirectory(w, r)
	}))
	defer server.Close()
	t.Setenv("SCIM_TOKEN", "from-the-environment")
	_, stdout, stderr := execute(t, "run", server.URL, "--only", "discovery", "--header", "X-Tenant: acme, inc: 7", "--format", "json")
	require.Equal(t, "Bearer from-the-environment", authorization)
	require.Equal(t, "acme, inc: 7", tenant)
	require.NotContains(t, stdout+stderr, "from-the-environment")
	_, _, _ = execute(t, "run", server.URL, "--only", "discovery.limits", "--token", "from-the-flag")
	require.Equal(t, "Bearer from-the-flag", authorization, "a flag overrides the environment")
}

func TestCAFile_Trusted(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(openDirectory))
	defer server.Close()
	code, stdout, _ := execute(t, "run", server.URL, "--only", "discovery.limits")
	require.Equal(t, ExitUntested, code)
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "certificate is not trusted")
	require.Contains(t, stdout, "--ca-file")
	require.NotContains(t, stdout, "base URL is right")
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	code, stdout, _ = execute(t, "run", server.URL, "--only", "discovery.limits", "--ca-file", file)
	require.Equal(t, ExitClean, code, stdout)
}

func TestRun_NamesCauseOfUntested(t *testing.T) {
	_, url := newRecordingTarget(t, "")
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	big := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { endless(w) }))
	defer big.Close()
	for says, args := range map[string][]string{
		"allow more requests":         {url, "--max-requests", "3"},
		"The target cannot be tested": {big.URL},
		"The credentials cannot be obtained": {url, "--oauth-token-url", dead.URL, "--oauth-client-id", "a", "--oauth-client-secret",
			"secret-of-the-client"},
	} {
		code, stdout, stderr := execute(t, append([]string{"run"}, args...)...)
		require.Equal(t, ExitUntested, code, stderr)
		text := strings.Join(strings.Fields(stdout), " ")
		require.Contains(t, text, says)
		require.NotContains(t, text, "cannot be reached")
	}
}

// TestPlan_SendsOnlyGET checks that plan lists the checks that would run, and sends only GET requests.
func TestPlan_SendsOnlyGET(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			panic(fmt.Sprint("a plan sent ", r.Method))
		}
		openDirectory(w, r)
	}))
	defer server.Close()
	code, stdout, _ := execute(t, "plan", server.URL)
	require.Zero(t, code)
	require.Contains(t, stdout, "run   discovery.service-provider-config")
	require.Contains(t, stdout, "the target does not serve users")
	require.Regexp(t, `\d+ of \d+ checks apply`, stdout)
}

func TestListAndExplain(t *testing.T) {
	code, stdout, _ := execute(t, "list", "--only", "auth", "--level", "must")
	require.Zero(t, code)
	require.Contains(t, stdout, "auth.www-authenticate")
	require.NotContains(t, stdout, "auth.wrong-token", "which is a should")
	code, stdout, _ = execute(t, "explain", "patch.atomic")
	require.Zero(t, code)
	for _, part := range []string{"RFC7644-3.5.2-28", "Why it matters", "How to fix it", "patch.supported"} {
		require.Contains(t, stdout, part)
	}
	code, stdout, _ = execute(t, "explain", "rfc7644-3.5.2-28")
	require.Zero(t, code)
	require.Contains(t, stdout, "patch.atomic")
}

func TestRun_UntestedOnInterrupt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(openDirectory))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	require.Equal(t, ExitUntested, Run(ctx, "scim-conformance", []string{"run", server.URL}, &out, &errOut, os.LookupEnv), out.String())
}
