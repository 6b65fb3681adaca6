package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocs_PagesHaveKinds(t *testing.T) {
	faults, err := CheckPages(root)
	require.NoError(t, err)
	require.Empty(t, faults)
}

func TestCheckPages_FindsEach(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, "docs", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("README.md", "## Tutorials\n[a](tutorials/a.md)\n## Reference\n[b](howto/b.md) [d](generated/d.md)\n")
	write("tutorials/a.md", "# A\n\nThis tutorial is for readers.\n")
	write("generated/d.md", "# D\n\nThis page lists facts.\n")
	faults, err := CheckPages(dir)
	require.NoError(t, err)
	require.Empty(t, faults)

	write("howto/b.md", "# B\n\nThis page is for readers.\n")
	write("explanation/c.md", "# C\n\nThis page describes something.\n")
	write("e.md", "# E\n\nThis page is for readers.\n")
	faults, err = CheckPages(dir)
	require.NoError(t, err)
	require.Equal(t, []string{
		"docs/e.md is in no directory of a kind",
		`docs/README.md does not list howto/b.md below "## How-to guides"`,
		`docs/README.md does not list explanation/c.md below "## Explanation"`,
		`docs/explanation/c.md does not start with "This page is for"`,
	}, faults)
}
