package sandbox_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// A configured token replaces the token of the last run, which may have leaked.
func TestAPIToken_ReplacedAtStart(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Listen: "127.0.0.1:0", Empty: true, Data: filepath.Join(t.TempDir(), "data"), APIToken: "leaked-token"}
	s, err := sandbox.Start(t.Context(), o)
	require.NoError(t, err)
	first := &sandbox.APIClient{BaseURL: s.Ready().BaseURL, Token: s.Ready().APIToken}
	var made struct{ Token string }
	do(t, first, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"other","userId":"me"}`, &made)
	require.NoError(t, s.Close(context.WithoutCancel(t.Context())))

	o.APIToken = "new-token"
	_, api := startSandbox(t, o)
	do(t, api, http.MethodGet, "/api/v1/users/me", "", nil)
	do(t, &sandbox.APIClient{BaseURL: api.BaseURL, Token: made.Token}, http.MethodGet, "/api/v1/users/me", "", nil)
	leaked := &sandbox.APIClient{BaseURL: api.BaseURL, Token: "leaked-token"}
	require.ErrorContains(t, leaked.Do(t.Context(), http.MethodGet, "/api/v1/users/me", nil, nil), "401")
}
