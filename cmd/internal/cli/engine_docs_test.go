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

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/cli/engine"
)

// engineDoc returns a page about the engine: reference/engine.md lists its commands, explanation/crash-safety.md its guarantees.
func engineDoc(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", filepath.FromSlash(page)))
	require.NoError(t, err)
	return string(text)
}

func TestEngineDoc_ListsEveryCommand(t *testing.T) {
	parser, err := kong.New(&engine.Commands{}, cli.FlagHelp)
	require.NoError(t, err)
	_, table, found := strings.Cut(engineDoc(t, "reference/engine.md"), "| Command | What it does |")
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
	const page = "explanation/crash-safety.md"
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(engineDoc(t, page), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		require.True(t, all[m[1]], "docs/%s names the test %s, which does not exist", page, m[1])
	}
}
