package scimserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

// memberNames returns the display names of a group's members.
func (h *harness) memberNames(t testing.TB, group string) string {
	t.Helper()
	var names []string
	for _, m := range h.get(t, "/Groups/"+group+"?attributes=members.display").body.Array("members") {
		names = append(names, m.(*scim.Object).Text("display"))
	}
	return strings.Join(names, " ")
}

func TestMembers(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann, bob := h.newUser(t, "ann"), h.newUser(t, "bob", object{"displayName": "Bob B."})
		inner := h.newGroup(t, "inner", bob.id())
		outer := h.do(t, http.MethodPost, "/Groups", group("outer", ann.id(), inner.id(), ann.id())).want(t, http.StatusCreated)

		t.Run("contain value, type and reference", func(t *testing.T) {
			want := fmt.Sprintf(`{"members":[{"value":%q,"type":"User","$ref":"%s/Users/%s"},{"value":%q,"type":"Group","$ref":"%s/Groups/%s"}]}`,
				ann.id(), h.url, ann.id(), inner.id(), h.url, inner.id())
			sameJSON(t, want, without(outer.body, "schemas", "id", "displayName", "meta"))
			require.Equal(t, outer.text, h.get(t, "/Groups/"+outer.id()).text)
		})
		t.Run("contain display on request", func(t *testing.T) {
			a := h.get(t, "/Groups/"+outer.id()+"?attributes=members,members.display")
			want := fmt.Sprintf(`{"members":[
				{"value":%q,"type":"User","$ref":"%s/Users/%s","display":"ann"},
				{"value":%q,"type":"Group","$ref":"%s/Groups/%s","display":"inner"}]}`, ann.id(), h.url, ann.id(), inner.id(), h.url, inner.id())
			sameJSON(t, want, without(a.body, "schemas", "id"))
			listed := h.get(t, filtered("/Groups", `members.display eq "Bob B."`, "attributes=members.display"))
			require.Contains(t, listed.text, `"members":[{"display":"Bob B."}]`)
		})
		t.Run("a reference resolves", func(t *testing.T) {
			m := outer.body.Array("members")[0].(*scim.Object)
			require.Equal(t, ann.id(), h.get(t, m.Text("$ref")).id())
		})
		t.Run("a user has direct and indirect groups", func(t *testing.T) {
			a := h.get(t, "/Users/"+bob.id())
			want := fmt.Sprintf(`{"groups":[
				{"value":%q,"$ref":"%s/Groups/%s","display":"inner","type":"direct"},
				{"value":%q,"$ref":"%s/Groups/%s","display":"outer","type":"indirect"}]}`, inner.id(), h.url, inner.id(), outer.id(), h.url, outer.id())
			sameJSON(t, want, without(a.body, "schemas", "id", "userName", "displayName", "meta"))
		})
		t.Run("groups can contain each other", func(t *testing.T) {
			h.patch(t, "/Groups/"+inner.id(), op("add", "members", refs(outer.id(), inner.id()))).want(t, http.StatusNoContent)
			a := h.get(t, "/Users/"+bob.id())
			require.Len(t, a.body.Array("groups"), 2)
			h.get(t, "/Groups/"+inner.id())
			h.get(t, "/Users")
			h.patch(t, "/Groups/"+inner.id(), op("remove", `members[type eq "Group"]`)).want(t, http.StatusNoContent)
			require.Equal(t, "Bob B.", h.memberNames(t, inner.id()))
		})
		t.Run("a display changes with the name", func(t *testing.T) {
			h.patch(t, "/Users/"+ann.id(), op("add", "displayName", "Ann A.")).want(t, http.StatusOK)
			require.Equal(t, "Ann A. inner", h.memberNames(t, outer.id()))
		})
		t.Run("type and display from a client are ignored", func(t *testing.T) {
			g := h.do(t, http.MethodPost, "/Groups",
				object{"schemas": []string{scim.GroupSchema, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"},
					"displayName": "g",
					"members":     []object{{"value": ann.id(), "type": "Group", "display": "Eve", "$ref": nil}}}).want(t, http.StatusCreated)
			require.Equal(t, "Ann A.", h.memberNames(t, g.id()))
			require.Contains(t, g.json("members"), `"type":"User"`)
			require.Equal(t, `["`+scim.GroupSchema+`"]`, g.json("schemas"))
		})
	})
}

