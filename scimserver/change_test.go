package scimserver_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scimserver"
)

// keepingStore keeps the records that it receives, as a simple store of an embedder may do.
type keepingStore struct {
	scimserver.Store
	last *scimserver.Record
}

func (s *keepingStore) Get(ctx context.Context, typ, id string) (*scimserver.Record, error) {
	if s.last != nil {
		return s.last, nil
	}
	return s.Store.Get(ctx, typ, id)
}

func (s *keepingStore) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
	stored, err := s.Store.Replace(ctx, rec, change)
	if err != nil {
		return nil, err
	}
	kept := *stored
	kept.Previous = rec.Previous
	s.last = &kept
	return stored, nil
}

// TestPatch_PreviousNotChained checks that Record.Previous has no Previous itself. Otherwise a store that keeps records keeps all earlier
// ones.
func TestPatch_PreviousNotChained(t *testing.T) {
	s := &keepingStore{Store: newMapStore()}
	h := serve(t, s)
	path := "/Users/" + h.newUser(t, "ann").id()
	for i := range 3 {
		h.patch(t, path, op("replace", "nickName", fmt.Sprint(i))).want(t, http.StatusOK)
	}
	require.NotNil(t, s.last.Previous)
	require.Equal(t, "1", s.last.Previous.Resource.Text("nickName"))
	require.Nil(t, s.last.Previous.Previous)
}

// TestPatch_Statements counts the statements of a PATCH of one attribute: one that reads, one that updates, and two of the transaction.
func TestPatch_Statements(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		count := &sqldbtest.Faults{}
		conns := count.Open(t, p)
		t.Cleanup(func() { require.NoError(t, conns.Close()) })
		db, err := sqldb.Embed(t.Context(), conns, p.Dialect.String(), "", "")
		require.NoError(t, err)
		h := serve(t, storeOn(t, db))
		path := "/Users/" + h.newUser(t, "ann").id()
		before := count.Count.Load()
		h.patch(t, path, op("replace", "nickName", "a")).want(t, http.StatusOK)
		require.Equal(t, int64(4), count.Count.Load()-before)
	})
}
