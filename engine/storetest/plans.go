package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testAgain(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	unkept := map[string]engine.IgnoredAttribute{"title": {Sent: "x", Rounds: 3, Ignored: true}}
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, NextAt: s.now.Add(time.Hour), IgnoredAttributes: unkept})
	again := func(fresh bool) int64 {
		n, err := s.can.tasks.Requeue(t.Context(), s.now, engine.Mark{App: s.app, Kind: engine.User, ID: "a", Retry: true}, fresh)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 2, again(false))
	require.Equal(t, []string{"user a"}, s.due(), "Requeue ends the backoff")
	require.Empty(t, cmp.Diff(unkept, s.state(engine.User, "a").IgnoredAttributes))

	require.EqualValues(t, 3, again(true))
	require.Empty(t, s.state(engine.User, "a").IgnoredAttributes)
	s.finish(l, store.Finish{ID: "a", Gen: 2, IgnoredAttributes: unkept})
	require.Empty(t, s.state(engine.User, "a").IgnoredAttributes, "the result of a sequence that started before Requeue is discarded")
	s.finish(l, store.Finish{ID: "a", Gen: 3, IgnoredAttributes: unkept})
	require.Empty(t, cmp.Diff(unkept, s.state(engine.User, "a").IgnoredAttributes))

	n, err := s.can.tasks.Requeue(t.Context(), s.now, engine.Mark{App: s.app, Kind: engine.User, ID: "new"}, true)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = s.can.tasks.Requeue(t.Context(), s.now, engine.Mark{App: s.app, Kind: engine.User}, true)
	require.Error(t, err)
}

func testRehearsalReads(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"},
		engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"a", "b"}})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "ra", RemoteName: "ann"})
	s.finish(l, store.Finish{ID: "b", RemoteID: "rb"})
	accounts := func(users ...string) (out []store.Member) {
		states, err := s.store.StatesByID(t.Context(), s.app, engine.User, users)
		require.NoError(t, err)
		for _, u := range states {
			out = append(out, store.Member{User: u.ID, RemoteID: u.RemoteID, RemoteName: u.RemoteName})
		}
		return out
	}
	require.ElementsMatch(t, []store.Member{{User: "a", RemoteID: "ra", RemoteName: "ann"}, {User: "c"}}, accounts("a", "c", "nobody"))
	require.Empty(t, accounts())

	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "a", Want: true, Asked: 1}}))
	all := s.members(store.MembersAll)
	require.Len(t, all, 2, "MembersAll includes the members that need a query of the directory")
	require.Equal(t, []string{"ra", "ann"}, []string{all[0].RemoteID, all[0].RemoteName})

	guard := engine.Guard{Limit: 1, Window: time.Hour}
	would := func(id string) int {
		many, err := s.can.plans.CountRemovals(t.Context(), s.app, engine.User, id, s.now, guard)
		require.NoError(t, err)
		return many
	}
	require.Zero(t, would("a"))
	require.Zero(t, would("a"), "CountRemovals stores nothing")
	s.mark(engine.Mark{ID: "a"})
	require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Absent}}))
	require.Zero(t, would("a"), "the user is counted once")
	require.Equal(t, 2, would("b"))
	many, err := s.store.Remove(t.Context(), l, engine.User, "a", s.now, guard)
	require.NoError(t, err)
	require.Zero(t, many)
	require.Zero(t, would("a"))
	require.Equal(t, 2, would("b"))
	s.now = s.now.Add(2 * time.Hour)
	s.finish(l, store.Finish{ID: "a"})
	require.Zero(t, would("b"), "the window of the guard has passed")
}

