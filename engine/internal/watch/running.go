package watch

import (
	"sync"

	"github.com/scimwright/scimwright/engine"
)

// Running tracks the principals that are being processed, by app, until their observer has been called. It may be used by several
// goroutines.
type Running struct {
	mu      sync.Mutex
	apps    map[string]int
	running map[appPrincipal]int
	changed chan struct{} // closed when the next sequence ends
}

// appPrincipal is a user or group of an app.
type appPrincipal struct {
	app string
	who engine.Principal
}

// NewRunning returns a Running without principals.
func NewRunning() *Running {
	return &Running{apps: map[string]int{}, running: map[appPrincipal]int{}, changed: make(chan struct{})}
}

// Begin implements applane.Running.
func (b *Running) Begin(app string, who engine.Principal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.apps[app]++
	b.running[appPrincipal{app, who}]++
}

// End implements applane.Running.
func (b *Running) End(app string, who engine.Principal) {
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

// Has reports whether a principal is being processed.
func (b *Running) Has(app string, who engine.Principal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[appPrincipal{app, who}] > 0
}

// Count returns the number of principals that are being processed.
func (b *Running) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

func (b *Running) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *Running) any(app string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return app == "" && len(b.apps) > 0 || b.apps[app] > 0
}
