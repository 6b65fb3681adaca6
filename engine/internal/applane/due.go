package applane

import (
	"cmp"
	"context"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// stages: users before the groups that contain them.
var stages = map[engine.Kind]int{engine.User: 0, engine.Group: 1}

// Due implements lane.Work: deactivations first. What is about to be worked towards is stored before the first request.
func (w *work) Due(ctx context.Context, limit int, running map[lane.Task]bool) ([]lane.Task, error) {
	if err := w.noteHold(ctx); err != nil {
		return nil, err
	}
	// The rows before the target: a change that was marked together with a change of the target is never sent with the previous one.
	rows, err := w.Store.Due(ctx, w.app(), w.Now(), limit)
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
		intent, err := directory.Intent(ctx, w.Directory, w.app(), principal.Of(r))
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
		if err := w.Store.Begin(ctx, w.ownership.Lease, intents); err != nil {
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
