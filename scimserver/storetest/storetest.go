// Package storetest holds a scimserver.Store to its contract. Every store runs the same suite; an embedder's own store
// should too.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// Names of the resource types that the suite uses. A store under test has to serve both.
const (
	users  = "User"
	groups = "Group"
)

// Run runs the suite. Each test opens a store of its own, which must be empty and serve the types of schema.UserType and
// schema.GroupType.
func Run(t *testing.T, open func(t *testing.T) scimserver.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s scimserver.Store)
	}{
		{"a created resource reads back as it was created", createReadsBack},
		{"unknown ids and ids of another type are not found", unknownIDs},
		{"a userName is unique without regard to case", uniqueUserName},
		{"a deleted userName can be used again", reuseUserName},
		{"replace keeps created and grows version", replaceGrowsVersion},
		{"replace on a stale version changes nothing", replaceStale},
		{"delete on a stale version changes nothing", deleteStale},
		{"members stand in the order in which they joined", membersInOrder},
		{"members can be read by name", membersByName},
		{"an unknown member is refused and nothing is stored", unknownMember},
		{"adding a member twice and removing none is no error", idempotentMembers},
		{"a member's display follows its name", displayFollows},
		{"a deleted member leaves its groups, which change by that", deletedMemberLeaves},
		{"a deleted group dissolves", deletedGroupDissolves},
		{"memberships are found for users and nested groups", memberships},
		{"groups that are read along are those that MemberOf tells", groupsAlong},
		{"a scan yields everything once in the order of creation", scanYieldsAll},
		{"a scan can be left early", scanLeftEarly},
		{"scan and select find what a filter matches", filters},
		{"select sorts and pages as a sort of everything does", selectSorts},
		{"parallel creates of one userName give one resource", parallelCreates},
		{"parallel replaces of one version give one winner", parallelReplaces},
		{"a member deleted while it joins does not stay in the group", joinWhileDeleted},
		{"a batch is created as a whole, and its members may be among it", batch},
		{"of a batch with a mistake nothing is created", failedBatch},
		{"a cancelled context is an error and changes nothing", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// User returns the record of a user, whose id is made of the name.
func User(name string, more ...scim.Member) *scimserver.Record {
	return record(users, scim.UserSchema, "userName", name, more)
}

// Group returns the record of a group, whose id is made of the name.
func Group(name string, more ...scim.Member) *scimserver.Record {
	return record(groups, scim.GroupSchema, "displayName", name, more)
}

func record(typ, urn, nameAttribute, name string, more []scim.Member) *scimserver.Record {
	r := &scim.Resource{}
	r.AddSchema(urn)
	r.Set(nameAttribute, name)
	for _, m := range more {
		r.Set(m.Name, m.Value)
	}
	return &scimserver.Record{Type: typ, ID: "id-" + strings.ToLower(typ) + "-" + name, Resource: r, Display: name}
}

// create stores a record and fails the test when that does not work.
func create(t testing.TB, s scimserver.Store, rec *scimserver.Record, members ...string) *scimserver.Record {
	t.Helper()
	stored, err := s.Create(t.Context(), rec, members)
	require.NoError(t, err)
	return stored
}

func get(t testing.TB, s scimserver.Store, rec *scimserver.Record) *scimserver.Record {
	t.Helper()
	found, err := s.Get(t.Context(), rec.Type, rec.ID)
	require.NoError(t, err)
	return found
}

// renamed returns a copy of a record with another name.
func renamed(rec *scimserver.Record, name string) *scimserver.Record {
	next := *rec
	next.Resource = rec.Resource.Clone()
	next.Display = name
	if rec.Type == users {
		next.Resource.Set("userName", name)
	} else {
		next.Resource.Set("displayName", name)
	}
	return &next
}

func same(t testing.TB, want, got *scimserver.Record) {
	t.Helper()
	text := func(r *scimserver.Record) string {
		return fmt.Sprintf("%s %s v%d created %s changed %s display %q hash %q %s", r.Type, r.ID, r.Version,
			r.Created.UTC(), r.LastModified.UTC(), r.Display, r.PasswordHash, r.Resource.AppendJSON(nil))
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Fatalf("record differs (-want +got):\n%s", diff)
	}
}

func memberIDs(t testing.TB, s scimserver.Store, group string, only ...string) []string {
	t.Helper()
	members, err := s.Members(t.Context(), group, only)
	require.NoError(t, err)
	ids := []string{}
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return ids
}

func equal[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

func createReadsBack(t *testing.T, s scimserver.Store) {
	rec := User("ann", scim.Member{Name: "externalId", Value: "e1"},
		scim.Member{Name: "emails", Value: []any{scim.NewObject(scim.Member{Name: "value", Value: "Ann@example.com"})}},
		scim.Member{Name: "zeta", Value: 1}, scim.Member{Name: "alpha", Value: "ünï\"code"})
	rec.PasswordHash = "$2a$hash"
	stored := create(t, s, rec)
	require.Positive(t, stored.Version)
	require.False(t, stored.Created.IsZero())
	require.Equal(t, stored.Created, stored.LastModified)
	want := *rec
	want.Version, want.Created, want.LastModified = stored.Version, stored.Created, stored.LastModified
	same(t, &want, stored)
	same(t, stored, get(t, s, rec))
}

func unknownIDs(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	for _, test := range []struct{ typ, id string }{{users, "nobody"}, {groups, ann.ID}, {users, ""}, {users, "' OR 1=1 --"}} {
		_, err := s.Get(t.Context(), test.typ, test.id)
		require.ErrorIs(t, err, scimserver.ErrNotFound, "get %v", test)
		require.ErrorIs(t, s.Delete(t.Context(), test.typ, test.id, 0), scimserver.ErrNotFound, "delete %v", test)
		_, err = s.Replace(t.Context(), &scimserver.Record{Type: test.typ, ID: test.id, Version: 1, Resource: ann.Resource}, scimserver.MemberChange{})
		require.ErrorIs(t, err, scimserver.ErrNotFound, "replace %v", test)
	}
	require.Empty(t, memberIDs(t, s, "nobody"))
}

func requireUnique(t testing.TB, err error) {
	t.Helper()
	unique, ok := errors.AsType[*scimserver.UniqueError](err)
	require.True(t, ok, "want a UniqueError, got %v", err)
	require.Equal(t, "userName", unique.Attribute)
}

func uniqueUserName(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("Änn"))
	other := User("äNN")
	other.ID = "another"
	_, err := s.Create(t.Context(), other, nil)
	requireUnique(t, err)
	_, err = s.Get(t.Context(), users, other.ID)
	require.ErrorIs(t, err, scimserver.ErrNotFound)

	bob := create(t, s, User("bob"))
	_, err = s.Replace(t.Context(), renamed(bob, "ÄNN"), scimserver.MemberChange{})
	requireUnique(t, err)
	same(t, bob, get(t, s, bob))

	_, err = s.Replace(t.Context(), renamed(ann, "ÄNN"), scimserver.MemberChange{})
	require.NoError(t, err, "a user may respell its own name")
}

func reuseUserName(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	require.NoError(t, s.Delete(t.Context(), users, ann.ID, ann.Version))
	again := User("ann")
	again.ID = "again"
	create(t, s, again)
}

func replaceGrowsVersion(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	next := renamed(ann, "anna")
	next.PasswordHash = "$2a$new"
	stored, err := s.Replace(t.Context(), next, scimserver.MemberChange{})
	require.NoError(t, err)
	require.Greater(t, stored.Version, ann.Version)
	require.Equal(t, ann.Created, stored.Created)
	require.False(t, stored.LastModified.Before(ann.LastModified))
	require.Equal(t, "anna", stored.Resource.Text("userName"))
	same(t, stored, get(t, s, ann))
}

func replaceStale(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	team := create(t, s, Group("team"))
	second, err := s.Replace(t.Context(), renamed(team, "team 2"), scimserver.MemberChange{})
	require.NoError(t, err)
	_, err = s.Replace(t.Context(), renamed(team, "team 3"), scimserver.MemberChange{Add: []string{ann.ID}})
	require.ErrorIs(t, err, scimserver.ErrConflict)
	same(t, second, get(t, s, team))
	require.Empty(t, memberIDs(t, s, team.ID))
}

func deleteStale(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	second, err := s.Replace(t.Context(), renamed(ann, "anna"), scimserver.MemberChange{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Delete(t.Context(), users, ann.ID, ann.Version), scimserver.ErrConflict)
	same(t, second, get(t, s, ann))
	require.NoError(t, s.Delete(t.Context(), users, ann.ID, 0), "version 0 is any version")
}

// team creates the users of the given names and a group of them.
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
	require.Empty(t, members, "nobody is named")
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

func displayFollows(t *testing.T, s scimserver.Store) {
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

func deletedMemberLeaves(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann", "bob")
	require.NoError(t, s.Delete(t.Context(), users, ids[0], 0))
	equal(t, ids[1:], memberIDs(t, s, g.ID))
	require.Greater(t, get(t, s, g).Version, g.Version)
}

func deletedGroupDissolves(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "ann")
	require.NoError(t, s.Delete(t.Context(), groups, g.ID, g.Version))
	require.Empty(t, memberIDs(t, s, g.ID))
	found, err := s.MemberOf(t.Context(), ids)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = s.Get(t.Context(), users, ids[0])
	require.NoError(t, err, "the members stay")
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

// batcher skips the test of a store that creates resources one by one.
func batcher(t *testing.T, s scimserver.Store) scimserver.Batcher {
	t.Helper()
	b, ok := s.(scimserver.Batcher)
	if !ok {
		t.Skip("the store is no Batcher")
	}
	return b
}

func batch(t *testing.T, s scimserver.Store) {
	b := batcher(t, s)
	old := create(t, s, User("old"))
	one, two, ann := Group("one"), Group("two"), User("ann")
	stored, err := b.CreateAll(t.Context(), []scimserver.NewRecord{
		{Record: one, Members: []string{ann.ID, two.ID, old.ID}}, {Record: two, Members: []string{one.ID, two.ID}}, {Record: ann},
	})
	require.NoError(t, err)
	require.Len(t, stored, 3)
	for i, rec := range []*scimserver.Record{one, two, ann} {
		require.Equal(t, rec.ID, stored[i].ID)
		require.Positive(t, stored[i].Order)
		require.Equal(t, stored[i].Created, stored[i].LastModified)
		same(t, stored[i], get(t, s, rec))
	}
	equal(t, []string{ann.ID, two.ID, old.ID}, memberIDs(t, s, one.ID))
	equal(t, []string{one.ID, two.ID}, memberIDs(t, s, two.ID))
	none, err := b.CreateAll(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func failedBatch(t *testing.T, s scimserver.Store) {
	b := batcher(t, s)
	create(t, s, User("ann"))
	for at, test := range []struct {
		all   []scimserver.NewRecord
		check func(err error)
	}{
		{[]scimserver.NewRecord{{Record: Group("g"), Members: []string{User("nobody").ID}}, {Record: User("bob")}}, func(err error) { requireUnknown(t, err, User("nobody").ID) }},
		{[]scimserver.NewRecord{{Record: User("bob")}, {Record: record(users, scim.UserSchema, "userName", "ANN", nil)}}, func(err error) { requireUnique(t, err) }},
		{[]scimserver.NewRecord{{Record: User("bob")}, {Record: User("eve")}, {Record: Group("g"), Members: []string{"nobody"}}}, func(err error) { requireUnknown(t, err, "nobody") }},
	} {
		_, err := b.CreateAll(t.Context(), test.all)
		test.check(err)
		var one *scimserver.BatchError
		require.ErrorAs(t, err, &one)
		require.Equal(t, at, one.Index)
		require.Len(t, scanned(t, s, users, nil), 1, "nothing was created")
		require.Empty(t, scanned(t, s, groups, nil))
	}
}

// groupsAlong reads users in every way that may bring their groups along.
func groupsAlong(t *testing.T, s scimserver.Store) {
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
				continue // the store has not read them along
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

func scanned(t testing.TB, s scimserver.Store, typ string, f filter.Expr) []*scimserver.Record {
	t.Helper()
	var out []*scimserver.Record
	for rec, err := range s.Scan(t.Context(), typ, f, 0) {
		require.NoError(t, err)
		out = append(out, rec)
	}
	return out
}

func idsOf(recs []*scimserver.Record) []string {
	out := []string{}
	for _, r := range recs {
		out = append(out, r.ID)
	}
	return out
}

func scanYieldsAll(t *testing.T, s scimserver.Store) {
	var want []string
	for i := range 250 { // more than a store would read at once
		want = append(want, create(t, s, User(fmt.Sprintf("user %d", (i*7)%250))).ID)
	}
	create(t, s, Group("team"))
	all := scanned(t, s, users, nil)
	equal(t, want, idsOf(all))
	for i, rec := range all {
		require.Positive(t, rec.Order)
		require.True(t, i == 0 || rec.Order > all[i-1].Order, "a scan is in the order of Order")
		same(t, rec, get(t, s, rec))
		require.Equal(t, rec.Order, get(t, s, rec).Order)
	}
	changed, err := s.Replace(t.Context(), renamed(all[99], "changed"), scimserver.MemberChange{})
	require.NoError(t, err)
	require.Equal(t, all[99].Order, changed.Order, "a change moves nothing")
	require.NoError(t, s.Delete(t.Context(), users, all[99].ID, 0))
	var rest []*scimserver.Record
	for rec, err := range s.Scan(t.Context(), users, nil, all[99].Order) {
		require.NoError(t, err)
		rest = append(rest, rec)
	}
	equal(t, want[100:], idsOf(rest))
	again := create(t, s, User("again"))
	require.Greater(t, again.Order, all[249].Order)
}

func scanLeftEarly(t *testing.T, s scimserver.Store) {
	for i := range 5 {
		create(t, s, User(fmt.Sprint(i)))
	}
	n := 0
	for _, err := range s.Scan(t.Context(), users, nil, 0) {
		require.NoError(t, err)
		if n++; n == 2 {
			break
		}
	}
	create(t, s, User("after")) // nothing is held
}

// filters compares scan and select with filter.Eval over everything.
func filters(t *testing.T, s scimserver.Store) {
	email := func(value, typ string) scim.Member {
		return scim.Member{Name: "emails", Value: []any{scim.NewObject(
			scim.Member{Name: "value", Value: value}, scim.Member{Name: "type", Value: typ})}}
	}
	ids := []string{
		create(t, s, User("Ann", scim.Member{Name: "externalId", Value: "A1"}, scim.Member{Name: "displayName", Value: "Ann Ä"}, email("ann@example.com", "work"))).ID,
		create(t, s, User("bob", scim.Member{Name: "externalId", Value: "a1"}, scim.Member{Name: "active", Value: true}, email("bob@example.com", "home"))).ID,
		create(t, s, User("annabel_%", scim.Member{Name: "active", Value: false})).ID,
		create(t, s, User("carol", scim.Member{Name: "externalId", Value: "c"}, email("ANN@example.com", "home"))).ID,
	}
	rt := schema.UserType()
	last := get(t, s, &scimserver.Record{Type: users, ID: ids[3]})
	for _, text := range []string{
		`userName eq "ANN"`, `userName eq "nobody"`, `userName ne "ann"`, `userName sw "ann"`, `userName co "_%"`, `userName ew "L"`, `userName gt "b"`, `userName le "bob"`,
		`externalId eq "a1"`, `externalId pr`, `not (externalId pr)`, `externalId eq null`, `id eq "` + ids[1] + `"`, `id eq "nobody"`, `id ne "` + ids[1] + `"`,
		`displayName eq "ann ä"`, `emails.value eq "ann@EXAMPLE.com"`, `emails eq "ann@example.com"`, `emails[type eq "work"]`, `emails[value eq "ann@example.com" and type eq "home"]`,
		`emails[type eq "work"].value eq "ann@example.com"`, `emails pr`, `active eq true`, `active ne true`, `not (active eq true)`,
		`userName eq "ann" or userName eq "bob"`, `userName eq "ann" and externalId eq "A1"`, `userName eq "ann" and active eq true`, `userName eq "ann" or active eq true`,
		`not (userName eq "ann" or userName eq "bob")`, `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "bob"`, `USERNAME EQ "bob"`,
		`meta.created le "` + last.Created.UTC().Format(scim.TimeFormat) + `"`, `meta.lastModified gt "2999-01-01T00:00:00Z"`, `meta.created ge "2001-01-01T00:00:00Z"`, `meta.resourceType eq "User"`,
		`password eq "x"`, `nickName pr`, `groups.value eq "g"`, `userName eq "x\"; DROP TABLE users --"`, `schemas eq "` + scim.UserSchema + `"`,
	} {
		t.Run(text, func(t *testing.T) {
			f, err := filter.Parse(text)
			require.NoError(t, err)
			var want []string
			for _, rec := range scanned(t, s, users, nil) {
				r := rec.Resource.Clone()
				r.SetID(rec.ID)
				r.SetMeta(scim.Meta{ResourceType: users, Created: rec.Created, LastModified: rec.LastModified})
				if filter.Eval(f, r, rt) {
					want = append(want, rec.ID)
				}
			}
			candidates := idsOf(scanned(t, s, users, f))
			for _, id := range want {
				require.Contains(t, candidates, id, "scan misses a match")
			}
			selector, ok := s.(scimserver.Selector)
			if !ok {
				return
			}
			for offset := range len(want) + 2 {
				for limit := range len(want) + 2 {
					got, exact, err := selector.Select(t.Context(), scimserver.Query{Type: users, Filter: f, Offset: offset, Limit: limit})
					require.NoError(t, err)
					if !exact {
						continue
					}
					require.Equal(t, len(want), got.Total)
					page := want[min(offset, len(want)):min(offset+limit, len(want))]
					require.True(t, slices.Equal(page, idsOf(got.Records)), "offset %d, limit %d: want %v, got %v", offset, limit, page, idsOf(got.Records))
				}
			}
		})
	}
}

// selectSorts compares the pages of a Selector with the order of everything, for every order that it offers.
func selectSorts(t *testing.T, s scimserver.Store) {
	selector, ok := s.(scimserver.Selector)
	if !ok {
		t.Skip("the store has no indexes")
	}
	for i, name := range []string{"dan", "Ann", "bob", "Eve", "carol", "fay"} {
		var more []scim.Member
		if i%3 != 1 {
			more = append(more, scim.Member{Name: "displayName", Value: []string{"Same", "", "same", "a\x00b", "", "Zoë"}[i]})
		}
		create(t, s, User(name, more...))
	}
	type placed struct {
		id string
		at scimserver.Position
	}
	text := func(s string) *string { return &s }
	for by, key := range map[scim.AttrPath]func(*scimserver.Record) *string{
		{}:                             func(*scimserver.Record) *string { return nil },
		{Name: "id"}:                   func(r *scimserver.Record) *string { return &r.ID },
		{Name: "meta", Sub: "created"}: func(r *scimserver.Record) *string { return text(r.Created.UTC().Format(scimserver.SortTime)) },
		{Name: "userName"}:             func(r *scimserver.Record) *string { return text(filter.Fold(r.Resource.Text("userName"))) },
		{Name: "displayName"}: func(r *scimserver.Record) *string {
			if v, ok := r.Resource.Get("displayName"); ok {
				return text(filter.Fold(v.(string)))
			}
			return nil
		},
	} {
		t.Run("by "+by.String(), func(t *testing.T) {
			var want []placed
			for _, rec := range scanned(t, s, users, nil) {
				want = append(want, placed{rec.ID, scimserver.Position{Key: key(rec), Order: rec.Order}})
			}
			slices.SortStableFunc(want, func(a, b placed) int {
				switch x, y := a.at.Key, b.at.Key; {
				case x == nil && y == nil:
					return 0
				case x == nil:
					return 1
				case y == nil:
					return -1
				default:
					return strings.Compare(*x, *y)
				}
			})
			for _, reverse := range []bool{false, true} {
				if reverse {
					slices.Reverse(want)
				}
				for from := range len(want) + 1 { // 0 is the beginning
					for limit := range 4 {
						q := scimserver.Query{Type: users, SortBy: by, Reverse: reverse, Limit: limit, Offset: limit / 3}
						if from > 0 {
							q.After = &want[from-1].at
						}
						got, exact, err := selector.Select(t.Context(), q)
						require.NoError(t, err)
						if !exact {
							continue
						}
						begin := min(from+q.Offset, len(want))
						var ids []string
						for _, p := range want[begin:min(begin+limit, len(want))] {
							ids = append(ids, p.id)
						}
						require.True(t, slices.Equal(ids, idsOf(got.Records)), "%+v: want %v, got %v", q, ids, idsOf(got.Records))
						if from == 0 {
							require.Equal(t, len(want), got.Total)
						}
					}
				}
			}
		})
	}
}

// parallel runs fn n times at once and returns the errors.
func parallel(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func parallelCreates(t *testing.T, s scimserver.Store) {
	made := 0
	for _, err := range parallel(16, func(i int) error {
		rec := User("ann")
		rec.ID = fmt.Sprintf("id %d", i)
		_, err := s.Create(t.Context(), rec, nil)
		return err
	}) {
		if err == nil {
			made++
			continue
		}
		requireUnique(t, err)
	}
	require.Equal(t, 1, made)
	require.Len(t, scanned(t, s, users, nil), 1)
}

func parallelReplaces(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "a", "b", "c", "d", "e", "f", "g", "h")
	g, err := s.Replace(t.Context(), g, scimserver.MemberChange{Remove: ids})
	require.NoError(t, err)
	won := []string{}
	for i, err := range parallel(len(ids), func(i int) error {
		_, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: ids[i : i+1]})
		return err
	}) {
		if err == nil {
			won = append(won, ids[i])
			continue
		}
		require.ErrorIs(t, err, scimserver.ErrConflict)
	}
	require.Len(t, won, 1)
	equal(t, won, memberIDs(t, s, g.ID))
}

func joinWhileDeleted(t *testing.T, s scimserver.Store) {
	for i := range 8 {
		ann := create(t, s, User(fmt.Sprintf("ann %d", i)))
		g := create(t, s, Group(fmt.Sprintf("team %d", i)))
		errs := parallel(2, func(i int) error {
			if i == 0 {
				return s.Delete(t.Context(), users, ann.ID, 0)
			}
			_, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: []string{ann.ID}})
			return err
		})
		require.NoError(t, errs[0])
		if errs[1] != nil {
			requireUnknown(t, errs[1], ann.ID)
		}
		require.Empty(t, memberIDs(t, s, g.ID))
	}
}

func cancelled(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Create(ctx, User("bob"), nil)
	require.Error(t, err)
	_, err = s.Replace(ctx, renamed(ann, "anna"), scimserver.MemberChange{})
	require.Error(t, err)
	require.Error(t, s.Delete(ctx, users, ann.ID, 0))
	equal(t, []string{ann.ID}, idsOf(scanned(t, s, users, nil)))
	same(t, ann, get(t, s, ann))
}
