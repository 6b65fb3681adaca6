package conform

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/report"
)

// recordingTarget is a read-only target that records requests, and requires credentials if accept is set.
type recordingTarget struct {
	mu     sync.Mutex
	heads  []http.Header
	accept string // the accepted Authorization header
}

func (d *recordingTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.heads = append(d.heads, r.Header.Clone())
	d.mu.Unlock()
	switch {
	case r.URL.Path == "/token":
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		if id+":"+secret != "client:s3cret-of-the-client" || r.Form.Get("scope") != "scim read" {
			handler(401, "application/json", `{"error":"invalid_client"}`)(w, r)
			return
		}
		handler(200, "application/json", `{"access_token":"fetched-token-1906","token_type":"bearer","expires_in":3600}`)(w, r)
	case d.accept != "" && r.Header.Get("Authorization") != d.accept:
		w.Header().Set("WWW-Authenticate", "Bearer")
		handler(401, "application/scim+json", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"401"}`)(w, r)
	case r.URL.Path == "/ServiceProviderConfig":
		handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"]}`)(w, r)
	default:
		handler(200, "application/scim+json", emptyList)(w, r)
	}
}

func (d *recordingTarget) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heads)
}

// one selects a single check that a recordingTarget passes, so that a run is clean if the connection works.
var one = []string{"--read-only", "--only", "read.ignores-unknown-parameters"}

func runOne(t *testing.T, url string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return execute(t, append(append([]string{"run", url}, one...), args...)...)
}

func newRecordingTarget(t *testing.T, accept string) (*recordingTarget, string) {
	t.Helper()
	d := &recordingTarget{accept: accept}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return d, server.URL
}

func TestAuthentication_EveryMethod(t *testing.T) {
	for name, tt := range map[string]struct {
		accept string
		args   []string
	}{
		"a bearer token": {"Bearer token-1906", []string{"--token", "token-1906"}},
		"basic":          {"Basic Z3JhY2U6aG9wcGVyOjE5MDY=", []string{"--basic", "grace:hopper:1906"}},
		"a header":       {"SSWS abc-1906", []string{"--header", "Authorization: SSWS abc-1906"}},
		"OAuth credentials": {"Bearer fetched-token-1906",
			[]string{"--oauth-token-url", "URL/token", "--oauth-client-id", "client", "--oauth-client-secret", "s3cret-of-the-client",
				"--oauth-scope", "scim,read"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := newRecordingTarget(t, tt.accept)
			args := strings.Split(strings.ReplaceAll(strings.Join(tt.args, "\x00"), "URL", url), "\x00")
			code, stdout, stderr := runOne(t, url, args...)
			require.Equal(t, ExitClean, code, stdout+stderr)
			code, stdout, _ = runOne(t, url)
			require.Equal(t, ExitUntested, code)
			require.Contains(t, stdout, "requires credentials")
		})
	}
}

func TestAuthentication_WrongClientSecret(t *testing.T) {
	_, url := newRecordingTarget(t, "Bearer fetched-token-1906")
	code, stdout, stderr := runOne(t, url, "--oauth-token-url", url+"/token", "--oauth-client-id", "client", "--oauth-client-secret",
		"wrong-secret-1906")
	require.Equal(t, ExitUntested, code, stderr)
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "rejects the client credentials: invalid_client")
	require.NotContains(t, stdout+stderr, "wrong-secret-1906")
}

// pair writes a new self-signed certificate and its key to one file.
func pair(t *testing.T) (file string, certificate *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return write(t, "client.pem", string(text)), certificate
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAuthentication_ClientCertificate(t *testing.T) {
	file, certificate := pair(t)
	server := httptest.NewUnstartedServer(&recordingTarget{})
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	code, stdout, stderr := runOne(t, server.URL, "--ca-file", ca, "--client-cert", file)
	require.Equal(t, ExitClean, code, stdout+stderr)
	code, _, _ = runOne(t, server.URL, "--ca-file", ca)
	require.Equal(t, ExitUntested, code)
	code, _, stderr = runOne(t, server.URL, "--client-cert", ca)
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "--client-cert")
}

