package mgmtapi_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi"
)

// afterDumps is a time soon after the dumps were made. Requests for the log return the last seven days, and events are kept for 90 days.
var afterDumps = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

// placed returns options with a database, a clock that starts soon after the dumps were made, and no others.
func placed(t testing.TB, p sqldbtest.Place) (o mgmtapi.Options) {
	begun := time.Now()
	o.Now = func() time.Time { return afterDumps.Add(time.Since(begun)) }
	o.Logger, o.Limits.Off = slog.New(slog.DiscardHandler), true
	o.Secrets, o.HashCost = []byte(strings.Repeat("k", mgmtapi.SecretSize)), 4
	o.DB, o.Dialect = p.Open(t), mgmtapi.Dialect(p.Dialect.String())
	return o
}

func another(t testing.TB, p sqldbtest.Place) sqldbtest.Place {
	if p.Dialect == sqldb.Postgres {
		return sqldbtest.PostgresPlace(t)
	}
	return sqldbtest.SQLitePlace(t)
}

// describe returns the result of sqldbtest.Described for the current schema.
func describe(t testing.TB, db *sql.DB, p sqldbtest.Place, prefix string) []string {
	t.Helper()
	in := ""
	if p.Dialect == sqldb.Postgres {
		in = sqldbtest.CurrentSchema(t, db)
	}
	return sqldbtest.Described(t, db, p.Dialect, in, prefix)
}

// old returns a database of an earlier version.
func old(t testing.TB, p sqldbtest.Place) sqldbtest.Place {
	t.Helper()
	p = another(t, p)
	sqldbtest.Load(t, p, "testdata/old/"+p.Dialect.String()+".sql")
	return p
}

// fresh returns the description of the tables of a new database.
func fresh(t *testing.T, p sqldbtest.Place, change ...func(o *mgmtapi.Options)) []string {
	t.Helper()
	o := placed(t, another(t, p))
	for _, c := range change {
		c(&o)
	}
	opened(t, o)
	return describe(t, o.DB, p, "")
}

// complete checks that the API serves the content of the dumps and accepts new requests.
func complete(t *testing.T, o mgmtapi.Options) {
	t.Helper()
	for range 2 { // first on the tables of the earlier version, then on the migrated tables
		api := opened(t, o)
		for what, want := range map[string]string{
			"GET /api/v1/users/ada@example.com":        `"lastName":"Lovelace"`,
			"GET /api/v1/users/ada@example.com/groups": `"name":"Tea"`,
			"GET /api/v1/apps?q=Notes":                 `"label":"Notes"`,
			"GET /api/v1/logs?limit=1000":              `"eventType":"group.user_membership.add"`,
		} {
			status, body := do(t, api, what, adminToken, "")
			require.Equal(t, 200, status, body)
			require.Contains(t, body, want)
		}
		status, body := do(t, api, "POST /api/v1/users", adminToken, ada)
		require.Equal(t, 400, status, body)
		require.Contains(t, body, "login: An object with this field already exists")
		status, body = do(t, api, "POST /api/v1/authn", "", `{"username":"ada@example.com","password":"Abcd1234"}`)
		require.Equal(t, 200, status, body)
	}
	create(t, opened(t, o), "POST /api/v1/users", strings.ReplaceAll(ada, "ada@", "eve@"))
}

func TestOpen_OldDatabases(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		want := fresh(t, first)
		require.Greater(t, len(want), 400)
		t.Run("default", func(t *testing.T) {
			p := old(t, first)
			o := placed(t, p)
			var all errgroup.Group
			for range 3 { // concurrently
				all.Go(func() error {
					api, err := mgmtapi.Open(t.Context(), o)
					if err == nil {
						err = api.Close()
					}
					return err
				})
			}
			require.NoError(t, all.Wait())
			require.Empty(t, cmp.Diff(want, describe(t, o.DB, p, "")), "no table keeps its old name")
			complete(t, o)
		})
		t.Run("no prefix", func(t *testing.T) {
			p := old(t, first)
			o := placed(t, p)
			want := fresh(t, first, func(o *mgmtapi.Options) { o.NoPrefix = true })
			o.NoPrefix = true
			complete(t, o)
			require.Empty(t, cmp.Diff(want, describe(t, o.DB, p, "")))
		})
		if first.Dialect != sqldb.Postgres {
			return
		}
		for name, change := range map[string]func(o *mgmtapi.Options){
			"schema": func(*mgmtapi.Options) {}, "schema and prefix": func(o *mgmtapi.Options) { o.Prefix = "m_" },
			"schema without prefix": func(o *mgmtapi.Options) { o.NoPrefix = true },
		} {
			t.Run(name, func(t *testing.T) {
				p := old(t, first)
				o := placed(t, p)
				o.Schema = "api of " + sqldbtest.CurrentSchema(t, o.DB)
				change(&o)
				sqldbtest.DropSchema(t, o.DB, o.Schema)
				complete(t, o)
				require.Empty(t, describe(t, o.DB, p, ""), "all tables have moved")
				require.Len(t, sqldbtest.Described(t, o.DB, p.Dialect, o.Schema, o.Prefix), len(want))
			})
		}
	})
}

