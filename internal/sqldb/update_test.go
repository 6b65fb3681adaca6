package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// withTable creates a table t(id, v) with a unique id for a test.
func withTable(fn func(t *testing.T, db *sqldb.DB)) func(t *testing.T, db *sqldb.DB) {
	return func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			return tx.Apply(t.Context(), `CREATE TABLE t (id TEXT NOT NULL, v BIGINT NOT NULL); CREATE UNIQUE INDEX t_id ON t (id)`)
		}))
		fn(t, db)
	}
}

func insert(ctx context.Context, db *sqldb.DB, id string) error {
	return db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES (?, ?)`, id, 0)
		return err
	})
}

func ids(t testing.TB, db *sqldb.DB) []string {
	t.Helper()
	rows, err := db.Reader().Query(context.Background(), `SELECT id FROM t ORDER BY id`)
	require.NoError(t, err)
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		out = append(out, id)
	}
	require.NoError(t, rows.Err())
	return out
}

func wantIDs(t testing.TB, db *sqldb.DB, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), ids(t, db)); diff != "" {
		t.Errorf("stored rows (-want +got):\n%s", diff)
	}
}

func TestUpdate_VisibleAfterReturn(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "a"))
		wantIDs(t, db, "a")
	}))
}

func TestUpdate_RollsBackOnFailure(t *testing.T) {
	errMine := errors.New("mine")
	cases := map[string]struct {
		fn    func(ctx context.Context, tx *sqldb.Tx) error
		check func(t *testing.T, err error)
	}{
		"when the function returns an error": {
			fn:    func(context.Context, *sqldb.Tx) error { return errMine },
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, errMine) },
		},
		"when the function panics": {
			fn:    func(context.Context, *sqldb.Tx) error { panic("ouch") },
			check: func(t *testing.T, err error) { require.ErrorContains(t, err, "ouch") },
		},
		"when the function hides the error of a statement": {
			fn: func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES ('taken', 0)`)
				if !sqldb.IsUnique(err) {
					return errors.New("the insert should have failed")
				}
				return nil
			},
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, sqldb.ErrUnique) },
		},
		"when the function continues after a failed statement": {
			fn: func(ctx context.Context, tx *sqldb.Tx) error {
				_, first := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES ('taken', 0)`)
				_, second := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES ('other', 0)`)
				var n int
				third := tx.QueryRow(ctx, `SELECT 1`).Scan(&n)
				if first == nil || second == nil || third == nil {
					return errors.New("all three should have failed")
				}
				return second
			},
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, sqldb.ErrUnique) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
				require.NoError(t, insert(t.Context(), db, "taken"))
				err := db.Update(t.Context(), func(tx *sqldb.Tx) error {
					if _, err := tx.Exec(t.Context(), `INSERT INTO t (id, v) VALUES ('trace', 0)`); err != nil {
						return err
					}
					tx.AfterCommit(func() { t.Error("AfterCommit ran after a rollback") })
					return c.fn(t.Context(), tx)
				})
				require.Error(t, err)
				c.check(t, err)
				wantIDs(t, db, "taken")
				require.NoError(t, insert(t.Context(), db, "next"), "still usable")
			}))
		})
	}
}

func TestUniqueError_NamesConstraint(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "a"))
		err := insert(t.Context(), db, "a")
		violation, ok := errors.AsType[*sqldb.UniqueError](err)
		require.True(t, ok, "%v", err)
		want := map[sqldb.Dialect]string{sqldb.SQLite: "t.id", sqldb.Postgres: "t_id"}[db.Dialect()]
		require.Equal(t, want, violation.Constraint)
		require.False(t, sqldb.IsUnique(errors.New("UNIQUE")))
		require.False(t, sqldb.IsUnique(nil))
	}))
}