// TestOptions_Precedence checks that an argument overrides the environment, and the environment overrides the file.
func TestOptions_Precedence(t *testing.T) {
	for name, tt := range map[string]struct {
		file, environment, argument string
		want                        string
	}{
		"nothing":                    {"", "", "", ""},
		"only the file":              {"from-file", "", "", "Bearer from-file"},
		"the environment":            {"from-file", "from-environment", "", "Bearer from-environment"},
		"the command line":           {"from-file", "from-environment", "from-argument", "Bearer from-argument"},
		"the argument overrides all": {"from-file", "", "from-argument", "Bearer from-argument"},
	} {
		t.Run(name, func(t *testing.T) {
			d, url := newRecordingTarget(t, "")
			text := "url: " + url +
				"\nread-only: true\nonly: [read.ignores-unknown-parameters]\nheader:\n  - 'X-One: 1'\n  - 'X-Two: 2'\nrequest-timeout: 9s\n"
			if tt.file != "" {
				text += "token: " + tt.file + "\n"
			}
			args := []string{"run", "--config", write(t, "suite.yaml", text)}
			if tt.environment != "" {
				t.Setenv("SCIM_TOKEN", tt.environment)
			}
			if tt.argument != "" {
				args = append(args, "--token", tt.argument)
			}
			code, stdout, stderr := execute(t, args...)
			require.Equal(t, ExitClean, code, stdout+stderr)
			require.Equal(t, tt.want, d.heads[0].Get("Authorization"))
			require.Equal(t, "12", d.heads[0].Get("X-One")+d.heads[0].Get("X-Two"))
		})
	}
}

func TestOptions_ReadFromEnvironment(t *testing.T) {
	d, url := newRecordingTarget(t, "")
	t.Setenv("SCIM_URL", url)
	t.Setenv("SCIM_CONFORMANCE_ONLY", "read.ignores-unknown-parameters")
	t.Setenv("SCIM_CONFORMANCE_READ_ONLY", "true")
	t.Setenv("SCIM_CONFORMANCE_HEADER", "X-One: 1\nX-Two: 2")
	t.Setenv("SCIM_CONFORMANCE_FORMAT", "shields")
	code, stdout, stderr := execute(t, "run")
	require.Equal(t, ExitClean, code, stdout+stderr)
	require.Contains(t, stdout, `"message":"1 passed"`)
	require.Equal(t, "12", d.heads[0].Get("X-One")+d.heads[0].Get("X-Two"))
}

