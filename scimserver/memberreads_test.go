package scimserver_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver"
)

// recordingStore is a store that records which members are requested: "all", or their number.
type recordingStore struct {
	scimserver.Store
	asked []string
}

func (s *recordingStore) Members(ctx context.Context, group string, only []string) ([]scimserver.Member, error) {
	asked := "all"
	if only != nil {
		asked = fmt.Sprint(len(only))
	}
	s.asked = append(s.asked, asked)
	return s.Store.Members(ctx, group, only)
}

// TestMembers_ReadOnDemand checks that the server reads only members that it returns or changes. A group may have 100,000 members.
func TestMembers_ReadOnDemand(t *testing.T) {
	for name, open := range map[string]func() scimserver.Store{
		"map store": func() scimserver.Store { return newMapStore() },
		"sqlite":    func() scimserver.Store { return sqliteStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			store := &recordingStore{Store: open()}
			h := serve(t, store)
			var ids []string
			for i := range 5 {
				ids = append(ids, h.newUser(t, fmt.Sprintf("user%d", i)).id())
			}
			team := "/Groups/" + h.newGroup(t, "team", ids[:3]...).id()
			one := fmt.Sprintf("members[value eq %q]", ids[0])
			for _, test := range []struct {
				name, path string
				operations []object // operations of a PATCH; nil for a GET
				want       string
			}{
				{"all if returned", team, nil, "all"},
				{"all if named", team + "?attributes=members", nil, "all"},
				{"none if excluded", team + "?excludedAttributes=members", nil, ""},
				{"none if excluded by their full name", team + "?excludedAttributes=urn:ietf:params:scim:schemas:core:2.0:Group:members", nil, ""},
				{"none if other attributes are named", team + "?attributes=displayName", nil, ""},
				{"none in a list that excludes them", "/Groups?excludedAttributes=members", nil, ""},
				{"none in a search by name that excludes them", filtered("/Groups", `displayName eq "team"`, "excludedAttributes=members"), nil, ""},
				{"one that is added", team, []object{op("add", "members", refs(ids[3]))}, "1"},
				{"two that are added", team, []object{op("add", "members", refs(ids[3], ids[4]))}, "2"},
				{"one that is removed", team, []object{op("remove", one)}, "1"},
				{"none for a new displayName", team, []object{op("replace", "displayName", "crew")}, ""},
				{"all if all are replaced", team, []object{op("replace", "members", refs(ids[0]))}, "all"},
			} {
				t.Run(test.name, func(t *testing.T) {
					store.asked = nil
					if test.operations == nil {
						h.get(t, test.path)
					} else {
						h.patch(t, test.path, test.operations...).want(t, http.StatusNoContent)
					}
					require.Equal(t, test.want, strings.Join(slices.Compact(store.asked), " "))
				})
			}
		})
	}
}