func TestExecReturning_ReportsScanErrors(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "a"))
		var v int
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			err := tx.ExecReturning(t.Context(), []any{&v}, `UPDATE t SET v = v + ? WHERE id = ? RETURNING v`, 7, "a")
			if err != nil {
				return err
			}
			none := tx.ExecReturning(t.Context(), []any{&v}, `UPDATE t SET v = v + ? WHERE id = ? RETURNING v`, 7, "b")
			require.ErrorIs(t, none, sql.ErrNoRows)
			return nil
		}))
		require.Equal(t, 7, v)
		err := db.Update(t.Context(), func(tx *sqldb.Tx) error {
			return tx.ExecReturning(t.Context(), []any{&v}, `INSERT INTO t (id, v) VALUES (?, ?) RETURNING v`, "a", 1)
		})
		require.ErrorIs(t, err, sqldb.ErrUnique)
	}))
}

func TestAfterCommit_OrderedDespitePanics(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		var got []int
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			tx.AfterCommit(func() { got = append(got, len(ids(t, db))) })
			tx.AfterCommit(func() { panic("ouch") })
			tx.AfterCommit(func() { got = append(got, 2) })
			_, err := tx.Exec(t.Context(), `INSERT INTO t (id, v) VALUES ('a', 0)`)
			return err
		}))
		require.Equal(t, []int{1, 2}, got)
	}))
}

func TestUpdate_CanceledNotCommitted(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		cause := errors.New("the caller left")
		before, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		require.ErrorIs(t, insert(before, db, "before"),
			map[sqldb.Dialect]error{sqldb.SQLite: cause, sqldb.Postgres: context.Canceled}[db.Dialect()])

		during, cancel := context.WithCancelCause(t.Context())
		err := db.Update(during, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(during, `INSERT INTO t (id, v) VALUES ('during', 0)`)
			cancel(cause)
			return err
		})
		require.Error(t, err)
		wantIDs(t, db)
		require.NoError(t, insert(t.Context(), db, "after"))
	}))
}

func TestView_ConsistentSnapshot(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		count := func(q sqldb.Queryer) (n int) {
			require.NoError(t, q.QueryRow(t.Context(), `SELECT COUNT(*) FROM t`).Scan(&n))
			return n
		}
		require.NoError(t, db.View(t.Context(), func(q sqldb.Queryer) error {
			require.Equal(t, 0, count(q))
			require.NoError(t, insert(t.Context(), db, "meanwhile"))
			require.Equal(t, 0, count(q), "in the view")
			require.Equal(t, 1, count(db.Reader()), "outside the view")
			return nil
		}))
		require.ErrorContains(t, db.View(t.Context(), func(sqldb.Queryer) error { panic("ouch") }), "ouch")
	}))
}

func TestReader_RejectsWrites(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		rows, err := db.Reader().Query(t.Context(), `INSERT INTO t (id, v) VALUES ('a', 0) RETURNING id`)
		if err == nil {
			rows.Next()
			err = rows.Err()
			rows.Close()
		}
		require.ErrorContains(t, err, "readonly")
	})(t, db)
}

func TestPlaceholders_IgnoredInLiterals(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		var literal, quoted, arg string
		err := db.Reader().QueryRow(t.Context(), `SELECT 'it''s ?', x."a?", ? /* ? */ FROM (SELECT 'b' AS "a?") x -- ?`, "c").
			Scan(&literal, &quoted, &arg)
		require.NoError(t, err)
		require.Equal(t, []string{"it's ?", "b", "c"}, []string{literal, quoted, arg})
	})
}

// TestClose_Idempotent checks that a second Close succeeds, and that a closed database rejects updates and views.
func TestClose_Idempotent(t *testing.T) {
	sqldbtest.Each(t, withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, db.Close())
		require.NoError(t, db.Close())
		require.ErrorIs(t, insert(t.Context(), db, "late"), sqldb.ErrClosed)
		require.ErrorIs(t, db.View(t.Context(), func(sqldb.Queryer) error { return nil }), sqldb.ErrClosed)
	}))
}