func TestOptions_VariablesPerCommand(t *testing.T) {
	for name, value := range map[string]string{"SCIM_CONFORMANCE_VERSION": "1", "SCIM_CONFORMANCE_PROFILE": "okta",
		"SCIM_CONFORMANCE_JSON": "report.json", "SCIM_CONFORMANCE_TOKEN": "x"} {
		t.Setenv(name, value)
	}
	code, stdout, stderr := execute(t, "lint",
		write(t, "user.json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann"}`))
	require.Equal(t, ExitClean, code, stdout+stderr)
	require.Contains(t, stdout, "1 document: 0 failed", "a boolean value, not a version")
	code, _, stderr = execute(t, "mock", "--scenario", "none such")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "none such", "the error is not about a profile")
	t.Setenv("SCIM_CONFORMANCE_MOCK_PROFILE", "nobody")
	code, _, stderr = execute(t, "mock")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "nobody")
}

func TestAuthentication_SourcePrecedence(t *testing.T) {
	const basic = "Basic YTpi"
	for name, tt := range map[string]struct {
		environment, file string
		args              []string
		want              string
	}{
		"basic on the command line":                    {"x", "", []string{"--basic", "a:b"}, basic},
		"a header on the command line":                 {"x", "token: y", []string{"--header", "Authorization: SSWS 1"}, "SSWS 1"},
		"a token on the command line, basic in a file": {"", "basic: 'a:b'", []string{"--token", "z"}, "Bearer z"},
		"a token in the environment, a header in a file": {
			"x", "header: ['Authorization: SSWS 1', 'X-One: 1']", nil, "Bearer x",
		},
		"an empty variable is ignored": {"", "token: y", nil, "Bearer y"},
	} {
		t.Run(name, func(t *testing.T) {
			d, url := newRecordingTarget(t, "")
			t.Setenv("SCIM_TOKEN", tt.environment)
			args := tt.args
			if tt.file != "" {
				args = append([]string{"--config", write(t, "suite.yaml", tt.file)}, args...)
			}
			code, stdout, stderr := runOne(t, url, args...)
			require.Equal(t, ExitClean, code, stdout+stderr)
			require.Equal(t, tt.want, d.heads[0].Get("Authorization"))
		})
	}
	_, url := newRecordingTarget(t, "")
	code, _, stderr := runOne(t, url, "--basic", "a:b", "--token", "z")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "more than one kind")
}

// TestJournal_UnwritableRejectedFirst checks that the command sends no request if it cannot write the journal.
func TestJournal_UnwritableRejectedFirst(t *testing.T) {
	d, url := newRecordingTarget(t, "")
	for name, path := range map[string]string{
		"an existing file":    write(t, "old.journal", "mine"),
		"a missing directory": filepath.Join(t.TempDir(), "none", "new.journal"),
	} {
		code, stdout, stderr := execute(t, "run", url, "--journal", path)
		require.Equal(t, ExitUsage, code, name)
		require.Empty(t, stdout, name)
		require.Equal(t, 1, strings.Count(stderr, "journal cannot be written"), stderr)
	}
	require.Zero(t, d.asked())
}

func TestProfiles_AllIncludesRFC(t *testing.T) {
	_, all, _ := execute(t, "list", "--profile", "all")
	_, listed, _ := execute(t, "list", "--profile", "rfc,okta")
	for _, id := range []string{"filter.eq", "okta."} {
		require.Contains(t, all, id)
		require.Contains(t, listed, id)
	}
}

// TestProfiles_ClientAloneSelectsItsChecks checks that a profile without rfc selects the flows of its client and the checks on which the
// client depends.
func TestProfiles_ClientAloneSelectsItsChecks(t *testing.T) {
	_, okta, _ := execute(t, "list", "--profile", "okta")
	_, google, _ := execute(t, "list", "--profile", "google")
	for _, id := range []string{"okta.catalog-deactivate ", "filter.eq ", "patch.deactivate ", "list.walk "} {
		require.Contains(t, okta, id)
	}
	for _, id := range []string{"entra.", "bulk.", "sort.", "patch.op-ignores-case ", "projection."} {
		require.NotContains(t, okta, id)
	}
	require.NotContains(t, google, "patch.", "this client sends no PATCH")
	_, both, _ := execute(t, "list", "--profile", "google,okta")
	require.Contains(t, both, "patch.deactivate ")
	require.Contains(t, both, "google.suspend ")
	_, one, _ := execute(t, "list", "--profile", "okta", "--only", "filter.eq")
	require.NotContains(t, one, "patch.deactivate ")
}

func TestOutput_DashWritesStdout(t *testing.T) {
	t.Chdir(t.TempDir())
	_, url := newRecordingTarget(t, "")
	code, stdout, stderr := runOne(t, url, "--output", "shields=-", "--format", "none")
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, `"message":"1 passed"`)
	require.NoFileExists(t, "-")
}

func TestSelection_SuggestsAreasAndSections(t *testing.T) {
	for name, says := range map[string]string{"3.4.2": `did you mean "RFC7644-3.4.2"?`, "Filter": `did you mean "filter"?`} {
		code, _, stderr := execute(t, "list", "--only", name)
		require.Equal(t, ExitUsage, code)
		require.Contains(t, stderr, says)
	}
}

// TestSuggestions checks that the error of an unknown value has a known value that is similar to it.
func TestSuggestions(t *testing.T) {
	for args, says := range map[string]string{
		"list --only filter.eqq":                                              `"filter.eq"`,
		"list --only filterr":                                                 `"filter"`,
		"list --only replace-keeps-id":                                        `"patch.replace`,
		"list --level mustt":                                                  `"must"`,
		"explain filter.eqq":                                                  `"filter.eq"`,
		"run http://127.0.0.1:1 --profile entar":                              `"entra"`,
		"run http://127.0.0.1:1 --format jsn":                                 `"json"`,
		"run http://127.0.0.1:1 --read-only --output htm=x":                   `"html"`,
		"mock --quirk no-putt":                                                `"no-put"`,
		"mock --server entar":                                                 `"entra"`,
		"mock --scenario joinr-mover-leaver":                                  `"joiner-mover-leaver"`,
		"mock --contract catalogg":                                            `"catalog"`,
		"lint --from clint go.mod":                                            `"client"`,
		"lint --as Userr options_test.go":                                     `"User"`,
		"run http://127.0.0.1:1 --config " + write(t, "tokn.yaml", "tokn: x"): `"token"`,
	} {
		code, _, stderr := execute(t, strings.Fields(args)...)
		require.Equal(t, ExitUsage, code, args)
		require.Contains(t, stderr, "; did you mean "+says, args)
		require.NotContains(t, stderr, "%!", args)
	}
}

