package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// InTx runs fn in a transaction, commits if fn returns nil, and otherwise rolls back.
type InTx func(ctx context.Context, fn func(tx engine.Execer) error) error

// Run runs the suite of each interface of package store that the store implements, and skips the suites of missing capabilities. Each test
// uses its own apps.
func Run(t *testing.T, s store.Store, inTx InTx) {
	can := capabilitiesOf(s)
	for _, part := range suites {
		t.Run(part.of, func(t *testing.T) {
			if can.missing[part.of] {
				t.Skipf("storetest: the store does not implement store.%s", part.of)
			}
			for _, test := range part.tests {
				t.Run(test.name, func(t *testing.T) {
					for _, other := range test.with {
						if can.missing[other] {
							t.Skipf("storetest: the store does not implement store.%s, which this test uses", other)
						}
					}
					test.run(t, &suite{t: t, store: s, can: can, inTx: inTx, app: t.Name(), now: start})
				})
			}
		})
	}
}

var start = time.UnixMilli(1_800_000_000_000)

type suite struct {
	t     *testing.T
	store store.Store
	can   capabilities
	inTx  InTx
	app   string
	now   time.Time
	id    string // of the process of this test, empty before it has joined
}

// leaseTime is the time without a heartbeat after which the process of a test is dead: longer than any test.
const leaseTime = time.Hour

// join adds a process, which leaves at the end of the test.
func (s *suite) join(j store.Joining) engine.Process {
	s.t.Helper()
	if j.Lease == 0 {
		j.Lease = leaseTime
	}
	j.Now, j.Recheck = s.now, s.now.Add(time.Minute)
	p, _, err := s.store.Join(s.t.Context(), j)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { s.leave(p.ID) })
	return p
}

// leave ends a process. Its lanes are due immediately, and its principals in flight are rechecked a minute later.
func (s *suite) leave(id string) {
	s.t.Helper()
	w := store.When{Now: s.now, Recheck: s.now.Add(time.Minute)}
	require.NoError(s.t, s.store.Leave(context.WithoutCancel(s.t.Context()), id, w))
}

// process returns the id of the process of the test.
func (s *suite) process() string {
	s.t.Helper()
	if s.id == "" {
		s.id = s.join(store.Joining{Name: "me " + s.app}).ID
	}
	return s.id
}

// die ends the process of the test. The test continues with another one.
func (s *suite) die() {
	s.t.Helper()
	s.leave(s.process())
	s.id = ""
}

func (s *suite) releaseError(l engine.Lease, h engine.Hold, notBefore time.Time) error {
	_, err := s.store.Release(s.t.Context(), l, h, notBefore)
	return err
}

func (s *suite) release(l engine.Lease, h engine.Hold, notBefore time.Time) (next time.Time) {
	s.t.Helper()
	next, err := s.store.Release(s.t.Context(), l, h, notBefore)
	require.NoError(s.t, err)
	return next
}

func (s *suite) mark(marks ...engine.Mark) {
	s.t.Helper()
	for i := range marks {
		if marks[i].App == "" {
			marks[i].App = s.app
		}
		if marks[i].Kind == "" {
			marks[i].Kind = engine.User
		}
	}
	require.NoError(s.t, s.inTx(s.t.Context(), func(tx engine.Execer) error {
		return s.store.Mark(s.t.Context(), tx, s.now, marks)
	}))
}

// claim claims the lane of the test's app.
func (s *suite) claim() engine.Lease {
	s.t.Helper()
	mine, ok := s.tryClaim(s.process())
	require.True(s.t, ok, "the lane is due")
	return mine
}

// tryClaim claims the lane of the test's app for a process, if it is due.
func (s *suite) tryClaim(process string) (mine engine.Lease, ok bool) {
	s.t.Helper()
	leases, err := s.store.Claim(s.t.Context(), process, s.now, 1000)
	require.NoError(s.t, err)
	for _, l := range leases {
		require.Equal(s.t, process, l.Process)
		if l.App == s.app {
			mine, ok = l, true
		} else {
			s.release(l, l.Hold, time.Time{})
		}
	}
	return mine, ok
}