func TestClose_WaitsForRunningUpdate(t *testing.T) {
	path := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	db, err := sqlopen.Open(t.Context(), path, sqlopen.Options{})
	require.NoError(t, err)
	withTable(func(t *testing.T, db *sqldb.DB) {
		inside, closing := make(chan struct{}), make(chan struct{})
		written := make(chan error)
		go func() {
			written <- db.Update(t.Context(), func(tx *sqldb.Tx) error {
				close(inside)
				<-closing
				_, err := tx.Exec(t.Context(), `INSERT INTO t (id, v) VALUES ('a', 0)`)
				return err
			})
		}()
		<-inside
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		require.Eventually(t, func() bool {
			return errors.Is(db.View(t.Context(), func(sqldb.Queryer) error { return nil }), sqldb.ErrClosed)
		}, 10*time.Second, time.Millisecond)
		close(closing)
		require.NoError(t, <-written)
		require.NoError(t, <-closed)
	})(t, db)
	db, err = sqlopen.Open(t.Context(), path, sqlopen.Options{})
	require.NoError(t, err)
	defer db.Close()
	wantIDs(t, db, "a")
}

func TestUpdate_RetriesSerializationFailure(t *testing.T) {
	db := sqldbtest.Postgres(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		require.NoError(t, insert(t.Context(), db, "a"))
		require.NoError(t, insert(t.Context(), db, "b"))
		// Two transactions lock two rows in opposite order: PostgreSQL aborts one of them, which runs again.
		var runs atomic.Int32
		var meet sync.WaitGroup
		meet.Add(2)
		both := func(first, second string) error {
			return db.Update(t.Context(), func(tx *sqldb.Tx) error {
				runs.Add(1)
				if _, err := tx.Exec(t.Context(), `UPDATE t SET v = v + 1 WHERE id = ?`, first); err != nil {
					return err
				}
				if runs.Load() <= 2 {
					meet.Done()
					meet.Wait()
				}
				_, err := tx.Exec(t.Context(), `UPDATE t SET v = v + 1 WHERE id = ?`, second)
				return err
			})
		}
		other := make(chan error)
		go func() { other <- both("b", "a") }()
		require.NoError(t, both("a", "b"))
		require.NoError(t, <-other)
		require.Greater(t, runs.Load(), int32(2), "the deadlock must have happened")
		var sum int
		require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT SUM(v) FROM t`).Scan(&sum))
		require.Equal(t, 4, sum)
	})(t, db)
}

// countingDriver opens SQLite connections and counts their commits with SQLite's commit hook.
type countingDriver struct {
	sqlite3.SQLiteDriver
	dsn     string
	commits atomic.Int64
}

func countCommits(path string) *countingDriver {
	d := &countingDriver{dsn: "file:" + path + "?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate"}
	d.ConnectHook = func(conn *sqlite3.SQLiteConn) error {
		conn.RegisterCommitHook(func() int { d.commits.Add(1); return 0 })
		return nil
	}
	return d
}

func (d *countingDriver) Connect(context.Context) (driver.Conn, error) { return d.Open(d.dsn) }
func (d *countingDriver) Driver() driver.Driver                        { return d }

func TestGroupCommit_SharesCommits(t *testing.T) {
	counter := countCommits(filepath.Join(t.TempDir(), "test.db"))
	writer := sql.OpenDB(counter)
	writer.SetMaxOpenConns(1)
	readers := sql.OpenDB(counter) // the readers commit no writes, so counter counts only the commits of the writer
	db, err := sqldb.New(sqldb.Options{Dialect: sqldb.SQLite, Writer: writer, Readers: readers, GroupCommit: true})
	require.NoError(t, err)
	defer db.Close()
	withTable(func(t *testing.T, db *sqldb.DB) {
		const callers, each = 16, 25
		before := counter.commits.Load()
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					id := fmt.Sprintf("%02d-%02d", c, i)
					if err := insert(t.Context(), db, id); err != nil {
						t.Error(err)
						return
					}
					// A completed update is committed: another connection sees it.
					var n int
					err := db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM t WHERE id = ?`, id).Scan(&n)
					if err != nil || n != 1 {
						t.Errorf("%s returned before its commit (%v)", id, err)
					}
				}
			})
		}
		wg.Wait()
		commits := counter.commits.Load() - before
		t.Logf("%d updates in %d commits", callers*each, commits)
		require.Positive(t, commits)
		require.Less(t, commits, int64(callers*each/3))
	})(t, db)
}

