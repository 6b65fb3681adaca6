package provision_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// required is a store without capabilities.
type required struct{ store.Store }

// limited returns a world whose engine has a store without capabilities.
func limited(t *testing.T) *world {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	w.engine = w.start(provision.Options{Store: required{w.store}})
	return w
}

func TestStore_RequiredMethodsProvision(t *testing.T) {
	w := limited(t)
	w.set("u-1", user("u-1", "ann"))
	w.set("u-2", user("u-2", "bob"))
	w.wait()
	require.Len(t, w.fake.Users(), 2)

	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "crew"})
	w.dir.SetMember(app, "g", "u-1", true)
	w.dir.SetMember(app, "g", "u-2", true)
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", AllMembers: true})
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.Group, "g").Status)
	require.Len(t, w.fake.Groups(), 1)
	require.ElementsMatch(t, []string{"ann", "bob"}, w.members())

	gone := user("u-1", "ann")
	gone.Want = engine.Inactive
	w.set("u-1", gone)
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	require.Equal(t, engine.OpDeactivate, w.state(engine.User, "u-1").LastOperation)

	ctx := t.Context()
	s, err := w.engine.WaitFor(ctx, app, engine.User, "u-2")
	require.NoError(t, err)
	require.Equal(t, engine.StatusClean, s.Status)
	n, err := w.engine.Apps().Pending(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = w.engine.Apps().Get(ctx, app)
	require.NoError(t, err)
	require.NoError(t, w.engine.Apps().Kick(ctx, app))
	halts, err := w.engine.Apps().Halts(ctx, app)
	require.NoError(t, err)
	require.Empty(t, halts)
	waiting, err := w.engine.Tasks().Waiting(ctx, app, 10)
	require.NoError(t, err)
	require.Empty(t, waiting)
	require.NoError(t, w.engine.Targets().Test(ctx, w.target))
}

