//go:build !linux

package scimserver

// yieldProcessor does nothing: the scheduler of the system divides the processors.
func yieldProcessor() {}
