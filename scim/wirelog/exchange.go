package wirelog

import (
	"net/http"
	"time"
)

// Exchange is one request and what came back, redacted.
type Exchange struct {
	At             time.Time // when the request was sent
	Method         string
	URL            string
	RequestHeader  http.Header
	RequestBody    string // excerpt
	Status         int    // 0 when no answer came
	ResponseHeader http.Header
	ResponseBody   string        // excerpt
	Duration       time.Duration // until the answer was read or given up
	Err            string        // why there is no complete answer, empty when there is one
}

// Options configures Transport. The zero value works.
type Options struct {
	// MaxBody is how many bytes of a body are kept. Defaults to 8 KiB.
	MaxBody int
	// Secrets are values that are replaced wherever they occur, e.g. a token that the other side might echo. Values shorter
	// than 6 bytes are ignored: replacing them would shred the text without protecting anything.
	Secrets []string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// DefaultMaxBody is how many bytes of a body are kept unless Options say otherwise.
const DefaultMaxBody = 8 << 10
