package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Doc is a JSON object that a check sends. A nil value is sent as null; to omit a default, see [T.User].
type Doc map[string]any

// T is the interface between a check and the run: it sends requests, creates objects that are removed afterwards, and collects findings. A
// T is used by one goroutine, for one check.
type T struct {
	// Capabilities contains the results of discovery.
	Capabilities *Capabilities
	// Fixture contains the objects of the check's fixture by label. It is nil if the check has no fixture.
	Fixture map[string]*Created

	session       *session
	check         *Check
	prefix        string
	ledger        *[]*Created
	last          *wirelog.Exchange
	writes        []*wirelog.Exchange // the latest accepted writes, see writeBefore
	sent          []Request
	fixtureSent   []Request // the requests that built the fixture
	fixtureLacks  []string  // the members that objects of the fixture lack; see Created.Lacks
	substitution  substitution
	outcome       Outcome
	reason        string
	notApplicable bool   // the check was skipped because the target does not support what it tests
	stoppedBy     string // the request without a response that ended the check
	hung          bool   // a request timed out twice, or an earlier request of the same kind did
	eager         bool   // requests do not wait until earlier writes are visible
	findings      []Finding
	notes         []string
	requests      int // number of requests, including those that remove the objects of the check
	blockedBy     *Blocker
	building      bool // the T builds a fixture
	userRejected  bool // the target rejected a POST to /Users
	groups        groupTraffic
	controls      []func() string // the functions of BlockedIf
	// unserved are the attributes of users that the check names, but that the run has replaced or for which it skips the check, because the
	// target does not store them as sent. final is set if the check must not be repeated with further substitutions.
	unserved []string
	final    bool
	// room is the maximum number of objects that may remain after a request of t on a target that deletes none. 0 means the number that
	// applies to checks.
	room int
}

// The reasons for a check to end early. Methods of T panic with them, and only run recovers.
type (
	stopped struct{}
	skipped struct {
		reason  string
		outside bool
	}
	noAnswer struct{ err error }
)

