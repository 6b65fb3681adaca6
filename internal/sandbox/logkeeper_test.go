package sandbox_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandbox"
)

func TestOldLogEventsArePurgedEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var purged atomic.Int32
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sandbox.KeepLog(ctx, func(context.Context) (int, error) {
				purged.Add(1)
				return 1, errors.New("a failure does not end it")
			}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		require.EqualValues(t, 1, purged.Load(), "at the start")
		time.Sleep(49 * time.Hour) // of the bubble
		synctest.Wait()
		require.EqualValues(t, 3, purged.Load())
		stop()
		<-ended
	})
}
