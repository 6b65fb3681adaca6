package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

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
	for i := range 250 { // more than a store reads in one batch
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
	require.Equal(t, all[99].Order, changed.Order, "a change keeps the order")
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

func scanStopped(t *testing.T, s scimserver.Store) {
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
	create(t, s, User("after")) // the scan must not hold a lock
}

// filters compares Scan and Select with filter.Eval over all resources.
func filters(t *testing.T, s scimserver.Store) {
	email := func(value, typ string) scim.Member {
		return scim.Member{Name: "emails", Value: []any{scim.NewObject(
			scim.Member{Name: "value", Value: value}, scim.Member{Name: "type", Value: typ})}}
	}
	ids := []string{
		create(t, s,
			User("Ann", scim.Member{Name: "externalId", Value: "A1"}, scim.Member{Name: "displayName", Value: "Ann Ä"},
				email("ann@example.com", "work"))).ID,
		create(t, s,
			User("bob", scim.Member{Name: "externalId", Value: "a1"}, scim.Member{Name: "active", Value: true},
				email("bob@example.com", "home"))).ID,
		create(t, s, User("annabel_%", scim.Member{Name: "active", Value: false})).ID,
		create(t, s, User("carol", scim.Member{Name: "externalId", Value: "c"}, email("ANN@example.com", "home"))).ID,
	}
	rt := schema.UserType()
	last := get(t, s, &scimserver.Record{Type: users, ID: ids[3]})
	for _, text := range []string{
		`userName eq "ANN"`, `userName eq "nobody"`, `userName ne "ann"`, `userName sw "ann"`, `userName co "_%"`, `userName ew "L"`,
		`userName gt "b"`, `userName le "bob"`,
		`externalId eq "a1"`, `externalId pr`, `not (externalId pr)`, `externalId eq null`, `id eq "` + ids[1] + `"`, `id eq "nobody"`,
		`id ne "` + ids[1] + `"`,
		`displayName eq "ann ä"`, `emails.value eq "ann@EXAMPLE.com"`, `emails eq "ann@example.com"`, `emails[type eq "work"]`,
		`emails[value eq "ann@example.com" and type eq "home"]`,
		`emails[type eq "work"].value eq "ann@example.com"`, `emails pr`, `active eq true`, `active ne true`, `not (active eq true)`,
		`userName eq "ann" or userName eq "bob"`, `userName eq "ann" and externalId eq "A1"`, `userName eq "ann" and active eq true`,
		`userName eq "ann" or active eq true`,
		`not (userName eq "ann" or userName eq "bob")`, `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "bob"`, `USERNAME EQ "bob"`,
		`meta.created le "` + last.Created.UTC().Format(scim.TimeFormat) + `"`, `meta.lastModified gt "2999-01-01T00:00:00Z"`,
		`meta.created ge "2001-01-01T00:00:00Z"`, `meta.resourceType eq "User"`,
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
					require.True(t, slices.Equal(page, idsOf(got.Records)), "offset %d, limit %d: want %v, got %v", offset, limit, page,
						idsOf(got.Records))
				}
			}
		})
	}
}

// selectSorts compares the pages of a Selector with the order of all resources, for every order that it supports.
func selectSorts(t *testing.T, s scimserver.Store) {
	selector, ok := s.(scimserver.Selector)
	if !ok {
		return // the store has no indexes
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
				for from := range len(want) + 1 { // 0 means the start
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
