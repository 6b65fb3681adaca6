package engine

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// MaxWaitingOn is the maximum number of users that State.WaitingOn contains and that its message in State.LastError names.
const MaxWaitingOn = 10

// MarkAll marks all known principals of an app, or those of a kind or with a status: their desired state may have changed.
type MarkAll struct {
	App string // required
	// Kind restricts the marks to users or to groups. Default: both.
	Kind Kind
	// Status restricts the marks to principals with one of these statuses. Default: all statuses. To retry all failures, set StatusFailed,
	// StatusHeld and StatusRetrying, with Retry.
	Status []Status
	// Retry and AllMembers have the same meaning as in Mark. AllMembers applies to the groups.
	Retry      bool
	AllMembers bool
}

// ErrNotFound is returned for a principal or app without a state in the engine.
var ErrNotFound = errors.New("engine: not found")

// ErrStale is returned when the state changed after the caller read it, so that a decision of the caller (approval, dismissal, link, plan)
// is based on an outdated state.
var ErrStale = errors.New("engine: the state has changed")

// Execer runs statements inside the caller's transaction. *sql.Tx and *sql.Conn satisfy it.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Mark reports that the desired state of a principal may have changed.
type Mark struct {
	App  string
	Kind Kind
	ID   string
	// Members are the users whose membership in this group changed. For each of them the engine queries the directory.
	Members []string
	// AllMembers reads the complete membership of this group and pushes it again.
	AllMembers bool
	// Retry ends the backoff of this principal and the hold of its lane immediately.
	Retry bool
}

// Status is the synchronization status of a principal.
type Status string

// The statuses.
const (
	StatusDirty     Status = "dirty"     // a change waits to be provisioned
	StatusClean     Status = "clean"     // the target has the desired state
	StatusSkipped   Status = "skipped"   // the target's options exclude the required change
	StatusWaiting   Status = "waiting"   // synchronized except for users that are not provisioned yet: group members, or the user's manager
	StatusRetrying  Status = "retrying"  // failed; is retried at NextAt
	StatusFailed    Status = "failed"    // rejected by the target; waits for the next Mark
	StatusHeld      Status = "held"      // needs a decision; waits for the next Mark
	StatusPending   Status = "pending"   // the target has accepted a change (202); the engine checks the result at NextAt
	StatusDismissed Status = "dismissed" // marked as resolved by an operator, or dropped: idle until the next Mark
)

// State is the stored state of one principal in one app.
type State struct {
	App  string
	Kind Kind
	ID   string

	Desired int64 // generation of the last Mark
	Synced  int64 // generation that the target is known to have; equal to Desired if nothing is pending
	Full    int64 // groups: a push of all members is pending if greater than Synced

	Status     Status
	Want       Want      // desired state at the last attempt, empty before the first
	Halted     bool      // on hold because LastOperation is halted; provision.Apps.Resume requeues it
	MayExist   bool      // Active was attempted and no deactivation confirmed since: an account may exist
	Activating bool      // Active is desired for the first time, or again after a deactivation, and not yet reached
	NextAt     time.Time // time of the next attempt; zero if none is scheduled
	Attempts   int       // failures in a row

	RemoteID   string // id on the target, empty if unknown
	RemoteName string // userName or displayName on the target, as last seen
	PreviousID string // id on the target before RemoteID, empty if none
	Origin     Origin

	// IgnoredAttributes are the attributes that were sent and were not found on the target, by path: users only.
	IgnoredAttributes map[string]IgnoredAttribute
	// PasswordVersion is the UserState.PasswordVersion that the account is known to have, empty if unknown.
	PasswordVersion string
	// Manager is the last UserState.Manager that was desired for the account. The value remains when no manager is desired any longer, so that
	// the engine removes the manager from the account.
	Manager string
	// WaitingOn are the users without an account that a principal with StatusWaiting waits for, ascending, at most MaxWaitingOn.
	WaitingOn []string
	// Pending is a change that the target has accepted and not yet carried out, nil if there is no such change. Until a read confirms the
	// change or its deadline passes, the engine sends no write for the principal, whatever the status.
	Pending *Pending

	LastOperation Operation
	LastStatus    int    // HTTP status of the response that determined the outcome, 0 for none
	LastError     string // empty after a success; for StatusWaiting a message that names the missing users
	UpdatedAt     time.Time
	DirtySince    time.Time // time of the first unsynchronized Mark; zero if synchronized
}

