package desired_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestPrune_DeletedObjects removes versions by age and by number, and keeps those whose deletion the engine has not completed.
func TestPrune_DeletedObjects(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		now := time.Now()
		s := open(t, db, func(o *desired.Options) { o.Now = func() time.Time { return now } })
		s.Attach(&recorder{})
		for _, id := range []string{"crm", "old"} {
			_, err := s.PutApp(t.Context(), app(id, 1))
			require.NoError(t, err)
		}
		put := func(id string, version int64, want engine.Want) (desired.Result, error) {
			return s.PutUser(t.Context(), "crm", desired.User{ID: id, Version: version, Want: want, Resource: resource(id, id)})
		}
		pending := map[string]bool{"u-3": true}
		forget := func(_ context.Context, _ engine.Execer, app string, all ...engine.Principal) (gone []engine.Principal, _ error) {
			require.Equal(t, "crm", app)
			for _, p := range all {
				if !pending[p.ID] {
					gone = append(gone, p)
				}
			}
			return gone, nil
		}
		for _, id := range []string{"u-1", "u-2", "u-3", "u-4"} {
			_, err := put(id, 5, engine.Absent)
			require.NoError(t, err)
			now = now.Add(time.Minute)
		}
		_, err := put("u-5", 5, engine.Active)
		require.NoError(t, err)
		_, err = s.PutGroup(t.Context(), "crm", desired.Group{ID: "g-1", Version: 5, Want: engine.Active, DisplayName: "g"})
		require.NoError(t, err)
		_, err = s.PutMembers(t.Context(), "crm", desired.Members{Group: "g-1", Version: 1, Users: []string{"u-5"}})
		require.NoError(t, err)
		_, err = s.PutGroup(t.Context(), "crm", desired.Group{ID: "g-1", Version: 6, Want: engine.Absent})
		require.NoError(t, err)
		_, err = s.DeleteApp(t.Context(), "old", 9)
		require.NoError(t, err)

		prune := func(r desired.Retention) int64 {
			r.Forget = forget
			n, err := s.Prune(t.Context(), r)
			require.NoError(t, err)
			return n
		}
		require.Zero(t, prune(desired.Retention{Age: time.Hour, Deleted: 1}), "nothing is old enough")
		_, err = put("u-1", 4, engine.Active)
		require.ErrorAs(t, err, new(*desired.StaleError))
		now = now.Add(56*time.Minute + 30*time.Second)
		require.EqualValues(t, 1, prune(desired.Retention{Deleted: 2}), "u-1; the others are younger than an hour")
		now = now.Add(time.Hour)
		require.EqualValues(t, 4, prune(desired.Retention{Age: time.Hour}), "u-2, u-4, g-1 and the app")
		require.Zero(t, prune(desired.Retention{Age: time.Hour}))
		pending = nil
		require.EqualValues(t, 1, prune(desired.Retention{Age: time.Hour}))
		result, err := put("u-1", 4, engine.Active)
		require.NoError(t, err)
		require.Equal(t, desired.Applied, result)
		changed, err := s.PutApp(t.Context(), app("old", 1))
		require.NoError(t, err)
		require.True(t, changed)
		members, err := s.Members(t.Context(), "crm", "g-1", "", 10)
		require.NoError(t, err)
		require.Empty(t, members)
		user, err := s.StoredUser(t.Context(), "crm", "u-5")
		require.NoError(t, err)
		require.Equal(t, engine.Active, user.Want)
	})
}
