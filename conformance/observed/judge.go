package observed

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Side is a side of the wire.
type Side string

// The sides.
const (
	Server Side = "server"
	Client Side = "client"
)

// Checks returns what traffic is judged by: the checks of the suite that watch for the server, [ClientChecks] for the client.
// Those of the client remember what they have seen: a list of checks serves one verdict.
func Checks(sides ...Side) []conformance.Check {
	var out []conformance.Check
	if slices.Contains(sides, Server) {
		for _, c := range checks.All() {
			if c.Watch != nil {
				out = append(out, c)
			}
		}
	}
	if slices.Contains(sides, Client) {
		out = append(out, ClientChecks()...)
	}
	return out
}

// Judge gives a verdict on traffic with the server of the base URL. Checks are [Checks] or a selection of them.
func Judge(base string, exchanges []Exchange, selected []conformance.Check) *conformance.Result {
	ordered := inOrder(exchanges)
	var traffic []conformance.Observed
	cut := 0
	for _, x := range ordered {
		if x.Cut {
			cut++
		}
		traffic = append(traffic, x.observed(strings.TrimRight(base, "/")))
	}
	result := conformance.Observe(base, selected, traffic)
	if cut > 0 {
		result.Cautions = append(result.Cautions, "bodies that were too large to be kept were not judged")
	}
	if unanswered := slices.ContainsFunc(ordered, func(x Exchange) bool { return x.Status == 0 }); unanswered {
		result.Cautions = append(result.Cautions, "some requests got no answer: the server was not reached, or one side hung up")
	}
	return result
}

// observed is the exchange as the checks see it.
func (x Exchange) observed(base string) conformance.Observed {
	address := base + x.Path
	if x.Query != "" {
		address += "?" + x.Query
	}
	query, _ := url.ParseQuery(x.Query) // what cannot be read is left out
	o := conformance.Observed{
		Request: conformance.Request{Method: x.Method, Path: x.Path, Query: query, Header: x.RequestHeader},
		Status:  x.Status, Header: x.ResponseHeader,
		Exchange: &wirelog.Exchange{
			At: x.At, Method: x.Method, URL: address, RequestHeader: x.RequestHeader, RequestBody: x.RequestBody, Status: x.Status,
			ResponseHeader: x.ResponseHeader,
			ResponseBody:   x.ResponseBody, Duration: time.Duration(x.Millis * float64(time.Millisecond)), Err: x.Err,
		},
	}
	if o.Header == nil {
		o.Header = http.Header{}
	}
	if x.RequestBody != "" && !x.Cut {
		o.Request.Body = asSent(x.RequestBody, x.BrokenRequest)
	}
	if !x.Cut {
		o.Body = asSent(x.ResponseBody, x.BrokenResponse)
	}
	if x.Leak {
		o.Secrets = []string{wirelog.Redacted}
	}
	return o
}

// asSent is a body with a byte that is not UTF-8 behind it when it had such bytes: a recording holds texts.
func asSent(body string, broken bool) []byte {
	if broken {
		body += "\xff"
	}
	return []byte(body)
}

// SideOf tells which side a check of [Checks] is about.
func SideOf(c conformance.Check) Side {
	if c.Area() == clientArea {
		return Client
	}
	return Server
}

// Line describes an exchange in one line for a terminal.
func (x Exchange) Line() string {
	status := http.StatusText(x.Status)
	if x.Status == 0 {
		status = cmp.Or(x.Err, "no answer")
	}
	return line(x, status)
}
