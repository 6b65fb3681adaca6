package storetest

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testExchanges(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	x := engine.Attempt{Run: "run", At: s.now, Method: "POST", URL: "http://h/Users", RequestHeader: http.Header{"A": {"b"}},
		RequestBody: "{}",
		Status:      201, ResponseHeader: http.Header{"C": {"d"}}, ResponseBody: "bad \x00 \xff text", Duration: 3 * time.Millisecond,
		Error: "oops"}
	s.finish(l, store.Finish{ID: "a", Exchanges: []engine.Attempt{x}})
	got, err := s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Kind: engine.User, Principal: "a"})
	require.NoError(t, err)
	want := x
	want.App, want.Kind, want.Principal, want.Gen, want.ResponseBody = s.app, engine.User, "a", 1, "bad \uFFFD \uFFFD text"
	require.Empty(t, cmp.Diff([]engine.Attempt{want}, got, cmpopts.IgnoreFields(engine.Attempt{}, "ID")))
	for range 30 {
		s.finish(l, store.Finish{ID: "a", Exchanges: []engine.Attempt{x, x, x, x, x}})
	}
	got, err = s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Limit: 1000})
	require.NoError(t, err)
	require.Less(t, len(got), 151, "old exchanges are removed")
	require.Greater(t, got[0].ID, got[1].ID, "newest first")
	page, err := s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Before: got[1].ID, Limit: 2})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(got[2:4], page))

	for range 30 {
		require.NoError(t, s.can.attempts.Record(t.Context(), s.app, []engine.Attempt{x, x, x, x, x}))
	}
	got, err = s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app, Limit: 1000})
	require.NoError(t, err)
	require.Less(t, len(got), 301, "old exchanges without a principal are removed")
	want.Kind, want.Principal, want.Gen = "", "", 0
	require.Empty(t, cmp.Diff(want, got[0], cmpopts.IgnoreFields(engine.Attempt{}, "ID")))
}

func testStates(t *testing.T, s *suite) {
	for _, id := range []string{"c", "B", "a", "ä"} {
		s.mark(engine.Mark{ID: id}, engine.Mark{Kind: engine.Group, ID: id})
	}
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusFailed})
	q := engine.StateQuery{App: s.app, Limit: 3}
	var ids []string
	for {
		page, err := s.store.States(t.Context(), q)
		require.NoError(t, err)
		for _, r := range page {
			ids = append(ids, string(r.Kind)+" "+r.ID)
		}
		if len(page) < q.Limit {
			break
		}
		q.After = &page[len(page)-1]
	}
	require.Equal(t, []string{"group B", "group a", "group c", "group ä", "user B", "user a", "user c", "user ä"}, ids,
		"kinds and ids are in byte order")
	failed, err := s.store.States(t.Context(), engine.StateQuery{App: s.app, Status: engine.StatusFailed})
	require.NoError(t, err)
	require.Len(t, failed, 1)
}

func testDueUsers(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "tried"}, engine.Mark{ID: "pending"}, engine.Mark{ID: "new"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{{Kind: engine.User, ID: "tried", Want: engine.Active}}))
	s.finish(l, store.Finish{ID: "pending", RemoteID: "r-pending", Status: engine.StatusPending, NextAt: s.now, Pending: &engine.Pending{}})
	known := []string{"b", "a", "e", "d", "c"} // a and e become due at the same time, and so do d and c
	for i, id := range known {
		s.mark(engine.Mark{ID: id})
		s.finish(l, store.Finish{ID: id, RemoteID: "r-" + id})
		s.now = s.now.Add(time.Duration(i%2) * time.Second)
		s.mark(engine.Mark{ID: id})
	}
	s.mark(engine.Mark{ID: "later"})
	s.finish(l, store.Finish{ID: "later", RemoteID: "r-later", Status: engine.StatusRetrying, NextAt: s.now.Add(time.Second)})
	for _, limit := range []int{1, 2, 3, 6, 100} {
		var ids []string
		var after *engine.State
		for {
			page, err := s.store.DueUsers(t.Context(), s.app, s.now, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			if len(page) < limit {
				break
			}
			after = &page[limit-1]
		}
		require.Equal(t, []string{"b", "a", "e", "c", "d", "tried"}, ids, "users with an account first, then the oldest marks, then ascending "+
			"ids")
	}
}

func testCounts(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"}, engine.Mark{Kind: engine.Group, ID: "g"},
		engine.Mark{App: s.app + "/other", ID: "a"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra"})
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusFailed, Operation: engine.OpCreate})
	got, err := s.can.counts.Counts(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, map[engine.Status]int{engine.StatusClean: 1, engine.StatusFailed: 1, engine.StatusDirty: 2}, got)
	none, err := s.can.counts.Counts(t.Context(), s.app+"/unknown")
	require.NoError(t, err)
	require.Empty(t, none)
}