func (s *suite) claimable() bool {
	s.t.Helper()
	l, err := s.store.Lane(s.t.Context(), s.app)
	require.NoError(s.t, err)
	return !l.NextAt.IsZero() && !l.NextAt.After(s.now) && l.Owner == ""
}

func (s *suite) due() (ids []string) {
	s.t.Helper()
	rows, err := s.store.Due(s.t.Context(), s.app, s.now, 100)
	require.NoError(s.t, err)
	for _, r := range rows {
		ids = append(ids, string(r.Kind)+" "+r.ID)
	}
	return ids
}

func (s *suite) state(kind engine.Kind, id string) engine.State {
	s.t.Helper()
	found, err := s.store.States(s.t.Context(), engine.StateQuery{App: s.app, Kind: kind, ID: id})
	require.NoError(s.t, err)
	require.Len(s.t, found, 1)
	return found[0]
}

func (s *suite) finish(l engine.Lease, f store.Finish) engine.Status {
	s.t.Helper()
	if f.Kind == "" {
		f.Kind = engine.User
	}
	if f.Status == "" {
		f.Status = engine.StatusClean
	}
	if f.Gen == 0 {
		f.Gen = s.state(f.Kind, f.ID).Desired
	}
	f.At = s.now
	stored, err := s.store.Finish(s.t.Context(), l, f)
	require.NoError(s.t, err)
	return stored
}

func testMark(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	require.ElementsMatch(t, []string{"user a", "user b"}, s.due())
	want := engine.State{App: s.app, Kind: engine.User, ID: "a", Desired: 1, Status: engine.StatusDirty, NextAt: s.now, UpdatedAt: s.now,
		DirtySince: s.now}
	require.Empty(t, cmp.Diff(want, s.state(engine.User, "a")))
	n, err := s.store.Pending(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", RemoteName: "ann", Origin: engine.Created, Operation: engine.OpCreate, HTTP: 201})
	want = engine.State{App: s.app, Kind: engine.User, ID: "a", Desired: 1, Synced: 1, Status: engine.StatusClean, UpdatedAt: s.now,
		RemoteID: "r1", RemoteName: "ann", Origin: engine.Created, LastOperation: engine.OpCreate, LastStatus: 201}
	require.Empty(t, cmp.Diff(want, s.state(engine.User, "a")))
	require.Equal(t, []string{"user b"}, s.due())
}

func testRollback(t *testing.T, s *suite) {
	stop := errors.New("stop")
	err := s.inTx(t.Context(), func(tx engine.Execer) error {
		require.NoError(t, s.store.Mark(t.Context(), tx, s.now, []engine.Mark{{App: s.app, Kind: engine.User, ID: "a"}}))
		return stop
	})
	require.ErrorIs(t, err, stop)
	require.Empty(t, s.due())
	_, err = s.store.Lane(t.Context(), s.app)
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func testBadMarks(t *testing.T, s *suite) {
	for _, m := range []engine.Mark{
		{Kind: engine.User, ID: "a"}, {App: s.app, ID: "a"}, {App: s.app, Kind: engine.User}, {App: s.app, Kind: "robot", ID: "a"},
		{App: s.app, Kind: engine.User, ID: "a", Members: []string{"b"}}, {App: s.app, Kind: engine.User, ID: "a", AllMembers: true},
	} {
		require.Error(t, s.inTx(t.Context(), func(tx engine.Execer) error {
			return s.store.Mark(t.Context(), tx, s.now, []engine.Mark{m})
		}), "%+v", m)
	}
}

func testOrder(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "known"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "known", RemoteID: "r1"})
	s.mark(engine.Mark{Kind: engine.Group, ID: "g"}, engine.Mark{ID: "new"})
	s.now = s.now.Add(time.Second)
	s.mark(engine.Mark{ID: "known"})
	require.Equal(t, []string{"user known", "user new", "group g"}, s.due())
	rows, err := s.store.Due(t.Context(), s.app, s.now, 1)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func testMarkMeanwhile(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	s.mark(engine.Mark{ID: "a"})
	require.Equal(t, engine.StatusDirty, s.finish(l, store.Finish{ID: "a", Gen: 1, RemoteID: "r1"}), "the status reports the mark that is "+
		"newer than the result")
	got := s.state(engine.User, "a")
	require.Equal(t, []int64{2, 1}, []int64{got.Desired, got.Synced})
	require.Equal(t, []string{"user a"}, s.due())
	s.finish(l, store.Finish{ID: "a", Gen: 1, Status: engine.StatusFailed})
	require.Equal(t, []string{"user a"}, s.due(), "the rejection of an older state does not stop the newer one")
	later := store.Finish{ID: "a", Gen: 1, Status: engine.StatusRetrying, Attempts: 1, NextAt: s.now.Add(time.Hour)}
	require.Equal(t, engine.StatusRetrying, s.finish(l, later), "the backoff is kept")
	s.mark(engine.Mark{ID: "a", Retry: true})
	require.Equal(t, engine.StatusClean, s.finish(l, store.Finish{ID: "a"}))
}

// Invariant 2
func testBackoff(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, Attempts: 3, NextAt: s.now.Add(time.Hour), Error: "down"})
	require.Empty(t, s.due())
	s.mark(engine.Mark{ID: "a"})
	require.Empty(t, s.due())
	got := s.state(engine.User, "a")
	require.Equal(t, 3, got.Attempts)
	require.Equal(t, "down", got.LastError)
	s.mark(engine.Mark{ID: "a", Retry: true})
	require.Equal(t, []string{"user a"}, s.due())
	require.Zero(t, s.state(engine.User, "a").Attempts)
}

