package provision

import (
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// waitPoll is how often Wait looks for work that other processes finish.
const waitPoll = 250 * time.Millisecond

// Wait returns when no principal of the app (of any app, when empty) is due any more and the observer was told. Principals
// that failed for good or are held are not waited for; those in back-off are.
func (e *Engine) Wait(ctx context.Context, app string) error {
	return e.until(ctx, func() (bool, error) {
		ended := e.busy.next()
		n, err := e.o.Store.Pending(ctx, app)
		if err != nil || n > 0 || e.busy.any(app) {
			return false, err
		}
		select {
		case <-ended: // and may have left something due behind it that was not counted yet
			return false, nil
		default:
			return true, nil
		}
	})
}

// Running reports whether this engine is working on a principal at the moment. It asks nobody, so that it costs next to nothing.
func (e *Engine) Running(app string, kind engine.Kind, id string) bool {
	return e.busy.has(app, engine.Principal{Kind: kind, ID: id})
}

// until returns when something is so. It looks whenever this engine ends a sequence, and from time to time for what others do.
func (e *Engine) until(ctx context.Context, so func() (bool, error)) error {
	for {
		changed := e.busy.next()
		if ok, err := so(); ok || err != nil {
			return err
		}
		poll := time.NewTimer(waitPoll)
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
		}
		poll.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// busy counts the principals that are worked on, by app, until their observer was told.
type busy struct {
	mu      sync.Mutex
	apps    map[string]int
	running map[appPrincipal]int
	changed chan struct{} // closed at the next end
}

// appPrincipal is a user or group of an app.
type appPrincipal struct {
	app string
	who engine.Principal
}

// Begin implements applane.Running.
func (b *busy) Begin(app string, who engine.Principal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.apps == nil {
		b.apps, b.running = map[string]int{}, map[appPrincipal]int{}
	}
	b.apps[app]++
	b.running[appPrincipal{app, who}]++
}

// End implements applane.Running.
func (b *busy) End(app string, who engine.Principal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.apps[app]--; b.apps[app] == 0 {
		delete(b.apps, app)
	}
	if p := (appPrincipal{app, who}); b.running[p] > 1 {
		b.running[p]--
	} else {
		delete(b.running, p)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *busy) has(app string, who engine.Principal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[appPrincipal{app, who}] > 0
}

func (b *busy) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *busy) any(app string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return app == "" && len(b.apps) > 0 || b.apps[app] > 0
}
