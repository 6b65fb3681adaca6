package provision

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// How long a lane rests that cannot work for a reason other than its target.
const (
	idleRest  = 10 * time.Minute // paused, or the app is unknown; a Mark or Kick ends it
	errorRest = time.Second      // the directory or the store failed
)

// storeTimeout bounds the last write of a sequence that was cut off.
const storeTimeout = 5 * time.Second

// lane works on one app for the time of a tenure.
func (e *Engine) lane(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	w := &work{e: e, tenure: t, pace: e.pace(t.Lease.App)}
	w.knowledge.Store(&engine.Learned{})
	if err := w.recount(ctx); err != nil {
		return t.Lease.Hold, w.rest(ctx, err)
	}
	gate := lane.NewGate(t.Lease.Hold, e.backoff, e.o.BreakerAfter)
	w.gate, w.noted = gate, t.Lease.Hold.Kind
	if idle, err := w.refresh(ctx); err != nil || idle {
		return gate.Hold(), w.rest(ctx, err)
	}
	err := lane.Loop(ctx, t, gate, w.concurrency, e.o.Now, w)
	if errors.Is(err, errResting) {
		w.idle, err = w.refresh(ctx)
	}
	if held := w.noteHold(ctx); err == nil {
		err = held
	}
	if err != nil || w.idle {
		return gate.Hold(), w.rest(ctx, err)
	}
	if h := gate.Hold(); h.Kind == engine.HoldNone && w.isFull() {
		return h, e.o.Now().Add(acceptedRest)
	} else if h.Kind != engine.HoldNone {
		e.o.Logger.WarnContext(ctx, "lane held", "app", t.Lease.App, "hold", h.Kind, "until", h.Until, "reason", h.Reason)
	}
	return gate.Hold(), time.Time{}
}

// work is what the lane of one app does.
type work struct {
	e      *Engine
	tenure *lane.Ownership
	idle   bool
	// first holds the tasks whose users are worked towards Active for the first time: no account of ours can exist yet.
	first sync.Map
	// connection is replaced as a whole: a sequence keeps the one it began with.
	connection atomic.Pointer[connection]
	knowledge  atomic.Pointer[engine.Learned] // about the target, as stored
	pace       *lane.RateLimiter

	rests *engine.Suspension // as stored, nil before that is known
	gate  *lane.Gate         // asked between tasks only
	noted engine.HoldKind    // as stored

	accepted acceptedChanges
	leavers  leavers // of this tenure
}

// connection is a target and the client for it.
type connection struct {
	target  engine.Target
	client  *connect.Client
	names   *regexp.Regexp      // that no account is renamed to without somebody having a look; nil for none
	windows []window            // of maintenance
	broken  error               // why there is no client
	slots   *semaphore.Weighted // of the requests that are on their way
}

// concurrency is how many principals are worked on at once. It follows the target while the lane runs. Twice as many as there
// may be requests: while half of them wait for the target, the others wait for the store or the directory, so that the target
// is never kept waiting. One request at a time means one principal after another.
func (w *work) concurrency() int {
	requests := w.e.requests(w.connection.Load().target)
	if requests == 1 {
		return 1
	}
	return 2 * requests
}

// requests is how many requests of an app may be on their way at once.
func (e *Engine) requests(t engine.Target) int {
	wanted := cmp.Or(max(t.Concurrency, 0), defaultConcurrency)
	return min(wanted, max(e.o.Concurrency/2, 1))
}

func (w *work) app() string { return w.tenure.Lease.App }

func (w *work) rest(ctx context.Context, err error) time.Time {
	switch {
	case ctx.Err() != nil, errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrLeaseLost):
		return time.Time{} // somebody else owns the lane by now, or nobody: the app was forgotten
	case err == nil && w.rests != nil && w.rests.Reason == engine.SuspensionMaintenance:
		again := w.e.o.Now().Add(idleRest) // the window may be lifted meanwhile
		if w.rests.Until.Before(again) {
			again = w.rests.Until
		}
		return again
	case err == nil:
		// Thousands of paused lanes that were started together must not come back together.
		return w.e.o.Now().Add(idleRest/2 + mathrand.N(idleRest))
	default:
		w.e.o.Logger.ErrorContext(ctx, "lane interrupted", "app", w.app(), "error", err)
		return w.e.o.Now().Add(errorRest)
	}
}

