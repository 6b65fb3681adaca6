package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// EngineName returns the name of the engine of this process among the engines that share its database. The name is the same after a
// restart, so that a restarted process takes over the lanes of the killed one immediately. The name differs from that of every other
// running process: an SQLite file is locked until closing releases the lock, and on a shared database the name contains the host and the
// address of the listener. single is the name on SQLite.
func EngineName(closing *Closing, databaseURL string, l net.Listener, single string) (string, error) {
	file, isFile := strings.CutPrefix(databaseURL, "sqlite:")
	if !isFile {
		host, err := os.Hostname()
		return host + " " + l.Addr().String(), err
	}
	unlock, err := LockFile(file + ".lock")
	if err != nil {
		return "", err
	}
	closing.OnClose(func(context.Context) error { return unlock() })
	return single, nil
}

// LockFile locks a file. The operating system releases the lock when the process exits.
func LockFile(path string) (unlock func() error, err error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the directory %s of the data does not exist: create it, or choose another one", filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("the directory %s of the data is not writable for this user: %w", filepath.Dir(path), err)
	case err != nil:
		return nil, fmt.Errorf("lock the data: %w", err)
	case !locked:
		return nil, errors.New("another process is using this data; stop it first or choose another directory or database")
	}
	return lock.Close, nil
}
