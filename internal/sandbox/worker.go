package sandbox

import (
	"context"
	"log/slog"
	"time"
)

// workTick is how often the worker looks for work that nobody announced, and that failed.
const workTick = time.Second

// worker does what requests to the management API have left to do, piece by piece.
type worker struct {
	work func(context.Context) (more bool, err error)
	log  *slog.Logger
	wake chan struct{}
	done chan struct{}
}

func newWorker(work func(context.Context) (bool, error), log *slog.Logger) *worker {
	return &worker{work: work, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// wakeUp tells that there may be something to do.
func (w *worker) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	tick := time.NewTicker(workTick)
	defer tick.Stop()
	for {
		more, err := w.work(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.log.ErrorContext(ctx, "work of the management API", "err", err)
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
