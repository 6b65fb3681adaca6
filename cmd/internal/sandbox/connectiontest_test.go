package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

func TestConnectionTest_Recorded(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	const token = "token-of-the-target"
	answers := map[string]http.HandlerFunc{
		"a list": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/scim+json")
			fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`)
		},
		"an error": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"401","detail":"unknown: %s"}`,
				r.Header.Get("Authorization"))
		},
		"something else": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Internal", "yes")
			fmt.Fprint(w, "<html>the intranet</html>")
		},
	}
	want := map[string]string{
		"a list": `"totalResults":0`, "an error": "unknown: Bearer [redacted]", "something else": "[not shown: not a SCIM message]",
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			var app struct{ ID string }
			do(t, api, http.MethodPost, "/api/v1/apps", appBody(false), &app)
			target := newTarget(t, answer)
			body := map[string]any{"baseUrl": target.URL, "profile": map[string]string{"authScheme": "TOKEN", "token": token}}
			err := api.Do(t.Context(), http.MethodPost, "/api/v1/apps/"+app.ID+"/connections/default?activate=true", body, nil)
			require.Equal(t, name == "a list", err == nil, "%v", err)

			var all []attempt
			do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app.ID+"/attempts", "", &all)
			require.Len(t, all, 1)
			require.Equal(t, []string{"GET", "/Users?startIndex=1&count=100"}, []string{all[0].Method, all[0].Path})
			require.Contains(t, all[0].Response, want[name])
			require.NotContains(t, fmt.Sprint(all[0]), token)
			require.NotContains(t, fmt.Sprint(all[0]), "intranet")
			page := consolePage(t, api, "/apps/"+app.ID)
			require.Contains(t, page, "startIndex=1")
		})
	}
	t.Run("nothing", func(t *testing.T) {
		var app struct{ ID string }
		do(t, api, http.MethodPost, "/api/v1/apps", appBody(false), &app)
		body := map[string]any{"baseUrl": "http://127.0.0.1:1", "profile": map[string]string{"authScheme": "TOKEN", "token": token}}
		require.Error(t, api.Do(t.Context(), http.MethodPost, "/api/v1/apps/"+app.ID+"/connections/default?activate=true", body, nil))
		var all []attempt
		do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app.ID+"/attempts", "", &all)
		require.Len(t, all, 1)
		require.Zero(t, all[0].Status)
		require.NotEmpty(t, all[0].Error)
	})
}
