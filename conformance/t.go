package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Doc is a JSON object that a check sends. A nil value is sent as null; see [T.User] for leaving out a default.
type Doc map[string]any

// T is what a check works with: it sends requests, creates objects that are removed afterwards, and collects findings. It
// is used by one goroutine, for one check.
type T struct {
	// Capabilities is what discovery learned about the target.
	Capabilities *Capabilities
	// Fixture holds the objects of the check's fixture by label; nil when it has none.
	Fixture map[string]*Created

	session  *session
	check    *Check
	prefix   string
	ledger   *[]*Created
	last     *wirelog.Exchange
	asked    []Request
	outcome  Outcome
	reason   string
	outside  bool // the check was skipped because it does not apply
	findings []Finding
	notes    []string
}

// The ways a check ends early. They travel as panics up to run, which is the only place that recovers.
type (
	stopped struct{}
	skipped struct {
		reason  string
		outside bool
	}
	noAnswer struct{ err error }
)

// run calls fn and turns every way it can end into the outcome of t.
func (t *T) run(fn func()) {
	defer func() {
		switch v := recover().(type) {
		case nil, stopped:
		case skipped:
			if t.outcome == Pass {
				t.outcome, t.reason, t.outside = Skip, v.reason, v.outside
			}
		case noAnswer:
			t.outcome, t.reason = graver(t.outcome, Error), v.err.Error()
			if call, ok := errors.AsType[*callError](v.err); ok && call.budget && len(t.findings) == 0 {
				t.outcome = Skip
			}
		default:
			t.outcome, t.reason = graver(t.outcome, Error), fmt.Sprintf("the check itself broke: %v", v)
			t.session.opts.Logger.Error("a check panicked", "check", t.check.ID, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// Call sends a request and returns the answer, whatever its status. Objects that the answer says were created are removed
// when the check ends. No answer at all ends the check with the outcome Error.
func (t *T) Call(ctx context.Context, req Request) *Response {
	t.asked = append(t.asked, req)
	pending := t.session.estate.expect(req)
	res, err := t.session.wire.call(ctx, req, false)
	if err != nil {
		panic(noAnswer{err})
	}
	t.last = res.exchange
	t.session.estate.settle(t.ledger, pending, req, res)
	t.session.waitForLag(ctx, req, res)
	return res
}

// Get sends a GET. The query is given as name, value, name, value.
func (t *T) Get(ctx context.Context, path string, query ...string) *Response {
	return t.Call(ctx, Request{Method: "GET", Path: path, Query: pairs(query)})
}

// Post sends a POST with a JSON body.
func (t *T) Post(ctx context.Context, path string, body any, query ...string) *Response {
	return t.Call(ctx, Request{Method: "POST", Path: path, Query: pairs(query), Body: body})
}

// Put sends a PUT with a JSON body.
func (t *T) Put(ctx context.Context, path string, body any, query ...string) *Response {
	return t.Call(ctx, Request{Method: "PUT", Path: path, Query: pairs(query), Body: body})
}

// Patch sends a PATCH with the given operations.
func (t *T) Patch(ctx context.Context, path string, operations ...Doc) *Response {
	return t.Call(ctx, Request{Method: "PATCH", Path: path, Body: Doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}})
}

// Delete sends a DELETE.
func (t *T) Delete(ctx context.Context, path string) *Response {
	return t.Call(ctx, Request{Method: "DELETE", Path: path})
}

// Base is the base URL of the target, without a trailing slash.
func (t *T) Base() string { return t.session.wire.base.String() }

// Prefix begins the name of every object this check creates. No object of anybody else begins with it.
func (t *T) Prefix() string { return t.prefix }

// AbsentID is an id that no target hands out. It carries the run's marker, in case the target makes something of it.
func (t *T) AbsentID() string { return t.session.estate.run + "-no-such-id" }

// UserName returns the userName that [T.User] gives to a label.
func (t *T) UserName(label string) string { return t.prefix + label + "@" + t.session.opts.UserDomain }

// Seed is what a check that makes up its requests draws them from.
func (t *T) Seed() uint64 { return t.session.opts.Seed }

// Rounds is how often such a check asks.
func (t *T) Rounds() int { return t.session.opts.OracleRounds }

// User returns a user to create: the schema, a userName of this check and the few attributes that many servers ask for. A
// member of extra replaces the default of the same name; [Omit] leaves it out.
func (t *T) User(label string, extra Doc) Doc {
	name := t.UserName(label)
	return t.recognisable("userName", label, merge(t.session.addRequired("User", Doc{
		"schemas":  []string{scim.UserSchema},
		"userName": name,
		"name":     Doc{"givenName": "Conformance", "familyName": "Check"},
		"emails":   []Doc{{"value": name, "type": "work", "primary": true}},
		"active":   true,
	}), extra))
}

// Group returns a group to create, named after the label. See [T.User].
func (t *T) Group(label string, extra Doc) Doc {
	return t.recognisable("displayName", label,
		merge(t.session.addRequired("Group", Doc{"schemas": []string{scim.GroupSchema}, "displayName": t.prefix + label}), extra))
}

// recognisable gives a body that is without its name on purpose the run's marker in another place, in case the target takes it.
func (t *T) recognisable(name, label string, body Doc) Doc {
	if _, given := body[secondName]; !given && !t.session.estate.marked(nameOf(body, name)) {
		body[secondName] = t.prefix + label
	}
	return body
}

// Omit as a value in the extra of [T.User] and [T.Group] leaves the member out.
var Omit = struct{ omit bool }{true}

func merge(defaults, extra Doc) Doc {
	for name, value := range extra {
		if value == any(Omit) {
			delete(defaults, name)
			continue
		}
		defaults[name] = value
	}
	return defaults
}

// A Created object was made by the suite and will be removed by it.
type Created struct {
	// ID is what the target called it, Collection is "/Users" or "/Groups".
	ID, Collection string
	// Sent is what was posted, Resource what was answered.
	Sent     Doc
	Resource *scim.Object

	entry int // its number in the journal
	name  string
	gone  bool
}

// Path is the path of the object below the base URL.
func (c *Created) Path() string { return c.Collection + "/" + url.PathEscape(c.ID) }

// Create posts an object that the check needs, and skips the check when the target does not create it: whether creating
// works is the question of the checks of the area "create" and not of every other one.
func (t *T) Create(ctx context.Context, collection string, body Doc) *Created {
	res := t.Post(ctx, collection, body)
	// The latest one first: a target that gives one id twice must not lead to somebody else.
	for _, c := range slices.Backward(*t.ledger) {
		if res.OK() && c.Sent != nil && c.Collection == collection && !c.gone && c.ID == identify(res) {
			return c
		}
	}
	t.Skip(fmt.Sprintf("blocked: %s, needed as a preparation, answered %d without an id", res.Name, res.Status))
	return nil
}

// CreateUser creates a user; see [T.User].
func (t *T) CreateUser(ctx context.Context, label string, extra Doc) *Created {
	return t.Create(ctx, "/Users", t.User(label, extra))
}

// CreateGroup creates a group; see [T.Group].
func (t *T) CreateGroup(ctx context.Context, label string, extra Doc) *Created {
	return t.Create(ctx, "/Groups", t.Group(label, extra))
}

// Read gets an object that must be readable to go on, and skips the check when it is not.
func (t *T) Read(ctx context.Context, path string, query ...string) *Response {
	res := t.Get(ctx, path, query...)
	if res.Status != 200 || res.Object() == nil {
		t.Skip(fmt.Sprintf("blocked: %s, needed as a preparation, answered %d without a resource", res.Name, res.Status))
	}
	return res
}

// About makes an earlier exchange the evidence of the findings that follow. Without it the latest exchange is.
func (t *T) About(res *Response) { t.last = res.exchange }

// Expect records a finding of the check's level unless got is the JSON value want, and says whether it is.
func (t *T) Expect(what string, want, got any) bool {
	return t.Holds(scim.Equal(jsonValue(want), jsonValue(got)), what, show(want), got)
}

// Require is Expect, but ends the check when the expectation does not hold.
func (t *T) Require(what string, want, got any) {
	if !t.Expect(what, want, got) {
		panic(stopped{})
	}
}

// Holds records a finding of the check's level unless ok: want says in words what was expected, got is what came.
func (t *T) Holds(ok bool, what, want string, got any) bool {
	if !ok {
		t.find(t.check.Level.Violation(), what, want, got)
	}
	return ok
}

// Must is Holds, but ends the check when it does not hold.
func (t *T) Must(ok bool, what, want string, got any) {
	if !t.Holds(ok, what, want, got) {
		panic(stopped{})
	}
}

// Warn records a finding that is no violation of the check's own statement but of a weaker one, unless ok.
func (t *T) Warn(ok bool, what, want string, got any) bool {
	if !ok {
		t.find(graverOf(Warn, t.check.Level.Violation()), what, want, got)
	}
	return ok
}

// graverOf caps the weight of a side finding: a check of level May never warns.
func graverOf(side, own Outcome) Outcome {
	if own == Info {
		return Info
	}
	return side
}

// Inform records something permitted but worth knowing.
func (t *T) Inform(what, want string, got any) { t.find(Info, what, want, got) }

// Note records an observation that is no finding.
func (t *T) Note(format string, args ...any) { t.notes = append(t.notes, fmt.Sprintf(format, args...)) }

// Skip ends the check because it does not apply or could not get as far as its question. Findings made before stand.
func (t *T) Skip(reason string) { panic(skipped{reason: reason}) }

// NotApplicable is Skip for a target that has shown, as it may, that it has nothing of what the check is about: the report does
// not say of it that something stood in the way.
func (t *T) NotApplicable(reason string) { panic(skipped{reason, true}) }

// SkipIf skips when the condition holds.
func (t *T) SkipIf(condition bool, reason string) {
	if condition {
		t.Skip(reason)
	}
}

// Wait lets time pass, for targets that count in seconds.
func (t *T) Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		panic(noAnswer{context.Cause(ctx)})
	case <-timer.C:
	}
}

func (t *T) find(outcome Outcome, what, want string, got any) {
	t.outcome = graver(t.outcome, outcome)
	t.findings = append(t.findings, Finding{Outcome: outcome, What: what, Want: want, Got: show(got), Exchange: t.last})
}

// jsonValue brings what a check wrote down to the kinds that package scim compares.
func jsonValue(v any) any {
	value, err := scim.Value(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return value
}

// maxShown is the longest text of a want or got in a finding; the exchange has the rest.
const maxShown = 300

// show renders a value for a finding: text as it is, everything else as JSON.
func show(v any) string {
	var text string
	switch value := v.(type) {
	case nil:
		text = "nothing"
	case string:
		text = cmp.Or(value, "an empty text")
	default:
		data, err := json.Marshal(v)
		if err != nil {
			data = fmt.Append(nil, v)
		}
		text = string(data)
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// Names makes a collection beside /Users and /Groups known: what is created there carries its name, which begins with
// [T.Prefix], in the given attribute of the base schema. Objects that a POST to an unknown collection creates are not
// removed, so a check calls this first.
func (t *T) Names(collection, attribute string) { t.session.estate.naming[collection] = attribute }
