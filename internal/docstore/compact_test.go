package docstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// employee is the document of the databases in testdata/layout1.
type employee struct {
	Name  string   `json:"name"`
	Alias string   `json:"alias,omitempty"`
	Mails []string `json:"mails,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

func newStaff() docstore.Collection[employee] {
	values := func(texts ...string) (out []any) {
		for _, text := range texts {
			if text != "" {
				out = append(out, text)
			}
		}
		return out
	}
	return docstore.NewCollection("staff",
		docstore.Index[employee]{Name: "name", Unique: true, Values: func(e *employee) []any { return values(e.Name) }},
		docstore.Index[employee]{Name: "alias", Values: func(e *employee) []any { return values(e.Alias) }},
		docstore.Index[employee]{Name: "mails", Multi: true, Values: func(e *employee) []any { return values(e.Mails...) }},
		docstore.Index[employee]{Name: "keys", Unique: true, Multi: true, Values: func(e *employee) []any { return values(e.Keys...) }},
		docstore.Index[employee]{Name: "size", Kind: docstore.Int, Values: func(e *employee) []any { return []any{len(e.Name)} }},
	)
}

// openStaff opens the store at p, on connections that the caller may make fail.
func openStaff(t *testing.T, p sqldbtest.Place, faults *sqldbtest.Faults) (*docstore.Store, docstore.Collection[employee], error) {
	t.Helper()
	conns := faults.Open(t, p)
	t.Cleanup(func() { _ = conns.Close() })
	db, err := sqldb.Embed(t.Context(), conns, p.Dialect.String(), "", "")
	if err != nil {
		return nil, nil, err
	}
	staff := newStaff()
	store, err := docstore.Open(t.Context(), db, nil, staff)
	return store, staff, err
}

// TestOpen_FirstLayout closes the connection at each statement of the migration in turn. Each time, the database must be unchanged. At the
// end it must equal a new one, and every index must work.
func TestOpen_FirstLayout(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		describe := func(p sqldbtest.Place) []string {
			db, schema := p.Open(t), ""
			if p.Dialect == sqldb.Postgres {
				schema = sqldbtest.CurrentSchema(t, db)
			}
			return append(sqldbtest.Described(t, db, p.Dialect, schema, "scimwright_"),
				sqldbtest.Read(t, db, "SELECT * FROM scimwright_docstore_indexes ORDER BY name")...)
		}
		empty := sqldbtest.SQLitePlace(t)
		if p.Dialect == sqldb.Postgres {
			empty = sqldbtest.PostgresPlace(t)
		}
		_, _, err := openStaff(t, empty, &sqldbtest.Faults{})
		require.NoError(t, err)
		want := describe(empty)

		sqldbtest.Load(t, p, "testdata/layout1/"+p.Dialect.String()+".sql")
		require.NotEmpty(t, cmp.Diff(want, describe(p)))
		rows := []string{"scimwright_docstore_indexes", "scimwright_docstore_steady", "scimwright_staff", "scimwright_staff__mails",
			"scimwright_staff__keys"}
		db := p.Open(t)
		before := sqldbtest.Fingerprint(t, db, p.Dialect, rows...)
		for at := int64(1); ; at++ {
			faults := &sqldbtest.Faults{At: at}
			_, _, err := openStaff(t, p, faults)
			if err == nil {
				require.GreaterOrEqual(t, at, faults.Count.Load())
				break
			}
			require.ErrorIs(t, err, sqldbtest.ErrCut)
			require.Empty(t, cmp.Diff(before, sqldbtest.Fingerprint(t, db, p.Dialect, rows...)), "statement %d", at)
		}
		require.Empty(t, cmp.Diff(want, describe(p)))

		store, staff, err := openStaff(t, p, &sqldbtest.Faults{})
		require.NoError(t, err)
		for _, c := range []struct {
			cond docstore.Cond
			want []string
		}{
			{docstore.Eq("mails", "all@x"), []string{"1", "2"}},
			{docstore.Eq("keys", "k3"), []string{"2"}},
			{docstore.Eq("alias", "a"), []string{"1", "3"}},
			{docstore.Eq("name", "cat"), []string{"3"}},
			{docstore.Eq("size", 3), []string{"1", "2", "3"}},
		} {
			page, err := staff.Query(t.Context(), store.Reader(), docstore.Query[employee]{Where: c.cond, Limit: 9})
			require.NoError(t, err)
			var ids []string
			for _, doc := range page.Docs {
				ids = append(ids, doc.ID)
			}
			require.Equal(t, c.want, ids, "%v", c.cond)
		}
		update := func(fn func(tx *docstore.Tx) error) error { return store.Update(t.Context(), fn) }
		insert := func(tx *docstore.Tx) error {
			_, err := staff.Insert(t.Context(), tx, "4", employee{Name: "dan", Keys: []string{"k2"}})
			return err
		}
		require.ErrorIs(t, update(insert), docstore.ErrUnique)
		require.NoError(t, update(func(tx *docstore.Tx) error { return staff.Delete(t.Context(), tx, "2") }))
		require.NoError(t, update(insert), "the values of a deleted document are free")
		require.Equal(t, []string{"all@x", "ann@x"}, sqldbtest.Column(t, db, "SELECT k FROM scimwright_staff__mails ORDER BY k"))
	})
}
