package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/pause"
)

// worker delivers events to one endpoint.
type worker struct {
	s       *Service
	id      string
	epoch   int64
	version int64              // of the endpoint at the last claim; belongs to the manager
	cancel  context.CancelFunc // belongs to the manager

	awake chan struct{} // has an element if there may be work

	mu     sync.Mutex
	lease  lease
	scope  *Endpoint        // nil until the first round: all apps
	seen   map[string]int64 // cursors, by app; nil until the first round
	dirty  []string         // apps that may have new events, in the order of their rounds
	queued map[string]bool  // the elements of dirty
}

func newWorker(s *Service, id string, epoch int64) *worker {
	return &worker{s: s, id: id, epoch: epoch, awake: make(chan struct{}, 1), queued: map[string]bool{}}
}

func (w *worker) wake() {
	select {
	case w.awake <- struct{}{}:
	default:
	}
}

func (w *worker) renew(l lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lease = l
}

// valid reports whether no other process may deliver to the endpoint.
func (w *worker) valid() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lease.valid()
}

func (w *worker) covers(app string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.scope == nil || w.scope.covers(app)
}

// offer adds an app that may have new events.
func (w *worker) offer(app string) {
	w.mu.Lock()
	if !w.queued[app] {
		w.queued[app] = true
		w.dirty = append(w.dirty, app)
	}
	w.mu.Unlock()
	w.wake()
}

// compare offers the apps whose last event is not the one at the cursor.
func (w *worker) compare(heads []engine.EventHead) {
	w.mu.Lock()
	var more []string
	if w.scope != nil {
		for _, h := range w.scope.part(heads) {
			if h.Seq != w.seen[h.App] {
				more = append(more, h.App)
			}
		}
	}
	w.mu.Unlock()
	for _, app := range more {
		w.offer(app)
	}
}

// next removes and returns the next app that may have new events.
func (w *worker) next() (app string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.dirty) > 0 {
		app = w.dirty[0]
		w.dirty = w.dirty[1:]
		delete(w.queued, app)
		if w.scope.covers(app) { // before the first round, the scope is unknown and all apps are offered
			return app, true
		}
	}
	w.dirty = nil
	return "", false
}

// passed records the cursor of an app.
func (w *worker) passed(app string, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[app] = seq
}

// failedDatabase is the maximum delay after an error of the database.
const failedDatabase = 30 * time.Second

// run delivers until ctx ends or the lease is lost.
func (w *worker) run(ctx context.Context) {
	b := backoff.NewExponentialBackOff(backoff.WithMaxInterval(failedDatabase), backoff.WithMaxElapsedTime(0))
	for ctx.Err() == nil {
		again, until, err := w.round(ctx)
		var wait time.Duration
		switch {
		case errors.Is(err, errLost):
			return // the manager notices, too
		case err != nil:
			w.s.logged(ctx, "deliver", err)
			if !pause.For(ctx, b.NextBackOff()) {
				return
			}
			continue
		case again:
			b.Reset()
			continue
		case until.IsZero():
			wait = time.Hour
		default:
			wait = max(until.Sub(w.s.o.Now()), time.Millisecond)
		}
		b.Reset()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-w.awake:
		case <-timer.C:
		}
		timer.Stop()
	}
}
