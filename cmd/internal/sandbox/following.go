package sandbox

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/scimwright/scimwright/internal/docstore"
)

// following is what this replica has in memory of the state that replicas share: the offset of the clock, and the service providers with
// their tokens and quirks. The database is authoritative. It is nil on SQLite.
type following struct {
	store   *docstore.Store
	clock   *clock
	servers *providers
	// moved is called after another replica has moved the clock.
	moved func()

	known atomic.Pointer[[]docstore.Version] // of the documents that the memory was read from
	mu    sync.Mutex                         // locked while the memory is read again
}

// follow reads the shared state again if another replica has changed it, and otherwise costs one query. When follow returns, the memory
// contains all changes that were committed before its call.
func (f *following) follow(ctx context.Context) error {
	if f == nil {
		return nil
	}
	if current, err := f.current(ctx); err != nil || current {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if current, err := f.current(ctx); err != nil || current {
		return err
	}
	return f.read(ctx)
}

func (f *following) current(ctx context.Context) (bool, error) {
	return docstore.Current(ctx, f.store.Reader(), *f.known.Load()...)
}

// read reads the state and the versions of its documents. A change between the two reads is found by the next call of follow.
func (f *following) read(ctx context.Context) error {
	at, moved, err := f.clock.read(ctx)
	if err != nil {
		return err
	}
	providers, err := f.servers.follow(ctx)
	if err != nil {
		return err
	}
	f.known.Store(&[]docstore.Version{at, providers})
	if moved && f.moved != nil {
		f.moved()
	}
	return nil
}

// before returns a handler that follows the other replicas before it passes a request to next. A request that starts after a change on
// another replica was answered therefore sees the change.
func (f *following) before(next http.Handler) http.Handler {
	if f == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f.follow(r.Context()); err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "The database of the sandbox is not available.", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}
