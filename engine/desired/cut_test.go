package desired_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestWrite_CutAtEachStatement closes the connection at each statement of a write. Afterwards either the changes and their marks are
// stored, or neither, and a repetition of the write completes it.
func TestWrite_CutAtEachStatement(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		dialect := sqlstore.Dialect(p.Dialect.String())
		var faults sqldbtest.Faults
		faulty := faults.Open(t, p)
		t.Cleanup(func() { _ = faulty.Close() }) // reports a connection that was cut
		db := p.Open(t)
		s, err := desired.Open(t.Context(), faulty, desired.Options{Dialect: dialect})
		require.NoError(t, err)
		store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: dialect})
		require.NoError(t, err)
		e, err := provision.New(provision.Options{Store: store, Directory: s})
		require.NoError(t, err)
		s.Attach(e)
		lines := strings.Join([]string{
			`{"op":"putUser","id":"u-1","version":1,"want":"active","resource":{"userName":"ann"}}`,
			`{"op":"putGroup","id":"g-1","version":1,"want":"active","displayName":"Sales"}`,
			`{"op":"putMembers","id":"g-1","version":1,"members":["u-1"]}`,
		}, "\n")
		cut := 0
		for ; ; cut++ {
			name := "app-" + strings.Repeat("x", cut+1)
			_, err := s.PutApp(t.Context(), app(name, 1))
			require.NoError(t, err)
			faults.At = faults.Count.Load() + 1 + int64(cut)
			_, err = s.Batch(t.Context(), name, strings.NewReader(lines), desired.BatchOptions{})
			faults.At = 0
			user, failed := s.User(t.Context(), name, "u-1")
			require.NoError(t, failed)
			members, failed := s.Members(t.Context(), name, "g-1", "", 10)
			require.NoError(t, failed)
			for id, kind := range map[string]engine.Kind{"u-1": engine.User, "g-1": engine.Group} {
				_, unmarked := e.State(t.Context(), name, kind, id)
				require.Equal(t, user.Want == engine.Active, !errors.Is(unmarked, engine.ErrNotFound), "statement %d: %v", cut, err)
			}
			require.Equal(t, user.Want == engine.Active, len(members) == 1)
			report, failed := s.Batch(t.Context(), name, strings.NewReader(lines), desired.BatchOptions{})
			require.NoError(t, failed)
			require.Equal(t, 3, report.Applied+report.Unchanged)
			if err == nil {
				break
			}
			require.Equal(t, engine.Absent, user.Want, "a failed write is not stored")
		}
		require.Greater(t, cut, 10)
	})
}
