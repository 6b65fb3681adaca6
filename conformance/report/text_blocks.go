package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/counted"
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
	written := 0
	for _, b := range r.Blocks {
		if len(b.Checks) < conformance.ManyBlocked {
			continue
		}
		written++
		headline := fmt.Sprintf("%s have no result: %s", counted.Of(len(b.Checks), "check"), b.What)
		if p.brief >= shortBlocks {
			p.shortBlock(headline, b.Exchange, written)
			continue
		}
		p.wrapped("BLOCK ", headline)
		if e := b.Exchange; e != nil {
			p.wrapped("  request   ", strings.TrimSpace(e.Method+" "+e.URL+" "+shortened(e.RequestBody)))
			p.wrapped("  response  ", strings.TrimSpace(fmt.Sprint(e.Status)+" "+shortened(e.ResponseBody)))
			p.command("  shown by  ", wirelog.Curl(*e))
		}
		names := strings.Join(b.Checks[:min(maxBlockedNamed, len(b.Checks))], ", ")
		if more := len(b.Checks) - maxBlockedNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		p.wrapped("  checks    ", names)
		p.line("")
	}
	if written > 0 && p.brief >= shortBlocks {
		p.line("")
	}
}

// maxShortBlocks is the maximum number of blocks in a report with the brevity shortBlocks.
const maxShortBlocks = 3

// shortBlock writes the n-th block in one line, the first one with its request and response.
func (p *printer) shortBlock(headline string, e *wirelog.Exchange, n int) {
	most := maxShortBlocks
	if p.brief >= briefest {
		most = 1
	}
	switch {
	case n > most+1:
		return
	case n > most:
		p.line("More checks have no result; --all lists them.")
		return
	}
	p.line("BLOCK %s", clipTo(visible(headline), width-len("BLOCK ")))
	if e != nil && n == 1 {
		p.line("  request   %s", clipTo(visible(e.Method+" "+e.URL+" "+e.RequestBody), width-12))
		p.line("  response  %s", clipTo(visible(fmt.Sprint(e.Status)+" "+e.ResponseBody), width-12))
	}
}

// shownAsBlock reports whether a cause has no findings, and the large blocks of the run contain all its blocked checks. A report that shows
// these blocks does not list the cause. A block is large if it contains at least conformance.ManyBlocked checks.
func shownAsBlock(r *conformance.Result, checks, blocked []string) bool {
	return len(checks) == 0 && !slices.ContainsFunc(blocked, func(id string) bool {
		return !slices.ContainsFunc(r.Blocks, func(b conformance.Block) bool {
			return len(b.Checks) >= conformance.ManyBlocked && slices.Contains(b.Checks, id)
		})
	})
}

// shortened returns the start of a body on one line.
func shortened(body string) string {
	if runes := []rune(body); len(runes) > maxBlockedBody {
		return string(runes[:maxBlockedBody]) + "…"
	}
	return body
}
