package lane

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/pause"
)

// Limits of a learned rate.
const (
	minRate = 0.2  // requests per second
	maxRate = 1000 // a learned rate at or above maxRate is dropped

	growEvery = 10 * time.Second // without a 429
	growBy    = 1.25
	// The current rate is measured over the requests of the last second. measured is the maximum number of requests in a measurement. With
	// fewer than `enough` requests the rate is unknown.
	measured, enough = 32, 8
	// settleTime is the time after a reduction during which further 429 responses are ignored, because their requests may have been sent
	// before the reduction.
	settleTime = time.Second
)

// RateLimiter spaces the requests of one lane: as fast as allowed, and slower after the target has rejected requests because of their rate.
// It may be used by several goroutines.
type RateLimiter struct {
	now func() time.Time

	mu      sync.Mutex
	limit   float64 // configured, 0 if unlimited
	burst   int
	learned float64 // learned, 0 if nothing was learned
	changed time.Time
	limiter *rate.Limiter // nil without a limit

	recent []time.Time // times of the last requests, oldest first
}

// NewRateLimiter returns a rate limiter without a limit.
func NewRateLimiter(now func() time.Time) *RateLimiter { return &RateLimiter{now: now, changed: now()} }

// Resume sets the previously learned rate, 0 if none was learned.
func (p *RateLimiter) Resume(found float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.learned != found {
		p.learned, p.changed = found, p.now()
		p.apply()
	}
}

// Allow sets the configured limit: requests per second, 0 for no limit, and the number of concurrent requests after an idle period.
func (p *RateLimiter) Allow(perSecond float64, burst int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit, p.burst = max(perSecond, 0), burst
	p.apply()
}

// apply passes the effective rate to the limiter.
func (p *RateLimiter) apply() {
	effective := p.limit
	if p.learned > 0 && (effective == 0 || p.learned < effective) {
		effective = p.learned
	}
	if effective == 0 {
		p.limiter = nil
		return
	}
	burst := p.burst
	if burst <= 0 || p.learned > 0 {
		burst = max(int(effective), 1)
	}
	if p.limiter == nil {
		p.limiter = rate.NewLimiter(rate.Limit(effective), burst)
		return
	}
	p.limiter.SetLimitAt(p.now(), rate.Limit(effective))
	p.limiter.SetBurstAt(p.now(), burst)
}

// Wait returns when the next request may be sent, or when ctx ends.
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
	if !pause.For(ctx, delay) {
		booked.CancelAt(p.now())
		return ctx.Err()
	}
	return nil
}

// currentRate returns the current number of requests per second; 0 if unknown.
func (p *RateLimiter) currentRate(now time.Time) float64 {
	if p.learned > 0 {
		return p.learned
	}
	recent := slices.DeleteFunc(slices.Clone(p.recent), func(at time.Time) bool { return now.Sub(at) > time.Second })
	if len(recent) < enough {
		return 0
	}
	return float64(len(recent)-1) / max(recent[len(recent)-1].Sub(recent[0]), time.Millisecond).Seconds()
}

// Report processes a signal of the target. It returns the learned rate, 0 if there is none, and reports whether that rate has changed. A
// 429 halves the rate. After growEvery without a 429 the rate increases by a quarter.
func (p *RateLimiter) Report(k engine.Signal) (found float64, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	switch {
	case k == engine.SignalThrottled && now.Sub(p.changed) < settleTime && p.learned > 0:
		return p.learned, false
	case k == engine.SignalThrottled:
		from := p.currentRate(now)
		if from == 0 {
			return p.learned, false
		}
		p.learned = max(from/2, minRate)
	case k == engine.SignalOK && p.learned > 0 && now.Sub(p.changed) >= growEvery:
		p.learned *= growBy
		if p.limit > 0 && p.learned >= p.limit || p.learned >= maxRate {
			p.learned = 0
		}
	default:
		return p.learned, false
	}
	p.changed = now
	p.apply()
	return p.learned, true
}
