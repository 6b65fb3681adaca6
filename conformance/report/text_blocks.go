package report

import (
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const (
	// maxBlockedNamed is the maximum number of checks of a block that the text report names.
	maxBlockedNamed = 10
	// maxBlockedBody is the maximum length of a body in the text report, in characters.
	maxBlockedBody = 400
)

// blocks writes what kept many checks from their results: the failed fixture or prerequisite, its request and its response.
func (p *printer) blocks(r *conformance.Result) {
	for _, b := range r.Blocks {
		if len(b.Checks) < conformance.ManyBlocked {
			continue
		}
		p.wrapped("BLOCK ", fmt.Sprintf("%s have no result: %s", plural(len(b.Checks), "check"), b.What))
		if e := b.Exchange; e != nil {
			p.wrapped("  request   ", strings.TrimSpace(e.Method+" "+e.URL+" "+shortened(e.RequestBody)))
			p.wrapped("  response  ", strings.TrimSpace(fmt.Sprint(e.Status)+" "+shortened(e.ResponseBody)))
			p.line("  shown by  %s", wirelog.Curl(*e))
		}
		names := strings.Join(b.Checks[:min(maxBlockedNamed, len(b.Checks))], ", ")
		if more := len(b.Checks) - maxBlockedNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		p.wrapped("  checks    ", names)
		p.line("")
	}
}

// shortened returns the start of a body on one line.
func shortened(body string) string {
	if runes := []rune(body); len(runes) > maxBlockedBody {
		return string(runes[:maxBlockedBody]) + "…"
	}
	return body
}
