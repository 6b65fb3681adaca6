package applane

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// acceptedRest is when a lane continues that sends nothing because its target has accepted enough. A mark wakes it earlier.
const acceptedRest = time.Second

// acceptedChanges counts the principals of a lane whose change the target has accepted, and bounds them.
type acceptedChanges struct {
	mu     sync.Mutex
	have   int  // as stored
	flying int  // sequences that may become another one
	full   bool // a principal waits for the target to carry out more
}

// room returns the number of sequences that may begin and become another accepted change. While the target has accepted nothing, there is
// no bound.
func (a *acceptedChanges) room(t engine.Target) (n int, bounded bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left(t)
}

func (a *acceptedChanges) left(t engine.Target) (n int, bounded bool) {
	most := cmp.Or(max(t.MaxPending, 0), engine.DefaultMaxPending)
	return max(most-a.have-a.flying, 0), a.have > 0
}

// admit reports whether a sequence may begin, and counts it. Exempt ones always may: deactivations, and those that read what became of a
// change.
func (a *acceptedChanges) admit(t engine.Target, exempt bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, bounded := a.left(t); bounded && n == 0 && !exempt {
		a.full = true
		return false
	}
	a.flying++
	return true
}

// leave takes back what admit has counted, after the status of the principal was stored.
func (a *acceptedChanges) leave(before, after engine.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flying--
	if before != engine.StatusPending && after == engine.StatusPending {
		a.have++
	}
	if before == engine.StatusPending && after != engine.StatusPending {
		a.have--
	}
}

// setFull records whether a principal waits.
func (a *acceptedChanges) setFull(full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full = full
}

// isFull reports whether a principal waits until the target has carried out more of what it has accepted.
func (a *acceptedChanges) isFull() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.full
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