// Invariant 2
func testParked(t *testing.T, s *suite) {
	for _, status := range []engine.Status{engine.StatusFailed, engine.StatusHeld} {
		s.mark(engine.Mark{ID: "a"})
		l := s.claim()
		s.finish(l, store.Finish{ID: "a", Status: status, Attempts: 1, Error: "no"})
		require.Empty(t, s.due())
		got := s.state(engine.User, "a")
		require.Less(t, got.Synced, got.Desired)
		s.release(l, engine.Hold{}, time.Time{})
		require.False(t, s.claimable())
		s.mark(engine.Mark{ID: "a"})
		require.Equal(t, []string{"user a"}, s.due())
	}
}

// Invariant 17
func testEpoch(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g"})
	old := s.claim()
	s.die()
	l := s.claim()
	require.Greater(t, l.Epoch, old.Epoch)
	ctx := t.Context()
	require.ErrorIs(t, s.releaseError(old, engine.Hold{}, time.Time{}), engine.ErrLeaseLost)
	require.ErrorIs(t, s.store.Begin(ctx, old, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Active}}), engine.ErrLeaseLost)
	_, err := s.store.Finish(ctx, old, store.Finish{Kind: engine.User, ID: "a", Gen: 1, Status: engine.StatusClean, RemoteID: "stale"})
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.ErrorIs(t, s.store.Start(ctx, old, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Active}}, nil), engine.ErrLeaseLost)
	_, _, err = s.store.RecheckInFlight(ctx, old, s.now.Add(time.Hour))
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	require.ErrorIs(t, s.store.SaveMembers(ctx, old, "g", 0, []store.MemberAnswer{{User: "a", Want: true}}), engine.ErrLeaseLost)
	require.ErrorIs(t, s.store.EndWalk(ctx, old, "g", 1, []store.MemberAnswer{{User: "a", Want: true}}), engine.ErrLeaseLost)
	_, err = s.store.Learn(ctx, old, func(l *engine.Learned) { l.MemberBatch = 7 })
	require.ErrorIs(t, err, engine.ErrLeaseLost)
	row, err := s.store.Lane(ctx, s.app)
	require.NoError(t, err)
	require.Zero(t, row.Learned)
	got := s.state(engine.User, "a")
	require.Empty(t, got.RemoteID)
	require.Empty(t, got.Want)
	require.NoError(t, s.store.Begin(ctx, l, nil))
}

