package engine

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// Curl returns the request of an exchange as a command line for a POSIX shell, which takes none of it for anything but text. Secrets
// are not in an Attempt: with credentials the headers that had them say $TOKEN in their place, without they are left out. A body
// that was too long to be kept is left out, with a remark.
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

// Attempt is one recorded exchange with a target. Secrets were removed before it was kept.
type Attempt struct {
	ID        int64 // ascending in the order of recording
	App       string
	Kind      Kind
	Principal string
	Gen       int64
	Run       string // the same for all exchanges of one sequence

	At             time.Time
	Method, URL    string
	RequestHeader  http.Header
	RequestBody    string
	Status         int // 0 when no answer came
	ResponseHeader http.Header
	ResponseBody   string // excerpt
	Duration       time.Duration
	Error          string // why the exchange failed, empty when an answer was read to its end
}

// AttemptQuery selects recorded exchanges, newest first. Empty fields do not restrict.
type AttemptQuery struct {
	App       string
	Kind      Kind
	Principal string
	Before    int64 // only those with a smaller ID
	Limit     int   // Defaults to 100
}
