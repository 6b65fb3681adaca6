package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// advance moves the clock of a sandbox and returns its time.
func advance(t *testing.T, api *sandbox.APIClient, by time.Duration) time.Time {
	t.Helper()
	var at struct{ Now time.Time }
	do(t, api, http.MethodPost, "/sandbox/v1/clock", fmt.Sprintf(`{"advanceSeconds":%f}`, by.Seconds()), &at)
	return at.Now
}

// laneState returns the state of the lane of an app.
func laneState(t *testing.T, api *sandbox.APIClient, app string) string {
	t.Helper()
	var seen struct{ Lane struct{ State string } }
	do(t, api, http.MethodGet, "/sandbox/v1/engine/apps/"+app, "", &seen)
	return seen.Lane.State
}

const day = 24 * time.Hour

func TestClock_ControlsExpiry(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	do(t, api, http.MethodPost, "/api/v1/users",
		`{"profile":{"login":"a@chain.example","email":"a@chain.example","firstName":"A","lastName":"B"}}`, nil)
	var box []struct{ Token string }
	do(t, api, http.MethodGet, "/sandbox/v1/outbox", "", &box)
	activate := func() error {
		return api.Do(t.Context(), http.MethodPost, "/api/v1/authn", map[string]string{"token": box[0].Token}, nil)
	}
	advance(t, api, 7*day-time.Hour)
	require.NoError(t, activate())
	advance(t, api, 2*time.Hour)
	require.ErrorContains(t, activate(), "E0000011")

	var made struct{ Created time.Time }
	do(t, api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"later"}}`, &made)
	require.Greater(t, time.Until(made.Created), 6*day, "the documents contain the time of the clock")

	// A jump does not expire the sandbox's own token.
	advance(t, api, 31*day)
	do(t, api, http.MethodGet, "/api/v1/users/me", "", nil)
}

func TestClock_RejectsUnreachableTime(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	err := api.Do(t.Context(), http.MethodPost, "/sandbox/v1/clock", map[string]string{"now": "2400-01-01T00:00:00Z"}, nil)
	require.ErrorContains(t, err, "E0000001")
	var at struct{ AheadSeconds float64 }
	do(t, api, http.MethodGet, "/sandbox/v1/clock", "", &at)
	require.Zero(t, at.AheadSeconds)
}

func TestClock_EngineContinuesAfterAdvance(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	tg, down := newThrottling(t)
	app := newApp(t, api, tg.URL, scimToken)
	assign := func(login string) {
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, newUser(t, api, login)), nil)
	}
	assign("before@chain.example")
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	advance(t, api, day)
	assign("after@chain.example")
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.EqualValues(t, 2, tg.posts.Load(), "expired leases are acquired again")

	down.Store(true)
	assign("paused@chain.example")
	eventually(t, "the lane is paused for an hour", func() bool { return laneState(t, api, app) == "pause" })
	down.Store(false)
	advance(t, api, time.Hour)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.EqualValues(t, 3, tg.posts.Load(), "the pause is over")
}

func TestClock_ContinuesAfterRestart(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, Data: filepath.Join(t.TempDir(), "data")}
	first, api := startSandbox(t, o)
	at := advance(t, api, 1000*time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, first.Close(ctx))
	_, api = startSandbox(t, o)
	now := advance(t, api, 0)
	require.False(t, now.Before(at), "%s is before %s", now, at)
	require.Less(t, now.Sub(at), 100*time.Hour)
}

// newThrottling returns a target. While down is set, it returns 429 with a Retry-After of an hour.
func newThrottling(t *testing.T) (tg *target, down *atomic.Bool) {
	t.Helper()
	down = &atomic.Bool{}
	working := scimHandler(t)
	return newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		working.ServeHTTP(w, r)
	})), down
}
