package connect_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

func TestDo_Accepted(t *testing.T) {
	var location, text, mediaType string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.Header().Set("Set-Txn", "t81c0")
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	c, err := connect.New(connect.Config{BaseURL: server.URL + "/scim/v2/", Network: &connect.Network{Transport: server.Client().Transport}})
	require.NoError(t, err)
	for name, want := range map[string]string{
		server.URL + "/scim/v2/Users/7f3":        "/Users/7f3",
		"/scim/v2/Users/7f3":                     "/Users/7f3",
		"Users/7f3":                              "/Users/7f3",
		"/scim/v2/Events/t81c0":                  "/Events/t81c0",
		"/scim/v2/Users/../../../Users/7f3":      server.URL + "/Users/7f3",
		"/scim/v20/Users/7f3":                    server.URL + "/scim/v20/Users/7f3",
		"https://elsewhere.test/scim/v2/Users/1": "https://elsewhere.test/scim/v2/Users/1",
		"":                                       "",
	} {
		location, text, mediaType = name, "", scim.MediaType
		got := c.Do(t.Context(), plan.Request{Method: http.MethodPost, Path: "/Users", Op: engine.OpCreate, Body: scim.NewObject()})
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Location, name)
		require.Equal(t, "t81c0", got.Txn)
	}
	text, mediaType = "<p>Accepted, thank you</p>", "text/html"
	got := c.Do(t.Context(), plan.Request{Method: http.MethodPatch, Path: "/Users/1", Op: engine.OpDeactivate, Body: scim.NewObject()})
	require.NoError(t, got.Err, "the content of a page is ignored")
	require.Equal(t, http.StatusAccepted, got.Status)
	require.Error(t, c.Do(t.Context(), plan.Request{Method: http.MethodGet, Path: "/Users/1"}).Err, "a read requires SCIM")
}
