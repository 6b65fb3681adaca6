package engine

// Origin says how the engine came to know a remote resource.
type Origin string

// The origins. Imported means that somebody, or a rule of an import, said whose it is. Unconfirmed means that a create was sent and its
// answer was lost, so that a resource without a known id may exist.
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
