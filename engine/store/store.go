package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Store is what every store does. Its methods are called from several goroutines and return when the change is durable.
//
// Writes that take a lease are rejected with engine.ErrLeaseLost, and change nothing, if the lane's epoch is no longer that of the lease.
// Rows are always written in the order halts, users, groups, members, lane, ids ascending, so that concurrent transactions do not block
// each other. Package engine/storetest is this contract as a test.
type Store interface {
	Leases
	Marks
	Sequences
	Lanes
	Members
	States
}

// All is what a store can do: Store and all capabilities. A wrapper of a store embeds it, so that it hides no capability.
type All interface {
	Store

	MarkAll
	Halts
	Approvals
	Repairs
	Attempts
	Counts
	Events
	Profiles
	Lags
	Tasks
	Links
	Plans
	Imports
}

// Leases are the claims on lanes.
type Leases interface {
	// Reset ends the leases that an earlier run under the same name left behind, e.g. because it was killed, and raises the
	// epochs of their lanes.
	Reset(ctx context.Context, owner string) error
	// Claim takes up to limit lanes that are due at now and not leased to anybody, until the given instant, and raises their
	// epochs. next is when the first of the other lanes comes due or free; zero when none will.
	Claim(ctx context.Context, owner string, now, until time.Time, limit int) (leases []engine.Lease, next time.Time, err error)
	// Extend prolongs the lease, or returns ErrLeaseLost.
	Extend(ctx context.Context, l engine.Lease, until time.Time) error
	// Release gives the lane back with the hold. It comes due again when its next principal does, but not before notBefore
	// nor before the hold ends; when somebody wanted holds to end since the claim, neither keeps it. ErrLeaseLost when there
	// is nothing to give back.
	Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) error
}

// Marks record what may have changed.
type Marks interface {
	// Mark raises the desired generation of each principal within the caller's transaction, creating rows as needed, and makes
	// the lanes due. A principal in back-off stays there unless Retry is set; one that failed for good or is held comes due. One with
	// StatusPending keeps that status, and is read at once if Retry is set.
	Mark(ctx context.Context, tx engine.Execer, now time.Time, marks []engine.Mark) error
	// Forget removes what is known about an app within the caller's transaction: principals, members, exchanges and the lane,
	// so that nothing of it is pending any more. An owner that works on it loses its lease. An unknown app is ignored.
	Forget(ctx context.Context, tx engine.Execer, app string) error
	// Kick ends the holds of the apps and makes them due. Unknown apps are ignored.
	Kick(ctx context.Context, now time.Time, apps []string) error
}

// Sequences are the work on one principal, from the question who is due to the result.
type Sequences interface {
	// Due returns principals of the app that are due at now: those with StatusPending first; users before groups; users with an account
	// at the target before those without (a deactivation must not wait behind a thousand creates); oldest first.
	Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error)
	// DueUsers returns users that are due at now, may have an account at the target (RemoteID or MayExist) and do not have StatusPending:
	// those with a RemoteID first, oldest first. after is the last one of the page before, nil for the first page.
	DueUsers(ctx context.Context, app string, now time.Time, after *engine.State, limit int) ([]engine.State, error)
	// Accepted counts the principals of an app whose status is StatusPending.
	Accepted(ctx context.Context, app string) (int, error)
	// Begin stores what is about to be worked towards. It is durable before the first request, so that the engine knows after
	// a crash for whom an account may have been created, and of whom one that gets an account at that moment is the manager: either that
	// sequence finds this one, or this one reads the account. A group that becomes Active after it was Inactive or Absent is due in full.
	Begin(ctx context.Context, l engine.Lease, intents []Intent) error
	// Progress stores what a push that goes on has brought about, and what it is about to send. It is durable before the next
	// request: of the members in NextAdd and NextRemove nobody knows whether they are in the target's group, until a later
	// Progress or Finish says so. They are pending until then, whatever is wanted. That the principal is due does not change.
	Progress(ctx context.Context, l engine.Lease, p Progress) error
	// Finish stores the end of a sequence and its exchanges. When the principal was marked meanwhile, it is due again at once,
	// unless f.NextAt says later. A user that gains, changes or loses its remote id makes those due that are to be active and whose manager
	// it is.
	// A user that gains or changes its remote id makes the groups due that wait for it; one that
	// changes or loses it is no longer in any group of the target. An account belongs to one user of an app: one that
	// is to be active takes it from those that are not to be (Want is neither Active nor Keep), is due again at once to see
	// that theirs was not the last word, and the groups they were in are due in full; from others it does not, and f.Taken is
	// stored. One that is not to be active does not take it, and makes the user due that has it. The status is the stored one:
	// StatusDirty instead of f.Status when the principal is due again at once.
	Finish(ctx context.Context, l engine.Lease, f Finish) (engine.Status, error)
	// Recheck marks a principal that the store knows, in a transaction of its own and without a lease: something was sent for it
	// after the lease had ended. The name that a group has at the target counts as not known. An unknown principal is ignored: its
	// app may have been forgotten.
	Recheck(ctx context.Context, now time.Time, m engine.Mark) error
	// Remove asks whether a principal may lose its account now. It returns 0 when it may, from then on for the guard's window, and
	// otherwise how many would lose theirs within the window: those that were let through and not approved, and those that are due
	// or held back.
	Remove(ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
	// Halts returns what is halted for an app, itself or with all apps, by app and operation; everything when app is empty.
	Halts(ctx context.Context, app string) ([]engine.Halt, error)
}

// Lanes are the apps: what is known about the target of each, and what keeps it from running.
type Lanes interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
	// Learn applies a change to what is known about the target of an app, and returns what is known then. change may be called
	// more than once.
	Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (engine.Learned, error)
	// Hold stores the hold that the owner of a lane has begun or ended, with the event that [HoldEvent] returns.
	Hold(ctx context.Context, l engine.Lease, now time.Time, h engine.Hold) error
	// Suspend stores why the lane sends nothing; the zero Suspension ends that.
	Suspend(ctx context.Context, l engine.Lease, r engine.Suspension) error
}

// Members are the members of pushed groups.
type Members interface {
	// Members reads members of a pushed group.
	Members(ctx context.Context, app string, q MemberQuery) ([]Member, error)
	// SaveMembers stores what the directory said about members, creating rows as needed. walk is 0 for answers about single
	// users and otherwise numbers a walk through the whole group.
	SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []MemberAnswer) error
	// EndWalk stores the last answers of a walk as SaveMembers does, and says that with these all members were saved: whoever was not
	// seen under the walk does not belong to the group.
	EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []MemberAnswer) error
}

// States read what is known about principals.
type States interface {
	// States, Attempts and Lane read; Lane returns ErrNotFound for an app that was never marked. Pending counts principals
	// that are due now or later, of one app or (empty) of all; those of paused apps count.
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error)
	StatesByRemoteID(ctx context.Context, app string, kind engine.Kind, remoteIDs []string) ([]engine.State, error)
	Pending(ctx context.Context, app string) (int, error)
}
