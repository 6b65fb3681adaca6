package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestUpgrade_MissingStepsOnly(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db, err := sqldb.Embed(t.Context(), p.Open(t), p.Dialect.String(), "", "")
		require.NoError(t, err)
		upgrade := func(s sqldb.Steps) error {
			return db.Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Upgrade(t.Context(), s) })
		}
		first := sqldb.Steps{Name: "a", Texts: []string{`CREATE TABLE {one} (id KEY PRIMARY KEY)`}, First: "one"}
		second := first
		second.Texts = append(second.Texts[:1:1], `CREATE TABLE {two} (id KEY PRIMARY KEY)`)
		require.NoError(t, upgrade(first))
		require.NoError(t, upgrade(second))
		require.NoError(t, upgrade(second))
		require.ErrorContains(t, upgrade(first), "a newer version changed the database")
		changed := second
		changed.Texts = []string{`CREATE TABLE {one} (id KEY)`, second.Texts[1]}
		require.ErrorContains(t, upgrade(changed), "step 1 of a was changed")
		require.NoError(t, upgrade(sqldb.Steps{Name: "b", Texts: []string{`CREATE TABLE {three} (id KEY)`}, First: "three"}))
		require.ErrorContains(t, upgrade(sqldb.Steps{Name: "c", Texts: []string{`CREATE TABLE {one} (id KEY)`}, First: "one"}),
			"was not created by this module")
	})
}
