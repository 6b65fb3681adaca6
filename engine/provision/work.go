package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// How long a lane rests that cannot work for a reason other than its target.
const (
	idleRest  = 10 * time.Minute // paused, or the app is unknown; a Mark or Kick ends it
	errorRest = time.Second      // the directory or the store failed
)

// lane works on one app for the time of a tenure.
func (e *Engine) lane(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	w := &work{e: e, tenure: t, pace: e.targets.Pace(t.Lease.App), knowledge: target.NewKnowledge(e.o.Store, t.Lease, e.o.Now)}
	if err := w.recount(ctx); err != nil {
		return t.Lease.Hold, w.rest(ctx, err)
	}
	gate := lane.NewGate(t.Lease.Hold, e.sequences.Backoff, e.o.BreakerAfter)
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
	connection atomic.Pointer[target.Connection]
	knowledge  *target.Knowledge
	pace       *lane.RateLimiter

	rests *engine.Suspension // as stored, nil before that is known
	gate  *lane.Gate         // asked between tasks only
	noted engine.HoldKind    // as stored

	accepted acceptedChanges
	leavers  leavers // of this tenure
}

// concurrency is how many principals are worked on at once. It follows the target while the lane runs. Twice as many as there
// may be requests: while half of them wait for the target, the others wait for the store or the directory, so that the target
// is never kept waiting. One request at a time means one principal after another.
func (w *work) concurrency() int {
	requests := w.connection.Load().Requests
	if requests == 1 {
		return 1
	}
	return 2 * requests
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
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
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
	if have := w.connection.Load(); have == nil || !have.Is(t) {
		w.connection.Store(w.e.targets.Connect(t))
	}
	rest := w.connection.Load().Rest(w.e.o.Now())
	if err := w.noteRest(ctx, rest); err != nil || rest.Reason != "" {
		return true, err
	}
	if err := w.knowledge.Recall(ctx, w.connection.Load()); err != nil {
		return false, err
	}
	w.pace.Resume(w.knowledge.Learned().Rate)
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
		intent, err := directory.Intent(ctx, w.e.o.Directory, w.app(), principal.Of(r))
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
		if directory.News(r, intent) {
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

func urgency(w engine.Want) int {
	if w == engine.Inactive || w == engine.Absent {
		return 0
	}
	return 1
}

// leaves reports whether a user is not to have an account.
func leaves(i engine.Intent) bool {
	return i.Kind == engine.User && (i.Want == engine.Inactive || i.Want == engine.Absent)
}

func taskOf(r engine.State) lane.Task {
	return lane.Task{Kind: string(r.Kind), ID: r.ID, Stage: stages[r.Kind]}
}

// Do implements lane.Work.
func (w *work) Do(ctx context.Context, t lane.Task) (lane.Signal, error) {
	w.e.busy.begin(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
	if w.connection.Load().Rest(w.e.o.Now()).Reason != "" {
		return lane.Signal{}, errResting // a window has begun since the task was queued
	}
	row, err := principal.State(ctx, w.e.o.Store, w.app(), engine.Kind(t.Kind), t.ID)
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
	connection := w.connection.Load()
	end, err := sequence.Deps{
		Options: w.e.sequences, Ledger: w.e.o.Store, Directory: w.e.o.Directory, Knowledge: w.knowledge, Connection: connection,
		Lease: w.tenure.Lease, Valid: w.tenure.Valid,
		Line: func(record func(wirelog.Exchange), secrets ...string) sequence.Line {
			return connection.Line(w.pace, record, secrets...)
		},
	}.Run(ctx, row, first)
	w.leave(row.Status, cmp.Or(end.Status, row.Status))
	switch {
	case err != nil:
		return lane.Signal{}, err
	case end.Interrupted:
		return lane.Signal{}, context.Cause(ctx)
	}
	w.e.o.Observer.Result(context.WithoutCancel(ctx), end.Result)
	if rate, news := w.pace.Report(end.Signal.Kind); news {
		store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
		defer cancel()
		err = w.knowledge.Note(store, func(l *engine.Learned) { l.Rate = rate })
	}
	return end.Signal, err
}

// Ended implements lane.Work. Whoever waits for a principal goes on now: a mark that comes next finds it among those that are not
// running, so that the deletion guard sees it.
func (w *work) Ended(t lane.Task) {
	w.e.busy.end(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
}
