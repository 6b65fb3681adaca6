package sandbox

import (
	"context"
	"log/slog"
	"time"
)

// purgeInterval is how often the system log loses what is past its retention.
const purgeInterval = 24 * time.Hour

// logKeeper removes old events of the system log, at the start and then once a day.
type logKeeper struct {
	purge func(context.Context) (int, error)
	log   *slog.Logger
	done  chan struct{}
}

func newLogKeeper(purge func(context.Context) (int, error), log *slog.Logger) *logKeeper {
	return &logKeeper{purge: purge, log: log, done: make(chan struct{})}
}

// run purges until ctx ends.
func (k *logKeeper) run(ctx context.Context) {
	defer close(k.done)
	tick := time.NewTicker(purgeInterval)
	defer tick.Stop()
	for {
		if n, err := k.purge(ctx); err != nil && ctx.Err() == nil {
			k.log.ErrorContext(ctx, "purge the system log", "err", err)
		} else if n > 0 {
			k.log.InfoContext(ctx, "purged the system log", "events", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
