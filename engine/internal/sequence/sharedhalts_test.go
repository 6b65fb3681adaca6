package sequence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/sequence"
)

// reads counts the reads of halts, each of which takes the same time.
type reads struct {
	n    int
	slow time.Duration
	err  error
}

func (r *reads) shared(t *testing.T) *sequence.SharedHalts {
	h := sequence.NewSharedHalts(t.Context(), func(context.Context) ([]engine.Halt, error) {
		r.n++
		n, err := r.n, r.err
		time.Sleep(r.slow)
		return make([]engine.Halt, n), err // the number of halts tells which read it was
	})
	t.Cleanup(h.Wait)
	return h
}

// TestSharedHalts_Age checks that a request uses the halts that were read up to 5 ms ago, and reads them again if they are older.
func TestSharedHalts_Age(t *testing.T) {
	const age = 5 * time.Millisecond
	for name, c := range map[string]struct {
		slow  time.Duration // duration of a read
		ahead time.Duration // between the begin of the read ahead and the request
		read  int           // the read whose result the request uses
		waits time.Duration
	}{
		"current":                       {0, age, 1, 0},
		"old":                           {0, age + 1, 2, 0},
		"in progress":                   {3 * time.Millisecond, time.Millisecond, 1, 2 * time.Millisecond},
		"in progress for too long":      {time.Second, age + 1, 2, time.Second},
		"ended in time, old since then": {3 * time.Millisecond, age + 1, 2, 3 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &reads{slow: c.slow}
				h := r.shared(t)
				h.Ahead()
				time.Sleep(c.ahead)
				synctest.Wait()
				start := time.Now()
				got, err := h.Current(t.Context(), time.Time{})
				require.NoError(t, err)
				require.Len(t, got, c.read)
				require.Equal(t, c.waits, time.Since(start))
			})
		})
	}
}

// TestSharedHalts_Shared checks that requests that are sent at the same time share a read, and that a failed read is repeated.
func TestSharedHalts_Shared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reads{slow: time.Millisecond}
		h := r.shared(t)
		for range 8 {
			go func() { _, _ = h.Current(t.Context(), time.Time{}) }()
		}
		time.Sleep(2 * time.Millisecond)
		_, err := h.Current(t.Context(), time.Time{})
		require.NoError(t, err)
		require.Equal(t, 1, r.n)

		time.Sleep(time.Hour)
		r.err = errors.New("no database")
		_, err = h.Current(t.Context(), time.Time{})
		require.ErrorIs(t, err, r.err)
		r.err = nil
		_, err = h.Current(t.Context(), time.Time{})
		require.NoError(t, err, "at once")
	})
}

// TestSharedHalts_Since checks that a read which began before the last step of a sequence does not serve its next request.
func TestSharedHalts_Since(t *testing.T) {
	for name, slow := range map[string]time.Duration{"ended": 0, "in progress": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &reads{slow: slow}
				h := r.shared(t)
				h.Ahead()
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				got, err := h.Current(t.Context(), time.Now())
				require.NoError(t, err)
				require.Len(t, got, 2)
			})
		})
	}
}

// TestSharedHalts_Canceled checks that a canceled request does not wait for a read, and that the read continues for the others.
func TestSharedHalts_Canceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reads{slow: time.Second}
		h := r.shared(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		h.Ahead()
		_, err := h.Current(ctx, time.Time{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		h.Wait()
		require.Equal(t, 1, r.n)
	})
}

// TestSharedHalts_Others checks that the halts are read ahead for another sequence if one waits for its turn and no read is in progress.
func TestSharedHalts_Others(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reads{slow: time.Millisecond}
		h := r.shared(t)
		h.AheadOfOthers()
		synctest.Wait()
		require.Zero(t, r.n, "no request waits")
		leave := h.Queue()
		h.AheadOfOthers()
		h.AheadOfOthers()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, r.n)
		h.AheadOfOthers()
		leave()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		h.AheadOfOthers()
		synctest.Wait()
		require.Equal(t, 2, r.n)
	})
}

// TestSharedHalts_Late checks that a response that arrives after the end of the lane begins no read.
func TestSharedHalts_Late(t *testing.T) {
	r := &reads{}
	h := r.shared(t)
	h.Wait()
	h.Ahead()
	h.Queue()
	h.AheadOfOthers()
	h.Wait()
	require.Zero(t, r.n)
}
