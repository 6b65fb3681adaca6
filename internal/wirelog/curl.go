package wirelog

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// transportHeaders are set by every HTTP client itself.
var transportHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "Transfer-Encoding"}

// Curl renders the request of an exchange as a command line for a POSIX shell. Where a secret was, it has a placeholder:
// $TOKEN in the Authorization header, the word «[redacted]» elsewhere. A body that was cut is left out, with a remark.
func Curl(e Exchange) string {
	var b strings.Builder
	b.WriteString("curl")
	if e.Method != http.MethodGet {
		b.WriteString(" -X " + quote(e.Method))
	}
	b.WriteString(" " + quote(e.URL))
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		if slices.Contains(transportHeaders, name) {
			continue
		}
		for _, v := range e.RequestHeader[name] {
			b.WriteString(" -H ")
			if before, found := strings.CutSuffix(v, Redacted); found && name == "Authorization" {
				b.WriteString(`"` + name + ": " + before + `$TOKEN"`)
			} else {
				b.WriteString(quote(name + ": " + v))
			}
		}
	}
	switch {
	case e.RequestBody == "":
	case strings.HasSuffix(e.RequestBody, cutMark):
		b.WriteString(" # the body was too long to be kept")
	default:
		b.WriteString(" --data-binary " + quote(e.RequestBody))
	}
	return b.String()
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
