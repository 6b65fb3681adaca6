package provision_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// killable is the store and the network of an engine that is killed: afterwards it neither stores nor sends anything.
type killable struct {
	store.All

	mu     sync.Mutex
	left   int  // requests until the kill; negative: never
	lost   bool // the last request before the kill is not sent
	killed chan struct{}
}

var errDead = errors.New("dead")

func newKillable(s store.All, requests int, lost bool) *killable {
	return &killable{All: s, left: requests, lost: lost, killed: make(chan struct{})}
}

func (m *killable) dead() error {
	select {
	case <-m.killed:
		return errDead
	default:
		return nil
	}
}

func (m *killable) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead() == nil {
		close(m.killed)
	}
}

func (m *killable) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.left--
	last := m.left == 0
	m.mu.Unlock()
	if err := m.dead(); err != nil {
		return nil, err
	}
	if last && m.lost {
		m.kill()
		return nil, errDead
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if last {
		m.kill()
	}
	if m.dead() != nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, errDead
	}
	return resp, err
}

func (m *killable) Begin(ctx context.Context, l engine.Lease, i []store.Intent) error {
	return errors.Join(m.dead(), m.unlessKilled(func() error { return m.All.Begin(ctx, l, i) }))
}

func (m *killable) Progress(ctx context.Context, l engine.Lease, p store.Progress) error {
	return errors.Join(m.dead(), m.unlessKilled(func() error { return m.All.Progress(ctx, l, p) }))
}

func (m *killable) Finish(ctx context.Context, l engine.Lease, f store.Finish) (status engine.Status, err error) {
	err = m.unlessKilled(func() (err error) { status, err = m.All.Finish(ctx, l, f); return err })
	return status, errors.Join(m.dead(), err)
}

func (m *killable) SaveMembers(ctx context.Context, l engine.Lease, g string, walk int64, a []store.MemberAnswer) error {
	return errors.Join(m.dead(), m.unlessKilled(func() error { return m.All.SaveMembers(ctx, l, g, walk, a) }))
}

func (m *killable) EndWalk(ctx context.Context, l engine.Lease, g string, walk int64, a []store.MemberAnswer) error {
	return errors.Join(m.dead(), m.unlessKilled(func() error { return m.All.EndWalk(ctx, l, g, walk, a) }))
}

func (m *killable) Start(ctx context.Context, l engine.Lease, i []store.Intent, p []engine.Principal) error {
	return errors.Join(m.dead(), m.unlessKilled(func() error { return m.All.Start(ctx, l, i, p) }))
}

func (m *killable) Claim(ctx context.Context, process string, due time.Time, limit int) (l []engine.Lease, err error) {
	err = m.unlessKilled(func() (err error) { l, err = m.All.Claim(ctx, process, due, limit); return err })
	return l, errors.Join(m.dead(), err)
}

func (m *killable) Release(ctx context.Context, l engine.Lease, h engine.Hold, notBefore time.Time) (next time.Time, err error) {
	if m.dead() != nil {
		return next, engine.ErrLeaseLost // the engine does not repeat the call
	}
	next, err = m.All.Release(ctx, l, h, notBefore)
	return next, errors.Join(m.dead(), err)
}

// Leave has the effect of the death: the next engine takes the lanes over.
func (m *killable) Leave(ctx context.Context, id string, w store.When) error {
	return m.All.Leave(ctx, id, w)
}

// unlessKilled writes only before the kill.
func (m *killable) unlessKilled(write func() error) error {
	if m.dead() != nil {
		return nil
	}
	return write()
}

