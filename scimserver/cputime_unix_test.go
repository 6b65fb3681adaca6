//go:build unix

package scimserver_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used, zero when that is not known.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
