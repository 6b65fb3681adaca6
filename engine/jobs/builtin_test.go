package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/jobstest"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestBuiltin(t *testing.T) {
	jobstest.Run(t, func(t *testing.T) jobstest.Open {
		t.Parallel()
		store, err := enginestore.Open(t.Context(), sqldbtest.SQLite(t), sqlstore.Options{})
		require.NoError(t, err)
		kept, err := store.Jobs()
		require.NoError(t, err)
		return func() jobs.Scheduler {
			return jobs.New(jobs.Options{Store: kept, LongWorkers: 2, Logger: slog.New(slog.DiscardHandler)})
		}
	})
}

// counter is a store without jobs that counts its calls. Its first claims fail.
type counter struct{ claims, failures atomic.Int32 }

func (c *counter) InsertJob(context.Context, string, string, time.Time) error { return nil }
func (c *counter) RecoverJobs(context.Context, time.Time) error               { return nil }
func (c *counter) EndJob(context.Context, jobs.Claimed, jobs.Result) error    { return nil }

func (c *counter) ClaimJobs(context.Context, []string, time.Time, int) ([]jobs.Claimed, time.Time, error) {
	c.claims.Add(1)
	if c.failures.Add(-1) >= 0 {
		return nil, time.Time{}, errors.New("down")
	}
	return nil, time.Time{}, nil
}

func (c *counter) ListJobs(context.Context, jobs.Query) ([]jobs.Info, error) { return nil, nil }

// TestBuiltin_IdleDoesNotPoll checks that an idle scheduler reads nothing for almost an hour, and that it continues after errors of the
// store.
func TestBuiltin_IdleDoesNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		c.failures.Store(3)
		b := jobs.New(jobs.Options{Store: c, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, b.Register(jobs.Kind{Name: "test", Work: func(context.Context, jobs.Job) error { return nil }}))
		require.NoError(t, b.Start(t.Context()))
		time.Sleep(3500 * time.Millisecond) // the clock of the bubble
		require.EqualValues(t, 4, c.claims.Load())
		time.Sleep(50 * time.Minute)
		require.EqualValues(t, 4, c.claims.Load())
		require.NoError(t, b.Insert(t.Context(), "test", "", 0))
		synctest.Wait()
		require.EqualValues(t, 5, c.claims.Load())
		require.NoError(t, b.Stop(t.Context()))
	})
}

// TestBuiltin_PeriodicTimes checks the times of a periodic job: the start, each interval, a backoff after an error, and the interval after
// the last attempt.
func TestBuiltin_PeriodicTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		b := jobs.New(jobs.Options{Store: &counter{}, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, b.Register(jobs.Kind{
			Name: "test", Every: time.Hour, Attempts: 3, Backoff: time.Minute, BackoffMax: time.Hour,
			Work: func(context.Context, jobs.Job) error {
				if at = append(at, time.Since(began)); len(at) > 2 {
					return errors.New("broken")
				}
				return nil
			},
		}))
		require.NoError(t, b.Start(t.Context()))
		time.Sleep(4 * time.Hour)
		require.NoError(t, b.Stop(t.Context()))
		require.Equal(t, []time.Duration{
			0, time.Hour, 2 * time.Hour, 2*time.Hour + time.Minute, 2*time.Hour + 3*time.Minute,
			3*time.Hour + 3*time.Minute, 3*time.Hour + 4*time.Minute, 3*time.Hour + 6*time.Minute,
		}, at)
	})
}
