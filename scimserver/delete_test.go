package scimserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDelete(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann, bob := h.newUser(t, "ann"), h.newUser(t, "bob")
		team := h.newGroup(t, "team", ann.id(), bob.id())
		path := "/Users/" + ann.id()

		a := h.do(t, http.MethodDelete, path, nil).want(t, http.StatusNoContent)
		require.Empty(t, a.text)

		t.Run("all requests return not found afterwards", func(t *testing.T) {
			h.do(t, http.MethodGet, path, nil).wantError(t, http.StatusNotFound, "")
			h.do(t, http.MethodDelete, path, nil).wantError(t, http.StatusNotFound, "")
			h.do(t, http.MethodPut, path, user("ann")).wantError(t, http.StatusNotFound, "")
			h.patch(t, path, op("replace", "active", true)).wantError(t, http.StatusNotFound, "")
		})
		t.Run("lists and filters do not return it", func(t *testing.T) {
			_, names := h.get(t, "/Users").list(t, "userName")
			require.Equal(t, []string{"bob"}, names)
			total, _ := h.get(t, filtered("/Users", `userName eq "ann"`)).list(t, "id")
			require.Equal(t, "0", total)
		})
		t.Run("it is removed from its groups, whose versions change", func(t *testing.T) {
			a := h.get(t, "/Groups/"+team.id())
			require.Len(t, a.body.Array("members"), 1)
			require.Contains(t, a.json("members"), bob.id())
			require.NotEqual(t, team.header.Get("ETag"), a.header.Get("ETag"))
		})
		t.Run("its name can be used again", func(t *testing.T) {
			require.NotEqual(t, ann.id(), h.newUser(t, "ann").id())
		})
		t.Run("members of a deleted group are kept without the group", func(t *testing.T) {
			h.do(t, http.MethodDelete, "/Groups/"+team.id(), nil).want(t, http.StatusNoContent)
			require.Equal(t, "null", h.get(t, "/Users/"+bob.id()).json("groups"))
		})
	})
}
