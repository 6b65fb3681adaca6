package wirelog

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// transportHeaders are set by every HTTP client itself.
var transportHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "Transfer-Encoding"}

// Curl renders the request of an exchange as a command line for a POSIX shell, which takes none of it for anything but text.
// Where a secret was, it has a placeholder: $TOKEN in a header, the word «[redacted]» elsewhere. A body that was cut is left
// out, with a remark.
func Curl(e Exchange) string {
	var b strings.Builder
	b.WriteString("curl")
	if strings.ContainsAny(e.URL, "[]{}") {
		b.WriteString(" -g") // or curl makes several addresses of it
	}
	if e.Method != http.MethodGet {
		b.WriteString(" -X " + quote(e.Method))
	}
	b.WriteString(" " + quote(e.URL))
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		if slices.Contains(transportHeaders, name) {
			continue
		}
		for _, v := range e.RequestHeader[name] {
			b.WriteString(" -H " + headerWord(name, v))
		}
	}
	switch {
	case e.RequestBody == "":
	case strings.HasSuffix(e.RequestBody, cutMark):
		b.WriteString(" # the body was too long to be kept")
	case strings.HasPrefix(e.RequestBody, "@"): // which otherwise names a file
		b.WriteString(" --data-raw " + quote(e.RequestBody))
	default:
		b.WriteString(" --data-binary " + quote(e.RequestBody))
	}
	return b.String()
}

// headerWord makes a header one word of a POSIX shell.
func headerWord(name, value string) string {
	before, secret := strings.CutSuffix(value, Redacted)
	line := name + ": " + before
	switch {
	case !secret:
		return quote(line)
	case strings.ContainsAny(line, "\"$`\\"):
		return quote(line) + `"$TOKEN"`
	default:
		return `"` + line + `$TOKEN"`
	}
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
