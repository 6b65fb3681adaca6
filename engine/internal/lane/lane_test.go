package lane_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBackoff_DoublesToMaximum checks that the delay doubles up to the maximum and that retries never stop.
//
// Invariant 4
func TestBackoff_DoublesToMaximum(t *testing.T) {
	b := lane.Backoff{Initial: time.Second, Max: 5 * time.Minute}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 20: 5 * time.Minute,
		100_000: 5 * time.Minute} {
		got := b.Delay(failures)
		require.InDelta(t, want.Seconds(), got.Seconds(), 0.2*want.Seconds()+0.001, "%d failures", failures)
		require.LessOrEqual(t, got, b.Max)
		require.Positive(t, got)
	}
}

func TestGate(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	backoff := lane.Backoff{Initial: time.Second, Max: time.Minute}
	gate := func() *lane.Gate { return lane.NewGate(engine.Hold{}, backoff, 3) }
	t.Run("consecutive failures open the breaker, a success resets their number", func(t *testing.T) {
		g := gate()
		for _, k := range []engine.Signal{engine.SignalFailing, engine.SignalFailing, engine.SignalOK, engine.SignalFailing, engine.SignalNone,
			engine.SignalFailing} {
			g.Report(now, lane.Signal{Kind: k})
		}
		require.Equal(t, 8, g.Slots(now, 8, false))
		g.Report(now, lane.Signal{Kind: engine.SignalFailing, Reason: "down"})
		require.Zero(t, g.Slots(now, 8, false))
		require.Equal(t, engine.HoldBreaker, g.Hold().Kind)
		require.Equal(t, "down", g.Hold().Reason)
	})
	t.Run("after a hold one attempt ends or prolongs it", func(t *testing.T) {
		g := gate()
		g.Report(now, lane.Signal{Kind: engine.SignalDenied})
		g.Report(now, lane.Signal{Kind: engine.SignalDenied})
		require.Equal(t, 1, g.Hold().Streak, "several requests were in flight")
		g.Report(now, lane.Signal{Kind: engine.SignalOK})
		require.Zero(t, g.Slots(now, 8, false), "a late response does not end a hold")
		later := g.Hold().Until
		require.Equal(t, 1, g.Slots(later, 8, false))
		g.Report(later, lane.Signal{Kind: engine.SignalFailing})
		require.Equal(t, 2, g.Hold().Streak)
		require.Equal(t, engine.HoldQuarantine, g.Hold().Kind)
		require.True(t, g.Hold().Until.After(later.Add(time.Second)), "the hold grows")
		later = g.Hold().Until
		g.Report(later, lane.Signal{Kind: engine.SignalOK})
		require.Equal(t, engine.Hold{}, g.Hold())
		require.Equal(t, 8, g.Slots(later, 8, false))
	})
	t.Run("urgent tasks continue during a quarantine until one is denied", func(t *testing.T) {
		g := gate()
		g.Report(now, lane.Signal{Kind: engine.SignalDenied})
		require.Zero(t, g.Slots(now, 8, false))
		require.Equal(t, 1, g.Slots(now, 8, true))
		g.Report(now, lane.Signal{Kind: engine.SignalOK, Urgent: true})
		require.Zero(t, g.Slots(now, 8, false), "other tasks remain blocked")
		require.Equal(t, 1, g.Slots(now, 8, true))
		g.Report(now, lane.Signal{Kind: engine.SignalDenied, Urgent: true})
		require.Zero(t, g.Slots(now, 8, true))
		g = gate()
		g.Report(now, lane.Signal{Kind: engine.SignalThrottled})
		require.Zero(t, g.Slots(now, 8, true), "a pause blocks all tasks")
	})
	t.Run("a pause lasts as long as the target requests, up to a limit", func(t *testing.T) {
		g := gate()
		g.Report(now, lane.Signal{Kind: engine.SignalThrottled, Until: now.Add(30 * time.Second)})
		require.Equal(t, now.Add(30*time.Second), g.Hold().Until)
		g.Report(now, lane.Signal{Kind: engine.SignalThrottled, Until: now.Add(10 * time.Second)})
		require.Equal(t, now.Add(30*time.Second), g.Hold().Until, "the longer pause applies")
		g.Report(now, lane.Signal{Kind: engine.SignalThrottled, Until: now.AddDate(1, 0, 0)})
		require.Equal(t, now.Add(lane.MaxPause), g.Hold().Until)
	})
}

// leases implements store.Leases in memory, with one lane that is pending whenever it is free.
type leases struct {
	mu       sync.Mutex
	epoch    int64
	until    time.Time
	nextAt   time.Time
	refuse   bool
	released []engine.Hold
	extended int
}

func (l *leases) Reset(context.Context, string) error { return nil }

func (l *leases) Claim(_ context.Context, _ string, now, until time.Time, limit int) ([]engine.Lease, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit == 0 || now.Before(l.until) || now.Before(l.nextAt) {
		return nil, l.nextAt, nil
	}
	l.epoch++
	l.until = until
	return []engine.Lease{{App: "app", Epoch: l.epoch, Until: until}}, time.Time{}, nil
}

func (l *leases) Extend(_ context.Context, lease engine.Lease, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse || lease.Epoch != l.epoch {
		return engine.ErrLeaseLost
	}
	l.extended++
	l.until = until
	return nil
}

func (l *leases) Release(_ context.Context, lease engine.Lease, hold engine.Hold, notBefore time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease.Epoch != l.epoch {
		return engine.ErrLeaseLost
	}
	l.released = append(l.released, hold)
	l.until, l.nextAt = time.Time{}, notBefore
	return nil
}

