package sandbox

import (
	"errors"
	"fmt"

	"github.com/gofrs/flock"
)

// lockFile takes a lock on a file, which the system releases at the end of the process at the latest.
func lockFile(path string) (unlock func() error, err error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the data: %w", err)
	case !locked:
		return nil, errors.New("another sandbox is using this data; end it first or name another place")
	}
	return lock.Close, nil
}
