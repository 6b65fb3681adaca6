package sandbox_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestDrain_WaitsForAsyncWork(t *testing.T) {
	t.Parallel()
	s, _ := startSandbox(t, sandbox.Options{Empty: true})
	do := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.Ready().BaseURL+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "SSWS "+s.Ready().APIToken)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Prefer", "respond-async")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(data)
	}
	const user = "/api/v1/users/ada@example.com"
	status, body := do(http.MethodPost, "/api/v1/users",
		`{"profile":{"login":"ada@example.com","email":"ada@example.com","firstName":"Ada","lastName":"Tester"}}`)
	require.Equal(t, http.StatusOK, status, body)
	status, body = do(http.MethodPost, user+"/lifecycle/deactivate", "")
	require.Equal(t, http.StatusOK, status, body)
	status, body = do(http.MethodPost, "/sandbox/v1/jobs/drain", "")
	require.Equal(t, http.StatusOK, status, body)
	status, body = do(http.MethodGet, user, "")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"status":"DEPROVISIONED"`)
	require.NotContains(t, body, "transitioningToStatus")
}
