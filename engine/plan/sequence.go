package plan

import "github.com/scimwright/scimwright/scim"

// Want is the state that a principal should have at the target.
type Want string

// The states. Absent is a tombstone: the directory says that the principal is gone, nobody infers it. Keep is for users:
// whatever the target has stays as it is, and nothing is sent.
const (
	Active   Want = "active"
	Inactive Want = "inactive"
	Absent   Want = "absent"
	Keep     Want = "keep"
)

// Style says which requests a target is sent for an update.
type Style string

// The update styles. Catalog uses PATCH for activation, deactivation and group membership and PUT for all other updates;
// Wizard uses PUT for everything. Auto is Wizard for a target that says that it has no PATCH, and otherwise Catalog: the caller
// finds out, a sequence reads it as Catalog. So does the zero value.
const (
	Catalog Style = "catalog"
	Wizard  Style = "wizard"
	Auto    Style = "auto"
)

// Fallback says whether a sequence may use another form of a request than the one that the style names first.
type Fallback string

// The fallbacks. FallbackLearn tries another form after a rejection, or after a success without effect, and uses [Traits].
// FallbackNone sends the forms of the style only, and ignores [Traits]. The zero value reads as FallbackLearn.
const (
	FallbackLearn Fallback = "learn"
	FallbackNone  Fallback = "none"
)

// Missing says what happens when the target no longer knows a resource that was provisioned before.
type Missing string

// The policies. Recreate looks the resource up by name and creates it when that finds nothing; Fail reports it. The zero
// value reads as Recreate.
const (
	Recreate Missing = "recreate"
	Fail     Missing = "fail"
)

// Existing says what happens to an account that a lookup finds and that was not created by us.
type Existing string

// The policies. LinkAuto takes it over; LinkAsk holds the user until somebody says which account is meant; LinkNever refuses the
// user. The zero value reads as LinkAuto.
const (
	LinkAuto  Existing = "auto"
	LinkAsk   Existing = "ask"
	LinkNever Existing = "never"
)

// Origin says how the engine came to know a remote resource.
type Origin string

// The origins. Imported means that somebody, or a rule of an import, said whose it is. Unconfirmed means that a create was sent and its answer was lost, so that a resource without a known id may
// exist.
const (
	Created     Origin = "created"
	Linked      Origin = "linked"
	Imported    Origin = "imported"
	Unconfirmed Origin = "unconfirmed"
)

// Operation names what a sequence did, in the order of weight: a sequence that looked up, created and patched says Create.
type Operation string

// The operations.
const (
	OpNone       Operation = "none"
	OpLookup     Operation = "lookup"
	OpCreate     Operation = "create"
	OpLink       Operation = "link"
	OpUpdate     Operation = "update"
	OpReactivate Operation = "reactivate"
	OpDeactivate Operation = "deactivate"
	OpMembers    Operation = "members"
	OpDelete     Operation = "delete"
	OpUnlink     Operation = "unlink"
)

// Class says how a sequence ended, and so what is to be done about it.
type Class string

// The classes of outcomes.
const (
	Done      Class = "done"      // the target has the desired state
	Skipped   Class = "skipped"   // the target's options exclude what would be needed; nothing was changed
	Held      Class = "held"      // somebody has to decide, e.g. several accounts match
	Rejected  Class = "rejected"  // the target refuses this principal; repeating the same is no use
	Transient Class = "transient" // network, timeout, 5xx, unreadable answer: the same may work later
	Throttled Class = "throttled" // 429, or 503 with Retry-After: the whole target wants a pause
	Denied    Class = "denied"    // 401 or 403: the credentials are not accepted
	Accepted  Class = "accepted"  // 202: the target may carry the change out later; Outcome.Pending describes it
)

// Request is one SCIM request, relative to the target's base URL.
type Request struct {
	Method  string
	Path    string       // with the query, escaped: /Users?filter=userName%20eq%20%22x%22&startIndex=1&count=100
	IfMatch string       // entity tag, empty for none
	Body    *scim.Object // nil for none
	Members *Change      // what it does to the members of a group, nil for nothing
	Op      Operation    // what it changes: OpCreate, OpUpdate, OpReactivate, OpDeactivate, OpMembers or OpDelete; empty for reads
	Also    Operation    // what it changes besides, e.g. OpUpdate for a PUT that reactivates and OpMembers for a group that is created with members
	// Alternative is set when it has another form than the one that the style names first. It is always nil with FallbackNone.
	Alternative *Alternative
}

// Change is what one request does to a group.
type Change struct {
	Rename  bool // the group gets its new name
	Replace bool // the members become those in Add
	Read    bool // with Replace, when acknowledged: that was read and not sent, and there are members that were not asked for
	Add     []Member
	Remove  []Member
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
	Class     Class
	Operation Operation
	RemoteID  string // the id at the target, as far as known; empty after the resource was found to be gone
	Name      string // userName or displayName that the target has, as far as known
	Origin    Origin
	Status    int    // of the answer that decided; 0 for none
	ScimType  string // of the target's error body
	Message   string // why it is not Done; names what was sent and what came back
	// RetryAfter is the header of a Throttled outcome as it came, empty for none.
	RetryAfter string

	// Halted says that it is Held because Operation is halted: nobody has to decide about this principal.
	Halted bool

	// Pending is a change that the target has accepted and was not seen to have carried out; nil for none. It comes with other classes
	// than Accepted where the target could not be read.
	Pending *Pending
	// Confirmed is the operation of a change that was accepted earlier, and was seen to be carried out; empty for none.
	Confirmed Operation
	// Lapsed says that it is Transient because such a change was not carried out in time. The target has answered.
	Lapsed bool

	// Learned are the traits that the sequence found the target to have (true), or not to have any more (false).
	Learned Traits
	// Unkept are the attributes of a user that were sent and not seen at the target, by path.
	Unkept map[string]Unkept
	// PasswordVersion is the version of the password that the account of a user is known to have, empty for none.
	PasswordVersion string

	// Groups only. Batch is how many members one request may carry by what the target accepted or refused; 0 when that says
	// nothing new.
	Batch int
	// Unsure says that the target holds other members than were pushed, and which is not known.
	Unsure bool
	// Full says that the whole list was to be sent, and was not acknowledged.
	Full bool
}

// learn notes traits, both for the rest of the sequence and for those that follow.
func (o *Outcome) learn(known, found Traits) {
	for t, holds := range found {
		if known[t] == holds {
			continue
		}
		if o.Learned == nil {
			o.Learned = Traits{}
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
	Origin   Origin
	// Add and Remove are what is left to be sent, with the members of the request at the beginning. They must not be changed.
	Add, Remove []Member
	Batch       int // how many members one request carries, at most
}

// Next returns the members that so many requests will be about, at most, after some others.
func (p Push) Next(after, requests int) (add, remove []Member) {
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
	if r = honest(r); deferred(s.step.Request, r) {
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

// Member is a user in a group of the target.
type Member struct {
	User    string // id of the user in the directory
	ID      string // id of the user at the target
	Display string // userName, sent as display
}
