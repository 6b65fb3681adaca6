package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// team creates users with the given names and a group that contains them.
func team(t testing.TB, s scimserver.Store, name string, names ...string) (*scimserver.Record, []string) {
	t.Helper()
	var ids []string
	for _, n := range names {
		ids = append(ids, create(t, s, User(n)).ID)
	}
	return create(t, s, Group(name), ids...), ids
}

func membersInOrder(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "zoe", "adam", "mia")
	equal(t, ids, memberIDs(t, s, g.ID))
	late := create(t, s, User("aaa"))
	next, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: []string{late.ID}, Remove: []string{ids[1]}})
	require.NoError(t, err)
	require.Greater(t, next.Version, g.Version, "a change of members is a change of the group")
	equal(t, []string{ids[0], ids[2], late.ID}, memberIDs(t, s, g.ID))
	members, err := s.Members(t.Context(), g.ID, nil)
	require.NoError(t, err)
	equal(t, scimserver.Member{ID: ids[0], Type: users, Display: "zoe"}, members[0])
}

func membersByName(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "zoe", "adam", "mia")
	other := create(t, s, User("other"))
	equal(t, []string{ids[0], ids[2]}, memberIDs(t, s, g.ID, ids[2], "nobody", ids[0], other.ID))
	members, err := s.Members(t.Context(), g.ID, []string{})
	require.NoError(t, err)
	require.Empty(t, members, "only names no member")
}

func requireUnknown(t testing.TB, err error, ids ...string) {
	t.Helper()
	unknown, ok := errors.AsType[*scimserver.UnknownMemberError](err)
	require.True(t, ok, "want an UnknownMemberError, got %v", err)
	require.Equal(t, ids, unknown.IDs)
}

func unknownMember(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	g := Group("team")
	_, err := s.Create(t.Context(), g, []string{ann.ID, "nobody"})
	requireUnknown(t, err, "nobody")
	_, err = s.Get(t.Context(), groups, g.ID)
	require.ErrorIs(t, err, scimserver.ErrNotFound)

	g = create(t, s, g)
	_, err = s.Replace(t.Context(), renamed(g, "new"), scimserver.MemberChange{Add: []string{ann.ID, "nobody", "nobody else"}})
	requireUnknown(t, err, "nobody", "nobody else")
	same(t, g, get(t, s, g))
	require.Empty(t, memberIDs(t, s, g.ID))
}

func idempotentMembers(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann", "bob")
	g, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: []string{ids[1], ids[0]}, Remove: []string{"nobody"}})
	require.NoError(t, err)
	equal(t, ids, memberIDs(t, s, g.ID))
}

func displayUpdated(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann")
	ann, err := s.Get(t.Context(), users, ids[0])
	require.NoError(t, err)
	_, err = s.Replace(t.Context(), renamed(ann, "anna"), scimserver.MemberChange{})
	require.NoError(t, err)
	members, err := s.Members(t.Context(), g.ID, nil)
	require.NoError(t, err)
	equal(t, []scimserver.Member{{ID: ids[0], Type: users, Display: "anna"}}, members)

	_, err = s.Replace(t.Context(), renamed(g, "crew"), scimserver.MemberChange{})
	require.NoError(t, err)
	found, err := s.MemberOf(t.Context(), ids)
	require.NoError(t, err)
	equal(t, map[string][]scimserver.Membership{ids[0]: {{Group: g.ID, Display: "crew"}}}, found)
}

func deletedMember(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann", "bob")
	require.NoError(t, s.Delete(t.Context(), users, ids[0], 0))
	equal(t, ids[1:], memberIDs(t, s, g.ID))
	require.Greater(t, get(t, s, g).Version, g.Version)
}

func deletedGroup(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann")
	require.NoError(t, s.Delete(t.Context(), groups, g.ID, g.Version))
	require.Empty(t, memberIDs(t, s, g.ID))
	found, err := s.MemberOf(t.Context(), ids)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = s.Get(t.Context(), users, ids[0])
	require.NoError(t, err, "the members are kept")
}