func TestExplain_OmitsEmptyLines(t *testing.T) {
	code, stdout, stderr := execute(t, "explain", "cope.links-on-conflict")
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "How to fix it")
	for _, line := range []string{"no client is known", "Conditions", "0 requests"} {
		require.NotContains(t, stdout, line)
	}
	_, stdout, _ = execute(t, "explain", "filter.eq")
	require.Contains(t, stdout, "Conditions of the check\n  resource.User: the target serves users\n")
	require.Contains(t, stdout, "Sends about")
	for _, check := range checks.All() {
		for _, n := range check.Needs {
			require.NotEmpty(t, needs[n], n)
		}
	}
}

// TestOptions_UsageErrors checks that the command rejects invalid options and files before it sends a request.
func TestOptions_UsageErrors(t *testing.T) {
	d, url := newRecordingTarget(t, "")
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"a missing configuration":              {[]string{"--config", "/no/such/file"}, "--config cannot be read"},
		"a configuration with an unknown flag": {[]string{"--config", write(t, "c.yaml", "tokn: x")}, `unknown flag "tokn"`},
		"a configuration with a flag twice": {[]string{"--config", write(t, "c.yaml", "token: x\ntoken: y")},
			"not a YAML or JSON object of flags"},
		"a configuration that is a list":   {[]string{"--config", write(t, "c.yaml", "- token")}, "not a YAML or JSON object of flags"},
		"a configuration with an object":   {[]string{"--config", write(t, "c.yaml", "token: {a: b}")}, "token: the value must be"},
		"a configuration with a bad value": {[]string{"--config", write(t, "c.yaml", "timeout: soon")}, "--timeout"},
		"two kinds of credentials":         {[]string{"--token", "abcdefgh", "--basic", "a:b"}, "more than one kind of credentials"},
		"basic without a colon":            {[]string{"--basic", "grace"}, "user:password"},
		"OAuth without a secret":           {[]string{"--oauth-token-url", url, "--oauth-client-id", "x"}, "--oauth-client-secret"},
		"OAuth without an endpoint":        {[]string{"--oauth-client-id", "x"}, "--oauth-token-url"},
		"a key without a certificate":      {[]string{"--client-key", "x"}, "--client-cert"},
		"an unknown profile":               {[]string{"--profile", "octa"}, `unknown profile "octa"`},
		"a check that no client needs":     {[]string{"--profile", "okta"}, "unknown check, area, level, section or clause"},
		"a step of a client flow":          {[]string{"--only", "okta.catalog-lookup"}, "use --profile okta"},
		"an unknown form":                  {[]string{"--output", "pdf=x.pdf"}, `unknown form "pdf"`},
		"a form without a file":            {[]string{"--output", "html"}, "FORM=FILE"},
		"a form in a missing directory":    {[]string{"--output", "html=/no/such/dir/x.html"}, "the directory /no/such/dir does not exist"},
		"a missing file of attributes":     {[]string{"--attributes", "/no/such/file"}, "--attributes cannot be read"},
		"attributes of an unknown type":    {[]string{"--attributes", write(t, "a.yaml", "Printer: {a: b}")}, "neither User nor Group"},
		"attributes with a user name": {[]string{"--attributes", write(t, "a.yaml", "User: {username: fixed}")},
			"the attribute username of User cannot be configured"},
		"invalid attributes":        {[]string{"--attributes", write(t, "a.yaml", "User: staff")}, "does not map names"},
		"a missing file of waivers": {[]string{"--waivers", "/no/such/file"}, "the waivers cannot be read"},
		"waivers of an unknown check": {[]string{"--waivers", write(t, "w.yaml", "waivers: [{check: a.b, reason: c}]")},
			"unknown check"},
		"strict without waivers":    {[]string{"--waivers-strict"}, "--waivers-strict requires --waivers"},
		"a negative rate":           {[]string{"--rate=-1"}, "--rate"},
		"no concurrency":            {[]string{"--concurrency", "0"}, "--concurrency"},
		"an address for a domain":   {[]string{"--user-domain", "a@b"}, "--user-domain"},
		"a section without checks":  {[]string{"--skip", "RFC7644-99"}, "unknown check, area, level, section or clause"},
		"a header without its name": {[]string{"--header", ": x"}, "--header"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runOne(t, url, tt.args...)
			require.Equal(t, ExitUsage, code, stdout)
			require.Contains(t, stderr, tt.says)
			require.Empty(t, stdout)
		})
	}
	require.Zero(t, d.asked(), "nothing was sent")
}

