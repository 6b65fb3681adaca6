package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testLearn(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	learned := func() engine.Learned {
		row, err := s.store.Lane(t.Context(), s.app)
		require.NoError(t, err)
		return row.Learned
	}
	require.Zero(t, learned())
	want := engine.Learned{
		BaseURL: "https://h/scim", MemberBatch: 50, Traits: map[engine.Trait]time.Time{engine.NoPatch: s.now.UTC()},
		Config: &engine.Config{ReadAt: s.now.UTC(), NoFilter: true},
	}
	got, err := s.store.Learn(t.Context(), l, func(k *engine.Learned) { *k = want })
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	require.Empty(t, cmp.Diff(want, learned()))
	s.release(l, engine.Hold{}, time.Time{})
	require.Empty(t, cmp.Diff(want, learned()), "the traits remain after the release of the lease")

	l = s.claim()
	if s.can.missing["Profiles"] {
		_, err := s.store.Learn(t.Context(), l, func(have *engine.Learned) { *have = engine.Learned{} })
		require.NoError(t, err)
	} else {
		require.NoError(t, s.can.profiles.ResetLearned(t.Context(), s.app))
		require.NoError(t, s.can.profiles.ResetLearned(t.Context(), "unknown "+s.app))
	}
	require.Zero(t, learned())
	var all sync.WaitGroup
	const changes = 10
	for range changes {
		all.Go(func() {
			if _, err := s.store.Learn(t.Context(), l, func(k *engine.Learned) { k.MemberBatch++ }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, engine.Learned{MemberBatch: changes}, learned(), "no change is lost")
}

func testUnkept(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	want := map[string]engine.IgnoredAttribute{"name.givenName": {Sent: "x", Rounds: 3, Ignored: true}, "title": {Sent: "y", Open: true}}
	s.finish(l, store.Finish{ID: "a", IgnoredAttributes: want})
	require.Empty(t, cmp.Diff(want, s.state(engine.User, "a").IgnoredAttributes))
	s.mark(engine.Mark{ID: "a"})
	require.Empty(t, cmp.Diff(want, s.state(engine.User, "a").IgnoredAttributes), "a mark keeps the ignored attributes")
	s.finish(l, store.Finish{ID: "a"})
	require.Empty(t, s.state(engine.User, "a").IgnoredAttributes)
}
