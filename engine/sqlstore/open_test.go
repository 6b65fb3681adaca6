package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestStore_EmbeddersDatabase runs the suite on a database as embedders open it. On PostgreSQL the tables are in a schema outside the
// search path.
func TestStore_EmbeddersDatabase(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db, o := p.Open(t), options(p)
		if p.Dialect == sqldb.Postgres {
			o.Schema = "engine of " + sqldbtest.CurrentSchema(t, db)
			sqldbtest.DropSchema(t, db, o.Schema)
		}
		store, err := sqlstore.Open(t.Context(), db, o)
		require.NoError(t, err)
		storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error { return inTx(ctx, db, fn) })
	})
}

// inTx runs fn in an embedder's transaction.
func inTx(ctx context.Context, db *sql.DB, fn func(engine.Execer) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// mark marks a user of an app in an embedder's transaction.
func mark(t *testing.T, db *sql.DB, store *sqlstore.Store, id string) {
	t.Helper()
	require.NoError(t, inTx(t.Context(), db, func(tx engine.Execer) error {
		return store.Mark(t.Context(), tx, time.Now(), []engine.Mark{{App: "crm", Kind: engine.User, ID: id}})
	}))
}

// marked returns the ids of the users in a store.
func marked(t *testing.T, store *sqlstore.Store) (ids []string) {
	t.Helper()
	rows, err := store.States(t.Context(), engine.StateQuery{})
	require.NoError(t, err)
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestOpen_ForeignTables checks that Open does not change the tables of another program that have the old names of the engine's tables, or
// that look like the table of steps.
func TestOpen_ForeignTables(t *testing.T) {
	var tables []string
	for _, name := range append([]string{"events", "steps", "scimwright", "users"}, oldTables...) {
		tables = append(tables, fmt.Sprintf(`CREATE TABLE %s (own TEXT PRIMARY KEY); INSERT INTO %s VALUES ('row of %s')`, name, name, name))
	}
	const asOurs = `CREATE TABLE sqldb_steps (name TEXT NOT NULL, step %s, hash TEXT, PRIMARY KEY (name, step));`
	for name, steps := range map[string]string{
		"none":               `CREATE TABLE other (v TEXT)`,
		"other columns":      `CREATE TABLE sqldb_steps (id INTEGER PRIMARY KEY, done TEXT); INSERT INTO sqldb_steps VALUES (1, 'engine')`,
		"a view":             `CREATE VIEW sqldb_steps AS SELECT 'x' AS name, 1 AS step, 'y' AS hash`,
		"other names":        fmt.Sprintf(asOurs, "BIGINT") + `INSERT INTO sqldb_steps VALUES ('shop', 1, 'x'), ('shop', 2, 'y')`,
		"another engine":     fmt.Sprintf(asOurs, "BIGINT") + `INSERT INTO sqldb_steps VALUES ('engine', 1, 'x'), ('engine', 2, 'y')`,
		"other types":        fmt.Sprintf(asOurs, "TEXT") + `INSERT INTO sqldb_steps VALUES ('engine', 'first', 'x'), ('engine', 'second', NULL)`,
		"an engine, no hash": fmt.Sprintf(asOurs, "BIGINT") + `INSERT INTO sqldb_steps VALUES ('engine', 1, NULL)`,
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
				db := p.Open(t)
				_, err := db.Exec(strings.Join(append(tables, steps), "; "))
				require.NoError(t, err)
				in := ""
				if p.Dialect == sqldb.Postgres {
					in = sqldbtest.CurrentSchema(t, db)
				}
				own := func() (all []string) {
					for _, line := range sqldbtest.Described(t, db, p.Dialect, in, "") {
						if !strings.Contains(line, "scimwright_") && !strings.HasPrefix(line, "sqlite_sequence") {
							all = append(all, line)
						}
					}
					for _, table := range append([]string{"events", "steps", "scimwright", "users"}, oldTables...) {
						all = append(all, sqldbtest.Read(t, db, `SELECT * FROM `+table)...)
					}
					if name != "none" {
						all = append(all, sqldbtest.Read(t, db, `SELECT * FROM sqldb_steps`)...)
					}
					return all
				}
				before := own()
				for range 2 {
					store, err := sqlstore.Open(t.Context(), db, options(p))
					require.NoError(t, err)
					mark(t, db, store, "ann")
					require.Equal(t, []string{"ann"}, marked(t, store))
				}
				require.Subset(t, own(), before)
			})
		})
	}
}

