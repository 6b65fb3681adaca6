package sequence

import (
	"cmp"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/store"
)

// accept completes a newly accepted change. If the time of acceptance is in the future, the clock was set back: the time limit then starts
// again.
//
// Invariant 23: If a target responds 202 to a change, the engine stores the pending change first. It then sends no write for the
// principal until a read shows the change or the time limit of the change has passed.
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

// await schedules the next read of a principal with an accepted change: 2, 4, 8 ... 60 seconds after the last one, and at the deadline.
func (r *run) await(f *store.Finish, p *engine.Pending, interrupted bool) {
	f.Status, f.Attempts = engine.StatusPending, r.row.Attempts
	if interrupted {
		f.NextAt, f.Error, f.Pending = f.At, r.row.LastError, r.row.Pending
		return
	}
	delay := r.CheckMax
	if p.Reads < 16 {
		delay = min(r.CheckInitial<<p.Reads, delay)
	}
	f.NextAt = f.At.Add(delay)
	if f.At.Before(p.Deadline) && f.NextAt.After(p.Deadline) {
		f.NextAt = p.Deadline
	}
	text := fmt.Sprintf("%s; waits until %s", principal.Outstanding(p), p.Deadline.UTC().Format(time.RFC3339))
	if f.Error != "" {
		text += "; " + f.Error // why the last read was inconclusive
	}
	f.Error = text
}

// expired reports whether the deadline of the accepted change has passed.
func (r *run) expired() bool {
	return r.row.Pending != nil && !r.Now().Before(r.row.Pending.Deadline)
}
