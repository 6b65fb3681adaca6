//go:build !unix

package processor

import "time"

// Used returns false: the processor time of the process is unknown.
func Used() (time.Duration, bool) { return 0, false }