// noteHold stores a hold that has begun or ended, as soon as that is known: the lane may go on for long.
func (w *work) noteHold(ctx context.Context) error {
	h := w.gate.Hold()
	if h.Kind == w.noted {
		return nil
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := w.e.o.Store.Hold(store, w.tenure.Lease, w.e.o.Now(), h); err != nil {
		return err
	}
	w.noted = h.Kind
	return nil
}

// refresh asks the directory for the target, so that a change of credentials or a pause takes effect while the lane runs.
func (w *work) refresh(ctx context.Context) (idle bool, err error) {
	t, err := w.e.o.Directory.Target(ctx, w.app())
	switch {
	case errors.Is(err, engine.ErrUnknownApp):
		return true, w.noteRest(ctx, engine.Suspension{Reason: engine.SuspensionUnknownApp})
	case err != nil:
		return false, fmt.Errorf("engine: target of %s: %w", w.app(), err)
	case t.Paused:
		return true, w.noteRest(ctx, engine.Suspension{Reason: engine.SuspensionPaused})
	}
	if have := w.connection.Load(); have == nil || !sameTarget(have.target, t) {
		w.connection.Store(w.e.connection(t))
	}
	rest := w.connection.Load().rest(w.e.o.Now())
	if err := w.noteRest(ctx, rest); err != nil || rest.Reason != "" {
		return true, err
	}
	if err := w.recall(ctx, w.connection.Load()); err != nil {
		return false, err
	}
	w.pace.Resume(w.learned().Rate)
	w.pace.Allow(t.Rate, t.Burst)
	return false, nil
}

// stages: users before the groups that contain them.
var stages = map[engine.Kind]int{engine.User: 0, engine.Group: 1}

// Due implements lane.Work: deactivations first. What is about to be worked towards is stored before the first request.
func (w *work) Due(ctx context.Context, limit int, running map[lane.Task]bool) ([]lane.Task, error) {
	if err := w.noteHold(ctx); err != nil {
		return nil, err
	}
	// The rows before the target: a change that was marked together with a change of the target is never sent with the previous one.
	rows, err := w.e.o.Store.Due(ctx, w.app(), w.e.o.Now(), limit)
	if err != nil {
		return nil, err
	}
	idle, err := w.refresh(ctx)
	if err != nil || idle {
		w.idle = idle
		return nil, err
	}
	w.overfull(false)
	if len(rows) == 0 {
		return nil, nil
	}
	wants := map[lane.Task]engine.Want{}
	var tasks []lane.Task
	var intents []engine.Intent
	room, bounded := w.room()
	if bounded && room == 0 && len(running) == 0 {
		if err := w.recount(ctx); err != nil {
			return nil, err
		}
		room, bounded = w.room()
	}
	leaving := false
	add := func(r engine.State) {
		t := taskOf(r)
		if running[t] {
			return // its sequence has said itself what it works towards, maybe after the row was read
		}
		intent, err := w.intent(ctx, r)
		want := intent.Want
		t.Urgent = err == nil && leaves(intent)
		leaving = leaving || t.Urgent
		if bounded && !t.Urgent && r.Pending == nil {
			if room--; room < 0 {
				w.overfull(true)
				return
			}
		}
		tasks = append(tasks, t)
		if err != nil {
			return // Do asks again, and records the failure
		}
		wants[t] = want
		if want == engine.Active && !r.MayExist {
			w.first.Store(t, true)
		}
		if news(r, intent) {
			intents = append(intents, intent)
		}
	}
	for _, r := range rows {
		add(r)
	}
	if full := w.isFull(); !leaving && len(rows) == limit && (full || w.onlyUrgent()) {
		found, err := w.findLeavers(ctx, full, running)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			add(r)
		}
	}
	if len(intents) > 0 {
		if err := w.e.o.Store.Begin(ctx, w.tenure.Lease, intents); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tasks, func(a, b lane.Task) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(urgency(wants[a]), urgency(wants[b])))
	})
	return tasks, nil
}

// news says whether Begin has anything to store.
func news(r engine.State, i engine.Intent) bool {
	return r.Want != i.Want || i.Want == engine.Active && !r.MayExist || i.Manager != "" && i.Manager != r.Manager
}

func urgency(w engine.Want) int {
	if w == engine.Inactive || w == engine.Absent {
		return 0
	}
	return 1
}

