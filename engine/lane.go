package engine

import (
	"context"
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

// Leases is where lanes are kept. Its implementations are the engine's stores.
type Leases interface {
	// Reset ends the leases that an earlier run under the same name left behind, e.g. because it was killed, and raises the
	// epochs of their lanes.
	Reset(ctx context.Context, owner string) error
	// Claim takes up to limit lanes that are due at now and not leased to anybody, until the given instant, and raises their
	// epochs. next is when the first of the other lanes comes due or free; zero when none will.
	Claim(ctx context.Context, owner string, now, until time.Time, limit int) (leases []Lease, next time.Time, err error)
	// Extend prolongs the lease, or returns ErrLeaseLost.
	Extend(ctx context.Context, l Lease, until time.Time) error
	// Release gives the lane back with the hold. It comes due again when its next principal does, but not before notBefore
	// nor before the hold ends; when somebody wanted holds to end since the claim, neither keeps it. ErrLeaseLost when there is nothing to give back.
	Release(ctx context.Context, l Lease, hold Hold, notBefore time.Time) error
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