// TestOpen_SeveralEngines checks that two engines with different prefixes are independent of each other in one database.
func TestOpen_SeveralEngines(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		load(t, p, 16)
		db, o := p.Open(t), options(p)
		first, err := sqlstore.Open(t.Context(), db, o)
		require.NoError(t, err)
		o.Prefix = "second_"
		second, err := sqlstore.Open(t.Context(), db, o)
		require.NoError(t, err)
		require.Empty(t, marked(t, second), "the first engine adopted the tables of the earlier version")
		mark(t, db, second, "zoe")
		require.Equal(t, []string{"zoe"}, marked(t, second))
		require.NotContains(t, marked(t, first), "zoe")
		require.Contains(t, marked(t, first), "ann")
		lanes := func(s *sqlstore.Store) int {
			process, _, err := s.Join(t.Context(), store.Joining{Name: "me", Lease: time.Minute})
			require.NoError(t, err, "an engine of the other tables does not own these")
			leases, err := s.Claim(t.Context(), process.ID, time.Now().AddDate(50, 0, 0), 10)
			require.NoError(t, err)
			return len(leases)
		}
		require.Equal(t, []int{1, 2}, []int{lanes(second), lanes(first)}, "both have an app crm")
	})
}

// TestOpen_EarlierVersionStopped checks that an earlier version finds no usable tables after the tables were renamed. The test sends the
// query that such a version sends at its start.
func TestOpen_EarlierVersionStopped(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		load(t, p, 15)
		db := p.Open(t)
		_, err := sqlstore.Open(t.Context(), db, options(p))
		require.NoError(t, err)
		var last int
		require.NoError(t, db.QueryRow(`SELECT COALESCE(MAX(step), 0) FROM sqldb_steps WHERE name = 'engine'`).Scan(&last))
		require.Greater(t, last, 16, "the earlier version stops: migrated by a newer version")
	})
}

func TestOpen_Errors(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		other, own, theirs := sqlstore.Postgres, "SQLite", "PostgreSQL"
		if p.Dialect == sqldb.Postgres {
			other, own, theirs = sqlstore.SQLite, theirs, own
		}
		for name, c := range map[string]struct {
			prepare string // SQL statements that run before Open, and after an earlier Open if open is set
			open    bool
			options func(o *sqlstore.Options)
			want    string
		}{
			"wrong dialect": {options: func(o *sqlstore.Options) { o.Dialect = other },
				want: "the database is " + own + ", the options say " + theirs},
			"no dialect":      {options: func(o *sqlstore.Options) { o.Dialect = "" }, want: `unknown dialect "": use SQLite or Postgres`},
			"unknown dialect": {options: func(o *sqlstore.Options) { o.Dialect = "mysql" }, want: `unknown dialect "mysql"`},
			"prefix":          {options: func(o *sqlstore.Options) { o.Prefix = "My-" }, want: `prefix "My-" is not allowed`},
			"table exists": {prepare: `CREATE TABLE scimwright_halt (own TEXT)`,
				want: "the table scimwright_halt exists and was not created by the engine"},
			"steps table exists": {prepare: `CREATE TABLE scimwright_steps (own TEXT)`,
				want: "the table scimwright_steps exists and was not created by the engine"},
			"newer": {open: true, prepare: `INSERT INTO scimwright_steps SELECT 'engine', MAX(step) + 1, 'x' FROM scimwright_steps`,
				want: "the database has migration step 7, and this program has only 6 steps: a newer version migrated the database"},
			"changed": {open: true, prepare: `UPDATE scimwright_steps SET hash = 'x'`, want: "step 1 was changed"},
			"old and newer": {prepare: "dump16; INSERT INTO sqldb_steps VALUES ('engine', 17, 'x')",
				want: "the database has migration step 17, and this program has only 16 steps: a newer version migrated the database"},
			"old and changed":         {prepare: "dump8; UPDATE sqldb_steps SET hash = 'x' WHERE step = 3", want: "step 3 was changed"},
			"old, first step changed": {prepare: "dump8; UPDATE sqldb_steps SET hash = 'x' WHERE step = 1", want: "step 1 was changed"},
			"old with a gap":          {prepare: "dump8; DELETE FROM sqldb_steps WHERE step = 3", want: "the database lacks migration step 3"},
			"old, new table name exists": {prepare: "dump8; CREATE TABLE scimwright_removal (own TEXT)",
				want: "scimwright_removal"},
		} {
			t.Run(name, func(t *testing.T) {
				p := another(t, p)
				db := p.Open(t)
				o := options(p)
				if c.open {
					_, err := sqlstore.Open(t.Context(), db, o)
					require.NoError(t, err)
				}
				for step, dump := range map[int]string{8: "dump8; ", 16: "dump16; "} {
					if rest, ok := strings.CutPrefix(c.prepare, dump); ok {
						load(t, p, step)
						c.prepare = rest
					}
				}
				_, err := db.Exec(c.prepare + `; CREATE TABLE untouched (v TEXT)`)
				require.NoError(t, err)
				if c.options != nil {
					c.options(&o)
				}
				tables := func() []string {
					if p.Dialect == sqldb.Postgres {
						return sqldbtest.Described(t, db, p.Dialect, sqldbtest.CurrentSchema(t, db), "")
					}
					return sqldbtest.Read(t, db, `SELECT * FROM sqlite_master ORDER BY name`)
				}
				before := tables()
				_, err = sqlstore.Open(t.Context(), db, o)
				require.ErrorContains(t, err, c.want)
				require.True(t, strings.HasPrefix(err.Error(), "sqlstore: open: "), err.Error())
				require.Empty(t, cmp.Diff(before, tables()))
			})
		}
	})
	_, err := sqlstore.Open(t.Context(), nil, sqlstore.Options{Dialect: sqlstore.SQLite})
	require.ErrorContains(t, err, "a database is required")
}