func (w *work) intent(ctx context.Context, r engine.State) (engine.Intent, error) {
	if r.Kind == engine.User {
		u, err := w.e.o.Directory.User(ctx, w.app(), r.ID)
		return userIntent(r.ID, u), err
	}
	g, err := w.e.o.Directory.Group(ctx, w.app(), r.ID)
	return groupIntent(r.ID, g), err
}

// leaves reports whether a user is not to have an account.
func leaves(i engine.Intent) bool {
	return i.Kind == engine.User && (i.Want == engine.Inactive || i.Want == engine.Absent)
}

func taskOf(r engine.State) lane.Task {
	return lane.Task{Kind: string(r.Kind), ID: r.ID, Stage: stages[r.Kind]}
}

func userIntent(id string, u engine.UserState) engine.Intent {
	i := engine.Intent{Kind: engine.User, ID: id, Want: u.Want, Name: u.UserName}
	if u.Want == engine.Active {
		i.Manager = u.Manager
	}
	return i
}

func groupIntent(id string, g engine.GroupState) engine.Intent {
	return engine.Intent{Kind: engine.Group, ID: id, Want: g.Want, Name: g.DisplayName}
}

// Do implements lane.Work.
func (w *work) Do(ctx context.Context, t lane.Task) (lane.Signal, error) {
	w.e.busy.begin(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
	if w.connection.Load().rest(w.e.o.Now()).Reason != "" {
		return lane.Signal{}, errResting // a window has begun since the task was queued
	}
	row, err := w.e.state(ctx, w.app(), engine.Kind(t.Kind), t.ID)
	if err != nil {
		return lane.Signal{}, err
	}
	_, first := w.first.LoadAndDelete(t)
	if row.NextAt.IsZero() {
		return lane.Signal{Kind: engine.SignalNone}, nil // dismissed or dropped since the task was queued
	}
	if !w.admit(t, row) {
		return lane.Signal{Kind: engine.SignalNone}, nil // it stays due
	}
	r := &run{w: w, connection: w.connection.Load(), row: row, id: rand.Text(), first: first, begun: w.e.o.Now()}
	r.known = w.learned().UsedFor(r.target)
	s, err := r.do(ctx)
	w.leave(row.Status, cmp.Or(r.stored, row.Status))
	return s, err
}

// Ended implements lane.Work. Whoever waits for a principal goes on now: a mark that comes next finds it among those that are not
// running, so that the deletion guard sees it.
func (w *work) Ended(t lane.Task) {
	w.e.busy.end(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
}

// run is one sequence.
type run struct {
	*connection
	w       *work
	known   engine.Learned
	row     engine.State
	id      string
	name    string // the directory's
	first   bool   // nobody has worked towards Active before
	finish  engine.Finish
	steps   []engine.Step
	outcome plan.Outcome
	begun   time.Time
	noted   int           // how many further requests of a push are about members that the store knows of
	noting  func() error  // waits for the progress that is being stored, nil when none is
	desired any           // UserState or GroupState, as the directory said
	dry     *dry          // nil unless nothing is to be sent or stored
	late    bool          // the lease had ended when the answer to a change came
	waiting waits         // users that are not provisioned yet
	stored  engine.Status // what Finish has said
	unled   bool          // the manager of a user is not the engine's to write any more
	// unable says that the store or the directory failed while the sequence ran: what follows is not the target's doing.
	unable bool
	// alternatives are the forms of requests that were sent instead of those of the style.
	alternatives []string
}

// ours calls a function that asks the store or the directory, and notes whether it failed.
func ours[T any](r *run, ask func() (T, error)) (T, error) {
	answer, err := ask()
	r.unable = r.unable || err != nil
	return answer, err
}

// cannot is an outcome that is not the target's doing.
func cannot(class engine.Class, format string, args ...any) plan.Outcome {
	return plan.Outcome{Class: class, Operation: engine.OpNone, Message: fmt.Sprintf(format, args...)}
}

func (r *run) do(ctx context.Context) (lane.Signal, error) {
	var err error
	switch {
	case r.broken != nil:
		r.outcome = r.keep(cannot(engine.Denied, "the connection is not configured: %s", errtext.Plain(r.broken)))
	case r.row.Kind == engine.User:
		err = r.user(ctx)
	default:
		err = r.group(ctx)
	}
	if err != nil {
		return lane.Signal{}, err
	}
	interrupted := (ctx.Err() != nil || !r.w.tenure.Valid()) && r.outcome.Class == engine.Transient
	r.conclude(interrupted)
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	status, err := r.w.e.o.Store.Finish(store, r.w.tenure.Lease, r.finish)
	if err != nil {
		return lane.Signal{}, r.refused(store, err)
	}
	if status == engine.StatusHeld && r.finish.Status != engine.StatusHeld {
		r.finish = r.finish.Taken()
	}
	r.finish.Status = status
	r.stored = status
	if err := r.w.learn(store, r.target, r.outcome); err != nil {
		return lane.Signal{}, err
	}
	if interrupted {
		return lane.Signal{}, context.Cause(ctx)
	}
	r.w.e.o.Observer.Result(context.WithoutCancel(ctx), r.result())
	s := r.signal()
	if rate, news := r.w.pace.Report(s.Kind); news {
		return s, r.w.note(store, func(l *engine.Learned) { l.Rate = rate })
	}
	return s, nil
}

// keep carries over what is known about the remote resource into an outcome that learned nothing.
func (r *run) keep(o plan.Outcome) plan.Outcome {
	o.RemoteID, o.Origin, o.Name, o.Unkept = r.row.RemoteID, r.row.Origin, r.row.RemoteName, r.row.IgnoredAttributes
	o.PasswordVersion, o.Pending = r.row.PasswordVersion, r.row.Pending
	return o
}

// begin stores what is worked towards, if the directory changed its mind since Due.
func (r *run) begin(ctx context.Context, intent engine.Intent) error {
	switch want := intent.Want; {
	case want == engine.Active, want == engine.Inactive, want == engine.Absent:
	case want == engine.Keep && r.row.Kind == engine.User:
	default:
		r.outcome = r.keep(cannot(engine.Rejected, "the directory gave no valid state (%q)", want))
		return nil
	}
	r.name = intent.Name
	if !news(r.row, intent) {
		return nil
	}
	r.first = r.first || intent.Want == engine.Active && !r.row.MayExist
	if r.dry != nil {
		r.row = begun(r.row, intent)
		return nil
	}
	if err := r.w.e.o.Store.Begin(ctx, r.w.tenure.Lease, []engine.Intent{intent}); err != nil {
		return err
	}
	fresh, err := r.w.e.state(ctx, r.row.App, r.row.Kind, r.row.ID)
	if err != nil {
		return err
	}
	fresh.Desired = r.row.Desired // what was marked since the directory was asked is not covered
	r.row = fresh
	return nil
}

// directoryFailed notes that the directory cannot say now. That never leads to a deprovisioning.
func (r *run) directoryFailed(err error) {
	r.outcome = r.keep(cannot(engine.Transient, "the directory cannot tell the desired state: %s", errtext.Plain(err)))
}

// exchange runs a sequence to its end. An error is the store's.
func (r *run) exchange(ctx context.Context, s *plan.Sequence, secrets ...string) error {
	if r.dry != nil {
		r.rehearse(ctx, s, secrets...)
		return nil
	}
	client := r.client.Record(func(x wirelog.Exchange) {
		r.finish.Exchanges = append(r.finish.Exchanges, attemptOf(r.id, x))
	}, secrets...)
	step := s.Step()
	for {
		r.acknowledge(step.Acked)
		if step.Outcome != nil {
			break
		}
		if err := r.progress(ctx, step); err != nil && ctx.Err() == nil {
			return err
		}
		answer, why := r.send(ctx, client, *step.Request)
		if why != nil {
			step = s.Stop(*why)
			continue
		}
		step = s.Feed(answer)
	}
	for _, a := range r.alternatives {
		r.w.e.o.Logger.InfoContext(ctx, "request in another form", "app", r.row.App, "kind", r.row.Kind, "id", r.row.ID, "form", client.Redact(a))
	}
	r.outcome = r.withAlternatives(*step.Outcome)
	r.outcome.Message = client.Redact(r.outcome.Message) // it quotes the target, and is stored, logged and told to the observer
	return r.noteEnds()
}

// noteAlternative keeps the form of a request that is sent instead of the one of the style.
func (r *run) noteAlternative(q plan.Request) {
	if q.Alternative == nil {
		return
	}
	if form := q.Alternative.String(); !slices.Contains(r.alternatives, form) {
		r.alternatives = append(r.alternatives, form)
	}
}

// withAlternatives names the requests in other forms in the message of a sequence that failed.
func (r *run) withAlternatives(o plan.Outcome) plan.Outcome {
	if len(r.alternatives) > 0 && o.Message != "" && o.Class != engine.Done && !o.Halted {
		o.Message += "; other forms were tried: " + strings.Join(r.alternatives, ", ")
	}
	return o
}

// announce stores, before a create is sent, what nobody could find out afterwards if the end of this sequence is never stored: that
// one without an identifier of ours, or under another name than was stored, may have been carried out. One that is halted is not
// announced: why says so.
func (r *run) announce(ctx context.Context, req plan.Request) (why *plan.Outcome, err error) {
	if req.Op != engine.OpCreate || req.Body.Text("externalId") != "" && r.row.RemoteName == r.name {
		return nil, nil
	}
	if why := r.stop(ctx, req); why != nil {
		return why, nil
	}
	i := engine.Intent{Kind: r.row.Kind, ID: r.row.ID, Want: engine.Active, Name: r.name, Creating: true}
	return nil, r.w.e.o.Store.Begin(ctx, r.w.tenure.Lease, []engine.Intent{i})
}

// send sends a request when it is its turn among those of the app, by its pace, and among those of all apps. When it must not be sent,
// why says so. What is to be stored before is stored before it waits for its turn, and whether it is halted is asked after that.
func (r *run) send(ctx context.Context, client *connect.Client, q plan.Request) (answer plan.Response, why *plan.Outcome) {
	failed := func(err error) (plan.Response, *plan.Outcome) { return plan.Response{Err: err}, nil }
	if why, err := r.announce(ctx, q); err != nil || why != nil {
		r.unable = r.unable || err != nil
		return plan.Response{Err: err}, why
	}
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return failed(err)
	}
	defer r.slots.Release(1)
	if err := r.w.pace.Wait(ctx); err != nil {
		return failed(err)
	}
	if err := r.w.e.turns.Acquire(ctx, 1); err != nil {
		return failed(err)
	}
	defer r.w.e.turns.Release(1)
	if why := r.stop(ctx, q); why != nil {
		return answer, why
	}
	if !r.w.tenure.Valid() {
		return failed(engine.ErrLeaseLost)
	}
	step := engine.Step{Method: q.Method, Path: q.Path}
	if r.noteAlternative(q); q.Alternative != nil {
		step.Alternative = client.Redact(q.Alternative.String())
	}
	for range resetTries {
		answer = client.Do(ctx, q)
		step.Status, step.Message = answer.Status, client.Redact(plan.Refusal(answer))
		r.steps = append(r.steps, step)
		if r.target.Fallback != engine.FallbackNone || q.Method != http.MethodGet || !errors.Is(answer.Err, syscall.ECONNRESET) {
			break // a failure ends the sequence, and is tried again by another one
		}
	}
	r.late = r.late || q.Op != "" && !r.w.tenure.Valid()
	return answer, nil
}

// resetTries is how often a read is sent whose connection is reset, where no other sequence repeats it.
const resetTries = 3

// final reports whether a failure ends the attempts until the next Mark or Retry. So does every failure with FallbackNone, but for a
// deactivation: a user who is not to have an account must not keep it because of one failure.
func (r *run) final() bool {
	return r.target.Fallback == engine.FallbackNone && len(r.steps) > 0 && !r.unable && !r.deactivates()
}

// deactivates reports whether the user is not to have an account.
func (r *run) deactivates() bool {
	return r.row.Kind == engine.User && (r.row.Want == engine.Inactive || r.row.Want == engine.Absent)
}

// conclude turns the outcome into what is stored.
func (r *run) conclude(interrupted bool) {
	o, now := r.outcome, r.w.e.o.Now()
	f := &r.finish
	f.Kind, f.ID, f.Gen, f.At = r.row.Kind, r.row.ID, r.row.Desired, now
	f.Operation, f.HTTP, f.Error = o.Operation, o.Status, o.Message
	f.RemoteID, f.RemoteName, f.Origin = o.RemoteID, o.Name, o.Origin
	f.Halted, f.PasswordVersion, f.IgnoredAttributes = o.Halted, o.PasswordVersion, o.Unkept
	f.Pending, f.Confirmed = o.Pending, o.Confirmed
	if f.Pending != nil {
		r.accept(f.Pending, now)
	}
	// What a sequence that was cut off was about to send was noted before, member by member.
	f.Unsure = o.Full || o.Unsure && !interrupted
	failures := r.row.Attempts + 1
	switch {
	case f.Pending != nil && !o.Class.Info().Decided:
		r.await(f, f.Pending, interrupted)
	case interrupted:
		f.Status, f.Attempts, f.NextAt = engine.StatusDirty, r.row.Attempts, now
		f.Error = r.row.LastError
	case o.Class == engine.Done && r.waiting.all > 0:
		f.Status = engine.StatusWaiting
	case o.Halted:
		f.Status, f.Attempts = engine.StatusHeld, r.row.Attempts
	default:
		r.follow(o.Class, failures)
	}
	f.Untried = r.first && o.RemoteID == "" && o.Origin == "" && !slices.ContainsFunc(r.steps, func(s engine.Step) bool { return s.Method == http.MethodPost })
	r.finishWaiting(o.Class == engine.Done && !interrupted)
}

// follow stores what a class leads to.
func (r *run) follow(class engine.Class, failures int) {
	f, now, row := &r.finish, r.finish.At, class.Info()
	f.Status = row.Status
	switch row.Class {
	case engine.Done, engine.Skipped:
	case engine.Held, engine.Rejected:
		f.Attempts = failures
	case engine.Throttled:
		f.Attempts, f.NextAt = r.row.Attempts, now // the lane waits
		if r.target.Fallback == engine.FallbackNone {
			f.Attempts = failures
		}
		if r.throttledOut(failures) {
			f.Status, f.Attempts, f.NextAt = engine.StatusFailed, failures, time.Time{}
			f.Error += fmt.Sprintf("; tried %d times", failures)
		}
	case engine.Transient, engine.Denied, engine.Accepted:
		f.Attempts = failures
		if r.final() {
			f.Status = engine.StatusFailed
			return
		}
		delay := r.w.e.backoff.Delay(failures)
		if row.Class == engine.Denied {
			delay *= 2 // twice the delay of the lane: if only this principal is forbidden, another one is the lane's next probe
		}
		f.NextAt = now.Add(delay)
	}
}

// With FallbackNone, a principal whose target asks for a pause is tried so many times, and no pause is longer.
const (
	throttleTries = 3
	throttlePause = 30 * time.Second
)

// throttledOut reports whether a principal is not tried again by itself after a target has asked for a pause so many times in a row. A
// deactivation always is: a user who is not to have an account must not keep it because a target is busy.
func (r *run) throttledOut(failures int) bool {
	return r.target.Fallback == engine.FallbackNone && !r.deactivates() && failures >= throttleTries
}

func (r *run) signal() lane.Signal {
	if len(r.steps) == 0 && r.outcome.Class != engine.Denied {
		return lane.Signal{Kind: engine.SignalNone}
	}
	s := lane.Signal{Reason: r.outcome.Message}
	if r.outcome.Lapsed {
		s.Kind = engine.SignalOK // it has answered
		return s
	}
	s.Kind = r.outcome.Class.Info().Signal
	if s.Kind == engine.SignalThrottled {
		s.Until = connect.RetryAfter(r.outcome.RetryAfter, r.w.e.o.Now())
		if r.target.Fallback == engine.FallbackNone {
			s.Limit = throttlePause
		}
	}
	return s
}

func (r *run) result() engine.Result {
	return engine.Result{
		App: r.row.App, Kind: r.row.Kind, ID: r.row.ID, Want: r.row.Want, Operation: r.finish.Operation, Outcome: r.outcome.Class,
		Status: r.finish.Status, RemoteID: r.finish.RemoteID, HTTP: r.finish.HTTP, Error: r.finish.Error, Steps: r.steps,
		PasswordVersion: r.finish.PasswordVersion, Confirmed: r.finish.Confirmed, Lapsed: r.outcome.Lapsed, IgnoredAttributes: unkept(r.finish.IgnoredAttributes),
		Duration: r.w.e.o.Now().Sub(r.begun),
	}
}

// unkept leaves out what was only sent and not looked at since.
func unkept(all map[string]engine.IgnoredAttribute) map[string]engine.IgnoredAttribute {
	var out map[string]engine.IgnoredAttribute
	for path, u := range all {
		if u.Rounds == 0 {
			continue
		}
		if out == nil {
			out = map[string]engine.IgnoredAttribute{}
		}
		out[path] = u
	}
	return out
}
