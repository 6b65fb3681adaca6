package lane

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/engine"
)

// Bounds of a pace that is found out.
const (
	minRate = 0.2  // requests per second
	maxRate = 1000 // from here on the pace is not held back any more

	growEvery = 10 * time.Second // without a refusal
	growBy    = 1.25
	// A pace is measured by the last requests of one second; fewer than enough say nothing about it.
	measured, enough = 32, 8
	// calm is how long after a slow-down another one is ignored: several requests were on their way.
	calm = time.Second
)

// RateLimiter spaces the requests of one lane: as fast as is allowed, and slower once the target has said that this is too fast. It
// may be used by several goroutines.
type RateLimiter struct {
	now func() time.Time

	mu      sync.Mutex
	limit   float64 // allowed, 0 for any
	burst   int
	found   float64 // found out, 0 for none
	changed time.Time
	limiter *rate.Limiter // nil without a limit

	recent []time.Time // of the last requests, oldest first
}

// NewRateLimiter returns a pace without a limit.
func NewRateLimiter(now func() time.Time) *RateLimiter { return &RateLimiter{now: now, changed: now()} }

// Resume sets what was found out before, 0 for nothing.
func (p *RateLimiter) Resume(found float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != found {
		p.found, p.changed = found, p.now()
		p.apply()
	}
}

// Allow sets what is allowed: requests per second, 0 for any number, and how many may be sent at once after a rest.
func (p *RateLimiter) Allow(perSecond float64, burst int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit, p.burst = max(perSecond, 0), burst
	p.apply()
}

// apply hands the effective pace to the limiter.
func (p *RateLimiter) apply() {
	effective := p.limit
	if p.found > 0 && (effective == 0 || p.found < effective) {
		effective = p.found
	}
	if effective == 0 {
		p.limiter = nil
		return
	}
	burst := p.burst
	if burst <= 0 || p.found > 0 {
		burst = max(int(effective), 1)
	}
	if p.limiter == nil {
		p.limiter = rate.NewLimiter(rate.Limit(effective), burst)
		return
	}
	p.limiter.SetLimitAt(p.now(), rate.Limit(effective))
	p.limiter.SetBurstAt(p.now(), burst)
}

// Wait returns when the next request may be sent, or ctx ends.
func (p *RateLimiter) Wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.now()
	var booked *rate.Reservation
	var delay time.Duration
	if p.limiter != nil {
		booked = p.limiter.ReserveN(now, 1)
		delay = booked.DelayFrom(now)
	}
	if len(p.recent) == measured {
		p.recent = slices.Delete(p.recent, 0, 1)
	}
	p.recent = append(p.recent, now.Add(delay))
	p.mu.Unlock()
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		booked.CancelAt(p.now())
		return ctx.Err()
	}
}

// pace is how many requests per second are sent; 0 when that cannot be told.
func (p *RateLimiter) pace(now time.Time) float64 {
	if p.found > 0 {
		return p.found
	}
	recent := slices.DeleteFunc(slices.Clone(p.recent), func(at time.Time) bool { return now.Sub(at) > time.Second })
	if len(recent) < enough {
		return 0
	}
	return float64(len(recent)-1) / max(recent[len(recent)-1].Sub(recent[0]), time.Millisecond).Seconds()
}

// Report takes in what the target said, and returns what is found out by now and whether that is news. A refusal halves the
// pace, time without one lets it grow again.
func (p *RateLimiter) Report(k engine.Signal) (found float64, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	switch {
	case k == engine.SignalThrottled && now.Sub(p.changed) < calm && p.found > 0:
		return p.found, false
	case k == engine.SignalThrottled:
		from := p.pace(now)
		if from == 0 {
			return p.found, false
		}
		p.found = max(from/2, minRate)
	case k == engine.SignalOK && p.found > 0 && now.Sub(p.changed) >= growEvery:
		p.found *= growBy
		if p.limit > 0 && p.found >= p.limit || p.found >= maxRate {
			p.found = 0
		}
	default:
		return p.found, false
	}
	p.changed = now
	p.apply()
	return p.found, true
}
