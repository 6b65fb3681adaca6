package membership

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/store"
)

// Options configures a Member; all fields are required.
type Options struct {
	Store   store.Processes
	Name    string
	Lease   time.Duration // the time without a heartbeat after which the process is dead
	Recheck time.Duration // time limit of a request: principals in flight are rechecked this time after a takeover
	Now     func() time.Time
	Clocks  Clocks
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

// Intervals, as parts of the lease: beats per lease, and the delay before a failed heartbeat is repeated.
const (
	beats      = 4
	beatRetry  = 40
	reapJitter = 200 * time.Millisecond
	joinRetry  = 250 * time.Millisecond
	joinMax    = 5 * time.Second
	joinWithin = 10 * time.Second // time limit of a join, and of a leave
)

// Process implements lane.Fleet.
func (m *Member) Process() lane.Process {
	if i := m.current.Load(); i != nil {
		return i
	}
	return nil
}

// Room implements lane.Fleet.
func (m *Member) Room(l lane.Load) int { return m.share.room(m.reading(l)) }

// Surplus implements lane.Fleet.
func (m *Member) Surplus(l lane.Load) int { return m.share.surplus(m.reading(l), 2*m.o.Lease/beats) }

func (m *Member) reading(l lane.Load) reading { return reading{m.o.Clocks.Monotonic(), l} }

// Join joins once. The first join of an engine takes over the lanes of an earlier engine of the same name, which was killed.
func (m *Member) Join(ctx context.Context) error {
	call, stop := context.WithTimeout(ctx, joinWithin)
	defer stop()
	sent := m.o.Clocks.now()
	w := m.when()
	p, taken, err := m.o.Store.Join(call, store.Joining{Name: m.o.Name, Lease: m.o.Lease, Replace: !m.joined, When: w})
	if err != nil {
		return err
	}
	m.joined = true
	i := &incarnation{id: p.ID, clocks: m.o.Clocks, alone: p.Until.IsZero()}
	i.ctx, i.end = context.WithCancelCause(context.WithoutCancel(ctx))
	i.extend(sent, m.o.Lease)
	m.current.Store(i)
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
				sleep(ctx, jitter(delay))
				delay = min(2*delay, joinMax)
				continue
			}
		}
		delay = joinRetry
		i := m.current.Load()
		m.hold(ctx, i)
		if ctx.Err() == nil {
			m.o.Logger.WarnContext(ctx, "the process was not valid any longer: it continues as a new one", "process", i.id)
		}
		m.leave(ctx, i)
	}
	if i := m.current.Load(); i != nil { // ctx ended between Join and Run
		m.leave(ctx, i)
	}
}

// hold keeps an incarnation valid until it ends or ctx does.
func (m *Member) hold(ctx context.Context, i *incarnation) {
	if i.alone {
		<-ctx.Done()
		return
	}
	var watch sync.WaitGroup
	watch.Go(func() { i.watch(m.o.Lease) })
	m.beat(ctx, i)
	if ctx.Err() == nil {
		watch.Wait()
	} else {
		i.end(context.Canceled) // the work has ended
		watch.Wait()
	}
}

// beat sends heartbeats. It takes over the lanes of dead processes after each of its own, and when the validity of another process ends
// without a further heartbeat: a takeover then does not wait for the next own heartbeat.
func (m *Member) beat(ctx context.Context, i *incarnation) {
	for failed := false; ; {
		f, err := m.send(ctx, i)
		wait := m.o.Lease/beats - rand.N(m.o.Lease/beats/10+1)
		reap := time.Duration(-1)
		switch {
		case err == nil:
			failed = false
			if f.Dead > 0 {
				m.reap(ctx, i)
			}
			if f.Next >= 0 {
				reap = f.Next + rand.N(reapJitter)
			}
		case errors.Is(err, store.ErrEnded):
			i.end(err)
			return
		default:
			if ctx.Err() == nil && !failed {
				m.o.Logger.WarnContext(ctx, "heartbeat not stored", "process", i.id, "error", err)
			}
			wait, failed = jitter(m.o.Lease/beatRetry), true
		}
		if reap >= 0 && reap < wait {
			if !m.sleep(ctx, i, reap) {
				return
			}
			m.reap(ctx, i)
			wait -= reap
		}
		if !m.sleep(ctx, i, wait) {
			return
		}
	}
}

// send sends a heartbeat.
func (m *Member) send(ctx context.Context, i *incarnation) (store.Fleet, error) {
	lanes, inFlight := m.o.Load()
	now := m.reading(lanes)
	call, stop := context.WithTimeout(i.ctx, m.o.Lease/2)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	sent := m.o.Clocks.now()
	f, err := m.o.Store.Beat(call, i.id, store.Load{Lanes: m.share.sent(now), InFlight: inFlight})
	if err == nil {
		i.extend(sent, m.o.Lease)
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
		call, stop := context.WithTimeout(i.ctx, m.o.Lease)
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

// leave ends an incarnation. If the database does not respond, other processes take its lanes over.
func (m *Member) leave(ctx context.Context, i *incarnation) {
	i.end(context.Canceled)
	m.reaping.Wait() // a takeover uses the incarnation
	m.current.CompareAndSwap(i, nil)
	call, stop := context.WithTimeout(context.WithoutCancel(ctx), joinWithin)
	defer stop()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, stop)()
	}
	if err := m.o.Store.Leave(call, i.id, m.when()); err != nil {
		m.o.Logger.WarnContext(ctx, "the process could not leave", "process", i.id, "error", err)
	}
}

// sleep returns false if the incarnation or ctx has ended.
func (m *Member) sleep(ctx context.Context, i *incarnation, d time.Duration) bool {
	both, stop := context.WithCancel(i.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	sleep(both, d)
	return both.Err() == nil && ctx.Err() == nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// jitter returns a random duration around d, so that processes do not repeat their calls at the same time.
func jitter(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5+1) }
