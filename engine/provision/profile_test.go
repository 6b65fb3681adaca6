package provision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func (w *world) probe() engine.Profile {
	w.t.Helper()
	p, err := w.engine.Targets().ProbeApp(w.t.Context(), app, engine.ProbeOptions{Settle: time.Nanosecond})
	require.NoError(w.t, err)
	w.fake.Requests()
	return p
}

// TestProfile_ProbedFormUsed checks that a sequence starts with the request form that worked in the probe.
func TestProfile_ProbedFormUsed(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		_, err := w.engine.Targets().Profile(t.Context(), app)
		require.ErrorIs(t, err, engine.ErrNotFound)
		w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 501, Times: -1})
		p := w.probe()
		require.Equal(t, engine.ProbeRefused, p.Verdict(engine.FeatureDeactivatePatch))
		stored, err := w.engine.Targets().Profile(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, p, stored)
		require.True(t, w.learned().Probed[engine.NoPatch])
		require.WithinDuration(t, p.At, w.learned().ProbedAt, 0)

		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.fake.Requests()
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		w.requests("GET /Users/u3", "PUT /Users/u3") // u1 and g2 were temporary objects of the probe
		require.Empty(t, w.learned().Traits, "the sequence learned nothing new")
	})
}

// TestProfile_LearnedOverridesOlderProbe checks that a learned trait overrides an older probe, and that a newer probe overrides the trait.
func TestProfile_LearnedOverridesOlderProbe(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.stop(w.engine) // a running lane would continue with its copy of the learned state
	w.probe()
	w.engine = w.start(provision.Options{})
	require.Contains(t, w.learned().Probed, engine.NoPatch)
	require.False(t, w.learned().Probed[engine.NoPatch])
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 501, Times: -1})
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	require.Contains(t, w.learned().Traits, engine.NoPatch)
	require.NotContains(t, w.learned().Probed, engine.NoPatch)
	w.fake.ClearFaults()
	w.probe()
	require.NotContains(t, w.learned().Traits, engine.NoPatch, "a newer probe overrides the trait")
}

func TestProfile_OverridesServiceProviderConfig(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Config = scim.NewObject(scim.Member{Name: "patch", Value: map[string]any{"supported": false}})
	w.as(func(t *engine.Target) { t.Style = engine.Auto })
	w.probe()
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Requests()
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	w.requests("PATCH /Users/u3")
}

func TestProfile_PerBaseURL(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 501, Times: -1})
	w.probe()
	w.fake.ClearFaults()
	w.target.BaseURL += "/"
	w.dir.SetTarget(app, w.target)
	_, err := w.engine.Targets().Profile(t.Context(), app)
	require.ErrorIs(t, err, engine.ErrNotFound)
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Requests()
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	w.requests("PATCH /Users/u3")
	require.Empty(t, w.learned().Probed)
}

func TestProfile_UnchangedAfterFailedProbe(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	p := w.probe()
	w.fake.Inject(enginetest.Fault{Status: 401, Times: -1})
	_, err := w.engine.Targets().ProbeApp(t.Context(), app, engine.ProbeOptions{Settle: time.Nanosecond})
	require.ErrorContains(t, err, "credentials")
	got, err := w.engine.Targets().Profile(t.Context(), app)
	require.NoError(t, err)
	require.Equal(t, p, got)
	_, err = w.engine.Targets().ProbeApp(t.Context(), "nobody", engine.ProbeOptions{})
	require.ErrorIs(t, err, engine.ErrUnknownApp)
}
