package alltest_test

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	_ "pgregory.net/rapid" // defines the flag

	"github.com/scimwright/scimwright/internal/alltest"
)

// ended is the result of a test that ended early.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper()                     {}
func (e *ended) Skipf(f string, args ...any) { e.end("skipped", f, args) }
func (e *ended) Fatalf(f string, args ...any) {
	e.end("failed", f, args)
}

func (e *ended) end(how, f string, args []any) {
	e.how = how + ": " + fmt.Sprintf(f, args...)
	panic(e)
}

func outcome(t *testing.T, test func(t testing.TB)) string {
	e := &ended{TB: t, how: "ran"}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(e) {
				panic(p)
			}
		}()
		test(e)
	}()
	return e.how
}

// TestRun_OmitsNothing checks what a quick run omits, and that a run of all tests omits nothing.
func TestRun_OmitsNothing(t *testing.T) {
	const variable = "SCIMWRIGHT_TEST_SOFTWARE"
	only := func(t testing.TB) { alltest.Only(t, "kills 400 processes") }
	lacks := func(t testing.TB) { alltest.Lacks(t, "sh") }
	folder := ""
	installs := func(t testing.TB) { folder = alltest.Installs(t, variable) }

	t.Setenv(alltest.Variable, "")
	require.False(t, alltest.All())
	require.Equal(t, "skipped: kills 400 processes: runs with SCIMWRIGHT_TEST_ALL=1 (make test-all)", outcome(t, only))
	require.Equal(t, "skipped: needs sh", outcome(t, lacks))
	require.Contains(t, outcome(t, installs), "skipped: installs")

	t.Setenv(variable, "1")
	require.Equal(t, "ran", outcome(t, installs))
	require.DirExists(t, folder)
	t.Setenv(variable, "/kept")
	require.Equal(t, "ran", outcome(t, installs))
	require.Equal(t, "/kept", folder)
	t.Setenv(variable, "")

	require.Equal(t, []int{1, 4}, alltest.Sample([]int{1, 2, 3, 4, 5}, 3))
	require.NoError(t, alltest.Draws(7))
	require.Equal(t, "7", flag.Lookup("rapid.checks").Value.String())

	before := flag.Lookup("test.parallel").Value.String()
	t.Cleanup(func() { require.NoError(t, flag.Set("test.parallel", before)) })
	require.NoError(t, alltest.Together(1000))
	require.Equal(t, "1000", flag.Lookup("test.parallel").Value.String())
	require.NoError(t, alltest.Together(1))
	require.Equal(t, strconv.Itoa(runtime.GOMAXPROCS(0)), flag.Lookup("test.parallel").Value.String())

	t.Setenv(alltest.Variable, "1")
	require.Equal(t, []int{1, 2, 3, 4, 5}, alltest.Sample([]int{1, 2, 3, 4, 5}, 3))
	require.NoError(t, alltest.Draws(8))
	require.Equal(t, "7", flag.Lookup("rapid.checks").Value.String())
	require.True(t, alltest.All())
	require.Equal(t, "ran", outcome(t, only))
	require.Equal(t, "failed: a run of all tests requires sh", outcome(t, lacks))
	require.Equal(t, "ran", outcome(t, installs))
	require.DirExists(t, folder)
}
