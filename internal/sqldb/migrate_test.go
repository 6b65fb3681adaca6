package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestApply(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		apply := func(text string) error {
			return db.Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), text) })
		}
		require.NoError(t, apply(`CREATE TABLE a (v TEXT);
			-- a semicolon; in a comment
			INSERT INTO a (v) VALUES (';'); ;`))
		require.Error(t, apply("CREATE TABLE c (v TEXT); nonsense"))
		var v string
		require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT v FROM a`).Scan(&v))
		require.Equal(t, ";", v)
		require.Error(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM c`).Scan(&v), "a failed update leaves nothing")
	})
}

func TestEmbedded_Names(t *testing.T) {
	for _, c := range []struct {
		dialect        sqldb.Dialect
		schema, prefix string
		want           sqldb.Names
		err            string
	}{
		{dialect: sqldb.SQLite, want: sqldb.Names{Prefix: "scimwright_"}},
		{dialect: sqldb.Postgres, want: sqldb.Names{Prefix: "scimwright_"}},
		{dialect: sqldb.Postgres, schema: `My "own"`, want: sqldb.Names{Schema: `My "own"`}},
		{dialect: sqldb.Postgres, schema: "s", prefix: "p_1", want: sqldb.Names{Schema: "s", Prefix: "p_1"}},
		{dialect: sqldb.SQLite, prefix: "x", want: sqldb.Names{Prefix: "x"}},
		{dialect: sqldb.SQLite, schema: "s", err: "a schema is for PostgreSQL"},
		{dialect: sqldb.SQLite, prefix: "Upper_", err: `prefix "Upper_" is not allowed`},
		{dialect: sqldb.SQLite, prefix: "1_", err: "start with a letter"},
		{dialect: sqldb.SQLite, prefix: "_x", err: "start with a letter"},
		{dialect: sqldb.SQLite, prefix: "a-b", err: "lowercase letters"},
		{dialect: sqldb.SQLite, prefix: `a"b`, err: "lowercase letters"},
		{dialect: sqldb.SQLite, prefix: "a;--", err: "lowercase letters"},
		{dialect: sqldb.SQLite, prefix: "é_", err: "lowercase letters"},
		{dialect: sqldb.SQLite, prefix: "a\n", err: "lowercase letters"},
		{dialect: sqldb.SQLite, prefix: "sqlite_x_", err: "reserved"},
		{dialect: sqldb.Postgres, prefix: "pg_x_", err: "reserved"},
		{dialect: sqldb.Postgres, prefix: "a23456789012345678901", err: "longer than 20 bytes"},
		{dialect: sqldb.Postgres, schema: "pg_catalog", err: "reserved by PostgreSQL"},
		{dialect: sqldb.Postgres, schema: "information_schema", err: "reserved by PostgreSQL"},
		{dialect: sqldb.Postgres, schema: "a\x00", err: "not a name"},
	} {
		names, err := sqldb.Embedded(c.dialect, c.schema, c.prefix)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, names)
	}
}

func TestCheck_WrongDialect(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		other := sqldb.SQLite + sqldb.Postgres - db.Dialect()
		require.NoError(t, sqldb.Check(t.Context(), db.Readers(), db.Dialect()))
		err := sqldb.Check(t.Context(), db.Readers(), other)
		require.ErrorIs(t, err, sqldb.ErrDialect)
		require.EqualError(t, err, "wrong dialect: the database is "+db.Dialect().Title()+", the options say "+other.Title())
	})
}

// TestTakeOver_RenamesTableObjects moves tables to a prefix, and on PostgreSQL to another schema, and then uses their indexes, constraints
// and sequences.
func TestTakeOver_RenamesTableObjects(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		raw := p.Open(t)
		base, err := sqldb.New(sqldb.Options{Dialect: p.Dialect, Writer: raw})
		require.NoError(t, err)
		names, err := sqldb.Names{Prefix: "x_"}.Located(t.Context(), raw, p.Dialect)
		require.NoError(t, err)
		old := names.Schema
		require.NoError(t, base.Update(t.Context(), func(tx *sqldb.Tx) error {
			return tx.Apply(t.Context(), `
				CREATE TABLE t (seq `+base.Dialect().SerialKey()+`, v TEXT NOT NULL, CONSTRAINT t_v CHECK (v <> ''));
				CREATE UNIQUE INDEX t_once ON t (v) WHERE v <> '?{t}';
				CREATE INDEX own ON t (v);
				CREATE TABLE t__side (seq BIGINT NOT NULL REFERENCES t (seq) ON DELETE CASCADE);
				CREATE TABLE t_other (v TEXT);
				INSERT INTO t (v) VALUES ('a');
				INSERT INTO t__side (seq) VALUES (1)`)
		}))
		if base.Dialect() == sqldb.Postgres {
			names.Schema += ` "%d`
			t.Cleanup(func() {
				_, err := raw.Exec("DROP SCHEMA " + sqldb.Quote(names.Schema) + " CASCADE")
				require.NoError(t, err)
			})
		}
		db, err := sqldb.New(sqldb.Options{Dialect: p.Dialect, Writer: raw, Names: names})
		require.NoError(t, err)
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			if err := tx.CreateSchema(t.Context()); err != nil {
				return err
			}
			return tx.TakeOver(t.Context(), old, "t", "t__side")
		}))
		insert := func(v string) error {
			return db.Update(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO {t} (v) VALUES (?)`, v)
				return err
			})
		}
		err = insert("a")
		require.ErrorIs(t, err, sqldb.ErrUnique)
		require.NotContains(t, err.Error(), "x_", "names are those of the statements")
		require.NoError(t, insert("b"), "the sequence continues")
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			return tx.Apply(t.Context(), `DELETE FROM {t} WHERE v = 'a'; DROP INDEX {t_once}; CREATE INDEX {.t_once} ON {t} (v)`)
		}))
		var n int
		require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM {t__side}`).Scan(&n))
		require.Zero(t, n, "the foreign key follows")
		require.NoError(t, base.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM t_other`).Scan(&n), "that is another table")
		require.Error(t, base.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM t`).Scan(&n))
	})
}

func TestTx_HasTable(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		raw := p.Open(t)
		for _, names := range []sqldb.Names{{}, {Prefix: "p_"}} {
			db, err := sqldb.New(sqldb.Options{Dialect: p.Dialect, Writer: raw, Names: names})
			require.NoError(t, err)
			require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), "CREATE TABLE {there"+names.Prefix+"} (v TEXT)")
				return err
			}))
			for name, want := range map[string]bool{"there" + names.Prefix: true, "here": false, "there_": false} {
				require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
					have, err := tx.HasTable(t.Context(), name)
					require.Equal(t, want, have, name)
					return err
				}))
			}
		}
	})
}
