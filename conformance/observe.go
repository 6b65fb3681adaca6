package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// An Observed exchange is one that somebody else has held, for [Observe].
type Observed struct {
	// Request is what the client sent. Its path is relative to the base URL, its body is a []byte or nil.
	Request Request
	// Status, Header and Body are the answer; a status of 0 is none.
	Status int
	Header http.Header
	Body   []byte
	// Secrets are texts that stand in the answer only when it repeats a secret.
	Secrets []string
	// Exchange is the same without secrets, to be shown.
	Exchange *wirelog.Exchange
}

// Observe applies checks that watch to traffic that the suite has not sent itself, and leaves other checks out. What the target
// offers is taken from the discovery answers in the traffic, wherever they stand. In the evidence, values of resources are
// masked: all of them are other people's.
//
// The verdict is Untested when the checks had nothing to look at, or nothing was ever answered.
func Observe(base string, checks []Check, traffic []Observed) *Result {
	base = strings.TrimRight(base, "/")
	traffic = slices.Clone(traffic)
	result := &Result{Target: base, Run: observedRun, Requests: len(traffic), Verdict: Clean}
	caps := &Capabilities{}
	responses := make([]*Response, len(traffic))
	v := &veil{run: nobody, seen: map[string]bool{}, filters: map[string]string{}}
	for i := range traffic {
		o := &traffic[i]
		masked := *o.Exchange // the caller's own stays readable
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
		own := v.coverSent(o)
		v.cover(o.Exchange, o.Request.Path, responses[i].Body)
		coverTalk(o, own)
		result.Traffic = append(result.Traffic, Sent{Exchange: o.Exchange})
	}
	concerned := 0
	for _, w := range watches {
		concerned += w.concerned
		result.Checks = append(result.Checks, w.result())
	}
	v.result(result, nil)
	if len(traffic) > 0 {
		first, last := traffic[0].Exchange, traffic[len(traffic)-1].Exchange
		result.Started, result.Duration = first.At, last.At.Sub(first.At)+last.Duration
	}
	switch {
	case len(traffic) == 0:
		result.Verdict, result.Reason = Untested, "no exchange was observed"
	case !slices.ContainsFunc(traffic, func(o Observed) bool { return o.Status != 0 }):
		result.Verdict, result.Reason = Untested, "no request got an answer: check that the server runs and that its base URL is right"
	case concerned == 0:
		result.Verdict, result.Reason = Untested, "no exchange was one that a check is about: is this SCIM traffic, and is the base URL right?"
	case result.Count(Fail)+result.Count(Warn) > 0:
		result.Verdict = Findings
	}
	return result
}

// observedRun stands for the marker of a run in a result of [Observe].
const observedRun = "observed"

// Observed tells that the result is about traffic that others have held: there is no run to repeat, and no seed.
func (r *Result) Observed() bool { return r.Run == observedRun }

// nobody is a marker that no resource carries.
const nobody = "\x00"

// learn takes what a discovery answer tells.
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

// requestWords are members of messages whose values are words of the protocol.
var requestWords = []string{"op", "path", "method", "bulkid", "status", "scimtype", "version", "sortby", "sortorder", "attributes",
	"excludedattributes", "cursor"}

// operand is a text within a filter.
var operand = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// coverSent hides values in the request of an exchange and returns them.
func (v *veil) coverSent(o Observed) map[string]bool {
	e := o.Exchange
	hidden := map[string]bool{}
	e.URL = v.coverQuery(e.URL, hidden)
	for value := range hidden {
		v.seen[value] = true
	}
	body, _ := o.Request.Body.([]byte)
	object, err := scim.Decode(body)
	if err != nil {
		if len(body) > 0 {
			e.RequestBody = fmt.Sprintf("%s: %d bytes that are no JSON object", Masked, len(body))
		}
		return hidden
	}
	collectSent("", object, hidden)
	for value := range hidden {
		v.seen[value] = true
	}
	e.RequestBody = hideStrings(e.RequestBody, hidden)
	return hidden
}

// collectSent is collect for bodies that clients send, with the messages that travel in them.
func collectSent(name string, value any, hidden map[string]bool) {
	if slices.Contains(requestWords, strings.ToLower(name)) {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			collectSent(name, item, hidden)
		}
	case *scim.Object:
		for name, inner := range value.All() {
			collectSent(name, inner, hidden)
		}
	default:
		// An answer in one word, such as "False", says nothing about a person.
		if text, ok := value.(string); !ok || !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			collect(name, value, hidden)
		}
	}
}

// Elapsed is how long after the answer of an earlier exchange this one began.
func (w *ObservedExchange) Elapsed(earlier *wirelog.Exchange) time.Duration {
	return w.exchange.At.Sub(earlier.At.Add(earlier.Duration))
}
