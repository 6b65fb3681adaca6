package engine

// Origin is how the engine obtained a link to a remote resource.
type Origin string

// The origins. Imported means that an operator or a rule of an import assigned the resource. Unconfirmed means that the response to a
// create request was lost, so that a resource with an unknown id may exist.
const (
	Created     Origin = "created"
	Linked      Origin = "linked"
	Imported    Origin = "imported"
	Unconfirmed Origin = "unconfirmed"
)

// Operation is the most significant action of a sequence. For example, a sequence that looks up, creates and patches an account has
// OpCreate.
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
