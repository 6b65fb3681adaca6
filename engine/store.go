package engine

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/engine/plan"
)

// ErrNotFound says that the engine was never told about that principal or app.
var ErrNotFound = errors.New("engine: not found")

// ErrLeaseLost says that another engine owns the lane by now; the result was not stored.
var ErrLeaseLost = lane.ErrLeaseLost

// ErrMoved says that what is to be approved is not what was looked at any more.
var ErrMoved = errors.New("engine: the state has moved")

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

// Outcome is how the sequence ended that led to a status; empty for one that no sequence leads to.
func (s Status) Outcome() plan.Class {
	switch s {
	case StatusClean, StatusWaiting:
		return plan.Done
	case StatusSkipped:
		return plan.Skipped
	case StatusRetrying:
		return plan.Transient
	case StatusFailed:
		return plan.Rejected
	case StatusHeld:
		return plan.Held
	case StatusPending:
		return plan.Accepted
	}
	return ""
}

// State is what the engine knows about one principal at one app.
type State struct {
	App  string
	Kind Kind
	ID   string

	Desired int64 // generation of the last Mark
	Synced  int64 // generation that the target is known to have; equal to Desired when nothing is to be done
	Full    int64 // groups: the whole membership is due when greater than Synced

	Status   Status
	Want     Want      // what was last worked towards, empty before the first time
	Halted   bool      // held because LastOperation is halted: Engine.Resume makes it due
	Tried    bool      // Active was worked towards and no deactivation was confirmed since, so an account may exist
	Anew     bool      // Active is wanted for the first time, or again after a deactivation, and was not reached since
	NextAt   time.Time // when it is due; zero when nothing is due
	Attempts int       // failures in a row

	RemoteID   string // id at the target, empty when not known
	RemoteName string // userName or displayName at the target, as last seen
	FormerID   string // id at the target before RemoteID, empty when there was none
	Origin     plan.Origin

	// Unkept are the attributes that were sent and were not seen at the target, by path: users only.
	Unkept map[string]plan.Unkept
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

	LastOperation plan.Operation
	LastStatus    int    // HTTP status that decided, 0 for none
	LastError     string // empty after a success; of StatusWaiting the users that are waited for
	UpdatedAt     time.Time
	DirtySince    time.Time // the first Mark whose change has not arrived; zero when nothing waits
}

// Member is what the engine knows about one user in one pushed group.
type Member struct {
	User   string
	Want   bool // belongs to the group
	Pushed bool // is in the target's group, as PushedID
	Unsure bool // may be in the target's group, as PushedID: a request was about to be sent. Pushed is false then
	// PushedID is the id the user had at the target when it was pushed, or was about to be pushed.
	PushedID string
	// RemoteID and RemoteName are what the user's own row says now; RemoteID is empty while it is not provisioned.
	RemoteID   string
	RemoteName string
	// Asked counts the marks since the directory was last asked about this member; 0 means that Want is up to date.
	Asked int64
}

// Lane is the state of an app.
type Lane struct {
	App    string
	Owner  string // who works on it now, empty when nobody does
	Until  time.Time
	NextAt time.Time // when it is due; zero when nothing is
	Hold   lane.Hold
	// Learned is what was found out about the target.
	Learned Learned
	Rest    Rest // why nothing is sent, apart from a hold; zero when nothing stands in the way
}

// Intent is what is about to be worked towards.
type Intent struct {
	Kind Kind
	ID   string
	Want Want
	Name string // kept as RemoteName until Tried: the name an account may have been created under
	// Creating says that a create under Name is about to be sent whose object cannot be told from a stranger's by itself: Origin
	// is Unconfirmed until Finish says otherwise. What a group was before is gone.
	Creating bool
	// Manager is the user whose account is about to be written as manager, empty for none: from now on it makes this one due when it moves.
	Manager string
}

