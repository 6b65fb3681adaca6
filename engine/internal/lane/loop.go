package lane

import (
	"context"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/internal/pause"
)

// Task is one pending principal.
type Task struct {
	Kind, ID string
	// Stage orders tasks: a task starts only when no task of an earlier stage is queued or running.
	Stage int
	// Urgent tasks, such as a deactivation, are also tried while the lane is in quarantine.
	Urgent bool
}

// key identifies a task, ignoring its urgency.
func (t Task) key() Task { return Task{Kind: t.Kind, ID: t.ID, Stage: t.Stage} }

// Work is the work of a lane.
type Work interface {
	// Due returns up to limit pending tasks, the most urgent first. It does not return running tasks.
	Due(ctx context.Context, limit int, running map[Task]bool) ([]Task, error)
	// Do performs one task. Afterwards the task must no longer be pending; otherwise Do must return an error, which ends the loop. While the
	// lane drains, the task may stay pending without an error, because the loop starts no further task. Do may call sent when the requests of
	// the task have succeeded and their result is not stored yet. Then another task may start.
	Do(ctx context.Context, t Task, sent func()) (Signal, error)
	// Ended is called when the loop has processed the result of Do and the task no longer counts as running.
	Ended(t Task)
}

// batch is the number of tasks that are queued at a time. It is small, so that a deactivation does not wait long for the tasks queued
// before it.
const batch = 32

// searchEvery is the interval in which a lane searches for pending tasks while others run: another process may have stored them, or they
// have become due.
const searchEvery = time.Second

// Loop works until nothing is pending, the gate is closed, the lease is lost or the dispatcher drains. It runs tasks concurrently;
// concurrency returns their current maximum number. It returns after the last running task has completed.
func Loop(ctx context.Context, t *Ownership, g *Gate, concurrency func() int, now func() time.Time, w Work) error {
	l := loop{t: t, gate: g, concurrency: concurrency, now: now, work: w, running: map[Task]bool{}, results: make(chan result),
		storing: map[Task]bool{}, more: make(chan struct{}, 1)}
	return l.run(ctx)
}

type loop struct {
	t           *Ownership
	gate        *Gate
	concurrency func() int
	now         func() time.Time
	work        Work

	queue   []Task
	running map[Task]bool
	results chan result
	err     error

	mu      sync.Mutex
	storing map[Task]bool // running tasks that only store their results
	more    chan struct{} // receives when a task is added to storing
}

type result struct {
	task   Task
	signal Signal
	err    error
}

func (l *loop) run(ctx context.Context) error {
	refill := true
	search := time.NewTicker(pause.Around(searchEvery, 0.2))
	defer search.Stop()
	for {
		if l.stopped(ctx) {
			l.queue, refill = nil, false
		}
		if len(l.queue) == 0 && refill {
			refill = false
			l.fill(ctx)
		}
		l.begin(ctx)
		if len(l.running) == 0 {
			if len(l.queue) == 0 || l.slots(l.queue[0]) == 0 {
				return l.err
			}
			continue
		}
		var draining <-chan struct{} // nil: no further task will be started
		if len(l.queue) > 0 {
			draining = l.t.draining
		}
		select {
		case r := <-l.results:
			delete(l.running, r.task.key())
			l.stored(r.task)
			r.signal.Urgent = r.task.Urgent
			l.gate.Report(l.now(), r.signal)
			if r.err != nil && l.err == nil {
				l.err = r.err
			}
			l.work.Ended(r.task)
			refill = true
		case <-l.t.wake:
			refill = true
		case <-search.C:
			refill = true
		case <-draining:
		case <-l.more:
		}
	}
}

func (l *loop) slots(t Task) int { return l.gate.Slots(l.now(), l.concurrency(), t.Urgent) }

// room reports whether a task may start. Tasks that only store their results do not count, so that the target is always busy even if the
// store is slow. Their number is limited, so that the store is not overloaded. If only one task may run, because the state of the target is
// unknown or the target allows only one request at a time, the next task starts after its result is processed.
func (l *loop) room(t Task) bool {
	limit := l.slots(t)
	if limit > 1 {
		l.mu.Lock()
		limit += min(len(l.storing), limit)
		l.mu.Unlock()
	}
	return len(l.running) < limit
}

// sent records that a task only stores its result.
func (l *loop) sent(t Task) {
	l.mu.Lock()
	l.storing[t.key()] = true
	l.mu.Unlock()
	notify(l.more)
}

// stored records that a task has ended.
func (l *loop) stored(t Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.storing, t.key())
}

// stopped reports whether no further task may start.
func (l *loop) stopped(ctx context.Context) bool {
	return l.err != nil || ctx.Err() != nil || l.t.Draining() || !l.t.Valid()
}

func (l *loop) fill(ctx context.Context) {
	tasks, err := l.work.Due(ctx, batch+len(l.running), l.running)
	if err != nil {
		l.err = err
		return
	}
	for _, t := range tasks {
		if !l.running[t.key()] {
			l.queue = append(l.queue, t)
		}
	}
}

func (l *loop) begin(ctx context.Context) {
	for len(l.queue) > 0 && l.room(l.queue[0]) {
		t := l.queue[0]
		for r := range l.running {
			if r.Stage < t.Stage {
				return
			}
		}
		l.queue = l.queue[1:]
		l.running[t.key()] = true
		go func() {
			s, err := l.work.Do(ctx, t, func() { l.sent(t) })
			l.results <- result{t, s, err}
		}()
	}
}
