package applane

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/store"
)

// stages orders users before the groups that contain them.
var stages = map[engine.Kind]int{engine.User: 0, engine.Group: 1}

// dueTime is the duration after which Due queries the directory for no further row. The remaining rows are due in the next call. Otherwise
// a slow directory would delay the first request, and the end of the engine, by the queries for all rows.
const dueTime = time.Second

// Due implements lane.Work: deactivations first. The desired states, and which principals are in flight, are stored before the first
// request.
//
// Invariant 24: The engine first reads the pending rows, and then the target of the app (base URL, credentials) from the directory. A
// change that is marked together with a change of the target is therefore never sent to the previous target.
func (w *work) Due(ctx context.Context, limit int, running map[lane.Task]bool) ([]lane.Task, error) {
	if err := w.storeHold(ctx); err != nil {
		return nil, err
	}
	if err := w.recheck(ctx); err != nil {
		return nil, err
	}
	// Read the rows before the target: see invariant 24.
	rows, err := w.Store.Due(ctx, w.app(), w.Now(), limit)
	if err != nil {
		return nil, err
	}
	w.accepted.setFull(false)
	if len(rows) == 0 {
		return nil, nil // nothing will be sent to the target
	}
	idle, err := w.refresh(ctx)
	if w.idle = idle; err != nil || idle {
		return nil, err
	}
	q := queue{w: w, running: running, wants: map[lane.Task]engine.Want{}}
	if q.room, q.bounded = w.accepted.room(w.target()); q.bounded && q.room == 0 && len(running) == 0 {
		if err := w.recount(ctx); err != nil {
			return nil, err
		}
		q.room, q.bounded = w.accepted.room(w.target())
	}
	begun := w.Now()
	for _, r := range rows {
		if len(q.tasks) > 0 && w.Now().Sub(begun) >= dueTime {
			break
		}
		q.add(ctx, r)
	}
	if full := w.accepted.isFull(); !q.leaving && len(rows) == limit && (full || w.onlyUrgent()) {
		found, err := w.findLeavers(ctx, full, running)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			q.add(ctx, r)
		}
	}
	if len(q.tasks) > 0 {
		if err := w.Store.Start(ctx, w.ownership.Lease, q.intents, inFlight(running, q.tasks)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(q.tasks, func(a, b lane.Task) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(urgency(q.wants[a]), urgency(q.wants[b])))
	})
	return q.tasks, nil
}

// queue collects the next tasks.
type queue struct {
	w       *work
	running map[lane.Task]bool
	room    int // number of further sequences that may end with an accepted change (202); only if bounded
	bounded bool

	tasks   []lane.Task
	wants   map[lane.Task]engine.Want
	intents []store.Intent // desired states to store before the first request
	leaving bool           // tasks contains deactivations
}

// add queues a principal, unless it is running or must wait until the target has carried out more accepted changes.
func (q *queue) add(ctx context.Context, r engine.State) {
	t := taskOf(r)
	if q.running[t] {
		return // omit the principal: its running sequence stores the desired state itself
	}
	intent, err := directory.Intent(ctx, q.w.Directory, q.w.app(), principal.Of(r))
	t.Urgent = err == nil && leaves(intent)
	q.leaving = q.leaving || t.Urgent
	if q.bounded && !t.Urgent && r.Pending == nil {
		if q.room--; q.room < 0 {
			q.w.accepted.setFull(true)
			return
		}
	}
	q.tasks = append(q.tasks, t)
	if err != nil {
		return // Do repeats the query of the directory, and records the failure
	}
	q.wants[t] = intent.Want
	if intent.Want == engine.Active && !r.MayExist {
		q.w.first.Store(t, true)
	}
	if directory.HasChanges(r, intent) {
		q.intents = append(q.intents, intent)
	}
}

func urgency(w engine.Want) int {
	if w == engine.Inactive || w == engine.Absent {
		return 0
	}
	return 1
}

// leaves reports whether the intent is the deactivation of a user.
func leaves(i store.Intent) bool {
	return i.Kind == engine.User && (i.Want == engine.Inactive || i.Want == engine.Absent)
}

func taskOf(r engine.State) lane.Task {
	return lane.Task{Kind: string(r.Kind), ID: r.ID, Stage: stages[r.Kind]}
}
