package conform

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const earlier = "the report of an earlier run"

// keepFile creates a file with a report of an earlier run.
func keepFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keep.json")
	require.NoError(t, os.WriteFile(path, []byte(earlier), 0o640))
	return path
}

// openServer starts a target that requires no credentials.
func openServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(openDirectory))
	t.Cleanup(server.Close)
	return server.URL
}

// kept checks that the directory contains only the earlier report.
func kept(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, earlier, string(data))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
}

func TestOutput_UsageErrorKeepsReport(t *testing.T) {
	target := openServer(t)
	for name, args := range map[string]func(keep string) []string{
		"consent":      func(keep string) []string { return []string{"run", "http://scim.example.com/v2", "--json", keep} },
		"no URL":       func(keep string) []string { return []string{"run", "--json", keep} },
		"unknown form": func(keep string) []string { return []string{"run", target, "--json", keep, "--output", "tea=cup"} },
		"missing directory": func(keep string) []string {
			return []string{"run", target, "--output", "html=" + keep, "-o", "json=/no/such/place"}
		},
		"not FORM=FILE":  func(keep string) []string { return []string{"run", target, "--json", keep, "-o", "json"} },
		"bad flag":       func(keep string) []string { return []string{"run", target, "--json", keep, "--rate", "-1"} },
		"bad check":      func(keep string) []string { return []string{"run", target, "--json", keep, "--only", "nonsense"} },
		"proxy, address": func(keep string) []string { return []string{"proxy", target, "--json", keep, "--listen", "nonsense"} },
		"proxy, record":  func(keep string) []string { return []string{"proxy", target, "--record", keep, "--listen", "nonsense"} },
		"proxy, other record": func(keep string) []string {
			return []string{"proxy", target, "--json", keep, "--record", "/no/such/place"}
		},
		"mock, address":       func(keep string) []string { return []string{"mock", "--json", keep, "--listen", "nonsense"} },
		"mock, record":        func(keep string) []string { return []string{"mock", "--record", keep, "--listen", "nonsense"} },
		"judge, no recording": func(keep string) []string { return []string{"judge", "/no/such/recording", "--json", keep} },
	} {
		t.Run(name, func(t *testing.T) {
			keep := keepFile(t)
			code, stdout, stderr := execute(t, args(keep)...)
			require.Equal(t, ExitUsage, code, "%s%s", stdout, stderr)
			kept(t, keep)
		})
	}
}

func TestOutput_ReplacedOnCompletion(t *testing.T) {
	target := openServer(t)
	keep := keepFile(t)
	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Symlink(keep, link))
	code, stdout, stderr := execute(t, "run", target, "--read-only", "--only", "discovery", "--json", link)
	require.NotEqual(t, ExitUsage, code, "%s%s", stdout, stderr)
	data, err := os.ReadFile(keep)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(data), "{"), string(data))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "a link remains a link")
	info, err = os.Stat(keep)
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(keep))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	code, _, stderr = execute(t, "run", target, "--read-only", "--only", "discovery", "--json", os.DevNull)
	require.NotEqual(t, ExitUsage, code, stderr)
}