// Finish is the end of one sequence, as it is stored.
type Finish struct {
	Kind Kind
	ID   string
	Gen  int64 // the generation that was read before the sequence began

	Status    Status
	Attempts  int
	NextAt    time.Time // zero: not due until the next Mark
	Operation plan.Operation
	HTTP      int
	Error     string
	// Halted says that Status is StatusHeld because Operation is halted. When it is not any more, the principal is due again at once.
	Halted bool
	// Untried takes back what Begin noted for the first time, State.Tried: no account was asked for.
	Untried bool

	RemoteID   string
	RemoteName string
	Origin     plan.Origin
	Unkept     map[string]plan.Unkept // users only
	// PasswordVersion is kept for a user with a RemoteID.
	PasswordVersion string
	Manager         string   // users only: as in State
	WaitingOn       []string // with StatusWaiting

	Pending *Pending // as in State
	// Confirmed is the operation of a Pending before this one that was seen to be carried out, empty for none.
	Confirmed plan.Operation

	// Groups only. Replaced says that the target's list was replaced before Added was added; Whole that nobody else is in it, so that
	// the whole membership is not due any more, unless it was asked for again after Gen. Forget drops all member rows. Unsure
	// makes the whole membership due: what the target has is not known.
	Replaced bool
	Whole    bool
	Unsure   bool
	Forget   bool
	Added    []RemoteMember
	Removed  []RemoteMember

	Exchanges []Attempt // of the sequence, in order; App, Kind, Principal and Gen are filled in by the store
	At        time.Time
}

// Taken is what is stored instead when another user that is to keep it has the account.
func (f Finish) Taken() Finish {
	f.Error = "the account " + f.RemoteID + " belongs to another user already"
	f.Status, f.Attempts, f.NextAt, f.RemoteID, f.Origin = StatusHeld, 1, time.Time{}, "", ""
	return f
}

// RemoteMember is a user as it was pushed to, or removed from, a group of the target.
type RemoteMember = plan.Member

// Attempt is one recorded exchange with a target. Secrets were removed before it was kept.
type Attempt struct {
	ID        int64 // ascending in the order of recording
	App       string
	Kind      Kind
	Principal string
	Gen       int64
	Run       string // the same for all exchanges of one sequence

	At             time.Time
	Method, URL    string
	RequestHeader  http.Header
	RequestBody    string
	Status         int // 0 when no answer came
	ResponseHeader http.Header
	ResponseBody   string // excerpt
	Duration       time.Duration
	Error          string // why the exchange failed, empty when an answer was read to its end
}

// StateQuery selects states. Empty fields do not restrict.
type StateQuery struct {
	App    string
	Kind   Kind
	ID     string
	Status Status
	// RemoteID selects those that have this id at the target.
	RemoteID string
	// FormerID selects those that had this id at the target before the one that they have now, if any.
	FormerID string
	After    *State // the last one of the page before; the order is by app, kind, id
	Limit    int    // Defaults to 100
}

// AttemptQuery selects recorded exchanges, newest first. Empty fields do not restrict.
type AttemptQuery struct {
	App       string
	Kind      Kind
	Principal string
	Before    int64 // only those with a smaller ID
	Limit     int   // Defaults to 100
}

// MemberQuery selects members of a pushed group, ascending by user.
type MemberQuery struct {
	Group string
	Which MemberSet
	After string
	Limit int
}

// MemberSet names a part of a group's members.
type MemberSet int

// The member sets.
const (
	MembersAsked   MemberSet = iota // the directory is to be asked (Asked > 0)
	MembersWanted                   // Want
	MembersPending                  // Want and Pushed differ, or whether it is in the target's group is not known
	MembersAll                      // those and all others that are known
	MembersLeaving                  // those of MembersPending that are not wanted
)

// MemberAnswer is what the directory said about one member.
type MemberAnswer struct {
	User  string
	Want  bool
	Asked int64 // as it was read; a later mark stays
}

