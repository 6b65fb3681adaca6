// Package alltest decides what a run of tests includes: the quick ones by default, all of them with SCIMWRIGHT_TEST_ALL=1 ("make
// test-all").
//
// A test that takes long asks for it with [Only], one that has a short form with [All], [Sample] or [Draws], and one that needs a program
// or a service that a machine may lack calls [Lacks] without it. In a run of all tests nothing is left out: what is lacking is a failure.
package alltest

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Variable is the environment variable that asks for all tests.
const Variable = "SCIMWRIGHT_TEST_ALL"

// All reports whether the run is one of all tests.
func All() bool { return os.Getenv(Variable) == "1" }

// Only skips a test unless the run is one of all tests. why is what the test costs: "kills 400 processes".
func Only(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: runs with %s=1 (make test-all)", why, Variable)
	}
}

// Sample returns every n-th of the cases, beginning with the first, and all of them in a run of all tests.
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

// Draws bounds how many cases a property of package rapid draws, unless the run is one of all tests or the command line says how many. It
// is called by TestMain, before the tests.
func Draws(n int) error {
	if All() {
		return nil
	}
	return flag.Set("rapid.checks", strconv.Itoa(n))
}

// Together lets at least n parallel tests of a package run at the same time, unless the command line says how many. It is for tests that
// wait more than they compute, and is called by TestMain, before the tests. The default is one test per processor.
func Together(n int) error {
	return flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
}

// Lacks ends a test that needs what this machine does not have: a run of all tests fails, any other skips the test.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if All() {
		t.Fatalf("a run of all tests needs %s", what)
	}
	t.Skipf("needs %s", what)
}

// Installs returns the folder in which a test installs software of others from their registries: the one that variable names, or a
// temporary one for any other value and in a run of all tests. Without both the test is skipped.
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
