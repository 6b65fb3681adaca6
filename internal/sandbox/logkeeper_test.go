package sandbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandbox"
)

func TestOldLogEventsArePurgedEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		purged := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sandbox.KeepLog(ctx, func(context.Context) (int, error) {
				purged++
				return 1, errors.New("a failure does not end it")
			}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		require.Equal(t, 1, purged, "at the start")
		time.Sleep(49 * time.Hour) // of the bubble
		synctest.Wait()
		require.Equal(t, 3, purged)
		stop()
		<-ended
	})
}
