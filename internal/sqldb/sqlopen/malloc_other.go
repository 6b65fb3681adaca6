//go:build !linux || !cgo || lint

package sqlopen

// returnLarge has no effect: only glibc keeps the memory of large blocks.
func returnLarge() {}

// trim has no effect: only glibc has unused memory of each thread that the system does not get.
func trim() {}
