package scimserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

func TestETags(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for _, endpoint := range []string{"/Users", "/Groups"} {
			t.Run(endpoint, func(t *testing.T) {
				body := func(name string) any {
					if endpoint == "/Users" {
						return user(name)
					}
					return group(name)
				}
				created := h.do(t, http.MethodPost, endpoint, body("one"), header("If-None-Match", "*")).want(t, http.StatusCreated)
				path := endpoint + "/" + created.id()
				first := created.header.Get("ETag")
				require.Regexp(t, `^W/"[^"]+"$`, first)
				changed := h.do(t, http.MethodPut, path, body("two"), header("If-Match", first)).want(t, http.StatusOK)
				second := changed.header.Get("ETag")
				require.NotEqual(t, first, second)
				require.Equal(t, second, changed.body.Complex("meta").Text("version"))

				for _, test := range []struct {
					header, value string
					get, change   int // status of a GET and of a change, which is a PATCH without effect
				}{
					{"If-None-Match", second, 304, 412},
					{"If-None-Match", second[2:], 304, 412},
					{"If-None-Match", `"x", ` + second, 304, 412},
					{"If-None-Match", "*", 304, 412},
					{"If-None-Match", first, 200, 0},
					{"If-Match", second, 200, 0},
					{"If-Match", second[2:], 200, 0},
					{"If-Match", "*", 200, 0},
					{"If-Match", first + ", " + second, 200, 0},
					{"If-Match", first, 200, 412},
					{"If-Match", `"nonsense`, 200, 412},
					{"If-Match", "", 200, 412},
				} {
					t.Run(test.header+" "+test.value, func(t *testing.T) {
						a := h.do(t, http.MethodGet, path, nil, header(test.header, test.value)).want(t, test.get)
						require.Equal(t, second, a.header.Get("ETag"))
						if test.get == http.StatusNotModified {
							require.Empty(t, a.text)
						}
						noEffect := op("replace", "", object{"id": created.id()})
						a = h.do(t, http.MethodPatch, path, patchOf(noEffect), header(test.header, test.value))
						if test.change == 0 {
							require.Less(t, a.status, 300, a.text)
							return
						}
						a.wantError(t, http.StatusPreconditionFailed, "")
						h.do(t, http.MethodPut, path, body("three"), header(test.header, test.value)).wantError(t, http.StatusPreconditionFailed, "")
						h.do(t, http.MethodDelete, path, nil, header(test.header, test.value)).wantError(t, http.StatusPreconditionFailed, "")
					})
				}
				require.Equal(t, second, h.get(t, path).header.Get("ETag"), "the resource is unchanged")
				h.do(t, http.MethodPatch, endpoint+"/unknown", patchOf(op("add", "displayName", "x")), header("If-Match", "*")).wantError(t,
					http.StatusNotFound, "")
				h.do(t, http.MethodDelete, path, nil, header("If-Match", second)).want(t, http.StatusNoContent)
			})
		}
		ann := h.newUser(t, "ann")
		listed := h.get(t, "/Users").body.Array("Resources")[0].(*scim.Object)
		require.Equal(t, ann.header.Get("ETag"), listed.Complex("meta").Text("version"), "in a list")
	})
}
