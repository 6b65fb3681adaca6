package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testFormer(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	l := s.claim()
	by := func(q engine.StateQuery) (ids []string) {
		t.Helper()
		q.App, q.Kind = s.app, engine.User
		rows, err := s.store.States(t.Context(), q)
		require.NoError(t, err)
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1"})
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1"})
	require.Empty(t, s.state(engine.User, "a").PreviousID)
	require.Empty(t, by(engine.StateQuery{PreviousID: "r1"}))
	s.finish(l, store.Finish{ID: "a"})
	s.finish(l, store.Finish{ID: "a"})
	require.Equal(t, "r1", s.state(engine.User, "a").PreviousID, "the deleted account is the previous account")
	s.finish(l, store.Finish{ID: "a", RemoteID: "r2"})
	require.Equal(t, []string{"a"}, by(engine.StateQuery{PreviousID: "r1"}))
	require.Equal(t, []string{"a"}, by(engine.StateQuery{RemoteID: "r2"}))

	s.work(l, engine.Inactive, "a")
	s.work(l, engine.Active, "b")
	s.finish(l, store.Finish{ID: "b", RemoteID: "r2"})
	require.Equal(t, []string{"a"}, by(engine.StateQuery{PreviousID: "r2"}), "the account that b owns now is the previous account of a")
	require.Equal(t, []string{"b"}, by(engine.StateQuery{RemoteID: "r2"}))
}

func testUntried(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	s.work(l, engine.Active, "a")
	require.True(t, s.state(engine.User, "a").MayExist)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusHeld, Untried: true})
	require.False(t, s.state(engine.User, "a").MayExist, "no request for an account was sent")
	s.work(l, engine.Active, "a")
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusHeld})
	require.True(t, s.state(engine.User, "a").MayExist)
}
