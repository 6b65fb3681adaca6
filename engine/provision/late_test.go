package provision_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// delayedWrite is a transport that delays one write after the lease check.
type delayedWrite struct {
	base         http.RoundTripper
	armed        atomic.Bool
	stuck, awake chan struct{}
}

func (p *delayedWrite) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && p.armed.CompareAndSwap(true, false) {
		close(p.stuck)
		<-p.awake
	}
	return p.base.RoundTrip(r)
}

// TestLease_LateChangeCorrected checks that the engine corrects a change that a stalled engine sent after the end of its lease.
//
// Invariant 17
func TestLease_LateChangeCorrected(t *testing.T) {
	var asleep atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }
	transport := &delayedWrite{base: http.DefaultTransport, stuck: make(chan struct{}), awake: make(chan struct{})}
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Now: clock, Transport: transport, UserAgent: "first", Sweep: 2 * time.Millisecond})
	log := &requestLog{}
	w.server.Config.Handler = log.of(w.fake)
	titled := func(title string) engine.UserState {
		u := user("u-1", "ann")
		u.Resource.Set("title", title)
		return u
	}
	w.set("u-1", titled("clerk"))
	w.wait()

	transport.armed.Store(true)
	w.set("u-1", titled("chair"))
	<-transport.stuck
	w.set("u-1", titled("director"))
	heir := w.start(provision.Options{Now: func() time.Time { return time.Now().Add(leaseEnd) }, UserAgent: "heir"})
	w.poll("the other engine", func() bool { return w.fake.Users()[0].Text("title") == "director" })
	w.stop(heir)
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)

	asleep.Store(int64(2 * leaseEnd))
	close(transport.awake)
	w.wait()
	require.Equal(t, "director", w.fake.Users()[0].Text("title"))
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	var puts []string
	for _, r := range log.all() {
		if r.method == http.MethodPut {
			puts = append(puts, r.by)
		}
	}
	require.Equal(t, []string{"heir", "first", "first"}, puts, "the second write was stale, the third corrected it")
}
