package provision_test

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// changedBefore runs a function once, right before pending rows are read.
type changedBefore struct {
	store.All
	change atomic.Pointer[func()]
}

func (s *changedBefore) Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error) {
	if change := s.change.Swap(nil); change != nil {
		(*change)()
	}
	return s.All.Due(ctx, app, now, limit)
}

// Invariant 24
func TestTarget_ReadAfterPendingRows(t *testing.T) {
	before := &changedBefore{}
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	before.All = w.store
	w.engine = w.start(provision.Options{Store: before})
	w.set("u-0", user("u-0", "ann"))
	w.wait()
	w.fake.Requests()

	moved := enginetest.NewTarget()
	moved.Token = w.fake.Token
	// use up the first id, so that the new target does not assign the id of u-0 to another user
	moved.Remove("Users", moved.Add("Users", &scim.Resource{}))
	server := httptest.NewServer(moved)
	t.Cleanup(server.Close)
	change := func() {
		w.dir.SetTarget(app, func() engine.Target { next := w.target; next.BaseURL = server.URL; return next }())
		w.dir.SetUser(app, "u-1", user("u-1", "eve"))
		err := w.db.Update(context.Background(), func(tx *sqldb.Tx) error {
			return w.engine.Mark(context.Background(), tx.Execer(), userMark("u-1"))
		})
		require.NoError(t, err)
	}
	w.poll("the release", func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		require.NoError(t, err)
		return l.Owner == "" // the lane reads no pending rows until the next mark
	})
	before.change.Store(&change)
	w.mark(userMark("u-0"))
	w.wait()
	require.Empty(t, w.fake.Requests(), "the previous target")
	require.Len(t, moved.Users(), 2)
}
