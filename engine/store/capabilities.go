package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/jobs"
)

// MarkAll is the capability to mark by conditions. Engine.MarkAll needs it.
type MarkAll interface {
	// MarkAll has the effect of Mark on each principal that matches m, within the caller's transaction, and returns their number. If none
	// matches, the lane does not change.
	MarkAll(ctx context.Context, tx engine.Execer, now time.Time, m engine.MarkAll) (int64, error)
}

// Tenants is the capability to divide the lanes among tenants. Without it, lanes are claimed in the order of their times.
type Tenants interface {
	// Divides reports whether the store has the tenants of apps. If not, the other methods are not called.
	Divides() bool
	// Waiting returns tenants of the lanes that Claim would lease. They start after the tenant `after`.
	Waiting(ctx context.Context, due time.Time, after string) (Waiting, error)
	// ClaimOf leases lanes to a process as Claim does: for each quota the lanes of its tenant, and then any lanes, up to the limit.
	ClaimOf(ctx context.Context, process string, due time.Time, quotas []Quota, limit int) ([]engine.Lease, error)
}

// Waiting is a result of Tenants.Waiting.
type Waiting struct {
	// Tenants are tenants with claimable lanes, by name, with the first name after the last one. The store may limit the number of tenants
	// that a call visits.
	Tenants []string
	// Last is the last visited tenant, with or without claimable lanes.
	Last string
}

// Quota is a maximum number of lanes of a tenant.
type Quota struct {
	Tenant string
	Lanes  int
}

// Halts is the capability to halt operations. Apps.Halt and Apps.Resume need it. Sequences.Halts reads the halts.
type Halts interface {
	// Halt stores halts of operations for an app (empty: for all apps). An existing halt gets the new reason.
	Halt(ctx context.Context, app string, ops []engine.Operation, reason string, now time.Time) error
	// Resume ends halts of the app (empty: those for all apps). It requeues the principals that these halts blocked (Finish.Halted), and their
	// lanes. If another halt also blocks a principal, its next sequence puts the principal on hold again.
	Resume(ctx context.Context, app string, ops []engine.Operation, now time.Time) error
}

// Approvals is the capability to approve removals that the deletion guard blocks. Apps.Approve needs it.
type Approvals interface {
	// Approve allows the removals that Remove has blocked (StatusHeld with the operation RemoveUser or RemoveGroup), and requeues their
	// principals and the lane. If the number of blocked removals differs from expected, Approve returns ErrStale and changes nothing.
	Approve(ctx context.Context, app string, now time.Time, expected int) (int, error)
}

// Attempts is the capability to list recorded exchanges. Traces needs it.
type Attempts interface {
	// Attempts lists exchanges, newest first.
	Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error)
	// Record stores exchanges that belong to an app and to no principal, such as the test of its connection. The store removes old exchanges.
	Record(ctx context.Context, app string, exchanges []engine.Attempt) error
}

// Counts is the capability to count principals. Apps.Counts needs it.
type Counts interface {
	// Counts counts the principals of an app by status.
	Counts(ctx context.Context, app string) (map[engine.Status]int, error)
}

// Events is the capability to list lifecycle events. Apps.Events needs it. The store writes each event in the transaction of its cause.
// Sequences.Finish writes the events that [Finish.Tell] returns, Lanes.Hold the event that [HoldEvent] returns, Lags.Overdue a
// DeactivationOverdue, and Tasks.Dismiss a UserDismissed or GroupDismissed. The store retains at least the last engine.KeptEvents events of
// each app, or another configured number, and removes older events from time to time.
type Events interface {
	// Events lists events of an app, ascending by sequence number.
	Events(ctx context.Context, q engine.EventQuery) ([]engine.Event, error)
}

// Profiles is the capability to store the results of probes. Targets needs it.
type Profiles interface {
	// SaveProfile stores a profile for an app, replaces the previous profile, and applies change to the learned properties of the target.
	// SaveProfile uses one transaction and no lease, because an app without a mark has no lane. The store may call change more than once.
	SaveProfile(ctx context.Context, app string, now time.Time, c TargetProfile, change func(*engine.Learned)) error
	// Profile returns the stored profile, or ErrNotFound.
	Profile(ctx context.Context, app string) (TargetProfile, error)
	// ResetLearned removes what the engine has learned about the target of an app, and its profile. An unknown app is ignored.
	ResetLearned(ctx context.Context, app string) error
}

