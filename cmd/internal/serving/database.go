package serving

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DatabaseName is the file name of a SQLite database in a data directory.
const DatabaseName = "scimwright.db"

// CheckDatabase rejects databases that are neither SQLite nor PostgreSQL before anything is created.
func CheckDatabase(databaseURL string) error {
	scheme, rest, found := strings.Cut(databaseURL, ":")
	switch {
	case !found:
		return fmt.Errorf("the database %q has no scheme: use sqlite:PATH or postgres://USER@HOST/NAME", databaseURL)
	case scheme == "sqlite" && rest == "":
		return fmt.Errorf("the database %q names no file: use sqlite:PATH", databaseURL)
	case !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme):
		return fmt.Errorf("databases of the kind %q are not supported: use sqlite:PATH or postgres://USER@HOST/NAME", scheme)
	}
	return nil
}

// TemporaryDatabase creates a directory for a temporary database; cleanup removes it.
func TemporaryDatabase() (databaseURL string, cleanup func() error, err error) {
	dir, err := os.MkdirTemp("", "scimwright-*")
	if err != nil {
		return "", func() error { return nil }, fmt.Errorf("temporary database: %w", err)
	}
	return "sqlite:" + filepath.Join(dir, DatabaseName), func() error { return os.RemoveAll(dir) }, nil
}
