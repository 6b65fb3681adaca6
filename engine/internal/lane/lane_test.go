package lane_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
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
	owner    string
	nextAt   time.Time
	released []engine.Hold
	claims   int
	due      []time.Time // parameters of Claimable
	retired  bool        // another process is about to release its lanes
	// lose is the number of claims that succeed without a response. fail is the number of releases that fail.
	lose, fail int
}

var errBroken = errors.New("connection lost")

func (l *leases) Claimable(_ context.Context, due time.Time, _ int) (c store.Claimable, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = append(l.due, due)
	c.Retired = l.retired
	if l.owner == "" && !due.Before(l.nextAt) {
		c.Lanes, c.First, c.Processes = 1, l.nextAt, 1
	}
	return c, nil
}

func (l *leases) Claim(_ context.Context, process string, due time.Time, limit int) ([]engine.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit == 0 || l.owner != "" || due.Before(l.nextAt) {
		return nil, nil
	}
	l.epoch++
	l.owner = process
	l.claims++
	if l.lose > 0 {
		l.lose--
		return nil, errBroken
	}
	return []engine.Lease{{App: "app", Epoch: l.epoch, Process: process}}, nil
}

func (l *leases) Held(_ context.Context, process string) ([]engine.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != process {
		return nil, nil
	}
	return []engine.Lease{{App: "app", Epoch: l.epoch, Process: process}}, nil
}

func (l *leases) Release(_ context.Context, lease engine.Lease, hold engine.Hold, notBefore time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease.Epoch != l.epoch || l.owner == "" {
		return time.Time{}, engine.ErrLeaseLost
	}
	if l.fail > 0 {
		l.fail--
		return time.Time{}, errBroken
	}
	l.released = append(l.released, hold)
	l.owner, l.nextAt = "", notBefore
	return notBefore, nil
}

// fleet implements lane.Fleet with one process at a time.
type fleet struct {
	process atomic.Pointer[process]
	surplus atomic.Int64

	processes atomic.Int64
}

type process struct {
	ctx context.Context
	end context.CancelFunc
}

func newFleet() *fleet {
	f := &fleet{}
	f.processes.Store(4)
	f.join()
	return f
}

func (f *fleet) join() {
	p := &process{}
	p.ctx, p.end = context.WithCancel(context.Background())
	f.process.Store(p)
}

func (f *fleet) end()                       { f.process.Load().end() }
func (f *fleet) Process() lane.Process      { return f.process.Load() }
func (f *fleet) Surplus(lane.Load) int      { return int(f.surplus.Swap(0)) }
func (f *fleet) Estimate() (int, float64)   { return int(f.processes.Load()), 0 }
func (*process) ID() string                 { return "me" }
func (p *process) Valid() bool              { return p.ctx.Err() == nil }
func (p *process) Context() context.Context { return p.ctx }

// pass advances the clock of the synctest bubble and waits until the goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const sweep = time.Second

func dispatcher(l store.Leases, f lane.Fleet) *lane.Dispatcher {
	return lane.NewDispatcher(
		lane.Options{Leases: l, Fleet: f, Sweep: sweep, Lanes: 4, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
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

// TestDispatcher_WritesNothingMeanwhile checks that a running lane costs no call of the store, however long it runs.
func TestDispatcher_WritesNothingMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		d := dispatcher(l, newFleet())
		go d.Run(t.Context(), func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
			time.Sleep(time.Hour) // advances only the clock of the synctest bubble
			require.NoError(t, ctx.Err())
			return engine.Hold{Kind: engine.HoldBreaker}, time.Now().Add(time.Hour)
		})
		pass(time.Hour + sweep)
		d.Drain()
		d.Drain()
		synctest.Wait()
		require.Equal(t, []engine.Hold{{Kind: engine.HoldBreaker}}, l.released)
		require.Equal(t, 1, l.claims)
	})
}

