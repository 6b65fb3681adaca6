package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// An Observed is an exchange between another client and the server, which [Observe] checks.
type Observed struct {
	// Request is what the client sent. Its path is relative to the base URL, its body is a []byte or nil.
	Request Request
	// Status, Header and Body are the response. A status of 0 means no response.
	Status int
	Header http.Header
	Body   []byte
	// Secrets are strings that the response contains only if the server has repeated a secret: the secret itself, or its replacement in
	// redacted traffic.
	Secrets []string
	// Exchange is the same exchange for reports, without secrets.
	Exchange *wirelog.Exchange
}

// Observe applies checks with Watch to traffic that the suite has not sent, and ignores other checks. It reads the capabilities from
// discovery responses anywhere in the traffic. In the evidence, Observe masks the values of all resources, because no resource belongs to
// the suite.
//
// The verdict is Untested if no exchange was applicable to a check, or no request got a response.
func Observe(base string, checks []Check, traffic []Observed) *Result {
	base = strings.TrimRight(base, "/")
	traffic = slices.Clone(traffic)
	result := &Result{Target: base, Run: observedRun, Requests: len(traffic), Verdict: Clean}
	caps := &Capabilities{}
	responses := make([]*Response, len(traffic))
	m := &masker{run: noMarker, ids: map[string]bool{}, seen: map[string]bool{}, filters: map[string]string{}}
	for i := range traffic {
		o := &traffic[i]
		masked := *o.Exchange // a copy, so that the exchange of the caller is not modified
		o.Exchange = &masked
		responses[i] = &Response{Name: o.Request.name(), Status: o.Status, Header: o.Header, Body: o.Body, exchange: o.Exchange}
		caps.learn(o.Request, responses[i])
	}
	watches := watchesOf(checks)
	for i, o := range traffic {
		x := &ObservedExchange{Response: responses[i], Request: o.Request, Capabilities: caps, Base: base, Secrets: o.Secrets}
		for _, w := range watches {
			x.watch = w
			w.check.Watch(x)
		}
	}
	for i, o := range traffic {
		own := m.maskRequest(o)
		m.maskResponse(o.Exchange, o.Request.Path, responses[i].Body)
		maskExchange(o, own)
		result.Traffic = append(result.Traffic, Sent{Exchange: o.Exchange})
	}
	concerned := 0
	for _, w := range watches {
		concerned += w.applicable
		result.Checks = append(result.Checks, w.result())
	}
	m.maskResult(result, nil)
	if len(traffic) > 0 {
		first, last := traffic[0].Exchange, traffic[len(traffic)-1].Exchange
		result.Started, result.Duration = first.At, last.At.Sub(first.At)+last.Duration
	}
	switch {
	case len(traffic) == 0:
		result.Verdict, result.Reason = Untested, "no exchange was observed"
	case !slices.ContainsFunc(traffic, func(o Observed) bool { return o.Status != 0 }):
		result.Verdict, result.Reason = Untested, "no request got a response: check that the server runs and that its base URL is right"
	case concerned == 0:
		result.Verdict, result.Reason = Untested, "no check applies to any exchange: check that this is SCIM traffic and that the base URL "+
			"is right"
	case result.Count(Fail)+result.Count(Warn) > 0:
		result.Verdict = Findings
	}
	return result
}

// observedRun is the value of Run in a result of [Observe].
const observedRun = "observed"

// Observed reports whether the result is about observed traffic. Such a result has no seed and cannot be reproduced by another run.
func (r *Result) Observed() bool { return r.Run == observedRun }

// learn stores the capabilities of a discovery response.
func (c *Capabilities) learn(req Request, res *Response) {
	if req.Method != http.MethodGet || !res.OK() || res.Object() == nil {
		return
	}
	switch req.Path {
	case "/ServiceProviderConfig":
		c.ServiceProviderConfig = res.Object()
	case "/ResourceTypes":
		c.ResourceTypes = res.Resources()
	case "/Schemas":
		c.Schemas = res.Resources()
	case "/Users":
		c.Users = true
	case "/Groups":
		c.Groups = true
	}
}

// Elapsed returns the time from the response of an earlier exchange to the start of this one.
func (w *ObservedExchange) Elapsed(earlier *wirelog.Exchange) time.Duration {
	return w.exchange.At.Sub(earlier.At.Add(earlier.Duration))
}
