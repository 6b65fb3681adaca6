package provision_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func (w *world) tasks() []engine.Task {
	w.t.Helper()
	out, err := w.engine.Tasks().List(w.t.Context(), engine.TaskQuery{App: app})
	require.NoError(w.t, err)
	return out
}

// TestTasks_ShowFailure checks that a task has the error of the target until a retry succeeds or an operator dismisses it.
func TestTasks_ShowFailure(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.fake.Inject(enginetest.Fault{Method: "POST", Status: 400, Times: -1})
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		row := w.state(engine.User, "u-1")
		require.Empty(t, cmp.Diff([]engine.Task{{
			App: app, Kind: engine.User, ID: "u-1", Status: engine.StatusFailed, Operation: engine.OpCreate, HTTP: 400,
			Error: row.LastError, Since: row.DirtySince, Attempts: 1,
		}}, w.tasks()))
		require.Contains(t, row.LastError, "injected 400", "the target's message")
		require.NotZero(t, row.DirtySince)

		require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
		w.wait()
		require.Len(t, w.tasks(), 1, "the target still rejects it")
		require.NoError(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"))
		require.Empty(t, w.tasks())
		require.ErrorIs(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"), engine.ErrStale)
		require.ErrorIs(t, w.engine.Tasks().Retry(t.Context(), app, engine.Group, "u-1"), engine.ErrNotFound)
		counts, err := w.engine.Apps().Counts(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, map[engine.Status]int{engine.StatusDismissed: 1}, counts)

		w.fake.ClearFaults()
		w.mark(userMark("u-1"))
		w.wait()
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	})
}

func TestTasks_RetryAll(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 400, Times: -1})
	const users = 520 // more users than one transaction of RetryAll marks
	var marks []engine.Mark
	for i := range users {
		id := fmt.Sprintf("u-%03d", i)
		w.dir.SetUser(app, id, user(id, id))
		marks = append(marks, userMark(id))
	}
	w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "crew"})
	w.mark(append(marks, engine.Mark{App: app, Kind: engine.Group, ID: "g-1"})...)
	w.wait()
	w.fake.ClearFaults()
	n, err := w.engine.Tasks().RetryAll(t.Context(), app)
	require.NoError(t, err)
	require.Equal(t, users+1, n)
	w.wait()
	require.Len(t, w.fake.Users(), users)
	require.Empty(t, w.tasks())
}

func TestWaitFor_ReturnsDismissed(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 400, Times: -1})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.NoError(t, w.engine.Tasks().Dismiss(t.Context(), app, engine.User, "u-1"))
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	row, err := w.engine.WaitFor(ctx, app, engine.User, "u-1")
	require.NoError(t, err)
	require.Equal(t, engine.StatusDismissed, row.Status)
}
