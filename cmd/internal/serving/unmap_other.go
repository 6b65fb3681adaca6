//go:build !linux

package serving

// returnProgram has no effect: only Linux counts pages of the program file that are not in use as memory of the process.
func returnProgram() {}