func testClaimOnce(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	processes := []string{s.process()}
	if shared := s.processes()[0].Until; !shared.IsZero() {
		for range 3 {
			processes = append(processes, s.join(store.Joining{Name: "another"}).ID)
		}
	}
	var mu sync.Mutex
	won := 0
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			leases, err := s.store.Claim(t.Context(), processes[i%len(processes)], s.now, 1000)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, l := range leases {
				if l.App == s.app {
					won++
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, won)
}

func testRelease(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	l := s.claim()
	later, hold := s.now.Add(time.Minute), s.now.Add(time.Hour)
	s.finish(l, store.Finish{ID: "a"})
	s.finish(l, store.Finish{ID: "b", Status: engine.StatusRetrying, Attempts: 1, NextAt: later})
	s.release(l, engine.Hold{}, time.Time{})
	got, err := s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, later, got.NextAt)
	require.Empty(t, got.Owner)

	s.now = later
	l = s.claim()
	h := engine.Hold{Kind: engine.HoldBreaker, Until: hold, Reason: "down\x00", Streak: 4}
	s.release(l, h, time.Time{})
	got, err = s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, hold, got.NextAt)
	s.now = hold
	l = s.claim()
	h.Reason = "down\uFFFD"
	require.Empty(t, cmp.Diff(h, l.Hold))
	s.finish(l, store.Finish{ID: "b"})
	s.release(l, engine.Hold{}, s.now.Add(time.Hour))
	got, err = s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Zero(t, got.NextAt, "nothing is pending")
}

func testHold(t *testing.T, s *suite) {
	for _, end := range []func(){
		func() { s.mark(engine.Mark{ID: "b", Retry: true}) },
		func() { require.NoError(t, s.store.Kick(t.Context(), s.now, []string{s.app, "unknown"})) },
	} {
		s.mark(engine.Mark{ID: "a"})
		l := s.claim()
		s.release(l, engine.Hold{Kind: engine.HoldQuarantine, Until: s.now.Add(time.Hour)}, time.Time{})
		require.False(t, s.claimable())
		s.mark(engine.Mark{ID: "b"})
		require.True(t, s.claimable(), "a new mark, which may be a deactivation, makes a quarantined lane claimable")
		l = s.claim()
		s.mark(engine.Mark{ID: "b"})
		s.release(l, engine.Hold{Kind: engine.HoldQuarantine, Until: s.now.Add(time.Hour)}, time.Time{})
		require.True(t, s.claimable(), "a mark during the lease makes a quarantined lane claimable too")
		l = s.claim()
		s.release(l, engine.Hold{Kind: engine.HoldBreaker, Until: s.now.Add(time.Hour)}, time.Time{})
		s.mark(engine.Mark{ID: "b"})
		require.False(t, s.claimable())
		end()
		require.True(t, s.claimable())
		l = s.claim()
		require.False(t, l.Hold.Until.After(s.now))
		s.release(l, engine.Hold{}, time.Time{})

		l = s.claim()
		end()
		later := s.now.Add(time.Hour)
		s.release(l, engine.Hold{Kind: engine.HoldQuarantine, Until: later, Streak: 2}, later)
		require.True(t, s.claimable(), "a kick or retry during the lease ends the hold")
		l = s.claim()
		require.Equal(t, engine.Hold{Kind: engine.HoldQuarantine, Streak: 2}, l.Hold, "the hold has no end, and keeps its kind and streak")
		s.release(l, engine.Hold{}, time.Time{})
	}
}

