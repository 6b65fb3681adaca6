package scimserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver"
)

// leniencyCases has a request for each leniency, which is accepted with this leniency alone and rejected if only this one is missing. A
// PATCH changes a user, or a group of that user. A POST creates a user.
var leniencyCases = []struct {
	name     string
	method   string
	endpoint string
	body     func(user string) object
	refused  scim.Type
	shown    string // a part of the resource after the request
	want     string
}{
	{"op-case", "PATCH", "/Users", func(string) object { return patchOf(op("Replace", "nickName", "x")) }, scim.InvalidValue, "nickName",
		`"x"`},
	{"spelled-booleans", "PATCH", "/Users", func(string) object { return patchOf(op("replace", "active", "False")) }, scim.InvalidValue,
		"active", `false`},
	{"path-keys", "PATCH", "/Users", func(string) object { return patchOf(op("replace", "", object{"name.givenName": "x"})) },
		scim.InvalidValue, "name", `{"givenName":"x"}`},
	{"remove-values", "PATCH", "/Groups", func(u string) object { return patchOf(op("remove", "members", refs(u))) }, scim.InvalidValue,
		"members", `null`},
	{"create-element", "PATCH", "/Users", func(string) object { return patchOf(op("add", `emails[type eq "work"].value`, "x@example.com")) },
		scim.NoTarget,
		"emails", `[{"type":"work","value":"x@example.com"}]`},
	{"read-only-echo", "PATCH", "/Groups",
		func(string) object { return patchOf(op("replace", "", object{"id": "other", "displayName": "x"})) }, scim.Mutability, "displayName",
		`"x"`},
	{"plain-values", "PATCH", "/Users", func(string) object { return patchOf(op("add", scim.EnterpriseUserSchema+":manager", "26")) },
		scim.InvalidValue,
		scim.EnterpriseUserSchema, `{"manager":{"value":"26"}}`},
	{"single-values", "POST", "/Users", func(string) object { return user("single", object{"emails": object{"value": "x@example.com"}}) },
		scim.InvalidValue,
		"emails", `[{"value":"x@example.com"}]`},
	{"unknown-attributes", "POST", "/Users", func(string) object { return user("unknown", object{"shoeSize": 9}) }, scim.InvalidValue,
		"shoeSize", `null`},
	{"unknown-schemas", "POST", "/Users", func(string) object {
		return user("schemas",
			object{"schemas": []string{scim.UserSchema, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"}})
	}, scim.InvalidValue, "schemas", `["` + scim.UserSchema + `"]`},
	{"loose-values", "POST", "/Users", func(string) object { return user("Barbara Jensen", object{"timezone": "Eastern Standard Time"}) },
		scim.InvalidValue,
		"timezone", `"Eastern Standard Time"`},
	{"echoed-schemas", "PATCH", "/Users", func(string) object {
		return patchOf(op("add", scim.EnterpriseUserSchema, object{"schemas": []string{scim.EnterpriseUserSchema}, "division": "x"}))
	}, scim.InvalidValue, scim.EnterpriseUserSchema, `{"division":"x"}`},
	{"dotted-urns", "PATCH", "/Users", func(string) object {
		return patchOf(op("add", scim.EnterpriseUserSchema+".manager", object{"value": "26"}))
	}, scim.InvalidPath, scim.EnterpriseUserSchema, `{"manager":{"value":"26"}}`},
	{"bare-extensions", "PATCH", "/Users", func(string) object { return patchOf(op("replace", "manager.value", "26")) }, scim.InvalidPath,
		scim.EnterpriseUserSchema, `{"manager":{"value":"26"}}`},
}

// TestLeniency_Independent checks that an embedder can disable each leniency separately.
func TestLeniency_Independent(t *testing.T) {
	tested := lenient.EmptyReferences | lenient.JSONValues // tested separately by TestLeniency_EmptyReferences and TestLeniency_JSONValues
	for _, test := range leniencyCases {
		t.Run(test.name, func(t *testing.T) {
			set, err := lenient.Parse(test.name)
			require.NoError(t, err)
			tested |= set
			store := newMapStore()
			plain := serve(t, store)
			ann := plain.newUser(t, "ann").id()
			target := map[string]string{"/Users": ann, "/Groups": plain.newGroup(t, "team", ann).id()}[test.endpoint]
			path := test.endpoint
			if test.method != http.MethodPost {
				path += "/" + target
			}
			refusing := serve(t, store, func(o *scimserver.Options) { o.Refuse = set })
			refusing.do(t, test.method, path, test.body(ann)).wantError(t, http.StatusBadRequest, test.refused)
			strict := serve(t, store, func(o *scimserver.Options) { o.Refuse = scimserver.Strict })
			strict.do(t, test.method, path, test.body(ann)).wantError(t, http.StatusBadRequest, test.refused)

			accepting := serve(t, store, func(o *scimserver.Options) { o.Refuse = scimserver.Strict &^ set })
			a := accepting.do(t, test.method, path, test.body(ann))
			require.Less(t, a.status, 300, a.text)
			if test.method == http.MethodPost {
				target = a.id()
			}
			now, _ := plain.get(t, test.endpoint+"/"+target).body.Get(test.shown)
			require.Equal(t, test.want, string(scim.AppendValue(nil, now)))
		})
	}
	require.Equal(t, lenient.All, tested, "every leniency has a case")
}

// TestLeniency_JSONValues checks the leniency for a JSON object in a string, which the RFC treats as a plain value and not as an error.
func TestLeniency_JSONValues(t *testing.T) {
	change := op("add", "roles", []object{{"value": `{"id":"06b07648","value":"25","displayName":"Role1234"}`}})
	h := serve(t, newMapStore())
	path := "/Users/" + h.newUser(t, "ann").id()
	require.Equal(t, `[{"value":"25","display":"Role1234"}]`, h.patch(t, path, change).want(t, http.StatusOK).json("roles"))
	require.Equal(t, `[{"value":"25","display":"Role1234"}]`, h.patch(t, path, change).want(t, http.StatusOK).json("roles"),
		"equal values are merged")
	literal := serve(t, newMapStore(), func(o *scimserver.Options) { o.Refuse = lenient.JSONValues })
	path = "/Users/" + literal.newUser(t, "ann").id()
	require.Contains(t, literal.patch(t, path, change).want(t, http.StatusOK).json("roles"), `\"id\"`)
}

// TestLeniency_PrimaryRoleFilter sends the request of Entra ID for an app with one role per user: the primary role, selected by a filter
// with a string.
func TestLeniency_PrimaryRoleFilter(t *testing.T) {
	const path = `roles[primary eq "True"].value`
	eachStore(t, func(t *testing.T, h *harness) {
		ann := "/Users/" + h.newUser(t, "ann").id()
		for _, role := range []string{"Reader", "Admin"} {
			a := h.patch(t, ann, op("Add", path, role)).want(t, http.StatusOK)
			sameJSON(t, `{"roles":[{"primary":true,"value":"`+role+`"}]}`, scim.NewObject(scim.Member{Name: "roles", Value: a.body.Array("roles")}))
		}
		a := h.patch(t, ann, op("Replace", path, "Owner")).want(t, http.StatusOK)
		require.Equal(t, "Owner", a.body.Array("roles")[0].(*scim.Object).Text("value"))
		for _, text := range []string{`roles[primary eq "True"]`, path + ` eq "Owner"`} {
			_, found := h.get(t, filtered("/Users", text)).list(t, "userName")
			require.Equal(t, []string{"ann"}, found, text)
		}
		h.patch(t, ann, op("Remove", `roles[primary eq "True"]`)).want(t, http.StatusOK)
		require.Equal(t, "null", h.get(t, ann).json("roles"))
	})
	strict := serve(t, newMapStore(), func(o *scimserver.Options) { o.Refuse = scimserver.Strict })
	ann := "/Users/" + strict.newUser(t, "ann", object{"roles": []object{{"value": "x", "primary": true}}}).id()
	strict.do(t, http.MethodGet, filtered("/Users", `roles[primary eq "True"]`), nil).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
	strict.patch(t, ann, op("replace", path, "Owner")).wantError(t, http.StatusBadRequest, scim.InvalidFilter)
	strict.patch(t, ann, op("replace", `roles[primary eq true].value`, "Owner")).want(t, http.StatusOK)
}

// TestLeniency_EmptyReferences checks the leniency for an empty reference, which the RFC treats as a value and not as an error.
func TestLeniency_EmptyReferences(t *testing.T) {
	manager := scim.EnterpriseUserSchema + ":manager"
	managed := object{"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema},
		scim.EnterpriseUserSchema: object{"manager": object{"value": "26"}}}
	for _, value := range []any{"", object{"value": ""}} {
		for _, name := range []string{"add", "replace"} {
			h := serve(t, newMapStore())
			path := "/Users/" + h.newUser(t, "ann", managed).id()
			a := h.patch(t, path, op(name, manager, value)).want(t, http.StatusOK)
			require.NotContains(t, a.text, "manager", "%s %v", name, value)
		}
		h := serve(t, newMapStore())
		a := h.newUser(t, "bob", managed, object{scim.EnterpriseUserSchema: object{"manager": value}})
		require.NotContains(t, a.text, "manager")
	}
	strict := serve(t, newMapStore(), func(o *scimserver.Options) { o.Refuse = lenient.EmptyReferences })
	path := "/Users/" + strict.newUser(t, "ann", managed).id()
	a := strict.patch(t, path, op("replace", manager, object{"value": ""})).want(t, http.StatusOK)
	require.Contains(t, a.text, `"manager":{"value":""}`)
}
