package membership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/heartbeat"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/store"
)

// Options configures a Member; all fields are required.
type Options struct {
	Store   store.Processes
	Name    string
	Lease   time.Duration // the time without a heartbeat after which the process is dead
	Recheck time.Duration // time limit of a request: principals in flight are rechecked this time after a takeover
	Now     func() time.Time
	Clocks  heartbeat.Clocks
	Load    func() (lanes lane.Load, inFlight int)
	Taken   func(context.Context, engine.Takeover)
	Wake    func() // wakes the dispatchers: the process has joined, or has taken lanes over
	Logger  *slog.Logger
}

// Member is the membership of an engine. It implements lane.Fleet.
type Member struct {
	o       Options
	current atomic.Pointer[incarnation]
	share   share
	reaping sync.WaitGroup
	busy    atomic.Bool // a takeover is running
	joined  bool        // the engine has joined before
}

// New returns a Member that has not joined.
func New(o Options) *Member { return &Member{o: o} }

const (
	joinRetry  = 250 * time.Millisecond
	joinMax    = 5 * time.Second
	joinWithin = 10 * time.Second // time limit of a join, and of a leave

	retireWithin = time.Second // time limit of Retire
)

// Process implements lane.Fleet.
func (m *Member) Process() lane.Process {
	if i := m.current.Load(); i != nil {
		return i
	}
	return nil
}

// Estimate implements lane.Fleet.
func (m *Member) Estimate() (processes int, lanes float64) { return m.share.estimate() }

// Surplus implements lane.Fleet.
func (m *Member) Surplus(l lane.Load) int {
	return m.share.surplus(m.reading(l), 2*heartbeat.Every(m.o.Lease))
}

func (m *Member) reading(l lane.Load) reading { return reading{m.o.Clocks.Monotonic(), l} }

// Retire announces to the other processes that this one is about to release its lanes. It returns false if there is no other process, or if
// the announcement could not be stored; the other processes then search for lanes at their usual intervals.
func (m *Member) Retire(ctx context.Context) bool {
	i := m.current.Load()
	if processes, _ := m.share.estimate(); i == nil || !i.Valid() || processes <= 1 {
		return false
	}
	call, stop := context.WithTimeout(ctx, retireWithin)
	defer stop()
	err := m.o.Store.Retire(call, i.id)
	if err != nil && ctx.Err() == nil {
		m.o.Logger.WarnContext(ctx, "release of lanes not announced; the other processes find them by their regular searches",
			"process", i.id, "error", err)
	}
	return err == nil
}

// Join joins once. The first join of an engine takes over the lanes of an earlier engine of the same name, which was killed.
func (m *Member) Join(ctx context.Context) error {
	call, stop := context.WithTimeout(ctx, joinWithin)
	defer stop()
	sent := m.o.Clocks.Now()
	w := m.when()
	p, taken, err := m.o.Store.Join(call, store.Joining{Name: m.o.Name, Lease: m.o.Lease, Replace: !m.joined, When: w})
	if err != nil {
		return err
	}
	m.joined = true
	lease := m.o.Lease
	if p.Until.IsZero() {
		lease = 0 // the database belongs to the process
	}
	m.current.Store(&incarnation{heartbeat.Begin(ctx, m.o.Clocks, lease, sent, engine.ErrLeaseLost), p.ID})
	m.report(ctx, taken, w)
	m.o.Wake()
	return nil
}

func (m *Member) when() store.When {
	now := m.o.Now()
	return store.When{Now: now, Recheck: now.Add(m.o.Recheck)}
}

// Run is a member of the fleet until ctx ends. It joins if Join was not called or has failed.
func (m *Member) Run(ctx context.Context) {
	defer m.reaping.Wait()
	delay := joinRetry
	for ctx.Err() == nil {
		if m.current.Load() == nil {
			if err := m.Join(ctx); err != nil {
				if ctx.Err() == nil {
					m.o.Logger.ErrorContext(ctx, "the engine cannot join the others that share its store", "error", err)
				}
				pause.For(ctx, pause.Around(delay, 0.2))
				delay = min(2*delay, joinMax)
				continue
			}
		}
		delay = joinRetry
		i := m.current.Load()
		m.live(ctx, i)
		if ctx.Err() == nil {
			m.o.Logger.WarnContext(ctx, "the process was not valid any longer: it continues as a new one", "process", i.id)
		}
		m.leave(ctx, i)
	}
	if i := m.current.Load(); i != nil { // ctx ended between Join and Run
		m.leave(ctx, i)
	}
}