// TestDispatcher_CanceledLane checks that a lane is not released whose sequences were canceled: it is taken over with its principals in
// flight when the process leaves.
func TestDispatcher_CanceledLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		ctx, cancel := context.WithCancel(t.Context())
		go dispatcher(l, newFleet()).Run(ctx, func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
			<-ctx.Done()
			return engine.Hold{}, time.Time{}
		})
		pass(sweep)
		cancel()
		synctest.Wait()
		require.Equal(t, 1, l.claims)
		require.Empty(t, l.released)
	})
}

// TestDispatcher_CancelsOnEndOfProcess checks that the end of the process cancels the work of the lane, and that the dispatcher does not
// release it.
func TestDispatcher_CancelsOnEndOfProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := &leases{}, newFleet()
		d := dispatcher(l, f)
		var cause error
		go d.Run(t.Context(), func(ctx context.Context, o *lane.Ownership) (engine.Hold, time.Time) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			require.False(t, o.Valid())
			return engine.Hold{}, time.Time{}
		})
		pass(11 * time.Second)
		require.NoError(t, cause)
		f.end()
		synctest.Wait()
		require.ErrorIs(t, cause, engine.ErrLeaseLost)
		pass(time.Minute)
		d.Drain()
		synctest.Wait()
		require.Empty(t, l.released)
		require.Equal(t, 1, l.claims, "a process that has ended claims nothing")
	})
}

// once is a lane that works once for a second.
func once(context.Context, *lane.Ownership) (engine.Hold, time.Time) {
	time.Sleep(time.Second)
	return engine.Hold{}, time.Now().Add(time.Hour)
}

// TestDispatcher_FindsLostClaim checks that the dispatcher runs a lane that a claim has acquired without a response.
func TestDispatcher_FindsLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{lose: 1}
		d := dispatcher(l, newFleet())
		go d.Run(t.Context(), once)
		pass(5 * sweep)
		d.Drain()
		synctest.Wait()
		require.Len(t, l.released, 1)
		require.Equal(t, 1, l.claims)
	})
}

// lateClaim is a store whose second search fails. The claim of that search takes effect during a later call of Held: after the lane that
// runs then was released.
type lateClaim struct {
	*leases
	searches int
	calls    int // of Held until the claim takes effect
}

func (l *lateClaim) Claimable(ctx context.Context, due time.Time, limit int) (store.Claimable, error) {
	if l.searches++; l.searches == 2 {
		return store.Claimable{}, errBroken
	}
	return l.leases.Claimable(ctx, due, limit)
}

func (l *lateClaim) Held(ctx context.Context, process string) ([]engine.Lease, error) {
	if l.calls--; l.calls == 0 {
		time.Sleep(10 * sweep) // until the lane is released
		if _, err := l.Claim(ctx, process, time.Now().Add(time.Hour), 1); err != nil {
			return nil, err
		}
	}
	return l.leases.Held(ctx, process)
}

// TestDispatcher_FindsLateClaim checks that the dispatcher runs a lane again that a claim without a response has acquired after the end of
// an earlier run.
func TestDispatcher_FindsLateClaim(t *testing.T) {
	for _, calls := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) { findsLateClaim(t, calls) })
	}
}

func findsLateClaim(t *testing.T, calls int) {
	t.Helper()
	l := &lateClaim{leases: &leases{}, calls: calls}
	d := dispatcher(l, newFleet())
	go d.Run(t.Context(), func(context.Context, *lane.Ownership) (engine.Hold, time.Time) {
		time.Sleep(5 * sweep)
		return engine.Hold{}, time.Now().Add(time.Hour)
	})
	pass(20 * sweep)
	d.Drain()
	synctest.Wait()
	require.Equal(t, 2, l.claims)
	require.Len(t, l.released, 2)
}

