package storetest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func (s *suite) events(after int64) []engine.Event {
	s.t.Helper()
	out, err := s.can.events.Events(s.t.Context(), engine.EventQuery{App: s.app, After: after, Limit: 1000})
	require.NoError(s.t, err)
	return out
}

// Invariant 21
func testEvents(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Operation: engine.OpCreate, HTTP: 500, NextAt: s.now})
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Operation: engine.OpLookup, NextAt: s.now})
	s.mark(engine.Mark{ID: "a", Retry: true})
	s.now = s.now.Add(time.Second)
	sent := []engine.Attempt{{Run: "run-7", Method: http.MethodPost, Status: 201}}
	s.finish(l, store.Finish{ID: "a", Operation: engine.OpCreate, HTTP: 201, RemoteID: "r1", Origin: engine.Created, Exchanges: sent})
	want := []engine.Event{
		{Seq: 1, At: start, Type: engine.UserFailed, Kind: engine.User, Principal: "a",
			Data: engine.EventData{Operation: engine.OpCreate, Status: engine.StatusRetrying, HTTP: 500}},
		{Seq: 2, At: s.now, Type: engine.UserRecovered, Kind: engine.User, Principal: "a",
			Data: engine.EventData{Operation: engine.OpCreate, Status: engine.StatusClean, HTTP: 201, RemoteID: "r1", Run: "run-7"}},
		{Seq: 3, At: s.now, Type: engine.UserCreated, Kind: engine.User, Principal: "a",
			Data: engine.EventData{Operation: engine.OpCreate, Status: engine.StatusClean, HTTP: 201, RemoteID: "r1", Run: "run-7"}},
	}
	for i := range want {
		want[i].App = s.app
	}
	require.Empty(t, cmp.Diff(want, s.events(0)))
	require.Empty(t, cmp.Diff(want[2:], s.events(2)))
	page, err := s.can.events.Events(t.Context(), engine.EventQuery{App: s.app, After: 1, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want[1:2], page))

	old := l
	old.Epoch--
	_, err = s.store.Finish(t.Context(), old, store.Finish{Kind: engine.User, ID: "b", Status: engine.StatusClean, RemoteID: "r2", At: s.now})
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.Len(t, s.events(0), 3, "a rejected result has no event")

	s.mark(engine.Mark{ID: "a"})
	first, err := s.can.lags.Overdue(t.Context(), s.app, "a", s.now, s.now)
	require.NoError(t, err)
	require.True(t, first)
	_, err = s.can.lags.Overdue(t.Context(), s.app, "a", s.now, s.now)
	require.NoError(t, err)
	require.Empty(t,
		cmp.Diff([]engine.Event{{App: s.app, Seq: 4, At: s.now, Type: engine.DeactivationOverdue, Kind: engine.User, Principal: "a",
			Data: engine.EventData{Status: engine.StatusDirty, RemoteID: "r1", Since: s.now}}}, s.events(3)))

	var all sync.WaitGroup
	const writers, rounds = 4, 30
	for n := range writers {
		id := fmt.Sprint("w", n)
		s.mark(engine.Mark{ID: id})
		all.Go(func() {
			for round := range rounds {
				f := store.Finish{Kind: engine.User, ID: id, Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint(id, round), At: s.now}
				if _, err := s.store.Finish(t.Context(), l, f); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	told := s.events(0)
	require.Len(t, told, 4+writers*rounds)
	for i, e := range told {
		require.EqualValues(t, i+1, e.Seq)
	}
	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	require.Empty(t, s.events(0))
}

// Invariant 21
func testHoldEvents(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	h := engine.Hold{Kind: engine.HoldQuarantine, Until: s.now.Add(time.Hour), Reason: "s3cr3t", Streak: 1}
	require.NoError(t, s.store.Hold(t.Context(), l, s.now, h))
	row, err := s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, h, row.Hold)
	require.NotEmpty(t, row.Owner, "the lease continues")
	require.NoError(t, s.store.Hold(t.Context(), l, s.now, engine.Hold{}))
	s.release(l, engine.Hold{}, time.Time{})
	require.ErrorIs(t, s.store.Hold(t.Context(), l, s.now, h), engine.ErrLeaseLost)
	want := []engine.Event{
		{App: s.app, Seq: 1, At: s.now, Type: engine.AppQuarantined, Data: engine.EventData{Hold: engine.HoldQuarantine, Until: h.Until.UTC()}},
		{App: s.app, Seq: 2, At: s.now, Type: engine.AppReleased},
	}
	require.Empty(t, cmp.Diff(want, s.events(0)))
}

// testLostUpdate lets a process die after the target may have confirmed its changes. The sequences of the next owner find no difference:
// the principals that were in flight have an event nevertheless, and the others have none.
//
// Invariant 21
func testLostUpdate(t *testing.T, s *suite) {
	all := []store.Finish{
		{ID: "a", RemoteID: "r-a", Operation: engine.OpNone}, {ID: "b", RemoteID: "r-b", Operation: engine.OpNone},
		{Kind: engine.Group, ID: "g", RemoteID: "r-g", Operation: engine.OpNone},
	}
	marks := []engine.Mark{{ID: "a"}, {ID: "b"}, {Kind: engine.Group, ID: "g"}}
	s.mark(marks...)
	l := s.claim()
	for _, f := range all {
		s.finish(l, f)
	}
	s.mark(marks...)
	note := []engine.Principal{{Kind: engine.User, ID: "a"}, {Kind: engine.Group, ID: "g"}}
	require.NoError(t, s.store.Start(t.Context(), l, nil, note))
	before := s.events(0)
	s.finish(l, all[0])
	require.Len(t, s.events(0), len(before), "the process lives")
	s.mark(engine.Mark{ID: "a"})
	s.die()

	l = s.claim()
	for _, f := range all {
		s.finish(l, f)
	}
	var got []string
	for _, e := range s.events(before[len(before)-1].Seq) {
		got = append(got, string(e.Type)+" "+e.Principal)
	}
	require.Equal(t, []string{"user.updated a", "group.updated g"}, got)
	s.now = s.now.Add(time.Hour)
	_, _, err := s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	n := len(s.events(0))
	s.finish(l, all[0])
	require.Len(t, s.events(0), n, "after the recheck")
}
