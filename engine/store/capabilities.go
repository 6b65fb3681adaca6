package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// MarkAll is the capability to mark by conditions, for Engine.MarkAll.
type MarkAll interface {
	// MarkAll does, within the caller's transaction, what Mark would do to each principal that fits, and returns how many those
	// are. When there are none, the lane stays as it is.
	MarkAll(ctx context.Context, tx engine.Execer, now time.Time, m engine.MarkAll) (int64, error)
}

// Halts is the capability to stop operations, for Apps.Halt and Apps.Resume. What is halted is read by Sequences.Halts.
type Halts interface {
	// Halt notes that operations are halted for an app (empty for all apps). One that is halted already gets the new reason.
	Halt(ctx context.Context, app string, ops []engine.Operation, reason string, now time.Time) error
	// Resume ends halts of the app (empty: those for all apps) and makes everything due that was held by them (Finish.Halted), and
	// its lanes. What is halted by another entry is not left out: it is held again.
	Resume(ctx context.Context, app string, ops []engine.Operation, now time.Time) error
}

// Approvals is the capability to let removals through that the guard holds back, for Apps.Approve.
type Approvals interface {
	// Approve lets those through that Remove has held back (StatusHeld with the operation RemoveUser or RemoveGroup), and makes them
	// and the lane due. It returns ErrStale, and changes nothing, unless they are as many as expected.
	Approve(ctx context.Context, app string, now time.Time, expected int) (int, error)
}

// Attempts is the capability to list recorded exchanges, for Traces.
type Attempts interface {
	Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error)
	// Record stores exchanges that belong to an app and to no principal, such as the test of its connection. Some of the newest are kept.
	Record(ctx context.Context, app string, exchanges []engine.Attempt) error
}

// Counts is the capability to count principals, for Apps.Counts.
type Counts interface {
	// Counts counts the principals of an app by status.
	Counts(ctx context.Context, app string) (map[engine.Status]int, error)
}

// Events is the capability to list lifecycle events, for Apps.Events. The store writes them in the transaction of what they are about:
// Finish those that [Finish.Tell] returns, Lanes.Hold that of [HoldEvent], Lags.Overdue a DeactivationOverdue, Tasks.Dismiss a
// UserDismissed or GroupDismissed. At least engine.KeptEvents of each app are kept, and not many more.
type Events interface {
	Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error)
}

// Profiles is the capability to keep what probes found, for Targets.
type Profiles interface {
	// SaveProfile stores a profile for an app, in the place of an older one, and applies a change to what is known about its target,
	// in one transaction and without a lease: the app need not have been marked before. change may be called more than once.
	SaveProfile(ctx context.Context, app string, now time.Time, c Capabilities, change func(*engine.Learned)) error
	// Profile returns the stored profile, or ErrNotFound.
	Profile(ctx context.Context, app string) (Capabilities, error)
	// ResetLearned forgets what is known about the target of an app, its profile too. An unknown app is ignored.
	ResetLearned(ctx context.Context, app string) error
}

// Lags is the capability to report what has not arrived, for Apps.Lag, Apps.Lags and overdue deactivations.
type Lags interface {
	// Lags returns the lags of one app or (empty) of all that were ever marked, by app.
	Lags(ctx context.Context, app string) ([]engine.Lag, error)
	// OverdueApps lists, by name, the apps that have users who may have an account (RemoteID or MayExist), are dirty since an instant
	// not after before, and were not told about.
	OverdueApps(ctx context.Context, before time.Time) ([]string, error)
	// OverdueUsers lists such users of an app, by DirtySince and id, after the given one (nil for the first page).
	OverdueUsers(ctx context.Context, app string, before time.Time, after *engine.State, limit int) ([]engine.State, error)
	// Overdue notes at now that the deactivation of such a user was told about, so that it is not late again before it was synchronised. It
	// returns false, and notes nothing, when it is not late any more, or somebody else was quicker.
	Overdue(ctx context.Context, app, user string, before, now time.Time) (bool, error)
}

// Tasks is the capability to list what is wrong and to decide about it, in transactions of the store's own, for Tasks and Traces.Run.
type Tasks interface {
	// Tasks lists principals whose status is StatusRetrying, StatusPending, StatusFailed or StatusHeld, and those with StatusDirty that are
	// due and whose lane has a hold that has not ended at TaskQuery.Now.
	Tasks(ctx context.Context, q engine.TaskQuery) ([]engine.State, error)
	// Requeue marks a principal in a transaction of its own, and returns the generation that is desired then. afresh also forgets what
	// the target did not keep (State.IgnoredAttributes), whatever a sequence that began before finds out.
	Requeue(ctx context.Context, now time.Time, m engine.Mark, afresh bool) (generation int64, err error)
	// Retry marks a principal with Mark.Retry, or returns ErrNotFound.
	Retry(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error
	// RetryAll does so with all tasks of an app, some at a time, and returns how many it were.
	RetryAll(ctx context.Context, now time.Time, app string) (int, error)
	// Drop gives whatever of an app is due or a task the status StatusDismissed within the caller's transaction, and fails its imports
	// that are running, with the reason.
	Drop(ctx context.Context, tx engine.Execer, now time.Time, app, reason string) error
	// Dismiss gives a task the status StatusDismissed; it is not dirty any more. ErrStale when it is none, ErrNotFound when the
	// principal is not known.
	Dismiss(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error
}

// Links is the capability to set and list links, which are part of the principals' states, for Imports.Link and Imports.Links.
type Links interface {
	// Link makes the links within the caller's transaction, or none of them and returns a *LinkError with all conflicts. A principal
	// that is not known yet is StatusClean afterwards: a link alone sends nothing. One that had stopped without an account (failed,
	// held or skipped) comes due, and so do groups that wait for the user. The next push of a linked group is a full one. A link that
	// is there already is left as it is.
	//
	// Conflicts: a link that names nobody, one principal or account twice, an account that another principal has, a principal that
	// has another account or is due (its sequence may be about to find one). ErrStale when a principal was marked meanwhile.
	Link(ctx context.Context, tx engine.Execer, now time.Time, app string, links []engine.Link) error
	// Links returns the links of an app by kind (groups first) and id, after the given one; the zero Link is the beginning.
	Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error)
}
