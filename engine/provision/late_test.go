package provision_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// delayedWrite is a transport that delays one write after the check of the lease, until the process is awake. Like a request that the
// operating system has not sent yet when a process stalls, it is not canceled.
type delayedWrite struct {
	base         http.RoundTripper
	armed        atomic.Bool
	stuck, awake chan struct{}
}

func (p *delayedWrite) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && p.armed.CompareAndSwap(true, false) {
		close(p.stuck)
		<-p.awake
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	return p.base.RoundTrip(r)
}

// asleep is a store for an engine that stalls: until it is awake, it sends no heartbeat and claims nothing.
type asleep struct {
	store.All
	now atomic.Bool
}

var errAsleep = errors.New("asleep")

func (s *asleep) Beat(ctx context.Context, id string, load store.Load) (store.Fleet, error) {
	if s.now.Load() {
		return store.Fleet{}, errAsleep
	}
	return s.All.Beat(ctx, id, load)
}

func (s *asleep) Join(ctx context.Context, j store.Joining) (engine.Process, []store.Takeover, error) {
	if s.now.Load() {
		return engine.Process{}, nil, errAsleep
	}
	return s.All.Join(ctx, j)
}

func (s *asleep) Leave(ctx context.Context, id string, w store.When) error {
	if s.now.Load() {
		return errAsleep
	}
	return s.All.Leave(ctx, id, w)
}

func annTitled(title string) engine.UserState {
	u := user("u-1", "ann")
	u.Resource.Set("title", title)
	return u
}

// shortLease is the lease of engines that a test lets die.
const shortLease = time.Second

// TestLease_LateChangeCorrected checks that the engine corrects a change that a stalled engine sent after the end of its validity.
//
// Invariant 17
func TestLease_LateChangeCorrected(t *testing.T) {
	transport := &delayedWrite{base: http.DefaultTransport, stuck: make(chan struct{}), awake: make(chan struct{})}
	w := newWorld(t, sqldbtest.Postgres(t), provision.Options{})
	w.stop(w.engine)
	first := &asleep{All: w.store}
	w.engine = w.start(provision.Options{Store: first, Transport: transport, UserAgent: "first", Lease: shortLease})
	log := &requestLog{}
	w.server.Config.Handler = log.of(w.fake)
	w.set("u-1", annTitled("clerk"))
	w.wait()

	transport.armed.Store(true)
	w.set("u-1", annTitled("chair"))
	<-transport.stuck
	first.now.Store(true)
	w.set("u-1", annTitled("director"))
	heir := w.start(provision.Options{UserAgent: "heir", Lease: shortLease})
	w.poll("the other engine", func() bool { return w.fake.Users()[0].Text("title") == "director" })
	w.stop(heir)
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)

	first.now.Store(false)
	close(transport.awake)
	w.poll("the correction", func() bool {
		all := log.all()
		return len(all) > 0 && len(puts(all)) == 3 && w.state(engine.User, "u-1").Status == engine.StatusClean
	})
	require.Equal(t, "director", w.fake.Users()[0].Text("title"))
	require.Equal(t, []string{"heir", "first", "first"}, puts(log.all()), "the second write was stale, the third corrected it")
}

// puts returns the senders of the updates.
func puts(all []sentRequest) (by []string) {
	for _, r := range all {
		if r.method == http.MethodPut {
			by = append(by, r.by)
		}
	}
	return by
}

// lateWithin is the time limit of a request of the process in TestTakeover_LateRequestRepaired.
const lateWithin = 2 * time.Second

// deaths are the ways in which a process ends with a request about u-1 in flight. They return the time of the end.
var deaths = map[string]func(t *testing.T, w *world) (died time.Time){
	"killed": func(t *testing.T, w *world) time.Time {
		l := w.claim("dead")[0]
		inFlight := []engine.Principal{{Kind: engine.User, ID: "u-1"}}
		require.NoError(t, w.store.Start(t.Context(), l, nil, inFlight))
		died := time.Now()
		require.NoError(t, w.store.Leave(t.Context(), l.Process, store.When{Now: died, Recheck: died.Add(lateWithin)}))
		return died
	},
	"stopped, and its requests are canceled": func(t *testing.T, w *world) time.Time {
		sent := make(hangingWrites)
		e := w.start(provision.Options{RequestTimeout: lateWithin, Transport: sent})
		<-sent
		died := time.Now()
		stopNow(t, e)
		return died
	},
}

// hangingWrites sends only reads. It receives when a write begins.
type hangingWrites chan struct{}

// RoundTrip implements http.RoundTripper.
func (h hangingWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return http.DefaultTransport.RoundTrip(r)
	}
	h <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTakeover_LateRequestRepaired checks that the target has the desired state although it carries out a request of an ended process after
// the requests of the next one. No process gets the response.
//
// Invariant 25
func TestTakeover_LateRequestRepaired(t *testing.T) {
	for name, end := range deaths {
		t.Run(name, func(t *testing.T) { lateRequestRepaired(t, end) })
	}
}

func lateRequestRepaired(t *testing.T, end func(*testing.T, *world) time.Time) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.set("u-1", annTitled("clerk"))
		w.wait()
		w.stop(w.engine)
		w.fake.Requests()

		// A process ends with a request in flight, which the target carries out later.
		w.set("u-1", annTitled("chair"))
		died := end(t, w)
		w.set("u-1", annTitled("director"))
		w.engine = w.start(provision.Options{Sweep: 20 * time.Millisecond})
		w.wait()
		require.Equal(t, "director", w.fake.Users()[0].Text("title"))
		w.fake.Change("Users", w.fake.Users()[0].ID(), func(u *scim.Resource) { u.Set("title", "chair") })
		require.Less(t, time.Since(died), lateWithin, "the recheck is later than the late request")

		w.poll("the repair", func() bool { return w.fake.Users()[0].Text("title") == "director" })
		require.GreaterOrEqual(t, time.Since(died), lateWithin)
		w.wait()
		w.stop(w.engine)
		requests := w.fake.Requests()
		require.Equal(t, "GET /Users/u1", requests[len(requests)-2], "the recheck reads first")
		w.engine = w.start(provision.Options{})
		w.wait()
		require.Empty(t, w.fake.Requests(), "once")
	})
}
