package scimserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

func TestPatchUser(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		h.newUser(t, "taken")
		const start = `"userName":"ann","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work",` +
			`"primary":true}],"active":true`
		for _, test := range []struct {
			name       string
			operations []object
			want       string // the members except id, schemas and meta
		}{
			{"replace an attribute", []object{op("replace", "active", false)},
				`{"userName":"ann","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work","primary":true}],` +
					`"active":false}`},
			{"replace without a path, as Okta sends it", []object{op("replace", "", object{"active": false})},
				`{"userName":"ann","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work","primary":true}],` +
					`"active":false}`},
			{"the default request of Entra", []object{op("Replace", "active", "False"), op("Add", `emails[type eq "home"].value`, "h@example.com")},
				`{"userName":"ann","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work","primary":true},` +
					`{"type":"home","value":"h@example.com"}],"active":false}`},
			{"the request of Entra with its flag",
				[]object{op("replace", "", object{"name.givenName": "Anna", scim.EnterpriseUserSchema + ":department": "D"})},
				`{"userName":"ann","name":{"givenName":"Anna","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work","primary":true}],` +
					`"active":true,"` + scim.EnterpriseUserSchema + `":{"department":"D"}}`},
			{"several operations in order",
				[]object{op("remove", "emails"), op("add", "emails", []object{{"value": "n@example.com"}}), op("replace", "NAME.GivenName", "A")},
				`{"userName":"ann","name":{"givenName":"A","familyName":"Lee"},"emails":[{"value":"n@example.com"}],"active":true}`},
			{"remove a sub-attribute", []object{op("remove", "name.familyName")},
				`{"userName":"ann","name":{"givenName":"Ann"},"emails":[{"value":"w@example.com","type":"work","primary":true}],"active":true}`},
			{"a new primary element", []object{op("add", "emails", []object{{"value": "p@example.com", "primary": true}})},
				`{"userName":"ann","name":{"givenName":"Ann","familyName":"Lee"},"emails":[{"value":"w@example.com","type":"work","primary":false},` +
					`{"value":"p@example.com","primary":true}],"active":true}`},
		} {
			t.Run(test.name, func(t *testing.T) {
				ann := h.do(t, http.MethodPost, "/Users", `{"schemas":["`+scim.UserSchema+`"],`+start+`}`).want(t, http.StatusCreated)
				path := "/Users/" + ann.id()
				defer h.do(t, http.MethodDelete, path, nil)
				a := h.patch(t, path, test.operations...).want(t, http.StatusOK)
				sameJSON(t, test.want, without(a.body, "id", "meta", "schemas"))
				require.NotEqual(t, ann.json("meta.version"), a.json("meta.version"))
				require.Equal(t, a.json("meta.version"), string(scim.AppendValue(nil, a.header.Get("ETag"))))
				require.Equal(t, a.text, h.get(t, path).text)
			})
		}

		ann := h.newUser(t, "ann", object{"active": true})
		path := "/Users/" + ann.id()
		t.Run("a change without effect keeps version and lastModified", func(t *testing.T) {
			for _, operation := range []object{op("replace", "active", true), op("add", "userName", "ann"), op("remove", "title"),
				op("replace", "", object{"id": ann.id()})} {
				require.Equal(t, ann.text, h.patch(t, path, operation).want(t, http.StatusOK).text)
			}
		})
		for _, test := range []struct {
			name      string
			operation object
			status    int
			scimType  scim.Type
		}{
			{"a userName in use", op("replace", "userName", "TAKEN"), 409, scim.Uniqueness},
			{"remove without a path", op("remove", ""), 400, scim.NoTarget},
			{"a bad path", op("replace", "emails[", 1), 400, scim.InvalidPath},
			{"a read-only attribute", op("replace", "meta.version", "1"), 400, scim.Mutability},
			{"a derived attribute", op("add", "groups", []object{{"value": "g"}}), 400, scim.Mutability},
			{"another id", op("replace", "id", "x"), 400, scim.Mutability},
			{"a required attribute removed", op("remove", "userName"), 400, scim.Mutability},
			{"a replace without match", op("replace", `emails[value co "nowhere"].value`, "x"), 400, scim.NoTarget},
			{"a wrong type", op("replace", "active", "maybe"), 400, scim.InvalidValue},
			{"no value", op("add", "title"), 400, scim.InvalidValue},
			{"an unknown op", op("move", "title", "x"), 400, scim.InvalidValue},
			{"an empty password", op("replace", "password", ""), 400, scim.InvalidValue},
		} {
			t.Run("refuses "+test.name+" and reverts all previous operations", func(t *testing.T) {
				h.patch(t, path, op("replace", "active", false), op("add", "nickName", "n"), test.operation).wantError(t, test.status, test.scimType)
				require.Equal(t, ann.text, h.get(t, path).text)
			})
		}
		for name, body := range map[string]any{
			"no schemas":    object{"Operations": []object{op("add", "title", "x")}},
			"no operations": object{"schemas": []string{scim.PatchOpMessage}},
			"no body":       patchOf(),
		} {
			t.Run("rejects a body with "+name, func(t *testing.T) {
				h.do(t, http.MethodPatch, path, body).wantError(t, http.StatusBadRequest, scim.InvalidSyntax)
			})
		}
		t.Run("an extension is added to schemas and removed", func(t *testing.T) {
			a := h.patch(t, path, op("add", scim.EnterpriseUserSchema+":department", "D")).want(t, http.StatusOK)
			require.Equal(t, `["`+scim.UserSchema+`","`+scim.EnterpriseUserSchema+`"]`, a.json("schemas"))
			a = h.patch(t, path, op("remove", scim.EnterpriseUserSchema+":department")).want(t, http.StatusOK)
			require.Equal(t, `["`+scim.UserSchema+`"]`, a.json("schemas"))
		})
	})
}