// TestDispatcher_RepeatsRelease checks that the dispatcher repeats a release that fails: no other process works on a lane whose process is
// valid.
func TestDispatcher_RepeatsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{fail: 7}
		d := dispatcher(l, newFleet())
		go d.Run(t.Context(), once)
		pass(time.Minute)
		require.Len(t, l.released, 1)
		d.Drain()
	})
	synctest.Test(t, func(t *testing.T) { // not indefinitely after the end of the process
		l, f := &leases{fail: 1_000_000}, newFleet()
		d := dispatcher(l, f)
		done := make(chan struct{})
		go func() { d.Run(t.Context(), once); close(done) }()
		pass(time.Minute)
		d.Drain()
		pass(time.Minute)
		f.end()
		<-done
		require.Empty(t, l.released)
	})
}

// TestDispatcher_WakesWhenDueAgain checks that a dispatcher claims a lane when it is due again, without a search in between.
func TestDispatcher_WakesWhenDueAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := &leases{}, time.Now()
		var ran []time.Duration
		d := dispatcher(l, newFleet())
		go d.Run(t.Context(), func(context.Context, *lane.Ownership) (engine.Hold, time.Time) {
			ran = append(ran, time.Since(start))
			return engine.Hold{}, time.Now().Add(12345 * time.Millisecond)
		})
		pass(30 * time.Second)
		d.Drain()
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 12345 * time.Millisecond, 24690 * time.Millisecond}, ran)
	})
}

// TestDispatcher_SearchesWithJitter checks that the delays between searches differ, so that the processes do not search at the same time.
func TestDispatcher_SearchesWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{nextAt: time.Now().AddDate(1, 0, 0)}
		d := dispatcher(l, newFleet())
		go d.Run(t.Context(), once)
		pass(100 * sweep)
		d.Drain()
		synctest.Wait()
		require.InDelta(t, 100, len(l.due), 10)
		delays := map[time.Duration]bool{}
		for i, at := range l.due[1:] {
			delay := at.Sub(l.due[i])
			require.InDelta(t, sweep, delay, float64(sweep/10)+1)
			delays[delay] = true
		}
		require.Greater(t, len(delays), 50)
	})
}

// TestDispatcher_ReleasesBlockedLane checks that a new process of the engine does not hold a lane whose previous run does not end.
func TestDispatcher_ReleasesBlockedLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := &leases{}, newFleet()
		d := dispatcher(l, f)
		unblock := make(chan struct{})
		var runs atomic.Int64
		go d.Run(t.Context(), func(ctx context.Context, _ *lane.Ownership) (engine.Hold, time.Time) {
			if runs.Add(1) == 1 {
				<-unblock // ignores the end of ctx
			}
			return engine.Hold{Kind: engine.HoldBreaker}, time.Now().Add(time.Hour)
		})
		synctest.Wait()
		f.end()
		synctest.Wait()
		l.mu.Lock()
		l.owner = "" // another process has taken the lane over and released it
		l.mu.Unlock()
		f.join()
		pass(time.Minute)
		require.NotEmpty(t, l.released)
		require.NotContains(t, l.released, engine.Hold{Kind: engine.HoldBreaker})
		require.EqualValues(t, 1, runs.Load(), "one run of a lane at a time")
		close(unblock)
		pass(time.Minute)
		require.EqualValues(t, 2, runs.Load())
		require.Equal(t, engine.Hold{Kind: engine.HoldBreaker}, l.released[len(l.released)-1])
		d.Drain()
		f.end()
	})
}

// TestDispatcher_HandsOver checks that a process hands lanes over, and that a released lane is due from the time of its release.
func TestDispatcher_HandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := &leases{nextAt: time.Now()}, newFleet()
		var drained time.Time
		d := dispatcher(l, f)
		go d.Run(t.Context(), func(_ context.Context, o *lane.Ownership) (engine.Hold, time.Time) {
			for !o.Draining() {
				time.Sleep(10 * time.Millisecond)
			}
			drained = time.Now()
			return engine.Hold{}, time.Time{}
		})
		pass(10 * time.Second)
		require.Zero(t, drained)
		f.surplus.Store(1)
		pass(2 * sweep)
		require.NotZero(t, drained)
		require.Len(t, l.released, 1)
		require.WithinDuration(t, drained, l.nextAt, 0)
		d.Drain()
		f.end()
		pass(time.Second) // the lane may have been claimed again
	})
}

