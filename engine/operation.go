package engine

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
