package sandbox_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// Two third-party validators, one in Python and one in Node, accept the OpenAPI document of a sandbox.
func TestOpenAPI_ExternallyValid(t *testing.T) {
	dir := installed(t)
	file := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(file, servedAt(t, "/openapi.json"), 0o600))
	for name, validator := range map[string]struct{ install, command []string }{
		"openapi-spec-validator": {
			[]string{"sh", "-c",
				"test -x venv/bin/openapi-spec-validator || { python3 -m venv venv && venv/bin/pip install --quiet openapi-spec-validator==0.9.0; }"},
			[]string{filepath.Join(dir, "venv", "bin", "openapi-spec-validator"), file},
		},
		"redocly": {
			[]string{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "redocly", "@redocly/cli@2.77.0"},
			[]string{filepath.Join(dir, "redocly", "node_modules", ".bin", "redocly"), "lint", "--extends=minimal", "--format=summary", file},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runIn(t, dir, validator.install[0], validator.install[1:]...)
			require.NoError(t, err, "%s", out)
			out, err = runIn(t, dir, validator.command[0], validator.command[1:]...)
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
		})
	}
}

// servedAt returns the response of a sandbox at a path.
func servedAt(t *testing.T, path string) []byte {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Empty: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	res, err := http.Get(s.Ready().BaseURL + path)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return data
}
