package sqlstore_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// Times of the database of testdata/old whose lanes have leases.
var (
	leasesAt = time.UnixMilli(1_800_000_000_000) // the time of the dump
	leaseEnd = leasesAt.Add(190 * time.Second)   // the end of the leases
)

const busyEpoch int64 = 1799999999001 // of the lease of "old engine"

func loadLeases(t testing.TB, p sqldbtest.Place) {
	t.Helper()
	sqldbtest.Load(t, p, "testdata/old/"+p.Dialect.String()+"-leases.sql")
}

// earlier has the statements of the store of the version with leases per lane, for an engine that still runs.
type earlier struct {
	t  *testing.T
	db *sql.DB
}

// exec runs a statement that is the same on both databases.
func (e earlier) exec(format string, args ...any) (rows int64) {
	e.t.Helper()
	res, err := e.db.Exec(fmt.Sprintf(format, args...))
	require.NoError(e.t, err)
	rows, err = res.RowsAffected()
	require.NoError(e.t, err)
	return rows
}

// claimable returns the lanes that an engine of that version finds.
func (e earlier) claimable(at time.Time) []string {
	e.t.Helper()
	return sqldbtest.Column(e.t, e.db, fmt.Sprintf(`SELECT app_id FROM scimwright_app_lane
		WHERE next_at IS NOT NULL AND next_at <= %d AND lease_until <= %[1]d ORDER BY app_id`, at.UnixMilli()))
}

// valid reports whether a result under the old lease is stored.
func (e earlier) valid() bool {
	e.t.Helper()
	return e.exec(`UPDATE scimwright_app_lane SET epoch = epoch WHERE app_id = 'busy' AND epoch = %d`, busyEpoch) > 0
}

// TestOpen_EarlierLeases checks that the leases of an engine of the previous version, which still runs, are honored until it releases them
// or they expire, and that this engine finds no other lane.
func TestOpen_EarlierLeases(t *testing.T) {
	for name, c := range map[string]struct {
		then func(e earlier) // what the engine of the previous version does
		join store.Joining
		at   time.Time // when the new engine can claim the lane busy
		gone bool      // the new engine has ended the lease
	}{
		"expires": {at: leaseEnd},
		"extended": {at: leaseEnd.Add(time.Minute), then: func(e earlier) {
			require.EqualValues(e.t, 1, e.exec(`UPDATE scimwright_app_lane SET lease_until = %d WHERE app_id = 'busy' AND epoch = %d`,
				leaseEnd.Add(time.Minute).UnixMilli(), busyEpoch))
		}},
		"released": {at: leasesAt.Add(time.Second), gone: true, then: func(e earlier) {
			require.EqualValues(e.t, 1, e.exec(`UPDATE scimwright_app_lane SET owner = '', lease_until = 0, epoch = epoch + 1, next_at = %d
				WHERE app_id = 'busy' AND epoch = %d`, leasesAt.Add(time.Second).UnixMilli(), busyEpoch))
		}},
		"restarted under the same name": {at: leasesAt.Add(-time.Second), gone: true, join: store.Joining{Name: "old engine", Replace: true}},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
				loadLeases(t, p)
				db := p.Open(t)
				old := earlier{t, db}
				require.Equal(t, []string{"busy", "crm", "idle", "wiki"}, old.claimable(leasesAt.AddDate(1, 0, 0)), "before the migration")
				s, err := sqlstore.Open(t.Context(), db, options(p))
				require.NoError(t, err)
				require.NotContains(t, old.claimable(leasesAt.AddDate(1, 0, 0)), "crm")
				require.NotContains(t, old.claimable(leasesAt.AddDate(1, 0, 0)), "idle")
				lane, err := s.Lane(t.Context(), "busy")
				require.NoError(t, err)
				require.Equal(t, []any{"old engine", leaseEnd}, []any{lane.Owner, lane.Until})

				if c.join.Name == "" {
					c.join.Name = "new"
				}
				c.join.Lease, c.join.When = time.Minute, when(leasesAt)
				process, _, err := s.Join(t.Context(), c.join)
				require.NoError(t, err)
				claim := func(at time.Time) (apps []string) {
					t.Helper()
					leases, err := s.Claim(t.Context(), process.ID, at, 10)
					require.NoError(t, err)
					for _, l := range leases {
						apps = append(apps, l.App)
						if l.App == "busy" {
							require.Greater(t, l.Epoch, busyEpoch)
						}
					}
					return apps
				}
				require.Equal(t, !c.gone || c.then != nil, old.valid(), "the lease is honored")
				if c.then != nil {
					c.then(old)
				}
				early := claim(c.at.Add(-time.Millisecond))
				require.NotContains(t, early, "busy")
				require.Contains(t, append(early, claim(c.at)...), "busy")
				require.False(t, old.valid())
				require.NotContains(t, old.claimable(leasesAt.AddDate(1, 0, 0)), "busy", "the old engine does not find the lane again")

				runs, err := s.RunningImports(t.Context())
				require.NoError(t, err)
				require.Len(t, runs, 1)
				_, _, err = s.BeginImport(t.Context(), runs[0])
				require.NoError(t, err)
				var found int
				require.NoError(t, db.QueryRow(fmt.Sprintf(`SELECT COUNT(*) FROM scimwright_import_run
					WHERE state = 'running' AND next_at <= %d AND lease_until <= %[1]d`, leaseEnd.AddDate(1, 0, 0).UnixMilli())).Scan(&found))
				require.Zero(t, found, "the old engine does not find the import again")

				// A mark of the old engine is provisioned by the new one.
				old.exec(`INSERT INTO scimwright_app_lane
					(app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak, marks)
					VALUES ('new', 1, '', 0, %d, 0, '', 0, '', 0, 1)`, leasesAt.UnixMilli())
				require.Contains(t, claim(leasesAt), "new")
				require.NoError(t, s.Leave(t.Context(), process.ID, when(leasesAt)))
			})
		})
	}
}