// Lags is the capability to report unsynchronized changes. Apps.Lag, Apps.Lags and the report of overdue deactivations need it.
type Lags interface {
	// Lags returns the lag of one app, or (empty) of every app that has had a mark, ordered by app.
	Lags(ctx context.Context, app string) ([]engine.Lag, error)
	// OverdueApps lists the apps, by name, that have overdue users. A user is overdue under three conditions: the user may have an account
	// (RemoteID or MayExist), DirtySince is not later than the time before, and no report of the deactivation is stored.
	OverdueApps(ctx context.Context, before time.Time) ([]string, error)
	// OverdueUsers lists the overdue users of an app, by DirtySince and id, starting after the user `after` (nil for the first page).
	OverdueUsers(ctx context.Context, app string, before time.Time, after *engine.State, limit int) ([]engine.State, error)
	// Overdue records that the deactivation of an overdue user was reported at now. The user can become overdue again only after a
	// synchronization. If the user is no longer overdue, or another engine has reported the deactivation, Overdue returns false and stores
	// nothing.
	Overdue(ctx context.Context, app, user string, before, now time.Time) (bool, error)
}

// Tasks is the capability to list tasks and to decide about them, each in the store's own transaction. Tasks and Traces.Run need it.
type Tasks interface {
	// Tasks lists principals with StatusRetrying, StatusPending, StatusFailed or StatusHeld. It also lists principals with StatusDirty that
	// are due and whose lane has a hold that has not ended at TaskQuery.Now.
	Tasks(ctx context.Context, q engine.TaskQuery) ([]engine.State, error)
	// Requeue marks a principal in the store's own transaction and returns the new desired generation. If fresh is true, Requeue also removes
	// State.IgnoredAttributes. Sequences that started before this call may report ignored attributes later: the store discards those.
	Requeue(ctx context.Context, now time.Time, m engine.Mark, fresh bool) (generation int64, err error)
	// Retry marks a principal with Mark.Retry. It returns ErrNotFound for a principal that is not in the store.
	Retry(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error
	// RetryAll has the effect of Retry on all tasks of an app, in batches, and returns their number.
	RetryAll(ctx context.Context, now time.Time, app string) (int, error)
	// Drop sets StatusDismissed on every pending principal and every task of an app, within the caller's transaction. It fails the running
	// imports of the app with the reason.
	Drop(ctx context.Context, tx engine.Execer, now time.Time, app, reason string) error
	// Dismiss sets StatusDismissed on a task, which is then no longer dirty. It returns ErrStale if the principal is not a task, and
	// ErrNotFound if the principal is unknown.
	Dismiss(ctx context.Context, now time.Time, app string, kind engine.Kind, id string) error
}

// Links is the capability to set and list links, which are part of the principals' states. Imports.Link and Imports.Links need it.
type Links interface {
	// Link creates the links within the caller's transaction. If one of them conflicts, it creates none and returns a *LinkError with all
	// conflicts. A principal that was unknown has StatusClean afterwards: a link alone sends nothing. Link requeues a principal that had
	// stopped without an account (failed, held or skipped), and the groups that wait for the user. The next push of a linked group has all
	// members. Link ignores a link that already exists.
	//
	// These links conflict: a link without a principal or an account; a principal or an account that occurs twice in links; an account that
	// belongs to another principal; a principal that has another account; a pending principal, because its sequence may be about to find an
	// account. Link returns ErrStale if a principal was marked in the meantime.
	Link(ctx context.Context, tx engine.Execer, now time.Time, app string, links []engine.Link) error
	// Links returns the links of an app, groups first, then by id, starting after the link `after`. The zero Link selects the first page.
	Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error)
}

// Jobs is the capability to store jobs. The scheduler that provision.New creates by default needs it.
type Jobs interface {
	// Jobs returns the stored jobs of a database that one process owns. For another database it returns an error that wraps
	// errors.ErrUnsupported.
	Jobs() (jobs.Store, error)
}

// MarkTraces is the capability to store the trace contexts of marks, so that the sequence of a principal continues the trace of the mark,
// also in another process or after a restart. provision.Options.TracerProvider needs it. A trace context is a traceparent as in W3C Trace
// Context, version 00.
type MarkTraces interface {
	// SaveTrace adds a trace context to the marked principals, within the caller's transaction and after Mark. A trace context that is stored
	// for the principal already is not added, and neither is one in addition to MaxMarkTraces others.
	SaveTrace(ctx context.Context, tx engine.Execer, marks []engine.Mark, traceparent string) error
	// MarkTraces returns the trace contexts of a principal, oldest first.
	MarkTraces(ctx context.Context, app string, p engine.Principal) ([]string, error)
	// EndTraces removes the trace contexts that MarkTraces has returned. Those that were added since then remain.
	EndTraces(ctx context.Context, app string, p engine.Principal, ended []string) error
}

// MaxMarkTraces is the maximum number of trace contexts of one principal.
const MaxMarkTraces = 8
