package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/scim"
)

// RFC 7644 section 3.13: a SCIM server, never the console, responds to paths with any protocol version.
func TestRoutes_ProtocolVersions(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	ready := s.Ready()
	for _, test := range []struct {
		path     string
		status   int
		scimType scim.Type
	}{
		{"/scim/v2/Users", http.StatusOK, ""},
		{"/scim/Users", http.StatusOK, ""},
		{"/scim/v9/Users", http.StatusBadRequest, scim.InvalidVers},
		{"/scim/v1", http.StatusBadRequest, scim.InvalidVers},
		{"/scim/vNext/Users", http.StatusNotFound, ""},
		{"/scim/v2x", http.StatusNotFound, ""},
		{"/t/chat/scim/v2/Users", http.StatusOK, ""},
		{"/t/chat/scim/v9/Users", http.StatusBadRequest, scim.InvalidVers},
		{"/t/chat/scim/vNext/Users", http.StatusNotFound, ""},
		{"/t/nobody/scim/v9/Users", http.StatusNotFound, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ready.BaseURL+test.path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+ready.SCIMToken)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, test.status, res.StatusCode, "%s: %s", test.path, text)
		require.Equal(t, scim.MediaType, res.Header.Get("Content-Type"), test.path)
		if test.status == http.StatusOK {
			continue
		}
		o, err := scim.Decode(text)
		require.NoError(t, err)
		require.Equal(t, []any{scim.ErrorMessage}, o.Array("schemas"), test.path)
		require.Equal(t, string(test.scimType), o.Text("scimType"), "%s: %s", test.path, text)
	}
	res, err := http.Get(ready.BaseURL + "/scimitar")
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.False(t, strings.HasPrefix(res.Header.Get("Content-Type"), scim.MediaType), "%s", text)
}

func TestOpenAPI_GeneratedOnce(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	var first []byte
	for range 2 {
		res, err := http.Get(s.Ready().BaseURL + "/openapi.json")
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "application/json", res.Header.Get("Content-Type"))
		if first == nil {
			first = text
		}
		require.Equal(t, string(first), string(text))
	}
	var document struct {
		OpenAPI string                     `json:"openapi"`
		Paths   map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(first, &document))
	require.Equal(t, "3.0.3", document.OpenAPI)
	require.Contains(t, document.Paths, "/api/v1/users")
}
