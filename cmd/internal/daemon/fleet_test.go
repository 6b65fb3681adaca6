package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// fleetLoad writes users of several apps through several daemons, and measures how long each acknowledged write takes to the target. The
// family name of a user is the version.
type fleetLoad struct {
	t       testing.TB
	targets map[string]*enginetest.Target // by app
	http    *http.Client

	mu       sync.Mutex
	urls     []string                  // of the daemons
	latest   map[string]int            // acknowledged version by app and user
	waiting  map[string][]waitingWrite // ascending by version
	longest  time.Duration             // between the acknowledgment and the target, since take
	slowest  string
	requests int
}

type waitingWrite struct {
	version int
	at      time.Time
}

// take returns the longest delay since the last call.
func (l *fleetLoad) take() (longest time.Duration, slowest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest, slowest, l.longest, l.slowest = l.longest, l.slowest, 0, ""
	return longest, slowest
}

// send repeats a write, at one daemon after the other, until it is acknowledged.
func (l *fleetLoad) send(ctx context.Context, method, path, body string) {
	for i := 0; ctx.Err() == nil; i++ {
		l.mu.Lock()
		base := l.urls[i%len(l.urls)]
		l.mu.Unlock()
		req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
		if err != nil {
			l.t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		req.Header.Set("Content-Type", "application/json")
		res, err := l.http.Do(req)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		switch {
		case res.StatusCode == http.StatusOK:
			return
		case res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests:
			l.t.Errorf("%s %s: %s", method, path, res.Status)
			return
		}
	}
}

// write writes the users in turns until the context ends.
func (l *fleetLoad) write(ctx context.Context, users int) {
	apps := slices.Sorted(maps.Keys(l.targets))
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		app, user := apps[n%len(apps)], fmt.Sprint("u-", n/len(apps)%users)
		version := n/len(apps)/users + 1
		l.send(ctx, http.MethodPut, "/apps/"+app+"/users/"+user, fmt.Sprintf(
			`{"version":%d,"want":"active","resource":{"userName":%q,"name":{"familyName":"%d"}}}`, version, user, version))
		if ctx.Err() != nil {
			return // maybe not acknowledged
		}
		l.mu.Lock()
		key := app + " " + user
		l.latest[key] = version
		l.waiting[key] = append(l.waiting[key], waitingWrite{version, time.Now()})
		l.requests++
		l.mu.Unlock()
	}
}

// watch measures the delays until the context ends.
func (l *fleetLoad) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for app, target := range l.targets {
			for _, u := range target.Users() {
				version, _ := strconv.Atoi(u.Complex("name").Text("familyName"))
				l.arrived(app+" "+u.Text("userName"), version)
			}
		}
	}
}

func (l *fleetLoad) arrived(key string, version int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting[key]) > 0 && l.waiting[key][0].version <= version {
		if d := time.Since(l.waiting[key][0].at); d > l.longest {
			l.longest, l.slowest = d, fmt.Sprint(key, " version ", l.waiting[key][0].version)
		}
		l.waiting[key] = l.waiting[key][1:]
	}
}

// settled reports whether each acknowledged write has arrived.
func (l *fleetLoad) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		if len(w) > 0 {
			return false
		}
	}
	return true
}

// takeoverLimit is the maximum time until another daemon has taken over the apps of a dead one, at the defaults.
const takeoverLimit = 12500 * time.Millisecond

