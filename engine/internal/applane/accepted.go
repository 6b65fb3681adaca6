package applane

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
)

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
	return w.accepted.room(w.connection.Load().Target)
}

func (a *acceptedChanges) room(t engine.Target) (n int, bounded bool) {
	most := cmp.Or(max(t.MaxPending, 0), engine.DefaultMaxPending)
	return max(most-a.have-a.flying, 0), a.have > 0
}

// admit reports whether a sequence may begin. Deactivations may, and so may those that read what became of a change.
func (w *work) admit(t lane.Task, row engine.State) bool {
	w.accepted.mu.Lock()
	defer w.accepted.mu.Unlock()
	n, bounded := w.accepted.room(w.connection.Load().Target)
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
	n, err := w.Store.Accepted(ctx, w.app())
	if err == nil {
		w.accepted.mu.Lock()
		defer w.accepted.mu.Unlock()
		w.accepted.have = n
	}
	return err
}
