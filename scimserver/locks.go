package scimserver

import (
	"context"
	"hash/maphash"
)

// locks serializes changes of the same resource in this process. Correctness does not depend on it, because a store rejects stale writes.
// It avoids repeated attempts if many requests change one group concurrently.
type locks struct {
	seed  maphash.Seed
	slots []chan struct{}
}

// lockSlots is the number of locks that all resources share.
const lockSlots = 256

func newLocks() locks {
	l := locks{seed: maphash.MakeSeed(), slots: make([]chan struct{}, lockSlots)}
	for i := range l.slots {
		l.slots[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the lock of an id and returns the function that releases it.
func (l locks) lock(ctx context.Context, id string) (unlock func(), err error) {
	slot := l.slots[maphash.String(l.seed, id)%lockSlots]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
