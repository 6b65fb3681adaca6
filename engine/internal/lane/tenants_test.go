package lane_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/store"
)

// divided implements store.Leases and store.Tenants in memory.
type divided struct {
	mu       sync.Mutex
	unlikely bool // no lane is divided
	lanes    []*dividedLane
	visits   int

	processes int // that share the lanes, 0 for one
	others    int // running lanes of the other processes
}

type dividedLane struct {
	engine.Lease
	due     time.Time // zero: not pending
	running bool
}

// add makes lanes of a tenant pending.
func (s *divided) add(tenant string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		s.lanes = append(s.lanes, &dividedLane{Lease: engine.Lease{App: fmt.Sprint(tenant, ":", i), Tenant: tenant}, due: time.Now()})
	}
}

// pending returns the claimable lanes by time. The caller holds s.mu.
func (s *divided) pending(due time.Time, of string, any bool) []*dividedLane {
	var found []*dividedLane
	for _, l := range s.lanes {
		if !l.running && !l.due.IsZero() && !l.due.After(due) && (any || l.Tenant == of) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, func(a, b *dividedLane) int { return a.due.Compare(b.due) })
	return found
}

func (s *divided) Divides() bool { return !s.unlikely }

func (s *divided) Claimable(_ context.Context, due time.Time, limit int) (c store.Claimable, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.pending(due, "", true)
	if c.Lanes = min(len(pending), limit); c.Lanes > 0 {
		c.First, c.Processes, c.Running = pending[0].due, max(s.processes, 1), s.others
		for _, l := range s.lanes {
			c.Running += b2i(l.running)
		}
	}
	for _, l := range pending {
		c.Divided = c.Divided || l.Tenant != pending[0].Tenant
	}
	return c, nil
}

func (s *divided) Waiting(_ context.Context, due time.Time, after string) (w store.Waiting, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits++
	pending := s.pending(due, "", true)
	if len(pending) == 0 {
		return w, nil
	}
	for _, l := range pending {
		if !slices.Contains(w.Tenants, l.Tenant) {
			w.Tenants = append(w.Tenants, l.Tenant)
		}
	}
	slices.SortFunc(w.Tenants, func(a, b string) int { // cyclic
		return cmp.Or(cmp.Compare(b2i(a <= after), b2i(b <= after)), cmp.Compare(a, b))
	})
	w.Last = w.Tenants[len(w.Tenants)-1]
	return w, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *divided) Claim(ctx context.Context, process string, due time.Time, limit int) ([]engine.Lease, error) {
	return s.ClaimOf(ctx, process, due, nil, limit)
}

func (s *divided) ClaimOf(_ context.Context, process string, due time.Time, quotas []store.Quota, limit int) (out []engine.Lease,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	take := func(from []*dividedLane, n int) {
		for _, l := range from[:max(min(len(from), n, limit-len(out)), 0)] {
			l.running, l.Process = true, process
			l.Epoch++
			out = append(out, l.Lease)
		}
	}
	for _, q := range quotas {
		take(s.pending(due, q.Tenant, false), q.Lanes)
	}
	take(s.pending(due, "", true), limit)
	return out, nil
}

func (s *divided) Held(context.Context, string) ([]engine.Lease, error) { return nil, nil }

// Release makes a lane pending again if notBefore is not zero.
func (s *divided) Release(_ context.Context, l engine.Lease, _ engine.Hold, notBefore time.Time) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, have := range s.lanes {
		if have.App == l.App {
			have.running, have.due = false, notBefore
		}
	}
	return notBefore, nil
}

// running returns the number of running lanes of each tenant.
func (s *divided) running() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]int{}
	for _, l := range s.lanes {
		if l.running {
			found[l.Tenant]++
		}
	}
	return found
}

// begins has the times at which the lanes of tenants began.
type begins struct {
	mu    sync.Mutex
	start time.Time
	first map[string]time.Duration // of each tenant
	total map[string]int
}

