package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Store has the methods that every store implements. They may be called from several goroutines. A method that writes returns when the
// change is durable.
//
// A write that takes a lease is rejected with engine.ErrLeaseLost, and changes nothing, if the epoch of the lane is no longer the epoch of
// the lease. Rows are always written in the order halts, users, groups, members, lane, ids ascending, so that concurrent transactions do
// not deadlock. Package engine/storetest tests this contract.
type Store interface {
	Processes
	Leases
	Marks
	Sequences
	Lanes
	Members
	States
}

// All is Store and all capabilities. A wrapper of a store embeds it, so that the wrapper hides no capability.
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
	Jobs
	MarkTraces
	Tenants
}

// Leases claims and releases lanes for processes.
type Leases interface {
	// Claimable describes the lanes that Claim would lease, of which it counts up to limit. A process calls it before Claim, because Claim may
	// wait for other writes even if it finds nothing.
	Claimable(ctx context.Context, due time.Time, limit int) (Claimable, error)
	// Claim leases to a valid process up to limit lanes that no process has and that have been due since `due` or longer, and raises their
	// epochs. It does not wait for locked lanes. For a process that has ended it returns no lane.
	Claim(ctx context.Context, process string, due time.Time, limit int) ([]engine.Lease, error)
	// Held returns the leases of a process. A process calls it when the result of a Claim was lost.
	Held(ctx context.Context, process string) ([]engine.Lease, error)
	// Release ends the lease and stores the hold. It returns the time at which the lane is due again, zero for not before the next mark: when
	// its next principal is due or principals in flight have to be rechecked, but neither before notBefore nor before the hold ends. If a kick
	// or retry arrived since the claim, both limits are ignored. Release returns ErrLeaseLost if the lease was lost.
	Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) (next time.Time, err error)
}

// Claimable describes the claimable lanes, and the processes that share them.
type Claimable struct {
	// Retired reports whether a valid process is about to release its lanes, see Processes.Retire.
	Retired bool
	Lanes   int // the number of claimable lanes, at most the limit of the call. If it is 0, the following fields are empty
	// First is the time since which the first lane has been due.
	First time.Time
	// Divided reports whether free lanes of several tenants are scheduled, now or later. It is false for a store without tenants.
	Divided bool
	// Running is the number of leased lanes of all processes, at most CountedLanes. It is 0 if the database belongs to one process.
	Running int
	// Processes is the number of valid processes that have not retired.
	Processes int
}

// CountedLanes is the maximum of Claimable.Running, so that a large fleet does not read all its lanes before each claim.
const CountedLanes = 4096

// Marks records which principals may have changed.
type Marks interface {
	// Mark raises the desired generation of each principal within the caller's transaction, creates missing rows, and makes the lanes pending.
	// Mark does not shorten a backoff unless Retry is set. It requeues a principal that failed permanently or is held. A principal with
	// StatusPending keeps that status; if Retry is set, it is due immediately, and its sequence starts with a read.
	Mark(ctx context.Context, tx engine.Execer, now time.Time, marks []engine.Mark) error
	// Forget removes an app within the caller's transaction: principals, members, exchanges and the lane. Afterwards nothing of the app is
	// pending, and the lease of its lane is lost. An unknown app is ignored.
	Forget(ctx context.Context, tx engine.Execer, app string) error
	// Kick ends the holds of the apps and makes their lanes pending. Unknown apps are ignored.
	Kick(ctx context.Context, now time.Time, apps []string) error
}

