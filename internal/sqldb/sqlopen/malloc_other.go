//go:build !linux || !cgo

package sqlopen

// returnLarge has no effect: only glibc keeps the memory of large blocks.
func returnLarge() {}

// trim has no effect: only glibc keeps unused memory of each thread.
func trim() {}
