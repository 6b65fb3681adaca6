package quirks

import (
	"sync"
	"time"
)

// recent stores ids for a limited time.
type recent struct {
	keep time.Duration

	mu    sync.Mutex
	since map[string]time.Time
}

func newRecent(keep time.Duration) *recent {
	return &recent{keep: keep, since: map[string]time.Time{}}
}

// add stores an id, and removes expired ones.
func (r *recent) add(id string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for old, at := range r.since {
		if now.Sub(at) >= r.keep {
			delete(r.since, old)
		}
	}
	r.since[id] = now
}

func (r *recent) has(id string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.since[id]
	return ok && now.Sub(at) < r.keep
}