// TestDispatcher_CountsRunningTime checks Load: the number of running lanes and the sum of their times.
func TestDispatcher_CountsRunningTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := &leases{nextAt: time.Now()}, newFleet()
		d := dispatcher(l, f)
		go d.Run(t.Context(), func(context.Context, *lane.Ownership) (engine.Hold, time.Time) {
			time.Sleep(3 * time.Second)
			return engine.Hold{}, time.Now().AddDate(1, 0, 0)
		})
		pass(time.Second)
		require.Equal(t, lane.Load{Running: 1, Total: time.Second}, d.Load())
		pass(time.Minute)
		require.Equal(t, lane.Load{Running: 0, Total: 3 * time.Second}, d.Load())
		d.Drain()
		f.end()
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

	storing time.Duration // time in which Do only stores the result
	sending int
	mostly  int // the largest number of sending tasks
}

func (w *work) Due(_ context.Context, limit int, _ map[lane.Task]bool) ([]lane.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]lane.Task(nil), w.due[:min(limit, len(w.due))]...), nil
}

func (w *work) Ended(lane.Task) {}

func (w *work) Do(_ context.Context, t lane.Task, sent func()) (lane.Signal, error) {
	w.mu.Lock()
	w.running++
	w.sending++
	w.most, w.mostly = max(w.most, w.running), max(w.mostly, w.sending)
	w.order = append(w.order, t.ID)
	w.mu.Unlock()
	time.Sleep(time.Second)
	w.mu.Lock()
	w.sending--
	if w.storing > 0 {
		w.mu.Unlock()
		sent()
		time.Sleep(w.storing)
		w.mu.Lock()
	}
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
	d := dispatcher(&leases{}, newFleet())
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

// TestLoop_StoringTasksMakeRoom checks that tasks which only store their results make room for others, up to twice the concurrency.
func TestLoop_StoringTasksMakeRoom(t *testing.T) {
	for name, c := range map[string]struct {
		hold          engine.Hold
		most, sending int
	}{
		"open gate":  {engine.Hold{}, 6, 3},
		"after hold": {engine.Hold{Kind: engine.HoldQuarantine}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &work{signal: lane.Signal{Kind: engine.SignalDenied}, storing: 5 * time.Second}
				if c.hold.Kind == engine.HoldNone {
					w.signal.Kind = engine.SignalOK
				} else {
					c.hold.Until = time.Now()
				}
				for n := range 9 {
					w.due = append(w.due, lane.Task{Kind: "user", ID: strconv.Itoa(n)})
				}
				loop(t, w, lane.NewGate(c.hold, lane.Backoff{Initial: time.Hour, Max: time.Hour}, 5))
				require.Equal(t, c.most, w.most)
				require.Equal(t, c.sending, w.mostly)
			})
		})
	}
}

// TestLoop_FindsNewTasks checks that a lane finds a task that another process stores while a long task runs.
func TestLoop_FindsNewTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{signal: lane.Signal{Kind: engine.SignalOK}, storing: 10 * time.Second, due: []lane.Task{{Kind: "group", ID: "g", Stage: 1}}}
		go func() {
			time.Sleep(5 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.due = append(w.due, lane.Task{Kind: "user", ID: "u"})
			time.AfterFunc(2*time.Second, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Equal(t, []string{"g", "u"}, w.order)
			})
		}()
		loop(t, w, lane.NewGate(engine.Hold{}, lane.Backoff{Initial: time.Second, Max: time.Minute}, 5))
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
