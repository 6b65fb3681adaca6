package sandbox

import (
	"context"
	"log/slog"
	"time"
)

// finishTick is how often the finisher looks for what nobody announced: what an earlier process or an error has left.
const finishTick = time.Second

// finisher does what the management API was asked to do later.
type finisher struct {
	finish func(context.Context) (int, error)
	log    *slog.Logger
	wake   chan struct{}
	done   chan struct{}
}

// newFinisher makes a finisher whose finish is set before it runs.
func newFinisher(log *slog.Logger) *finisher {
	return &finisher{log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// queued tells that there is something to do.
func (f *finisher) queued() {
	select {
	case f.wake <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

// run finishes until ctx ends.
func (f *finisher) run(ctx context.Context) {
	defer close(f.done)
	tick := time.NewTicker(finishTick)
	defer tick.Stop()
	for {
		if _, err := f.finish(ctx); err != nil && ctx.Err() == nil {
			f.log.ErrorContext(ctx, "finish transitions", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-tick.C:
		}
	}
}
