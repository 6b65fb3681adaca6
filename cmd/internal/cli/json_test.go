package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// withoutJSON lists the commands that print no JSON, with the reasons.
var withoutJSON = map[string]string{
	"scimwright sandbox":          "a server; --ready-file writes its addresses as JSON",
	"scimwright serve engine":     "a server; --ready-file writes its addresses as JSON",
	"scimwright completion":       "a script for a shell",
	"scimwright man":              "a manual page",
	"scim-conformance completion": "a script for a shell",
	"scim-conformance man":        "a manual page",
}

// jsonArguments are the arguments of the commands after their names. The key of a command of the engine is "engine" if it is not listed.
func jsonArguments(t *testing.T, scim, api string) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	reports := t.TempDir()
	report := filepath.Join(reports, "report.json")
	recording := filepath.Join(dir, "recording.jsonl")
	// The reports for diff and matrix, and the recording for judge.
	code := conform.Run(t.Context(), "scim-conformance",
		[]string{"run", scim, "--token", "secret", "--read-only", "--quiet", "--json", report},
		new(bytes.Buffer), new(bytes.Buffer), func(string) (string, bool) { return "", false })
	require.Contains(t, []int{0, 1}, code)
	conform.Run(t.Context(), "scim-conformance", []string{"proxy", scim, "--for", "1ms", "--quiet", "--record", recording},
		new(bytes.Buffer), new(bytes.Buffer), func(string) (string, bool) { return "", false })
	journal := file("run.journal", `{"journal":1,"target":"`+scim+`","run":"zz-none"}`+"\n")
	target := []string{scim, "--token", "secret"}
	engine := []string{"--json", "--url", api + "/engine/v1", "--api-token", "t"}
	with := func(args ...string) []string { return append(args, engine...) }
	return map[string][]string{
		"scimwright serve scim":   {"--list-quirks", "--json"},
		"scimwright bench":        append([]string{"--users", "100", "--duration", "1ms", "--yes-write", "--json=-"}, target...),
		"scimwright openapi":      {},
		"scimwright doctor":       {"--json", "--listen", "127.0.0.1:0", "--data", dir},
		"scimwright console link": {"--json", "--url", api, "--api-token", "t"},
		"scimwright token create": {"--json", "--url", api, "--api-token", "t"},
		"scimwright version":      {"--json"},

		"scimwright engine apps": with(), "scimwright engine fleet": with(), "scimwright engine jobs": with(), "scimwright engine audit": with(),
		"scimwright engine reseal":          with(),
		"scimwright engine retry":           with("CRM", "--all"),
		"scimwright engine approve":         with("CRM", "0"),
		"scimwright engine plans":           with("CRM"),
		"scimwright engine apply":           with("CRM", "p1"),
		"scimwright engine discard":         with("CRM", "p1"),
		"scimwright engine links import":    with("CRM", file("links.jsonl", "")),
		"scimwright engine token create":    with("--scope", "read"),
		"scimwright engine token list":      with(),
		"scimwright engine token revoke":    with("t1"),
		"scimwright engine webhook list":    with(),
		"scimwright engine webhook create":  with("https://example.com/hook"),
		"scimwright engine webhook show":    with("w1"),
		"scimwright engine webhook update":  with("w1", "--all-types"),
		"scimwright engine webhook delete":  with("w1"),
		"scimwright engine webhook enable":  with("w1"),
		"scimwright engine webhook rotate":  with("w1"),
		"scimwright engine webhook letters": with("w1"),
		"scimwright engine webhook replay":  with("w1", "--all"),
		"scimwright engine dismiss":         with("CRM", "ann"), "scimwright engine trace": with("CRM", "ann"),
		"scimwright engine explain": with("CRM", "ann"), "scimwright engine verify": with("CRM", "ann"),
		"scimwright engine plan":   with("CRM", "--all"),
		"scimwright engine import": with("CRM", "--limit", "0"),
		"engine":                   with("CRM"),

		"scim-conformance run":     append([]string{"--read-only", "--json=-"}, target...),
		"scim-conformance plan":    append([]string{"--json"}, target...),
		"scim-conformance list":    {"--json"},
		"scim-conformance explain": {"--json", "filter"},
		"scim-conformance diff":    {"--json", report, report},
		"scim-conformance matrix":  {"--format", "json", reports},
		"scim-conformance lint":    {"--json", file("user.json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"a"}`)},
		"scim-conformance proxy":   {scim, "--for", "1ms", "--json=-"},
		"scim-conformance judge":   {recording, "--json=-"},
		"scim-conformance mock":    {"--for", "1ms", "--json=-"},
		"scim-conformance cleanup": {"--json", journal, "--token", "secret"},
		"scim-conformance schema":  {},
		"scim-conformance version": {"--json"},
	}
}

// TestCommands_JSON checks that each command of both programs prints valid JSON and nothing else on standard output, or has a reason in
// withoutJSON. The API of the engine is a server whose responses are almost empty: the commands do not change them.
func TestCommands_JSON(t *testing.T) {
	h, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens("secret")})
	require.NoError(t, err)
	scim := httptest.NewServer(h)
	t.Cleanup(scim.Close)
	response := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/apps") {
			_, _ = w.Write([]byte(`[{"id":"a1","label":"CRM"}]`))
			return
		}
		_, _ = w.Write([]byte(response))
	}))
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); api.Close() })
	arguments := jsonArguments(t, scim.URL, api.URL)
	none := func(string) (string, bool) { return "", false }
	programs := map[string]func(args []string, stdout, stderr *bytes.Buffer) int{
		"scimwright": func(args []string, stdout, stderr *bytes.Buffer) int {
			return cli.Run(t.Context(), args, stdout, stderr, none)
		},
		"scim-conformance": func(args []string, stdout, stderr *bytes.Buffer) int {
			return conform.Run(t.Context(), "scim-conformance", args, stdout, stderr, none)
		},
	}
	for program, call := range programs {
		var overview, stderr bytes.Buffer
		require.Zero(t, call([]string{"--help"}, &overview, &stderr))
		for _, command := range commandsIn(overview.String()) {
			name := program + " " + command
			if name == "scimwright conform" || withoutJSON[name] != "" {
				continue // conform is the other program
			}
			t.Run(name, func(t *testing.T) {
				args, listed := arguments[name]
				if !listed && strings.HasPrefix(command, "engine ") {
					args, listed = arguments["engine"]
				}
				require.True(t, listed, "add arguments with which the command prints JSON, or a reason to withoutJSON")
				var problems []string
				for _, response = range []string{"", `{"id":"x","jobId":"j1","status":"done"}`, "[]"} {
					var stdout, stderr bytes.Buffer
					code := call(append(strings.Fields(command), args...), &stdout, &stderr)
					var out any
					decoder := json.NewDecoder(&stdout)
					decodeErr := decoder.Decode(&out)
					if code != cli.ExitUsage && decodeErr == nil && !decoder.More() {
						return
					}
					problems = append(problems, strings.TrimSpace(stderr.String()))
				}
				t.Errorf("no JSON, or more than one value: %q", problems)
			})
		}
	}
}
