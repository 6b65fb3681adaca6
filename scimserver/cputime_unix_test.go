//go:build unix

package scimserver_test

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time used by this process, or zero if it is unavailable.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