// Store keeps the engine's state. Its methods are called from several goroutines and return when the change is durable.
//
// The lane methods are those of [lane.Leases]. Writes that take a lease are refused with ErrLeaseLost, and change nothing,
// when the lane's epoch is not the lease's any more. Rows are always written in the order halts, users, groups, members, lane, ids
// ascending, so that concurrent transactions do not block each other. engine/storetest is this contract as a test.
type Store interface {
	lane.Leases
	HaltStore
	PushStore
	MarkStore
	ProfileStore
	LagStore
	AccountStore
	DriftStore
	ImportStore
	LinkStore
	PlanStore
	LateStore
	EventStore
	RestStore
	TaskStore
	AcceptedStore
	LeaverStore

	// Mark raises the desired generation of each principal within the caller's transaction, creating rows as needed, and makes
	// the lanes due. A principal in back-off stays there unless Retry is set; one that failed for good or is held comes due. One with
	// StatusPending keeps that status, and is read at once if Retry is set.
	Mark(ctx context.Context, tx Execer, now time.Time, marks []Mark) error
	// Forget removes what is known about an app within the caller's transaction: principals, members, exchanges and the lane,
	// so that nothing of it is pending any more. An owner that works on it loses its lease. An unknown app is ignored.
	Forget(ctx context.Context, tx Execer, app string) error
	// Kick ends the holds of the apps and makes them due. Unknown apps are ignored.
	Kick(ctx context.Context, now time.Time, apps []string) error

	// Due returns principals of the app that are due at now: those with StatusPending first; users before groups; users with an account
	// at the target before those without (a deactivation must not wait behind a thousand creates); oldest first.
	Due(ctx context.Context, app string, now time.Time, limit int) ([]State, error)
	// Begin stores what is about to be worked towards. It is durable before the first request, so that the engine knows after
	// a crash for whom an account may have been created, and of whom one that gets an account at that moment is the manager: either that
	// sequence finds this one, or this one reads the account. A group that becomes Active after it was Inactive or Absent is due in full.
	Begin(ctx context.Context, l lane.Lease, intents []Intent) error
	// Finish stores the end of a sequence and its exchanges. When the principal was marked meanwhile, it is due again at once,
	// unless f.NextAt says later. A user that gains, changes or loses its remote id makes those due that are to be active and whose manager
	// it is.
	// A user that gains or changes its remote id makes the groups due that wait for it; one that
	// changes or loses it is no longer in any group of the target. An account belongs to one user of an app: one that
	// is to be active takes it from those that are not to be (Want is neither Active nor Keep), is due again at once to see
	// that theirs was not the last word, and the groups they were in are due in full; from others it does not, and f.Taken is
	// stored. One that is not to be active does not take it, and makes the user due that has it. The status is the stored one:
	// StatusDirty instead of f.Status when the principal is due again at once.
	Finish(ctx context.Context, l lane.Lease, f Finish) (Status, error)

	// Remove asks whether a principal may lose its account now. It returns 0 when it may, from then on for the guard's window, and
	// otherwise how many would lose theirs within the window: those that were let through and not approved, and those that are due
	// or held back.
	Remove(ctx context.Context, l lane.Lease, kind Kind, id string, now time.Time, g Guard) (many int, err error)
	// Approve lets those through that Remove has held back (StatusHeld with the operation RemoveUser or RemoveGroup), and makes them
	// and the lane due. It returns ErrMoved, and changes nothing, unless they are as many as expected.
	Approve(ctx context.Context, app string, now time.Time, expected int) (int, error)

	// Learn applies a change to what is known about the target of an app, and returns what is known then. change may be called
	// more than once.
	Learn(ctx context.Context, l lane.Lease, change func(*Learned)) (Learned, error)
	// Unlearn forgets what is known about the target of an app, its profile too. An unknown app is ignored.
	Unlearn(ctx context.Context, app string) error

	// Members reads members of a pushed group.
	Members(ctx context.Context, app string, q MemberQuery) ([]Member, error)
	// SaveMembers stores what the directory said about members, creating rows as needed. walk is 0 for answers about single
	// users and otherwise numbers a walk through the whole group.
	SaveMembers(ctx context.Context, l lane.Lease, group string, walk int64, answers []MemberAnswer) error
	// EndWalk stores the last answers of a walk as SaveMembers does, and says that with these all members were saved: whoever was not
	// seen under the walk does not belong to the group.
	EndWalk(ctx context.Context, l lane.Lease, group string, walk int64, last []MemberAnswer) error

	// Record stores exchanges that belong to an app and to no principal, such as the test of its connection. Some of the newest are kept.
	Record(ctx context.Context, app string, exchanges []Attempt) error

	// States, Attempts and Lane read; Lane returns ErrNotFound for an app that was never marked. Pending counts principals
	// that are due now or later, of one app or (empty) of all; those of paused apps count.
	States(ctx context.Context, q StateQuery) ([]State, error)
	Attempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
	Lane(ctx context.Context, app string) (Lane, error)
	Pending(ctx context.Context, app string) (int, error)
	// Counts counts the principals of an app by status.
	Counts(ctx context.Context, app string) (map[Status]int, error)
}
