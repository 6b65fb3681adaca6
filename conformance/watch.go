package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// ObservedExchange is one exchange of the run, as passed to Check.Watch.
type ObservedExchange struct {
	*Response
	Request      Request
	Capabilities *Capabilities
	// Base is the base URL of the target, without a trailing slash.
	Base string
	// Secrets are the credentials and passwords that the run has sent so far. Short ones are omitted, because they may occur by chance.
	Secrets []string

	watch  *watchState
	recent []Preparation // the last creates before the exchange
}

// Exchange returns the recorded exchange: redacted, with its times.
func (w *ObservedExchange) Exchange() *wirelog.Exchange { return w.exchange }

// Sent reports whether the suite has sent the request, not another client.
func (w *ObservedExchange) Sent() bool { return w.sent }

// RepeatedAfter returns how the same request failed before the suite repeated it: a status or a reason. It returns "" if the request is not
// a repeat or failed again.
func (w *ObservedExchange) RepeatedAfter() string {
	if failed := w.Status >= http.StatusInternalServerError && w.Status != http.StatusNotImplemented; failed {
		return ""
	}
	return w.first
}

// Resources returns the resources in a 2xx response: the body itself, or the items of a list.
func (w *ObservedExchange) Resources() []*scim.Object {
	object := w.Object()
	if !w.OK() || object == nil {
		return nil
	}
	if _, isList := object.Get("Resources"); isList || w.IsMessage() {
		return w.Response.Resources()
	}
	return []*scim.Object{object}
}

// IsMessage reports whether the body is a message of the protocol, such as a ListResponse or an Error.
func (w *ObservedExchange) IsMessage() bool {
	return slices.ContainsFunc(w.Object().Array("schemas"), func(v any) bool {
		urn, ok := v.(string)
		return ok && strings.HasPrefix(strings.ToLower(urn), "urn:ietf:params:scim:api:messages:")
	})
}

// Collection returns the first segment of the request's path: "Users".
func (w *ObservedExchange) Collection() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(w.Request.Path, "/"), "/")
	return first
}

// Projected reports whether the request selected attributes, so that some may be missing.
func (w *ObservedExchange) Projected() bool {
	return w.Request.Query.Has("attributes") || w.Request.Query.Has("excludedAttributes") || strings.HasSuffix(w.Request.Path, "/.search")
}

// MarkApplicable records that the check applies to the exchange. A check that applies to no exchange is skipped.
func (w *ObservedExchange) MarkApplicable() { w.watch.applicable++ }

// Holds records a finding of the check's level if ok is false. It lists the same finding once per method, collection and status, and at
// most 5 findings per check; it counts the others.
func (w *ObservedExchange) Holds(ok bool, what, want string, got any) bool {
	w.MarkApplicable()
	if !ok {
		w.watch.find(w, what, want, got)
	}
	return ok
}

// maxWatched is the maximum number of stored findings of a check with Watch; further ones are counted.
const maxWatched = 5

// watchState is the state of a check with Watch during a run.
type watchState struct {
	check      Check
	applicable int // number of applicable exchanges
	seen       map[string]bool
	findings   []Finding
	more       int
}

func (w *watchState) find(x *ObservedExchange, what, want string, got any) {
	kind := fmt.Sprintf("%s %s %d %s", x.Request.Method, x.Collection(), x.Status, what)
	if w.seen[kind] || len(w.findings) == maxWatched {
		w.more++
		return
	}
	w.seen[kind] = true
	w.findings = append(w.findings, Finding{
		Outcome: w.check.Level.Violation(), What: what + " of " + x.Name, Want: want, Got: show(got), Exchange: x.exchange,
		Preparation: creating(x.exchange, x.recent),
	})
}

// creating returns the creates of the objects whose ids an exchange contains, and of those whose ids these creates contain.
func creating(e *wirelog.Exchange, recent []Preparation) (out []Preparation) {
	if e == nil {
		return nil
	}
	text := requestText(e)
	for _, p := range slices.Backward(recent) { // a create contains only ids of earlier ones
		if p.Exchange != e && hasID(text, p.ID) {
			out = append(out, p)
			text += " " + requestText(p.Exchange)
		}
	}
	slices.Reverse(out)
	return out
}

