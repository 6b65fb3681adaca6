package membership_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/heartbeat"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/membership"
	"github.com/scimwright/scimwright/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	lease   = 10 * time.Second
	recheck = time.Minute
)

// database implements store.Processes in memory. Its clock is that of the synctest bubble.
type database struct {
	mu        sync.Mutex
	alone     bool
	down      bool // calls fail
	stalled   bool // calls get no response
	processes map[string]time.Time
	loads     map[string]store.Load
	lanes     map[string]int // of dead processes, until they are taken over
	beats     map[string][]time.Time
	reaps     []time.Time
	taken     []time.Time // when lanes were taken over
	joins     []store.Joining
	retired   []string
	when      store.When // of the last takeover
}

func newDatabase() *database {
	return &database{processes: map[string]time.Time{}, loads: map[string]store.Load{}, lanes: map[string]int{},
		beats: map[string][]time.Time{}}
}

var errDown = errors.New("the database is down")

// call runs fn unless the database is down or stalled.
func (d *database) call(ctx context.Context, fn func() error) error {
	d.mu.Lock()
	down, stalled := d.down, d.stalled
	d.mu.Unlock()
	if stalled {
		<-ctx.Done()
		return ctx.Err()
	}
	if down {
		return errDown
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return fn()
}

func (d *database) set(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn()
}

func (d *database) Join(ctx context.Context, j store.Joining) (p engine.Process, _ []store.Takeover, err error) {
	err = d.call(ctx, func() error {
		d.joins = append(d.joins, j)
		p = engine.Process{ID: fmt.Sprint("p", len(d.joins)), Name: j.Name, Started: time.Now()}
		if !d.alone {
			p.Until = time.Now().Add(j.Lease)
		}
		d.processes[p.ID] = p.Until
		return nil
	})
	return p, nil, err
}

func (d *database) Beat(ctx context.Context, id string, load store.Load) (f store.Fleet, err error) {
	err = d.call(ctx, func() error {
		now := time.Now()
		if !d.processes[id].After(now) {
			return store.ErrEnded
		}
		d.beats[id] = append(d.beats[id], now)
		d.processes[id], d.loads[id] = now.Add(lease), load
		f.Next = -1
		for other, until := range d.processes {
			switch left := until.Sub(now); {
			case left <= 0:
				f.Dead++
			case other == id:
				f.Alive++
			default:
				lanes := d.loads[other].Lanes
				if f.Next < 0 || lanes < f.Least { // the first one, or fewer
					f.Least = lanes
				}
				f.Alive++
				f.Others += lanes
				if f.Next < 0 || left < f.Next {
					f.Next = left
				}
			}
		}
		return nil
	})
	return f, err
}

func (d *database) Reap(ctx context.Context, _ string, w store.When) (taken []store.Takeover, err error) {
	err = d.call(ctx, func() error {
		d.reaps = append(d.reaps, time.Now())
		for id, until := range d.processes {
			if !until.After(time.Now()) && d.lanes[id] > 0 {
				t := store.Takeover{Process: id, Name: "name of " + id, Noted: 2}
				for n := range d.lanes[id] {
					t.Apps, t.Epochs = append(t.Apps, fmt.Sprint("app-", n)), append(t.Epochs, int64(n+5))
				}
				taken = append(taken, t)
				delete(d.lanes, id)
				d.taken, d.when = append(d.taken, time.Now()), w
			}
		}
		return nil
	})
	return taken, err
}

func (d *database) Retire(ctx context.Context, id string) error {
	return d.call(ctx, func() error {
		d.retired = append(d.retired, id)
		return nil
	})
}

func (d *database) Leave(ctx context.Context, id string, _ store.When) error {
	return d.call(ctx, func() error {
		d.processes[id] = time.Now()
		return nil
	})
}

func (d *database) Processes(context.Context) ([]engine.Process, error) { return nil, nil }

// clocks are clocks that can be set.
type clocks struct {
	mu              sync.Mutex
	monotonic, wall time.Duration // added to the clock of the bubble
}

func (c *clocks) get() heartbeat.Clocks {
	read := func(offset *time.Duration) func() time.Time {
		return func() time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			return time.Now().Add(*offset)
		}
	}
	return heartbeat.Clocks{Monotonic: read(&c.monotonic), Wall: read(&c.wall)}
}

