//go:build !unix

package scimserver_test

import "time"

// cpuTime is not available on this platform.
func cpuTime() time.Duration { return 0 }
