package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// dumped are the versions in testdata/old: the number of the last schema step that each database has.
var dumped = []int{1, 8, 15, 16}

func options(p sqldbtest.Place) sqlstore.Options {
	return sqlstore.Options{Dialect: sqlstore.Dialect(p.Dialect.String())}
}

// names returns the names of the tables that Open creates with the options.
func names(t testing.TB, db *sql.DB, p sqldbtest.Place, o sqlstore.Options) sqldb.Names {
	t.Helper()
	n, err := sqldb.Embedded(p.Dialect, o.Schema, o.Prefix)
	require.NoError(t, err)
	n, err = n.Located(t.Context(), db, p.Dialect)
	require.NoError(t, err)
	return n
}

// fresh returns a description of the tables of a new database.
func fresh(t *testing.T, d sqldb.Dialect, o sqlstore.Options) []string {
	t.Helper()
	p := sqldbtest.SQLitePlace(t)
	if d == sqldb.Postgres {
		p = sqldbtest.PostgresPlace(t)
	}
	db := p.Open(t)
	if o.Schema != "" {
		o.Schema += "-fresh"
		sqldbtest.DropSchema(t, db, o.Schema)
	}
	_, err := sqlstore.Open(t.Context(), db, o)
	require.NoError(t, err)
	n := names(t, db, p, o)
	return sqldbtest.Described(t, db, d, n.Schema, n.Prefix)
}

// TestOpen_OldDatabases opens databases of earlier versions. Their tables are then those of a new database, with all rows, and an engine
// continues to work on them.
func TestOpen_OldDatabases(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		variants := map[string]sqlstore.Options{"default": options(first), "prefix": {Dialect: options(first).Dialect, Prefix: "idp2_"}}
		if first.Dialect == sqldb.Postgres {
			variants["schema"] = sqlstore.Options{Dialect: sqlstore.Postgres, Schema: `own "engine" of ` + sqldbtest.CurrentSchema(t, first.Open(t))}
			own := `own of ` + sqldbtest.CurrentSchema(t, first.Open(t))
			variants["schema and prefix"] = sqlstore.Options{Dialect: sqlstore.Postgres, Schema: own, Prefix: "p_"}
		}
		for name, o := range variants {
			want := fresh(t, first.Dialect, o)
			require.Greater(t, len(want), 150)
			steps := dumped
			if name != "default" {
				steps = steps[2:]
			}
			for _, step := range steps {
				t.Run(fmt.Sprintf("%s, step %d", name, step), func(t *testing.T) {
					p := another(t, first)
					load(t, p, step)
					db := p.Open(t)
					if o.Schema != "" {
						o.Schema = strings.Replace(o.Schema, "own", "own"+strconv.Itoa(step), 1)
						sqldbtest.DropSchema(t, db, o.Schema)
					}
					columns := columnsOf(t, db)
					for table := range columns { // the migration changes the column; see TestOpen_EarlierLeases
						columns[table] = slices.DeleteFunc(columns[table], func(c string) bool { return c == "lease_until" })
					}
					before := rowsOf(t, db, sqldb.Names{}, columns)
					for range 2 {
						store, err := sqlstore.Open(t.Context(), db, o)
						require.NoError(t, err)
						n := names(t, db, p, o)
						require.Empty(t, cmp.Diff(want, sqldbtest.Described(t, db, p.Dialect, n.Schema, n.Prefix)))
						require.Empty(t, cmp.Diff(before, rowsOf(t, db, n, columns)))
						if store != nil {
							require.Empty(t, columnsOf(t, db), "no table has its old name")
						}
					}
					store, err := sqlstore.Open(t.Context(), db, o)
					require.NoError(t, err)
					checkContinues(t, store, db, step)
				})
			}
		}
	})
}

// another returns a new database of the same dialect.
func another(t testing.TB, p sqldbtest.Place) sqldbtest.Place {
	if p.Dialect == sqldb.Postgres {
		return sqldbtest.PostgresPlace(t)
	}
	return sqldbtest.SQLitePlace(t)
}