// newPlan stores an open plan for the users.
func (s *suite) newPlan(id string, items ...engine.PlanItem) engine.Plan {
	s.t.Helper()
	p := engine.Plan{
		ID: s.app + id, App: s.app, Reason: "tidy", BaseURL: "https://example.com", Status: engine.PlanMaking, CreatedAt: s.now,
		ExpiresAt:  s.now.Add(time.Hour),
		Operations: map[engine.Operation]int{}, Outcomes: map[engine.Class]int{},
	}
	require.NoError(s.t, s.can.plans.SavePlan(s.t.Context(), p))
	for i := range items {
		items[i].Plan, items[i].Seq, items[i].Digest, items[i].Outcome = p.ID, i+1, "d", engine.Done
		if items[i].Kind == "" {
			items[i].Kind = engine.User
		}
		p.Operations[items[i].Operation]++
	}
	require.NoError(s.t, s.can.plans.AddPlanItems(s.t.Context(), items))
	p.Status, p.Items = engine.PlanOpen, len(items)
	require.NoError(s.t, s.can.plans.SavePlan(s.t.Context(), p))
	return p
}

func testPlans(t *testing.T, s *suite) {
	var items []engine.PlanItem
	for i := range 5 {
		items = append(items, engine.PlanItem{
			ID: fmt.Sprint("u", i), Operation: []engine.Operation{engine.OpUpdate, engine.OpDeactivate}[i%2], Generation: int64(i),
			Requests: []engine.Sent{{Method: "PUT", Path: "/Users/1", Body: `{"a":"` + "\x00" + `"}`}},
			Diff:     []engine.Difference{{Path: "title", Before: "a", After: nil}},
			Members:  &engine.MemberDiff{Added: 1},
		})
	}
	first := s.newPlan(" 1", items...)
	s.now = s.now.Add(time.Minute)
	second := s.newPlan(" 2")
	plans := func(q engine.PlanQuery) []engine.Plan {
		q.App = s.app
		got, err := s.can.plans.Plans(t.Context(), q)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, cmp.Diff([]engine.Plan{second, first}, plans(engine.PlanQuery{})))
	require.Empty(t, cmp.Diff([]engine.Plan{first}, plans(engine.PlanQuery{ID: first.ID})))
	require.Len(t, plans(engine.PlanQuery{Limit: 1}), 1)
	require.Empty(t, plans(engine.PlanQuery{Status: engine.PlanApplied}))

	read := func(q engine.PlanItemQuery) []engine.PlanItem {
		q.Plan = first.ID
		got, err := s.can.plans.PlanItems(t.Context(), q)
		require.NoError(t, err)
		return got
	}
	page := read(engine.PlanItemQuery{Limit: 2})
	require.Empty(t, cmp.Diff(items[:2], page))
	require.Empty(t, cmp.Diff(items[2:], read(engine.PlanItemQuery{After: page[1].Seq})))
	require.Len(t, read(engine.PlanItemQuery{Operation: engine.OpDeactivate}), 2)
	require.Empty(t, read(engine.PlanItemQuery{Outcome: engine.Held}))

	require.NoError(t, s.can.plans.DiscardPlan(t.Context(), first.ID))
	require.NoError(t, s.can.plans.DiscardPlan(t.Context(), first.ID), "twice")
	require.Empty(t, read(engine.PlanItemQuery{}))
	require.Len(t, plans(engine.PlanQuery{}), 1)
	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	require.Empty(t, plans(engine.PlanQuery{}), "a removed app has no plans")
}

func testOldPlans(t *testing.T, s *suite) {
	first := s.newPlan(" 1", engine.PlanItem{ID: "a", Operation: engine.OpUpdate})
	kept := func() (ids []string, items int) {
		all, err := s.can.plans.Plans(t.Context(), engine.PlanQuery{App: s.app})
		require.NoError(t, err)
		for _, p := range all {
			ids = append(ids, p.ID)
		}
		left, err := s.can.plans.PlanItems(t.Context(), engine.PlanItemQuery{Plan: first.ID})
		require.NoError(t, err)
		return ids, len(left)
	}
	s.now = first.ExpiresAt.Add(engine.PlansKept)
	second := s.newPlan(" 2")
	ids, items := kept()
	require.Equal(t, []string{second.ID, first.ID}, ids)
	require.Equal(t, 1, items)
	s.now = s.now.Add(time.Millisecond)
	third := s.newPlan(" 3")
	ids, items = kept()
	require.Equal(t, []string{third.ID, second.ID}, ids)
	require.Zero(t, items)
}

