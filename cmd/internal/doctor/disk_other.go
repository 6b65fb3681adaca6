//go:build !linux && !darwin && !freebsd

package doctor

// freeSpace returns known=false: the free space is not determined on this platform.
func freeSpace(string) (free uint64, known bool) { return 0, false }