// Sequences stores the work on one principal, from the query for due principals to the result.
type Sequences interface {
	// Due returns principals of the app that are due at now: StatusPending first; then users before groups; users with an account on the
	// target before those without (a deactivation must not wait behind a thousand creates); oldest first.
	Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error)
	// DueUsers returns users that are due at now, may have an account on the target (RemoteID or MayExist) and do not have StatusPending:
	// those with a RemoteID first, oldest first. after is the last user of the previous page, nil for the first page.
	DueUsers(ctx context.Context, app string, now time.Time, after *engine.State, limit int) ([]engine.State, error)
	// Accepted returns the number of principals that have StatusPending in an app.
	Accepted(ctx context.Context, app string) (int, error)
	// Begin stores what sequences are about to attempt, before their first request. After a crash the rows therefore show which accounts may
	// have been created. Begin also makes sure that a user gets a manager whose account is created at the same time: either Finish of the
	// manager finds the user and requeues the user, or the sequence of the user reads the account of the manager. A group that becomes Active
	// after it was Inactive or Absent has its whole membership pending.
	Begin(ctx context.Context, l engine.Lease, intents []Intent) error
	// Start has the effect of Begin, and stores a note with the principals in flight, in place of the previous note: those whose sequences run
	// or are about to start. Release removes the note. If the process dies, the note remains for RecheckInFlight.
	Start(ctx context.Context, l engine.Lease, intents []Intent, inFlight []engine.Principal) error
	// RecheckInFlight requeues the principals that were in flight when an earlier process of the lane died, if their recheck is due at now,
	// and returns their number. It has the effect of Recheck for each of them. next is the time of the next recheck, zero if there is none.
	RecheckInFlight(ctx context.Context, l engine.Lease, now time.Time) (n int, next time.Time, err error)
	// Progress stores what an unfinished push has changed and what it is about to send, before the next request. The members in NextAdd and
	// NextRemove may or may not be in the target's group until a later Progress or Finish stores the outcome. Until then they are pending,
	// whatever their Want is. The principal stays pending.
	Progress(ctx context.Context, l engine.Lease, p Progress) error
	// Finish stores the result of a sequence and its exchanges, and returns the stored status. The stored status is f.Status, except:
	//   - StatusDirty if f.NextAt is zero and the principal was marked during the sequence: the principal is due again immediately.
	//   - StatusDismissed if the principal was dismissed or dropped during the sequence, and f.Status is StatusRetrying, StatusDirty,
	//     StatusPending or StatusFailed.
	//   - StatusHeld if f.Taken is stored (see below).
	//
	// An account belongs to one user of an app. If the rows of other users have f.RemoteID too, the Want of the users decides:
	//   - The user of f is neither Active nor Keep: the user does not get the account. The other users are marked, because the sequence has
	//     changed their account.
	//   - The user of f is Active or Keep, and so is one of the others: the user does not get the account. f.Taken is stored instead of f.
	//   - Only the user of f is Active or Keep: the account moves to that user. The user is marked, because a deactivation by a previous owner
	//     may be in flight.
	//
	// If a user gets or loses an account or gets another one, Finish also changes other rows:
	//   - Active users whose manager is that user are marked.
	//   - Groups that wait for that user, or that have the user as a member under the previous id, are marked. If the account moved to another
	//     user, a push of all their members is pending.
	//   - The user is no longer stored as a member of the target's groups under the previous id.
	Finish(ctx context.Context, l engine.Lease, f Finish) (engine.Status, error)
	// Recheck marks a known principal, in the store's own transaction and without a lease, because a request for the principal was sent after
	// the lease had ended. For a group, Recheck also deletes the stored RemoteName, because the name on the target is then unknown. Recheck
	// ignores an unknown principal: its app may have been removed.
	Recheck(ctx context.Context, now time.Time, m engine.Mark) error
	// Remove decides whether a principal may lose its account now. It returns 0 if the removal is allowed; the permission applies for the
	// guard's window. Otherwise it returns the number of accounts that would be lost within the window: accounts of principals whose removal
	// was allowed without an approval, and accounts of principals whose removal is pending or blocked.
	Remove(ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
	// Halts returns the halts for an app and the halts for all apps, ordered by app and operation. An empty app selects all halts.
	Halts(ctx context.Context, app string) ([]engine.Halt, error)
}

// Lanes stores the state of each lane: what the engine has learned about its target, its hold and its suspension.
type Lanes interface {
	// Lane returns the state of an app, or ErrNotFound for an app that was never marked.
	Lane(ctx context.Context, app string) (engine.Lane, error)
	// Learn applies a change to what the engine has learned about the target of an app, and returns the result. The store may call change more
	// than once.
	Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (engine.Learned, error)
	// Hold stores the start or the end of a hold of a lane, with the event that [HoldEvent] returns.
	Hold(ctx context.Context, l engine.Lease, now time.Time, h engine.Hold) error
	// Suspend stores the reason why the lane sends nothing. The zero Suspension ends the suspension.
	Suspend(ctx context.Context, l engine.Lease, r engine.Suspension) error
}

// Members stores the members of pushed groups.
type Members interface {
	// Members reads members of a pushed group.
	Members(ctx context.Context, app string, q MemberQuery) ([]Member, error)
	// SaveMembers stores the responses of the directory about members, and creates missing rows. walk is 0 for responses about single users.
	// In a walk, which reads all members of the group from the directory, walk is its number: the generation of the group.
	SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []MemberAnswer) error
	// EndWalk stores the last responses of a walk as SaveMembers does. It then sets Want to false for all members of the group that were not
	// in the responses of the walk.
	EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []MemberAnswer) error
}

// States reads the states of principals.
type States interface {
	// States lists principals by app, kind and id.
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	// StatesByID and StatesByRemoteID return the states of many principals, in no order. Unknown ids are omitted.
	StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error)
	StatesByRemoteID(ctx context.Context, app string, kind engine.Kind, remoteIDs []string) ([]engine.State, error)
	// Pending returns the number of principals that are pending now or scheduled for later, of one app or (empty) of all apps. Principals
	// of paused apps count.
	Pending(ctx context.Context, app string) (int, error)
}