func memberships(t *testing.T, s scimserver.Store) {
	first, ids := team(t, s, "first", "ann", "bob")
	second := create(t, s, Group("second"), ids[0], first.ID)
	_, err := s.Replace(t.Context(), first, scimserver.MemberChange{Add: []string{second.ID}}) // a cycle
	require.NoError(t, err)
	found, err := s.MemberOf(t.Context(), []string{ids[0], first.ID, second.ID, "nobody"})
	require.NoError(t, err)
	equal(t, map[string][]scimserver.Membership{
		ids[0]:    {{Group: first.ID, Display: "first"}, {Group: second.ID, Display: "second"}},
		first.ID:  {{Group: second.ID, Display: "second"}},
		second.ID: {{Group: first.ID, Display: "first"}},
	}, found)
	members, err := s.Members(t.Context(), second.ID, nil)
	require.NoError(t, err)
	equal(t, []scimserver.Member{{ID: ids[0], Type: users, Display: "ann"}, {ID: first.ID, Type: groups, Display: "first"}}, members)
}

// groupsOfGroup reads the groups of a group again after each change that affects them, so that a store that caches them must notice it.
func groupsOfGroup(t *testing.T, s scimserver.Store) {
	inner, ids := team(t, s, "inner", "ann")
	outer := create(t, s, Group("outer"))
	check := func(want ...string) {
		t.Helper()
		for range 2 {
			found, err := s.MemberOf(t.Context(), ids)
			require.NoError(t, err)
			equal(t, map[string][]scimserver.Membership{ids[0]: {{Group: inner.ID, Display: "inner"}}}, found)
			found, err = s.MemberOf(t.Context(), []string{inner.ID})
			require.NoError(t, err)
			var names []string
			for _, m := range found[inner.ID] {
				names = append(names, m.Display)
			}
			equal(t, want, names)
		}
	}
	change := func(display string, c scimserver.MemberChange) {
		t.Helper()
		_, err := s.Replace(t.Context(), renamed(get(t, s, outer), display), c)
		require.NoError(t, err)
	}
	check()
	change("outer", scimserver.MemberChange{Add: []string{inner.ID}})
	check("outer")
	change("shell", scimserver.MemberChange{})
	check("shell")
	second := create(t, s, Group("second"), inner.ID)
	check("shell", "second")
	change("shell", scimserver.MemberChange{Remove: []string{inner.ID}})
	check("second")
	require.NoError(t, s.Delete(t.Context(), groups, second.ID, 0))
	check()
}

// recordGroups reads users by Get and Select. If the store also returns the groups of a user, they equal those of MemberOf.
func recordGroups(t *testing.T, s scimserver.Store) {
	odd := User("odd")
	odd.ID = "an odd \x01 id"
	recs := []*scimserver.Record{User("ann"), User("bob"), odd}
	for i, rec := range recs {
		recs[i] = create(t, s, rec)
		require.Empty(t, recs[i].Groups)
	}
	one := create(t, s, Group("one"), recs[0].ID, odd.ID)
	create(t, s, Group("two"), one.ID, recs[0].ID)
	three := create(t, s, Group("three"), recs[0].ID, recs[1].ID)
	check := func() {
		t.Helper()
		want, err := s.MemberOf(t.Context(), idsOf(recs))
		require.NoError(t, err)
		read := []*scimserver.Record{get(t, s, recs[0]), get(t, s, recs[1]), get(t, s, recs[2])}
		if selector, ok := s.(scimserver.Selector); ok {
			for _, by := range []scim.AttrPath{{}, {Name: "userName"}} {
				got, exact, err := selector.Select(t.Context(), scimserver.Query{Type: users, SortBy: by, Limit: 10, Groups: true})
				require.NoError(t, err)
				if exact {
					require.Len(t, got.Records, len(recs))
					read = append(read, got.Records...)
				}
			}
		}
		for _, rec := range read {
			if rec.Groups == nil {
				continue // the store has not read them
			}
			if diff := cmp.Diff(want[rec.ID], rec.Groups, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("groups of %s (-MemberOf +read along):\n%s", rec.Display, diff)
			}
		}
	}
	check()
	_, err := s.Replace(t.Context(), get(t, s, three), scimserver.MemberChange{Remove: []string{recs[1].ID}})
	require.NoError(t, err)
	check()
	require.NoError(t, s.Delete(t.Context(), groups, one.ID, 0))
	check()
}
