package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/alltest"
)

// A sandbox is killed while it provisions many users. After a restart the target receives all of them, none twice, and the engine sends no
// create for a user that exists on the target.
func TestKilledProvisioning_NothingLostOrDuplicated(t *testing.T) {
	users := 200
	if alltest.All() {
		users = 2000
	}
	good := scimHandler(t)
	tg := newTarget(t, good)
	data := t.TempDir()
	args := []string{"sandbox", "--listen", "127.0.0.1:0", "--data", data, "--empty", "--no-rate-limits"}

	first := startCommand(t, args...)
	api := first.api()
	app := newApp(t, api, tg.URL, scimToken)
	var group struct {
		ID string `json:"id"`
	}
	do(t, api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"All users"}}`, &group)
	creating, _ := errgroup.WithContext(t.Context())
	creating.SetLimit(16)
	for i := range users {
		creating.Go(func() error {
			login := fmt.Sprintf("kill%04d@chain.example", i)
			var u struct {
				ID string `json:"id"`
			}
			body := map[string]any{
				"profile":     map[string]string{"login": login, "email": login, "firstName": "Kill", "lastName": fmt.Sprint(i)},
				"credentials": map[string]any{"provider": map[string]string{"type": "FEDERATION", "name": "FEDERATION"}},
				"groupIds":    []string{group.ID},
			}
			return api.Do(t.Context(), http.MethodPost, "/api/v1/users?provider=true", body, &u)
		})
	}
	require.NoError(t, creating.Wait())
	do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/groups/"+group.ID, "", nil)
	eventually(t, "a third has arrived", func() bool { return tg.posts.Load() > int64(users/3) })
	first.kill()

	before, err := listUsers(t.Context(), tg.URL, scimToken, url.Values{"count": {"0"}})
	require.NoError(t, err)
	require.Less(t, before.TotalResults, users, "the process was killed during provisioning")

	second := startCommand(t, args...)
	api = second.api()
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=120", "", nil)
	seen := map[string]int{}
	for start := 1; ; start += 100 {
		page, err := listUsers(t.Context(), tg.URL, scimToken, url.Values{"startIndex": {fmt.Sprint(start)}, "count": {"100"}})
		require.NoError(t, err)
		require.LessOrEqual(t, page.TotalResults, users, "no duplicates")
		for _, u := range page.Resources {
			seen[u.UserName]++
			require.True(t, u.Active)
		}
		if start+100 > page.TotalResults {
			break
		}
	}
	require.Len(t, seen, users, "all users are provisioned")
	t.Logf("%d users on the target when killed, %d of %d after the restart, %d creates sent", before.TotalResults, len(seen), users,
		tg.posts.Load())
	synchronized := 0
	for _, u := range allAppUsers(t, api, app) {
		if u.SyncState == "SYNCHRONIZED" && u.ExternalID != "" {
			synchronized++
		}
	}
	require.Equal(t, users, synchronized, "every app user has its result, including those whose report was lost in the kill")
	var tasks []any
	do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", "", &tasks)
	require.Empty(t, tasks)
}
