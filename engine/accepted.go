package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/engine/plan"
)

// Pending is a change that a target has accepted (202) and was not seen to have carried out.
type Pending = plan.Pending

// Defaults of Target.AsyncTimeout and Target.MaxPending.
const (
	DefaultAsyncTimeout = 10 * time.Minute
	DefaultMaxPending   = 50
)

// AcceptedStore counts what targets have accepted. Finish stores it.
type AcceptedStore interface {
	// Accepted counts the principals of an app whose status is StatusPending.
	Accepted(ctx context.Context, app string) (int, error)
}

// accept fills in what is not known to a sequence of a change that was accepted just now.
func (r *run) accept(p *plan.Pending, now time.Time) {
	if !p.At.IsZero() {
		return
	}
	p.Gen, p.At = r.row.Desired, now
	p.Deadline = now.Add(cmp.Or(r.target.AsyncTimeout, DefaultAsyncTimeout))
}

// await has a principal read again whose change was accepted: 2, 4, 8 ... 60 seconds after the last time, and when the time is up.
func (r *run) await(f *Finish, p *plan.Pending, interrupted bool) {
	f.Status, f.Attempts = StatusPending, r.row.Attempts
	if interrupted {
		f.NextAt, f.Error, f.Pending = f.At, r.row.LastError, r.row.Pending
		return
	}
	delay := r.w.e.o.CheckMax
	if p.Reads < 32 {
		delay = min(r.w.e.o.CheckInitial<<p.Reads, delay)
	}
	f.NextAt = f.At.Add(delay)
	if f.At.Before(p.Deadline) && f.NextAt.After(p.Deadline) {
		f.NextAt = p.Deadline
	}
	text := fmt.Sprintf("%s: %s, not carried out yet; waits until %s", p.Operation, p, p.Deadline.UTC().Format(time.RFC3339))
	if f.Error != "" {
		text += "; " + f.Error // why the last read has not told
	}
	f.Error = text
}

// expired reports whether the time is up within which the target may carry out what it has accepted.
func (r *run) expired() bool {
	return r.row.Pending != nil && !r.w.e.o.Now().Before(r.row.Pending.Deadline)
}

// acceptedRest is when a lane looks again that sends nothing because its target has accepted enough. A mark wakes it earlier.
const acceptedRest = time.Second

// accepted counts the principals of a lane whose change the target has accepted.
type accepted struct {
	n    atomic.Int64
	full atomic.Bool // somebody waits for that
}

// count notes how a sequence has changed the number.
func (a *accepted) count(before, after Status) {
	if before != StatusPending && after == StatusPending {
		a.n.Add(1)
	}
	if before == StatusPending && after != StatusPending {
		a.n.Add(-1)
	}
}

// room is how many principals may begin that may have a change accepted, and whether that is bounded. As long as the target has accepted
// nothing, it is not.
func (w *work) room(running map[lane.Task]bool) (n int, bounded bool) {
	have := int(w.accepted.n.Load())
	if have <= 0 {
		return 0, false
	}
	most := cmp.Or(max(w.connection.Load().target.MaxPending, 0), DefaultMaxPending)
	return max(most-have-len(running), 0), true
}

// recount asks the store again when there is no room: others may have dismissed something.
func (w *work) recount(ctx context.Context) error {
	n, err := w.e.o.Store.Accepted(ctx, w.app())
	if err == nil {
		w.accepted.n.Store(int64(n))
	}
	return err
}
