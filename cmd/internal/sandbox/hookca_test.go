package sandbox_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/hookstest"
)

// object is a JSON object.
type object = map[string]any

func TestInlineHooks_TrustConfiguredCA(t *testing.T) {
	t.Parallel()
	endpoint := hookstest.New(t)
	endpoint.Answer(hookstest.JSON(http.StatusOK, `{"heard":true}`))
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, []byte(endpoint.CA), 0o600))
	execute := func(t *testing.T, o sandbox.Options) (object, error) {
		o.Empty = true
		_, api := startSandbox(t, o)
		var hook, answer object
		require.NoError(t, api.Do(t.Context(), http.MethodPost, "/api/v1/inlineHooks", object{
			"name": "h", "type": "com.svc.telephony.provider", "version": "1.0.0",
			"channel": object{"type": "HTTP", "version": "1.0.0", "config": object{"uri": endpoint.URL}},
		}, &hook))
		err := api.Do(t.Context(), http.MethodPost, "/api/v1/inlineHooks/"+hook["id"].(string)+"/execute", object{"said": true}, &answer)
		return answer, err
	}
	t.Run("with it", func(t *testing.T) {
		answer, err := execute(t, sandbox.Options{HookCA: file})
		require.NoError(t, err)
		require.Equal(t, object{"heard": true}, answer)
		require.JSONEq(t, `{"said":true}`, endpoint.Called(1)[0].Body)
	})
	t.Run("without it", func(t *testing.T) {
		_, err := execute(t, sandbox.Options{})
		require.ErrorContains(t, err, "E0000137")
		require.ErrorContains(t, err,
			"certificate signed by unknown authority; trusted certificates: those of the system and of --hook-ca")
		endpoint.Called(1)
	})
	for name, text := range map[string]string{"no certificate": "nothing", "no file": ""} {
		t.Run(name, func(t *testing.T) {
			wrong := filepath.Join(t.TempDir(), "wrong.pem")
			if text != "" {
				require.NoError(t, os.WriteFile(wrong, []byte(text), 0o600))
			}
			_, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Empty: true, HookCA: wrong})
			require.ErrorContains(t, err, "wrong.pem")
		})
	}
}
