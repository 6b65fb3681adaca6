package mgmtapi

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// workTick is the interval at which Run checks for work that nothing announced with wakeUp: scheduled imports, work that another process
	// queued, and failed work.
	workTick = time.Second
	// purgeInterval is the interval at which Run deletes log events that have exceeded their retention.
	purgeInterval = 24 * time.Hour

	purgedMessage = "purged the system log"
)

// Run processes in the background the work that requests have queued (asynchronous changes of users, updates of all users of an
// application, imports), and removes old events of the system log. It returns the cause of ctx when ctx ends. Each step is a separate
// transaction, so that a later call of Run continues with the remaining steps. Several processes may call Run concurrently. With
// Options.Jobs, imports and the removal of old events are jobs.
func (a *API) Run(ctx context.Context) error {
	var all sync.WaitGroup
	runs := []func(context.Context){a.worker.run, a.importer.run, a.keepLog}
	if a.jobs != nil {
		runs = []func(context.Context){a.worker.run, a.wakeImports}
	}
	for _, run := range runs {
		all.Go(func() { run(ctx) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// Wake makes Run check for work immediately. Call Wake after the time of Options.Now has jumped.
func (a *API) Wake() {
	a.worker.wakeUp()
	a.importer.wakeUp()
}

// keepLog purges the system log at the start and then once a day.
func (a *API) keepLog(ctx context.Context) { keepLog(ctx, a.inner.PurgeLog, a.logger) }

func keepLog(ctx context.Context, purge func(context.Context) (int, error), log *slog.Logger) {
	tick := time.NewTicker(purgeInterval)
	defer tick.Stop()
	for {
		if n, err := purge(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "system log not purged", "err", err)
		} else if n > 0 {
			log.InfoContext(ctx, purgedMessage, "events", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// worker repeats a work step.
type worker struct {
	work func(context.Context) (more bool, err error)
	log  *slog.Logger
	wake chan struct{}
}

func newWorker(work func(context.Context) (bool, error), log *slog.Logger) *worker {
	return &worker{work: work, log: log, wake: make(chan struct{}, 1)}
}

// wakeUp makes the worker check for work immediately.
func (w *worker) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // the channel already contains a wake-up
	}
}

// run repeats the work step until ctx ends. If no work is left, run waits for wakeUp or the next tick.
func (w *worker) run(ctx context.Context) {
	tick := time.NewTicker(workTick)
	defer tick.Stop()
	for {
		more, err := w.work(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.log.ErrorContext(ctx, "background work of the management API failed", "err", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-tick.C:
		}
	}
}
