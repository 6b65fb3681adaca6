package engine

import (
	"errors"
	"time"
)

// ErrLeaseLost is returned when another engine has taken the lane. Results of work under the lost lease must not be written.
var ErrLeaseLost = errors.New("engine: the lease was lost")

// Lease is the right of a process to work on one app. It lasts until the process releases it, or until the process is no longer valid and
// another process takes the lane over.
type Lease struct {
	App     string
	Epoch   int64  // increases with every claim and takeover
	Process string // id of the process
	Tenant  string // tenant of the app; empty if the store divides the lanes among no tenants
	Hold    Hold   // hold of the lane at the time of the claim
	// Kicks is the number of requests to end a hold, at the time of the claim. If the number has changed at the release, the release ends the
	// hold.
	Kicks int64
	// Marks is the number of marks of principals at the time of the claim. During a quarantine a later mark makes the lane pending, because
	// deactivations may still be possible.
	Marks int64
	// Recheck is the time at which principals that were in flight when an earlier process died are requeued; zero if there are none.
	Recheck time.Time
}

// HoldKind is the reason why a lane is on hold.
type HoldKind string

// The kinds of holds. The zero value means that the lane is not on hold.
const (
	HoldNone       HoldKind = ""
	HoldPause      HoldKind = "pause"      // the target requested it (429, 503 with Retry-After)
	HoldBreaker    HoldKind = "breaker"    // several failures in a row
	HoldQuarantine HoldKind = "quarantine" // the target rejects the credentials
)

// Hold prevents a lane from running. After Until the engine tries one principal; the result ends or prolongs the hold.
type Hold struct {
	Kind   HoldKind
	Until  time.Time
	Reason string
	Streak int // number of times the hold was prolonged
}

// Lane is the state of an app.
type Lane struct {
	App   string
	Owner string // name of the process that has the lease, empty if none
	// Until is the time at which the process of the lease is dead, unless it sends a heartbeat before; zero if no process has the lease, or if
	// the database belongs to one process.
	Until  time.Time
	NextAt time.Time // time of the next work; zero if no work is scheduled
	Hold   Hold
	// Learned are the detected properties of the target.
	Learned    Learned
	Suspension Suspension // reason for sending nothing, other than a hold; zero if not suspended
}

// Suspension is the reason why a lane sends nothing although it is not on hold. The target causes holds; the directory causes suspensions.
type Suspension struct {
	Reason SuspensionReason `json:"reason,omitempty"`
	Until  time.Time        `json:"until,omitzero"` // end of a maintenance window; other suspensions end with a Mark or Kick
}

// SuspensionReason is the reason why a lane is suspended.
type SuspensionReason string

// The reasons.
const (
	SuspensionPaused      SuspensionReason = "paused"      // Target.Paused
	SuspensionMaintenance SuspensionReason = "maintenance" // Target.Maintenance
	SuspensionUnknownApp  SuspensionReason = "unknown-app" // the directory has no target for the app
)
