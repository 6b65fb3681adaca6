//go:build linux || darwin || freebsd

package doctor

import "syscall"

// freeSpace returns the free space of the file system of a directory in bytes, as far as this user may use it.
func freeSpace(dir string) (free uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:gosec,unconvert // the types differ among platforms; neither is negative
}
