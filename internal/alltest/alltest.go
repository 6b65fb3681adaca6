// Package alltest determines which tests a run includes: the quick ones by default, all of them with SCIMWRIGHT_TEST_ALL=1 ("make
// test-all").
//
// A slow test calls [Only]. A test that a quick run executes with fewer cases calls [All], [Sample] or [Draws]. A test calls [Lacks] if a
// program or service that it needs is not installed. A run of all tests omits no test: a missing program or service is a failure.
package alltest

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Variable is the environment variable that enables all tests.
const Variable = "SCIMWRIGHT_TEST_ALL"

// All reports whether the run includes all tests.
func All() bool { return os.Getenv(Variable) == "1" }

// Only skips a test unless the run includes all tests. The parameter why states the cost of the test, such as "kills 400 processes".
func Only(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: runs with %s=1 (make test-all)", why, Variable)
	}
}

// Sample returns every n-th of the cases, starting with the first, or all of them in a run of all tests.
func Sample[T any](cases []T, n int) []T {
	if All() {
		return cases
	}
	var some []T
	for i := 0; i < len(cases); i += n {
		some = append(some, cases[i])
	}
	return some
}

// Draws sets the number of random cases per property of package rapid, unless the run includes all tests or the command line sets the
// number. TestMain calls it before the tests.
func Draws(n int) error {
	if All() {
		return nil
	}
	return flag.Set("rapid.checks", strconv.Itoa(n))
}

// Together sets the number of parallel tests of a package that run at the same time to at least n, unless the command line sets the number.
// TestMain calls Together before the tests of a package whose tests mostly wait. Without Together, the number is the number of processors.
func Together(n int) error {
	return flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
}

// Lacks ends a test that needs a program or service that is not installed: a run of all tests fails, any other run skips the test.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if All() {
		t.Fatalf("a run of all tests requires %s", what)
	}
	t.Skipf("needs %s", what)
}

// Installs returns the directory in which a test installs third-party software from its registry. The caller passes the name of an
// environment variable. If this variable contains an absolute path, Installs returns the path. For any other value, Installs returns a
// temporary directory. If the variable is unset, Installs skips the test, except in a run of all tests, which also uses a temporary
// directory.
func Installs(t testing.TB, variable string) string {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" {
		Only(t, "installs software from its registry")
	}
	if len(folder) == 0 || folder[0] != os.PathSeparator {
		return t.TempDir()
	}
	return folder
}
