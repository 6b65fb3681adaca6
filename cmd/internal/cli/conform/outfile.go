package conform

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is an output file. Write appends to a temporary file, in the same directory if that is writable. Close replaces the file at path
// by the temporary file. If path is not a regular file, such as a pipe, Write writes to it directly.
type outFile struct {
	*os.File
	path string // empty if data is written directly
}

// createOut creates a file for a path, which must be writable. perm is the mode of a new file; an existing file keeps its mode.
func createOut(path string, perm fs.FileMode) (*outFile, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		resolved, err = path, nil
	}
	if err != nil {
		return nil, err
	}
	there, err := os.Stat(resolved)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		file, err := os.OpenFile(resolved, os.O_WRONLY, 0) // fails if the path is not writable or is a directory
		if err != nil {
			return nil, err
		}
		if !there.Mode().IsRegular() {
			return &outFile{File: file}, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		perm = there.Mode().Perm()
	}
	partial := fmt.Sprintf("%s.partial-%s", resolved, rand.Text()[:8])
	file, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrPermission) && there != nil { // the file exists and is writable, but its directory is not
		file, err = os.CreateTemp("", filepath.Base(resolved)+".partial-*")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the directory %s does not exist", filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	return &outFile{File: file, path: resolved}, nil
}

// Close replaces the file at the path with the written data.
func (f *outFile) Close() error {
	if f.path == "" {
		return f.File.Close()
	}
	to := f.path
	f.path = "" // so that a second call of Close does not replace the file again
	there, _ := os.Stat(to)
	if there != nil {
		_ = f.Chmod(there.Mode().Perm()) // the umask may have removed permissions
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.discard())
	}
	if err := os.Rename(f.Name(), to); err != nil { // the file at the path is on another file system, or is a mount point
		return errors.Join(f.copyTo(to), f.discard())
	}
	return f.File.Close()
}

func (f *outFile) copyTo(path string) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	target, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666) //nolint:gosec // as the file was
	if err != nil {
		return err
	}
	_, err = io.Copy(target, f.File)
	return errors.Join(err, target.Close())
}

// Discard removes the written data unless Close was called. It does nothing for nil.
func (f *outFile) Discard() {
	if f == nil {
		return
	}
	if f.path != "" {
		f.path = ""
		_ = f.discard()
		return
	}
	_ = f.File.Close()
}

func (f *outFile) discard() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }
