package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestPrune_ByAgeAndNumber removes exchanges and events. The remaining events have consecutive numbers.
func TestPrune_ByAgeAndNumber(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		s, err := sqlstore.Open(t.Context(), db, options(p))
		require.NoError(t, err)
		now := time.Now().Truncate(time.Millisecond)
		at := func(n int) time.Time { return now.Add(time.Duration(n-10) * time.Hour) }
		process, _, err := s.Join(t.Context(), store.Joining{Name: "a", Lease: time.Hour})
		require.NoError(t, err)
		mark(t, db, s, "u-0")
		leases, err := s.Claim(t.Context(), process.ID, time.Now(), 10)
		require.NoError(t, err)
		for n := range 10 {
			mark(t, db, s, fmt.Sprintf("u-%d", n))
			_, err := s.Finish(t.Context(), leases[0], store.Finish{
				Kind: engine.User, ID: fmt.Sprintf("u-%d", n), Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint("r", n),
				Origin: engine.Created, Operation: engine.OpCreate, At: at(n), Exchanges: []engine.Attempt{{At: at(n), Method: "POST"}},
			})
			require.NoError(t, err)
		}
		prune := func(r sqlstore.Retention) sqlstore.Pruned {
			p, err := s.Prune(t.Context(), now, r)
			require.NoError(t, err)
			return p
		}
		require.Equal(t, sqlstore.Pruned{}, prune(sqlstore.Retention{}))
		require.Equal(t, sqlstore.Pruned{Exchanges: 2, Events: 3},
			prune(sqlstore.Retention{ExchangeAge: 8*time.Hour + time.Minute, EventAge: 7*time.Hour + time.Minute}))
		require.Equal(t, sqlstore.Pruned{Exchanges: 3}, prune(sqlstore.Retention{Exchanges: 5}))
		require.Equal(t, sqlstore.Pruned{}, prune(sqlstore.Retention{Exchanges: 5, ExchangeAge: 6 * time.Hour, EventAge: 8 * time.Hour}))
		events, err := s.Events(t.Context(), engine.EventQuery{App: "crm"})
		require.NoError(t, err)
		require.Len(t, events, 7)
		require.EqualValues(t, 4, events[0].Seq)
		left, err := s.Attempts(t.Context(), engine.AttemptQuery{App: "crm"})
		require.NoError(t, err)
		require.Len(t, left, 5)
		require.Equal(t, "u-9", left[0].Principal)
	})
}

// TestForgetAbsent_CompletedOnly removes the states of absent users, except those that the engine still needs.
func TestForgetAbsent_CompletedOnly(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		s, err := sqlstore.Open(t.Context(), db, options(p))
		require.NoError(t, err)
		process, _, err := s.Join(t.Context(), store.Joining{Name: "a", Lease: time.Hour})
		require.NoError(t, err)
		var all []engine.Principal
		for _, id := range []string{"deactivated", "deleted", "failed", "pending", "unknown"} {
			all = append(all, engine.Principal{Kind: engine.User, ID: id})
			if id != "unknown" {
				mark(t, db, s, id)
			}
		}
		leases, err := s.Claim(t.Context(), process.ID, time.Now(), 10)
		require.NoError(t, err)
		for id, f := range map[string]store.Finish{
			"deactivated": {Status: engine.StatusClean, RemoteID: "r2", Origin: engine.Created},
			"deleted":     {Status: engine.StatusClean},
			"failed":      {Status: engine.StatusFailed},
		} {
			f.Kind, f.ID, f.Gen, f.At = engine.User, id, 1, time.Now()
			f.Exchanges = []engine.Attempt{{At: time.Now(), Method: "POST"}}
			_, err := s.Finish(t.Context(), leases[0], f)
			require.NoError(t, err)
		}
		var done []engine.Principal
		require.NoError(t, inTx(t.Context(), db, func(tx engine.Execer) (err error) {
			done, err = s.ForgetAbsent(t.Context(), tx, "crm", all...)
			return err
		}))
		var ids []string
		for _, p := range done {
			ids = append(ids, p.ID)
		}
		require.Equal(t, []string{"deactivated", "deleted", "unknown"}, ids)
		for id, left := range map[string]int{"deactivated": 1, "deleted": 0} {
			attempts, err := s.Attempts(t.Context(), engine.AttemptQuery{App: "crm", Kind: engine.User, Principal: id})
			require.NoError(t, err)
			require.Len(t, attempts, left, id)
		}
	})
}