// TestOpen_SearchPath checks that Mark finds the engine's tables in a transaction whose search path differs from that of Open.
func TestOpen_SearchPath(t *testing.T) {
	p := sqldbtest.PostgresPlace(t)
	db := p.Open(t)
	store, err := sqlstore.Open(t.Context(), db, options(p))
	require.NoError(t, err)
	require.NoError(t, inTx(t.Context(), db, func(tx engine.Execer) error {
		if _, err := tx.ExecContext(t.Context(), `SET LOCAL search_path TO pg_catalog`); err != nil {
			return err
		}
		return store.Mark(t.Context(), tx, time.Now(), []engine.Mark{{App: "crm", Kind: engine.User, ID: "ann"}})
	}))
	require.Equal(t, []string{"ann"}, marked(t, store))

	db.SetMaxOpenConns(1)
	_, err = db.Exec(`SET search_path TO ''`)
	require.NoError(t, err)
	_, err = sqlstore.Open(t.Context(), db, options(p))
	require.ErrorContains(t, err, "name a schema")
}

// TestOpen_Updater checks that the store writes only through the embedder's Updater. The database that is passed to Open is read-only.
func TestOpen_Updater(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		writer := p.Open(t)
		p.DSN += map[sqldb.Dialect]string{sqldb.SQLite: "&_query_only=on", sqldb.Postgres: "&default_transaction_read_only=on"}[p.Dialect]
		readers := p.Open(t)
		o, writes := options(p), atomic.Int64{}
		var fail error
		o.Updater = func(ctx context.Context, fn func(engine.Execer) error) error {
			writes.Add(1)
			return inTx(ctx, writer, func(tx engine.Execer) error { return errors.Join(fn(tx), fail) })
		}
		store, err := sqlstore.Open(t.Context(), readers, o)
		require.NoError(t, err)
		require.EqualValues(t, 1, writes.Load(), "one transaction for everything")
		mark(t, writer, store, "ann")
		require.NoError(t, store.Kick(t.Context(), time.Now(), []string{"crm"}))
		require.NoError(t, store.Retry(t.Context(), time.Now(), "crm", engine.User, "ann"))
		require.EqualValues(t, 3, writes.Load())
		require.ErrorIs(t, store.Retry(t.Context(), time.Now(), "crm", engine.User, "nobody"), engine.ErrNotFound)
		fail = errors.New("the writer is closed")
		require.ErrorIs(t, store.Kick(t.Context(), time.Now(), []string{"crm"}), fail)
		require.Equal(t, []string{"ann"}, marked(t, store))
	})
}

// TestOpen_WaitsForLock checks that Open waits while another process writes, even on connections that do not wait for the lock.
func TestOpen_WaitsForLock(t *testing.T) {
	p := sqldbtest.SQLitePlace(t)
	writer := p.Open(t)
	tx, err := writer.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	p.DSN = strings.Replace(p.DSN, "_busy_timeout=5000&_txlock=immediate", "_busy_timeout=1", 1)
	db := p.Open(t)
	db.SetMaxOpenConns(1)
	opened := make(chan error)
	go func() {
		_, err := sqlstore.Open(context.Background(), db, options(p))
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatal("Open did not wait: ", err)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-opened)
	require.Equal(t, []string{"1"}, sqldbtest.Column(t, db, `PRAGMA busy_timeout`), "the connection has its old timeout")
}

// TestOpen_PostgresExample runs the code of ExampleOpen_postgres.
func TestOpen_PostgresExample(t *testing.T) {
	db := sqldbtest.PostgresPlace(t)
	sqldbtest.DropSchema(t, db.Open(t), "scimwright")
	for range 2 {
		p, err := openProvider(t.Context(), db.DSN, &enginetest.Directory{})
		require.NoError(t, err)
		defer p.db.Close()
		_ = p.assign(t.Context(), "crm", "ann") // fails in the second iteration, because the assignment exists
		pending, err := p.engine.Apps().Pending(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, pending)
		require.Equal(t, []string{"1"}, sqldbtest.Column(t, db.Open(t), `SELECT COUNT(*) FROM scimwright.app_lane`))
	}
}
