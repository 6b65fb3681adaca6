package scimserver

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/internal/processor"
)

// turns limits the long computations of one server, such as a filter on all resources. At most half of the processors do them at the same
// time. While other servers of the process have requests, their processor time is limited, too: the garbage collection and the sending of
// responses that they cause need the other processors.
type turns struct {
	slots chan struct{}
	spent *rate.Limiter // microseconds of Limits.MaxTurnTime
}

// turnBurst is the time that turns may spend at once, enough for a large page or a small bulk request.
const turnBurst = 50 * time.Millisecond

func newTurns(perSecond time.Duration) *turns {
	return &turns{
		slots: make(chan struct{}, turnSlots()),
		spent: rate.NewLimiter(rate.Limit(perSecond.Microseconds()), int(turnBurst.Microseconds())),
	}
}

// turnSlots is the number of turns at the same time.
func turnSlots() int { return max(1, runtime.NumCPU()/2) }

// defaultTurnTime is the default of Limits.MaxTurnTime. With two processors, it is 100 ms: then the 99th percentile of short requests of
// other servers at most doubles (BenchmarkNeighbor of the sandbox), while it trebles with 250 ms.
func defaultTurnTime() time.Duration {
	return time.Duration(turnSlots())*time.Second - 900*time.Millisecond
}

// turn is the turn of a request. The zero turn is none.
type turn struct {
	of    *turns
	began time.Time
	used  time.Duration // processor time of the process at the beginning
	bytes int           // see moves
	scans bool          // the time of the turn is not limited
}

// enter waits for a turn. A request has at most one turn, and waits for it before it locks a resource. The caller calls leave at its end.
func (t *turns) enter(ctx context.Context) (turn, error) {
	select {
	case t.slots <- struct{}{}:
		return turn{of: t, began: time.Now(), used: processor.Used()}, nil
	case <-ctx.Done():
		return turn{}, context.Cause(ctx)
	}
}

// enterScan waits for a turn whose time is not limited, for reading resources without decoding them. It causes little garbage collection,
// and sends nothing.
func (t *turns) enterScan(ctx context.Context) (turn, error) {
	entered, err := t.enter(ctx)
	entered.scans = true
	return entered, err
}

// enterShared waits for a turn if other servers of the process have requests, too. It is for computations that are short, but of which
// clients can request many: a server without neighbors does them on all processors.
func (t *turns) enterShared(ctx context.Context) (turn, error) {
	if !served.others(t) {
		return turn{}, nil
	}
	processor.Yield()
	return t.enter(ctx)
}

// decodes notes that the scan of the turn decodes resources, so that its time is limited.
func (t *turn) decodes() { t.scans = false }

// moves notes that the request copies or sends so many bytes, in its turn or afterwards.
func (t *turn) moves(bytes int) { t.bytes += bytes }

// leave ends the turn. The next one begins later if the turns have spent too much time.
func (t *turn) leave() {
	of := t.of
	if of == nil {
		return
	}
	t.of = nil
	if rest := of.rest(t); rest > 0 {
		time.AfterFunc(rest, func() { <-of.slots })
		return
	}
	<-of.slots
}

// maxRest is the longest time between two turns, so that a request waits at most so long for those before it.
const maxRest = time.Second

// rest returns the time until the next turn may begin, given one that ends.
func (t *turns) rest(ended *turn) time.Duration {
	if ended.scans || !served.others(t) {
		return 0
	}
	now := time.Now()
	spent := ended.spent(now)
	if spent < shortTurn {
		return 0
	}
	var rest time.Duration
	for ; spent > 0; spent -= turnBurst { // the limiter takes no more at once
		rest = t.spent.ReserveN(now, int(min(spent, turnBurst).Microseconds())).DelayFrom(now)
	}
	return min(rest, maxRest)
}

const (
	// shortTurn is the time of a turn below which it does not count, such as that of a search by userName.
	shortTurn = 50 * time.Microsecond
	// moveTime is the processor time of a byte of turn.moves, in the system and in a client on the same machine.
	moveTime = 2 * time.Nanosecond
)

// spent returns the processor time of a turn that ends now: that of the process, but at most the duration of the turn, and that of its
// bytes. So waiting for the database counts only if other requests are running meanwhile.
func (t *turn) spent(now time.Time) time.Duration {
	spent := now.Sub(t.began)
	if used := processor.Used(); used > 0 {
		spent = min(spent, used-t.used)
	}
	return spent + time.Duration(t.bytes)*moveTime
}

// pauseTime is the time of pause. With pieces of 256 KiB, it limits a response to 250 MB per second.
const pauseTime = time.Millisecond

// pause lets other threads run between the pieces of a large response or computation. If turns have spent more than half of turnBurst, and
// other servers have requests, their processors would be busy without a pause, also with the system's copies of the response and with the
// client.
func (t *turns) pause() {
	if served.others(t) && t.spent.Tokens() < float64(t.spent.Burst())/2 {
		time.Sleep(pauseTime)
	} else {
		processor.Yield()
	}
}

// pause is turns.pause during a turn, whose time it does not count.
func (t *turn) pause() {
	if t.of == nil {
		return
	}
	began, used := time.Now(), processor.Used()
	t.of.pause()
	t.began, t.used = t.began.Add(time.Since(began)), t.used+processor.Used()-used
}

// held reports whether the request has a turn.
func (t *turn) held() bool { return t.of != nil }

// yieldTime is the duration of a turn after which yield ends it if other servers have requests.
const yieldTime = time.Millisecond

// yield ends the turn and waits for the next one, so that several long computations advance alternately, and short requests need not wait
// for a processor.
func (t *turn) yield(ctx context.Context) (err error) {
	processor.Yield()
	of, scans := t.of, t.scans
	if of == nil {
		return nil
	}
	waiting := len(of.slots) == cap(of.slots) // another request may wait
	if waiting || !scans && time.Since(t.began) >= yieldTime && served.others(of) {
		t.leave() // gives the turn to the request that waits longest
		*t, err = of.enter(ctx)
		t.scans = scans
	}
	return err
}

// neighborTime is the time for which a server that had a request counts as a neighbor of the other servers of the process.
const neighborTime = time.Second

// served is the activity of all servers of the process, which use the same processors.
var served = newActivity()

// activity detects whether other servers have requests. A server is identified by its turns.
type activity struct {
	start  time.Time
	last   atomic.Pointer[turns] // the server that had the last request
	at     atomic.Int64          // nanoseconds after start at which that began
	before atomic.Int64          // the same for the last request of another server than last, or 0
}

func newActivity() *activity { return &activity{start: time.Now()} }

// note notes that a request of a server begins.
func (a *activity) note(t *turns) {
	if a.last.Load() != t && a.last.Swap(t) != nil {
		a.before.Store(a.at.Load())
	}
	a.at.Store(max(1, int64(time.Since(a.start))))
}

// others reports whether other servers than this one had requests within neighborTime.
func (a *activity) others(t *turns) bool {
	at := &a.at
	if a.last.Load() == t {
		at = &a.before
	}
	began := at.Load()
	return began != 0 && int64(time.Since(a.start))-began < int64(neighborTime)
}
