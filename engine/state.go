package engine

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// MaxWaitingOn is how many of the users that a principal waits on are named: State.WaitingOn and the message.
const MaxWaitingOn = 10

// MarkAll says that the desired state of many principals of an app may have changed: all that the engine was ever told about,
// or those of a kind or with a status.
type MarkAll struct {
	App string // required
	// Kind restricts it to users or groups. Defaults to both.
	Kind Kind
	// Status restricts it to principals with one of these. Defaults to all. «Retry all» is StatusFailed, StatusHeld and
	// StatusRetrying, with Retry.
	Status []Status
	// Retry and AllMembers are those of Mark. AllMembers is for the groups among them.
	Retry      bool
	AllMembers bool
}

// ErrNotFound says that the engine was never told about that principal or app.
var ErrNotFound = errors.New("engine: not found")

// ErrStale says that what is to be approved is not what was looked at any more.
var ErrStale = errors.New("engine: the state has moved")

// Execer runs statements inside the caller's transaction. *sql.Tx and *sql.Conn satisfy it.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Mark says that the desired state of a principal may have changed.
type Mark struct {
	App  string
	Kind Kind
	ID   string
	// Members names the users whose membership in this group changed (added or removed: the directory will be asked).
	Members []string
	// AllMembers asks for the whole membership of this group to be read and pushed again.
	AllMembers bool
	// Retry ends a back-off of this principal and the hold of its lane, instead of waiting for them.
	Retry bool
}

// Status is how far a principal has come.
type Status string

// The statuses.
const (
	StatusDirty     Status = "dirty"     // a change waits to be provisioned
	StatusClean     Status = "clean"     // the target has the desired state
	StatusSkipped   Status = "skipped"   // the target's options exclude what would be needed
	StatusWaiting   Status = "waiting"   // up to date but for users that are not provisioned yet: members of a group, the manager of a user
	StatusRetrying  Status = "retrying"  // failed; is tried again at NextAt
	StatusFailed    Status = "failed"    // refused by the target; waits for the next Mark
	StatusHeld      Status = "held"      // needs a decision; waits for the next Mark
	StatusPending   Status = "pending"   // the target has accepted a change (202), and is read at NextAt to see whether it is carried out
	StatusDismissed Status = "dismissed" // marked as done by somebody, or dropped: nothing is due until the next Mark
)

// State is what the engine knows about one principal at one app.
type State struct {
	App  string
	Kind Kind
	ID   string

	Desired int64 // generation of the last Mark
	Synced  int64 // generation that the target is known to have; equal to Desired when nothing is to be done
	Full    int64 // groups: the whole membership is due when greater than Synced

	Status     Status
	Want       Want      // what was last worked towards, empty before the first time
	Halted     bool      // held because LastOperation is halted: provision.Apps.Resume makes it due
	MayExist   bool      // Active was worked towards and no deactivation was confirmed since, so an account may exist
	Activating bool      // Active is wanted for the first time, or again after a deactivation, and was not reached since
	NextAt     time.Time // when it is due; zero when nothing is due
	Attempts   int       // failures in a row

	RemoteID   string // id at the target, empty when not known
	RemoteName string // userName or displayName at the target, as last seen
	PreviousID string // id at the target before RemoteID, empty when there was none
	Origin     Origin

	// IgnoredAttributes are the attributes that were sent and were not seen at the target, by path: users only.
	IgnoredAttributes map[string]IgnoredAttribute
	// PasswordVersion is the UserState.PasswordVersion that the account is known to have, empty for none.
	PasswordVersion string
	// Manager is the last UserState.Manager that the account was to have. It stays when the user is to have none any more: the
	// account is then kept without one.
	Manager string
	// WaitingOn are the users that a principal of the status StatusWaiting lacks, ascending, at most MaxWaitingOn.
	WaitingOn []string
	// Pending is a change that the target has accepted and was not seen to have carried out, nil for none. Nothing is sent before that is
	// seen or its time is up, whatever the status.
	Pending *Pending

	LastOperation Operation
	LastStatus    int    // HTTP status that decided, 0 for none
	LastError     string // empty after a success; of StatusWaiting the users that are waited for
	UpdatedAt     time.Time
	DirtySince    time.Time // the first Mark whose change has not arrived; zero when nothing waits
}

