package lane

import (
	"cmp"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/scimwright/scimwright/engine"
)

// Backoff computes delays that double up to a maximum, with jitter.
type Backoff struct{ Initial, Max time.Duration }

// jitter is the maximum relative deviation of a delay. Principals that failed together are therefore retried at different times.
const jitter = 0.2

// Delay returns the delay after the given number of failures in a row (1 for the first), at most Max.
//
// Invariant 4: With FallbackLearn, the engine retries a failure of a target indefinitely. The delay grows to Options.RetryMax (default: 5
// min).
func (b Backoff) Delay(failures int) time.Duration {
	e := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(b.Initial),
		backoff.WithMaxInterval(b.Max),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(jitter),
		backoff.WithMaxElapsedTime(0), // the default gives up after 15 minutes
	)
	delay := e.NextBackOff()
	for range min(failures, 64) - 1 {
		delay = e.NextBackOff()
	}
	return min(delay, b.Max)
}

// MaxPause is the longest pause that a target can request with Retry-After.
const MaxPause = time.Hour

// Signal is what the work on one principal (user or group) has shown about the target. The lane reports it to the
// gate after the work on each principal.
type Signal struct {
	Kind   engine.Signal
	Until  time.Time     // SignalThrottled: end of the pause; zero (or past) if the target specified none
	Limit  time.Duration // SignalThrottled: longest pause. Default: MaxPause
	Reason string
	Urgent bool // the task was urgent
}

// Gate decides whether a lane may send. It is used by one goroutine at a time.
type Gate struct {
	hold         engine.Hold
	failures     int  // consecutive
	urgentDenied bool // an urgent task was also denied during this hold
	backoff      Backoff
	breakerAfter int
}

// NewGate returns a gate that starts with the stored hold of the lane.
func NewGate(h engine.Hold, b Backoff, breakerAfter int) *Gate {
	return &Gate{hold: h, backoff: b, breakerAfter: breakerAfter}
}

// Slots returns the number of principals that may be processed concurrently: none during a hold, one when a hold has ended and the state of
// the target is unknown, and otherwise the requested number. During a quarantine, urgent tasks are tried one at a time until one is denied:
// credentials that are rejected for creates may still be accepted for deactivations.
//
// Invariant 11: A quarantine does not delay deactivations. A mark during a quarantine makes the lane pending.
func (g *Gate) Slots(now time.Time, wanted int, urgent bool) int {
	switch {
	case g.hold.Kind == engine.HoldNone:
		return wanted
	case urgent && g.hold.Kind == engine.HoldQuarantine && !g.urgentDenied:
		return 1
	case now.Before(g.hold.Until):
		return 0
	default:
		return 1
	}
}

// Hold returns the hold to store.
func (g *Gate) Hold() engine.Hold { return g.hold }

// Report processes the signal of one principal.
func (g *Gate) Report(now time.Time, s Signal) {
	if s.Kind == engine.SignalNone {
		return
	}
	if s.Kind == engine.SignalOK {
		g.failures = 0
		if !now.Before(g.hold.Until) { // a response to a request from before the hold does not end the hold
			g.hold = engine.Hold{}
		}
		return
	}
	g.urgentDenied = s.Kind == engine.SignalDenied && (s.Urgent || g.urgentDenied)
	g.failures++
	var kind engine.HoldKind
	switch {
	case s.Kind == engine.SignalThrottled:
		kind = engine.HoldPause
	case s.Kind == engine.SignalDenied:
		kind = engine.HoldQuarantine
	case g.hold.Kind != engine.HoldNone:
		kind = g.hold.Kind // the hold had ended, and the attempt to continue has failed: the hold continues
	case g.failures >= g.breakerAfter:
		kind = engine.HoldBreaker
	default:
		return
	}
	g.close(now, kind, s)
}

func (g *Gate) close(now time.Time, kind engine.HoldKind, s Signal) {
	if !s.Until.After(now) {
		s.Until = time.Time{} // "Retry-After: 0" or a past date is not a pause; the backoff avoids a request storm
	}
	held := g.hold.Kind != engine.HoldNone && now.Before(g.hold.Until)
	if held && s.Until.IsZero() {
		return // this request was in flight when the hold started: its failure does not prolong the hold
	}
	if !held {
		g.hold.Streak++
	}
	until := s.Until
	if until.IsZero() {
		until = now.Add(g.backoff.Delay(g.hold.Streak))
	}
	if limit := now.Add(cmp.Or(s.Limit, MaxPause)); until.After(limit) {
		until = limit
	}
	if held && until.Before(g.hold.Until) {
		return
	}
	g.hold.Kind, g.hold.Until, g.hold.Reason = kind, until, s.Reason
}
