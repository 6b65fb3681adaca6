package wirelog

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// transportHeaders are headers that every HTTP client sets automatically.
var transportHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "Transfer-Encoding"}

// Curl renders the request of an exchange as a command line for a POSIX shell, quoted so that the shell interprets none of it. A secret is
// replaced by a placeholder: $TOKEN in a header, "[redacted]" elsewhere. A truncated body is omitted, with a remark.
func Curl(e Exchange) string {
	var b strings.Builder
	b.WriteString("curl")
	if strings.ContainsAny(e.URL, "[]{}") {
		b.WriteString(" -g") // otherwise curl expands braces and brackets in the URL to several URLs
	}
	switch {
	case e.Method == http.MethodHead:
		b.WriteString(" --head") // with -X, curl would wait for a body
	case e.Method != http.MethodGet || e.RequestBody != "": // a body without -X is sent by POST
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
		b.WriteString(" # the body is omitted: it was truncated")
	case strings.HasPrefix(e.RequestBody, "@"): // curl would otherwise read a file of that name
		b.WriteString(" --data-raw " + quote(e.RequestBody))
	default:
		b.WriteString(" --data-binary " + quote(e.RequestBody))
	}
	return b.String()
}

// headerWord quotes a header as one word of a POSIX shell.
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

// quote quotes s as one word of a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