func TestStore_MissingCapability(t *testing.T) {
	w := limited(t)
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	e := w.engine
	unlisted := map[string]bool{} // methods of handles that are not in the table
	for _, handle := range []reflect.Type{
		reflect.TypeFor[provision.Apps](), reflect.TypeFor[provision.Tasks](), reflect.TypeFor[provision.Traces](),
		reflect.TypeFor[provision.Plans](), reflect.TypeFor[provision.Imports](), reflect.TypeFor[provision.Drift](),
		reflect.TypeFor[provision.Targets](),
	} {
		for m := range handle.Methods() {
			unlisted[handle.Name()+"."+m.Name] = true
		}
	}
	apps, tasks, traces, plans, imports, drift, targets := e.Apps(), e.Tasks(), e.Traces(), e.Plans(), e.Imports(), e.Drift(), e.Targets()
	for name, c := range map[string]struct {
		lacks string
		call  func(ctx context.Context) error
	}{
		"MarkAll": {"MarkAll", func(ctx context.Context) error {
			_, err := e.MarkAll(ctx, nil, engine.MarkAll{App: app})
			return err
		}},
		"Apps.Lag":     {"Lags", func(ctx context.Context) error { _, err := apps.Lag(ctx, app); return err }},
		"Apps.Lags":    {"Lags", func(ctx context.Context) error { _, err := apps.Lags(ctx); return err }},
		"Apps.Counts":  {"Counts", func(ctx context.Context) error { _, err := apps.Counts(ctx, app); return err }},
		"Apps.Halt":    {"Halts", func(ctx context.Context) error { return apps.Halt(ctx, app, "") }},
		"Apps.Resume":  {"Halts", func(ctx context.Context) error { return apps.Resume(ctx, app) }},
		"Apps.Approve": {"Approvals", func(ctx context.Context) error { return apps.Approve(ctx, app, 1) }},
		"Apps.Events": {"Events", func(ctx context.Context) error {
			_, err := apps.Events(ctx, engine.EventQuery{App: app})
			return err
		}},
		"Tasks.List":     {"Tasks", func(ctx context.Context) error { _, err := tasks.List(ctx, engine.TaskQuery{}); return err }},
		"Tasks.Retry":    {"Tasks", func(ctx context.Context) error { return tasks.Retry(ctx, app, engine.User, "u-1") }},
		"Tasks.RetryAll": {"Tasks", func(ctx context.Context) error { _, err := tasks.RetryAll(ctx, app); return err }},
		"Tasks.Dismiss":  {"Tasks", func(ctx context.Context) error { return tasks.Dismiss(ctx, app, engine.User, "u-1") }},
		"Tasks.Drop":     {"Tasks", func(ctx context.Context) error { return tasks.Drop(ctx, nil, app, "") }},
		"Traces.Run": {"Tasks", func(ctx context.Context) error {
			_, err := traces.Run(ctx, app, engine.User, "u-1", engine.ProvisionOptions{})
			return err
		}},
		"Traces.DryRun":  {"Plans", func(ctx context.Context) error { _, err := traces.DryRun(ctx, app, engine.User, "u-1"); return err }},
		"Traces.Verify":  {"Plans", func(ctx context.Context) error { _, err := traces.Verify(ctx, app, engine.User, "u-1"); return err }},
		"Traces.Explain": {"Attempts", func(ctx context.Context) error { _, err := traces.Explain(ctx, app, engine.User, "u-1"); return err }},
		"Traces.Attempts": {"Attempts", func(ctx context.Context) error {
			_, err := traces.Attempts(ctx, engine.AttemptQuery{App: app})
			return err
		}},
		"Plans.Make": {"Plans", func(ctx context.Context) error {
			_, err := plans.Make(ctx, engine.PlanRequest{App: app, All: true})
			return err
		}},
		"Plans.Apply":   {"Plans", func(ctx context.Context) error { return plans.Apply(ctx, nil, "id", engine.ApplyOptions{}) }},
		"Plans.List":    {"Plans", func(ctx context.Context) error { _, err := plans.List(ctx, engine.PlanQuery{}); return err }},
		"Plans.Items":   {"Plans", func(ctx context.Context) error { _, err := plans.Items(ctx, engine.PlanItemQuery{}); return err }},
		"Plans.Discard": {"Plans", func(ctx context.Context) error { return plans.Discard(ctx, "id") }},
		"Imports.Start": {"Imports", func(ctx context.Context) error { _, err := imports.Start(ctx, app, engine.ImportRequest{}); return err }},
		"Imports.Run":   {"Imports", func(ctx context.Context) error { _, err := imports.Run(ctx, app, 1); return err }},
		"Imports.Runs":  {"Imports", func(ctx context.Context) error { _, err := imports.Runs(ctx, app); return err }},
		"Imports.Objects": {"Imports", func(ctx context.Context) error {
			_, err := imports.Objects(ctx, engine.RemoteObjectQuery{App: app, Kind: engine.User})
			return err
		}},
		"Imports.Confirm": {"Imports", func(ctx context.Context) error { return imports.Confirm(ctx, nil, app, 1, nil) }},
		"Imports.Link":    {"Links", func(ctx context.Context) error { return imports.Link(ctx, nil, app, nil) }},
		"Imports.Links":   {"Links", func(ctx context.Context) error { _, err := imports.Links(ctx, app, engine.Link{}, 1); return err }},
		"Drift.Compare":   {"Repairs", func(ctx context.Context) error { _, err := drift.Compare(ctx, app, engine.DriftRequest{}); return err }},
		"Drift.Reconcile": {"Repairs", func(ctx context.Context) error { _, err := drift.Reconcile(ctx, app); return err }},
		"Targets.TestApp": {"Attempts", func(ctx context.Context) error { return targets.TestApp(ctx, app, w.target) }},
		"Targets.ProbeApp": {"Profiles", func(ctx context.Context) error {
			_, err := targets.ProbeApp(ctx, app, engine.ProbeOptions{Settle: time.Nanosecond})
			return err
		}},
		"Targets.Profile":      {"Profiles", func(ctx context.Context) error { _, err := targets.Profile(ctx, app); return err }},
		"Targets.ResetLearned": {"Profiles", func(ctx context.Context) error { return targets.ResetLearned(ctx, app) }},
	} {
		delete(unlisted, name)
		t.Run(name, func(t *testing.T) {
			w.fake.Requests()
			err := c.call(t.Context())
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "does not implement store."+c.lacks+":")
			require.Empty(t, w.fake.Requests())
		})
	}
	require.ElementsMatch(t, []string{
		"Apps.Get", "Apps.Pending", "Apps.Kick", "Apps.Halts", "Tasks.Waiting", "Tasks.WaitingFor", "Tasks.Running",
		"Targets.Test", "Targets.Probe",
	}, slices.Collect(maps.Keys(unlisted)), "a method must be in the table or need no capability")
}
