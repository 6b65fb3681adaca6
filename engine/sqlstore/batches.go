package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/scimwright/scimwright/engine"
)

// maxBatch is the maximum number of writes in one transaction.
const maxBatch = 64

// batches combines concurrent writes of a lane into transactions, for PostgreSQL. While a transaction with writes of a lane runs, further
// writes of the lane wait; the next transaction contains all of them. A write starts immediately if no other one runs. Without batches,
// these writes would also wait for each other: most of them change the lane row, and each would hold the row until its commit is on the
// disk. The zero value is ready for use.
type batches[T any] struct {
	mu      sync.Mutex
	waiting map[batchKey][]*write[T] // has a key as long as a batch of that key runs
}

// batchKey selects the writes that one transaction may contain. Users and groups are separate, because the rows of users are locked before
// those of groups.
type batchKey struct {
	app   string
	epoch int64
	kind  engine.Kind
}

// write is a write that waits for its batch.
type write[T any] struct {
	item T
	lead chan struct{} // closed when the caller of this write has to run the next batch
	done chan struct{} // closed when the batch of this write has ended
}

// run calls fn with a batch of items that includes item, in this goroutine or in that of another caller with the same key. The context of
// fn is that of the caller in whose goroutine fn runs. run returns an error only if ctx ended first. fn may then still use the item.
func (b *batches[T]) run(ctx context.Context, key batchKey, item T, fn func(ctx context.Context, batch []T)) error {
	w := &write[T]{item: item, lead: make(chan struct{}), done: make(chan struct{})}
	if !b.enter(key, w) {
		select {
		case <-w.done:
			return nil
		case <-w.lead:
		case <-ctx.Done():
			b.leave(key, w)
			return context.Cause(ctx)
		}
	}
	batch, others := []T{item}, b.take(key)
	for _, o := range others {
		batch = append(batch, o.item)
	}
	defer func() {
		for _, o := range others {
			close(o.done)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.leadNext(key)
	}()
	fn(ctx, batch)
	return nil
}

// enter reports whether no batch of the key runs, so that the caller runs one now. Otherwise the write waits.
func (b *batches[T]) enter(key batchKey, w *write[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[batchKey][]*write[T]{}
	}
	waiting, runs := b.waiting[key]
	if runs {
		waiting = append(waiting, w)
	}
	b.waiting[key] = waiting
	return !runs
}

// take returns and removes the writes that wait, except those above the limit.
func (b *batches[T]) take(key batchKey) []*write[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiting[key]
	n := min(len(waiting), maxBatch-1)
	b.waiting[key] = waiting[n:]
	return waiting[:n]
}

// leave removes a write whose caller no longer waits.
func (b *batches[T]) leave(key batchKey, w *write[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.lead:
		b.leadNext(key)
	default: // if the write does not wait, it is in a running batch
		if i := slices.Index(b.waiting[key], w); i >= 0 {
			b.waiting[key] = slices.Delete(slices.Clone(b.waiting[key]), i, i+1)
		}
	}
}

// leadNext makes the first waiting caller run the next batch. The caller holds b.mu.
func (b *batches[T]) leadNext(key batchKey) {
	waiting := b.waiting[key]
	if len(waiting) == 0 {
		delete(b.waiting, key)
		return
	}
	b.waiting[key] = waiting[1:]
	close(waiting[0].lead)
}
