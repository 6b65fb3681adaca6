package gofiles_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/gofiles"
)

func TestWalk(t *testing.T) {
	root := filepath.Join(t.TempDir(), ".hidden") // the name of the root does not matter
	for _, file := range []string{"b.go", "b_test.go", "a/a.go", "a/testdata/x.go", ".git/x.go", "node_modules/x.go", "a/readme.md",
		"module/go.mod", "module/x.go"} {
		path := filepath.Join(root, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for suffix, want := range map[string][]string{".go": {"a/a.go", "b.go", "b_test.go"}, "_test.go": {"b_test.go"}} {
		var got []string
		require.NoError(t, gofiles.Walk(root, suffix, func(file, rel string) error {
			require.Equal(t, filepath.Join(root, filepath.FromSlash(rel)), file)
			got = append(got, rel)
			return nil
		}))
		require.Equal(t, want, got)
	}
	broken := errors.New("broken")
	require.ErrorIs(t, gofiles.Walk(root, ".go", func(string, string) error { return broken }), broken)
	require.ErrorIs(t, gofiles.Walk(filepath.Join(root, "none"), ".go", nil), fs.ErrNotExist)
}
