//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process at the latest, also when that is killed.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another sandbox is using this data; end it first or name another place")
		}
		return nil, fmt.Errorf("lock the data: %w", err)
	}
	return f.Close, nil
}
