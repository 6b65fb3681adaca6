package engine

import "errors"

// The permissions that the operations of the HTTP APIs of the engine require (Operation.Access in packages control and desiredapi). An
// embedder without Options.Permit does not distinguish them.
const (
	AccessRead    = "read"    // read states, events and desired states; wait
	AccessWrite   = "write"   // change the desired state of users and groups, provision, retry, compare
	AccessApps    = "apps"    // change apps and their targets, halt and resume them, test and probe targets
	AccessApprove = "approve" // approve what needs a decision: blocked removals, plans, snapshots, imported accounts
	AccessFleet   = "fleet"   // operate all apps of all tenants, and their processes
)

// ErrNotPermitted is returned by Options.Permit of packages control and desiredapi for a caller who lacks the permission. The response is
// 403.
var ErrNotPermitted = errors.New("engine: the caller lacks a permission")
