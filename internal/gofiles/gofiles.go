package gofiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk calls visit for each file below root whose name has the suffix, in lexical order: with its path, and with its slash-separated path
// relative to root. It skips hidden directories, testdata, node_modules and modules below root.
func Walk(root, suffix string, visit func(file, rel string) error) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && skipped(file, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, suffix) {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return visit(file, filepath.ToSlash(rel))
	})
}

func skipped(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"
}
