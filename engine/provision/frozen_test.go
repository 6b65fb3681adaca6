package provision_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// stallLease is the time after which a stopped process is dead in these tests.
const stallLease = 3 * time.Second

// TestLease_StalledEngineHarmless stops one of two engines on a PostgreSQL database in the middle of a sequence. The stopped engine
// continues, as a new process, after the other engine has taken over its lane and finished.
//
// Invariant 17
func TestLease_StalledEngineHarmless(t *testing.T) {
	var all []*stalledPair
	reassigned := func(k *directoryTx) { k.user("u-1", "anna", "chair") }
	for _, c := range []struct {
		scenario, at string
		then         func(*directoryTx) // the change during the stop
		// method of the request that the stopped engine sends although its lease has ended, because it checked the lease before; empty if
		// none
		stale string
	}{
		{scenario: "a user is created", at: "carried out GET /Users", then: reassigned},
		{scenario: "a user is created", at: "carried out POST /Users", then: reassigned},
		{scenario: "a user is created", at: "answered POST /Users", then: annLeaves},
		{scenario: "a user is created", at: "before Finish", then: annRemoved},
		{scenario: "a user changes", at: "carried out GET /Users", then: reassigned},
		{scenario: "a user changes", at: "before PUT /Users", then: reassigned, stale: http.MethodPut},
		{scenario: "a user changes", at: "carried out PUT /Users", then: reassigned},
		{scenario: "a user is deactivated", at: "before PATCH /Users", then: reassigned, stale: http.MethodPatch},
		{scenario: "a user is deactivated", at: "carried out PATCH /Users", then: reassigned},
		{scenario: "a group is renamed", at: "before PATCH /Groups", then: pushedGroup("Crew"), stale: http.MethodPatch},
		{scenario: "members are added and removed", at: "carried out PATCH /Groups", then: func(k *directoryTx) {
			k.leave("g-1", "u-4")
			k.join("g-1", "u-1")
		}},
	} {
		f := &stalledPair{scenario: scenario(c.scenario), at: c.at, stale: c.stale}
		f.begin(t, c.then)
		all = append(all, f)
	}
	for _, f := range all {
		require.NoError(t, f.second.Wait(), f.secondLog.String())
	}
	for _, f := range all {
		t.Run(f.scenario.name+", frozen "+f.at, f.verify)
	}
}

// stalledPair is a pair of engines with their own database. One of them is stopped.
type stalledPair struct {
	scenario killScenario
	at       string
	stale    string

	world          *killWorld
	first, second  *exec.Cmd
	log, secondLog bytes.Buffer
	stalledAt      time.Time
	held           engine.Lane
}

// begin waits until the first engine is stopped, commits the next change and starts the other engine.
func (f *stalledPair) begin(t *testing.T, then func(*directoryTx)) {
	w := newKillWorld(t, sqldbtest.PostgresURL(t), f.scenario, engine.Catalog)
	f.world = w
	t.Cleanup(w.begin("app"))
	o := orders{
		Database: w.url, Scenario: f.scenario.name, Style: w.style, App: w.app, Target: w.server.URL, Lease: stallLease,
		Owner: "frozen", At: f.at, Signal: syscall.SIGSTOP,
	}
	told, out := io.Pipe()
	f.first = o.start(t, out, &f.log)
	t.Cleanup(func() { _ = f.first.Process.Kill() }) // only necessary if the test fails
	line, err := bufio.NewReader(told).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, f.at+"\n", line)
	awaitStalled(t, f.first.Process.Pid)
	f.stalledAt = time.Now()
	f.held, err = w.store.Lane(t.Context(), w.app)
	require.NoError(t, err)
	require.Equal(t, "frozen", f.held.Owner)
	mark := func(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
		return w.store.Mark(ctx, tx, time.Now(), marks)
	}
	require.NoError(t, w.directory().change(t.Context(), w.app, mark, then))
	o.Owner, o.At, o.Standby = "heir", "nowhere", true
	f.second = o.start(t, io.Discard, &f.secondLog)
	t.Cleanup(func() { _ = f.second.Process.Kill() })
}

// verify checks the work of the other engine, and continues the first one.
func (f *stalledPair) verify(t *testing.T) {
	w := f.world
	w.t = t
	before := w.log.all()
	i := slices.IndexFunc(before, func(r sentRequest) bool { return r.by == "heir" })
	require.GreaterOrEqual(t, i, 0)
	took := before[i].at
	since := func(begin time.Time) time.Duration { return took.Sub(begin).Round(time.Millisecond) }
	t.Logf("the other engine sent its first request %s after the last heartbeat, %s after the stop, %s after the end of the process",
		since(f.held.Until.Add(-stallLease)), since(f.stalledAt), since(f.held.Until))
	require.False(t, took.Before(f.held.Until), "the process was dead")
	require.Less(t, took.Sub(f.held.Until), 4*stallLease, "takeover is fast")
	require.Empty(t, w.verify(), "the other engine finishes")
	finished := w.states()

	healer := w.start("healer", time.Now)
	require.NoError(t, f.first.Process.Signal(syscall.SIGCONT))
	require.NoError(t, f.first.Wait(), "%s", &f.log)
	w.stop(healer)
	require.Regexp(t, `lane lost|the lease was lost`, f.log.String())
	require.Contains(t, f.log.String(), "it continues as a new one")
	require.Contains(t, f.secondLog.String(), "lanes of a dead process taken over")
	require.Empty(t, w.verify(), "after the stop")
	var sent, changes []string
	for _, r := range w.log.all()[len(before):] {
		if r.by == "frozen" {
			sent = append(sent, r.method+" "+r.path)
		} else if r.method != http.MethodGet {
			changes = append(changes, r.method+" "+r.path)
		}
	}
	if f.stale == "" {
		require.Empty(t, sent, "the lease is checked before each request")
	} else {
		require.LessOrEqual(t, len(sent), 1, "at most one request was past the lease check")
	}
	t.Logf("after the stop it sent %q; corrections: %q", sent, changes)
	if f.at == "before Finish" {
		require.Empty(t, cmp.Diff(finished, w.states()), "none of its results was stored")
	}
	require.Equal(t, stateTexts(finished), stateTexts(w.states()))
}

func (w *killWorld) states() []engine.State {
	w.t.Helper()
	all, err := w.store.States(w.t.Context(), engine.StateQuery{App: w.app})
	require.NoError(w.t, err)
	return all
}

// stateTexts returns the data that a stale result would change.
func stateTexts(states []engine.State) (out []string) {
	for _, s := range states {
		out = append(out, fmt.Sprint(s.Kind, s.ID, s.Status, s.Want, s.RemoteID, s.RemoteName, s.Origin, s.Attempts, s.NextAt))
	}
	return out
}

// awaitStalled waits until the kernel has stopped all threads of a process.
func awaitStalled(t *testing.T, pid int) {
	t.Helper()
	limit := time.Now().Add(deadline)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, "T") {
			return
		}
		require.True(t, time.Now().Before(limit), "%s", stat)
		time.Sleep(time.Millisecond) // poll interval
	}
}
