package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testProfile(t *testing.T, s *suite) {
	ctx := t.Context()
	save := func(want store.TargetProfile) {
		require.NoError(t, s.can.profiles.SaveProfile(ctx, s.app, s.now, want, func(l *engine.Learned) { l.MemberBatch++ }))
		got, err := s.can.profiles.Profile(ctx, s.app)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got))
	}
	_, err := s.can.profiles.Profile(ctx, s.app)
	require.ErrorIs(t, err, engine.ErrNotFound)
	save(store.TargetProfile{BaseURL: "https://h/scim", Profile: engine.Profile{At: s.now.UTC(), Requests: 7}})
	row, err := s.store.Lane(ctx, s.app)
	require.NoError(t, err)
	require.Zero(t, row.NextAt, "an app that was only probed has nothing pending")
	require.Equal(t, 1, row.Learned.MemberBatch)
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	_, err = s.store.Learn(ctx, l, func(k *engine.Learned) { k.Probed = engine.Traits{engine.NoPut: true, engine.NoPatch: false} })
	require.NoError(t, err)
	save(
		store.TargetProfile{BaseURL: "https://h/v2",
			Profile: engine.Profile{
				Results: []engine.ProbeResult{{Feature: engine.FeaturePutUser, Verdict: engine.ProbeNoEffect, Detail: "\"ä\" became \"?\""}}}})
	row, err = s.store.Lane(ctx, s.app)
	require.NoError(t, err)
	want := engine.Learned{MemberBatch: 2, Probed: engine.Traits{engine.NoPut: true, engine.NoPatch: false}}
	require.Empty(t, cmp.Diff(want, row.Learned), "saving a profile during a lease changes Learned")
	require.NoError(t, s.store.Begin(ctx, l, nil))
	s.release(l, engine.Hold{}, time.Time{})
	require.NoError(t, s.can.profiles.ResetLearned(ctx, s.app))
	_, err = s.can.profiles.Profile(ctx, s.app)
	require.ErrorIs(t, err, engine.ErrNotFound)
}