func (c *clocks) set(monotonic, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.monotonic, c.wall = monotonic, wall
}

func options(d *database) membership.Options {
	return membership.Options{
		Store: d, Name: "me", Lease: lease, Recheck: recheck, Now: time.Now, Clocks: heartbeat.System(),
		Load: func() (lane.Load, int) { return lane.Load{}, 0 }, Taken: func(context.Context, engine.Takeover) {}, Wake: func() {},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// run runs a member in the background. The returned function stops it.
func run(t *testing.T, o membership.Options) (*membership.Member, func()) {
	m := membership.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	synctest.Wait()
	return m, func() { cancel(); <-done }
}

// pass advances the clock of the synctest bubble and waits until the goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestMember_BeatsFourTimesPerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		m, stop := run(t, options(d))
		id := m.Process().ID()
		pass(25 * lease)
		stop()
		require.InDelta(t, 100, len(d.beats[id]), 8)
		for i, at := range d.beats[id][1:] {
			require.LessOrEqual(t, at.Sub(d.beats[id][i]), lease/4)
			require.GreaterOrEqual(t, at.Sub(d.beats[id][i]), lease/4-lease/40)
		}
		require.Len(t, d.joins, 1)
		require.True(t, d.joins[0].Replace, "a restarted engine replaces the killed one of the same name")
		require.Nil(t, m.Process())
		require.False(t, d.processes[id].After(time.Now()), "it has left")
		require.Empty(t, d.reaps, "no process has died")
	})
}

// TestMember_ValidityEndsBeforeTakeover checks that the validity ends when nine tenths of the lease have passed since the last heartbeat
// was sent, whether the database rejects the heartbeats or does not respond.
//
// Invariant 26
func TestMember_ValidityEndsBeforeTakeover(t *testing.T) {
	for name, broken := range map[string]func(*database){
		"down": func(d *database) { d.down = true }, "stalled": func(d *database) { d.stalled = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDatabase()
				m, stop := run(t, options(d))
				p := m.Process()
				pass(lease)
				d.set(func() { broken(d) })
				last := d.beats[p.ID()][len(d.beats[p.ID()])-1]
				<-p.Context().Done()
				ended := time.Now()
				synctest.Wait()
				require.False(t, p.Valid())
				require.ErrorIs(t, context.Cause(p.Context()), engine.ErrLeaseLost)
				require.LessOrEqual(t, ended.Sub(last), lease*9/10+lease/40)
				require.GreaterOrEqual(t, ended.Sub(last), lease*9/10)
				require.True(t, d.processes[p.ID()].After(time.Now()), "no other process has taken the lanes over yet")

				pass(time.Minute)
				d.set(func() { d.down, d.stalled = false, false })
				pass(20 * time.Second)
				again := m.Process()
				require.NotNil(t, again)
				require.NotEqual(t, p.ID(), again.ID(), "it continues as a new process")
				require.True(t, again.Valid())
				require.False(t, p.Valid(), "the earlier process never becomes valid again")
				require.False(t, d.joins[len(d.joins)-1].Replace)
				stop()
			})
		})
	}
}

// TestMember_ValidityByBothClocks checks that the validity ends if the machine sleeps, when its monotonic clock stops, or if the wall clock
// is set back and only the monotonic clock shows the time that has passed.
func TestMember_ValidityByBothClocks(t *testing.T) {
	for name, c := range map[string]struct{ monotonic, wall time.Duration }{
		"the machine has slept":       {0, time.Hour},
		"the wall clock was set back": {lease, -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, local := newDatabase(), &clocks{}
				o := options(d)
				o.Clocks = local.get()
				m, stop := run(t, o)
				p := m.Process()
				require.True(t, p.Valid())
				local.set(c.monotonic, c.wall)
				require.False(t, p.Valid(), "before any timer has fired")
				pass(lease / 2)
				require.NotEqual(t, p.ID(), m.Process().ID())
				require.True(t, m.Process().Valid())
				stop()
			})
		})
	}
}

