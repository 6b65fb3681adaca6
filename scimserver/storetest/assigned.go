package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// assignedIDs creates resources without an ID, if the store assigns ids.
func assignedIDs(t *testing.T, s scimserver.Store) {
	store, ok := s.(scimserver.IDAssigner)
	if !ok || !store.AssignsIDs() {
		t.Skip("the store does not assign ids")
	}
	unnamed := func(rec *scimserver.Record, members ...string) *scimserver.Record {
		rec.ID = ""
		return create(t, s, rec, members...)
	}
	given := create(t, s, User("given"))
	ann, bob := unnamed(User("ann")), unnamed(User("bob"))
	require.NotEmpty(t, ann.ID)
	require.NotEqual(t, ann.ID, bob.ID)
	team := unnamed(Group("team"), ann.ID, given.ID)
	for _, rec := range []*scimserver.Record{given, ann, bob, team} {
		same(t, rec, get(t, s, rec))
		f, err := filter.Parse(`id eq "` + rec.ID + `"`)
		require.NoError(t, err)
		found := 0
		for got, err := range s.Scan(t.Context(), rec.Type, f, 0) {
			require.NoError(t, err)
			same(t, rec, got)
			found++
		}
		require.Equal(t, 1, found)
	}
	members, err := s.Members(t.Context(), team.ID, nil)
	require.NoError(t, err)
	require.Len(t, members, 2)
	require.Equal(t, ann.ID, members[0].ID)

	next := renamed(ann, "cat")
	next, err = s.Replace(t.Context(), next, scimserver.MemberChange{})
	require.NoError(t, err)
	require.Equal(t, ann.ID, next.ID)
	last := bob.Order
	require.NoError(t, s.Delete(t.Context(), users, bob.ID, 0))
	_, err = s.Get(t.Context(), users, bob.ID)
	require.ErrorIs(t, err, scimserver.ErrNotFound)
	dan := unnamed(User("dan"))
	require.Greater(t, dan.Order, last, "the order of a deleted resource is not used again")

	// A caller may create a resource with the id of a deleted one, and no other with a used id.
	again := User("bob")
	again.ID = bob.ID
	again = create(t, s, again)
	same(t, again, get(t, s, again))
	for _, id := range []string{bob.ID, dan.ID, given.ID} {
		taken := User("eve")
		taken.ID = id
		_, err = s.Create(t.Context(), taken, nil)
		require.Error(t, err, id)
	}
}
