package sandbox_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestReadToken_RejectsWrites(t *testing.T) {
	t.Parallel()
	s, err := sandbox.ServeSCIM(t.Context(),
		sandbox.SCIMOptions{Listen: "127.0.0.1:0", Tokens: []string{"writer"}, ReadTokens: []string{"reader"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	for token, want := range map[string][2]int{"writer": {200, 201}, "reader": {200, 403}, "other": {401, 401}} {
		for i, method := range []string{http.MethodGet, http.MethodPost} {
			body := strings.NewReader(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"u"}`)
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/Users", body)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, want[i], res.StatusCode, "%s %s", token, method)
		}
	}
}
