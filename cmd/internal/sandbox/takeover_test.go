package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

const (
	takenAssignments = 400
	takenTries       = 3
	takenAnswer      = 300 * time.Millisecond // latency of the target
	// takenWithin is the time within which another sandbox continues after kill -9, with the default options.
	takenWithin = 12500 * time.Millisecond
	// takenLate is the longest time for which a request of a killed process can be on the way.
	takenLate = time.Second
)

// arrivals records the requests of a target.
type arrivals struct {
	next http.Handler
	mu   sync.Mutex
	at   []time.Time
}

// ServeHTTP implements http.Handler.
func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.at = append(a.at, time.Now())
	a.mu.Unlock()
	time.Sleep(takenAnswer)
	a.next.ServeHTTP(w, r)
}

// after returns the number of requests, and the first one after a time.
func (a *arrivals) after(t time.Time) (n int, first time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.at {
		if at.After(t) && first.IsZero() {
			first = at
		}
	}
	return len(a.at), first
}

// TestTakeover_TwoSandboxes kills the one of two sandboxes on one database that works on 400 assignments, and measures the time until the
// other one sends the next request. All options have their defaults.
func TestTakeover_TwoSandboxes(t *testing.T) {
	alltest.Only(t, "waits for takeovers at the default lease")
	database, key := sqldbtest.PostgresURL(t), filepath.Join(t.TempDir(), "secret.key")
	start := func() *child {
		return startCommand(t, "sandbox", "--listen", "127.0.0.1:0", "--db", database, "--secret-key-file", key, "--empty", "--no-rate-limits",
			"--base-url", "http://replica.example")
	}
	two := [2]*child{start(), start()}
	api := two[0].api()
	var group struct{ ID string }
	do(t, api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"Everyone here"}}`, &group)
	for n := range takenAssignments {
		user := newUser(t, api, fmt.Sprintf("u%03d@takeover.example", n))
		do(t, api, http.MethodPut, "/api/v1/groups/"+group.ID+"/users/"+user, "", nil)
	}
	var took []time.Duration
	for range takenTries {
		target := &arrivals{next: scimHandler(t)}
		server := httptest.NewServer(target)
		t.Cleanup(server.Close)
		app := newApp(t, two[0].api(), server.URL, scimToken)
		do(t, two[0].api(), http.MethodPut, "/api/v1/apps/"+app+"/groups/"+group.ID, "{}", nil)
		eventually(t, "the work has begun", func() bool { n, _ := target.after(time.Time{}); return n >= takenAssignments/4 })
		// For a moment, the other process may have the lane of an earlier app, whose principals are looked at again after the takeover.
		var owners []int
		eventually(t, "one process has all running lanes", func() bool {
			owners = nil
			for _, p := range fleetOf(t, two[0]).Processes {
				for i, c := range two {
					if p.Lanes > 0 && p.State == engine.ProcessAlive && strings.HasSuffix(p.Name, strings.TrimPrefix(c.Ready.BaseURL, "http://")) {
						owners = append(owners, i)
					}
				}
			}
			return len(owners) == 1
		})
		owner := owners[0]
		two[owner].kill()
		killed := time.Now()
		other := two[1-owner]
		eventually(t, "the other sandbox continues", func() bool { _, first := target.after(killed.Add(takenLate)); return !first.IsZero() })
		_, first := target.after(killed.Add(takenLate))
		took = append(took, first.Sub(killed).Round(time.Millisecond))
		f := fleetOf(t, other)
		require.Equal(t, 1, f.Alive)
		require.True(t, f.Shared)
		var taken int64
		for _, p := range f.Processes {
			if p.State == engine.ProcessAlive {
				taken = p.Takeovers
			}
		}
		require.Positive(t, taken)
		do(t, other.api(), http.MethodPost, "/sandbox/v1/apps/"+app+"/wait?timeoutSeconds=300", "", nil)
		list, err := listUsers(t.Context(), server.URL, scimToken, url.Values{"count": {"1"}})
		require.NoError(t, err)
		require.Equal(t, takenAssignments, list.TotalResults, "each user has one account")
		two[0], two[1] = other, start()
	}
	t.Logf("the other sandbox continued after %v", took)
	for _, d := range took {
		require.LessOrEqual(t, d, takenWithin)
	}
}

func fleetOf(t testing.TB, c *child) (f client.Fleet) {
	t.Helper()
	do(t, c.api(), http.MethodGet, "/sandbox/v1/engine/fleet", "", &f)
	return f
}

// TestReplicas_Fleet checks that each of two sandboxes on one database shows both.
func TestReplicas_Fleet(t *testing.T) {
	t.Parallel()
	p := startReplicas(t, sandbox.Options{Empty: true, NoRateLimits: true})
	for _, c := range []*child{{Ready: p.first.Ready()}, {Ready: p.second.Ready()}} {
		f := fleetOf(t, c)
		require.Equal(t, []any{true, 2, 2}, []any{f.Shared, f.Alive, len(f.Processes)})
		for i, one := range f.Processes {
			require.Equal(t, engine.ProcessAlive, one.State)
			require.Contains(t, one.Name, strings.TrimPrefix([]string{p.first.Ready().BaseURL, p.second.Ready().BaseURL}[i], "http://"))
			require.False(t, one.Seen.IsZero())
		}
		var all []client.Job
		do(t, c.api(), http.MethodGet, "/sandbox/v1/engine/jobs?kind=management.log", "", &all)
		require.LessOrEqual(t, len(all), 1, "the replicas share the periodic jobs")
	}
}
