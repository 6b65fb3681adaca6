// Package goldentest compares the output of tests with files, and rewrites the files if the tests run with -update.
//
// Files are documentation pages, API descriptions and expected results. A page that is only partly generated uses [Updating].
package goldentest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating reports whether the tests run with -update.
func Updating() bool { return *update }

// Check fails the test if the file does not contain exactly got. With -update it writes got to the file first.
func Check(t testing.TB, file, got string) {
	t.Helper()
	Update(t, file, got)
	if diff := cmp.Diff(Read(t, file), got); diff != "" {
		t.Errorf("%s differs (-file +generated); rewrite it with -update if the change is intended\n%s", file, diff)
	}
}

// Update writes got to the file if the tests run with -update. It does not touch a file that already has this content.
func Update(t testing.TB, file, got string) {
	t.Helper()
	if !*update {
		return
	}
	if err := Write(file, got); err != nil {
		t.Fatal(err)
	}
}

// Write writes the file and creates its directory. It does not touch a file that already has this content.
func Write(file, got string) error {
	if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, []byte(got)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(got), 0o644)
}

// Read returns the content of the file.
func Read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	return string(text)
}
