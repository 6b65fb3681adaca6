package sqlstore_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

func options(p sqldbtest.Place) sqlstore.Options {
	return sqlstore.Options{Dialect: sqlstore.Dialect(p.Dialect.String())}
}

func another(t testing.TB, p sqldbtest.Place) sqldbtest.Place {
	if p.Dialect == sqldb.Postgres {
		return sqldbtest.PostgresPlace(t)
	}
	return sqldbtest.SQLitePlace(t)
}

func load(t testing.TB, p sqldbtest.Place) {
	t.Helper()
	sqldbtest.Load(t, p, "testdata/old/"+p.Dialect.String()+".sql")
}

// describe returns the result of sqldbtest.Described for the current schema.
func describe(t testing.TB, db *sql.DB, p sqldbtest.Place, in, prefix string) []string {
	t.Helper()
	if p.Dialect == sqldb.Postgres && in == "" {
		in = sqldbtest.CurrentSchema(t, db)
	}
	return sqldbtest.Described(t, db, p.Dialect, in, prefix)
}

// unnumbered removes the keyword AUTOINCREMENT from a description: the tables of resource types have it in databases of earlier versions,
// and in no new one.
func unnumbered(described []string) []string {
	return slices.DeleteFunc(described, func(line string) bool { return line == "AUTOINCREMENT" })
}

// fresh describes the tables of a new database.
func fresh(t *testing.T, p sqldbtest.Place, prefix string) []string {
	t.Helper()
	p = another(t, p)
	open(t, p)
	return unnumbered(describe(t, p.Open(t), p, "", prefix))
}

// complete checks that the store has the resources of the dumps and can be changed.
func complete(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	ann, err := s.Get(t.Context(), "User", "u-ann")
	require.NoError(t, err)
	require.Equal(t, []any{"hash", "Ann", int64(1)}, []any{ann.PasswordHash, ann.Resource.Text("userName"), ann.Order})
	require.Len(t, ann.Groups, 1)
	require.Equal(t, "Tea", ann.Groups[0].Display)
	for text, want := range map[string]int{
		`emails.value eq "ANN@example.com"`: 1, `userName eq "ann"`: 1, `externalId eq "E-1"`: 1, `userName eq "bob"`: 0,
	} {
		f, err := filter.Parse(text)
		require.NoError(t, err)
		found, exact, err := s.Select(t.Context(), scimserver.Query{Type: "User", Filter: f, Limit: 10})
		require.NoError(t, err)
		require.True(t, exact)
		require.Equal(t, want, found.Total, text)
	}
	_, err = s.Create(t.Context(), storetest.User("ANN"), nil)
	require.ErrorAs(t, err, new(*scimserver.UniqueError))
	cat, err := s.Create(t.Context(), storetest.User("cat"), nil)
	require.NoError(t, err)
	require.Greater(t, cat.Order, int64(2), "no order is reused")
	if s.AssignsIDs() {
		dan := storetest.User("dan")
		dan.ID = ""
		dan, err = s.Create(t.Context(), dan, nil)
		require.NoError(t, err)
		require.Regexp(t, "^00000000-0004-8", dan.ID)
		dan, err = s.Get(t.Context(), "User", dan.ID)
		require.NoError(t, err)
		require.Equal(t, "dan", dan.Resource.Text("userName"))
		require.NoError(t, s.Delete(t.Context(), "User", dan.ID, 0))
	}
	require.NoError(t, s.Delete(t.Context(), "User", "u-ann", 0))
	members, err := s.Members(t.Context(), "g-tea", nil)
	require.NoError(t, err)
	require.Empty(t, members)
}

func TestOpen_OldDatabases(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, first sqldbtest.Place) {
		variants := map[string]sqlstore.Options{"default": options(first)}
		if first.Dialect == sqldb.Postgres {
			variants["schema"] = sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scim of " + sqldbtest.CurrentSchema(t, first.Open(t))}
		}
		want := fresh(t, first, "scimwright_")
		require.Greater(t, len(want), 60)
		for name, o := range variants {
			t.Run(name, func(t *testing.T) {
				p := another(t, first)
				load(t, p)
				db := p.Open(t)
				var all errgroup.Group
				for range 3 { // concurrently
					all.Go(func() error {
						_, err := sqlstore.Open(t.Context(), db, o)
						return err
					})
				}
				require.NoError(t, all.Wait())
				if o.Schema == "" {
					require.Empty(t, cmp.Diff(want, unnumbered(describe(t, db, p, "", "scimwright_"))))
				} else {
					sqldbtest.DropSchema(t, db, o.Schema)
				}
				for _, prefix := range []string{"scim_", "docstore_"} {
					require.Empty(t, describe(t, db, p, "", prefix), "no table keeps its old name")
				}
				s, err := sqlstore.Open(t.Context(), db, o)
				require.NoError(t, err)
				complete(t, s)
			})
		}
	})
}

