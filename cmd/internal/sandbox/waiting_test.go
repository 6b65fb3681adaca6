package sandbox_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/enginetest"
)

// notDrained sends a POST to a path that waits for a second, and returns the causes of the error.
func notDrained(t *testing.T, api *sandbox.APIClient, path string) []string {
	t.Helper()
	err := api.Do(t.Context(), http.MethodPost, path+"?timeoutSeconds=1", nil, nil)
	e, ok := errors.AsType[*sandbox.APIError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, http.StatusGatewayTimeout, e.Status)
	require.Equal(t, "E0000504", e.Code)
	return e.Causes
}

func TestPausedLane_TasksAndWaits(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	tg, url := newAccepting(t)
	app := newApp(t, api, url, scimToken)
	tg.Inject(enginetest.Fault{Path: "/Users?filter", Status: 429, RetryAfter: "1000", Times: -1})
	ann := assignTo(t, api, app, "ann@chain.example")
	jobs := "/sandbox/v1/apps/" + app
	var list []pendingTask
	eventually(t, "a task", func() bool {
		do(t, api, http.MethodGet, jobs+"/tasks", "", &list)
		return len(list) == 1 && list[0].NextAttempt != ""
	})
	require.Equal(t, ann.user, list[0].UserID)
	require.Contains(t, list[0].ErrorSummary, "429: injected 429")
	next, err := time.Parse(time.RFC3339Nano, list[0].NextAttempt)
	require.NoError(t, err)
	require.True(t, next.After(time.Now()))

	why := `^user ann@chain.example of Test app \(\w+\): on hold \(pause\): .*429: injected 429; until 20\S+Z$`
	for _, path := range []string{jobs + "/wait", jobs + "/principals/user/" + ann.user + "/wait"} {
		causes := notDrained(t, api, path)
		require.Len(t, causes, 1, path)
		require.Regexp(t, why, causes[0], path)
	}
	causes := notDrained(t, api, "/sandbox/v1/jobs/drain")
	require.Len(t, causes, 2)
	require.Equal(t, "pending: 1 (users, groups and changes with pending work)", causes[0])
	require.Regexp(t, why, causes[1])

	tg.ClearFaults()
	do(t, api, http.MethodPost, jobs+"/tasks/"+ann.user+"/retry", "", nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	ann.becomes("PROVISIONED SYNCHRONIZED")
}

// TestDrain_NamesPendingUsers checks that a drain names pending users, and that pending users of other apps do not block an app without
// pending users.
func TestDrain_NamesPendingUsers(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: time.Hour})
	slow, url := newAccepting(t)
	app := newApp(t, api, url, scimToken)
	slow.Inject(enginetest.Fault{Accept: true, Times: -1})
	assignTo(t, api, app, "ann@chain.example").becomes("STAGED SYNCING")
	for i := range 25 {
		assignTo(t, api, app, string(rune('a'+i))+"@chain.example")
	}
	eventually(t, "all are accepted", func() bool {
		var list []pendingTask
		do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", "", &list)
		return len(list) == 26
	})
	var causes []string
	eventually(t, "no sequence of the named users is running", func() bool {
		causes = notDrained(t, api, "/sandbox/v1/jobs/drain")
		return !slices.ContainsFunc(causes, func(cause string) bool { return strings.HasSuffix(cause, "(pending): is being provisioned") })
	})
	require.Len(t, causes, 22)
	require.Equal(t, "pending: 26 (users, groups and changes with pending work)", causes[0])
	require.Regexp(t, `^user \S+@chain.example of Test app \(pending\): create: accepted at 20\S+Z with transaction t\d+, `+
		`not carried out yet; until 20\S+Z$`, causes[1])
	require.Equal(t, "and 6 more", causes[21])
	third := newApp(t, api, url, scimToken)
	assignTo(t, api, third, "yan@chain.example").becomes("STAGED SYNCING")
	causes = notDrained(t, api, "/sandbox/v1/apps/"+third+"/wait")
	require.Len(t, causes, 1, "only the user of this app")
	require.Regexp(t, `^user yan@chain.example of `, causes[0])
	good, token := newSCIMServer(t)
	other := newApp(t, api, good, token)
	assignTo(t, api, other, "zoe@chain.example").becomes("PROVISIONED SYNCHRONIZED")
	do(t, api, http.MethodPost, "/sandbox/v1/apps/"+other+"/wait", "", nil)
}