// stopNow stops an engine immediately.
func stopNow(t testing.TB, e *provision.Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Stop(ctx); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

const (
	pushed    = 2000 // members
	pushBatch = 50
	// the recheck of a group whose request was in flight pushes it in full: it is due after the end of the test
	lateRecheck = 24 * time.Hour

	again = 16 // maximum number of requests that are repeated after a crash: those since the last stored progress and the one in flight
)

// cuts are the ways to interrupt a push after the given number of requests. At most the number during of them is sent before all members
// are stored.
var cuts = map[string]func(s *largeWorld, requests, during int){
	"the engine is stopped": func(s *largeWorld, requests, during int) {
		w := &walkFirst{All: s.store, walked: make(chan struct{}), during: during}
		m := newKillable(w, requests, false)
		w.RoundTripper = &delayedResponse{m}
		e := s.start(provision.Options{Owner: "one", Store: w, Transport: w, RequestTimeout: lateRecheck}, 0)
		<-m.killed
		stopNow(s.t, e)
	},
	"the engine is killed": func(s *largeWorld, requests, during int) {
		w := &walkFirst{All: s.store, walked: make(chan struct{}), during: during}
		m := newKillable(w, requests, false)
		w.RoundTripper = m
		e := s.start(provision.Options{Owner: "one", Store: m, Transport: w, RequestTimeout: lateRecheck}, 0)
		<-m.killed
		stopNow(s.t, e)
	},
}

// walkFirst delays all requests but the first ones until the members of the group are stored. Before that, progress that is stored contains
// a push of all members, which an engine repeats after a crash.
type walkFirst struct {
	store.All
	http.RoundTripper

	walked chan struct{}
	during int // requests that are not delayed
	sent   atomic.Int64
}

func (w *walkFirst) EndWalk(ctx context.Context, l engine.Lease, g string, walk int64, a []store.MemberAnswer) error {
	err := w.All.EndWalk(ctx, l, g, walk, a)
	if err == nil {
		close(w.walked)
	}
	return err
}

func (w *walkFirst) RoundTrip(r *http.Request) (*http.Response, error) {
	if int(w.sent.Add(1)) > w.during {
		select {
		case <-w.walked:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return w.RoundTripper.RoundTrip(r)
}

// delayedResponse lets the target process the last request, but delays its response until the engine has stopped waiting for it.
type delayedResponse struct{ *killable }

func (h *delayedResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.killable.RoundTrip(r)
	if h.dead() != nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return resp, err
}

// TestPush_ResumesAfterInterruption checks that the next engine continues an interrupted push and repeats only a few requests.
func TestPush_ResumesAfterInterruption(t *testing.T) {
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				s := newLargeWorld(t, db, pushed+1)
				s.target(func(t *engine.Target) { t.MemberBatch = pushBatch })
				s.directory.first = pushed
				s.mark(groupMark("g"))
				const before, during = 25, 5 // a lookup, a create and member batches
				cut(s, before, during)
				require.Len(t, s.fake.sent(), before)
				row := one(t, s, engine.Group, "g")
				require.Equal(t, "rg-1", row.RemoteID, "stored during the push")
				require.NotEqual(t, engine.StatusClean, row.Status)

				e := s.start(provision.Options{Owner: "two"}, time.Hour)
				defer s.stop(e)
				s.wait(e, app)
				rest := s.fake.sent()
				require.GreaterOrEqual(t, len(rest), pushed/pushBatch+1-before)
				require.LessOrEqual(t, len(rest), pushed/pushBatch+1-before+again)
				for _, r := range rest {
					require.Equal(t, "PATCH /Groups/rg-1, add members", r)
				}
				_, members := s.fake.has(t)
				require.Empty(t, cmp.Diff(s.directory.wanted(), members))
				require.Equal(t, engine.StatusClean, one(t, s, engine.Group, "g").Status)

				s.directory.set(func() { s.directory.in[crowdID(pushed)] = true })
				s.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{crowdID(pushed)}})
				s.wait(e, app)
				require.Equal(t, []string{"PATCH /Groups/rg-1, add members"}, s.fake.sent(), "one change is one request")
			})
		})
	}
}

// TestPush_LargeWalk checks pushes whose walk is stored in several transactions while accounts are read: a create with users without an
// account, a replacement after users have left and joined without a mark, and one with a marked member.
func TestPush_LargeWalk(t *testing.T) {
	const users, missing = 11_500, 20
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := newLargeWorld(t, db, users)
		s.target(func(t *engine.Target) { t.MemberBatch = 4000 })
		s.directory.first = users + missing
		e := s.start(provision.Options{}, 0)
		defer s.stop(e)
		push := func(m engine.Mark) {
			t.Helper()
			s.mark(m)
			s.wait(e, app)
		}
		members := func() []string {
			_, members := s.fake.has(t)
			return members
		}
		push(groupMark("g"))
		require.Empty(t, cmp.Diff(s.directory.wanted()[:users], members()))
		row := one(t, s, engine.Group, "g")
		require.Equal(t, engine.StatusWaiting, row.Status)
		require.Contains(t, row.LastError, crowdID(users))

		s.directory.set(func() {
			s.directory.first = users - 1
			for _, n := range []int{0, 4_999, 5_000, 7_000} {
				s.directory.in[crowdID(n)] = false
			}
		})
		m := groupMark("g")
		m.AllMembers = true
		push(m)
		require.Empty(t, cmp.Diff(s.directory.wanted(), members()))
		require.Equal(t, engine.StatusClean, one(t, s, engine.Group, "g").Status)

		s.directory.set(func() { s.directory.in[crowdID(0)], s.directory.in[crowdID(9)] = true, false })
		m.Members = []string{crowdID(9)}
		push(m)
		require.Empty(t, cmp.Diff(s.directory.wanted(), members()))
		require.Equal(t, engine.StatusClean, one(t, s, engine.Group, "g").Status)
	})
}