// StateQuery selects states. Empty fields do not restrict the result.
type StateQuery struct {
	App    string
	Kind   Kind
	ID     string
	Status Status
	// RemoteID selects states with this id on the target.
	RemoteID string
	// PreviousID selects states whose State.PreviousID equals this id.
	PreviousID string
	After      *State // last state of the previous page; the order is by app, kind, id
	Limit      int    // Default: 100
}

// Waiting is a principal that has not converged, and the reason.
type Waiting struct {
	App    string
	Kind   Kind
	ID     string
	Status Status
	Since  time.Time // the first unsynchronized change
	Reason string
	Until  time.Time // end of the backoff, hold, suspension or time limit in Reason; zero if unknown
}

// Pending is a change that the target has accepted (202) and not yet carried out. It can be stored: it contains digests instead of values,
// and no bodies.
type Pending struct {
	Operation Operation `json:"operation"` // of the request
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Txn       string    `json:"txn,omitempty"`      // Set-Txn of the response (RFC 9967 section 3), empty if absent
	Location  string    `json:"location,omitempty"` // Location of the response; relative if it is below the base URL
	RemoteID  string    `json:"remoteId,omitempty"` // id of the changed resource; for a create only if Location contains it

	// Gen, At and Deadline are set by the caller: the generation of the change, the time of its acceptance, and the time limit for the target.
	Gen      int64     `json:"gen"`
	At       time.Time `json:"at"`
	Deadline time.Time `json:"deadline"`
	Reads    int       `json:"reads,omitempty"` // number of reads since the change was accepted

	Version         string      `json:"version,omitempty"`         // entity tag of the resource before the change, empty if unknown
	PasswordVersion string      `json:"passwordVersion,omitempty"` // version of the password that the change sets, empty if it sets none
	Expected        Expectation `json:"expected,omitzero"`
}

// Expectation is the state of a resource after a change was carried out. Values are digests.
type Expectation struct {
	Attributes map[string]Expected `json:"attributes,omitempty"` // of a user, by path
	Name       string              `json:"name,omitempty"`       // displayName of a group
	Members    string              `json:"members,omitempty"`    // ids of all members of a group
	Add        []string            `json:"add,omitempty"`        // ids of users that are in the group
	Remove     []string            `json:"remove,omitempty"`     // ids of users that are not in the group
	Gone       bool                `json:"gone,omitempty"`       // the resource does not exist
}

// Expected is the expected value of one attribute. Values has one digest for each simple value, because a target may return sub-attributes
// in addition to those that were sent.
type Expected struct {
	Sent   string            `json:"sent"` // as in IgnoredAttribute.Sent
	Values map[string]string `json:"values,omitempty"`
}

// String returns a description such as "accepted at 2026-01-02T15:04:05Z with transaction t81c0".
func (p *Pending) String() string {
	text := "accepted at " + p.At.UTC().Format(time.RFC3339)
	if p.Txn != "" {
		text += " with transaction " + p.Txn
	}
	return text
}

// IgnoredAttribute records that the engine sent an attribute to an account and that a later read did not return the value. The record is
// deleted when a read returns the value, or when another value is desired: Rounds counts the attempts with one value.
type IgnoredAttribute struct {
	Sent   string `json:"sent"`           // digest of the value
	Rounds int    `json:"rounds"`         // number of times the value was sent and not found afterwards
	Open   bool   `json:"open,omitempty"` // the value was sent, and the account has not been read since
	// Ignored reports whether the value was sent so often that the engine no longer sends it.
	Ignored bool `json:"ignored,omitempty"`
}

// RemoteMember is a user in a group on the target.
type RemoteMember struct {
	User    string // id of the user in the directory
	ID      string // id of the user on the target
	Display string // userName, sent as display
}
