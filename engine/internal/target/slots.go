package target

import (
	"container/list"
	"context"
	"sync"
)

// slots limits the number of concurrent requests of all apps. If none is free, the next one belongs to the tenant with the fewest requests
// in flight. Requests of a tenant get slots in the order of arrival.
type slots struct {
	mu      sync.Mutex
	free    int
	tenants map[string]*tenantSlots // those with a slot or a waiting request
	arrived int                     // number of requests that have waited
}

type tenantSlots struct {
	used    int
	waiting list.List // of *waiter
}

type waiter struct {
	number int
	ready  chan struct{} // closed when the request has its slot
}

func newSlots(n int) *slots { return &slots{free: n, tenants: map[string]*tenantSlots{}} }

// acquire waits for a slot.
func (s *slots) acquire(ctx context.Context, tenant string) error {
	s.mu.Lock()
	t := s.tenants[tenant]
	if t == nil {
		t = &tenantSlots{}
		s.tenants[tenant] = t
	}
	if s.free > 0 { // then no request waits
		s.free--
		t.used++
		s.mu.Unlock()
		return nil
	}
	s.arrived++
	w := &waiter{number: s.arrived, ready: make(chan struct{})}
	place := t.waiting.PushBack(w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready: // meanwhile
		t.used--
		s.pass()
	default:
		t.waiting.Remove(place)
	}
	s.forget(tenant, t)
	return ctx.Err()
}

// release releases a slot of a tenant.
func (s *slots) release(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[tenant]
	t.used--
	s.pass()
	s.forget(tenant, t)
}

// pass passes a slot to the next request. The caller holds s.mu.
func (s *slots) pass() {
	var next *tenantSlots
	first := func(t *tenantSlots) *waiter { return t.waiting.Front().Value.(*waiter) }
	for _, t := range s.tenants {
		if t.waiting.Len() == 0 {
			continue
		}
		if next == nil || t.used < next.used || t.used == next.used && first(t).number < first(next).number {
			next = t
		}
	}
	if next == nil {
		s.free++
		return
	}
	next.used++
	close(next.waiting.Remove(next.waiting.Front()).(*waiter).ready)
}

// forget removes a tenant without requests. The caller holds s.mu.
func (s *slots) forget(name string, t *tenantSlots) {
	if t.used == 0 && t.waiting.Len() == 0 {
		delete(s.tenants, name)
	}
}