// TestOpen_CutAnywhere closes the connection at each statement of the migration in turn. Each time, the database must be unchanged.
func TestOpen_CutAnywhere(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		want := fresh(t, p, "scimwright_")
		load(t, p)
		db := p.Open(t)
		rows := []string{"scim_member", "scim_type_user", "docstore_indexes", "docstore_steady"}
		before := sqldbtest.Fingerprint(t, db, p.Dialect, rows...)
		stride := map[sqldb.Dialect]int64{sqldb.SQLite: 1, sqldb.Postgres: 4}[p.Dialect]
		for at := int64(1); ; at += stride {
			f := &sqldbtest.Faults{At: at}
			faulty := f.Open(t, p)
			_, err := sqlstore.Open(t.Context(), faulty, options(p))
			_ = faulty.Close()
			if err == nil {
				require.GreaterOrEqual(t, at, f.Count.Load())
				require.Greater(t, at, int64(30), "the statements of a migration")
				break
			}
			require.ErrorIs(t, err, sqldbtest.ErrCut)
			require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, rows...)), "statement %d", at)
		}
		require.Empty(t, cmp.Diff(want, unnumbered(describe(t, db, p, "", "scimwright_"))))
		complete(t, open(t, p))
	})
}

// TestOpen_ForeignTables opens databases with tables of other programs, among them a management API with its own resources. These tables
// must not be modified.
func TestOpen_ForeignTables(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, p sqldbtest.Place){
		"names": func(t *testing.T, p sqldbtest.Place) {
			var all []string
			for _, name := range []string{"scim_member", "scim_type_user", "users", "docstore_indexes", "docstore_outbox", "docstore_steady"} {
				all = append(all, fmt.Sprintf(`CREATE TABLE %s (collection TEXT); INSERT INTO %s VALUES ('scim_member')`, name, name))
			}
			_, err := p.Open(t).Exec(strings.Join(all, "; "))
			require.NoError(t, err)
		},
		"sandbox": func(t *testing.T, p sqldbtest.Place) {
			load(t, p)
			_, err := p.Open(t).Exec(`INSERT INTO docstore_indexes VALUES ('users', 'login', 1, 1, 0, 0)`)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
				prepare(t, p)
				db := p.Open(t)
				own := func() (all []string) {
					for _, prefix := range []string{"scim_", "docstore_", "users"} {
						all = append(all, describe(t, db, p, "", prefix)...)
					}
					for _, table := range []string{"scim_member", "scim_type_user", "docstore_indexes", "docstore_outbox", "docstore_steady"} {
						all = append(all, sqldbtest.Read(t, db, `SELECT * FROM `+table)...)
					}
					return all
				}
				before := own()
				for i := range 2 {
					_, err := open(t, p).Create(t.Context(), storetest.User(fmt.Sprint("u", i)), nil)
					require.NoError(t, err)
				}
				require.Empty(t, cmp.Diff(before, own()))
			})
		})
	}
}

func TestOpen_Errors(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		other := sqlstore.SQLite
		if p.Dialect == sqldb.SQLite {
			other = sqlstore.Postgres
		}
		for want, o := range map[string]sqlstore.Options{
			"wrong dialect: the database is " + p.Dialect.Title(): {Dialect: other},
			`unknown dialect "": use SQLite or Postgres`:          {},
			`prefix "X" is not allowed`:                           {Dialect: options(p).Dialect, Prefix: "X"},
		} {
			_, err := sqlstore.Open(t.Context(), p.Open(t), o)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "sqlstore: open: ")
		}
		for _, table := range []string{"scim_member", "scim_type_user", "docstore_indexes", "docstore_outbox", "docstore_steady"} {
			p := another(t, p)
			db := p.Open(t)
			_, err := db.Exec(`CREATE TABLE scimwright_` + table + ` (own TEXT)`)
			require.NoError(t, err)
			before := describe(t, db, p, "", "")
			_, err = sqlstore.Open(t.Context(), db, options(p))
			require.ErrorContains(t, err, "the table scimwright_"+table+" exists and belongs to another program")
			require.Empty(t, cmp.Diff(before, describe(t, db, p, "", "")))
		}
		if p.Dialect == sqldb.SQLite {
			p.DSN = strings.Replace(p.DSN, "&_foreign_keys=on", "", 1)
			_, err := sqlstore.Open(t.Context(), p.Open(t), options(p))
			require.ErrorContains(t, err, "add _foreign_keys=on")
		}
	})
	_, err := sqlstore.Open(t.Context(), nil, sqlstore.Options{Dialect: sqlstore.SQLite})
	require.ErrorContains(t, err, "a database is required")
}

// post creates a user and returns the status.
func post(t *testing.T, base string) int {
	t.Helper()
	body := `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/scim/v2/Users", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/scim+json")
	req.Header.Set("Authorization", "Bearer s3cret")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// TestOpen_PostgresExample runs what ExampleOpen_postgres shows.
func TestOpen_PostgresExample(t *testing.T) {
	p := sqldbtest.PostgresPlace(t)
	sqldbtest.DropSchema(t, p.Open(t), "scim")
	for range 2 {
		db, handler, err := openService(t.Context(), p.DSN)
		require.NoError(t, err)
		server := httptest.NewServer(handler)
		require.True(t, slices.Contains([]int{201, 409}, post(t, server.URL)))
		server.Close()
		require.NoError(t, db.Close())
	}
	require.Equal(t, []string{"1"}, sqldbtest.Column(t, p.Open(t), `SELECT COUNT(*) FROM scim.scim_type_user`))
}