// run calls fn and converts its end, normal or by panic, into the outcome of t.
func (t *T) run(fn func()) {
	defer func() {
		switch v := recover().(type) {
		case nil, stopped:
		case skipped:
			if t.outcome == Pass {
				t.outcome, t.reason, t.notApplicable = Skip, v.reason, v.outside
				if cause, ok := strings.CutPrefix(v.reason, blockedPrefix); ok && !v.outside {
					t.blockedBy = &Blocker{What: cause, Exchange: t.last}
				}
			}
		case noAnswer:
			t.outcome, t.reason = graver(t.outcome, Error), v.err.Error()
			if call, ok := errors.AsType[*callError](v.err); ok && call.budget && len(t.findings) == 0 {
				t.outcome = Skip
			}
		default:
			t.outcome, t.reason = graver(t.outcome, Error), fmt.Sprintf("the check panicked: %v", v)
			t.session.opts.Logger.Error("a check panicked", "check", t.check.ID, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// Call sends a request and returns the response, whatever its status. Objects that the response reports as created are removed when the
// check ends. A request that fails is repeated once if that is safe: the target may be unsteady.
//
// If the target sends no complete response, the check ends with a finding of the outcome Fail, whatever its level. If the target
// responds to no other request either, or cannot be reached, the check ends with the outcome Error.
func (t *T) Call(ctx context.Context, req Request) *Response {
	t.sent = append(t.sent, req)
	t.admitCreation(ctx, req)
	if !t.eager {
		t.session.waitForLag(ctx, req)
	}
	pending := t.session.created.expect(req)
	if req.Method == http.MethodPost {
		// The repeat may create a second object, so it gets a journal entry of its own. The entry without an object stays open.
		req.repeated = func() { t.session.created.expect(req) }
	}
	res, err := t.session.wire.call(ctx, t.substitution.request(req), false)
	if err != nil {
		t.fail(err)
	}
	t.last = res.exchange
	t.keepWrite(req, res)
	res = t.substitution.response(req, res)
	t.session.wrote(req, res)
	t.groups.observe(req, res)
	if res.lost != nil && req.Method == http.MethodPost {
		t.lost(res) // lost panics before the response is recorded, so that the journal entry of the object stays open
	}
	t.session.created.recordOutcome(t.ledger, pending, req, res)
	if res.lost != nil {
		t.lost(res)
	}
	t.userRejected = t.userRejected || req.Method == http.MethodPost && first(req.Path) == "Users" && t.reducible(res.Status)
	return res
}

// Immediately sends the following requests of the check without waiting until earlier writes are visible.
func (t *T) Immediately() { t.eager = true }

// Get sends a GET. The query is a sequence of names and values.
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

// Base returns the base URL of the target, without a trailing slash.
func (t *T) Base() string { return t.session.wire.base.String() }

// Prefix returns the prefix of the names of all objects of this check. The names of other objects do not start with it.
func (t *T) Prefix() string { return t.prefix }

// AbsentID returns an id that no resource has. It contains the run's marker, in case the target creates an object with it.
func (t *T) AbsentID() string { return t.session.created.run + "-no-such-id" }

// UserDomain returns the domain of the user names and addresses of the run; see Options.UserDomain.
func (t *T) UserDomain() string { return t.session.opts.UserDomain }

// UserName returns the userName that [T.User] gives to a label.
func (t *T) UserName(label string) string { return t.prefix + label + "@" + t.session.opts.UserDomain }

// Seed returns the seed for checks that generate their requests.
func (t *T) Seed() uint64 { return t.session.opts.Seed }

// Rounds returns the number of rounds of a check that generates its requests.
func (t *T) Rounds() int { return t.session.opts.OracleRounds }

// User returns a user to create: the schema, a userName of this check and the few attributes that many servers require. A member of extra
// replaces the default of the same name; [Omit] removes it.
func (t *T) User(label string, extra Doc) Doc { return t.user(label, extra, t.session.reduced.without) }

// user returns a user to create, without some of the defaults.
func (t *T) user(label string, extra Doc, without []string) Doc {
	name := t.UserName(label)
	return t.withMarker("userName", label, t.session.withRequired("User", reduce(Doc{
		"schemas":  []string{scim.UserSchema},
		"userName": name,
		"name":     defaultName(),
		"emails":   []Doc{{"value": name, "type": "work", "primary": true}},
		"active":   true,
	}, omitting(without)), extra))
}

// Group returns a group to create, named after the label. See [T.User].
func (t *T) Group(label string, extra Doc) Doc {
	return t.withMarker("displayName", label,
		t.session.withRequired("Group", Doc{"schemas": []string{scim.GroupSchema}, "displayName": t.prefix + label}, extra))
}

// withMarker puts the run's marker into another attribute of a body that omits its name on purpose, so that the object can be found if the
// target creates it.
func (t *T) withMarker(name, label string, body Doc) Doc {
	if _, given := body[secondName]; !given && !t.session.created.marked(nameOf(body, name)) {
		body[secondName] = t.prefix + label
	}
	return body
}

// Omit removes a member from an object if it is the value of this member in the argument extra of [T.User] or [T.Group].
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

// A Created is an object on the target that the suite has created and will remove.
type Created struct {
	// ID is the id that the target assigned. Collection is the path of the collection, such as "/Users".
	ID, Collection string
	// Sent is the body of the request. Resource is the body of the response.
	Sent     Doc
	Resource *scim.Object

	entry int // the number of its journal entry
	name  string
	post  *wirelog.Exchange // the request that created it, a POST or a bulk request; nil if that was a PUT
	gone  bool
	// updated is set if the run has updated the object to set the members with which the target did not create it.
	updated bool
	// lacks are the members of Sent that no response after the create or the updates contains as sent, because the target rejects them in a
	// create.
	lacks []string
}

// Lacks reports whether the object lacks a member of Sent: the target rejected the create with it, created the object without it or with
// fewer elements, and did not store it in an update either. Only objects of fixtures lack members that a check sets itself.
func (c *Created) Lacks(member string) bool {
	return slices.ContainsFunc(c.lacks, func(name string) bool { return scim.EqualName(name, member) })
}

// Updated reports whether the run has updated the object after the create, because the target rejected a create with all its members.
func (c *Created) Updated() bool { return c.updated }

// Path returns the path of the object below the base URL.
func (c *Created) Path() string { return c.Collection + "/" + url.PathEscape(c.ID) }

// Create creates an object that the check needs. If the target rejects a user or a group, Create tries simpler forms: it creates the object
// without some of its optional members, and sets these by PATCH or PUT. If the target does not create the object, Create skips the check:
// only the checks of the area "create" test creation.
func (t *T) Create(ctx context.Context, collection string, body Doc) *Created {
	if c := t.standIn(collection); c != nil {
		return c
	}
	c, res := t.create(ctx, collection, body)
	if c != nil {
		return c
	}
	t.About(res)
	t.Skip(fmt.Sprintf("blocked: %s, which prepares the check, %s", res.Name, res.Without("an id")))
	return nil
}

// CreateReduced is Create, but returns nil if the target does not create the object.
func (t *T) CreateReduced(ctx context.Context, collection string, body Doc) *Created {
	c, _ := t.create(ctx, collection, body)
	return c
}

// create creates an object, if necessary in a simpler form. If the target does not create it, c is nil. whole is the response to the POST
// of the complete object.
func (t *T) create(ctx context.Context, collection string, body Doc) (c *Created, whole *Response) {
	whole = t.Post(ctx, collection, body)
	if c = t.createdBy(collection, whole); c == nil {
		c = t.createReduced(ctx, collection, body, whole)
	}
	return c, whole
}

// createdBy returns the object that a POST has created, nil if there is none.
func (t *T) createdBy(collection string, res *Response) *Created {
	// Newest first: if a target assigns the same id to two objects, the response is about the newer one.
	for _, c := range slices.Backward(*t.ledger) {
		if res.OK() && c.Sent != nil && c.Collection == collection && !c.gone && c.ID == identify(res) {
			return c
		}
	}
	return nil
}

// CreateUser creates a user; see [T.User].
func (t *T) CreateUser(ctx context.Context, label string, extra Doc) *Created {
	c := t.Create(ctx, "/Users", t.User(label, extra))
	t.addDefaults(ctx, c, t.user(label, extra, nil))
	return c
}

// CreateWhole is CreateUser without simpler forms: it returns nil if the target rejects the complete user, or has rejected users like it.
func (t *T) CreateWhole(ctx context.Context, label string, extra Doc) *Created {
	for _, known := range t.session.reduced.accepted["/Users"] {
		if len(applicable(known, t.optionalMembers("/Users", extra), extra)) > 0 {
			return nil
		}
	}
	c := t.createdBy("/Users", t.Post(ctx, "/Users", t.User(label, extra)))
	if c != nil {
		t.addDefaults(ctx, c, t.user(label, extra, nil))
	}
	return c
}

// CreateGroup creates a group; see [T.Group].
func (t *T) CreateGroup(ctx context.Context, label string, extra Doc) *Created {
	return t.Create(ctx, "/Groups", t.Group(label, extra))
}

// Read gets an object that the check needs. If it cannot be read, Read skips the check.
func (t *T) Read(ctx context.Context, path string, query ...string) *Response {
	res := t.Get(ctx, path, query...)
	t.Readable(res)
	return res
}

// Readable returns the object in the response to a GET that the check needs. If there is none, Readable skips the check.
func (t *T) Readable(res *Response) *scim.Object {
	switch {
	case res.Status == 200 && res.Problem() != nil:
		t.Skip(fmt.Sprintf("blocked: %s, which prepares the check, returned 200 without a readable resource: %v", res.Name, res.Problem()))
	case res.Status != 200 || res.Object() == nil:
		t.Skip(fmt.Sprintf("blocked: %s, which prepares the check, %s", res.Name, res.Without("a resource")))
	}
	return res.Object()
}

// About makes an earlier exchange the evidence of the findings that follow. Default: the latest exchange.
func (t *T) About(res *Response) { t.last = res.exchange }

// Expect records a finding of the check's level if got is not equal to want as JSON. It reports whether they are equal.
func (t *T) Expect(what string, want, got any) bool {
	return t.Holds(scim.Equal(jsonValue(want), jsonValue(got)), what, show(want), got)
}

// Require is Expect, but ends the check if the expectation does not hold.
func (t *T) Require(what string, want, got any) {
	if !t.Expect(what, want, got) {
		panic(stopped{})
	}
}

// Stop ends the check. Its findings so far are its result.
func (t *T) Stop() { panic(stopped{}) }

// Holds records a finding of the check's level if ok is false, and returns ok. want describes the expected value, got is the actual one.
func (t *T) Holds(ok bool, what, want string, got any) bool {
	if !ok {
		t.find(t.check.Level.Violation(), what, want, got)
	}
	return ok
}

// Must is Holds, but ends the check if the expectation does not hold.
func (t *T) Must(ok bool, what, want string, got any) {
	if !t.Holds(ok, what, want, got) {
		panic(stopped{})
	}
}

// Warn records a finding about a requirement that is weaker than that of the check if ok is false.
func (t *T) Warn(ok bool, what, want string, got any) bool {
	if !ok {
		t.find(graverOf(Warn, t.check.Level.Violation()), what, want, got)
	}
	return ok
}

// graverOf limits the outcome of a finding on a weaker requirement: a check of level May never warns.
func graverOf(side, own Outcome) Outcome {
	if own == Info {
		return Info
	}
	return side
}

// Inform records a finding that is permitted but worth knowing.
func (t *T) Inform(what, want string, got any) { t.find(Info, what, want, got) }

// Note records an observation that is not a finding.
func (t *T) Note(format string, args ...any) { t.notes = append(t.notes, fmt.Sprintf(format, args...)) }

// Skip ends the check because it does not apply or a preparation failed. Earlier findings are kept. The report lists the check as blocked
// if the reason starts with "blocked: ".
func (t *T) Skip(reason string) { panic(skipped{reason: reason}) }

// NotApplicable ends the check, like Skip, because the target does not support an optional feature that the check tests. The report does
// not list the check as blocked.
func (t *T) NotApplicable(reason string) { panic(skipped{reason, true}) }

// SkipIf skips when the condition holds.
func (t *T) SkipIf(condition bool, reason string) {
	if condition {
		t.Skip(reason)
	}
}

// Wait waits for a duration, for targets that measure time in seconds.
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
	write := t.writeBefore(t.last)
	t.findings = append(t.findings, Finding{
		Outcome: outcome, What: what, Want: want, Got: show(got), Exchange: t.last, Write: write,
		Preparation: t.preparation(t.last, write)})
}

// jsonValue converts a value to the types that package scim compares.
func jsonValue(v any) any {
	value, err := scim.Value(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return value
}

// maxShown is the maximum length of the want and got of a finding, in bytes. The exchange contains the whole value.
const maxShown = 300

// show returns a value as text for a finding: a string unchanged unless it is valid JSON itself, any other value as JSON.
func show(v any) string {
	var text string
	switch value := v.(type) {
	case nil:
		text = "nothing"
	case string:
		text = cmp.Or(value, "an empty string")
		if json.Valid([]byte(strings.ToLower(value))) {
			text = strconv.Quote(value) // so that a finding distinguishes the strings "5" and "False" from the number 5 and the boolean false
		}
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

// Names registers a collection other than /Users and /Groups. The given attribute of the base schema contains the names of its objects,
// which start with [T.Prefix]. Objects that a POST creates in an unregistered collection are not removed, so a check calls Names first.
func (t *T) Names(collection, attribute string) { t.session.created.naming[collection] = attribute }