// lanesFor starts a dispatcher with 16 lanes. Each lane runs for a time, or until it is drained: it is then pending again.
func lanesFor(t *testing.T, s *divided, runs time.Duration) (*lane.Dispatcher, *begins) {
	t.Helper()
	b := &begins{start: time.Now(), first: map[string]time.Duration{}, total: map[string]int{}}
	d := lane.NewDispatcher(lane.Options{
		Leases: s, Tenants: s, Fleet: newFleet(), Sweep: sweep, Lanes: 16, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	go d.Run(t.Context(), func(_ context.Context, o *lane.Ownership) (engine.Hold, time.Time) {
		b.mu.Lock()
		if b.total[o.Lease.Tenant]++; b.total[o.Lease.Tenant] == 1 {
			b.first[o.Lease.Tenant] = time.Since(b.start)
		}
		b.mu.Unlock()
		for end := time.Now().Add(runs); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if o.Draining() {
				return engine.Hold{}, time.Now()
			}
		}
		return engine.Hold{}, time.Time{}
	})
	return d, b
}

// after returns the time from the start to the first lane of a tenant. It fails if the tenant had none.
func (b *begins) after(t *testing.T, tenant string) time.Duration {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.first[tenant]
	require.True(t, ok, "tenant %s waits", tenant)
	return at
}

// TestDispatcher_TenantsWaitOneRun checks that the only lane of a tenant does not wait for 2,000 lanes of another one.
func TestDispatcher_TenantsWaitOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &divided{}
		s.add("many", 2000)
		d, b := lanesFor(t, s, time.Second)
		pass(5*time.Second + 50*time.Millisecond)
		s.add("one", 1)
		d.Wake("one:0")
		pass(3 * time.Second)
		require.LessOrEqual(t, b.after(t, "one"), 7*time.Second)
		require.Equal(t, map[string]int{"many": 16}, s.running(), "a tenant gets all lanes if no other waits")
		d.Drain()
		pass(time.Minute)
	})
}

// TestDispatcher_DrainsForTenants checks that long runs of a tenant end for others that wait, until all have the same number, and that a
// tenant without competition keeps its lanes.
func TestDispatcher_DrainsForTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &divided{}
		s.add("many", 2000)
		d, b := lanesFor(t, s, 24*time.Hour)
		pass(time.Minute)
		require.Equal(t, 16, b.total["many"], "no lane is drained while no other tenant waits")
		s.add("one", 1)
		d.Wake("one:0")
		pass(3 * time.Second)
		require.Equal(t, map[string]int{"many": 15, "one": 1}, s.running())
		s.add("some", 100)
		d.Wake()
		pass(time.Minute)
		require.Equal(t, 1, s.running()["one"])
		require.InDelta(t, 7.5, s.running()["some"], 0.5)
		begun := b.total["many"] + b.total["some"] + b.total["one"]
		pass(time.Minute)
		require.Equal(t, begun, b.total["many"]+b.total["some"]+b.total["one"], "no lane is drained for a tenant with as many")
		d.Drain()
		pass(time.Minute)
	})
}

// TestDispatcher_TenantsTakeTurns checks that tenants take turns if there are more of them than lanes.
func TestDispatcher_TenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &divided{}
		for n := range 50 {
			s.add(fmt.Sprintf("tenant-%02d", n), 20)
		}
		d, b := lanesFor(t, s, 24*time.Hour)
		pass(time.Minute)
		require.Len(t, b.total, 50)
		for tenant, n := range b.total {
			require.InDelta(t, 16*60/5/50, n, 3, tenant)
		}
		d.Drain()
		pass(time.Minute)
	})
}

// TestDispatcher_UndividedLanes checks that the dispatcher does not search for tenants if the store knows none.
func TestDispatcher_UndividedLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &divided{unlikely: true}
		s.add("", 100)
		d, b := lanesFor(t, s, time.Second)
		pass(20 * time.Second)
		require.Equal(t, 100, b.total[""])
		require.Zero(t, s.visits)
		d.Drain()
		pass(time.Minute)
	})
}
