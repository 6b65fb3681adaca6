package provision_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func (w *world) reconciled() map[engine.Kind]engine.Reconciliation {
	w.t.Helper()
	out, err := w.engine.Drift().Reconcile(w.t.Context(), app)
	require.NoError(w.t, err)
	return out
}

func (w *world) active() map[string]bool {
	out := map[string]bool{}
	for _, u := range w.fake.Users() {
		out[u.Text("userName")] = plan.IsActive(u)
	}
	return out
}

// TestReconcile_FindsUnmarkedChanges checks that a reconciliation finds changes without a mark, and deprovisions no unlisted user.
func TestReconcile_FindsUnmarkedChanges(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		for _, id := range []string{"ann", "bob", "cat", "dan"} {
			w.set(id, user(id, id))
		}
		w.waitConverged()
		w.dir.SetUser(app, "ann", off("ann", "ann"))                     // a change without a mark
		w.dir.SetUser(app, "eve", user("eve", "eve"))                    // a change without a mark
		w.dir.SetUser(app, "fay", engine.UserState{Want: engine.Absent}) // never assigned
		w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
		w.dir.SetMember(app, "g", "eve", true)
		w.dir.Unlist("bob", "cat")
		w.fake.Change("Users", w.state(engine.User, "dan").RemoteID, func(r *scim.Resource) { r.Set("name", nil) })
		unmanaged := w.fake.Add("Users", account("zoe", "", ""))

		got := w.reconciled()
		require.Equal(t, []int{2, 2}, []int{got[engine.User].Unknown, got[engine.User].Unlisted})
		require.Equal(t, map[engine.DriftKind]int{engine.DriftActivity: 1, engine.DriftDiffers: 1, engine.DriftUnmanaged: 1},
			got[engine.User].Drift.Found)
		require.Equal(t, []int{2, 1}, []int{got[engine.User].Drift.Marked, got[engine.Group].Unknown})
		w.waitConverged()
		require.Empty(t, cmp.Diff(map[string]bool{"ann": false, "bob": true, "cat": true, "dan": true, "eve": true, "zoe": true}, w.active()),
			"unlisted users are not deprovisioned")
		require.Len(t, w.fake.Groups()[0].Array("members"), 1)

		got = w.reconciled()
		require.Zero(t, got[engine.User].Drift.Drifted()+got[engine.User].Unknown+got[engine.Group].Drift.Drifted()+got[engine.Group].Unknown)
		for _, u := range w.fake.Users() {
			if u.ID() == unmanaged {
				require.Empty(t, u.ExternalID())
			}
		}
	})
}

// lister is a directory that implements engine.Lister with a list that the test sets.
type lister struct {
	engine.Directory
	list func(limit int) ([]string, error)
}

func (l lister) Principals(_ context.Context, _ string, _ engine.Kind, _ string, limit int) ([]string, error) {
	return l.list(limit)
}

// requiredOnly is a directory with only the required methods.
type requiredOnly struct{ engine.Directory }

func TestDirectory_LostListDeprovisionsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		directory func(*world) engine.Directory
		fail      error
		says      string
	}{
		"an empty list": {directory: func(w *world) engine.Directory {
			return lister{w.dir, func(int) ([]string, error) { return nil, nil }}
		}},
		"an error": {directory: func(w *world) engine.Directory {
			return lister{w.dir, func(int) ([]string, error) { return nil, errors.New("the index is gone") }}
		}, says: "the directory cannot list its principals: the index is gone"},
		"a list that repeats": {directory: func(w *world) engine.Directory {
			return lister{w.dir, func(limit int) ([]string, error) {
				page := make([]string, limit)
				for i := range page {
					page[i] = fmt.Sprintf("u%04d", i)
				}
				return page, nil
			}}
		}, says: `not in ascending order ("u0000" after "u0999")`},
		"no list at all": {directory: func(w *world) engine.Directory { return requiredOnly{w.dir} }},
		"a directory that is down": {directory: func(w *world) engine.Directory {
			return w.dir
		}, fail: errors.New("the directory is down"), says: "the directory is down"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			for i := range 5 {
				w.set(fmt.Sprintf("u%03d", i), user(fmt.Sprintf("u%03d", i), fmt.Sprint("name", i)))
			}
			w.waitConverged()
			w.fake.Requests()
			e, err := provision.New(provision.Options{Store: w.store, Directory: c.directory(w)})
			require.NoError(t, err)
			w.dir.Fail(c.fail)
			_, err = e.Drift().Reconcile(t.Context(), app)
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
			w.dir.Fail(nil)
			w.engine.Wake()
			w.waitConverged()
			w.sentOnlyReads()
			for name, active := range w.active() {
				require.True(t, active, name)
			}
		})
	}
}

func TestImport_RequiresMatcher(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	e, err := provision.New(provision.Options{Store: w.store, Directory: requiredOnly{w.dir}})
	require.NoError(t, err)
	_, err = e.Imports().Start(t.Context(), app, engine.ImportRequest{})
	require.ErrorIs(t, err, engine.ErrNoMatcher)
}
