package daemon_test

import (
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/goldentest"
)

func TestOpenAPI_CheckedIn(t *testing.T) {
	text, err := daemon.OpenAPI()
	require.NoError(t, err)
	goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "api", "service.json"), string(text))
}

// TestOpenAPI_AllOperations checks that the document is valid and contains each operation of the four tables once: no path of the daemon
// hides one of the engine.
func TestOpenAPI_AllOperations(t *testing.T) {
	text, err := daemon.OpenAPI()
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	ids, own := map[string][]string{}, 0
	for _, op := range operations(t) {
		require.NotContains(t, ids, op.id)
		ids[op.id] = op.scopes
	}
	for _, op := range desiredapi.Operations("") {
		require.Equal(t, []string{op.Access}, ids[op.ID], op.ID)
		own++
	}
	for _, op := range control.Operations("") {
		require.Equal(t, []string{op.Access}, ids[op.ID], op.ID)
		own++
	}
	for _, op := range webhooksapi.Operations("") {
		require.Equal(t, op.Access, ids[op.ID], op.ID)
		own++
	}
	require.Len(t, ids, own+8)
}
