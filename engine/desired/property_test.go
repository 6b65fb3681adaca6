package desired_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// history is all versions of some objects, and an order in which they are delivered.
type history struct {
	changes  []desired.Change // each version of each object once; versions of an object ascend
	delivery [][]int          // indexes of changes in transactions; may repeat and omit changes
	users    map[string]desired.User
	groups   map[string]desired.Group
	members  map[string][]string
}

var ids = []string{"u-1", "u-2", "u-3"}

// histories generates a history. The versions of an object have gaps, except for those of members, where each delta follows the version
// before it.
var histories = rapid.Custom(func(t *rapid.T) history {
	h := history{users: map[string]desired.User{}, groups: map[string]desired.Group{}, members: map[string][]string{}}
	for _, id := range ids {
		version := int64(0)
		for range rapid.IntRange(0, 4).Draw(t, "versions of "+id) {
			version += int64(rapid.IntRange(1, 3).Draw(t, "step"))
			u := user(id, version, id+"-"+rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"))
			u.Want = rapid.SampledFrom([]engine.Want{engine.Active, engine.Active, engine.Inactive, engine.Absent}).Draw(t, "want")
			h.changes, h.users[id] = append(h.changes, u), u
		}
	}
	for _, id := range []string{"g-1", "g-2"} {
		version := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "versions of "+id) {
			version += int64(rapid.IntRange(1, 3).Draw(t, "step"))
			g := group(id, version, id+"-"+rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"))
			h.changes, h.groups[id] = append(h.changes, g), g
		}
		h.memberVersions(t, id)
	}
	if len(h.changes) == 0 {
		return h
	}
	for range rapid.IntRange(0, 12).Draw(t, "transactions") {
		h.delivery = append(h.delivery, rapid.SliceOfN(rapid.IntRange(0, len(h.changes)-1), 1, 6).Draw(t, "delivered"))
	}
	return h
})

func (h *history) memberVersions(t *rapid.T, group string) {
	in := map[string]bool{}
	for version := range int64(rapid.IntRange(0, 4).Draw(t, "member versions")) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(ids), rapid.ID[string]).Draw(t, "members")
		if rapid.Bool().Draw(t, "whole") {
			clear(in)
			for _, id := range some {
				in[id] = true
			}
			h.changes = append(h.changes, desired.Members{Group: group, Version: version + 1, Users: some})
		} else {
			d := desired.MemberDelta{Group: group, Base: version, Version: version + 1}
			for _, id := range some {
				if in[id] {
					d.Remove = append(d.Remove, id)
				} else {
					d.Add = append(d.Add, id)
				}
				in[id] = !in[id]
			}
			h.changes = append(h.changes, d)
		}
	}
	for _, id := range ids {
		if in[id] {
			h.members[group] = append(h.members[group], id)
		}
	}
}

// errorer is the common part of *testing.T and *rapid.T.
type errorer interface {
	require.TestingT
	Helper()
}

// deliver writes the changes in the order of the history, and at last all of them in order, as a caller does that repeats what it has not
// seen succeed.
func (h *history) deliver(t errorer, write func(changes ...desired.Change)) {
	t.Helper()
	for _, part := range h.delivery {
		var changes []desired.Change
		for _, i := range part {
			changes = append(changes, h.changes[i])
		}
		write(changes...)
	}
	for _, c := range h.changes {
		write(c)
	}
	write(h.changes...)
}

// requireEnd requires that the store has the highest version of each object.
func (h *history) requireEnd(ctx context.Context, t errorer, s *desired.Store, app string) {
	t.Helper()
	for _, id := range ids {
		state, err := s.User(ctx, app, id)
		require.NoError(t, err)
		want, ok := h.users[id]
		if !ok {
			want.Want = engine.Absent
		}
		require.Equal(t, want.Want, state.Want, id)
		if want.Resource != nil {
			require.True(t, scim.Equal(&want.Resource.Object, &state.Resource.Object), id)
		}
	}
	for _, id := range []string{"g-1", "g-2"} {
		state, err := s.Group(ctx, app, id)
		require.NoError(t, err)
		require.Equal(t, h.groups[id].DisplayName, state.DisplayName)
		members, err := s.Members(ctx, app, id, "", 10)
		require.NoError(t, err)
		require.Equal(t, h.members[id], members)
	}
}

