package applane

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// leavers is a search of an app for users to deactivate, while only deactivations may be sent. The store does not contain the current
// desired states, so the search queries the directory for each pending user.
type leavers struct {
	after *engine.State // the last user that was checked, nil at the start
	again time.Time     // when the search may start again
}

// Limits of a search: leaversPage is the number of users per page, leaversTime the duration after which findLeavers checks no further page.
// The pause before the next search is leaversPauseFactor times the duration of the finished search, at most leaversPauseMax.
const (
	leaversPage        = 100
	leaversTime        = time.Second
	leaversPauseFactor = 10
	leaversPauseMax    = 5 * time.Minute
)

// pausing reports whether the next search has to wait. A remaining pause longer than leaversPauseMax means that the clock was set back; the
// next search then does not wait.
func (l *leavers) pausing(now time.Time) bool {
	left := l.again.Sub(now)
	return l.after == nil && left > 0 && left <= leaversPauseMax
}

// end ends a search and sets the pause before the next one. The pause never exceeds leaversPauseMax, even if the clock was moved forward
// during the search.
func (l *leavers) end(begun, now time.Time) {
	l.after, l.again = nil, now.Add(min(max(leaversPauseFactor*now.Sub(begun), acceptedDelay), leaversPauseMax))
}

// search returns the search of an app, which continues across leases. Only the current owner of the lane uses it.
func (x *Worker) search(app string) *leavers {
	l, _ := x.searches.LoadOrStore(app, &leavers{})
	return l.(*leavers)
}

// onlyUrgent reports whether the gate is open for urgent tasks only.
func (w *work) onlyUrgent() bool {
	now := w.Now()
	return w.gate.Slots(now, 1, true) > 0 && w.gate.Slots(now, 1, false) == 0
}

// findLeavers returns some users to deactivate, if any are pending. It checks the pending users page by page, until a page has users to
// deactivate or all users are checked. If soon is true, because the lane will be claimed again soon, it also stops after leaversTime; the
// next call then continues with the next page, even under another lease.
func (w *work) findLeavers(ctx context.Context, soon bool, running map[lane.Task]bool) ([]engine.State, error) {
	l, begun := &w.leavers, w.Now()
	if soon {
		l = w.search(w.app())
	}
	if soon && l.pausing(begun) {
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
			if w.ownership.Draining() {
				return found, nil
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