// TestOpen_CutAnywhere closes the connection at statements of the migration, one after the other. The database must remain unchanged each
// time.
func TestOpen_CutAnywhere(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		want := fresh(t, p)
		p = old(t, p)
		db := p.Open(t)
		rows := []string{"users", "memberships", "apps", "docstore_indexes", "docstore_steady", "docstore_outbox"}
		before := sqldbtest.Fingerprint(t, db, p.Dialect, rows...)
		stride := map[sqldb.Dialect]int64{sqldb.SQLite: 29, sqldb.Postgres: 131}[p.Dialect]
		if alltest.All() {
			stride = map[sqldb.Dialect]int64{sqldb.SQLite: 1, sqldb.Postgres: 4}[p.Dialect]
		}
		for at := int64(1); ; at += stride {
			f := &sqldbtest.Faults{At: at}
			o := placed(t, p)
			o.DB = f.Open(t, p)
			api, err := mgmtapi.Open(t.Context(), o)
			if err == nil {
				require.NoError(t, api.Close())
				require.NoError(t, o.DB.Close())
				require.GreaterOrEqual(t, at, f.Count.Load())
				require.Greater(t, at, int64(400), "the statements of a migration")
				break
			}
			_ = o.DB.Close()
			require.ErrorIs(t, err, sqldbtest.ErrCut)
			require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, rows...)), "statement %d", at)
		}
		require.Empty(t, cmp.Diff(want, describe(t, db, p, "")))
		complete(t, placed(t, p))
	})
}

// TestOpen_ForeignTables opens databases with tables of other programs that have the names of the API's tables without a prefix.
func TestOpen_ForeignTables(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		o := placed(t, p)
		names := []string{"users", "groups", "apps", "sessions", "plan", "docstore_indexes", "docstore_outbox", "docstore_steady"}
		for _, name := range names {
			_, err := o.DB.Exec(`CREATE TABLE ` + name + ` (collection TEXT); INSERT INTO ` + name + ` VALUES ('users')`)
			require.NoError(t, err)
		}
		own := func() (all []string) {
			for _, name := range names {
				all = append(all, describe(t, o.DB, p, name)...)
				all = append(all, sqldbtest.Read(t, o.DB, `SELECT * FROM `+name)...)
			}
			return all
		}
		before := own()
		first := opened(t, o)
		create(t, first, "POST /api/v1/users", ada)
		second := o
		second.Prefix = "other_"
		create(t, opened(t, second), "POST /api/v1/users", ada) // accepted, because the two APIs do not share users
		status, body := do(t, opened(t, o), "GET /api/v1/users/ada@example.com", adminToken, "")
		require.Equal(t, 200, status, body)
		require.NoError(t, first.Reset(t.Context(), mgmtapi.Setup{Token: adminToken}, nil))
		status, _ = do(t, opened(t, o), "GET /api/v1/users/ada@example.com", adminToken, "")
		require.Equal(t, 404, status)
		status, _ = do(t, opened(t, second), "GET /api/v1/users/ada@example.com", adminToken, "")
		require.Equal(t, 200, status)
		require.Empty(t, cmp.Diff(before, own()))

		third := o
		third.NoPrefix = true
		_, err := mgmtapi.Open(t.Context(), third)
		require.ErrorContains(t, err, "the table docstore_indexes exists and belongs to another program")
		require.Empty(t, cmp.Diff(before, own()))
	})
}

// TestOpen_MixedTables opens a database that an earlier version shared with SCIM servers. Open must not move any table.
func TestOpen_MixedTables(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		p = old(t, p)
		o := placed(t, p)
		_, err := o.DB.Exec(`INSERT INTO docstore_indexes VALUES ('scim_type_user', 'login', 1, 1, 0, 0)`)
		require.NoError(t, err)
		before := describe(t, o.DB, p, "")
		_, err = mgmtapi.Open(t.Context(), o)
		require.ErrorContains(t, err, "set Options.NoPrefix")
		require.Empty(t, cmp.Diff(before, describe(t, o.DB, p, "")))
		o.NoPrefix = true
		complete(t, o)
	})
}

func TestOpen_Names(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		for want, change := range map[string]func(o *mgmtapi.Options){
			`prefix "X" is not allowed`:           func(o *mgmtapi.Options) { o.Prefix = "X" },
			"Options.Prefix and Options.NoPrefix": func(o *mgmtapi.Options) { o.Prefix, o.NoPrefix = "x_", true },
		} {
			o := placed(t, p)
			change(&o)
			_, err := mgmtapi.Open(t.Context(), o)
			require.ErrorContains(t, err, want)
		}
		if p.Dialect == sqldb.SQLite {
			o := placed(t, p)
			o.Schema = "api"
			_, err := mgmtapi.Open(t.Context(), o)
			require.ErrorContains(t, err, "a schema is for PostgreSQL; use a prefix")
		}
	})
}
