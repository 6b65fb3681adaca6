package docstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestWindows_CountedByTwoStores(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Postgres(t)
	w := docstore.NewWindows("windows")
	var stores [2]*docstore.Store
	for i := range stores {
		var err error
		stores[i], err = docstore.Open(t.Context(), db, nil, w)
		require.NoError(t, err)
	}
	start := time.UnixMilli(1_700_000_000_000)
	count := func(store int, name string, at time.Duration) docstore.Window {
		t.Helper()
		got, err := w.Count(t.Context(), stores[store], name, 3, time.Minute, start.Add(at))
		require.NoError(t, err)
		return got
	}
	end := start.Add(time.Minute)
	require.Equal(t, docstore.Window{Ends: end, Count: 1}, count(0, "a", 0))
	require.Equal(t, docstore.Window{Ends: end, Count: 2}, count(1, "a", time.Second))
	require.Equal(t, docstore.Window{Ends: start.Add(61 * time.Second), Count: 1}, count(1, "b", time.Second))
	require.Equal(t, docstore.Window{Ends: end, Count: 3}, count(0, "a", 59*time.Second))
	require.Equal(t, docstore.Window{Ends: end, Count: 3, Refused: 1}, count(1, "a", 59*time.Second))
	require.Equal(t, docstore.Window{Ends: end, Count: 3, Refused: 2}, count(0, "a", time.Minute-1))
	require.Equal(t, docstore.Window{Ends: end.Add(time.Minute), Count: 1}, count(1, "a", time.Minute), "the next window")
	require.Equal(t, docstore.Window{Ends: end.Add(time.Minute), Count: 2}, count(0, "a", 59*time.Second), "the clock of another process")
	require.Equal(t, docstore.Window{Ends: end.Add(-time.Second), Count: 1}, count(0, "a", -time.Second), "the clock was set back")
}

func TestWindows_ConcurrentCounts(t *testing.T) {
	t.Parallel()
	w := docstore.NewWindows("windows")
	store, err := docstore.Open(t.Context(), sqldbtest.Postgres(t), nil, w)
	require.NoError(t, err)
	now := time.Now()
	accepted := make(chan bool, 100)
	var all errgroup.Group
	for range 10 {
		all.Go(func() error {
			for range 10 {
				got, err := w.Count(t.Context(), store, "a", 42, time.Minute, now)
				if err != nil {
					return err
				}
				accepted <- got.Refused == 0
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	close(accepted)
	n := 0
	for ok := range accepted {
		if ok {
			n++
		}
	}
	require.Equal(t, 42, n)
}
