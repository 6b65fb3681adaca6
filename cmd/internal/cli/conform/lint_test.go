package conform

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	goodUser  = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann"}`
	wrongUser = "{\"schemas\":[\"urn:ietf:params:scim:schemas:core:2.0:User\"],\n \"userName\":\"ann\", \"active\":\"True\", " +
		"\"password\":[\"tops3cret\"]}"
)

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLint_ReportsFindings(t *testing.T) {
	dir := t.TempDir()
	good, wrong := writeFile(t, dir, "good.json", goodUser), writeFile(t, dir, "wrong.json", wrongUser)
	code, stdout, stderr := execute(t, "lint", good)
	require.Equal(t, ExitClean, code, stdout+stderr)
	require.Contains(t, stdout, "1 document: 0 failed")

	code, stdout, _ = execute(t, "lint", good, wrong)
	require.Equal(t, ExitFindings, code)
	for _, want := range []string{wrong + ":2:29: FAIL resource.boolean RFC7643-2.3.2-01", "$.active", `got   "True"`,
		"fix   Write true or false", "2 documents: 2 failed"} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout, "tops3cret")
}

func TestLint_PrintsJSON(t *testing.T) {
	wrong := writeFile(t, t.TempDir(), "wrong.json", wrongUser)
	code, stdout, _ := execute(t, "lint", "--json", wrong)
	require.Equal(t, ExitFindings, code)
	var got struct {
		Lint      int
		Documents []struct {
			File, Kind string
			Findings   []struct {
				Outcome, Rule, Clause, Path string
				Line                        int
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, 1, got.Lint)
	require.Equal(t, "User", got.Documents[0].Kind)
	require.Equal(t, "resource.boolean", got.Documents[0].Findings[0].Rule)
	require.NotEmpty(t, got.Documents[0].Findings[0].Clause)
	require.Equal(t, 2, got.Documents[0].Findings[0].Line)
}

func TestLint_ReadsDirectoriesAndStdin(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a/b.json", goodUser)
	writeFile(t, dir, "c.JSON", wrongUser)
	writeFile(t, dir, "notes.txt", "no document")
	code, stdout, _ := execute(t, "lint", dir)
	require.Equal(t, ExitFindings, code)
	require.Contains(t, stdout, "2 documents")

	code, _, stderr := execute(t, "lint", t.TempDir())
	require.Equal(t, ExitUntested, code)
	require.Contains(t, stderr, "No document")

	var out bytes.Buffer
	in := &invocation{ctx: t.Context(), stdin: strings.NewReader(wrongUser), stdout: &out, stderr: &out}
	require.Equal(t, exitCode(ExitFindings), (&lintCommand{Files: []string{"-"}, From: "either"}).Run(in))
	require.Contains(t, out.String(), "-:2:29: FAIL")
}

func TestLint_CustomSchemasAndSides(t *testing.T) {
	dir := t.TempDir()
	schema := writeFile(t, dir, "thing.schema",
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Schema"],"id":"urn:example:Thing","name":"Thing","attributes":[{"name":"serial",`+
			`"type":"string","multiValued":false,"required":true}]}`)
	thing := writeFile(t, dir, "thing.json", `{"schemas":["urn:example:Thing"],"id":"1"}`)
	code, _, _ := execute(t, "lint", thing)
	require.Equal(t, ExitClean, code, "an unknown schema does not fail")
	code, stdout, _ := execute(t, "lint", "--schema", schema, thing)
	require.Equal(t, ExitFindings, code)
	require.Contains(t, stdout, "resource.required")
	code, _, _ = execute(t, "lint", "--schema", schema, "--partial", thing)
	require.Equal(t, ExitClean, code)

	user := writeFile(t, dir, "user.json", goodUser)
	code, stdout, _ = execute(t, "lint", "--from", "server", user)
	require.Equal(t, ExitFindings, code)
	require.Contains(t, stdout, "resource.id")
	code, stdout, _ = execute(t, "lint", "--as", "Group", user)
	require.Equal(t, ExitFindings, code)
	require.Contains(t, stdout, "schemas.base")
}

func TestLint_RejectsInvalidArguments(t *testing.T) {
	dir := t.TempDir()
	user := writeFile(t, dir, "user.json", goodUser)
	for _, args := range [][]string{
		{"lint"}, {"lint", filepath.Join(dir, "none.json")}, {"lint", "--as", "Person", user}, {"lint", "--schema", user, user},
		{"lint", "--schema", filepath.Join(dir, "none.json"), user}, {"lint", "--from", "me", user},
	} {
		code, _, stderr := execute(t, args...)
		require.Equal(t, ExitUsage, code, "%v: %s", args, stderr)
	}
}

func TestLint_IgnoresRunConfiguration(t *testing.T) {
	dir := t.TempDir()
	config := writeFile(t, dir, "c.yaml", "json: report.json\nrate: 5\n")
	code, stdout, stderr := execute(t, "--config", config, "lint", writeFile(t, dir, "user.json", goodUser))
	require.Equal(t, ExitClean, code, stdout+stderr)
	require.Contains(t, stdout, "1 document:")
	code, _, stderr = execute(t, "--config", writeFile(t, dir, "d.yaml", "read-only: maybe\n"), "list")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, stderr, "true or false")
}
