package lane

import (
	"cmp"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/scimwright/scimwright/engine"
)

// Backoff computes delays that double, with jitter.
type Backoff struct{ Initial, Max time.Duration }

// jitter is how far a delay may be off, so that what failed together is not tried again together.
const jitter = 0.2

// Delay returns the delay after the given number of failures in a row (1 for the first), at most Max.
//
// Invariant 4: Backoff never ends: the delay grows to a named maximum.
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

// MaxPause bounds what a target can ask for with Retry-After.
const MaxPause = time.Hour

// Signal is reported to the gate after each principal.
type Signal struct {
	Kind   engine.Signal
	Until  time.Time     // SignalThrottled: when the pause ends; zero (or past) when the target does not say
	Limit  time.Duration // SignalThrottled: how long the pause is at most. Defaults to MaxPause
	Reason string
	Urgent bool // of an urgent task
}

// Gate decides whether a lane may send. It is used by one goroutine at a time.
type Gate struct {
	hold         engine.Hold
	failures     int  // in a row
	refused      bool // an urgent task was denied during this hold too
	backoff      Backoff
	breakerAfter int
}

// NewGate returns a gate in the state that the last owner left it in.
func NewGate(h engine.Hold, b Backoff, breakerAfter int) *Gate {
	return &Gate{hold: h, backoff: b, breakerAfter: breakerAfter}
}

// Slots returns how many principals may be worked on at once: none during a hold, one when a hold has ended and nobody knows
// yet how the target is, and otherwise all that are wanted. Urgent ones are tried one at a time during a quarantine too, until one
// is denied: credentials that may not create may still deactivate.
//
// Invariant 11: A quarantine does not delay deactivations. A mark during a quarantine makes the lane pending.
func (g *Gate) Slots(now time.Time, wanted int, urgent bool) int {
	switch {
	case g.hold.Kind == engine.HoldNone:
		return wanted
	case urgent && g.hold.Kind == engine.HoldQuarantine && !g.refused:
		return 1
	case now.Before(g.hold.Until):
		return 0
	default:
		return 1
	}
}

// Hold returns the state to be kept.
func (g *Gate) Hold() engine.Hold { return g.hold }

// Report takes in what the work on one principal said.
func (g *Gate) Report(now time.Time, s Signal) {
	if s.Kind == engine.SignalNone {
		return
	}
	if s.Kind == engine.SignalOK {
		g.failures = 0
		if !now.Before(g.hold.Until) { // a late answer from before the hold does not end it
			g.hold = engine.Hold{}
		}
		return
	}
	g.refused = s.Kind == engine.SignalDenied && (s.Urgent || g.refused)
	g.failures++
	var kind engine.HoldKind
	switch {
	case s.Kind == engine.SignalThrottled:
		kind = engine.HoldPause
	case s.Kind == engine.SignalDenied:
		kind = engine.HoldQuarantine
	case g.hold.Kind != engine.HoldNone:
		kind = g.hold.Kind // the probe failed
	case g.failures >= g.breakerAfter:
		kind = engine.HoldBreaker
	default:
		return
	}
	g.close(now, kind, s)
}

func (g *Gate) close(now time.Time, kind engine.HoldKind, s Signal) {
	if !s.Until.After(now) {
		s.Until = time.Time{} // «Retry-After: 0» or a date of the past is no pause: without a delay of ours it would be a storm
	}
	held := g.hold.Kind != engine.HoldNone && now.Before(g.hold.Until)
	if held && s.Until.IsZero() {
		return // several were on their way when the first one closed the gate
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