// TestGroupCommit_FailureIsolated checks that a caller that fails in a group rolls back only its own changes.
func TestGroupCommit_FailureIsolated(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		const callers = 60
		var wg sync.WaitGroup
		hold, held := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			require.NoError(t, db.Update(t.Context(), func(*sqldb.Tx) error { close(held); <-hold; return nil }))
		})
		<-held
		var want []string
		for c := range callers {
			id := fmt.Sprintf("%02d", c)
			if c%5 == 0 {
				want = append(want, id)
			}
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := db.Update(ctx, func(tx *sqldb.Tx) error {
					if _, err := tx.Exec(ctx, `INSERT INTO t (id, v) VALUES (?, 0)`, id); err != nil {
						return err
					}
					switch c % 5 {
					case 1:
						return errors.New("no")
					case 2:
						panic("no")
					case 3:
						cancel()
					case 4:
						runtime.Goexit() // as t.FailNow does
					}
					return nil
				})
				if (err == nil) != (c%5 == 0) {
					t.Errorf("caller %d: %v", c, err)
				}
			})
		}
		close(hold)
		wg.Wait()
		wantIDs(t, db, want...)
	})(t, db)
}

// SQLite rolls the whole transaction back when the disk is full or fails. The test simulates this: a caller executes ROLLBACK.
func TestGroupCommit_LostTransactionReported(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		destroy := func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `ROLLBACK`)
			return err
		}
		started, waiting := make(chan struct{}), make(chan struct{})
		first := make(chan error)
		go func() {
			first <- db.Update(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO t (id, v) VALUES ('first', 0)`)
				close(started)
				<-waiting
				return err
			})
		}()
		<-started
		second := make(chan error)
		go func() { second <- db.Update(t.Context(), destroy) }()
		time.AfterFunc(5*time.Millisecond, func() { close(waiting) }) // lets the second caller queue up after the first
		firstErr := <-first
		require.Error(t, <-second)
		if firstErr == nil { // the two callers did not share a transaction
			wantIDs(t, db, "first")
		} else {
			wantIDs(t, db)
		}
		require.NoError(t, insert(t.Context(), db, "next"), "still usable")
	})(t, db)
}

// The first caller ends the transaction of the batch with ROLLBACK. It has no savepoint, so no RELEASE fails. The writes of the second
// caller must then not be committed one by one, outside of a transaction.
func TestGroupCommit_EndedTransactionNotReused(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		for i := range 20 {
			id := fmt.Sprintf("%02d", i)
			started, waiting := make(chan struct{}), make(chan struct{})
			first, second := make(chan error), make(chan error)
			go func() {
				first <- db.Update(t.Context(), func(tx *sqldb.Tx) error {
					close(started)
					<-waiting
					_, err := tx.Exec(t.Context(), `ROLLBACK`)
					return err
				})
			}()
			<-started
			go func() { second <- insert(t.Context(), db, id) }()
			time.AfterFunc(2*time.Millisecond, func() { close(waiting) }) // lets the second caller queue up after the first
			require.Error(t, <-first)
			require.NoError(t, <-second, "the second caller has a separate transaction")
			var n int
			require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM t WHERE id = ?`, id).Scan(&n))
			require.Equal(t, 1, n)
		}
	})(t, db)
}

func TestUpdate_SkipsCanceledCaller(t *testing.T) {
	db := sqldbtest.SQLite(t)
	withTable(func(t *testing.T, db *sqldb.DB) {
		hold, held := make(chan struct{}), make(chan struct{})
		first := make(chan error)
		go func() {
			first <- db.Update(t.Context(), func(*sqldb.Tx) error { close(held); <-hold; return nil })
		}()
		<-held
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, insert(ctx, db, "gone"), context.DeadlineExceeded)
		close(hold)
		require.NoError(t, <-first)
		require.NoError(t, insert(t.Context(), db, "here"))
		wantIDs(t, db, "here")
	})(t, db)
}
