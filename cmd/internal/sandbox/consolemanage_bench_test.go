package sandbox_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// The size of the organization of BenchmarkManage_Lists.
const (
	managedUsers = 100_000
	managedApps  = 1000
)

// BenchmarkManage_Lists measures the pages of the console in an organization with 100,000 users and 1,000 apps: the median and the maximum
// time of 20 requests (at most 50 ms for the overview, and 100 ms for all others).
func BenchmarkManage_Lists(b *testing.B) {
	databaseURL := "sqlite:" + filepath.Join(b.TempDir(), "sandbox.db")
	first, err := sandbox.Start(b.Context(), sandbox.Options{Listen: "127.0.0.1:0", DB: databaseURL, Empty: true})
	require.NoError(b, err)
	require.NoError(b, first.Close(context.WithoutCancel(b.Context())))
	everyone := fillEveryone(b, databaseURL, managedUsers)
	_, api := startSandbox(b, sandbox.Options{DB: databaseURL, Empty: true})
	var app, user struct{ ID string }
	do(b, api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Large","settings":{"app":{}}}`, &app)
	do(b, api, http.MethodPut, "/api/v1/apps/"+app.ID+"/groups/"+everyone, "{}", nil)
	for i := range managedApps - 1 {
		do(b, api, http.MethodPost, "/api/v1/apps", fmt.Sprintf(`{"name":"scim2_test_app","label":"App %03d","settings":{"app":{}}}`, i), nil)
	}
	do(b, api, http.MethodGet, "/api/v1/users/user00500@example.com", "", &user)
	c := consoleLogin(b, api)
	next := regexp.MustCompile(`href="(\?[^"]*after=[^"]*)"`).FindStringSubmatch(c.get("/users"))
	require.NotNil(b, next)
	pages := []struct{ name, path string }{
		{"overview", "/"}, {"overview-search", "/?q=App+777"}, {"requests", "/requests"}, {"outbox", "/outbox"}, {"hooks", "/hooks"},
		{"servers", "/servers"}, {"conformance", "/conformance"}, {"people", "/apps/" + app.ID + "/people"},
		{"users", "/users"}, {"users-next", "/users" + html.UnescapeString(next[1])}, {"users-login", "/users?q=user777"},
		{"users-common-name", "/users?q=first"}, {"users-status", "/users?status=ACTIVE"},
		{"users-login-status", "/users?q=user777&status=ACTIVE"},
		{"users-no-match", "/users?q=zzz"}, {"users-expression", "/users?search=" + url.QueryEscape(`profile.lastName eq "Last"`)},
		{"user", "/users/" + user.ID}, {"groups", "/groups"}, {"group", "/groups/" + everyone}, {"group-users", "/groups/" + everyone + "/users"},
		{"assignments", "/apps/" + app.ID + "/assignments"}, {"assignments-search", "/apps/" + app.ID + "/assignments?q=user777"},
		{"assign-users", "/apps/" + app.ID + "/assignments/users"}, {"log", "/log"}, {"tokens", "/tokens"},
	}
	for b.Loop() {
		for _, p := range pages {
			var took []time.Duration
			for range 20 {
				began := time.Now()
				status, page := c.at(p.path)
				took = append(took, time.Since(began))
				require.Equal(b, http.StatusOK, status, page)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[10].Microseconds())/1000, p.name+"-ms")
			b.ReportMetric(float64(took[19].Microseconds())/1000, p.name+"-max-ms")
			b.Logf("%-20s median %6.1f ms, maximum %6.1f ms", p.name, float64(took[10].Microseconds())/1000, float64(took[19].Microseconds())/1000)
		}
	}
	b.ReportMetric(0, "ns/op") // not meaningful here
}
