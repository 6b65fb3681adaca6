package engine

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// Curl returns the request of an exchange as a command line for a POSIX shell. All values are quoted. An Attempt contains no secrets. If
// credentials is true, the redacted headers have the value $TOKEN; otherwise they are omitted. A body that was too long to be stored is
// replaced by a remark.
func (a Attempt) Curl(credentials bool) string {
	header := a.RequestHeader
	if !credentials {
		header = maps.Clone(header)
		maps.DeleteFunc(header, func(_ string, values []string) bool {
			return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, wirelog.Redacted) })
		})
	}
	return wirelog.Curl(wirelog.Exchange{Method: a.Method, URL: a.URL, RequestHeader: header, RequestBody: a.RequestBody})
}

// Attempt is one recorded exchange with a target. Secrets are removed before it is stored.
type Attempt struct {
	ID        int64 // ascending in the order of recording
	App       string
	Kind      Kind
	Principal string
	Gen       int64
	Run       string // identifies the sequence: the same for all its exchanges

	At             time.Time
	Method, URL    string
	RequestHeader  http.Header
	RequestBody    string
	Status         int // 0 if no response was received
	ResponseHeader http.Header
	ResponseBody   string // excerpt
	Duration       time.Duration
	Error          string // why the exchange failed; empty for a complete response
}

// AttemptQuery selects recorded exchanges, newest first. Empty fields do not restrict the result.
type AttemptQuery struct {
	App       string
	Kind      Kind
	Principal string
	Before    int64 // only exchanges with a smaller ID
	Limit     int   // Default: 100
}
