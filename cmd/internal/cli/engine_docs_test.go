package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli/engine"
)

// engineDoc is the page that describes the engine and its commands.
func engineDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "engine.md"))
	require.NoError(t, err)
	return string(text)
}

func TestEngineDoc_ListsEveryCommand(t *testing.T) {
	parser, err := kong.New(&engine.Commands{})
	require.NoError(t, err)
	_, table, found := strings.Cut(engineDoc(t), "| Command | What it does |")
	require.True(t, found)
	for _, leaf := range parser.Model.Leaves(true) {
		name := strings.TrimPrefix(leaf.FullPath(), parser.Model.Name+" ")
		require.Regexp(t, "(?m)^\\| `"+name+"[ `]|, `"+name+" ", table)
	}
}

func TestEngineDoc_NamesExistingTests(t *testing.T) {
	all := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{filepath.Join("..", "..", "..", "engine"), filepath.Join("..", "..", "..", "internal"),
		filepath.Join("..", "..", "..", "cmd")} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				all[m[1]] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(engineDoc(t), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		require.True(t, all[m[1]], "docs/reference/engine.md names the test %s, which does not exist", m[1])
	}
}
