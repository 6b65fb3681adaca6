package sqlstore

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// calls runs batches whose calls wait until the test lets them end.
type calls struct {
	batches[string]
	mu   sync.Mutex
	all  [][]string
	next chan struct{}
}

func (c *calls) start(ctx context.Context, key batchKey, item string) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- c.run(ctx, key, item, func(ctx context.Context, batch []string) {
			c.mu.Lock()
			c.all = append(c.all, batch)
			c.mu.Unlock()
			<-c.next
		})
	}()
	synctest.Wait()
	return done
}

// TestBatches_CombineWaiting checks that a write starts immediately if none runs, and that the writes which arrive during a batch are the
// next batch, up to the limit. Writes with another key do not wait.
func TestBatches_CombineWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{next: make(chan struct{})}
		key := batchKey{app: "a", epoch: 1}
		var ends []<-chan error
		for _, item := range []string{"1", "2", "3"} {
			ends = append(ends, c.start(t.Context(), key, item))
		}
		ends = append(ends, c.start(t.Context(), batchKey{app: "a", epoch: 2}, "other"))
		for range maxBatch {
			ends = append(ends, c.start(t.Context(), key, "more"))
		}
		require.Equal(t, [][]string{{"1"}, {"other"}}, c.all)
		for range 4 {
			c.next <- struct{}{}
		}
		for _, end := range ends {
			require.NoError(t, <-end)
		}
		require.Len(t, c.all, 4)
		require.Equal(t, []string{"2", "3"}, c.all[2][:2])
		require.Len(t, c.all[2], maxBatch)
		require.Equal(t, []string{"more", "more"}, c.all[3])
		require.Empty(t, c.waiting)
	})
}

// TestBatches_CanceledCaller checks that a caller whose context ends leaves the queue, or the running batch, and delays no other caller.
func TestBatches_CanceledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{next: make(chan struct{})}
		key := batchKey{app: "a", epoch: 1}
		first := c.start(t.Context(), key, "1")
		ctx, cancel := context.WithCancel(t.Context())
		canceled := c.start(ctx, key, "2")
		third := c.start(t.Context(), key, "3")
		fourth := c.start(t.Context(), key, "4")
		cancel()
		require.ErrorIs(t, <-canceled, context.Canceled)
		c.next <- struct{}{}
		require.NoError(t, <-first)
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"3", "4"}}, c.all)
		ctx, cancel = context.WithCancel(t.Context())
		last := c.start(ctx, key, "5")
		c.next <- struct{}{}
		require.NoError(t, <-third)
		require.NoError(t, <-fourth)
		synctest.Wait()
		require.Equal(t, []string{"5"}, c.all[2], "its caller runs it")
		cancel()
		c.next <- struct{}{}
		require.NoError(t, <-last)
		require.Empty(t, c.waiting)
	})
}

// TestBatches_CanceledLeader checks that a caller who is to run the next batch, and whose context ends, leaves the batch to another caller.
func TestBatches_CanceledLeader(t *testing.T) {
	for range 100 { // both events are ready: which one the caller receives is random
		synctest.Test(t, func(t *testing.T) {
			c := &calls{next: make(chan struct{})}
			key := batchKey{app: "a", epoch: 1}
			first := c.start(t.Context(), key, "1")
			ctx, cancel := context.WithCancel(t.Context())
			second := c.start(ctx, key, "2")
			third := c.start(t.Context(), key, "3")
			c.next <- struct{}{}
			cancel()
			go func() {
				for range 2 {
					select {
					case c.next <- struct{}{}:
					case <-t.Context().Done():
					}
				}
			}()
			require.NoError(t, <-first)
			if err := <-second; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
			require.NoError(t, <-third)
			require.Empty(t, c.waiting)
		})
	}
}
