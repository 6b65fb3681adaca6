package scimserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestPut(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann", object{"externalId": "x", "title": "boss", "emails": []object{{"value": "a@example.com"}}})
		h.newUser(t, "bob")
		path := "/Users/" + ann.id()
		put := func(t *testing.T, body any) *response { t.Helper(); return h.do(t, http.MethodPut, path, body) }

		t.Run("replaces the writable attributes and removes absent ones", func(t *testing.T) {
			a := put(t, user("ann", object{"nickName": "A", "emails": []object{{"value": "b@example.com"}}})).want(t, http.StatusOK)
			sameJSON(t, `{"schemas":["`+scim.UserSchema+`"],"userName":"ann","nickName":"A","emails":[{"value":"b@example.com"}]}`,
				without(a.body, "id", "meta"))
			require.Equal(t, ann.id(), a.id())
			require.Equal(t, ann.json("meta.created"), a.json("meta.created"))
			require.NotEqual(t, ann.json("meta.version"), a.json("meta.version"))
			require.Equal(t, a.text, h.get(t, path).text)
		})
		t.Run("ignores read-only attributes, and accepts a complete response sent back", func(t *testing.T) {
			now := h.get(t, path)
			a := put(t, now.text).want(t, http.StatusOK)
			require.Equal(t, now.text, a.text, "the resource and its version are unchanged")
			a = put(t,
				user("ann",
					object{"id": "other", "groups": []object{{"value": "g"}}, "meta": object{"version": "9", "created": "2001-01-01T00:00:00Z"}})).want(t,
				http.StatusOK)
			require.Equal(t, ann.id(), a.id())
			require.Equal(t, ann.json("meta.created"), a.json("meta.created"))
			require.Equal(t, "null", a.json("groups"))
		})
		t.Run("null and an empty array remove an attribute", func(t *testing.T) {
			put(t, user("ann", object{"title": "t", "emails": []object{{"value": "b@example.com"}}})).want(t, http.StatusOK)
			a := put(t, user("ann", object{"title": nil, "emails": []object{}})).want(t, http.StatusOK)
			require.Equal(t, "null", a.json("title"))
			require.Equal(t, "null", a.json("emails"))
		})
		t.Run("accepts its own userName in another case", func(t *testing.T) {
			require.Equal(t, `"ANN"`, put(t, user("ANN")).want(t, http.StatusOK).json("userName"))
		})
		t.Run("rejects a request and changes nothing", func(t *testing.T) {
			before := h.get(t, path).text
			put(t, user("BOB")).wantError(t, http.StatusConflict, scim.Uniqueness)
			put(t, `{"schemas":["`+scim.UserSchema+`"]}`).wantError(t, http.StatusBadRequest, scim.InvalidValue)
			put(t, user("ann", object{"emails": "x", "active": 3})).wantError(t, http.StatusBadRequest, scim.InvalidValue)
			put(t, `{`).wantError(t, http.StatusBadRequest, scim.InvalidSyntax)
			require.Equal(t, before, h.get(t, path).text)
		})
		t.Run("never creates", func(t *testing.T) {
			h.do(t, http.MethodPut, "/Users/unknown", user("new")).wantError(t, http.StatusNotFound, "")
			total, _ := h.get(t, filtered("/Users", `userName eq "new"`)).list(t, "id")
			require.Equal(t, "0", total)
		})
		t.Run("replaces the members of a group", func(t *testing.T) {
			team := h.newGroup(t, "team", ann.id())
			bob := h.newUser(t, "another")
			a := h.do(t, http.MethodPut, "/Groups/"+team.id(), group("crew", bob.id(), bob.id())).want(t, http.StatusOK)
			require.Len(t, a.body.Array("members"), 1)
			require.Contains(t, a.json("members"), bob.id())
			require.Equal(t, `"crew"`, a.json("displayName"))
			a = h.do(t, http.MethodPut, "/Groups/"+team.id(), group("crew")).want(t, http.StatusOK)
			require.Equal(t, "null", a.json("members"))
			h.do(t, http.MethodPut, "/Groups/"+team.id(), group("crew", "nobody")).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		})
	})
}

func TestStrict_RejectsNonstandardInput(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for name, body := range map[string]object{
			"a boolean as a string": user("x", object{"active": "True"}),
			"an unknown attribute":  user("x", object{"shoeSize": 1}),
			"an unknown schema":     user("x", object{"schemas": []string{scim.UserSchema, "urn:example:unknown"}}),
		} {
			t.Run(name, func(t *testing.T) {
				h.do(t, http.MethodPost, "/Users", body).wantError(t, http.StatusBadRequest, scim.InvalidValue)
			})
		}
		ann := h.newUser(t, "ann")
		team := h.newGroup(t, "team", ann.id())
		h.patch(t, "/Groups/"+team.id(), op("remove", "members", refs(ann.id()))).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		require.Len(t, h.get(t, "/Groups/"+team.id()).body.Array("members"), 1, "the group keeps its members")
	}, func(o *scimserver.Options) { o.Refuse = scimserver.Strict })
}
