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

// Side is a side of an exchange: client or server.
type Side string

// The sides.
const (
	Server Side = "server"
	Client Side = "client"
)

// Checks returns the checks of traffic for the given sides, or for both if none is given: the checks of the suite with Watch for the
// server, [ClientChecks] for the client. The checks of clients have state, so each call of [Judge] needs a new list.
func Checks(sides ...Side) []conformance.Check {
	if len(sides) == 0 {
		sides = []Side{Server, Client}
	}
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

// Judge returns a verdict on traffic with the server at the base URL. selected contains all or some of the [Checks].
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
		result.Cautions = append(result.Cautions, "bodies that were too large to record were not checked")
	}
	if unanswered := slices.ContainsFunc(ordered, func(x Exchange) bool { return x.Status == 0 }); unanswered {
		result.Cautions = append(result.Cautions, "some requests got no response: the server was unreachable, or one side closed the connection")
	}
	return result
}

// observed returns the exchange in the form that checks receive.
func (x Exchange) observed(base string) conformance.Observed {
	address := base + x.Path
	if x.Query != "" {
		address += "?" + x.Query
	}
	query, _ := url.ParseQuery(x.Query) // parameters that cannot be parsed are omitted
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

// asSent returns a body as bytes. A recording contains only UTF-8 text: if the original body was not UTF-8, asSent appends an invalid byte.
func asSent(body string, broken bool) []byte {
	if broken {
		body += "\xff"
	}
	return []byte(body)
}

// SideOf returns the side whose behavior a check of [Checks] tests.
func SideOf(c conformance.Check) Side {
	if c.Area() == clientArea {
		return Client
	}
	return Server
}

// Line describes an exchange on one line for a terminal.
func (x Exchange) Line() string {
	status := http.StatusText(x.Status)
	if x.Status == 0 {
		status = cmp.Or(x.Err, "no response")
	}
	return line(x, status)
}