// Invariant 16
func testBegin(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g"})
	l := s.claim()
	begin := func(kind engine.Kind, id string, want engine.Want) {
		require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{{Kind: kind, ID: id, Want: want, Name: "name"}}))
	}
	begin(engine.User, "a", engine.Active)
	require.True(t, s.state(engine.User, "a").Activating)
	begin(engine.User, "a", engine.Absent)
	got := s.state(engine.User, "a")
	require.True(t, got.MayExist)
	require.Equal(t, engine.Absent, got.Want)
	require.Equal(t, "name", got.RemoteName)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, NextAt: s.now})
	require.True(t, s.state(engine.User, "a").MayExist, "after a failed deactivation the account may exist")
	s.finish(l, store.Finish{ID: "a"})
	require.False(t, s.state(engine.User, "a").MayExist)
	begin(engine.User, "a", engine.Active)
	s.finish(l, store.Finish{ID: "a", Status: engine.StatusRetrying, NextAt: s.now})
	require.True(t, s.state(engine.User, "a").Activating, "a failure keeps Activating")
	s.finish(l, store.Finish{ID: "a"})
	require.False(t, s.state(engine.User, "a").Activating)
	begin(engine.User, "a", engine.Active)
	require.False(t, s.state(engine.User, "a").Activating, "the account was active before")

	begin(engine.Group, "g", engine.Inactive)
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g"})
	s.mark(engine.Mark{Kind: engine.Group, ID: "g"})
	begin(engine.Group, "g", engine.Active)
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "a reactivated group is pushed in full")
}

func (s *suite) members(which store.MemberSet) []store.Member {
	s.t.Helper()
	out, err := s.store.Members(s.t.Context(), s.app, store.MemberQuery{Group: "g", Which: which})
	require.NoError(s.t, err)
	return out
}

func testMembers(t *testing.T, s *suite) {
	g := engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"b", "a", "b"}}
	s.mark(g, engine.Mark{ID: "a"})
	l := s.claim()
	asked := s.members(store.MembersAsked)
	require.Empty(t, cmp.Diff([]store.Member{{User: "a", Asked: 1}, {User: "b", Asked: 1}}, asked))
	s.mark(engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"b"}})
	require.NoError(t,
		s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "b", Want: true, Asked: 1}, {User: "a", Want: true, Asked: 1}}))
	require.Empty(t, cmp.Diff([]store.Member{{User: "b", Want: true, Asked: 2}}, s.members(store.MembersAsked)), "the mark that is newer "+
		"than the saved response is kept")
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "b", Want: true, Asked: 2}}))
	require.Empty(t, s.members(store.MembersAsked))

	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", RemoteName: "ann"})
	require.Empty(t,
		cmp.Diff([]store.Member{{User: "a", Want: true, RemoteID: "r1", RemoteName: "ann"}, {User: "b", Want: true}},
			s.members(store.MembersPending)))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Replaced: true, Added: []engine.RemoteMember{{User: "a", ID: "r1"}}})
	require.Empty(t, cmp.Diff([]store.Member{{User: "b", Want: true}}, s.members(store.MembersPending)))

	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 6, []store.MemberAnswer{{User: "c", Want: true}, {User: "gone", Want: true}}))
	require.Len(t, s.members(store.MembersWanted), 4, "an unfinished walk removes no member")
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 7, []store.MemberAnswer{{User: "c", Want: true}}))
	require.NoError(t, s.store.EndWalk(t.Context(), l, "g", 7, []store.MemberAnswer{{User: "d", Want: true}}))
	require.Empty(t, cmp.Diff([]store.Member{{User: "c", Want: true}, {User: "d", Want: true}}, s.members(store.MembersWanted)))
	require.NoError(t, s.store.EndWalk(t.Context(), l, "g", 8, []store.MemberAnswer{{User: "c", Want: true}}))
	require.Empty(t, cmp.Diff([]store.Member{{User: "c", Want: true}}, s.members(store.MembersWanted)))
	pending := s.members(store.MembersPending)
	require.Empty(t,
		cmp.Diff([]store.Member{{User: "a", Pushed: true, PushedID: "r1", RemoteID: "r1", RemoteName: "ann"}, {User: "c", Want: true}}, pending))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Removed: []engine.RemoteMember{{User: "a", ID: "r1"}}})
	require.Empty(t, cmp.Diff([]store.Member{{User: "c", Want: true}}, s.members(store.MembersPending)))
	s.mark(engine.Mark{Kind: engine.Group, ID: "g"})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusRetrying, NextAt: s.now, MembersUnknown: true})
	got := s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "after a lost response the whole membership is pending")
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g"})
	got = s.state(engine.Group, "g")
	require.LessOrEqual(t, got.Full, got.Synced)
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Forget: true})
	require.Empty(t, s.members(store.MembersWanted))
}

