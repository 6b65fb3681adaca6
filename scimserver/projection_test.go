package scimserver_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

// names returns the member names of an object in alphabetical order.
func names(o *scim.Object) string {
	var out []string
	for name := range o.All() {
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestProjection(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann", object{"title": "boss", "name": object{"givenName": "A", "familyName": "L"}, "password": "topsecret",
			"emails": []object{{"value": "a@example.com", "type": "work"}}, scim.EnterpriseUserSchema: object{"department": "D", "division": "E"}})
		h.newGroup(t, "team", ann.id())
		all := "emails groups id meta name schemas title " + scim.EnterpriseUserSchema + " userName"
		for _, test := range []struct{ params, want string }{
			{"", all},
			{"attributes=", all},
			{"attributes=title", "id schemas title"},
			{"attributes=TITLE,%20Name", "id name schemas title"},
			{"attributes=title&attributes=name", "id name schemas title"},
			{"attributes=" + scim.UserSchema + ":title", "id schemas title"},
			{"attributes=" + scim.EnterpriseUserSchema, "id schemas " + scim.EnterpriseUserSchema},
			{"attributes=" + scim.EnterpriseUserSchema + ":division", "id schemas " + scim.EnterpriseUserSchema},
			{"attributes=password", "id schemas"},
			{"attributes=unknown", "id schemas"},
			{"attributes=groups", "groups id schemas"},
			{"attributes=meta.location", "id meta schemas"},
			{"excludedAttributes=title,name,meta,groups", "emails id schemas " + scim.EnterpriseUserSchema + " userName"},
			{"excludedAttributes=id,schemas,unknown", all},
			{"excludedAttributes=" + scim.EnterpriseUserSchema, "emails groups id meta name schemas title userName"},
		} {
			t.Run(test.params, func(t *testing.T) {
				require.Equal(t, test.want, names(h.get(t, "/Users/"+ann.id()+"?"+test.params).body))
				listed := h.get(t, "/Users?"+test.params).body.Array("Resources")[0].(*scim.Object)
				require.Equal(t, test.want, names(listed), "in a list")
				patched := h.patch(t, "/Users/"+ann.id()+"?"+test.params, op("replace", "title", "boss")).want(t, http.StatusOK)
				require.Equal(t, test.want, names(patched.body), "in the response to a PATCH")
			})
		}
		t.Run("sub-attributes", func(t *testing.T) {
			a := h.get(t, "/Users/"+ann.id()+"?attributes=name.givenName,emails.value,"+scim.EnterpriseUserSchema+":division")
			require.Equal(t, `{"givenName":"A"}`, a.json("name"))
			require.Equal(t, `[{"value":"a@example.com"}]`, a.json("emails"))
			a = h.get(t, "/Users/"+ann.id()+"?excludedAttributes=name.givenName,groups.display")
			require.Equal(t, `{"familyName":"L"}`, a.json("name"))
			require.NotContains(t, a.json("groups"), "display")
		})
		t.Run("on POST and PUT", func(t *testing.T) {
			a := h.do(t, http.MethodPost, "/Users?attributes=userName", user("bob", object{"title": "t"})).want(t, http.StatusCreated)
			require.Equal(t, "id schemas userName", names(a.body))
			require.NotEmpty(t, a.header.Get("Location"))
			a = h.do(t, http.MethodPut, "/Users/"+a.id()+"?excludedAttributes=title,meta", user("bob", object{"title": "u"})).want(t, http.StatusOK)
			require.Equal(t, "id schemas userName", names(a.body))
		})
		t.Run("both together are rejected before any change", func(t *testing.T) {
			h.do(t, http.MethodPost, "/Users?attributes=id&excludedAttributes=meta", user("eve")).wantError(t, http.StatusBadRequest,
				scim.InvalidValue)
			total, _ := h.get(t, filtered("/Users", `userName eq "eve"`)).list(t, "id")
			require.Equal(t, "0", total)
		})
		t.Run("a filter uses attributes that the response omits", func(t *testing.T) {
			total, _ := h.get(t, filtered("/Users", `title eq "boss" and groups pr`, "attributes=userName")).list(t, "id")
			require.Equal(t, "1", total)
		})
		t.Run("groups without members", func(t *testing.T) {
			a := h.get(t, filtered("/Groups", `displayName eq "TEAM"`, "excludedAttributes=members"))
			require.Equal(t, "displayName id meta schemas", names(a.body.Array("Resources")[0].(*scim.Object)))
		})
	})
}