// TestTwoDaemons_KilledAndFrozen writes users through two daemons on one database, while one is killed, and then the other one is stopped
// by SIGSTOP and continued. No acknowledged write takes longer than the takeover, and no write or event is lost.
func TestTwoDaemons_KilledAndFrozen(t *testing.T) {
	alltest.Only(t, "waits for two takeovers at the default lease")
	const apps, users = 20, 5
	args := []string{"--db", sqldbtest.PostgresURL(t), "--key", testKey, "--admin-token", adminToken, "--rate", "10000"}
	one, two := startCommand(t, args...), startCommand(t, args...)
	c := &caller{t: t, url: two.ready.EngineURL, token: adminToken}
	l := &fleetLoad{t: t, targets: map[string]*enginetest.Target{}, http: &http.Client{Timeout: time.Second},
		urls: []string{one.ready.EngineURL, two.ready.EngineURL}, latest: map[string]int{}, waiting: map[string][]waitingWrite{}}
	for i := range apps {
		app := fmt.Sprint("app-", i)
		target := enginetest.NewTarget()
		// A slow target, so that each daemon owns some apps at any time.
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-r.Context().Done():
			}
			target.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		l.targets[app] = target
		c.do(http.StatusOK, http.MethodPut, "/apps/"+app, appBody(1, server.URL))
	}
	ctx, end := context.WithCancel(t.Context())
	var load, watch sync.WaitGroup
	watching, endWatch := context.WithCancel(t.Context())
	load.Go(func() { l.write(ctx, users) })
	watch.Go(func() { l.watch(watching) })
	defer watch.Wait()
	defer endWatch()
	defer load.Wait()
	defer end()
	through := func(what string, d time.Duration) time.Duration {
		t.Helper()
		begin := time.Now()
		eventually(t, what, func() bool { return time.Since(begin) > d })
		longest, slowest := l.take()
		t.Logf("%s: longest delay %s (%s)", what, longest.Round(time.Millisecond), slowest)
		return longest
	}
	through("first writes", 2*time.Second)
	usual := through("no failure", 5*time.Second)

	one.kill()
	killed := through("one daemon killed", takeoverLimit+5*time.Second)
	three := startCommand(t, args...)
	l.mu.Lock()
	l.urls = []string{three.ready.EngineURL, two.ready.EngineURL}
	l.mu.Unlock()
	killed = max(killed, through("a new daemon joins", 5*time.Second))

	require.NoError(t, two.cmd.Process.Signal(syscall.SIGSTOP))
	frozen := through("one daemon stopped", takeoverLimit+5*time.Second)
	require.NoError(t, two.cmd.Process.Signal(syscall.SIGCONT))
	frozen = max(frozen, through("the daemon continued", 5*time.Second))
	end()
	load.Wait()
	eventually(t, "every write has arrived", l.settled)
	last, _ := l.take()
	require.Less(t, max(killed, frozen, last), takeoverLimit+usual)

	var fleet struct{ Processes []struct{ Takeovers int } }
	c.url = three.ready.EngineURL
	c.do(http.StatusOK, http.MethodGet, "/engine/fleet", "", &fleet)
	taken := 0
	for _, p := range fleet.Processes {
		taken += p.Takeovers
	}
	require.GreaterOrEqual(t, taken, 2, "the apps of both daemons were taken over")

	// The state that the targets and the events have when nothing is pending.
	events := 0
	for app, target := range l.targets {
		c.do(http.StatusOK, http.MethodPost, "/apps/"+app+"/wait?timeoutSeconds=60", "")
		var got, want []string
		for _, u := range target.Users() {
			got = append(got, u.Text("userName")+" "+u.Complex("name").Text("familyName"))
		}
		for i := range users {
			want = append(want, fmt.Sprintf("u-%d %d", i, l.latest[fmt.Sprintf("%s u-%d", app, i)]))
		}
		slices.Sort(got)
		// A write that was sent when the load ended may have been stored, although it was not acknowledged.
		require.Len(t, got, len(want))
		for i := range got {
			have, wanted := versionOf(got[i]), versionOf(want[i])
			require.True(t, have == wanted || have == wanted+1, "%s: %q instead of %q", app, got[i], want[i])
		}
		events += checkEvents(t, c, app, users)
	}
	t.Logf("%d writes, %d events, %d apps", l.requests, events, apps)
}

func versionOf(text string) int {
	_, version, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(version)
	return n
}

// checkEvents reads the events of an app by the cursor, requires numbers without gaps and one creation of each user before its updates, and
// returns their number.
func checkEvents(t testing.TB, c *caller, app string, users int) (n int) {
	t.Helper()
	created := map[string]bool{}
	for after := int64(0); ; {
		var page []seenEvent
		r := c.do(http.StatusOK, http.MethodGet, "/apps/"+app+"/events?"+url.Values{"after": {fmt.Sprint(after)}, "limit": {"50"}}.Encode(), "")
		require.NoError(t, json.Unmarshal([]byte(r.body), &page))
		if len(page) == 0 {
			require.Len(t, created, users)
			return n
		}
		for _, e := range page {
			require.Equal(t, after+1, e.Seq, app)
			after, n = e.Seq, n+1
			switch e.Type {
			case "user.created", "user.linked":
				require.False(t, created[e.ID], "%s: %s was created twice", app, e.ID)
				created[e.ID] = true
			case "user.updated":
				require.True(t, created[e.ID], "%s: %s was updated before its creation", app, e.ID)
			}
		}
	}
}
