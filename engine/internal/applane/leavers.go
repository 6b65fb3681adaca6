package applane

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// leavers is a search of an app for users to be deactivated, while only deactivations may be sent. Only the directory can tell which of
// the users that are due are to be deactivated.
type leavers struct {
	after *engine.State // the last user that was checked, nil at the beginning
	again time.Time     // when the search may begin again
}

// Bounds of a search: users per page, the time of one part of it, the multiple of that time that passes before the next search begins, and
// the longest such pause.
const (
	leaversPage    = 100
	leaversTime    = time.Second
	leaversRest    = 10
	leaversRestMax = 5 * time.Minute
)

// resting reports whether the next search has to wait. A longer pause than the longest was set before the clock was moved back: it is over.
func (l *leavers) resting(now time.Time) bool {
	left := l.again.Sub(now)
	return l.after == nil && left > 0 && left <= leaversRestMax
}

// end ends a search. A clock that was moved forward during it makes the pause no longer than the longest.
func (l *leavers) end(begun, now time.Time) {
	l.after, l.again = nil, now.Add(min(max(leaversRest*now.Sub(begun), acceptedRest), leaversRestMax))
}

// search returns the search of an app that outlives a lease. One owner at a time uses it.
func (x *Worker) search(app string) *leavers {
	l, _ := x.searches.LoadOrStore(app, &leavers{})
	return l.(*leavers)
}

// onlyUrgent reports whether the gate is open for urgent tasks alone.
func (w *work) onlyUrgent() bool {
	now := w.Now()
	return w.gate.Slots(now, 1, true) > 0 && w.gate.Slots(now, 1, false) == 0
}

// findLeavers returns some users to be deactivated, if any is due. Where the lane is claimed again soon, a call checks a part of the users,
// and the next one continues, also under another lease. Otherwise it checks all of them.
func (w *work) findLeavers(ctx context.Context, soon bool, running map[lane.Task]bool) ([]engine.State, error) {
	l, begun := &w.leavers, w.Now()
	if soon {
		l = w.search(w.app())
	}
	if soon && l.resting(begun) {
		return nil, nil
	}
	for {
		page, err := w.Store.DueUsers(ctx, w.app(), begun, l.after, leaversPage)
		if err != nil {
			return nil, err
		}
		found := page[:0:0]
		for _, r := range page {
			if running[taskOf(r)] {
				continue
			}
			if intent, err := directory.Intent(ctx, w.Directory, w.app(), principal.Of(r)); err == nil && leaves(intent) {
				found = append(found, r)
			}
		}
		if len(page) < leaversPage {
			l.end(begun, w.Now())
			return found, ctx.Err()
		}
		l.after = &page[len(page)-1]
		if len(found) > 0 || soon && w.Now().Sub(begun) >= leaversTime || ctx.Err() != nil {
			return found, ctx.Err()
		}
	}
}
