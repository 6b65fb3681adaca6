//go:build !unix

package processor

import "time"

// Used returns 0: the processor time of this process is unknown.
func Used() time.Duration { return 0 }
