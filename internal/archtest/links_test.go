package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocs_LinksResolve(t *testing.T) {
	broken, err := CheckLinks(root)
	require.NoError(t, err)
	require.Empty(t, broken)
}

func TestCheckLinks_FindsEach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "module")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("README.md",
		"[a](docs/a.md) [b](docs/a.md#one-two-of-x) [c](https://example.com/x) [d](docs) [e](#top)\n# Top\n```\n[f](none.md)\n```\n")
	write("docs/a.md", "## One, `two` of x\n[up](../README.md#top)\n")
	broken, err := CheckLinks(dir)
	require.NoError(t, err)
	require.Empty(t, broken)

	write("docs/b.md", "[a](a.md#three)\n[b](c.md) [c](README.md)\n[d](#x)\n")
	broken, err = CheckLinks(dir)
	require.NoError(t, err)
	require.Equal(t, []string{
		"docs/b.md:1: a.md#three does not exist", "docs/b.md:2: c.md does not exist", "docs/b.md:2: README.md does not exist",
		"docs/b.md:3: #x does not exist",
	}, broken)
}
