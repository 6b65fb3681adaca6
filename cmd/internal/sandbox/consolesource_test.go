package sandbox_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// The page of an application shows failed principals first and links to their requests.
func TestConsole_AppPageShowsFailuresFirst(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	inner := scimHandler(t)
	server := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method == http.MethodPost && strings.Contains(string(body), "zoe@") {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no Zoes here"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	app := newApp(t, api, server.URL, scimToken)
	for _, login := range []string{"ben@northwind.example", "zoe@northwind.example", "ada@northwind.example"} {
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+newUser(t, api, login)+`"}`, nil)
	}
	eventually(t, "all users were processed", func() bool {
		page := consolePage(t, api.BaseURL+"/apps/"+app)
		return strings.Contains(page, ">failed<") && strings.Count(page, ">in sync<") == 2
	})
	principals, requests, found := strings.Cut(consolePage(t, api.BaseURL+"/apps/"+app), "Latest requests")
	require.True(t, found)
	zoe, ada, ben := strings.Index(principals, "zoe@"), strings.Index(principals, "ada@"), strings.Index(principals, "ben@")
	require.Positive(t, zoe)
	require.Less(t, zoe, ada, "failed users come first")
	require.Less(t, ada, ben, "the other users are sorted by name")
	require.Contains(t, requests, "<b>POST</b> <code>/Users</code>")
	require.Contains(t, requests, "no Zoes here")
	require.Contains(t, requests, "</code> for zoe@northwind.example")

	link := regexp.MustCompile(`/apps/\w+/user/\w+`).FindString(principals)
	history := consolePage(t, api.BaseURL+link)
	require.Contains(t, history, "The user is assigned to the application directly.")
	require.Contains(t, history, "<code>user.firstName</code>")
	do(t, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/halt", `{"operations":["update"],"reason":"audit"}`, nil)
	require.Contains(t, consolePage(t, api.BaseURL+"/apps/"+app), "audit")
}

func consolePage(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	page, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(page)
}