// Invariant 20
func testApplyPlan(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{ID: "c"})
	l := s.claim()
	for _, id := range []string{"a", "b", "c"} {
		s.finish(l, store.Finish{ID: id, RemoteID: "r" + id})
	}
	items := []engine.PlanItem{
		{ID: "b", Operation: engine.OpDeactivate, Generation: 1}, {ID: "new", Operation: engine.OpCreate},
		{ID: "g", Kind: engine.Group, Operation: engine.OpMembers},
	}
	p := s.newPlan("", items...)
	planned := func() (out engine.Plan, all []store.Planned) {
		require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) (err error) {
			out, all, err = s.can.plans.Planned(t.Context(), tx, p.ID)
			return err
		}))
		return out, all
	}
	got, all := planned()
	require.Empty(t, cmp.Diff(p, got))
	require.Empty(t, cmp.Diff([]store.Planned{
		{
			PlanItem: engine.PlanItem{Plan: p.ID, Seq: 1, Kind: engine.User, ID: "b", Operation: engine.OpDeactivate, Outcome: engine.Done,
				Generation: 1, Digest: "d"},
			Now: 1, Status: engine.StatusClean},
		{
			PlanItem: engine.PlanItem{Plan: p.ID, Seq: 2, Kind: engine.User, ID: "new", Operation: engine.OpCreate, Outcome: engine.Done,
				Digest: "d"}},
		{
			PlanItem: engine.PlanItem{Plan: p.ID, Seq: 3, Kind: engine.Group, ID: "g", Operation: engine.OpMembers, Outcome: engine.Done,
				Digest: "d"}},
	}, all))
	apply := func(p engine.Plan, to engine.PlanStatus, items ...engine.PlanItem) error {
		return s.inTx(t.Context(), func(tx engine.Execer) error { return s.can.plans.ApplyPlan(t.Context(), tx, s.now, p, to, items) })
	}
	moved := items[0]
	moved.Generation = 0
	require.ErrorIs(t, apply(p, engine.PlanApplied, moved, items[1]), engine.ErrStale)
	require.Empty(t, s.due(), "nothing was stored")

	rollback := errors.New("rolled back")
	require.ErrorIs(t, s.inTx(t.Context(), func(tx engine.Execer) error {
		require.NoError(t, s.can.plans.ApplyPlan(t.Context(), tx, s.now, p, engine.PlanApplied, items))
		return rollback
	}), rollback)
	require.Empty(t, s.due())

	require.NoError(t, apply(p, engine.PlanPartial, items[0]))
	require.Equal(t, []string{"user b"}, s.due())
	require.ErrorIs(t, apply(p, engine.PlanApplied, items[1]), engine.ErrApplied, "the caller's copy of the plan is outdated: the plan has "+
		"already been applied in part")
	s.mark(engine.Mark{ID: "c"})
	require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{
		{Kind: engine.User, ID: "b", Want: engine.Inactive}, {Kind: engine.User, ID: "c", Want: engine.Inactive},
	}))
	guard := engine.Guard{Window: time.Hour, Percent: 1}
	for id, want := range map[string]int{"b": 0, "c": 1} {
		many, err := s.store.Remove(t.Context(), l, engine.User, id, s.now, guard)
		require.NoError(t, err)
		require.Equal(t, want, many, "b was approved with the plan, c was not")
	}
	s.finish(l, store.Finish{ID: "c", RemoteID: "rc"})

	p, all = planned()
	require.Equal(t, []any{engine.PlanPartial, true, false}, []any{p.Status, all[0].Marked, all[1].Marked})
	require.NoError(t, apply(p, engine.PlanApplied, items[1:]...))
	require.Equal(t, []string{"user b", "user new", "group g"}, s.due())
	g := s.state(engine.Group, "g")
	require.Greater(t, g.Full, g.Synced, "the group is pushed with all members")
	_, all = planned()
	require.True(t, all[2].Marked)
	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error {
		_, _, err := s.can.plans.Planned(t.Context(), tx, "unknown")
		require.ErrorIs(t, err, engine.ErrNotFound)
		return nil
	}))
}
