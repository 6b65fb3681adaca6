package mgmtapi

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder records the calls of Insert, with the time since its creation.
type recorder struct {
	began time.Time

	mu       sync.Mutex
	inserted []string
}

func (r *recorder) Register(JobKind) error { return nil }

func (r *recorder) Insert(_ context.Context, kind, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inserted = append(r.inserted, kind+key+" "+time.Since(r.began).String())
	return errors.New("the loop continues after an error")
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.inserted)
}

// TestJobs_WakeInsertsImports checks that each wake-up inserts the job that starts imports, and once more after some time, because the job
// may have been running.
func TestJobs_WakeInsertsImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		r := &recorder{began: time.Now()}
		log := slog.New(slog.DiscardHandler)
		a := &API{logger: log, jobs: r, worker: newWorker(nil, log), importer: newWorker(nil, log)}
		ended := make(chan struct{})
		go func() { defer close(ended); a.wakeImports(ctx) }()
		time.Sleep(time.Hour) // the simulated time of synctest
		require.Empty(t, r.all())
		a.Wake()
		time.Sleep(time.Hour)
		require.Equal(t, []string{"management.imports 1h0m0s", "management.imports 1h0m3s"}, r.all())
		stop()
		<-ended
	})
}
