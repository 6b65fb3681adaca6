package mgmtapi

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWorker_RunsOnWakeAndTimer checks that the worker runs at the start, on each wake-up and once per second.
func TestWorker_RunsOnWakeAndTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var finished atomic.Int32
		w := newWorker(func(context.Context) (bool, error) {
			finished.Add(1)
			return true, errors.New("the worker continues after an error, but does not retry immediately")
		}, slog.New(slog.DiscardHandler))
		ended := make(chan struct{})
		go func() { defer close(ended); w.run(ctx) }()
		synctest.Wait()
		require.EqualValues(t, 1, finished.Load(), "at the start")
		w.wakeUp()
		w.wakeUp()
		synctest.Wait()
		require.GreaterOrEqual(t, finished.Load(), int32(2), "on a wake-up")
		told := finished.Load()
		time.Sleep(2500 * time.Millisecond) // the simulated time of synctest
		synctest.Wait()
		require.Equal(t, told+2, finished.Load(), "on each tick")
		stop()
		<-ended
	})
}

func TestKeepLog_PurgesEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var purged atomic.Int32
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			keepLog(ctx, func(context.Context) (int, error) {
				purged.Add(1)
				return 1, errors.New("the loop continues after an error")
			}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		require.EqualValues(t, 1, purged.Load(), "at the start")
		time.Sleep(49 * time.Hour) // the simulated time of synctest
		synctest.Wait()
		require.EqualValues(t, 3, purged.Load())
		stop()
		<-ended
	})
}
