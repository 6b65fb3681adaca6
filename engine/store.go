package engine

import (
	"context"
	"errors"
	"time"
)

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
// The lane methods are those of [Leases]. Writes that take a lease are refused with ErrLeaseLost, and change nothing,
// when the lane's epoch is not the lease's any more. Rows are always written in the order halts, users, groups, members, lane, ids
// ascending, so that concurrent transactions do not block each other. engine/storetest is this contract as a test.
type Store interface {
	Leases
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
	SuspensionStore
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
	Begin(ctx context.Context, l Lease, intents []Intent) error
	// Finish stores the end of a sequence and its exchanges. When the principal was marked meanwhile, it is due again at once,
	// unless f.NextAt says later. A user that gains, changes or loses its remote id makes those due that are to be active and whose manager
	// it is.
	// A user that gains or changes its remote id makes the groups due that wait for it; one that
	// changes or loses it is no longer in any group of the target. An account belongs to one user of an app: one that
	// is to be active takes it from those that are not to be (Want is neither Active nor Keep), is due again at once to see
	// that theirs was not the last word, and the groups they were in are due in full; from others it does not, and f.Taken is
	// stored. One that is not to be active does not take it, and makes the user due that has it. The status is the stored one:
	// StatusDirty instead of f.Status when the principal is due again at once.
	Finish(ctx context.Context, l Lease, f Finish) (Status, error)

	// Remove asks whether a principal may lose its account now. It returns 0 when it may, from then on for the guard's window, and
	// otherwise how many would lose theirs within the window: those that were let through and not approved, and those that are due
	// or held back.
	Remove(ctx context.Context, l Lease, kind Kind, id string, now time.Time, g Guard) (many int, err error)
	// Approve lets those through that Remove has held back (StatusHeld with the operation RemoveUser or RemoveGroup), and makes them
	// and the lane due. It returns ErrStale, and changes nothing, unless they are as many as expected.
	Approve(ctx context.Context, app string, now time.Time, expected int) (int, error)

	// Learn applies a change to what is known about the target of an app, and returns what is known then. change may be called
	// more than once.
	Learn(ctx context.Context, l Lease, change func(*Learned)) (Learned, error)
	// ResetLearned forgets what is known about the target of an app, its profile too. An unknown app is ignored.
	ResetLearned(ctx context.Context, app string) error

	// Members reads members of a pushed group.
	Members(ctx context.Context, app string, q MemberQuery) ([]Member, error)
	// SaveMembers stores what the directory said about members, creating rows as needed. walk is 0 for answers about single
	// users and otherwise numbers a walk through the whole group.
	SaveMembers(ctx context.Context, l Lease, group string, walk int64, answers []MemberAnswer) error
	// EndWalk stores the last answers of a walk as SaveMembers does, and says that with these all members were saved: whoever was not
	// seen under the walk does not belong to the group.
	EndWalk(ctx context.Context, l Lease, group string, walk int64, last []MemberAnswer) error

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

// AcceptedStore counts what targets have accepted. Finish stores it.
type AcceptedStore interface {
	// Accepted counts the principals of an app whose status is StatusPending.
	Accepted(ctx context.Context, app string) (int, error)
}

// Repair is a mark for a principal whose account has drifted.
type Repair struct {
	Mark Mark
	// RemoteName is what the target was seen to call a group, so that its sequence knows that it has to be renamed. Empty leaves what
	// is known.
	RemoteName string
}

// DriftStore marks what was found to have drifted.
type DriftStore interface {
	// Repair makes marks in a transaction of its own.
	Repair(ctx context.Context, now time.Time, repairs []Repair) error
}

// EventStore keeps lifecycle events. The store writes them in the transaction of what they tell about: Finish those that
// [Finish.Tell] returns, Overdue a DeactivationOverdue, Dismiss a UserDismissed or GroupDismissed. Of each app at least KeptEvents are kept, and not many more.
type EventStore interface {
	// Hold stores the hold that the owner of a lane has begun or ended, with the event that [HoldEvent] returns.
	Hold(ctx context.Context, l Lease, now time.Time, h Hold) error
	Events(ctx context.Context, q EventQuery) ([]Event, error)
}

// HaltStore keeps what is halted.
type HaltStore interface {
	// Halt notes that operations are halted for an app (empty for all apps). One that is halted already gets the new reason.
	Halt(ctx context.Context, app string, ops []Operation, reason string, now time.Time) error
	// Resume ends halts of the app (empty: those for all apps) and makes everything due that was held by them (Finish.Halted), and
	// its lanes. What is halted by another entry is not left out: it is held again.
	Resume(ctx context.Context, app string, ops []Operation, now time.Time) error
	// Halts returns what is halted for an app, itself or with all apps, by app and operation; everything when app is empty.
	Halts(ctx context.Context, app string) ([]Halt, error)
}

// ImportStore keeps imports. Writes that take a lease of ImportLeases are refused with ErrLeaseLost when it does not hold.
type ImportStore interface {
	// ImportLeases are claims on runs that are to be worked on; Lease.App is the id of the run in decimal. Holds are not kept: a
	// run is due again not before notBefore.
	ImportLeases() Leases
	// StartImport adds a run in the state running and returns its id. ErrImportRunning when there is one of that app and kind.
	StartImport(ctx context.Context, app string, r ImportRequest, now time.Time) (int64, error)
	// ImportRun returns a run, or ErrNotFound; ImportRuns those of an app, newest first. Some of the newest are kept of each kind.
	ImportRun(ctx context.Context, id int64) (ImportRun, error)
	ImportRuns(ctx context.Context, app string) ([]ImportRun, error)
	// SaveImportPage adds the objects of a page. ErrDuplicateObject, and nothing is stored, when the run has one of them already.
	SaveImportPage(ctx context.Context, l Lease, p ImportPage) error
	// CloseImport draws the conclusions of a list that was read to its end: what else was there before is gone, and a principal that
	// several objects match is ambiguous. When more is gone than the request allows, nothing of that is stored and the run is
	// stopped instead. It may be repeated.
	CloseImport(ctx context.Context, l Lease, now time.Time) error
	// ConfirmMatched links up to limit of the objects that are matched, and returns how many it has dealt with: what cannot be
	// linked is ambiguous from then on.
	ConfirmMatched(ctx context.Context, l Lease, now time.Time, limit int) (int, error)
	// DelayImport notes a failure after which the run goes on, EndImport the end of a run that was not stopped.
	DelayImport(ctx context.Context, l Lease, attempts int, message string) error
	EndImport(ctx context.Context, l Lease, state ImportState, message string, now time.Time) error
	// RemoteObjects reads what imports have found.
	RemoteObjects(ctx context.Context, q RemoteObjectQuery) ([]RemoteObject, error)
	// Confirm makes links within the caller's transaction as LinkStore.Link does. It returns ErrStale unless the run is the newest of
	// its app and kind, has ended well and has seen the accounts.
	Confirm(ctx context.Context, tx Execer, now time.Time, app string, run int64, links []Link) error
}

// ErrDuplicateObject says that a target has listed an object twice.
var ErrDuplicateObject = errors.New("engine: it was listed before")

// ImportPage is a page of a list with the verdicts on it.
type ImportPage struct {
	Objects []RemoteObject
	Seen    int // with this page
	Total   int
	Last    bool
}

// LagStore tells what has not arrived.
type LagStore interface {
	// Lags returns the lags of one app or (empty) of all that were ever marked, by app.
	Lags(ctx context.Context, app string) ([]Lag, error)
	// OverdueApps lists, by name, the apps that have users who may have an account (RemoteID or MayExist), are dirty since an instant
	// not after before, and were not told about.
	OverdueApps(ctx context.Context, before time.Time) ([]string, error)
	// OverdueUsers lists such users of an app, by DirtySince and id, after the given one (nil for the first page).
	OverdueUsers(ctx context.Context, app string, before time.Time, after *State, limit int) ([]State, error)
	// Overdue notes at now that the deactivation of such a user was told about, so that it is not late again before it was synchronised. It
	// returns false, and notes nothing, when it is not late any more, or somebody else was quicker.
	Overdue(ctx context.Context, app, user string, before, now time.Time) (bool, error)
}

// LateStore is the part of a [Store] that heals what an owner did which was frozen past its lease.
type LateStore interface {
	// Recheck marks a principal that the store knows, in a transaction of its own and without a lease: something was sent for it
	// after the lease had ended. The name that a group has at the target counts as not known. An unknown principal is ignored: its
	// app may have been forgotten.
	Recheck(ctx context.Context, now time.Time, m Mark) error
}

// LinkStore keeps links: they are part of the principals' states.
type LinkStore interface {
	// Link makes the links within the caller's transaction, or none of them and returns a *LinkError with all conflicts. A principal
	// that is not known yet is StatusClean afterwards: a link alone sends nothing. One that had stopped without an account (failed,
	// held or skipped) comes due, and so do groups that wait for the user. The next push of a linked group is a full one. A link that
	// is there already is left as it is.
	//
	// Conflicts: a link that names nobody, one principal or account twice, an account that another principal has, a principal that
	// has another account or is due (its sequence may be about to find one). ErrStale when a principal was marked meanwhile.
	Link(ctx context.Context, tx Execer, now time.Time, app string, links []Link) error
	// Links returns the links of an app by kind (groups first) and id, after the given one; the zero Link is the beginning.
	Links(ctx context.Context, app string, after Link, limit int) ([]Link, error)
}

// AccountStore finds the states of many principals at once, in no order. Those that are not known are left out.
type AccountStore interface {
	StatesByID(ctx context.Context, app string, kind Kind, ids []string) ([]State, error)
	StatesByRemoteID(ctx context.Context, app string, kind Kind, remoteIDs []string) ([]State, error)
}

// MarkStore marks by conditions.
type MarkStore interface {
	// MarkAll does, within the caller's transaction, what Mark would do to each principal that fits, and returns how many those
	// are. When there are none, the lane stays as it is.
	MarkAll(ctx context.Context, tx Execer, now time.Time, m MarkAll) (int64, error)
}

// PlanStore keeps plans, and reads for rehearsals.
type PlanStore interface {
	// CountRemovals is Remove without consequences: what it would answer if the account were to go now.
	CountRemovals(ctx context.Context, app string, kind Kind, id string, now time.Time, g Guard) (many int, err error)
	// Requeue marks a principal in a transaction of its own, and returns the generation that is desired then. afresh also forgets what
	// the target did not keep (State.IgnoredAttributes), whatever a sequence that began before finds out.
	Requeue(ctx context.Context, now time.Time, m Mark, afresh bool) (generation int64, err error)

	// SavePlan stores a plan, or replaces the one of the same ID. Plans of the app that had expired PlansKept before it was made are
	// removed.
	SavePlan(ctx context.Context, p Plan) error
	// AddPlanItems stores items of a plan.
	AddPlanItems(ctx context.Context, items []PlanItem) error
	// Plans and PlanItems read.
	Plans(ctx context.Context, q PlanQuery) ([]Plan, error)
	PlanItems(ctx context.Context, q PlanItemQuery) ([]PlanItem, error)
	// DiscardPlan removes a plan and its items. An unknown one is ignored.
	DiscardPlan(ctx context.Context, id string) error
	// Planned reads a plan and its items, ascending by Seq, within the caller's transaction. The error is ErrNotFound for an
	// unknown plan.
	Planned(ctx context.Context, tx Execer, id string) (Plan, []Planned, error)
	// ApplyPlan marks the principals of the items within the caller's transaction (groups with all members), lets those through the
	// deletion guard that the plan deactivates or deletes, and moves the plan from one status to another. The error is ErrStale
	// when a principal was marked since the items were made, and ErrApplied when the plan has another status by now; the
	// transaction is then to be rolled back.
	ApplyPlan(ctx context.Context, tx Execer, now time.Time, p Plan, to PlanStatus, items []PlanItem) error
}

// ProfileStore keeps what probes found.
type ProfileStore interface {
	// SaveProfile stores a profile for an app, in the place of an older one, and applies a change to what is known about its target,
	// in one transaction and without a lease: the app need not have been marked before. change may be called more than once.
	SaveProfile(ctx context.Context, app string, now time.Time, c Capabilities, change func(*Learned)) error
	// Profile returns the stored profile, or ErrNotFound.
	Profile(ctx context.Context, app string) (Capabilities, error)
}

// LeaverStore pages through the users of an app, so that deactivations are found behind other changes that cannot be sent.
type LeaverStore interface {
	// DueUsers returns users that are due at now, may have an account at the target (RemoteID or MayExist) and do not have StatusPending:
	// those with a RemoteID first, oldest first. after is the last one of the page before, nil for the first page.
	DueUsers(ctx context.Context, app string, now time.Time, after *State, limit int) ([]State, error)
}

// PushStore keeps how far the push of a large group has come, so that whoever takes over goes on from there.
type PushStore interface {
	// Progress stores what a push that goes on has brought about, and what it is about to send. It is durable before the next
	// request: of the members in NextAdd and NextRemove nobody knows whether they are in the target's group, until a later
	// Progress or Finish says so. They are pending until then, whatever is wanted. That the principal is due does not change.
	Progress(ctx context.Context, l Lease, p Progress) error
}

// TaskStore lists what is wrong and lets somebody decide about it, in transactions of the store's own.
type TaskStore interface {
	// Tasks lists principals whose status is StatusRetrying, StatusPending, StatusFailed or StatusHeld, and those with StatusDirty that are
	// due and whose lane has a hold that has not ended at TaskQuery.Now.
	Tasks(ctx context.Context, q TaskQuery) ([]State, error)
	// Retry marks a principal with Mark.Retry, or returns ErrNotFound.
	Retry(ctx context.Context, now time.Time, app string, kind Kind, id string) error
	// RetryAll does so with all tasks of an app, some at a time, and returns how many it were.
	RetryAll(ctx context.Context, now time.Time, app string) (int, error)
	// Drop gives whatever of an app is due or a task the status StatusDismissed within the caller's transaction, and fails its imports
	// that are running, with the reason.
	Drop(ctx context.Context, tx Execer, now time.Time, app, reason string) error
	// Dismiss gives a task the status StatusDismissed; it is not dirty any more. ErrStale when it is none, ErrNotFound when the
	// principal is not known.
	Dismiss(ctx context.Context, now time.Time, app string, kind Kind, id string) error
}

// SuspensionStore keeps why lanes rest.
type SuspensionStore interface {
	// Suspend stores why the lane sends nothing; the zero Suspension ends that.
	Suspend(ctx context.Context, l Lease, r Suspension) error
}
