package provision

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

// accept fills in what is not known to a sequence of a change that was accepted just now. The time limit of one that was accepted at a time
// ahead, before the clock was set back, starts again.
func (r *run) accept(p *engine.Pending, now time.Time) {
	switch {
	case p.At.IsZero():
		p.Gen = r.row.Desired
	case !p.At.After(now):
		return
	}
	p.At = now
	p.Deadline = now.Add(cmp.Or(r.target.AsyncTimeout, engine.DefaultAsyncTimeout))
}

// await has a principal read again whose change was accepted: 2, 4, 8 ... 60 seconds after the last time, and when the time is up.
func (r *run) await(f *engine.Finish, p *engine.Pending, interrupted bool) {
	f.Status, f.Attempts = engine.StatusPending, r.row.Attempts
	if interrupted {
		f.NextAt, f.Error, f.Pending = f.At, r.row.LastError, r.row.Pending
		return
	}
	delay := r.w.e.o.CheckMax
	if p.Reads < 16 {
		delay = min(r.w.e.o.CheckInitial<<p.Reads, delay)
	}
	f.NextAt = f.At.Add(delay)
	if f.At.Before(p.Deadline) && f.NextAt.After(p.Deadline) {
		f.NextAt = p.Deadline
	}
	text := fmt.Sprintf("%s; waits until %s", outstanding(p), p.Deadline.UTC().Format(time.RFC3339))
	if f.Error != "" {
		text += "; " + f.Error // why the last read has not told
	}
	f.Error = text
}

// outstanding says what has not arrived.
func outstanding(p *engine.Pending) string {
	return fmt.Sprintf("%s: %s, not carried out yet", p.Operation, p)
}

// expired reports whether the time is up within which the target may carry out what it has accepted.
func (r *run) expired() bool {
	return r.row.Pending != nil && !r.w.e.o.Now().Before(r.row.Pending.Deadline)
}

// acceptedRest is when a lane looks again that sends nothing because its target has accepted enough. A mark wakes it earlier.
const acceptedRest = time.Second

// acceptedChanges counts the principals of a lane whose change the target has accepted.
type acceptedChanges struct {
	mu     sync.Mutex
	have   int  // as stored
	flying int  // sequences that may become another one
	full   bool // somebody waits for that
}

// room is how many sequences may begin that may become another one. As long as the target has accepted nothing, there is no bound.
func (w *work) room() (n int, bounded bool) {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	return w.accepted.room(w.connection.Load().target)
}

func (a *acceptedChanges) room(t engine.Target) (n int, bounded bool) {
	most := cmp.Or(max(t.MaxPending, 0), engine.DefaultMaxPending)
	return max(most-a.have-a.flying, 0), a.have > 0
}

// admit reports whether a sequence may begin. Deactivations may, and so may those that read what became of a change.
func (w *work) admit(t lane.Task, row engine.State) bool {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	n, bounded := w.accepted.room(w.connection.Load().target)
	if bounded && n == 0 && !t.Urgent && row.Pending == nil {
		w.accepted.full = true
		return false
	}
	w.accepted.flying++
	return true
}

// leave takes back what admit has counted, after the status of the principal was stored.
func (w *work) leave(before, after engine.Status) {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	w.accepted.flying--
	if before != engine.StatusPending && after == engine.StatusPending {
		w.accepted.have++
	}
	if before == engine.StatusPending && after != engine.StatusPending {
		w.accepted.have--
	}
}

func (w *work) overfull(full bool) {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	w.accepted.full = full
}

// isFull reports whether somebody waits until the target has carried out more of what it has accepted.
func (w *work) isFull() bool {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	return w.accepted.full
}

// recount asks the store, while no sequence is running.
func (w *work) recount(ctx context.Context) error {
	n, err := w.e.o.Store.Accepted(ctx, w.app())
	if err == nil {
		w.accepted.mu.Lock()
		defer w.accepted.mu.Unlock()
		w.accepted.have = n
	}
	return err
}
