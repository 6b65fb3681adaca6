package sqlstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// Recorded is called after the commit of each event, and not for a sequence without an event. EventHeads returns the last numbers.
func TestEvents_RecordedAndHeads(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		var mu sync.Mutex
		var told []string
		var s *sqlstore.Store
		o := options(p)
		o.Recorded = func(app string) {
			mu.Lock()
			defer mu.Unlock()
			heads, err := s.EventHeads(t.Context(), "", 10)
			told = append(told, fmt.Sprint(app, heads, err))
		}
		db := p.Open(t)
		s, err := sqlstore.Open(t.Context(), db, o)
		require.NoError(t, err)
		mark(t, db, s, "u-1")
		process, _, err := s.Join(t.Context(), store.Joining{Name: "a", Lease: time.Hour})
		require.NoError(t, err)
		leases, err := s.Claim(t.Context(), process.ID, time.Now(), 10)
		require.NoError(t, err)
		finish := func(remote string, op engine.Operation) {
			_, err := s.Finish(t.Context(), leases[0], store.Finish{
				Kind: engine.User, ID: "u-1", Gen: 1, Status: engine.StatusClean, RemoteID: remote, Origin: engine.Created, Operation: op,
				At: time.Now(),
			})
			require.NoError(t, err)
		}
		heads, err := s.EventHeads(t.Context(), "", 10)
		require.NoError(t, err)
		require.Empty(t, heads, "an app without events")
		finish("r1", engine.OpCreate)
		finish("r1", engine.OpNone)
		require.NoError(t, s.Hold(t.Context(), leases[0], time.Now(), engine.Hold{Kind: engine.HoldPause, Until: time.Now().Add(time.Hour)}))
		require.Equal(t, []string{"crm[{crm 1}] <nil>", "crm[{crm 2}] <nil>"}, told)

		heads, err = s.EventHeads(t.Context(), "crm", 10)
		require.NoError(t, err)
		require.Empty(t, heads)
	})
}

func TestEvents_KeepConfigured(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db, o := p.Open(t), options(p)
		o.KeepEvents = 99
		_, err := sqlstore.Open(t.Context(), db, o)
		require.ErrorContains(t, err, "KeepEvents")
		o.KeepEvents = 120
		s, err := sqlstore.Open(t.Context(), db, o)
		require.NoError(t, err)
		mark(t, db, s, "u-1")
		process, _, err := s.Join(t.Context(), store.Joining{Name: "a", Lease: time.Hour})
		require.NoError(t, err)
		leases, err := s.Claim(t.Context(), process.ID, time.Now(), 10)
		require.NoError(t, err)
		for i := range 300 {
			_, err := s.Finish(t.Context(), leases[0], store.Finish{
				Kind: engine.User, ID: "u-1", Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint("r", i), Origin: engine.Created, At: time.Now(),
				Operation: engine.OpCreate,
			})
			require.NoError(t, err)
		}
		found, err := s.Events(t.Context(), engine.EventQuery{App: "crm", Limit: 1000})
		require.NoError(t, err)
		require.Len(t, found, 120)
		require.EqualValues(t, 181, found[0].Seq)
	})
}
