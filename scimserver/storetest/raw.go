package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// rawStore fills a store with users in groups. It skips the test if the store is no RawReader.
func rawStore(t *testing.T, s scimserver.Store) (raw scimserver.RawReader, all []*scimserver.Record) {
	t.Helper()
	raw, ok := s.(scimserver.RawReader)
	if !ok {
		t.Skip("the store is no RawReader")
	}
	for i := range 7 {
		user := User(fmt.Sprintf("user %d", 6-i), scim.Member{Name: "title", Value: "a \"quoted\" \u2028 é <&> \\"})
		user.PasswordHash = strings.Repeat(`","display":"x"`, i%2)
		if i%2 == 0 {
			user.Display = `a "name"`
			user.Resource.Set("externalId", fmt.Sprint(i/2))
		}
		all = append(all, create(t, s, user))
	}
	inner := create(t, s, Group("inner", scim.Member{Name: "externalId", Value: "g"}), all[0].ID, all[3].ID)
	outer := create(t, s, Group("outer"), inner.ID, all[3].ID)
	empty := create(t, s, Group("empty"))
	return raw, append(all, inner, outer, empty)
}

// sameRaw compares a resource with its record.
func sameRaw(t testing.TB, want *scimserver.Record, got scimserver.Raw) {
	t.Helper()
	resource, err := scim.DecodeResource(got.JSON)
	require.NoError(t, err, "%s", got.JSON)
	require.GreaterOrEqual(t, got.Size, int64(len(got.JSON)))
	same(t, want, &scimserver.Record{
		Type: want.Type, ID: got.ID, Version: got.Version, Created: got.Created, LastModified: got.LastModified,
		Resource: resource, Display: want.Display, PasswordHash: want.PasswordHash,
	})
	require.Equal(t, want.Order, got.Order)
}

func rawGet(t *testing.T, s scimserver.Store) {
	raw, all := rawStore(t, s)
	for _, rec := range all {
		want := get(t, s, rec)
		got, err := raw.GetRaw(t.Context(), rec.Type, rec.ID, scimserver.RawOptions{Groups: true}, make([]byte, 0, 10))
		require.NoError(t, err)
		sameRaw(t, want, got)
		if got.Groups != nil {
			require.Equal(t, want.Groups, got.Groups)
		}
		short, err := raw.GetRaw(t.Context(), rec.Type, rec.ID, scimserver.RawOptions{Longest: 1}, nil)
		require.NoError(t, err)
		require.Nil(t, short.JSON, "the text is longer than the caller permits")
		require.Positive(t, short.Size)
		require.Equal(t, got.Version, short.Version)
	}
	for _, test := range [][2]string{{users, "id-nothing"}, {groups, all[0].ID}, {users, ""}} {
		_, err := raw.GetRaw(t.Context(), test[0], test[1], scimserver.RawOptions{}, nil)
		require.ErrorIs(t, err, scimserver.ErrNotFound)
	}
}

func rawMembers(t *testing.T, s scimserver.Store) {
	raw, all := rawStore(t, s)
	stop := errors.New("stop")
	for _, rec := range all {
		want, err := s.Members(t.Context(), rec.ID, nil)
		require.NoError(t, err)
		var got []scimserver.Member
		require.NoError(t, raw.EachMember(t.Context(), rec.ID, func(m *scimserver.Member) error {
			got = append(got, *m)
			return nil
		}))
		require.Equal(t, want, got)
		if len(want) > 1 {
			calls := 0
			require.ErrorIs(t, raw.EachMember(t.Context(), rec.ID, func(*scimserver.Member) error { calls++; return stop }), stop)
			require.Equal(t, 1, calls)
		}
	}
}

// rawSelect checks that pages of SelectRaw equal those of Select, and that a page read in parts, one resource at a time, equals the page
// read as a whole.
func rawSelect(t *testing.T, s scimserver.Store) {
	raw, all := rawStore(t, s)
	one, err := filter.Parse(`userName eq "USER 3"`)
	require.NoError(t, err)
	key := "user 4"
	for _, q := range []scimserver.Query{
		{Type: users, Limit: 100, Groups: true},
		{Type: groups, Limit: 100},
		{Type: users, Limit: 3},
		{Type: users, Limit: 3, Offset: 2, Reverse: true},
		{Type: users, Limit: 7, SortBy: scim.AttrPath{Name: "userName"}},
		{Type: users, Limit: 6, Offset: 1, SortBy: scim.AttrPath{Name: "externalId"}, Groups: true}, // most users have no value
		{Type: users, Limit: 5, SortBy: scim.AttrPath{Name: "externalId"}, Reverse: true},
		{Type: users, Limit: 3, SortBy: scim.AttrPath{Name: "userName"}, After: &scimserver.Position{Key: &key, Order: all[2].Order}},
		{Type: users, Limit: 2, After: &scimserver.Position{Order: all[1].Order}},
		{Type: users, Limit: 10, Filter: one},
		{Type: users, Limit: 10, Offset: 50},
		{Type: users},
	} {
		want, exact, err := raw.Select(t.Context(), q)
		require.NoError(t, err)
		got, exactRaw, err := raw.SelectRaw(t.Context(), scimserver.RawQuery{Query: q, RawOptions: scimserver.RawOptions{Groups: q.Groups}}, nil)
		require.NoError(t, err)
		require.Equal(t, exact, exactRaw)
		if !exact {
			continue
		}
		require.Empty(t, got.Resume)
		require.Len(t, got.Resources, len(want.Records), "%+v", q)
		if q.After == nil {
			require.Equal(t, want.Total, got.Total, "%+v", q)
			require.Equal(t, q.Offset+q.Limit < want.Total && q.Limit > 0, got.More, "%+v", q)
		}
		size := int64(0)
		for i, rec := range want.Records {
			sameRaw(t, rec, got.Resources[i])
			if q.Groups && got.Resources[i].Groups != nil {
				require.Equal(t, rec.Groups, got.Resources[i].Groups)
			}
			size += got.Resources[i].Size
		}
		sum, err := raw.SizeRaw(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, size, sum, "%+v", q)
		sameInParts(t, raw, q, got)
	}
}

// sameInParts checks that the page has the same resources if it is read in parts of one resource.
func sameInParts(t testing.TB, raw scimserver.RawReader, q scimserver.Query, want scimserver.RawSelection) {
	t.Helper()
	ask := scimserver.RawQuery{Query: q, RawOptions: scimserver.RawOptions{Longest: 1 << 20}, Room: 1}
	var got []string
	for range len(want.Resources) {
		part, _, err := raw.SelectRaw(t.Context(), ask, nil)
		require.NoError(t, err)
		require.Len(t, part.Resources, 1, "%+v", q)
		if len(got) == 0 && q.After == nil {
			require.Equal(t, want.Total, part.Total, "%+v", q)
		}
		got = append(got, string(part.Resources[0].JSON))
		require.Equal(t, len(got) == len(want.Resources), part.Resume == "", "%+v", q)
		require.Equal(t, len(got) < len(want.Resources) || want.More, part.More, "%+v", q)
		ask.Resume, ask.Limit = part.Resume, ask.Limit-1
	}
	for i := range got {
		require.Equal(t, string(want.Resources[i].JSON), got[i])
	}
}