// result returns the result of the check at the end of the run.
func (w *watchState) result() CheckResult {
	r := CheckResult{Check: w.check, Outcome: Pass, Findings: w.findings}
	switch {
	case len(w.findings) > 0:
		r.Outcome = w.check.Level.Violation()
	case w.applicable == 0:
		r.Outcome, r.Reason = Skip, "the check applies to no response of the run"
	}
	if w.more > 0 {
		r.Notes = []string{counted.Of(w.more, "more finding") + " not listed"}
	}
	return r
}

// watchers passes the exchanges of a run to the checks with Watch.
type watchers struct {
	watches []*watchState
	sent    []string      // the secrets that requests have contained
	recent  []Preparation // the last creates, at most maxRecent
}

// maxRecent is the maximum number of creates that are kept for the commands that repeat a finding.
const maxRecent = 32

func watchesOf(checks []Check) []*watchState {
	var out []*watchState
	for _, c := range checks {
		if c.Watch != nil {
			out = append(out, &watchState{check: c, seen: map[string]bool{}})
		}
	}
	return out
}

// observe passes an exchange to the checks with Watch.
func (v *watchers) observe(x *ObservedExchange, credentials *secrets) {
	if len(v.watches) == 0 {
		return
	}
	v.remember(x.Request, credentials)
	x.Secrets, x.recent = v.sent, v.recent
	for _, w := range v.watches {
		x.watch = w
		w.check.Watch(x)
	}
	if id := x.Object().Text("id"); id != "" && x.Request.Method == http.MethodPost && x.OK() && x.exchange != nil && !x.IsMessage() {
		v.recent = append(v.recent, Preparation{ID: id, Exchange: x.exchange})
		v.recent = v.recent[max(len(v.recent)-maxRecent, 0):]
	}
}

// minSecret is the minimum length of a secret to search for: a shorter one may occur by chance.
const minSecret = 8

// remember stores the secrets of a request.
func (v *watchers) remember(req Request, credentials *secrets) {
	if v.sent == nil {
		for _, secret := range credentials.all() {
			if len(secret) >= minSecret {
				v.sent = append(v.sent, secret)
			}
		}
	}
	if req.Body == nil {
		return
	}
	data, ok := req.Body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(req.Body); err != nil {
			return
		}
	}
	object, err := scim.Decode(data)
	if err != nil {
		return
	}
	v.passwords(object)
}

// passwords stores the passwords in a body.
func (v *watchers) passwords(body any) {
	switch body := body.(type) {
	case []any:
		for _, item := range body {
			v.passwords(item)
		}
	case *scim.Object:
		secret := body.Text("password")
		if strings.HasSuffix(strings.ToLower(body.Text("path")), "password") {
			secret = body.Text("value")
		}
		if len(secret) >= minSecret && !slices.Contains(v.sent, secret) {
			v.sent = append(v.sent, secret)
		}
		for _, member := range body.All() {
			v.passwords(member)
		}
	}
}

// fillWatched sets the results of the checks with Watch, for which runChecks has stored placeholders.
func (s *session) fillWatched(result *Result) {
	for i, r := range result.Checks {
		if r.Check.Watch == nil {
			continue
		}
		for _, w := range s.watchers.watches {
			if w.check.ID == r.Check.ID {
				result.Checks[i] = w.result()
				s.progress(result.Checks[i], true)
			}
		}
	}
}

// urlContains reports whether the URL of the request contains a string. A target may repeat its own URL in the response.
func (w *ObservedExchange) urlContains(text string) bool {
	return strings.Contains(w.Request.Path, text) ||
		slices.ContainsFunc(queryValues(w.Request.Query), func(v string) bool { return strings.Contains(v, text) })
}

func queryValues(q url.Values) []string {
	var out []string
	for _, values := range q {
		out = append(out, values...)
	}
	return out
}

// Leaks returns the first secret of the run that a string contains, or "" if it contains none. Secrets in the URL of the request are
// ignored.
func (w *ObservedExchange) Leaks(text string) string {
	for _, secret := range w.Secrets {
		if strings.Contains(text, secret) && !w.urlContains(secret) {
			return secret
		}
	}
	return ""
}

// Bodyless reports whether HTTP forbids a body in the response.
func (w *ObservedExchange) Bodyless() bool {
	return w.Request.Method == http.MethodHead || w.Status == http.StatusNoContent || w.Status == http.StatusNotModified
}
