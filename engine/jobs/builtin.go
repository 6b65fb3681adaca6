package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Options configures a [Builtin]. Store is required.
type Options struct {
	Store Store
	// Workers and LongWorkers are the maximum numbers of jobs that run concurrently, without periodic jobs. LongWorkers applies to kinds with
	// Long. Defaults: 8 and 4.
	Workers, LongWorkers int
	// Logger receives errors of jobs and of the store. Default: slog.Default.
	Logger *slog.Logger
}

const (
	defaultWorkers     = 8
	defaultLongWorkers = 4

	// storePause is the time between two attempts of a call of the store that fails.
	storePause = time.Second
	// idle is the time between two calls of ClaimJobs if no job is waiting.
	idle = time.Hour
	// lastWrite is the time limit of a call that stores the result of a job. The call continues when the context of Stop ends.
	lastWrite = 5 * time.Second
)

// Builtin is the scheduler for a database that one process owns. The timers are in memory, and so are periodic jobs, because each process
// runs them when it starts. It does not poll: an idle Builtin reads and writes nothing.
type Builtin struct {
	o     Options
	kinds map[string]Kind

	wake     chan struct{}
	stopping chan struct{}
	done     chan struct{}

	mu       sync.Mutex
	periodic map[string]*timer
	running  map[bool]int // numbers of running jobs, by Kind.Long
	started  bool
	stopped  bool
	cancel   context.CancelFunc
	jobs     sync.WaitGroup
}

// timer is the state of a periodic job.
type timer struct {
	at      time.Time // of the next run
	running bool
	attempt int
	message string // error of the last run that failed
}

var _ Scheduler = (*Builtin)(nil)

// New returns a scheduler without kinds.
func New(o Options) *Builtin {
	o.Workers = cmp.Or(o.Workers, defaultWorkers)
	o.LongWorkers = cmp.Or(o.LongWorkers, defaultLongWorkers)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Builtin{
		o: o, kinds: map[string]Kind{}, periodic: map[string]*timer{}, running: map[bool]int{},
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), done: make(chan struct{}), cancel: func() {},
	}
}

// Register implements Scheduler.
func (b *Builtin) Register(kinds ...Kind) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return errors.New("jobs: the scheduler was started: register the kinds before")
	}
	for _, k := range kinds {
		if err := k.Check(); err != nil {
			return err
		}
		if _, ok := b.kinds[k.Name]; ok {
			return fmt.Errorf("jobs: the kind %s is already registered", k.Name)
		}
		b.kinds[k.Name] = k
		if k.Every > 0 {
			b.periodic[k.Name] = &timer{}
		}
	}
	return nil
}

// Insert implements Scheduler.
func (b *Builtin) Insert(ctx context.Context, kind, key string, after time.Duration) error {
	b.mu.Lock()
	_, known := b.kinds[kind]
	at := time.Now().Add(after)
	t := b.periodic[kind]
	if t != nil && key == "" && at.Before(t.at) && !t.running {
		t.at = at
	}
	b.mu.Unlock()
	if !known {
		return fmt.Errorf("%w: %s", ErrUnknownKind, kind)
	}
	if t == nil || key != "" {
		if err := b.o.Store.InsertJob(ctx, kind, key, at); err != nil {
			return err
		}
	}
	b.notify()
	return nil
}

func (b *Builtin) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// List implements Scheduler. Periodic jobs are first.
func (b *Builtin) List(ctx context.Context, q Query) ([]Info, error) {
	q.Limit = cmp.Or(q.Limit, defaultLimit)
	var all []Info
	b.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(b.periodic)) {
		t := b.periodic[name]
		i := Info{Kind: name, State: Waiting, Attempt: t.attempt, At: t.at, Error: t.message}
		if t.running {
			i.State = Running
		}
		if (q.Kind == "" || q.Kind == name) && (q.State == "" || q.State == i.State) {
			all = append(all, i)
		}
	}
	b.mu.Unlock()
	all = all[:min(len(all), q.Limit)]
	if q.Limit -= len(all); q.Limit == 0 {
		return all, nil
	}
	stored, err := b.o.Store.ListJobs(ctx, q)
	return append(all, stored...), err
}

// Start implements Scheduler.
func (b *Builtin) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return errors.New("jobs: the scheduler was stopped: create a new one")
	}
	if b.started {
		return nil
	}
	if err := b.o.Store.RecoverJobs(ctx, time.Now()); err != nil {
		return err
	}
	b.started = true
	var work context.Context
	work, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range b.periodic {
		t.at = time.Now()
	}
	go b.run(work)
	return nil
}

// Stop implements Scheduler.
func (b *Builtin) Stop(ctx context.Context) error {
	b.mu.Lock()
	if !b.stopped {
		b.stopped = true
		close(b.stopping)
		if !b.started {
			close(b.done)
		}
	}
	cancel := b.cancel
	b.mu.Unlock()
	defer cancel()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
	}
	cancel()
	<-b.done
	return fmt.Errorf("jobs: running jobs were canceled: %w", ctx.Err())
}

