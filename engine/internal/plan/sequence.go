package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Request is one SCIM request, relative to the target's base URL.
type Request struct {
	Method  string
	Path    string           // with the query, escaped: /Users?filter=userName%20eq%20%22x%22&startIndex=1&count=100
	IfMatch string           // entity tag, empty if absent
	Body    *scim.Object     // nil for a request without a body
	Members *Change          // the change of group members, nil if none
	Op      engine.Operation // kind of change: OpCreate, OpUpdate, OpReactivate, OpDeactivate, OpMembers or OpDelete; empty for reads
	// a further change, e.g. OpUpdate for a PUT that reactivates and OpMembers for a group that is created with members
	Also engine.Operation
	// Alternative is set if the request does not have the preferred form of the style. It is always nil with FallbackNone.
	Alternative *Alternative
}

// Change is the change of a group by one request.
type Change struct {
	Rename  bool // the group gets its new name
	Replace bool // the members are replaced by those in Add
	Read    bool // only with Replace: the change is not a request, but a read that showed Add as members. The group may have other members
	Add     []engine.RemoteMember
	Remove  []engine.RemoteMember
}

// Response is the response to a Request. Err is set if no complete, readable response was received; Status is then 0 if no status line was
// received.
type Response struct {
	Status     int
	ETag       string
	RetryAfter string       // unparsed header
	Txn        string       // the header Set-Txn
	Location   string       // the header; relative if it is below the base URL
	Body       *scim.Object // nil if the body was empty
	// Page is the media type of an error body that is not JSON, such as the HTML page of a proxy. Empty otherwise.
	Page string
	Err  error
}

// Outcome is the result of a sequence. After a failure the Outcome includes what the earlier steps have done and learned.
type Outcome struct {
	Class     engine.Class
	Operation engine.Operation
	RemoteID  string // id on the target, if known; empty if the resource no longer exists
	Name      string // userName or displayName on the target, if known
	Origin    engine.Origin
	Status    int    // of the response that determined the outcome; 0 for none
	ScimType  string // of the target's error body
	Message   string // why the class is not Done; names the request and the response
	// RetryAfter is the unparsed header of a Throttled outcome, empty if absent.
	RetryAfter string

	// Halted reports that the class is Held only because an operator has halted the Operation. The principal then requires no decision of an
	// operator.
	Halted bool

	// Pending is a change that the target has accepted and not yet carried out; nil if there is no such change. It is also set with a class
	// other than Accepted if the target could not be read.
	Pending *engine.Pending
	// Confirmed is the operation of an earlier accepted change that the target has carried out; empty if no change was confirmed.
	Confirmed engine.Operation
	// Lapsed reports that the class is Transient because an accepted change was not carried out in time, although the target responds.
	Lapsed bool

	// Learned are the traits that the sequence found present (true) or no longer present (false).
	Learned engine.Traits
	// IgnoredAttributes are the attributes of a user that were sent and not found on the target, by path.
	IgnoredAttributes map[string]engine.IgnoredAttribute
	// PasswordVersion is the version of the password that the account of a user is known to have, empty if unknown.
	PasswordVersion string

	// Batch is the learned maximum number of members per request; 0 if the sequence learned no limit. Batch and the fields below are for
	// groups only.
	Batch int
	// MembersUnknown reports that the members on the target are unknown.
	MembersUnknown bool
	// Full reports that a push of all members was started and not acknowledged.
	Full bool
}

// learn records traits, both for the rest of the sequence and for later ones.
func (o *Outcome) learn(known, found engine.Traits) {
	for t, holds := range found {
		if known[t] == holds {
			continue
		}
		if o.Learned == nil {
			o.Learned = engine.Traits{}
		}
		known[t], o.Learned[t] = holds, holds
	}
}

// Step is the next step of a sequence: exactly one of Request and Outcome is set.
type Step struct {
	Request *Request
	Outcome *Outcome
	// Acked is the change of group members that the last response acknowledged, nil if it acknowledged none.
	Acked *Change
	// Push is set for a request that changes the members of a known group, and nil otherwise.
	Push *Push
}

// Push is the progress of the push of a group before a request that changes its members.
type Push struct {
	RemoteID string
	Name     string // displayName on the target, if known
	Origin   engine.Origin
	// Add and Remove are the members that are still to be sent, starting with those of the request. They must not be modified.
	Add, Remove []engine.RemoteMember
	Batch       int // maximum number of members per request
}

// Next returns the members of the requests that follow the first `after` requests, for at most the given number of requests.
func (p Push) Next(after, requests int) (add, remove []engine.RemoteMember) {
	before, n := after*p.Batch, (after+requests)*p.Batch
	skip, _ := split(p.Remove, before)
	remove, _ = split(p.Remove, n)
	first, _ := split(p.Add, before-len(skip))
	add, _ = split(p.Add, n-len(remove))
	return add[len(first):], remove[len(skip):]
}

// Further reports whether further requests of the push follow the pending one. A nil push has none.
func (p *Push) Further() bool { return p != nil && len(p.Add)+len(p.Remove) > p.Batch }

// Sequence is a running sequence. It is used by one goroutine at a time.
type Sequence struct {
	next   func(Response) Step
	accept func(Request, Response) Step // called instead of next if the response has the status 202
	step   Step
	sofar  func() Outcome // the outcome up to the pending step
}

// Step returns the pending step. After an Outcome, the step no longer changes.
func (s *Sequence) Step() Step { return s.step }

// Feed processes the response to the pending request and returns the next step.
func (s *Sequence) Feed(r Response) Step {
	if s.step.Request == nil {
		return s.step
	}
	if r = errorInSuccess(r); deferred(s.step.Request, r) {
		s.step = s.accept(*s.step.Request, r)
	} else {
		s.step = s.next(r)
	}
	return s.step
}

// Stop ends the sequence without sending its pending request. The outcome has the class, the operation and the message of the outcome
// `why`, and the results of the earlier requests. Stop has no effect after an Outcome.
func (s *Sequence) Stop(why Outcome) Step {
	if s.step.Request == nil {
		return s.step
	}
	out := s.sofar()
	out.Class, out.Operation, out.Message, out.Halted = why.Class, why.Operation, why.Message, why.Halted
	s.step = Step{Outcome: &out}
	return s.step
}
