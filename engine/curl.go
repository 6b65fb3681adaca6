package engine

import (
	"maps"
	"slices"
	"strings"

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
