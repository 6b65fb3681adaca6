package applane

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// acceptedDelay is the delay before a lane continues after its target has reached the limit of accepted changes. A mark ends the delay.
const acceptedDelay = time.Second

// acceptedChanges counts the principals of a lane with an accepted change, and limits their number.
type acceptedChanges struct {
	mu       sync.Mutex
	stored   int  // principals with StatusPending in the store
	inFlight int  // running sequences, each of which may add an accepted change
	full     bool // a principal waits because the limit is reached
}

// room returns the number of sequences that may still start, given that each may end with an accepted change. bounded is false, and there
// is no limit, as long as the store has no accepted change of the app.
func (a *acceptedChanges) room(t engine.Target) (n int, bounded bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left(t)
}

func (a *acceptedChanges) left(t engine.Target) (n int, bounded bool) {
	most := cmp.Or(max(t.MaxPending, 0), engine.DefaultMaxPending)
	return max(most-a.stored-a.inFlight, 0), a.stored > 0
}

// admit reports whether a sequence may start, and counts the sequence. Exempt sequences may always start: deactivations, and sequences that
// check an accepted change.
func (a *acceptedChanges) admit(t engine.Target, exempt bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, bounded := a.left(t); bounded && n == 0 && !exempt {
		a.full = true
		return false
	}
	a.inFlight++
	return true
}

// leave reverses the count of admit, after the status of the principal was stored.
func (a *acceptedChanges) leave(before, after engine.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight--
	if before != engine.StatusPending && after == engine.StatusPending {
		a.stored++
	}
	if before == engine.StatusPending && after != engine.StatusPending {
		a.stored--
	}
}

// setFull records whether a principal waits because the limit is reached.
func (a *acceptedChanges) setFull(full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full = full
}

// isFull reports whether a principal waits because the limit is reached.
func (a *acceptedChanges) isFull() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.full
}

// recount reads the number of accepted changes from the store. No sequence may be running.
func (w *work) recount(ctx context.Context) error {
	n, err := w.Store.Accepted(ctx, w.app())
	if err == nil {
		w.accepted.mu.Lock()
		defer w.accepted.mu.Unlock()
		w.accepted.stored = n
	}
	return err
}
