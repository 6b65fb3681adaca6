package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// limited creates the table of withTable in a PostgreSQL database whose updates have an idle limit.
func limited(t *testing.T, idle time.Duration) *sqldb.DB {
	t.Helper()
	db := sqldbtest.Postgres(t)
	db.LimitIdle(idle)
	withTable(func(*testing.T, *sqldb.DB) {})(t, db)
	return db
}

func TestLimitIdle_RollsBackOnFailure(t *testing.T) {
	db := limited(t, time.Minute)
	broken := errors.New("broken")
	canceled, cancel := context.WithCancel(t.Context())
	for n, fail := range []func(tx *sqldb.Tx) error{
		func(*sqldb.Tx) error { return broken },
		func(*sqldb.Tx) error { panic("broken") },
		func(tx *sqldb.Tx) error {
			_, _ = tx.Exec(t.Context(), `SELECT broken`) // the transaction fails nevertheless
			return nil
		},
		func(tx *sqldb.Tx) error { // the statement fails while its rows are read
			rows, err := tx.Query(t.Context(), `SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS n`)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return nil // ignores rows.Err()
		},
		func(*sqldb.Tx) error { cancel(); return nil },
	} {
		ran := false
		err := db.Update(canceled, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(canceled, `INSERT INTO t (id, v) VALUES (?, 0)`, fmt.Sprint("failed-", n)); err != nil {
				return err
			}
			tx.AfterCommit(func() { ran = true })
			return fail(tx)
		})
		require.Error(t, err, "%d", n)
		require.False(t, ran)
		require.NoError(t, insert(t.Context(), db, fmt.Sprint("stored-", n)))
	}
	wantIDs(t, db, "stored-0", "stored-1", "stored-2", "stored-3", "stored-4")
}

func TestLimitIdle_EndsStalledUpdate(t *testing.T) {
	db := limited(t, 3*time.Second)
	require.NoError(t, insert(t.Context(), db, "a"))
	locked, stalled := make(chan struct{}), make(chan struct{})
	var update sync.WaitGroup
	update.Go(func() {
		err := db.Update(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(t.Context(), `UPDATE t SET v = 1`); err != nil {
				return err
			}
			close(locked)
			<-stalled
			return nil
		})
		if err == nil {
			t.Error("a stalled update was committed")
		}
	})
	<-locked
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { // waits for the row
		_, err := tx.Exec(t.Context(), `UPDATE t SET v = v + 10`)
		return err
	}))
	close(stalled)
	update.Wait()
	var v int
	require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT v FROM t`).Scan(&v))
	require.Equal(t, 10, v)
}

func TestLimitIdle_RetriesSerializationFailure(t *testing.T) {
	db := limited(t, time.Minute)
	require.NoError(t, insert(t.Context(), db, "a"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				err := db.UpdateSerializable(t.Context(), func(tx *sqldb.Tx) error {
					var v int
					if err := tx.QueryRow(t.Context(), `SELECT v FROM t`).Scan(&v); err != nil {
						return err
					}
					_, err := tx.Exec(t.Context(), `UPDATE t SET v = ?`, v+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var v int
	require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT v FROM t`).Scan(&v))
	require.Equal(t, 40, v)
}

func TestShareLock(t *testing.T) {
	db := sqldbtest.Postgres(t)
	in := func(lock func(tx *sqldb.Tx) error, fn func()) {
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			if err := lock(tx); err != nil {
				return err
			}
			fn()
			return nil
		}))
	}
	share := func(alone ...string) func(tx *sqldb.Tx) error {
		return func(tx *sqldb.Tx) error { return tx.ShareLock(t.Context(), "all", alone...) }
	}
	blocked := func(lock func(tx *sqldb.Tx) error) bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := db.Update(ctx, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '100ms'`); err != nil {
				return err
			}
			return lock(tx)
		})
		return err != nil
	}
	alone := func(tx *sqldb.Tx) error { return tx.Lock(t.Context(), "all") }
	in(share("x"), func() {
		require.False(t, blocked(share("y")))
		require.False(t, blocked(share()))
		require.True(t, blocked(share("x")))
		require.True(t, blocked(share("w", "x", "y")))
		require.True(t, blocked(func(tx *sqldb.Tx) error { return tx.Lock(t.Context(), "x") }))
		require.True(t, blocked(alone))
	})
	in(alone, func() { require.True(t, blocked(share("y"))) })
}
