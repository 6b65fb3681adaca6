package serving

import (
	"errors"
	"fmt"

	"github.com/gofrs/flock"
)

// LockFile locks a file. The operating system releases the lock when the process exits.
func LockFile(path string) (unlock func() error, err error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the data: %w", err)
	case !locked:
		return nil, errors.New("another process is using this data; stop it first or choose another directory or database")
	}
	return lock.Close, nil
}