// checkContinues checks that an engine can work on a database of testdata/old.
func checkContinues(t *testing.T, st *sqlstore.Store, db *sql.DB, step int) {
	t.Helper()
	ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000).Add(2*time.Hour)
	due, err := st.Due(ctx, "crm", now, 10)
	require.NoError(t, err)
	ids := func(rows []engine.State) (ids []string) {
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	require.Equal(t, []string{"bob", "dan", "eve"}, ids(due), "due before the migration")
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, st.Mark(ctx, tx, now, []engine.Mark{
		{App: "crm", Kind: engine.User, ID: "ann"}, {App: "crm", Kind: engine.Group, ID: "tea", Members: []string{"bob"}}}))
	require.NoError(t, tx.Commit())
	process, _, err := st.Join(ctx, store.Joining{Name: "new", Lease: time.Minute, When: store.When{Now: now, Recheck: now}})
	require.NoError(t, err)
	leases, err := st.Claim(ctx, process.ID, now, 10)
	require.NoError(t, err)
	require.Len(t, leases, 2, "the lanes of both apps")
	lease := leases[slices.Index([]bool{leases[0].App == "crm", true}, true)]
	due, err = st.Due(ctx, "crm", now, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"bob", "ann", "dan", "eve", "tea"}, ids(due))
	found, err := st.States(ctx, engine.StateQuery{App: "crm", ID: "ann"})
	require.NoError(t, err)
	require.Equal(t, "r-ann", found[0].RemoteID)
	status, err := st.Finish(ctx, lease, store.Finish{Kind: engine.User, ID: "ann", Gen: found[0].Desired, Status: engine.StatusClean,
		RemoteID: "r-ann", At: now,
		Exchanges: []engine.Attempt{{Run: "2", At: now, Method: "PUT"}}})
	require.NoError(t, err)
	require.Equal(t, engine.StatusClean, status)
	attempts, err := st.Attempts(ctx, engine.AttemptQuery{App: "crm", Principal: "ann"})
	require.NoError(t, err)
	require.Len(t, attempts, 3)
	require.EqualValues(t, 4, attempts[0].ID, "the sequence of ids continues")
	run, err := st.StartImport(ctx, "crm", engine.ImportRequest{Kind: engine.User}, now)
	require.NoError(t, err)
	wantRun, wantPlans, wantEvents := int64(3), 1, []int64{1, 2, 3, 4, 5}
	switch step {
	case 1:
		wantRun, wantPlans, wantEvents = 1, 0, nil
	case 8:
		wantPlans, wantEvents = 0, nil
	}
	require.Equal(t, wantRun, run)
	plans, err := st.Plans(ctx, engine.PlanQuery{App: "crm"})
	require.NoError(t, err)
	require.Len(t, plans, wantPlans)
	require.NoError(t, st.Dismiss(ctx, now, "crm", engine.User, "eve"))
	events, err := st.Events(ctx, engine.EventQuery{App: "crm"})
	require.NoError(t, err)
	var numbers []int64
	for _, e := range events {
		numbers = append(numbers, e.Seq)
	}
	require.Equal(t, append(slices.Clip(wantEvents), int64(len(wantEvents)+1)), numbers, "the numbers of events continue")
}

// stride is the number of statements between two tested ones. PostgreSQL takes most of a minute for all, so only a run of all costly tests
// cuts the connection at each statement.
func stride(d sqldb.Dialect) int64 {
	if d == sqldb.SQLite || alltest.All() {
		return 1
	}
	return 7
}

