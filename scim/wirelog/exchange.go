package wirelog

import (
	"net/http"
	"time"
)

// Exchange is one request and its response, redacted.
type Exchange struct {
	At             time.Time // time at which the request was sent
	Method         string
	URL            string
	RequestHeader  http.Header
	RequestBody    string // excerpt
	Status         int    // 0 if there was no response
	ResponseHeader http.Header
	ResponseBody   string        // excerpt
	Duration       time.Duration // until the response was read or aborted
	Err            string        // why no complete response was received; empty if one was received
}

// Options configures Transport. The zero value is valid.
type Options struct {
	// MaxBody is the maximum size of a captured body in bytes. Default: 8 KiB.
	MaxBody int
	// Secrets are values to replace wherever they occur, such as a token that the remote side might repeat. For values shorter than 6 bytes
	// see [NewRedactor].
	Secrets []string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// DefaultMaxBody is the default of Options.MaxBody.
const DefaultMaxBody = 8 << 10