func testWaiting(t *testing.T, s *suite) {
	s.mark(engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"a"}}, engine.Mark{ID: "a"})
	l := s.claim()
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "a", Want: true, Asked: 1}}))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusWaiting})
	require.Equal(t, []string{"user a"}, s.due())
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1"})
	require.Equal(t, []string{"group g"}, s.due())
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Added: []engine.RemoteMember{{User: "a", ID: "r0"}}})
	require.Len(t, s.members(store.MembersPending), 1, "the pushed id is not the present account of the user")
}

// testMemberRace stores the new id of a user while SaveMembers stores that the user is a member of a group. Either Finish of the user finds
// the group and requeues it, or the group finds the id of the user.
func testMemberRace(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "first"})
	l := s.claim()
	for n := range 100 {
		u, g := fmt.Sprint("u", n), fmt.Sprint("g", n)
		s.mark(engine.Mark{ID: u}, engine.Mark{Kind: engine.Group, ID: g, AllMembers: true})
		waiting := false
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := s.store.Finish(t.Context(), l,
				store.Finish{Kind: engine.User, ID: u, Gen: 1, Status: engine.StatusClean, RemoteID: "r" + u, At: s.now}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := s.store.SaveMembers(t.Context(), l, g, 1, []store.MemberAnswer{{User: u, Want: true}}); err != nil {
				t.Error(err)
			}
			found, err := s.store.Members(t.Context(), s.app, store.MemberQuery{Group: g, Which: store.MembersPending})
			if err != nil {
				t.Error(err)
			}
			waiting = len(found) == 1 && found[0].RemoteID == ""
			if _, err := s.store.Finish(t.Context(), l,
				store.Finish{Kind: engine.Group, ID: g, Gen: 1, Status: engine.StatusWaiting, RemoteID: "r" + g, At: s.now}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		require.False(t, waiting && s.state(engine.Group, g).NextAt.IsZero(), "%s waits for a user that already has an id on the target", g)
	}
}

func testLostUser(t *testing.T, s *suite) {
	s.mark(engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"a"}}, engine.Mark{ID: "a"})
	l := s.claim()
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1"})
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "a", Want: true, Asked: 1}}))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Added: []engine.RemoteMember{{User: "a", ID: "r1"}}})
	require.Empty(t, s.members(store.MembersPending))
	s.finish(l, store.Finish{ID: "a", RemoteID: "r2"})
	require.Equal(t, []string{"group g"}, s.due())
	require.Empty(t, cmp.Diff([]store.Member{{User: "a", Want: true, RemoteID: "r2"}}, s.members(store.MembersPending)))
}

// Invariant 6
func testAccounts(t *testing.T, s *suite) {
	begin := func(l engine.Lease, id string, want engine.Want) {
		require.NoError(t, s.store.Begin(t.Context(), l, []store.Intent{{Kind: engine.User, ID: id, Want: want}}))
	}
	s.mark(engine.Mark{ID: "old"}, engine.Mark{ID: "new"}, engine.Mark{ID: "other"},
		engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"old"}})
	l := s.claim()
	begin(l, "old", engine.Active)
	s.finish(l, store.Finish{ID: "old", RemoteID: "r1"})
	require.NoError(t, s.store.SaveMembers(t.Context(), l, "g", 0, []store.MemberAnswer{{User: "old", Want: true, Asked: 1}}))
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", Added: []engine.RemoteMember{{User: "old", ID: "r1"}}})
	found, err := s.store.States(t.Context(), engine.StateQuery{App: s.app, RemoteID: "r1"})
	require.NoError(t, err)
	require.Len(t, found, 1)

	begin(l, "new", engine.Active)
	require.Equal(t, engine.StatusHeld, s.finish(l, store.Finish{ID: "new", RemoteID: "r1"}), "the account of an active user is not "+
		"assigned to another user")
	require.Empty(t, s.state(engine.User, "new").RemoteID)

	begin(l, "old", engine.Inactive)
	s.mark(engine.Mark{ID: "new"})
	require.Equal(t, engine.StatusDirty, s.finish(l, store.Finish{ID: "new", RemoteID: "r1"}), "the new owner is due again, because the "+
		"account may have changed")
	require.Equal(t, "r1", s.state(engine.User, "new").RemoteID)
	got := s.state(engine.User, "old")
	require.Empty(t, got.RemoteID)
	require.False(t, got.MayExist, "there is nothing left to deactivate")
	got = s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "the account may be in the group because of its previous owner")
	require.Equal(t, engine.StatusClean, s.finish(l, store.Finish{ID: "new", RemoteID: "r1"}))

	s.finish(l, store.Finish{ID: "old", RemoteID: "r1"})
	require.Empty(t, s.state(engine.User, "old").RemoteID, "a late deactivation by the previous owner does not take the account back")
	require.Contains(t, s.due(), "user new", "the late deactivation may have changed the account: its owner is due again")
}