func TestPatchMembers(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ids := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d"} {
			ids[name] = h.newUser(t, name).id()
		}
		is := func(name string) string { return fmt.Sprintf("members[value eq %q]", ids[name]) }
		for _, test := range []struct {
			name       string
			operations []object
			want       string
		}{
			{"add one", []object{op("add", "members", refs(ids["c"]))}, "a b c"},
			{"add several", []object{op("add", "members", refs(ids["c"], ids["d"]))}, "a b c d"},
			{"add a single object", []object{op("add", "members", object{"value": ids["c"]})}, "a b c"},
			{"add without a path", []object{op("add", "", object{"members": refs(ids["c"])})}, "a b c"},
			{"add under the full name", []object{op("Add", scim.GroupSchema+":Members", []object{{"$ref": nil, "value": ids["c"]}})}, "a b c"},
			{"remove one by filter", []object{op("remove", is("a"))}, "b"},
			{"remove several by filter", []object{op("remove", fmt.Sprintf("members[value eq %q or value eq %q]", ids["a"], ids["b"]))}, ""},
			{"remove by another attribute", []object{op("remove", `members[display eq "b"]`)}, "a"},
			{"remove by a list, as Entra sends it", []object{op("Remove", "members", []object{{"$ref": nil, "value": ids["a"]}})}, "b"},
			{"remove only resources that are not members", []object{op("remove", is("d")), op("remove", "members", refs(ids["c"]))}, "a b"},
			{"remove a resource that is not a member", []object{op("add", "members", refs(ids["c"])), op("remove", is("d"))}, "a b c"},
			{"remove all", []object{op("remove", "members")}, ""},
			{"replace all", []object{op("replace", "members", refs(ids["c"], ids["a"]))}, "a c"},
			{"replace by an empty list, as Okta sends it", []object{op("replace", "members", []object{})}, ""},
			{"replace without a path", []object{op("replace", "", object{"members": refs(ids["d"])})}, "d"},
			{"add and remove", []object{op("remove", is("a")), op("add", "members", []object{{"value": ids["c"], "display": "c"}})}, "b c"},
			{"add and remove the same", []object{op("add", "members", refs(ids["c"])), op("remove", is("c"))}, "a b"},
			{"remove all and add", []object{op("remove", "members"), op("add", "members", refs(ids["d"]))}, "d"},
			{"rename as Okta sends it", []object{op("replace", "", object{"displayName": "new name"})}, "a b"},
		} {
			t.Run(test.name, func(t *testing.T) {
				g := h.newGroup(t, "team", ids["a"], ids["b"])
				path := "/Groups/" + g.id()
				a := h.patch(t, path, test.operations...).want(t, http.StatusNoContent)
				require.Empty(t, a.text)
				require.Equal(t, test.want, h.memberNames(t, g.id()))
				if test.want != "a b" {
					require.NotEqual(t, g.header.Get("ETag"), a.header.Get("ETag"))
				}
				require.Equal(t, h.get(t, path).header.Get("ETag"), a.header.Get("ETag"))
			})
		}
		t.Run("with attributes the response has a body", func(t *testing.T) {
			g := h.newGroup(t, "team", ids["a"])
			a := h.patch(t, "/Groups/"+g.id()+"?attributes=members.value", op("add", "members", refs(ids["b"]))).want(t, http.StatusOK)
			require.Equal(t, fmt.Sprintf(`[{"value":%q},{"value":%q}]`, ids["a"], ids["b"]), a.json("members"))
			require.Equal(t, "null", a.json("displayName"))
		})
		t.Run("adding a member again changes nothing", func(t *testing.T) {
			g := h.newGroup(t, "team", ids["a"], ids["b"])
			a := h.patch(t, "/Groups/"+g.id(), op("add", "members", refs(ids["b"]))).want(t, http.StatusNoContent)
			require.Equal(t, g.header.Get("ETag"), a.header.Get("ETag"))
			require.Equal(t, g.text, h.get(t, "/Groups/"+g.id()).text)
		})
		for name, operation := range map[string]object{
			"an unknown member":          op("add", "members", refs(ids["c"], "nobody")),
			"a member without a value":   op("add", "members", []object{{"display": "x"}}),
			"another value for a member": op("replace", is("a")+".value", ids["c"]),
		} {
			t.Run("refuses "+name+" and changes nothing", func(t *testing.T) {
				g := h.newGroup(t, "team", ids["a"], ids["b"])
				h.patch(t, "/Groups/"+g.id(), op("replace", "displayName", "new"), operation).want(t, http.StatusBadRequest)
				require.Equal(t, g.text, h.get(t, "/Groups/"+g.id()).text)
			})
		}
	})
}
