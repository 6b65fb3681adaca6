package conform

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatrix_FromReports checks the command on a report that run has written.
func TestMatrix_FromReports(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(openDirectory))
	defer server.Close()
	code, _, stderr := execute(t, "run", server.URL, "--read-only", "--quiet", "--output", "json="+filepath.Join(dir, "open.json"))
	require.Contains(t, []int{ExitClean, ExitFindings}, code, stderr)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "open.product.yaml"), []byte("name: Open Directory\nversion: 1.0"), 0o600))

	code, stdout, stderr := execute(t, "matrix", dir)
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "## Open Directory 1.0")
	require.Contains(t, stdout, "| discovery |")

	described, err := os.ReadFile(example(t, "product"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "open.product.yaml"), described, 0o600))
	code, stdout, stderr = execute(t, "matrix", dir)
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "## &#64;acme/scim-server 2.1.0")

	html, data := filepath.Join(dir, "page.html"), filepath.Join(t.TempDir(), "matrix.json")
	code, stdout, stderr = execute(t, "matrix", dir, "-o", "html="+html, "--output", "json="+data)
	require.Equal(t, ExitClean, code, stderr)
	require.Empty(t, stdout)
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	require.Contains(t, string(page), "<title>SCIM conformance by product</title>")

	code, stdout, stderr = execute(t, "matrix", data, "--format", "html")
	require.Equal(t, ExitClean, code, stderr)
	require.Equal(t, string(page), stdout, "the page from the JSON form")

	for want, args := range map[string][]string{
		"does not exist: give a directory": {filepath.Join(dir, "absent")},
		"contains no JSON report":          {t.TempDir()},
		`unknown form "text"`:              {dir, "--format", "text"},
		"is not of the form FORM=FILE":     {dir, "--output", "html"},
		"cannot be written":                {dir, "--output", "html=" + dir},
	} {
		code, _, stderr := execute(t, append([]string{"matrix"}, args...)...)
		require.Equal(t, ExitUsage, code)
		require.Contains(t, stderr, want)
	}
}
