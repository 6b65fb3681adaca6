package connect

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter parses a Retry-After header, seconds or a date (RFC 9110 section 10.2.3). It returns the zero time for a missing or invalid
// header.
func RetryAfter(header string, now time.Time) time.Time {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if t, err := http.ParseTime(header); err == nil {
		return t
	}
	return time.Time{}
}
