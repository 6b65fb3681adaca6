package engine

import (
	"errors"
	"time"
)

// ErrLeaseLost is returned when another engine has taken the lane: results of work under the lease must not be written.
var ErrLeaseLost = errors.New("lane: the lease was lost")

// Lease is the right to work on one app until Until.
type Lease struct {
	App   string
	Epoch int64 // grows with every claim
	Until time.Time
	Hold  Hold // as the last owner left it
	// Kicks is the number of requests to end a hold. The store compares it at the release.
	Kicks int64
	// Marks is the number of marks of principals. During a quarantine a mark makes the lane pending, because deactivations may still be
	// possible.
	Marks int64
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
	Streak int // number of times it was prolonged
}

// Lane is the state of an app.
type Lane struct {
	App    string
	Owner  string // engine that holds the lease, empty if none
	Until  time.Time
	NextAt time.Time // when the next work is scheduled; zero if none is
	Hold   Hold
	// Learned are the detected properties of the target.
	Learned    Learned
	Suspension Suspension // why nothing is sent, other than a hold; zero if not suspended
}

// Suspension is why a lane sends nothing, other than a hold, which the target causes.
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
