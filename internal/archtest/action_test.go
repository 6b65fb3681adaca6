package archtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// step runs a script of the action as the runner does, and returns its output, the outputs of the step, and the summary of the job.
func step(t *testing.T, script string, fails bool, env ...string) (output, outputs, summary string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	path, err := filepath.Abs(filepath.Join(root, ".github", "action", script))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "bash", path)
	cmd.Dir = dir
	outputFile, summaryFile := file("outputs"), file("summary")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + outputFile, "GITHUB_STEP_SUMMARY=" + summaryFile}, env...)
	out, err := cmd.CombinedOutput()
	require.Equal(t, fails, err != nil, "%s", out)
	read := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	return string(out), read(outputFile), read(summaryFile)
}

// TestAction_Run checks the annotations, the outputs and the summary for each exit code of the suite.
func TestAction_Run(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	require.NoError(t, os.WriteFile(tool, []byte(`#!/usr/bin/env bash
for arg in "$@"; do case "$arg" in --output=markdown=*) md="${arg#*markdown=}" ;; esac; done
[ "$CODE" = 2 ] || printf '# Report\n\n> Not reached\n' >"$md"
printf '%s\n' "100% wrong" "Try this." >&2
exit "$CODE"
`), 0o700)) //nolint:gosec // a program
	const report = "# Report\n\n> Not reached\n"
	for code, verdict := range map[int]string{0: "clean", 1: "findings", 2: "untested", 3: "untested"} {
		t.Run(fmt.Sprintf("exit code %d", code), func(t *testing.T) {
			env := []string{fmt.Sprintf("CODE=%d", code), "TOOL=" + tool, "REPORTS=" + filepath.Join(t.TempDir(), "reports")}
			for _, name := range []string{"SCIM_TOKEN", "YES_WRITE", "PROFILE", "ONLY", "SKIP", "LEVEL", "ATTRIBUTES", "WAIVERS", "ARGS"} {
				env = append(env, name+"=")
			}
			output, outputs, summary := step(t, "run", false, env...)
			require.Contains(t, outputs, fmt.Sprintf("verdict=%s\nexit-code=%d\n", verdict, code))
			switch code {
			case 2:
				require.Contains(t, output, "::error title=The inputs of the action are not valid::100%25 wrong%0ATry this.\n")
				require.Contains(t, summary, "## The inputs of the action are not valid\n\n````text\n100% wrong\nTry this.\n````\n")
			case 3:
				require.Contains(t, output, "::error title=The SCIM server could not be tested::Not reached\n")
				require.Equal(t, report, summary)
			default:
				require.NotContains(t, output, "::error")
				require.Equal(t, report, summary)
			}
		})
	}
}

// TestAction_Download checks that the action uses a released binary only for the tag of a release, and only with the right checksum.
func TestAction_Download(t *testing.T) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	const program = "#!/bin/sh\necho released\n"
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "scim-conformance", Mode: 0o755, Size: int64(len(program))}))
	_, err := files.Write([]byte(program))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, compressed.Close())
	sum := sha256.Sum256(archive.Bytes())
	checksums := fmt.Sprintf("%x  scim-conformance_linux_arm64.tar.gz\n", sum)
	served := map[string]string{
		"/v1.2.3/checksums.txt": checksums, "/v1.2.3/scim-conformance_linux_arm64.tar.gz": archive.String(),
		"/v1.2.4/checksums.txt": checksums, "/v1.2.4/scim-conformance_linux_arm64.tar.gz": "changed",
	}
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(releases.Close)
	for ref, want := range map[string]struct {
		found, fails bool
		output       string
	}{
		"v1.2.3": {found: true}, "main": {}, "v1": {},
		"v9.9.9": {output: "::notice::" + releases.URL + "/v9.9.9/checksums.txt cannot be downloaded"},
		"v1.2.4": {fails: true, output: "::error::the checksum of scim-conformance_linux_arm64.tar.gz is "},
	} {
		t.Run(ref, func(t *testing.T) {
			dir := t.TempDir()
			tool := filepath.Join(dir, "tool")
			output, outputs, _ := step(t, "download", want.fails, "REF="+ref, "REPOSITORY=x/y", "RELEASES="+releases.URL, "RUNNER_OS=Linux",
				"RUNNER_ARCH=ARM64", "TOOL="+tool, "DOWNLOADS="+filepath.Join(dir, "d"))
			require.Contains(t, output, want.output)
			require.Equal(t, want.found, outputs == "found=true\n", outputs)
			if want.found {
				content, err := os.ReadFile(tool)
				require.NoError(t, err)
				require.Equal(t, program, string(content))
			}
		})
	}
}
