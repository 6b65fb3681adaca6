package scimserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestGet(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann")
		path := "/Users/" + ann.id()

		t.Run("returns location and version", func(t *testing.T) {
			a := h.get(t, path)
			require.Equal(t, h.url+path, a.header.Get("Location"))
			require.Equal(t, ann.header.Get("ETag"), a.header.Get("ETag"))
			require.Equal(t, "private, no-cache", a.header.Get("Cache-Control"))
		})
		t.Run("HEAD sends the same headers and no body", func(t *testing.T) {
			a := h.do(t, http.MethodHead, path, nil).want(t, http.StatusOK)
			require.Empty(t, a.text)
			require.Equal(t, ann.header.Get("ETag"), a.header.Get("ETag"))
		})
		t.Run("allows a trailing slash", func(t *testing.T) {
			h.get(t, path+"/")
			h.get(t, "/Users/")
		})
		for _, id := range []string{"unknown", ann.id() + "x", strings.ToUpper(ann.id()), "..", "%00", "%ff", "a%2Fb", "%27%20OR%201=1",
			strings.Repeat("x", 3000), "*", url.PathEscape(ann.id()) + "/more"} {
			t.Run("unknown id "+id[:min(len(id), 20)], func(t *testing.T) {
				h.do(t, http.MethodGet, "/Users/"+id, nil).wantError(t, http.StatusNotFound, "")
			})
		}
		t.Run("a user is not a group", func(t *testing.T) {
			h.do(t, http.MethodGet, "/Groups/"+ann.id(), nil).wantError(t, http.StatusNotFound, "")
		})
	})
}

func TestLocation_StartsWithBaseURL(t *testing.T) {
	t.Run("from the request by default", func(t *testing.T) {
		h := serve(t, newMapStore())
		a := h.do(t, http.MethodPost, "/Users", user("ann"), func(r *http.Request) { r.Host = "idm.example.com" }).want(t, http.StatusCreated)
		require.Equal(t, "http://idm.example.com"+prefix+"/Users/"+a.id(), a.header.Get("Location"))
	})
	t.Run("from the configuration", func(t *testing.T) {
		h := serve(t, newMapStore(), func(o *scimserver.Options) { o.BaseURL = "https://proxy.example.com/scim/" })
		a := h.newUser(t, "ann")
		require.Equal(t, "https://proxy.example.com/scim/Users/"+a.id(), a.header.Get("Location"))
		g := h.newGroup(t, "team", a.id())
		require.Contains(t, g.json("members"), `"$ref":"https://proxy.example.com/scim/Users/`+a.id()+`"`)
		require.Equal(t, `"https://proxy.example.com/scim/Schemas/`+scim.UserSchema+`"`,
			h.get(t, "/Schemas/"+scim.UserSchema).json("meta.location"))
	})
	t.Run("at the root of a host", func(t *testing.T) {
		h := serve(t, newMapStore(), func(o *scimserver.Options) { o.Prefix = "" })
		h.url = strings.TrimSuffix(h.url, prefix)
		a := h.newUser(t, "ann")
		require.Equal(t, a.id(), h.get(t, a.header.Get("Location")).id())
		h.get(t, "/")
	})
}