func testForget(t *testing.T, s *suite) {
	seed := func() engine.Lease {
		s.mark(engine.Mark{ID: "a"}, engine.Mark{Kind: engine.Group, ID: "g", Members: []string{"a"}})
		return s.claim()
	}
	forget := func() {
		require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	}
	forget()
	other := s.app
	s.app += " of another user"
	s.mark(engine.Mark{ID: "a"})
	s.app = other

	old := seed()
	s.finish(old, store.Finish{ID: "a", RemoteID: "r1", Exchanges: []engine.Attempt{{At: s.now}}})
	forget()
	_, err := s.store.Lane(t.Context(), s.app)
	require.ErrorIs(t, err, engine.ErrNotFound)
	states, err := s.store.States(t.Context(), engine.StateQuery{App: s.app})
	require.NoError(t, err)
	require.Empty(t, states)
	if !s.can.missing["Attempts"] {
		attempts, err := s.can.attempts.Attempts(t.Context(), engine.AttemptQuery{App: s.app})
		require.NoError(t, err)
		require.Empty(t, attempts)
	}
	require.Empty(t, s.members(store.MembersAsked))
	n, err := s.store.Pending(t.Context(), s.app)
	require.NoError(t, err)
	require.Zero(t, n)
	require.ErrorIs(t, s.releaseError(old, engine.Hold{}, time.Time{}), engine.ErrLeaseLost)

	s.now = s.now.Add(time.Second)
	l := seed()
	require.Greater(t, l.Epoch, old.Epoch, "an earlier lease is invalid for a new app of the same name")
	s.app += " of another user"
	require.True(t, s.claimable(), "other apps are kept")
	require.Equal(t, []string{"user a"}, s.due())
}

// Invariant 1
func testConcurrent(t *testing.T, s *suite) {
	const users, rounds = 5, 10
	s.mark(engine.Mark{ID: "u0"})
	l := s.claim()
	var all sync.WaitGroup
	for u := range users {
		id := fmt.Sprint("u", u)
		for range 2 {
			all.Go(func() {
				for range rounds {
					err := s.inTx(t.Context(), func(tx engine.Execer) error {
						return s.store.Mark(t.Context(), tx, s.now, []engine.Mark{
							{App: s.app, Kind: engine.Group, ID: "g", Members: []string{id}}, {App: s.app, Kind: engine.User, ID: id},
						})
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			for n := range rounds {
				_, err := s.store.Finish(t.Context(), l,
					store.Finish{Kind: engine.User, ID: id, Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint(id, n), At: s.now})
				if err != nil && !errors.Is(err, engine.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for u := range users {
		require.GreaterOrEqual(t, s.state(engine.User, fmt.Sprint("u", u)).Desired, int64(2*rounds))
	}
	require.GreaterOrEqual(t, s.state(engine.Group, "g").Desired, int64(2*rounds*users))
	for _, m := range s.members(store.MembersAsked) {
		require.EqualValues(t, 2*rounds, m.Asked)
	}
}
