package lane

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// turn is the time for which a lane may run while a tenant without a running lane waits, if no tenant has several running lanes.
const turn = 5 * time.Second

// claim claims pending lanes up to the share of the process. own is the number of its running lanes. more reports whether another claim may
// find more lanes immediately.
func (d *Dispatcher) claim(ctx context.Context, p Process, own int) (leases []engine.Lease, more bool, err error) {
	free := d.o.Lanes - own
	divides := d.o.Tenants != nil && d.o.Tenants.Divides()
	if free <= 0 && !divides {
		return nil, false, nil
	}
	processes, running := d.o.Fleet.Estimate()
	due := d.o.Now()
	found, err := d.o.Leases.Claimable(ctx, due, counted(own, free, processes))
	d.hasten(found.Retired, processes)
	if err != nil || found.Lanes == 0 {
		return nil, false, err
	}
	if free <= 0 {
		return nil, false, d.yield(ctx, due)
	}
	limit := min(free, claimLimit)
	if room := share(found, own, running); room > 0 {
		limit = min(limit, room)
	} else if due = due.Add(-leave(d.o.Sweep)); found.First.After(due) {
		return nil, false, nil
	}
	if divides && found.Divided && found.Lanes > limit {
		leases, err = d.claimDivided(ctx, p, due, limit)
	} else {
		leases, err = d.o.Leases.Claim(ctx, p.ID(), due, limit)
	}
	return leases, len(leases) == claimLimit, err
}

// claimDivided claims pending lanes so that each tenant gets the same number of running lanes, as far as it has pending ones.
func (d *Dispatcher) claimDivided(ctx context.Context, p Process, due time.Time, limit int) ([]engine.Lease, error) {
	w, err := d.o.Tenants.Waiting(ctx, due, d.served)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	quotas := divide(limit, w.Tenants, d.counts())
	d.mu.Unlock()
	d.served = w.Last
	if len(quotas) > 0 {
		d.served = quotas[len(quotas)-1].Tenant
	}
	return d.o.Tenants.ClaimOf(ctx, p.ID(), due, quotas, limit)
}

// divide divides n lanes among tenants, so that the tenants with the fewest running lanes get the most. Of tenants with equal numbers, the
// first ones get one more. It returns the quotas in the order of the tenants.
func divide(n int, tenants []string, running map[string]int) []store.Quota {
	if len(tenants) == 0 {
		return nil
	}
	quotas := make([]store.Quota, len(tenants))
	for i, t := range tenants {
		quotas[i].Tenant = t
	}
	total := func(i int) int { return running[tenants[i]] + quotas[i].Lanes }
	for range n {
		least := 0
		for i := range quotas {
			if total(i) < total(least) {
				least = i
			}
		}
		quotas[least].Lanes++
	}
	given := quotas[:0]
	for _, q := range quotas {
		if q.Lanes > 0 {
			given = append(given, q)
		}
	}
	return given
}

// counts returns the number of running lanes of each tenant, without those that are handed over. The caller holds d.mu.
func (d *Dispatcher) counts() map[string]int {
	counts := map[string]int{}
	for _, t := range d.running {
		if !t.surplus {
			counts[t.Lease.Tenant]++
		}
	}
	return counts
}

// yield drains lanes for tenants that have fewer running lanes and wait, because the process runs as many lanes as it may. It drains one
// for each of these tenants, at most once per interval of the searches, because a drained lane first completes its running tasks.
func (d *Dispatcher) yield(ctx context.Context, due time.Time) error {
	now := time.Now()
	if d.yielded.Add(d.o.Sweep).After(now) {
		return nil
	}
	d.yielded = now
	w, err := d.o.Tenants.Waiting(ctx, due, d.served)
	if err != nil || len(w.Tenants) == 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	counts, promised := d.counts(), 0
	for _, t := range d.running {
		if !t.yielded.IsZero() && now.Sub(t.yielded) < turn { // it is about to end. A task may take longer: then another lane is drained
			promised++
		}
	}
	for _, waiting := range w.Tenants {
		t := d.longest(counts, counts[waiting], now)
		if t == nil {
			continue
		}
		if promised > 0 {
			promised--
			continue
		}
		t.surplus, t.yielded = true, now
		t.startDrain()
		counts[t.Lease.Tenant]--
	}
	return nil
}

// longest returns the lane that has run for the longest time, of the tenant with the most lanes. That tenant has at least two lanes more
// than the one that waits, or one lane while the other has none and the lane has had its turn. Otherwise longest returns nil.
func (d *Dispatcher) longest(counts map[string]int, waiting int, now time.Time) *Ownership {
	var found *Ownership
	for _, t := range d.running {
		n := counts[t.Lease.Tenant]
		if t.surplus || n <= waiting || n == waiting+1 && (waiting > 0 || now.Sub(t.begun) < turn) {
			continue
		}
		if found == nil || n > counts[found.Lease.Tenant] || n == counts[found.Lease.Tenant] && t.begun.Before(found.begun) {
			found = t
		}
	}
	return found
}