// StateQuery selects states. Empty fields do not restrict.
type StateQuery struct {
	App    string
	Kind   Kind
	ID     string
	Status Status
	// RemoteID selects those that have this id at the target.
	RemoteID string
	// PreviousID selects those that had this id at the target before the one that they have now, if any.
	PreviousID string
	After      *State // the last one of the page before; the order is by app, kind, id
	Limit      int    // Defaults to 100
}

// Waiting is a principal that is not settled, and why.
type Waiting struct {
	App    string
	Kind   Kind
	ID     string
	Status Status
	Since  time.Time // the first change that has not arrived
	Reason string
	Until  time.Time // when it is looked at again; zero when that is not known, or is now
}

// Pending is a change that the target has accepted (202) and was not seen to have carried out. It can be stored: it has digests instead of
// values, and no bodies.
type Pending struct {
	Operation Operation `json:"operation"` // of the request
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Txn       string    `json:"txn,omitempty"`      // Set-Txn of the response (RFC 9967 section 3), empty for none
	Location  string    `json:"location,omitempty"` // of the response, relative to the base URL where it is below that
	RemoteID  string    `json:"remoteId,omitempty"` // of the resource that the change is about; of a create only where Location names it

	// Gen, At and Deadline are the caller's to fill in: the generation that the change belongs to, when it was accepted, and until when
	// the target may carry it out.
	Gen      int64     `json:"gen"`
	At       time.Time `json:"at"`
	Deadline time.Time `json:"deadline"`
	Reads    int       `json:"reads,omitempty"` // since then

	Version         string      `json:"version,omitempty"`         // entity tag of the resource before the change, empty when not known
	PasswordVersion string      `json:"passwordVersion,omitempty"` // of the password that is set by it, empty for none
	Expected        Expectation `json:"expected,omitzero"`
}

// Expectation is what a resource shows once a change was carried out. Values are digests.
type Expectation struct {
	Attributes map[string]Expected `json:"attributes,omitempty"` // of a user, by path
	Name       string              `json:"name,omitempty"`       // displayName of a group
	Members    string              `json:"members,omitempty"`    // ids of all members of a group
	Add        []string            `json:"add,omitempty"`        // ids of users that are in a group
	Remove     []string            `json:"remove,omitempty"`     // ids of users that are not in it
	Gone       bool                `json:"gone,omitempty"`       // the resource does not exist
}

// Expected is what one attribute shows. A target may show more than it was sent, so that each simple value has a digest.
type Expected struct {
	Sent   string            `json:"sent"` // the digest in [IgnoredAttribute]
	Values map[string]string `json:"values,omitempty"`
}

// String returns a text such as "accepted at 2026-01-02T15:04:05Z with transaction t81c0".
func (p *Pending) String() string {
	text := "accepted at " + p.At.UTC().Format(time.RFC3339)
	if p.Txn != "" {
		text += " with transaction " + p.Txn
	}
	return text
}

// IgnoredAttribute is what is known about an attribute that was sent to an account and was not seen there, by its path. A value is
// forgotten as soon as the account is read and has it, or when another value is desired: that one gets rounds of its own.
type IgnoredAttribute struct {
	Sent   string `json:"sent"`           // digest of the value
	Rounds int    `json:"rounds"`         // how often it was sent, and seen not to be there
	Open   bool   `json:"open,omitempty"` // it was sent, and the account was not read since
	// Ignored says that it was sent often enough: the target's value is left alone.
	Ignored bool `json:"ignored,omitempty"`
}

// RemoteMember is a user in a group of the target.
type RemoteMember struct {
	User    string // id of the user in the directory
	ID      string // id of the user at the target
	Display string // userName, sent as display
}
