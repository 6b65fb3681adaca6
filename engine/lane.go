package engine

import (
	"errors"
	"time"
)

// ErrLeaseLost is returned when another engine has taken the lane. Results of work under the lost lease must not be written.
var ErrLeaseLost = errors.New("lane: the lease was lost")

// Lease is the right to work on one app until Until.
type Lease struct {
	App   string
	Epoch int64 // increases with every claim
	Until time.Time
	Hold  Hold // hold of the lane at the time of the claim
	// Kicks is the number of requests to end a hold, at the time of the claim. If the number has changed at the release, the release ends the
	// hold.
	Kicks int64
	// Marks is the number of marks of principals at the time of the claim. During a quarantine a later mark makes the lane pending, because
	// deactivations may still be possible.
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
	Streak int // number of times the hold was prolonged
}

// Lane is the state of an app.
type Lane struct {
	App    string
	Owner  string // engine that holds the lease, empty if none
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