// TestOpen_EarlierLeasesCut checks that a database of the previous version is unchanged after the connection was lost at any statement of
// the migration, and then gets the tables of a new database.
func TestOpen_EarlierLeasesCut(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		want := fresh(t, p.Dialect, options(p))
		loadLeases(t, p)
		db := p.Open(t)
		before := sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")
		for at := int64(1); ; at++ {
			f := &sqldbtest.Faults{At: at}
			faulty := f.Open(t, p)
			_, err := sqlstore.Open(t.Context(), faulty, options(p))
			_ = faulty.Close()
			if err == nil {
				require.Greater(t, at, int64(10), "number of statements of the migration")
				break
			}
			require.ErrorIs(t, err, sqldbtest.ErrCut)
			require.Less(t, at, int64(1000))
			require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, "sqldb_steps")), "statement %d", at)
		}
		n := names(t, db, p, options(p))
		require.Empty(t, cmp.Diff(want, sqldbtest.Described(t, db, p.Dialect, n.Schema, n.Prefix)))
	})
}

// TestJoin_SQLiteInMemory checks that a database in memory belongs to one process, too, and that a Store can join again.
func TestJoin_SQLiteInMemory(t *testing.T) {
	db, err := sql.Open("sqlite3", "file::memory:?cache=shared&_busy_timeout=5000&_txlock=immediate")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	s, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.SQLite})
	require.NoError(t, err)
	for range 2 {
		p, _, err := s.Join(t.Context(), store.Joining{Name: "one", Lease: time.Minute})
		require.NoError(t, err)
		require.Zero(t, p.Until)
		_, _, err = s.Join(t.Context(), store.Joining{Name: "two", Lease: time.Minute})
		require.ErrorIs(t, err, store.ErrInUse)
		require.NoError(t, s.Leave(t.Context(), p.ID, store.When{}))
	}
}

// TestJoin_SQLiteFile checks that a second Store on the same file cannot join, and that its error names the lock.
func TestJoin_SQLiteFile(t *testing.T) {
	p := sqldbtest.SQLitePlace(t)
	open := func(prefix string) *sqlstore.Store {
		s, err := sqlstore.Open(t.Context(), p.Open(t), sqlstore.Options{Dialect: sqlstore.SQLite, Prefix: prefix})
		require.NoError(t, err)
		return s
	}
	first, second, other := open(""), open(""), open("other_")
	joining := store.Joining{Name: "one", Lease: time.Minute}
	process, _, err := first.Join(t.Context(), joining)
	require.NoError(t, err)
	_, _, err = second.Join(t.Context(), joining)
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, "test.db.scimwright_engine.lock is locked")
	_, _, err = other.Join(t.Context(), joining)
	require.NoError(t, err, "the tables of another engine")
	require.NoError(t, second.Leave(t.Context(), process.ID, store.When{}), "only the owner ends the ownership")
	_, _, err = second.Join(t.Context(), joining)
	require.ErrorIs(t, err, store.ErrInUse)
	require.NoError(t, first.Leave(t.Context(), process.ID, store.When{}))
	_, _, err = second.Join(t.Context(), joining)
	require.NoError(t, err)
}