func dispatcher(l store.Leases) *lane.Dispatcher {
	return lane.NewDispatcher(
		lane.Options{Leases: l, Owner: "me", Lease: 30 * time.Second, Sweep: time.Second, Lanes: 4, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler)})
}

// TestGate_PastRetryAfter checks that the gate uses its own, growing backoff if Retry-After is not in the future.
func TestGate_PastRetryAfter(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, until := range []time.Time{now, now.Add(-time.Hour)} {
		g := lane.NewGate(engine.Hold{}, lane.Backoff{Initial: time.Minute, Max: time.Hour}, 5)
		g.Report(now, lane.Signal{Kind: engine.SignalThrottled, Until: until})
		require.Equal(t, engine.HoldPause, g.Hold().Kind)
		first := g.Hold().Until.Sub(now)
		require.Greater(t, first, 30*time.Second, "the gate's backoff applies")
		later := g.Hold().Until
		g.Report(later, lane.Signal{Kind: engine.SignalThrottled, Until: later})
		require.Greater(t, g.Hold().Until.Sub(later), first, "the backoff grows")
	}
}

// TestDispatcher_ExtendsLease checks that the dispatcher extends the lease of a running lane every third of its duration.
func TestDispatcher_ExtendsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		d := dispatcher(l)
		go d.Run(t.Context(), func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
			time.Sleep(65 * time.Second) // advances only the clock of the synctest bubble
			require.NoError(t, ctx.Err())
			return engine.Hold{Kind: engine.HoldBreaker}, time.Now().Add(time.Hour)
		})
		time.Sleep(70 * time.Second)
		d.Drain()
		d.Drain()
		synctest.Wait()
		require.Equal(t, []engine.Hold{{Kind: engine.HoldBreaker}}, l.released)
		require.Equal(t, 6, l.extended, "every third of the lease")
	})
}

// TestDispatcher_CancelsOnLostLease checks that a lost lease cancels the work of the lane, and that the dispatcher does not release it.
func TestDispatcher_CancelsOnLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{refuse: true}
		d := dispatcher(l)
		var cut atomic.Bool
		go d.Run(t.Context(), func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
			<-ctx.Done()
			cut.Store(true)
			return engine.Hold{}, time.Time{}
		})
		time.Sleep(11 * time.Second)
		require.True(t, cut.Load())
		d.Drain()
		synctest.Wait()
		require.Empty(t, l.released)
	})
}

// work implements lane.Work in memory.
type work struct {
	mu      sync.Mutex
	due     []lane.Task
	order   []string
	running int
	most    int
	signal  lane.Signal
}

func (w *work) Due(_ context.Context, limit int, _ map[lane.Task]bool) ([]lane.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]lane.Task(nil), w.due[:min(limit, len(w.due))]...), nil
}

func (w *work) Ended(lane.Task) {}

func (w *work) Do(_ context.Context, t lane.Task) (lane.Signal, error) {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.order = append(w.order, t.ID)
	w.mu.Unlock()
	time.Sleep(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	for i, other := range w.due {
		if other == t {
			w.due = append(w.due[:i], w.due[i+1:]...)
			break
		}
	}
	return w.signal, nil
}

func loop(t *testing.T, w *work, g *lane.Gate) {
	t.Helper()
	d := dispatcher(&leases{})
	ran := false
	go d.Run(t.Context(), func(ctx context.Context, tenure *lane.Ownership) (engine.Hold, time.Time) {
		if !ran {
			ran = true
			require.NoError(t, lane.Loop(ctx, tenure, g, func() int { return 3 }, time.Now, w))
		}
		return engine.Hold{}, time.Now().Add(time.Hour)
	})
	time.Sleep(25 * time.Second)
	d.Drain()
	synctest.Wait()
}

// TestLoop_ConcurrencyAndStages checks that the loop respects the concurrency limit and starts a stage after the previous one is complete.
func TestLoop_ConcurrencyAndStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{signal: lane.Signal{Kind: engine.SignalOK}}
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			w.due = append(w.due, lane.Task{Kind: "user", ID: id})
		}
		w.due = append(w.due, lane.Task{Kind: "group", ID: "g", Stage: 1})
		start := time.Now()
		loop(t, w, lane.NewGate(engine.Hold{}, lane.Backoff{Initial: time.Second, Max: time.Minute}, 5))
		require.Len(t, w.order, 6)
		require.Equal(t, 3, w.most)
		require.Equal(t, "g", w.order[5], "after all users have completed")
		require.Empty(t, w.due)
		require.Less(t, time.Since(start), time.Minute)
	})
}

func TestLoop_StopsOnClosedGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{signal: lane.Signal{Kind: engine.SignalDenied}}
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			w.due = append(w.due, lane.Task{Kind: "user", ID: id})
		}
		loop(t, w, lane.NewGate(engine.Hold{}, lane.Backoff{Initial: time.Hour, Max: time.Hour}, 5))
		require.Len(t, w.order, 3, "the tasks in flight")
	})
}

func TestLoop_TriesOneAfterHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{signal: lane.Signal{Kind: engine.SignalDenied}, due: []lane.Task{{ID: "1"}, {ID: "2"}}}
		loop(t, w, lane.NewGate(engine.Hold{Kind: engine.HoldQuarantine, Until: time.Now()}, lane.Backoff{Initial: time.Hour, Max: time.Hour}, 5))
		require.Equal(t, []string{"1"}, w.order)
	})
}