func TestReports_AllWritten(t *testing.T) {
	_, url := newRecordingTarget(t, "")
	dir := t.TempDir()
	args := []string{"--json", filepath.Join(dir, "json2")}
	for _, w := range report.Writers() {
		args = append(args, "--output", w.Name+"="+filepath.Join(dir, w.Name))
	}
	code, stdout, stderr := runOne(t, url, args...)
	require.Equal(t, ExitClean, code, stdout+stderr)
	for _, w := range report.Writers() {
		data, err := os.ReadFile(filepath.Join(dir, w.Name))
		require.NoError(t, err)
		require.NotEmpty(t, data, w.Name)
	}
	data, err := os.ReadFile(filepath.Join(dir, "har"))
	require.NoError(t, err)
	require.Contains(t, string(data), "/ServiceProviderConfig", "the archive also has discovery")

	code, stdout, _ = execute(t, "schema")
	require.Zero(t, code)
	require.True(t, json.Valid([]byte(stdout)))
}

// TestProgress_OnlyOnTerminal checks that output to a pipe has no progress bar, and that -q prints one line.
func TestProgress_OnlyOnTerminal(t *testing.T) {
	_, url := newRecordingTarget(t, "")
	_, stdout, stderr := runOne(t, url)
	require.NotContains(t, stdout+stderr, "\x1b", "a pipe has neither colors nor a progress bar")
	code, stdout, stderr := runOne(t, url, "-q")
	require.Equal(t, ExitClean, code)
	require.Empty(t, stderr)
	require.Equal(t, url+": clean, 0 failed, 0 warned\n", stdout)
	_, closed := newRecordingTarget(t, "Bearer another")
	code, stdout, stderr = runOne(t, closed, "-q", "--token", "wrong")
	require.Equal(t, ExitUntested, code)
	require.Equal(t, closed+": untested, 0 failed, 0 warned\n", stdout)
	require.NotEmpty(t, stderr, "the reason")
	code, stdout, _ = runOne(t, url, "--format", "none")
	require.Equal(t, ExitClean, code)
	require.Empty(t, stdout)
}

