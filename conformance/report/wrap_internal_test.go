package report

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestWrapCommand_SameInShell checks that a shell reads the same words from a wrapped command, and that its lines fit.
func TestWrapCommand_SameInShell(t *testing.T) {
	long := strings.Repeat("filter=userName%20eq%20", 12)
	for _, words := range []string{
		`'a' 'b c' "d $HOME"`,
		`-X 'POST' 'http://127.0.0.1/Users?` + long + `' -H 'Accept: application/scim+json' -H "Authorization: Bearer $TOKEN"`,
		`'http://127.0.0.1/Users/'"$ID1"'?` + long + `' --data-binary '{"a":"it'\''s` + strings.Repeat(" é'\\''", 60) + `"}'`,
	} {
		lines := wrapCommand("printf '%s\\n' "+words, 14)
		for i, line := range lines {
			columns := utf8.RuneCountInString(line)
			if i == 0 {
				columns += 14
			}
			require.LessOrEqual(t, columns, width, line)
		}
		whole, err := exec.Command("sh", "-c", "printf '%s\\n' "+words).Output()
		require.NoError(t, err)
		wrapped, err := exec.Command("sh", "-c", strings.Join(lines, "\n")).Output()
		require.NoError(t, err)
		require.Equal(t, string(whole), string(wrapped))
	}
}

// TestClipTo_Boundaries checks where a shortened line ends: before an id or a word, unless the line has no boundary in its last third.
func TestClipTo_Boundaries(t *testing.T) {
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{
		{"list of users", 13, "list of users"},
		{"checks: discovery.limits, discovery.schema-by-urn", 36, "checks: discovery.limits,…"},
		{"checks: discovery.schema-by-urn and others", 32, "checks: discovery.schema-by-urn…"},
		{"GET https://scim.example.com/v2/Users/2819c223", 40, "GET https://scim.example.com/v2/Users/…"},
		{"GET https://scim.example.com/v2/2819c223a1b2c3d4e5f6", 45, "GET https://scim.example.com/v2/…"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 10, "aaaaaaaaa…"},
	} {
		require.Equal(t, c.want, clipTo(c.line, c.columns))
	}
}
