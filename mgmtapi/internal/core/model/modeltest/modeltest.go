// Package modeltest provides tests with the storage of the management API without the API: the collections on an empty database. Tests that
// send no requests use it. Package apitest serves requests.
package modeltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Deps opens the collections on a database. now is the clock. Nil means time.Now.
func Deps(t testing.TB, db *sqldb.DB, now func() time.Time) model.Deps {
	t.Helper()
	if now == nil {
		now = time.Now
	}
	m := model.New()
	store, err := docstore.Open(t.Context(), db, now, m.Tables()...)
	require.NoError(t, err)
	return model.Deps{Model: m, Store: store, Feed: model.NewFeed(store), Now: now}
}
