package sqldb_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// mebi is a size of a WAL. In these tests, a row occupies one page of 4 KiB.
const mebi = 1 << 20

// walDatabase opens a database with a table of large rows, and returns the name of its WAL.
func walDatabase(t *testing.T) (db *sqldb.DB, name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlopen.Open(t.Context(), "sqlite:"+path, sqlopen.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Apply(t.Context(), `CREATE TABLE t (n INTEGER PRIMARY KEY, v TEXT NOT NULL)`)
	}))
	return db, path + "-wal"
}

// writeRows inserts n rows of one page each, from several goroutines, and returns the maximum size of the WAL.
func writeRows(t *testing.T, db *sqldb.DB, wal string, n int) (largest int64) {
	t.Helper()
	const writers = 4
	text := strings.Repeat("x", 3500)
	var work errgroup.Group
	for range writers {
		work.Go(func() error {
			for range n / writers {
				err := db.Update(context.Background(), func(tx *sqldb.Tx) error {
					_, err := tx.Exec(context.Background(), `INSERT INTO t (v) VALUES (?)`, text)
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- work.Wait() }()
	for {
		if size, err := os.Stat(wal); err == nil {
			largest = max(largest, size.Size())
		}
		select {
		case err := <-done:
			require.NoError(t, err)
			return largest
		case <-time.After(time.Millisecond):
		}
	}
}

// TestCheckpoints_BoundWAL writes 5 times the limit of the WAL without a pause.
func TestCheckpoints_BoundWAL(t *testing.T) {
	db, wal := walDatabase(t)
	largest := writeRows(t, db, wal, 20_000)
	t.Logf("largest WAL: %d MiB", largest/mebi)
	require.Less(t, largest, int64(64*mebi))
}

// TestCheckpoints_ReaderHoldsSnapshot writes while a reader holds a snapshot. The reader sees its snapshot, and afterwards the WAL shrinks.
func TestCheckpoints_ReaderHoldsSnapshot(t *testing.T) {
	db, wal := walDatabase(t)
	writeRows(t, db, wal, 2000)
	count := func(q sqldb.Queryer) (n int) {
		require.NoError(t, q.QueryRow(t.Context(), `SELECT COUNT(*) FROM t`).Scan(&n))
		return n
	}
	var grown int64
	require.NoError(t, db.View(t.Context(), func(q sqldb.Queryer) error {
		require.Equal(t, 2000, count(q))
		grown = writeRows(t, db, wal, 20_000)
		require.Equal(t, 2000, count(q))
		return nil
	}))
	require.Greater(t, grown, int64(64*mebi), "the WAL has all changes after the snapshot")
	require.Equal(t, 22_000, count(db.Reader()))
	require.Eventually(t, func() bool {
		writeRows(t, db, wal, 4) // only a commit wakes the checkpointer
		size, err := os.Stat(wal)
		require.NoError(t, err)
		return size.Size() <= 64*mebi
	}, time.Minute, 10*time.Millisecond)
	require.Less(t, writeRows(t, db, wal, 20_000), int64(64*mebi))
}
