package engine

import (
	"errors"
	"time"
)

// ErrLeaseLost says that the lane belongs to somebody else by now: what was done under the lease must not be written.
var ErrLeaseLost = errors.New("lane: the lease was lost")

// Lease is the right to work on one app until Until.
type Lease struct {
	App   string
	Epoch int64 // grows with every claim
	Until time.Time
	Hold  Hold // as the last owner left it
	// Kicks counts how often somebody wanted a hold to end. The store compares it at the release.
	Kicks int64
	// Marks counts the marks of principals. During a quarantine, whoever marks one makes the lane due; so that what may still be done is done.
	Marks int64
}

// HoldKind says why a lane is not running.
type HoldKind string

// The kinds of holds. The zero value means that the lane is free to run.
const (
	HoldNone       HoldKind = ""
	HoldPause      HoldKind = "pause"      // the target asked for it (429, 503 with Retry-After)
	HoldBreaker    HoldKind = "breaker"    // several failures in a row
	HoldQuarantine HoldKind = "quarantine" // the credentials are refused
)

// Hold keeps a lane from running. When Until has passed, one principal is tried; that decides whether the hold ends or grows.
type Hold struct {
	Kind   HoldKind
	Until  time.Time
	Reason string
	Streak int // how often it was prolonged
}

// Lane is the state of an app.
type Lane struct {
	App    string
	Owner  string // who works on it now, empty when nobody does
	Until  time.Time
	NextAt time.Time // when it is due; zero when nothing is
	Hold   Hold
	// Learned is what was found out about the target.
	Learned    Learned
	Suspension Suspension // why nothing is sent, apart from a hold; zero when nothing stands in the way
}

// Suspension is why a lane sends nothing, other than a hold, which the target has brought about.
type Suspension struct {
	Reason SuspensionReason `json:"reason,omitempty"`
	Until  time.Time        `json:"until,omitzero"` // of a maintenance window; others end with a Mark or Kick
}

// SuspensionReason says why a lane rests.
type SuspensionReason string

// The reasons.
const (
	SuspensionPaused      SuspensionReason = "paused"      // Target.Paused
	SuspensionMaintenance SuspensionReason = "maintenance" // Target.Maintenance
	SuspensionUnknownApp  SuspensionReason = "unknown-app" // the directory has no target for the app
)
