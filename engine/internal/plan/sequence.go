package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Request is one SCIM request, relative to the target's base URL.
type Request struct {
	Method  string
	Path    string           // with the query, escaped: /Users?filter=userName%20eq%20%22x%22&startIndex=1&count=100
	IfMatch string           // entity tag, empty for none
	Body    *scim.Object     // nil for none
	Members *Change          // what it does to the members of a group, nil for nothing
	Op      engine.Operation // what it changes: OpCreate, OpUpdate, OpReactivate, OpDeactivate, OpMembers or OpDelete; empty for reads
	// what it changes besides, e.g. OpUpdate for a PUT that reactivates and OpMembers for a group that is created with members
	Also engine.Operation
	// Alternative is set when it has another form than the one that the style names first. It is always nil with FallbackNone.
	Alternative *Alternative
}

// Change is what one request does to a group.
type Change struct {
	Rename  bool // the group gets its new name
	Replace bool // the members become those in Add
	Read    bool // with Replace, when acknowledged: that was read and not sent, and there are members that were not asked for
	Add     []engine.RemoteMember
	Remove  []engine.RemoteMember
}

// Response is the answer to a Request. Err is set when there was no complete, readable answer; Status then tells how far it
// came (0: no status line).
type Response struct {
	Status     int
	ETag       string
	RetryAfter string       // the header as it came
	Txn        string       // the header Set-Txn
	Location   string       // the header, relative to the base URL where it is below that
	Body       *scim.Object // nil when the body was empty
	// Page is the media type of an error body that is not JSON, such as the HTML page of a proxy. Empty otherwise.
	Page string
	Err  error
}

// Outcome is how a sequence ended. What was learned or done before a failure is told along with it.
type Outcome struct {
	Class     engine.Class
	Operation engine.Operation
	RemoteID  string // the id at the target, as far as known; empty after the resource was found to be gone
	Name      string // userName or displayName that the target has, as far as known
	Origin    engine.Origin
	Status    int    // of the answer that decided; 0 for none
	ScimType  string // of the target's error body
	Message   string // why it is not Done; names what was sent and what came back
	// RetryAfter is the header of a Throttled outcome as it came, empty for none.
	RetryAfter string

	// Halted says that it is Held because Operation is halted: nobody has to decide about this principal.
	Halted bool

	// Pending is a change that the target has accepted and was not seen to have carried out; nil for none. It comes with other classes
	// than Accepted where the target could not be read.
	Pending *engine.Pending
	// Confirmed is the operation of a change that was accepted earlier, and was seen to be carried out; empty for none.
	Confirmed engine.Operation
	// Lapsed says that it is Transient because such a change was not carried out in time. The target has answered.
	Lapsed bool

	// Learned are the traits that the sequence found the target to have (true), or not to have any more (false).
	Learned engine.Traits
	// IgnoredAttributes are the attributes of a user that were sent and not seen at the target, by path.
	IgnoredAttributes map[string]engine.IgnoredAttribute
	// PasswordVersion is the version of the password that the account of a user is known to have, empty for none.
	PasswordVersion string

	// Groups only. Batch is how many members one request may carry by what the target accepted or refused; 0 when that says
	// nothing new.
	Batch int
	// MayBeMember says that the target holds other members than were pushed, and which is not known.
	MayBeMember bool
	// Full says that the whole list was to be sent, and was not acknowledged.
	Full bool
}

// learn notes traits, both for the rest of the sequence and for those that follow.
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

// Step is what a sequence wants next: exactly one of Request and Outcome is set.
type Step struct {
	Request *Request
	Outcome *Outcome
	// Acked is what the answer that led here acknowledged about the members of a group, nil for nothing.
	Acked *Change
	// Push goes with a request that changes the members of a known group, and is nil otherwise.
	Push *Push
}

// Push is how far the push of a group has come when a request is about to change its members.
type Push struct {
	RemoteID string
	Name     string // displayName the target has, as far as known
	Origin   engine.Origin
	// Add and Remove are what is left to be sent, with the members of the request at the beginning. They must not be changed.
	Add, Remove []engine.RemoteMember
	Batch       int // how many members one request carries, at most
}

// Next returns the members that so many requests will be about, at most, after some others.
func (p Push) Next(after, requests int) (add, remove []engine.RemoteMember) {
	before, n := after*p.Batch, (after+requests)*p.Batch
	skip, _ := split(p.Remove, before)
	remove, _ = split(p.Remove, n)
	first, _ := split(p.Add, before-len(skip))
	add, _ = split(p.Add, n-len(remove))
	return add[len(first):], remove[len(skip):]
}

// Sequence is a running sequence. It is used by one goroutine at a time.
type Sequence struct {
	next   func(Response) Step
	accept func(Request, Response) Step // called instead of next where a change was accepted
	step   Step
	sofar  func() Outcome // what was learned and done up to the pending step
}

// Step returns the pending step. After an Outcome it stays the same.
func (s *Sequence) Step() Step { return s.step }

// Feed hands in the answer to the pending request and returns the next step.
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

// Stop ends the sequence instead of its pending request, which was not sent: the outcome has the class, the operation and the message
// of why, and what was learned and done before. It does nothing after an Outcome.
func (s *Sequence) Stop(why Outcome) Step {
	if s.step.Request == nil {
		return s.step
	}
	out := s.sofar()
	out.Class, out.Operation, out.Message, out.Halted = why.Class, why.Operation, why.Message, why.Halted
	s.step = Step{Outcome: &out}
	return s.step
}