// TestMember_EndedByOthers checks that a process that others have declared dead continues as a new one.
func TestMember_EndedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		m, stop := run(t, options(d))
		p := m.Process()
		d.set(func() { d.processes[p.ID()] = time.Now() })
		pass(lease / 4)
		require.False(t, p.Valid())
		require.NotEqual(t, p.ID(), m.Process().ID())
		stop()
	})
}

// TestMember_TakesOverAtEnd checks that a member takes over the lanes of a process as soon as that process is dead, whenever its own
// heartbeats are.
func TestMember_TakesOverAtEnd(t *testing.T) {
	for n := range 20 {
		synctest.Test(t, func(t *testing.T) {
			d := newDatabase()
			woken := make(chan struct{}, 100)
			o := options(d)
			o.Wake = func() { woken <- struct{}{} }
			_, stop := run(t, o)
			<-woken // it has joined
			pass(time.Duration(n) * 137 * time.Millisecond)
			dead := time.Now().Add(lease)
			d.set(func() { d.processes["other"], d.lanes["other"] = dead, 3 })
			<-woken
			late := time.Since(dead)
			synctest.Wait()
			require.GreaterOrEqual(t, late, time.Duration(0))
			require.LessOrEqual(t, late, 200*time.Millisecond)
			require.Equal(t, store.When{Now: d.taken[0], Recheck: d.taken[0].Add(recheck)}, d.when)
			stop()
		})
	}
}

// TestMember_ReportsTakeover checks the message and the call for a takeover: whose lanes, how many, which ones, and the planned rechecks.
func TestMember_ReportsTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		var log bytes.Buffer
		var told []engine.Takeover
		o := options(d)
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		o.Taken = func(_ context.Context, t engine.Takeover) { told = append(told, t) }
		_, stop := run(t, o)
		d.set(func() { d.processes["other"], d.lanes["other"] = time.Now(), 12 })
		pass(lease)
		stop()
		require.Len(t, told, 1)
		require.Equal(t, []any{"other", "name of other", 12, 12, 2, d.when.Recheck}, []any{told[0].Process, told[0].Name, len(told[0].Apps),
			len(told[0].Epochs), told[0].InFlight, told[0].Recheck})
		require.Equal(t, `level=WARN msg="lanes of a dead process taken over" process=other name="name of other" lanes=12 `+
			`apps="[app-0 app-1 app-2 app-3 app-4 app-5 app-6 app-7 app-8 app-9]" epochs="[5 6 7 8 9 10 11 12 13 14]" rechecks=2 recheckAt=`+
			d.when.Recheck.UTC().Format("2006-01-02T15:04:05.000Z")+"\n", log.String(), "one line, with the first ten lanes")
	})
}

// TestMember_TakesOverAfterOutage checks that a process that died during an outage is taken over after the first heartbeat.
func TestMember_TakesOverAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		_, stop := run(t, options(d))
		d.set(func() { d.down = true })
		pass(time.Minute)
		d.set(func() { d.down, d.processes["other"], d.lanes["other"] = false, time.Now(), 1 })
		back := time.Now()
		pass(time.Minute)
		require.Len(t, d.taken, 1)
		require.LessOrEqual(t, d.taken[0].Sub(back), 10*time.Second)
		stop()
	})
}

// TestMember_AloneHasNoEnd checks that the owner of a database sends no heartbeat and stays valid, whatever happens to its clocks.
func TestMember_AloneHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, local := newDatabase(), &clocks{}
		d.alone = true
		o := options(d)
		o.Clocks = local.get()
		m, stop := run(t, o)
		p := m.Process()
		d.set(func() { d.stalled = true }) // a long transaction
		local.set(time.Hour, 24*time.Hour)
		pass(24 * time.Hour)
		require.True(t, p.Valid())
		require.NoError(t, p.Context().Err())
		require.Empty(t, d.beats)
		d.set(func() { d.stalled = false })
		stop()
		require.False(t, p.Valid())
	})
}

// TestMember_JoinsAfterOutage checks that a member whose first join fails retries in the background.
func TestMember_JoinsAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.down = true
		m, stop := run(t, options(d))
		pass(time.Minute)
		require.Nil(t, m.Process())
		d.set(func() { d.down = false })
		pass(6 * time.Second)
		require.True(t, m.Process().Valid())
		require.True(t, d.joins[0].Replace)
		stop()
	})
}

