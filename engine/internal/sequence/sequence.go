package sequence

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// StoreTimeout is the time limit of the last write of an aborted sequence.
const StoreTimeout = 5 * time.Second

// Ledger is the storage of a sequence: the store, or, for a dry run, an implementation that stores nothing. The methods are those of
// store.Store.
type Ledger interface {
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	Begin(ctx context.Context, l engine.Lease, intents []store.Intent) error
	Remove(ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
	Members(ctx context.Context, app string, q store.MemberQuery) ([]store.Member, error)
	SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error
	EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error
	Progress(ctx context.Context, l engine.Lease, p store.Progress) error
	Finish(ctx context.Context, l engine.Lease, f store.Finish) (engine.Status, error)
	Recheck(ctx context.Context, now time.Time, m engine.Mark) error
}

// Knowledge is the learned information about the target. *target.Knowledge implements it.
type Knowledge interface {
	Learned() engine.Learned
	Note(ctx context.Context, change func(*engine.Learned)) error
}

// Line sends requests. *target.Line implements it.
type Line interface {
	// Turn waits until a request may be sent. The caller calls done after the request.
	Turn(ctx context.Context) (done func(), err error)
	Do(ctx context.Context, r plan.Request) plan.Response
	// Redact replaces secrets in a string that quotes the target.
	Redact(text string) string
}

// Halts reads the halts of an app. *SharedHalts implements it.
type Halts interface {
	// Current returns the halts of the app and those of all apps, as they were at most 5 ms ago and not before since.
	Current(ctx context.Context, since time.Time) ([]engine.Halt, error)
	// Ahead begins to read the halts for a request that the caller sends soon.
	Ahead()
	// AheadOfOthers begins to read the halts for a request that another sequence sends soon, if one waits for its turn.
	AheadOfOthers()
	// Queue records that a request which needs the halts waits for its turn, until leave is called.
	Queue() (leave func())
}

// Settings are the settings of an engine for its sequences.
type Settings struct {
	Now     func() time.Time
	Logger  *slog.Logger
	Backoff lane.Backoff // after failures
	// first and maximum time between two reads of a principal whose change the target has accepted with 202
	CheckInitial, CheckMax time.Duration
	// after this many sequences in which the target ignored an attribute, the engine no longer sends the attribute
	KeepRounds int
}

// Deps are the dependencies of the sequences of one app under one lease; all fields are required.
type Deps struct {
	Settings
	Ledger     Ledger
	Halts      Halts
	Directory  engine.Directory
	Knowledge  Knowledge
	Connection *target.Connection
	// Line opens the line of a sequence. It passes each exchange to record, with the secrets redacted.
	Line  func(record func(wirelog.Exchange), secrets ...string) Line
	Lease engine.Lease
	Valid func() bool // reports whether the lease has not expired by the local clock
	// Draining reports whether the lane is to be released soon. Then a push ends after a request, and the next owner continues it.
	Draining func() bool
	Sent     func() // called when the sequence has succeeded and its result is not stored yet
}

// End is the result of a sequence.
type End struct {
	Outcome plan.Outcome
	Status  engine.Status // status in the store; empty if nothing was stored
	Result  engine.Result // for the observer
	Signal  lane.Signal   // passed to the gate of the lane
	// Interrupted reports that the sequence was aborted: Result and Signal are unset.
	Interrupted bool

	Desired any    // UserState or GroupState, nil if the directory returned an error
	Waiting string // message that names the users that the principal waits for, or empty
}

// Run processes a principal. first reports that the engine cannot have created an account yet, because the desired state was never Active
// before. An error is an error of the store; End.Status is then set if the result was stored.
func (d Deps) Run(ctx context.Context, row engine.State, first bool) (End, error) {
	r := &run{
		Deps: d, target: d.Connection.Target, row: row, id: rand.Text(), first: first, begun: d.Now(),
		known: d.Knowledge.Learned().UsedFor(d.Connection.Target),
	}
	err := r.do(ctx)
	r.end.Outcome, r.end.Desired, r.end.Waiting = r.outcome, r.desired, r.waiting.String()
	return r.end, err
}

// run is one sequence.
type run struct {
	Deps
	target          engine.Target
	known           engine.Learned
	row             engine.State
	id              string
	name            string // userName or displayName that the directory returned
	first           bool
	finish          store.Finish
	steps           []engine.Step
	outcome         plan.Outcome
	end             End
	begun           time.Time
	stepped         time.Time    // when the exchange began, its last response arrived or its create was announced, whichever was last
	noted           int          // number of further requests of the push whose members are already stored
	acknowledged    int          // number of acknowledged requests of the push
	unstored        int          // number of acknowledged requests whose members are not stored yet
	pending         *pendingNote // nil if no progress is being stored
	lostNote        error        // why a progress could not be stored; then no other progress and no result is stored
	desired         any          // UserState or GroupState, as returned by the directory
	drained         bool         // the push was ended because the lane is to be released
	late            bool         // the lease had ended when the response to a change arrived
	waiting         missingUsers // users that are not provisioned yet
	walk            *walk        // reads all members of a group, nil if that is not necessary
	whole           bool         // the target confirmed a replacement of the members; not recorded before the walk is complete
	managerReleased bool         // the engine no longer manages the manager of the user
	// localFailure reports that the store or the directory failed during the sequence: the target did not cause the outcome.
	localFailure bool
	// alternatives are the request forms that were sent instead of the preferred forms of the style.
	alternatives []string
}

// trackFailure calls a function that queries the store or the directory, and records whether it failed.
func trackFailure[T any](r *run, ask func() (T, error)) (T, error) {
	answer, err := ask()
	r.localFailure = r.localFailure || err != nil
	return answer, err
}

// localOutcome returns an outcome that the target did not cause.
func localOutcome(class engine.Class, format string, args ...any) plan.Outcome {
	return plan.Outcome{Class: class, Operation: engine.OpNone, Message: fmt.Sprintf(format, args...)}
}

func (r *run) do(ctx context.Context) error {
	var err error
	switch broken := r.Connection.Broken; {
	case broken != nil:
		r.outcome = r.keep(localOutcome(engine.Denied, "the connection is not configured: %s", errtext.Plain(broken)))
	case r.row.Kind == engine.User:
		err = r.user(ctx)
	default:
		err = r.group(ctx)
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
	defer cancel()
	if err != nil {
		return r.resultRejected(store, err)
	}
	interrupted := (ctx.Err() != nil || !r.Valid() || r.drained) && r.outcome.Class == engine.Transient
	r.conclude(interrupted)
	if r.outcome.Class == engine.Done {
		r.Sent()
	}
	status, err := r.Ledger.Finish(store, r.Lease, r.finish)
	if err != nil {
		return r.resultRejected(store, err)
	}
	if status == engine.StatusHeld && r.finish.Status != engine.StatusHeld {
		r.finish = r.finish.Taken()
	}
	r.finish.Status = status
	r.end.Status, r.end.Interrupted = status, interrupted
	if err := r.learn(store); err != nil {
		return err
	}
	if !interrupted {
		r.end.Result, r.end.Signal = r.result(), r.signal()
	}
	return nil
}

// keep completes the outcome o, which has no data about the remote resource, with the stored data.
func (r *run) keep(o plan.Outcome) plan.Outcome {
	o.RemoteID, o.Origin, o.Name, o.IgnoredAttributes = r.row.RemoteID, r.row.Origin, r.row.RemoteName, r.row.IgnoredAttributes
	o.PasswordVersion, o.Pending = r.row.PasswordVersion, r.row.Pending
	return o
}

// begin stores the desired state, if the stored one differs.
func (r *run) begin(ctx context.Context, intent store.Intent) error {
	switch want := intent.Want; {
	case want == engine.Active, want == engine.Inactive, want == engine.Absent:
	case want == engine.Keep && r.row.Kind == engine.User:
	default:
		r.outcome = r.keep(localOutcome(engine.Rejected, "the directory returned an invalid state (%q)", want))
		return nil
	}
	r.name = intent.Name
	if !directory.HasChanges(r.row, intent) {
		return nil
	}
	r.first = r.first || intent.Want == engine.Active && !r.row.MayExist
	if err := r.Ledger.Begin(ctx, r.Lease, []store.Intent{intent}); err != nil {
		return err
	}
	fresh, err := r.state(ctx, r.row.Kind, r.row.ID)
	if err != nil {
		return err
	}
	fresh.Desired = r.row.Desired // the sequence does not cover marks that arrived later
	r.row = fresh
	return nil
}

// state returns the stored state of a principal of the app.
func (r *run) state(ctx context.Context, kind engine.Kind, id string) (engine.State, error) {
	return principal.State(ctx, r.Ledger, r.row.App, kind, id)
}

// directoryFailed sets the outcome for an unavailable desired state: the principal is retried, and never deprovisioned.
func (r *run) directoryFailed(err error) {
	r.outcome = r.keep(localOutcome(engine.Transient, "the desired state is unavailable: %s", errtext.Plain(err)))
}
