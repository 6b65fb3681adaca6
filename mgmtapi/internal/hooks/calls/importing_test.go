package calls_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// TestTransformImport_RejectsForbiddenCommands verifies that one forbidden command leaves the whole import unchanged.
func TestTransformImport_RejectsForbiddenCommands(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := w.InlineHooks.Insert(t.Context(), tx, model.NewID(model.KindInlineHook), model.InlineHook{
			Name: "import", Type: model.HookImport, Version: model.HookVersion, Status: model.HookActive, Turn: 1,
			Channel: model.HookChannel{Type: model.HookHTTP, Version: model.HookVersion, URI: w.endpoint.URL},
		})
		return err
	}))
	account := func() calls.Import {
		return calls.Import{
			App: docstore.Doc[model.App]{ID: "0oa1"}, Job: "job1", Action: model.ImportCreate,
			AppProfile: map[string]any{"displayName": "Ada"}, UserProfile: map[string]any{"lastName": "Lovelace"},
		}
	}
	const allowed = `{"type":"com.svc.user.profile.update","value":{"lastName":"King"}}`
	for name, c := range map[string]struct{ command, reason string }{
		"of token hooks": {`{"type":"com.svc.access.patch","value":[]}`, `"com.svc.access.patch" is not a command for imports`},
		"without a type": {`{"value":{}}`, `"" is not a command for imports`},
		"an unknown result": {`{"type":"com.svc.action.update","value":{"result":"DELETE_USER"}}`,
			"a result must be CREATE_USER or LINK_USER"},
		"no result":                {`{"type":"com.svc.action.update"}`, "a result must be CREATE_USER or LINK_USER"},
		"a link without a user":    {`{"type":"com.svc.action.update","value":{"result":"LINK_USER"}}`, "LINK_USER needs a user"},
		"a user without an id":     {`{"type":"com.svc.user.update","value":{}}`, "com.svc.user.update needs the id of a user"},
		"a profile that is a list": {`{"type":"com.svc.user.profile.update","value":[]}`, "must be an object of attributes"},
		"a profile that is null":   {`{"type":"com.svc.appUser.profile.update","value":null}`, "must be an object of attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			w.endpoint.Answer(hookstest.JSON(200, fmt.Sprintf(`{"commands":[%s,%s]}`, allowed, c.command)))
			got, changed, err := w.TransformImport(t.Context(), account())
			require.ErrorContains(t, err, c.reason)
			require.False(t, changed)
			require.Equal(t, account(), got, "no command is applied")
			w.endpoint.Called(1)
			told := w.newest(t, "inline_hook.response.processed")
			require.Equal(t, model.LogFailure, told.Result)
			require.Contains(t, told.Reason, c.reason)
		})
	}
	w.endpoint.Answer(hookstest.JSON(200, fmt.Sprintf(`{"commands":[%s]}`, allowed)))
	got, changed, err := w.TransformImport(t.Context(), account())
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "King", got.UserProfile["lastName"])
}
