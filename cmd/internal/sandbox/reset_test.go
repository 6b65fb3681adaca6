package sandbox_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// lengthOf returns the length of a list.
func lengthOf(t *testing.T, api *sandbox.APIClient, path string) int {
	t.Helper()
	var all []any
	do(t, api, http.MethodGet, path, "", &all)
	return len(all)
}

// TestReset_RestoresSeed checks that a reset deletes all data, and that a reset with seed creates the seed again.
func TestReset_RestoresSeed(t *testing.T) {
	t.Parallel()
	s, api := startSandbox(t, sandbox.Options{})
	users, groups, apps := lengthOf(t, api, "/api/v1/users"), lengthOf(t, api, "/api/v1/groups"), lengthOf(t, api, "/api/v1/apps")
	accounts := func() int {
		list, err := listUsers(t.Context(), s.Ready().SCIMURL, s.Ready().SCIMToken, nil)
		require.NoError(t, err)
		return list.TotalResults
	}
	provisioned := accounts()
	require.Positive(t, provisioned)
	newUser(t, api, "more@chain.example")

	do(t, api, http.MethodPost, "/sandbox/v1/reset", "", nil)
	require.Equal(t, []int{1, 1, 0},
		[]int{lengthOf(t, api, "/api/v1/users"), lengthOf(t, api, "/api/v1/groups"), lengthOf(t, api, "/api/v1/apps")})
	require.Zero(t, accounts())
	require.Zero(t, lengthOf(t, api, "/sandbox/v1/outbox"))
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)

	do(t, api, http.MethodPost, "/sandbox/v1/reset", `{"seed":true}`, nil)
	require.Equal(t, []int{users, groups, apps},
		[]int{lengthOf(t, api, "/api/v1/users"), lengthOf(t, api, "/api/v1/groups"), lengthOf(t, api, "/api/v1/apps")})
	require.Equal(t, provisioned, accounts())
}

// TestReset_DuringProvisioning checks that a reset during provisioning leaves no data, and that provisioning works afterwards.
func TestReset_DuringProvisioning(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	entered, hold := make(chan struct{}, 100), make(chan struct{})
	handler := scimHandler(t)
	tg := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			entered <- struct{}{}
			<-hold
		}
		handler.ServeHTTP(w, r)
	}))
	app := newApp(t, api, tg.URL, scimToken)
	for i := range 5 {
		user := newUser(t, api, fmt.Sprintf("u%d@chain.example", i))
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	}
	<-entered
	do(t, api, http.MethodPost, "/sandbox/v1/reset", "", nil)
	close(hold)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.Zero(t, lengthOf(t, api, "/api/v1/apps"))
	require.Empty(t, jobs(t, api), "results of deleted apps are discarded")
	require.ErrorContains(t, api.Do(t.Context(), http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", nil, nil), "E0000007")

	// After the reset, a new app with the same target is provisioned.
	again := newApp(t, api, tg.URL, scimToken)
	user := newUser(t, api, "u0@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+again+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	eventually(t, "the user is provisioned", func() bool {
		var a appUser
		do(t, api, http.MethodGet, "/api/v1/apps/"+again+"/users/"+user, "", &a)
		return a.Status == "PROVISIONED"
	})
}

func TestReset_ConcurrentCallsSerialized(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	newUser(t, api, "one@chain.example")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := api.Do(t.Context(), http.MethodPost, "/sandbox/v1/reset", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, lengthOf(t, api, "/api/v1/users"))
	require.Equal(t, 1, lengthOf(t, api, "/api/v1/groups"))
}

func TestReset_FailedSeedLeavesInitialContent(t *testing.T) {
	t.Parallel()
	tg := newTarget(t, scimHandler(t))
	_, api := startSandbox(t, sandbox.Options{ExternalTarget: tg.URL, ExternalToken: scimToken, Empty: true})
	tg.set(http.NotFoundHandler()) // the seed fails, because the connection test of its first app fails
	require.Error(t, api.Do(t.Context(), http.MethodPost, "/sandbox/v1/reset", map[string]bool{"seed": true}, nil))
	require.Equal(t, 1, lengthOf(t, api, "/api/v1/users"))
	require.Zero(t, lengthOf(t, api, "/api/v1/apps"))
}
