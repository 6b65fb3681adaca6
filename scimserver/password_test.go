package scimserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestPasswords(t *testing.T) {
	store := newMapStore()
	h := serve(t, store)
	hash := func(id string) string {
		rec, err := store.Get(t.Context(), "User", id)
		require.NoError(t, err)
		_, there := rec.Resource.Get("password")
		require.False(t, there, "the resource has no password")
		return rec.PasswordHash
	}
	const first, second = "correct horse", "battery staple"
	ann := h.newUser(t, "ann", object{"password": first})
	path := "/Users/" + ann.id()

	t.Run("are stored as bcrypt hashes", func(t *testing.T) {
		require.True(t, strings.HasPrefix(hash(ann.id()), "$2a$04$"))
		require.True(t, scimserver.CheckPassword(hash(ann.id()), first))
		require.False(t, scimserver.CheckPassword(hash(ann.id()), second))
	})
	t.Run("are compared completely, with any length and with NUL", func(t *testing.T) {
		long := strings.Repeat("x", 100)
		a := h.newUser(t, "long", object{"password": long + "1"})
		require.True(t, scimserver.CheckPassword(hash(a.id()), long+"1"))
		require.False(t, scimserver.CheckPassword(hash(a.id()), long+"2"))
	})
	t.Run("are in no response", func(t *testing.T) {
		for _, a := range []*response{ann, h.get(t, path), h.get(t, path+"?attributes=password"), h.get(t, "/Users"),
			h.do(t, http.MethodPut, path, user("ann", object{"password": first})), h.patch(t, path, op("replace", "password", first))} {
			require.NotContains(t, a.text, "assword")
			require.NotContains(t, a.text, first)
			require.NotContains(t, a.text, "$2a$")
		}
	})
	t.Run("are kept if a PUT or PATCH does not name them", func(t *testing.T) {
		h.do(t, http.MethodPut, path, user("ann", object{"title": "t"})).want(t, http.StatusOK)
		h.patch(t, path, op("replace", "title", "u")).want(t, http.StatusOK)
		require.True(t, scimserver.CheckPassword(hash(ann.id()), first))
	})
	t.Run("change by PUT and PATCH, which changes the user", func(t *testing.T) {
		before := h.get(t, path).header.Get("ETag")
		a := h.do(t, http.MethodPut, path, user("ann", object{"password": second})).want(t, http.StatusOK)
		require.NotEqual(t, before, a.header.Get("ETag"))
		require.True(t, scimserver.CheckPassword(hash(ann.id()), second))
		h.patch(t, path, op("replace", "", object{"password": first})).want(t, http.StatusOK)
		require.True(t, scimserver.CheckPassword(hash(ann.id()), first))
	})
	t.Run("are prepared and compared by RFC 8265", func(t *testing.T) {
		a := h.newUser(t, "opaque", object{"password": "cafe\u0301\u00a0Ⅻ"})
		require.True(t, scimserver.CheckPassword(hash(a.id()), "caf\u00e9 Ⅻ"), "composed, and with the usual space")
		require.False(t, scimserver.CheckPassword(hash(a.id()), "Caf\u00e9 Ⅻ"), "passwords are case-sensitive")
		for _, wrong := range []string{"a\u0007b", "a\nb", "\u0378"} {
			h.do(t, http.MethodPost, "/Users", user("wrong", object{"password": wrong})).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		}
	})
	t.Run("can be removed", func(t *testing.T) {
		h.patch(t, path, op("remove", "password")).want(t, http.StatusOK)
		require.Empty(t, hash(ann.id()))
		require.False(t, scimserver.CheckPassword("", ""))
	})
}
