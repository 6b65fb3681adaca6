// Package storetest tests that a scimserver.Store satisfies its contract. All stores of this module pass the tests. Embedders can test
// their own stores with it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// Names of the resource types that the tests use. A store under test must support both.
const (
	users  = "User"
	groups = "Group"
)

// Run runs the tests. Each test opens a new store, which must be empty and support the types of schema.UserType and schema.GroupType.
func Run(t *testing.T, open func(t *testing.T) scimserver.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s scimserver.Store)
	}{
		{"a created resource is read unchanged", createReadsBack},
		{"unknown ids and ids of another type are not found", unknownIDs},
		{"a userName is unique ignoring case", uniqueUserName},
		{"a deleted userName can be used again", reuseUserName},
		{"replace keeps created and increases version", replaceGrowsVersion},
		{"replace on a stale version changes nothing", replaceStale},
		{"replace with the previous record does the same", replacePrevious},
		{"delete on a stale version changes nothing", deleteStale},
		{"members are in the order in which they were added", membersInOrder},
		{"selected members can be read", membersByName},
		{"an unknown member is rejected and nothing is stored", unknownMember},
		{"adding an existing member and removing a missing one are not errors", idempotentMembers},
		{"a member's display changes with its name", displayUpdated},
		{"deleting a member removes it from its groups and changes them", deletedMember},
		{"deleting a group removes its memberships", deletedGroup},
		{"memberships are found for users and nested groups", memberships},
		{"the groups of a group are current", groupsOfGroup},
		{"groups in records equal those of MemberOf", recordGroups},
		{"a scan yields each resource once in the order of creation", scanYieldsAll},
		{"a scan can be stopped early", scanStopped},
		{"scan and select return the resources that a filter matches", filters},
		{"select sorts and pages like a sort of all resources", selectSorts},
		{"resources as text equal decoded ones", rawGet},
		{"pages as text equal decoded ones", rawSelect},
		{"members one by one equal those of a list", rawMembers},
		{"parallel creates of one userName create one resource", parallelCreates},
		{"one of several parallel replaces of one version succeeds", parallelReplaces},
		{"a member deleted while it is added is not in the group", addWhileDeleted},
		{"a batch is created as a whole and may refer to itself", batch},
		{"a batch with an error creates nothing", failedBatch},
		{"a canceled context is an error and changes nothing", canceled},
		{"a store that assigns ids accepts resources without and with an id", assignedIDs},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// User returns the record of a user. Its id is derived from the name.
func User(name string, more ...scim.Member) *scimserver.Record {
	return record(users, scim.UserSchema, "userName", name, more)
}

// Group returns the record of a group. Its id is derived from the name.
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

// create stores a record and fails the test on an error.
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
		_, err = s.Replace(t.Context(), &scimserver.Record{Type: test.typ, ID: test.id, Version: 1, Resource: ann.Resource},
			scimserver.MemberChange{})
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
	require.NoError(t, err, "a user may change the case of its own name")
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

func replacePrevious(t *testing.T, s scimserver.Store) {
	mail := func(address string) scim.Member {
		return scim.Member{Name: "emails", Value: []any{scim.NewObject(scim.Member{Name: "value", Value: address})}}
	}
	found := func(text string) int {
		f, err := filter.Parse(text)
		require.NoError(t, err)
		return len(slices.DeleteFunc(scanned(t, s, users, f), func(rec *scimserver.Record) bool {
			return !filter.Eval(f, rec.Resource, schema.UserType())
		}))
	}
	ann := create(t, s, User("ann", mail("a@example.com")))
	team := create(t, s, Group("team"), ann.ID)
	read := get(t, s, ann)
	next := renamed(read, "anna")
	next.Resource.Set("emails", mail("b@example.com").Value)
	next.Previous = read
	stored, err := s.Replace(t.Context(), next, scimserver.MemberChange{})
	require.NoError(t, err)
	require.Greater(t, stored.Version, read.Version)
	require.Equal(t, read.Created, stored.Created)
	require.Nil(t, stored.Previous, "Replace must return a record without Previous: the field is only for records that are passed to Replace")
	same(t, stored, get(t, s, ann))
	require.Nil(t, get(t, s, ann).Previous, "Get must return a record without Previous")
	for text, want := range map[string]int{
		`userName eq "ann"`: 0, `userName eq "anna"`: 1, `emails.value eq "a@example.com"`: 0, `emails.value eq "b@example.com"`: 1,
	} {
		require.Equal(t, want, found(text), text)
	}
	if stored.Groups != nil {
		require.Equal(t, []scimserver.Membership{{Group: team.ID, Display: "team"}}, stored.Groups)
	}
	members, err := s.Members(t.Context(), team.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []scimserver.Member{{ID: ann.ID, Type: users, Display: "anna"}}, members)

	_, err = s.Replace(t.Context(), next, scimserver.MemberChange{})
	require.ErrorIs(t, err, scimserver.ErrConflict)
	same(t, stored, get(t, s, ann))
	require.NoError(t, s.Delete(t.Context(), users, ann.ID, 0))
	next = renamed(stored, "anne")
	next.Previous = stored
	_, err = s.Replace(t.Context(), next, scimserver.MemberChange{})
	require.ErrorIs(t, err, scimserver.ErrNotFound)
}

func deleteStale(t *testing.T, s scimserver.Store) {
	ann := create(t, s, User("ann"))
	second, err := s.Replace(t.Context(), renamed(ann, "anna"), scimserver.MemberChange{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Delete(t.Context(), users, ann.ID, ann.Version), scimserver.ErrConflict)
	same(t, second, get(t, s, ann))
	require.NoError(t, s.Delete(t.Context(), users, ann.ID, 0), "version 0 means any version")
}

func batch(t *testing.T, s scimserver.Store) {
	b, ok := s.(scimserver.Batcher)
	if !ok {
		return // the store is not a Batcher: it creates resources one by one
	}
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
	b, ok := s.(scimserver.Batcher)
	if !ok {
		return // the store is not a Batcher: it creates resources one by one
	}
	create(t, s, User("ann"))
	for at, test := range []struct {
		all   []scimserver.NewRecord
		check func(err error)
	}{
		{[]scimserver.NewRecord{{Record: Group("g"), Members: []string{User("nobody").ID}}, {Record: User("bob")}},
			func(err error) { requireUnknown(t, err, User("nobody").ID) }},
		{[]scimserver.NewRecord{{Record: User("bob")}, {Record: record(users, scim.UserSchema, "userName", "ANN", nil)}},
			func(err error) { requireUnique(t, err) }},
		{[]scimserver.NewRecord{{Record: User("bob")}, {Record: User("eve")}, {Record: Group("g"), Members: []string{"nobody"}}},
			func(err error) { requireUnknown(t, err, "nobody") }},
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

func canceled(t *testing.T, s scimserver.Store) {
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
