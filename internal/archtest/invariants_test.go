package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

// TestInvariants_Documented checks that each invariant is stated once in the code and named by a test, and that the docs contain the list
// of the code.
func TestInvariants_Documented(t *testing.T) {
	texts, broken, err := Invariants("../..")
	require.NoError(t, err)
	require.Empty(t, broken)
	require.GreaterOrEqual(t, len(texts), 24)
	const page, start, end = "../../docs/explanation/architecture.md", "<!-- invariants -->\n", "<!-- /invariants -->"
	before, rest, ok := strings.Cut(goldentest.Read(t, page), start)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	goldentest.Check(t, page, before+start+listOf(texts, 158)+end+after)
}

func TestInvariants(t *testing.T) {
	for name, c := range map[string]struct {
		code, test string
		texts      []string
		broken     string
	}{
		"stated and tested": {
			"// f does.\n//\n// Invariant 1: One\n// thing.\n//\n// Invariant 2: Two.\nfunc f() {\n\t// Invariant 3: Three.\n}",
			"// Invariant 1\n// Invariant 2\nfunc TestF() {\n\t// Invariant 3\n}", []string{"One thing.", "Two.", "Three."}, "",
		},
		"no test": {"// Invariant 1: One.\nfunc f() {}", "", []string{"One."}, "a/a.go: no test names invariant 1"},
		"no code": {"", "// Invariant 1\nfunc TestF() {}", nil, "invariant 1 has a test, but no code states it"},
		"no text": {"// Invariant 1\nfunc f() {}", "", nil, "a/a.go: invariant 1 has no text"},
		"stated twice": {
			"// Invariant 1: One.\nfunc f() {}\n\n// Invariant 1: Two.\nfunc g() {}", "// Invariant 1\n", []string{"One."},
			"invariant 1 is stated 2 times",
		},
		"a number left": {"// Invariant 2: Two.\nfunc f() {}", "// Invariant 2\n", []string{"Two."},
			"invariant 2 follows 0: number the invariants without gaps"},
		"in a sentence": {"// Because of invariant 1 and\n// Invariant 2, nothing.\nfunc f() {}", "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
			for file, text := range map[string]string{"a.go": c.code, "a_test.go": c.test} {
				require.NoError(t, os.WriteFile(filepath.Join(root, "a", file), []byte("package a\n\n"+text+"\n"), 0o600))
			}
			texts, broken, err := Invariants(root)
			require.NoError(t, err)
			require.Equal(t, c.texts, texts)
			require.Equal(t, c.broken, strings.Join(broken, "; "))
		})
	}
	require.Equal(t, "1. one two\n   three\n2. four\n", listOf([]string{"one two three", "four"}, 11))
}
