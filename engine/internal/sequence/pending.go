package sequence

import (
	"cmp"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/store"
)

// accept fills in what is not known to a sequence of a change that was accepted just now. The time limit of one that was accepted at a time
// ahead, before the clock was set back, starts again.
//
// Invariant 23: A change answered with 202 is stored before anything else, and nothing is written for its principal until a read shows
// it or its time is over.
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
		text += "; " + f.Error // why the last read has not told
	}
	f.Error = text
}

// expired reports whether the time is up within which the target may carry out what it has accepted.
func (r *run) expired() bool {
	return r.row.Pending != nil && !r.Now().Before(r.row.Pending.Deadline)
}