func one(t testing.TB, s *largeWorld, kind engine.Kind, id string) engine.State {
	t.Helper()
	found, err := s.store.States(t.Context(), engine.StateQuery{App: app, Kind: kind, ID: id})
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// TestPush_RemovesUndesiredMember checks that the next engine removes a member that a killed engine may have added, if the member is no
// longer desired.
//
// Invariant 15
func TestPush_RemovesUndesiredMember(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("strict %v, lost %v", strict, lost), func(t *testing.T) {
				s := newLargeWorld(t, sqldbtest.SQLite(t), 3)
				s.fake.strict = strict
				s.directory.first = 2
				s.mark(groupMark("g"))
				e := s.start(provision.Options{Owner: "zero"}, 0)
				s.wait(e, app)
				s.stop(e)

				change := func(in bool, name string) {
					s.directory.set(func() { s.directory.in[crowdID(2)], s.directory.name = in, name })
					s.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: []string{crowdID(2)}})
				}
				change(true, "Coffee")
				m := newKillable(s.store, 1, lost)
				e = s.start(provision.Options{Owner: "one", Store: m, Transport: m}, 0)
				<-m.killed
				stopNow(t, e)
				change(false, "Tea")
				e = s.start(provision.Options{Owner: "two"}, time.Hour)
				defer s.stop(e)
				s.wait(e, app)
				name, members := s.fake.has(t)
				require.Equal(t, "Tea", name)
				require.Empty(t, cmp.Diff(s.directory.wanted(), members))
				require.Equal(t, engine.StatusClean, one(t, s, engine.Group, "g").Status)
			})
		}
	}
}

// TestPush_ConvergesAfterInterruptions changes the membership of a group randomly and kills or stops the engine during its pushes. The
// target then has the desired members, without a mark with AllMembers.
func TestPush_ConvergesAfterInterruptions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const users = 60
		s := newLargeWorld(t, sqldbtest.SQLite(t), users)
		s.fake.strict = rapid.Bool().Draw(rt, "strict")
		s.target(func(t *engine.Target) { t.MemberBatch = rapid.IntRange(1, 5).Draw(rt, "batch") })
		s.directory.first = rapid.IntRange(0, users).Draw(rt, "members")
		s.mark(groupMark("g"))
		if rapid.Bool().Draw(rt, "there") {
			s.fake.groups["rg-0"] = &targetGroup{name: "Tea", members: map[string]bool{"unmanaged": true}}
		}
		later := time.Duration(0)
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			requests, lost := rapid.IntRange(1, 30).Draw(rt, "requests"), rapid.Bool().Draw(rt, "lost")
			m := newKillable(s.store, requests, lost)
			o := provision.Options{Owner: "one", Transport: m}
			if rapid.Bool().Draw(rt, "killed") {
				o.Store = m
			}
			e := s.start(o, later)
			done, cancel := context.WithCancel(t.Context())
			go func() { // the push may end before m has counted enough requests to kill the engine
				defer cancel()
				_ = e.Wait(done, app)
			}()
			select {
			case <-m.killed:
			case <-done.Done():
			}
			cancel()
			stopNow(t, e)
			later += time.Hour

			mark := groupMark("g")
			for range rapid.IntRange(0, 20).Draw(rt, "changes") {
				id := crowdID(rapid.IntRange(0, users-1).Draw(rt, "user"))
				in := rapid.Bool().Draw(rt, "in")
				s.directory.set(func() { s.directory.in[id] = in })
				mark.Members = append(mark.Members, id)
			}
			name := rapid.SampledFrom([]string{"Tea", "Coffee"}).Draw(rt, "name")
			// The group is renamed only after its create is known: if the response to the create was lost, the engine finds the group by
			// its name.
			if row := one(t, s, engine.Group, "g"); row.RemoteID != "" {
				s.directory.set(func() { s.directory.name = name })
			}
			mark.AllMembers = rapid.IntRange(0, 4).Draw(rt, "all") == 0
			s.mark(mark)
		}
		e := s.start(provision.Options{Owner: "last"}, later)
		defer s.stop(e)
		s.wait(e, app)
		name, members := s.fake.has(t)
		if name != s.directory.name {
			rt.Fatalf("the group has the name %s, want %s", name, s.directory.name)
		}
		if diff := cmp.Diff(s.directory.wanted(), members); diff != "" {
			rt.Fatalf("members: %s\n%s", diff, strings.Join(s.fake.sent(), "\n"))
		}
	})
}