// constant returns the load of a process that always runs n lanes.
func constant(begun time.Time, n int) lane.Load {
	return lane.Load{Running: n, Total: time.Duration(n) * time.Since(begun)}
}

// TestMember_Share checks the number of lanes that a process runs before it hands lanes over, and its estimate of the fleet.
func TestMember_Share(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, begun := newDatabase(), time.Now()
		o := options(d)
		o.Load = func() (lane.Load, int) { return constant(begun, 200), 0 }
		m, stop := run(t, o)
		load := func(n int) lane.Load { return lane.Load{Running: n, Total: constant(begun, 200).Total} }
		require.Zero(t, m.Surplus(load(1000)), "the only process runs all lanes")
		require.False(t, m.Retire(t.Context()), "no other process has to be told")
		pass(lease)
		d.set(func() {
			for i := range 3 { // three processes that have just joined
				d.processes[fmt.Sprint("new", i)] = time.Now().AddDate(1, 0, 0)
			}
		})
		pass(lease / 4)
		processes, lanes := m.Estimate()
		require.Equal(t, 4, processes)
		require.InDelta(t, 200, lanes, 1)
		require.Zero(t, m.Surplus(load(50)), "it happens to run only its share")
		require.Equal(t, 150, m.Surplus(load(200)))
		require.Zero(t, m.Surplus(load(200)), "the heartbeats of the others do not have these lanes yet")
		pass(lease * 6 / 10)
		require.Equal(t, 150, m.Surplus(load(200)))
		require.True(t, m.Retire(t.Context()))
		require.Equal(t, []string{m.Process().ID()}, d.retired)
		stop()
		require.False(t, m.Retire(t.Context()), "it has left")
	})
}

// TestMember_SharesWithLeast checks that a process within the tolerance hands lanes over to a process that has far fewer, that each process
// has its part exactly if that is possible, and that a few lanes are not distributed.
func TestMember_SharesWithLeast(t *testing.T) {
	for _, c := range []struct {
		own, surplus int
		other, least float64
	}{
		{own: 104, other: 104, least: 96, surplus: 0},
		{own: 108, other: 108, least: 80, surplus: 9},
		{own: 120, other: 92, least: 92, surplus: 18},
		{own: 2, other: 0, least: 0, surplus: 0},
		{own: 4, other: 0, least: 0, surplus: 2},
		{own: 11, other: 11, least: 8, surplus: 1},
		{own: 11, other: 11.01, least: 8.01, surplus: 1}, // heartbeats are not sent at the same times
		{own: 11, other: 10, least: 9, surplus: 1},
		{own: 10, other: 11, least: 9, surplus: 0},
		{own: 11, other: 10, least: 10, surplus: 0},
		{own: 11, other: 11, least: 10, surplus: 0},
		{own: 12, other: 10, least: 9, surplus: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, begun := newDatabase(), time.Now()
			o := options(d)
			o.Load = func() (lane.Load, int) { return constant(begun, c.own), 0 }
			for id, lanes := range map[string]float64{"a": c.other, "b": c.least} {
				d.processes[id], d.loads[id] = begun.AddDate(1, 0, 0), store.Load{Lanes: lanes}
			}
			m, stop := run(t, o)
			pass(2 * lease)
			require.Equal(t, c.surplus, m.Surplus(constant(begun, c.own)), "%+v", c)
			stop()
		})
	}
}

// TestMember_SharesShortLanes checks that the mean counts, not the number at one time: a process whose lanes run for a tenth of the time
// hands none over.
func TestMember_SharesShortLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, begun := newDatabase(), time.Now()
		o := options(d)
		own := 10
		o.Load = func() (lane.Load, int) { return constant(begun, own), 0 }
		d.processes["other"], d.loads["other"] = begun.AddDate(1, 0, 0), store.Load{Lanes: 10}
		m, stop := run(t, o)
		pass(2 * lease)
		at := func(n int) lane.Load { return lane.Load{Running: n, Total: constant(begun, own).Total} }
		require.Zero(t, m.Surplus(at(100)), "they end soon")
		require.InDelta(t, 10, d.mean(m.Process().ID()), 0.01, "what the heartbeat stores")
		stop()
	})
}

func (d *database) mean(id string) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loads[id].Lanes
}
