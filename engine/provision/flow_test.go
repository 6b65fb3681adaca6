package provision_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func TestRate_LimitsRequests(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Rate, t.Burst = 0.0001, 3 }) // one request every few hours
	for i := range 5 {
		w.set(fmt.Sprint("u-", i), user(fmt.Sprint("u-", i), fmt.Sprint("name", i)))
	}
	sent := 0
	w.poll("the burst", func() bool { sent += len(w.fake.Requests()); return sent == 3 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.engine.Stop(ctx), context.Canceled, "Stop cancels requests that wait for the rate limit")
	require.Empty(t, w.fake.Requests())

	w.as(func(t *engine.Target) { t.Rate = 0 })
	w.engine = w.start(provision.Options{})
	w.wait()
	require.Len(t, w.fake.Users(), 5)
}

// TestRate_LearnedAndStored checks that the engine learns a lower rate from a 429 response, and that the next engine uses it.
func TestRate_LearnedAndStored(t *testing.T) {
	// Each reading of the clock advances it, so that requests are close together even on a slow machine.
	var ticks atomic.Int64
	begin := time.Now()
	o := provision.Options{Sweep: 2 * time.Millisecond, Now: func() time.Time {
		return begin.Add(time.Duration(ticks.Add(1)) * time.Millisecond)
	}}
	w := newWorld(t, sqldbtest.SQLite(t), o)
	w.as(func(t *engine.Target) { t.Concurrency = 1 })
	var marks []engine.Mark
	for i := range 12 {
		id := fmt.Sprintf("u-%02d", i)
		w.set(id, user(id, id))
		marks = append(marks, userMark(id))
	}
	w.wait()
	w.stop(w.engine)
	w.fake.Inject(enginetest.Fault{Path: "/Users/u12", Status: 429, RetryAfter: "0"})
	w.engine = w.start(o)
	w.mark(marks...) // a burst, so that the target responds with 429
	w.wait()
	rate := w.learned().Rate
	require.NotZero(t, rate)

	w.stop(w.engine)
	w.engine = w.start(o)
	w.mark(marks[0])
	w.wait()
	require.GreaterOrEqual(t, w.learned().Rate, rate, "the next engine uses it")
	require.LessOrEqual(t, w.learned().Rate, 2*rate)
}

// TestQuarantine_SendsDeactivations checks that the engine sends deactivations during a quarantine, and that their success does not end it.
//
// Invariant 11
func TestQuarantine_SendsDeactivations(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: time.Hour, RetryMax: time.Hour})
	w.set("u-1", user("u-1", "ann"))
	w.set("u-2", user("u-2", "bob"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 403, Times: -1})
	w.set("u-3", user("u-3", "cat"))
	quarantined := func() bool {
		l, err := w.engine.Apps().Get(t.Context(), app)
		return err == nil && l.Hold.Kind == "quarantine"
	}
	w.poll("the quarantine", quarantined)
	w.fake.Requests()
	w.set("u-1", off("u-1", "ann"))
	active := func(name string) bool {
		i := slices.IndexFunc(w.fake.Users(), func(u *scim.Resource) bool { return u.Text("userName") == name })
		on, _ := w.fake.Users()[i].Bool("active")
		return on
	}
	w.poll("the deactivation", func() bool { return !active("ann") })
	require.True(t, quarantined(), "a deactivation does not end the quarantine")

	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 403, Times: -1})
	w.set("u-2", off("u-2", "bob"))
	w.poll("the rejection", func() bool { return w.state(engine.User, "u-2").LastStatus == 403 })
	w.fake.ClearFaults()
	require.NoError(t, w.engine.Apps().Kick(t.Context(), app))
	w.mark(engine.Mark{App: app, Kind: engine.User, ID: "u-2", Retry: true}, engine.Mark{App: app, Kind: engine.User, ID: "u-3", Retry: true})
	w.wait()
	require.False(t, active("bob"))
	require.Len(t, w.fake.Users(), 3)
}

// TestConcurrency_HangingAppLimited checks that an app with hanging requests uses at most half of the engine's requests.
func TestConcurrency_HangingAppLimited(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Concurrency: 2})
	hang := make(chan struct{})
	defer close(hang)
	w.fake.Inject(enginetest.Fault{Method: "POST", Hang: hang, Times: -1})
	for i := range 5 {
		w.set(fmt.Sprint("u-", i), user(fmt.Sprint("u-", i), fmt.Sprint("name", i)))
	}
	var sent []string
	posts := func() int {
		sent = append(sent, w.fake.Requests()...)
		return len(slices.DeleteFunc(slices.Clone(sent), func(r string) bool { return !strings.HasPrefix(r, "POST") }))
	}
	w.poll("a hanging request", func() bool { return posts() == 1 })

	quick := enginetest.NewTarget()
	server := httptest.NewServer(quick)
	defer server.Close()
	target := w.target
	target.BaseURL = server.URL
	w.dir.SetTarget("erp", target)
	for i := range 5 {
		id := fmt.Sprint("u-", i)
		w.dir.SetUser("erp", id, user(id, id))
		w.mark(engine.Mark{App: "erp", Kind: engine.User, ID: id})
	}
	w.engine.Wake("erp")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	require.NoError(t, w.engine.Wait(ctx, "erp"))
	require.Len(t, quick.Users(), 5)
	require.Equal(t, 1, posts(), "half of two requests")
	cut, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, w.engine.Stop(cut), context.Canceled)
}
