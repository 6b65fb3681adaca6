package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandbox"
)

// scim2Explained are the errors that scim2-tester reports and that docs/interop/scim2-tester.md explains: the beginning of the
// reason, by title and resource type.
var scim2Explained = map[string]string{
	"check_add_attribute User":      "Failed to add attribute 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'",
	"check_replace_attribute User":  "Failed to replace attribute 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'",
	"check_add_attribute Group":     "Attribute 'members' was not added or has unexpected value",
	"check_replace_attribute Group": "Attribute 'members' was not replaced or has unexpected value",
}

// A tester that we did not write finds nothing but what is explained. scim2-client parses every answer with its strict models on
// the way. It needs python3 and the registry, so it runs only when asked for:
// SCIMWRIGHT_TEST_INTEROP=1 go test -run SCIM2Tester ./internal/sandbox
func TestInteropSCIM2Tester(t *testing.T) {
	if os.Getenv("SCIMWRIGHT_TEST_INTEROP") == "" {
		t.Skip("SCIMWRIGHT_TEST_INTEROP is not set")
	}
	s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Tokens: []string{scimToken}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	folder := filepath.Join("testdata", "interop", "scim2")
	python := filepath.Join(t.TempDir(), "venv", "bin", "python")
	for _, command := range [][]string{
		{"python3", "-m", "venv", filepath.Dir(filepath.Dir(python))},
		{python, "-m", "pip", "install", "--quiet", "--requirement", filepath.Join(folder, "requirements.txt")},
	} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run := exec.Command(python, filepath.Join(folder, "run.py"), s.URL(), s.Token())
	run.Stderr = os.Stderr
	out, err := run.Output()
	require.NoError(t, err)

	passed := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 4)
		require.GreaterOrEqual(t, len(fields), 2, line)
		switch fields[0] {
		case "SUCCESS", "COMPLIANT", "ACCEPTABLE":
			passed++
		default:
			require.Len(t, fields, 4, line)
			explained, ok := scim2Explained[fields[1]+" "+fields[2]]
			if !ok || !strings.HasPrefix(fields[3], explained) {
				t.Error(line)
			}
		}
	}
	t.Logf("%d results without a complaint", passed)
	require.Greater(t, passed, 100, "the tester has tested")
}