// incarnation is a process in the store, from its join until its end. It implements lane.Process.
type incarnation struct {
	*heartbeat.Life
	id string
}

// ID implements lane.Process.
func (i *incarnation) ID() string { return i.id }

// live sends heartbeats until the incarnation or ctx ends. After each heartbeat, it takes over the lanes of dead processes. It also takes
// over when another process becomes dead between two heartbeats of this process, so that a takeover does not wait for the next heartbeat.
func (m *Member) live(ctx context.Context, i *incarnation) {
	i.Run(ctx, heartbeat.Beating{
		Send: func(call context.Context) (time.Duration, error) {
			f, err := m.send(call, i)
			if err == nil && f.Dead > 0 {
				m.reap(ctx, i)
			}
			if errors.Is(err, store.ErrEnded) {
				err = errors.Join(err, heartbeat.ErrEnded)
			}
			return f.Next, err
		},
		Reap: func() { m.reap(ctx, i) },
		Failed: func(err error) {
			m.o.Logger.WarnContext(ctx, "heartbeat not stored", "process", i.id, "error", err)
		},
	})
}

// send sends a heartbeat.
func (m *Member) send(ctx context.Context, i *incarnation) (store.Fleet, error) {
	lanes, inFlight := m.o.Load()
	now := m.reading(lanes)
	f, err := m.o.Store.Beat(ctx, i.id, store.Load{Lanes: m.share.sent(now), InFlight: inFlight})
	if err == nil {
		m.share.update(f, now)
	}
	return f, err
}

// reap takes over the lanes of dead processes, in the background: a heartbeat must not wait for it.
func (m *Member) reap(ctx context.Context, i *incarnation) {
	if !m.busy.CompareAndSwap(false, true) {
		return
	}
	m.reaping.Go(func() {
		defer m.busy.Store(false)
		call, stop := context.WithTimeout(i.Context(), m.o.Lease)
		defer stop()
		w := m.when()
		taken, err := m.o.Store.Reap(call, i.id, w)
		if err != nil {
			if i.Valid() {
				m.o.Logger.WarnContext(ctx, "the lanes of dead processes were not taken over", "error", err)
			}
			return
		}
		m.report(ctx, taken, w)
		if len(taken) > 0 {
			m.o.Wake()
		}
	})
}

// loggedApps is the maximum number of apps that the message of a takeover names.
const loggedApps = 10

// report reports what was taken over. w has the times that were stored.
func (m *Member) report(ctx context.Context, taken []store.Takeover, w store.When) {
	for _, t := range taken {
		shown := min(len(t.Apps), loggedApps)
		m.o.Logger.WarnContext(ctx, "lanes of a dead process taken over", "process", t.Process, "name", t.Name, "lanes", len(t.Apps),
			"apps", t.Apps[:shown], "epochs", t.Epochs[:min(len(t.Epochs), shown)], "rechecks", t.Noted, "recheckAt", w.Recheck.UTC())
		m.o.Taken(ctx, engine.Takeover{
			Process: t.Process, Name: t.Name, Apps: t.Apps, Epochs: t.Epochs, InFlight: t.Noted, Recheck: w.Recheck,
		})
	}
}

// leave ends an incarnation, and stores its end, so that other processes can take over its lanes immediately. If the database does not
// respond, they take them over when the process has sent no heartbeat for the lease time.
func (m *Member) leave(ctx context.Context, i *incarnation) {
	i.End(context.Canceled)
	m.reaping.Wait() // a takeover uses the incarnation
	m.current.CompareAndSwap(i, nil)
	call, stop := context.WithTimeout(context.WithoutCancel(ctx), joinWithin)
	defer stop()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, stop)()
	}
	if err := m.o.Store.Leave(call, i.id, m.when()); err != nil {
		m.o.Logger.WarnContext(ctx, "end of the process not stored", "process", i.id, "error", err)
	}
}