// TestOpen_CutAnywhere checks that the database is unchanged after the connection was lost at any statement of the migration.
func TestOpen_CutAnywhere(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		want := fresh(t, first.Dialect, options(first))
		for _, step := range []int{0, 1, 15, 16} {
			t.Run(fmt.Sprint("step ", step), func(t *testing.T) {
				p := another(t, first)
				if step > 0 {
					load(t, p, step)
				}
				db := p.Open(t)
				if step == 0 {
					_, err := db.Exec(`CREATE TABLE sqldb_steps (own INTEGER); CREATE TABLE plan (own INTEGER)`)
					require.NoError(t, err)
				}
				before := sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")
				for at := int64(1); ; at += stride(p.Dialect) {
					f := &sqldbtest.Faults{At: at}
					faulty := f.Open(t, p)
					_, err := sqlstore.Open(t.Context(), faulty, options(p))
					_ = faulty.Close()
					if err == nil {
						require.GreaterOrEqual(t, at, f.Count.Load(), "only statements after the commit may fail")
						require.Greater(t, at, int64(30), "number of statements of a migration")
						break
					}
					require.ErrorIs(t, err, sqldbtest.ErrCut)
					require.Less(t, at, int64(1000))
					require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")), "statement %d", at)
				}
				n := names(t, db, p, options(p))
				require.Empty(t, cmp.Diff(want, sqldbtest.Described(t, db, p.Dialect, n.Schema, n.Prefix)))
				if step > 0 {
					store, err := sqlstore.Open(t.Context(), db, options(p))
					require.NoError(t, err)
					checkContinues(t, store, db, step)
				}
			})
		}
	})
}

// child is the task of a child process of this test binary.
type child struct {
	Place sqldbtest.Place
	At    int64 // the statement to stop at, 0: do not stop
}

const childVariable = "SQLSTORE_TEST_CHILD"

// TestChild is a process that opens a store. At its statement it prints "reached" and waits to be killed.
func TestChild(t *testing.T) {
	order := os.Getenv(childVariable)
	if order == "" {
		return // not a child process
	}
	var c child
	require.NoError(t, json.Unmarshal([]byte(order), &c))
	f := &sqldbtest.Faults{At: c.At, Reached: func() {
		fmt.Println("reached")
		select {}
	}}
	db := f.Open(t, c.Place)
	defer db.Close()
	_, err := sqlstore.Open(context.Background(), db, options(c.Place))
	require.NoError(t, err)
	fmt.Println("opened")
}

// start starts a process that is killed at the end of the test.
func (c child) start(t *testing.T) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	order, err := json.Marshal(c)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), self, "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(order))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// TestOpen_Killed checks that a process that is killed during the migration leaves the database unchanged, and that the next Open migrates
// it.
func TestOpen_Killed(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		want := fresh(t, first.Dialect, options(first))
		for _, step := range []int{1, 16} {
			p := another(t, first)
			load(t, p, step)
			db := p.Open(t)
			before := sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")
			for _, at := range []int64{12, 25, 40} {
				cmd, lines := child{Place: p, At: at}.start(t)
				require.True(t, lines.Scan())
				require.Equal(t, "reached", lines.Text())
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait(), "it was killed")
				require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")))
			}
			store, err := sqlstore.Open(t.Context(), db, options(p))
			require.NoError(t, err)
			n := names(t, db, p, options(p))
			require.Empty(t, cmp.Diff(want, sqldbtest.Described(t, db, p.Dialect, n.Schema, n.Prefix)))
			checkContinues(t, store, db, step)
		}
	})
}

// TestOpen_Concurrent opens a database in several processes, and several times in each, at the same time.
func TestOpen_Concurrent(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		want := fresh(t, first.Dialect, options(first))
		for _, step := range []int{0, 1, 16} {
			p := another(t, first)
			if step > 0 {
				load(t, p, step)
			}
			var all errgroup.Group
			for range 3 {
				cmd, lines := child{Place: p}.start(t)
				all.Go(func() error {
					defer func() {
						for lines.Scan() { // read all output, because the child blocks when the pipe is full
						}
					}()
					if !lines.Scan() || lines.Text() != "opened" {
						return fmt.Errorf("child printed %q", lines.Text())
					}
					for lines.Scan() {
					}
					return cmd.Wait()
				})
			}
			db := p.Open(t)
			for range 3 {
				all.Go(func() error {
					_, err := sqlstore.Open(t.Context(), db, options(p))
					return err
				})
			}
			require.NoError(t, all.Wait())
			n := names(t, db, p, options(p))
			require.Empty(t, cmp.Diff(want, sqldbtest.Described(t, db, p.Dialect, n.Schema, n.Prefix)))
		}
	})
}