// view is what the directory returns for each object, as text.
func view(ctx context.Context, t errorer, s *desired.Store, app string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, id := range ids {
		state, err := s.User(ctx, app, id)
		require.NoError(t, err)
		text := string(state.Want)
		if state.Resource != nil {
			text += string(state.Resource.AppendJSON(nil))
		}
		out[id] = text
	}
	for _, id := range []string{"g-1", "g-2"} {
		state, err := s.Group(ctx, app, id)
		require.NoError(t, err)
		out[id] = fmt.Sprint(state)
		for _, u := range ids {
			in, err := s.IsMember(ctx, app, id, []string{u})
			require.NoError(t, err)
			out[id+" "+u] = fmt.Sprint(in[u])
		}
	}
	return out
}

// TestWrite_AnyOrderConverges checks that the end state has the highest version of each object, and that each transaction contains a mark
// of every object whose state it changes.
func TestWrite_AnyOrderConverges(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			h := histories.Draw(rt, "history")
			n++
			name := fmt.Sprint("app-", n)
			_, err := w.PutApp(t.Context(), app(name, 1))
			require.NoError(rt, err)
			before := view(t.Context(), rt, w.Store, name)
			h.deliver(rt, func(changes ...desired.Change) {
				w.engine.taken()
				_, err := w.Write(t.Context(), name, changes...)
				require.NoError(rt, err)
				marked := map[string]bool{}
				for _, m := range w.engine.taken() {
					marked[m.ID] = true
					for _, u := range m.Members {
						marked[m.ID+" "+u] = true
					}
				}
				after := view(t.Context(), rt, w.Store, name)
				for at, state := range after {
					if state != before[at] {
						require.True(rt, marked[at], "%s changed from %s to %s without a mark", at, before[at], state)
					}
				}
				before = after
			})
			h.requireEnd(t.Context(), rt, w.Store, name)
		})
	})
}

// TestEngine_ConvergesToStore delivers histories to a store with an engine. The accounts and groups of a fake target equal the end state.
func TestEngine_ConvergesToStore(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s, e := withEngine(t, db)
		require.NoError(t, e.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, e.Stop(context.WithoutCancel(t.Context()))) })
		for seed := range 10 {
			h := histories.Example(seed)
			fake := newTarget(t)
			name := fmt.Sprint("app-", seed)
			a := app(name, 1)
			a.Target.BaseURL = fake.url
			_, err := s.PutApp(t.Context(), a)
			require.NoError(t, err)
			h.deliver(t, func(changes ...desired.Change) {
				_, err := s.Write(t.Context(), name, changes...)
				require.NoError(t, err)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			require.NoError(t, e.Wait(ctx, name), "seed %d", seed)
			cancel()
			h.requireEnd(t.Context(), t, s, name)
			h.requireTarget(t, fake)
		}
	})
}

// requireTarget compares the target with the end state. The engine deactivates accounts and never deletes them; a user without an account
// is in no group.
func (h *history) requireTarget(t *testing.T, fake *target) {
	t.Helper()
	active, groups := fake.names()
	var want []string
	names := map[string]string{}
	for id, u := range h.users {
		if u.Want == engine.Active {
			names[id] = u.Resource.Text("userName")
			want = append(want, names[id])
		}
	}
	slices.Sort(want)
	require.Equal(t, want, active)
	require.Len(t, groups, len(h.groups))
	for id, g := range h.groups {
		var members []string
		for _, u := range h.members[id] {
			if names[u] != "" {
				members = append(members, names[u])
			}
		}
		slices.Sort(members)
		got := slices.DeleteFunc(groups[g.DisplayName], func(name string) bool { return !slices.Contains(active, name) })
		require.Equal(t, strings.Join(members, " "), strings.Join(got, " "), g.DisplayName)
	}
}

// TestWrite_Concurrent writes versions of the same objects from several goroutines, in different orders, while an engine provisions them.
func TestWrite_Concurrent(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s, e := withEngine(t, db)
		require.NoError(t, e.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, e.Stop(context.WithoutCancel(t.Context()))) })
		fake := newTarget(t)
		a := app("crm", 1)
		a.Target.BaseURL = fake.url
		_, err := s.PutApp(t.Context(), a)
		require.NoError(t, err)
		const writers, versions = 6, 8
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := range versions {
					var changes []desired.Change
					for i := range ids {
						id, version := ids[(i+w)%len(ids)], int64((n*(w+1))%versions+1)
						changes = append(changes, user(id, version, fmt.Sprint(id, "-", version)))
					}
					outcomes, err := s.Write(t.Context(), "crm", changes...)
					if err != nil {
						t.Error(err)
						return
					}
					for _, o := range outcomes {
						if o.Result == "" {
							t.Error(o.Err)
						}
					}
				}
			})
		}
		group.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(t, e.Wait(ctx, "crm"))
		active, _ := fake.names()
		require.Equal(t, []string{"u-1-8", "u-2-8", "u-3-8"}, active)
	})
}