func (b *Builtin) run(ctx context.Context) {
	defer close(b.done)
	defer b.jobs.Wait()
	for {
		wait := b.sweep(ctx)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-b.wake:
		case <-b.stopping:
			t.Stop()
			return
		}
		t.Stop()
	}
}

// sweep starts the jobs that are due, and returns the time until the next one is.
func (b *Builtin) sweep(ctx context.Context) time.Duration {
	now := time.Now()
	wait := idle
	b.mu.Lock()
	for name, t := range b.periodic {
		switch {
		case t.running:
		case t.at.After(now):
			wait = min(wait, t.at.Sub(now))
		default:
			t.running, t.at = true, now
			t.attempt++
			j, k := Job{Kind: name, Attempt: t.attempt, Stopping: b.stopping}, b.kinds[name]
			b.jobs.Go(func() { b.tick(ctx, k, j, t) })
		}
	}
	b.mu.Unlock()
	for _, long := range []bool{false, true} {
		wait = min(wait, b.claim(ctx, long, now))
	}
	return wait
}

// claim starts the due jobs of the kinds with or without Long.
func (b *Builtin) claim(ctx context.Context, long bool, now time.Time) time.Duration {
	var names []string
	for name, k := range b.kinds {
		if k.Long == long {
			names = append(names, name)
		}
	}
	b.mu.Lock()
	room := b.o.Workers
	if long {
		room = b.o.LongWorkers
	}
	room -= b.running[long]
	b.mu.Unlock()
	if len(names) == 0 || room <= 0 {
		return idle // the end of a job wakes the loop
	}
	slices.Sort(names)
	claimed, next, err := b.o.Store.ClaimJobs(ctx, names, now, room)
	if err != nil {
		if ctx.Err() == nil {
			b.o.Logger.ErrorContext(ctx, "pending jobs could not be claimed", "error", err)
		}
		return storePause
	}
	b.mu.Lock()
	b.running[long] += len(claimed)
	b.mu.Unlock()
	for _, c := range claimed {
		b.jobs.Go(func() {
			defer b.notify()
			defer func() {
				b.mu.Lock()
				b.running[long]--
				b.mu.Unlock()
			}()
			k := b.kinds[c.Kind]
			r := b.attempt(ctx, &k, Job{Kind: c.Kind, Key: c.Key, Attempt: c.Attempt, Stopping: b.stopping})
			b.end(ctx, c, r)
		})
	}
	if next.IsZero() || len(claimed) == room {
		return idle
	}
	return max(next.Sub(now), 0)
}

// tick runs a periodic job once.
func (b *Builtin) tick(ctx context.Context, k Kind, j Job, t *timer) {
	r := b.attempt(ctx, &k, j)
	b.mu.Lock()
	t.running, t.message = false, r.Error
	if r.State == Waiting { // after a snooze or before a retry
		t.at = r.At
		if r.Free {
			t.attempt--
		}
	} else {
		t.at, t.attempt = t.at.Add(k.Every), 0
	}
	b.mu.Unlock()
	b.notify()
}

// attempt runs one attempt.
func (b *Builtin) attempt(ctx context.Context, k *Kind, j Job) Result {
	err := protect(ctx, k, j)
	now := time.Now()
	if err == nil {
		return Result{State: Finished, At: now}
	}
	if s, ok := errors.AsType[*SnoozeError](err); ok {
		return Result{State: Waiting, At: now.Add(s.After), Free: true}
	}
	if ctx.Err() != nil { // Stop has canceled the job
		return Result{State: Waiting, At: now, Free: true}
	}
	if _, ok := errors.AsType[*PermanentError](err); ok || j.Attempt >= k.Attempts {
		b.o.Logger.ErrorContext(ctx, "job failed", "kind", j.Kind, "key", j.Key, "attempt", j.Attempt, "error", err)
		return Result{State: Failed, At: now, Error: err.Error()}
	}
	b.o.Logger.WarnContext(ctx, "job interrupted", "kind", j.Kind, "key", j.Key, "attempt", j.Attempt, "error", err)
	return Result{State: Waiting, At: now.Add(k.Delay(j.Attempt)), Error: err.Error()}
}

// protect runs the handler with its time limit, and returns a panic as an error.
func protect(ctx context.Context, k *Kind, j Job) (err error) {
	if k.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, k.Timeout)
		defer stop()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("jobs: the handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return k.Work(ctx, j)
}

// end stores the result of an attempt. It repeats a call that fails until the scheduler stops: the next process then recovers the job.
func (b *Builtin) end(ctx context.Context, c Claimed, r Result) {
	for {
		call, stop := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
		err := b.o.Store.EndJob(call, c, r)
		stop()
		if err == nil {
			return
		}
		b.o.Logger.ErrorContext(ctx, "the result of a job was not stored", "kind", c.Kind, "key", c.Key, "error", err)
		pause := time.NewTimer(storePause)
		select {
		case <-b.stopping:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
