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

// together runs the functions as unguarded updates that, on SQLite, share a commit: they queue up while an earlier update runs.
func together(t *testing.T, db *sqldb.DB, updates ...func(ctx context.Context, tx *sqldb.Tx) error) []error {
	t.Helper()
	hold, held := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		_ = db.Update(t.Context(), func(*sqldb.Tx) error { close(held); <-hold; return nil }) // may share a commit that fails
	})
	<-held
	out := make([]error, len(updates))
	for i, update := range updates {
		work.Go(func() {
			out[i] = db.UpdateUnguarded(t.Context(), func(tx *sqldb.Tx) error { return update(t.Context(), tx) })
		})
	}
	time.AfterFunc(5*time.Millisecond, func() { close(hold) })
	work.Wait()
	return out
}

func inserting(id string) func(ctx context.Context, tx *sqldb.Tx) error {
	return func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES (?, 0)`, id)
		return err
	}
}

func TestUpdateUnguarded_FailsWithoutChange(t *testing.T) {
	errMine := errors.New("mine")
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "taken"))
		var updates []func(ctx context.Context, tx *sqldb.Tx) error
		want := []string{"taken"}
		for i := range 20 {
			id := fmt.Sprintf("%02d", i)
			want = append([]string{}, append(want[:i], id, "taken")...)
			updates = append(updates, inserting(id),
				inserting("taken"),
				func(context.Context, *sqldb.Tx) error { return errMine },
				func(ctx context.Context, tx *sqldb.Tx) error {
					err := tx.ExecReturning(ctx, []any{new(string)}, `UPDATE t SET v = 1 WHERE id = 'none' RETURNING id`)
					return errors.Join(errMine, err)
				},
				func(ctx context.Context, tx *sqldb.Tx) error {
					_, err := tx.Exec(ctx, `UPDATE t SET v = 1 WHERE id = 'none'`)
					return errors.Join(errMine, err)
				},
				func(context.Context, *sqldb.Tx) error { panic("ouch") })
		}
		for i, err := range together(t, db, updates...) {
			switch i % 6 {
			case 0:
				require.NoError(t, err)
			case 1:
				require.ErrorIs(t, err, sqldb.ErrUnique)
			case 5:
				require.ErrorContains(t, err, "ouch")
			default:
				require.ErrorIs(t, err, errMine)
			}
		}
		wantIDs(t, db, want...)
	}))
}

// TestUpdateUnguarded_FailsAfterChange covers functions that break the contract: no change of theirs is stored, and the database is usable.
func TestUpdateUnguarded_FailsAfterChange(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		errMine := errors.New("mine")
		var updates []func(ctx context.Context, tx *sqldb.Tx) error
		for i := range 20 {
			updates = append(updates, inserting(fmt.Sprintf("good%02d", i)), func(ctx context.Context, tx *sqldb.Tx) error {
				return errors.Join(inserting(fmt.Sprintf("bad%02d", i))(ctx, tx), errMine)
			})
		}
		var want []string
		for i, err := range together(t, db, updates...) {
			switch {
			case i%2 == 1:
				require.ErrorIs(t, err, errMine)
			case err == nil:
				want = append(want, fmt.Sprintf("good%02d", i/2))
			}
		}
		wantIDs(t, db, want...)
		require.NoError(t, insert(t.Context(), db, "next"))
	}))
}

// TestUpdateUnguarded_EndsAfterChange ends the context of an update after its change, which the group must commit.
func TestUpdateUnguarded_EndsAfterChange(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.NoError(t, db.UpdateUnguarded(ctx, func(tx *sqldb.Tx) error {
			if err := inserting("first")(ctx, tx); err != nil {
				return err
			}
			cancel()
			return inserting("second")(ctx, tx)
		}))
		wantIDs(t, db, "first", "second")
		require.ErrorIs(t, db.UpdateUnguarded(ctx, func(tx *sqldb.Tx) error { return inserting("third")(ctx, tx) }), context.Canceled)

		ctx, cancel = context.WithCancel(t.Context())
		require.ErrorIs(t, db.UpdateUnguarded(ctx, func(tx *sqldb.Tx) error {
			cancel()
			return inserting("third")(ctx, tx)
		}), context.Canceled)
		wantIDs(t, db, "first", "second")
	})(t, db)
}
