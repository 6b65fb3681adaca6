package conform

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// example returns the file in docs/reference/conformance.md that has the given marker.
func example(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/reference/conformance.md")
	require.NoError(t, err)
	found := regexp.MustCompile("<!-- file: " + name + " -->\n```yaml\n(?s:(.*?))```").FindSubmatch(page)
	require.NotNil(t, found, name)
	return write(t, name+".yaml", string(found[1]))
}

func TestDocs_ExamplesAccepted(t *testing.T) {
	list, err := waiving{Waivers: example(t, "waivers")}.read()
	require.NoError(t, err)
	require.Len(t, list, 2)
	attributes, err := readAttributes(example(t, "attributes"))
	require.NoError(t, err)
	require.Equal(t, "staff", attributes["User"]["userType"])
	require.Contains(t, attributes, "Group")
	// The file contains flags that the list command does not have. The command must ignore these flags.
	code, stdout, stderr := execute(t, "list", "--config", example(t, "config"))
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "okta.")
	require.NotContains(t, stdout, "sort.ascending")
}