func TestWaivers_Applied(t *testing.T) {
	_, url := newRecordingTarget(t, "") // its ServiceProviderConfig lacks required attributes
	run := func(args ...string) (int, string) {
		code, stdout, stderr := execute(t, append([]string{"run", url, "--read-only", "--only", "discovery.service-provider-config"}, args...)...)
		return code, stdout + stderr
	}
	code, out := run()
	require.Equal(t, ExitFindings, code, out)
	waive := func(expires string) string {
		return write(t, "w.yaml",
			fmt.Sprintf("waivers:\n  - check: discovery.service-provider-config\n    reason: a proxy does it\n    expires: %s\n", expires))
	}
	code, out = run("--waivers", waive("2999-01-01"))
	require.Equal(t, ExitClean, code, out)
	require.Contains(t, out, "a proxy does it")
	code, out = run("--waivers", waive("2020-01-01"))
	require.Equal(t, ExitFindings, code)
	require.Contains(t, out, "expired on 2020-01-01")
}

// TestDiff_ClassifiesFindings checks that diff groups findings into new, fixed, no longer observed, and remaining.
func TestDiff_ClassifiesFindings(t *testing.T) {
	doc := func(outcomes ...string) string {
		var checks []string
		for _, o := range outcomes {
			id, outcome, _ := strings.Cut(o, "=")
			checks = append(checks, fmt.Sprintf(`{"id":%q,"title":"about %s","outcome":%q}`, id, id, outcome))
		}
		return write(t, "r.json", `{"format":1,"tool":"scim-conformance","checks":[`+strings.Join(checks, ",")+`]}`)
	}
	before := doc("a.still=fail", "a.fixed=warn", "a.skipped=fail", "a.gone=warn", "a.worse=warn", "a.better=fail", "a.new=pass",
		"a.fine=pass")
	after := doc("a.still=fail", "a.fixed=pass", "a.skipped=skip", "a.worse=fail", "a.better=warn", "a.new=warn", "a.fine=info",
		"a.added=fail")
	code, stdout, _ := execute(t, "diff", before, after)
	require.Equal(t, ExitFindings, code)
	var lines []string
	for line := range strings.Lines(stdout) {
		line, _, _ = strings.Cut(line, "): ")
		lines = append(lines, strings.TrimSpace(line))
	}
	require.Equal(t, []string{
		"new: 3", "a.worse (fail, was warn", "a.new (warn, was pass", "a.added (fail, was absent",
		"fixed: 1", "a.fixed (pass, was warn",
		"no longer observed: 2", "a.skipped (skip, was fail", "a.gone (absent, was warn", "the check was not part of the later run",
		"remaining: 2", "a.still (fail, was fail", "a.better (warn, was fail",
	}, lines)
	code, _, _ = execute(t, "diff", after, after)
	require.Equal(t, ExitClean, code, "remaining findings are not new")

	for _, bad := range []string{write(t, "x", "{}"), write(t, "x", `{"format":2,"tool":"scim-conformance"}`), write(t, "x", "no"),
		"/no/such/file"} {
		code, stdout, stderr := execute(t, "diff", before, bad)
		require.Equal(t, ExitUsage, code, stdout)
		require.NotEmpty(t, stderr)
	}
}

func TestSeed_ChosenAndReported(t *testing.T) {
	_, url := newRecordingTarget(t, "")
	seed := func(args ...string) uint64 {
		code, stdout, stderr := runOne(t, url, append(args, "--format", "json")...)
		require.Equal(t, ExitClean, code, stdout+stderr)
		var document report.Document
		require.NoError(t, json.Unmarshal([]byte(stdout), &document))
		return document.Seed
	}
	require.Equal(t, uint64(1), seed())
	require.Equal(t, uint64(4711), seed("--seed", "4711"))
	require.Equal(t, uint64(1)<<53-1, seed("--seed", "9007199254740991"))
	first, second := seed("--seed", "random"), seed("--seed", "random")
	require.NotZero(t, first)
	require.NotEqual(t, first, second, "two random seeds of 32 bits")

	_, stdout, _ := runOne(t, url, "--seed", "4711")
	require.Contains(t, stdout, "seed: 4711")
	for _, wrong := range [][]string{{"--seed", "0"}, {"--seed", "-1"}, {"--seed", "many"}, {"--seed", "9007199254740992"},
		{"--oracle-rounds", "0"}} {
		code, _, stderr := runOne(t, url, wrong...)
		require.Equal(t, ExitUsage, code)
		require.Contains(t, stderr, wrong[0])
	}
}
