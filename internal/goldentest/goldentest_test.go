package goldentest_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "page.md")
	require.NoError(t, goldentest.Write(file, "one\n"))
	same, other := &recorder{TB: t}, &recorder{TB: t}
	goldentest.Check(same, file, "one\n")
	require.False(t, same.failed)

	if !goldentest.Updating() {
		goldentest.Check(other, file, "two\n")
		require.True(t, other.failed)
		require.NoError(t, flag.Set("update", "true"))
		defer func() { require.NoError(t, flag.Set("update", "false")) }()
	}
	goldentest.Check(t, file, "two\n")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "two\n", string(text))
}
