package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func (s *suite) processes() []engine.Process {
	s.t.Helper()
	found, err := s.store.Processes(s.t.Context())
	require.NoError(s.t, err)
	return found
}

// find returns a process of the list.
func (s *suite) find(id string) (engine.Process, bool) {
	s.t.Helper()
	for _, p := range s.processes() {
		if p.ID == id {
			return p, true
		}
	}
	return engine.Process{}, false
}

// shared reports whether several processes can share the database. It ends the test if not.
func (s *suite) shared() {
	s.t.Helper()
	if p, ok := s.find(s.process()); !ok || p.Until.IsZero() {
		s.t.Skip("storetest: the database belongs to one process")
	}
}

func testProcess(t *testing.T, s *suite) {
	p := s.join(store.Joining{Name: "one"})
	require.NotEmpty(t, p.ID)
	require.Equal(t, "one", p.Name)
	require.WithinDuration(t, time.Now(), p.Started, time.Minute)
	if !p.Until.IsZero() {
		require.GreaterOrEqual(t, p.Until.Sub(p.Seen), leaseTime) // a store may read its clock for each of them
		require.WithinDuration(t, p.Seen.Add(leaseTime), p.Until, time.Minute)
	}
	s.mark(engine.Mark{ID: "a"})
	l, ok := s.tryClaim(p.ID)
	require.True(t, ok)
	lane, err := s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, "one", lane.Owner)
	require.Equal(t, p.Until, lane.Until)
	f, err := s.store.Beat(t.Context(), p.ID, store.Load{Lanes: 2.375, InFlight: 7})
	require.NoError(t, err)
	require.Equal(t, 1, f.Alive)
	require.Zero(t, f.Others)
	require.Negative(t, f.Next)
	got, ok := s.find(p.ID)
	require.True(t, ok)
	require.Equal(t, []any{"one", engine.ProcessAlive, 1, 2.375, 7}, []any{got.Name, got.State, got.Lanes, got.Running, got.InFlight})
	require.False(t, got.Now.Before(got.Seen))
	require.Equal(t, p.Started, got.Started)
	require.False(t, got.Seen.Before(p.Seen))
	s.release(l, engine.Hold{}, time.Time{})
	s.leave(p.ID)
	_, err = s.store.Beat(t.Context(), p.ID, store.Load{})
	require.ErrorIs(t, err, store.ErrEnded)
	s.leave(p.ID)
	s.leave("unknown")
	_, ok = s.tryClaim(p.ID)
	require.False(t, ok, "a process that has left claims nothing")
}

func testOneOwner(t *testing.T, s *suite) {
	p := s.join(store.Joining{Name: "one"})
	if !p.Until.IsZero() {
		t.Skip("storetest: several processes can share the database")
	}
	s.mark(engine.Mark{ID: "a"})
	old, ok := s.tryClaim(p.ID)
	require.True(t, ok)
	_, _, err := s.store.Join(t.Context(), store.Joining{Name: "two", Lease: leaseTime, Replace: true})
	require.ErrorIs(t, err, store.ErrInUse)
	require.NoError(t, s.store.Begin(t.Context(), old, nil), "the owner keeps its lanes")
	s.leave(p.ID)
	next, _, err := s.store.Join(t.Context(), store.Joining{Name: "two", Lease: leaseTime, When: store.When{Now: s.now, Recheck: s.now}})
	require.NoError(t, err)
	defer s.leave(next.ID)
	_, ok = s.tryClaim(next.ID)
	require.True(t, ok)
}

func testFleet(t *testing.T, s *suite) {
	s.shared()
	one, two, three := s.process(), s.join(store.Joining{Name: "two"}).ID, s.join(store.Joining{Name: "three"}).ID
	for id, lanes := range map[string]float64{two: 5.5, three: 1.25} {
		_, err := s.store.Beat(t.Context(), id, store.Load{Lanes: lanes})
		require.NoError(t, err)
	}
	f, err := s.store.Beat(t.Context(), one, store.Load{Lanes: 3})
	require.NoError(t, err)
	require.Equal(t, []any{3, 6.75, 1.25}, []any{f.Alive, f.Others, f.Least})
	require.Greater(t, f.Next, leaseTime-time.Minute)
	require.LessOrEqual(t, f.Next, leaseTime)
	s.leave(two)
	if p, ok := s.find(two); ok { // kept for a while
		require.Equal(t, engine.ProcessLeft, p.State)
	}
	s.leave(three)
	f, err = s.store.Beat(t.Context(), one, store.Load{Lanes: 3})
	require.NoError(t, err)
	require.Equal(t, []any{1, 0.0, 0.0}, []any{f.Alive, f.Others, f.Least})
	require.Negative(t, f.Next)
	require.Positive(t, f.Dead)
}

// testDeath lets a process die because it sends no heartbeat.
//
// Invariant 26
func testDeath(t *testing.T, s *suite) {
	s.shared()
	const lease = 300 * time.Millisecond
	s.mark(engine.Mark{ID: "a"})
	begun := time.Now()
	dying := s.join(store.Joining{Name: "dying", Lease: lease})
	old, ok := s.tryClaim(dying.ID)
	require.True(t, ok)
	require.NoError(t, s.store.Start(t.Context(), old, nil, []engine.Principal{{Kind: engine.User, ID: "a"}}))
	for limit := begun.Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // poll interval
		p, ok := s.find(dying.ID)
		require.True(t, ok)
		if p.State == engine.ProcessDead {
			break
		}
		require.Equal(t, engine.ProcessAlive, p.State)
		require.True(t, time.Now().Before(limit), "it does not die")
	}
	var taken []store.Takeover
	for limit := begun.Add(time.Minute); len(taken) == 0; time.Sleep(10 * time.Millisecond) { // poll interval
		require.True(t, time.Now().Before(limit), "no takeover")
		var err error
		taken, err = s.store.Reap(t.Context(), s.process(), store.When{Now: s.now, Recheck: s.now.Add(time.Minute)})
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, time.Since(begun), lease)
	require.Equal(t, []store.Takeover{
		{Process: dying.ID, Name: "dying", Apps: []string{s.app}, Epochs: []int64{old.Epoch + 1}, Noted: 1},
	}, taken)
	require.True(t, s.claimable())
	_, err := s.store.Beat(t.Context(), dying.ID, store.Load{})
	require.ErrorIs(t, err, store.ErrEnded, "a dead process never becomes valid again")
	_, ok = s.tryClaim(dying.ID)
	require.False(t, ok)
	require.ErrorIs(t, s.store.Begin(t.Context(), old, nil), engine.ErrLeaseLost)
	got, ok := s.find(dying.ID)
	require.True(t, ok, "a dead process is still listed")
	require.Zero(t, got.Lanes)
	require.Equal(t, engine.ProcessTaken, got.State)
	got, ok = s.find(s.process())
	require.True(t, ok)
	require.EqualValues(t, 1, got.Takeovers)
	again, err := s.store.Reap(t.Context(), s.process(), store.When{Now: s.now, Recheck: s.now})
	require.NoError(t, err)
	require.Empty(t, again)
	l := s.claim()
	require.Greater(t, l.Epoch, old.Epoch+1, "the takeover and the claim raise the epoch")
}

func testReplace(t *testing.T, s *suite) {
	s.shared()
	s.mark(engine.Mark{ID: "a"})
	old := s.claim()
	s.join(store.Joining{Name: "me " + s.app})
	require.False(t, s.claimable(), "without Replace, a process with the same name does not take over the lanes")
	j := store.Joining{Name: "me " + s.app, Lease: leaseTime, Replace: true, When: store.When{Now: s.now, Recheck: s.now}}
	p, taken, err := s.store.Join(t.Context(), j)
	require.NoError(t, err)
	defer s.leave(p.ID)
	require.Len(t, taken, 1)
	require.Equal(t, []string{s.app}, taken[0].Apps)
	require.EqualValues(t, 1, p.Takeovers)
	require.True(t, s.claimable())
	require.ErrorIs(t, s.store.Begin(t.Context(), old, nil), engine.ErrLeaseLost)
	_, err = s.store.Beat(t.Context(), old.Process, store.Load{})
	require.ErrorIs(t, err, store.ErrEnded)
}

func testLeave(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	old := s.claim()
	s.now = s.now.Add(time.Hour)
	s.die()
	require.ErrorIs(t, s.store.Begin(t.Context(), old, nil), engine.ErrLeaseLost)
	lane, err := s.store.Lane(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, s.now, lane.NextAt, "the lane is due immediately")
	l := s.claim()
	require.Zero(t, l.Recheck, "no principal was in flight")
}

// testInFlight checks that the principals that a dead process has noted as in flight are requeued at the time of the recheck, and only
// then.
//
// Invariant 25
func testInFlight(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"}, engine.Mark{Kind: engine.Group, ID: "g"})
	old := s.claim()
	for _, id := range []string{"a", "b"} {
		s.finish(old, store.Finish{ID: id, RemoteID: "r-" + id, RemoteName: id})
	}
	s.finish(old, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "r-g", RemoteName: "G"})
	noted := []engine.Principal{{Kind: engine.Group, ID: "g"}, {Kind: engine.User, ID: "unknown"}, {Kind: engine.User, ID: "a"}}
	require.NoError(t, s.store.Start(t.Context(), old, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Active}}, noted))
	require.Equal(t, engine.Active, s.state(engine.User, "a").Want, "the intents are stored")
	s.die()

	l, recheck := s.claim(), s.now.Add(time.Minute)
	require.Equal(t, recheck, l.Recheck)
	n, next, err := s.store.RecheckInFlight(t.Context(), l, recheck.Add(-time.Millisecond))
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, recheck, next)
	require.Empty(t, s.due())
	require.Equal(t, recheck, s.release(l, engine.Hold{}, time.Time{}), "the lane is due for the recheck")
	require.False(t, s.claimable())

	s.now = recheck
	l = s.claim()
	n, next, err = s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	require.Equal(t, 2, n, "an unknown principal is ignored")
	require.Zero(t, next)
	require.Equal(t, []string{"user a", "group g"}, s.due())
	require.Equal(t, engine.StatusDirty, s.state(engine.User, "a").Status)
	require.Equal(t, "a", s.state(engine.User, "a").RemoteName)
	got := s.state(engine.Group, "g")
	require.Greater(t, got.Full, got.Synced, "a group is pushed in full")
	require.Empty(t, got.RemoteName)
	p, _ := s.find(s.process())
	require.EqualValues(t, 2, p.Rechecks)
	n, _, err = s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	require.Zero(t, n, "once")
	s.finish(l, store.Finish{ID: "a", RemoteID: "r-a"})
	s.finish(l, store.Finish{Kind: engine.Group, ID: "g", RemoteID: "r-g"})
	require.Zero(t, s.release(l, engine.Hold{}, time.Time{}), "no recheck is pending")
}

func testNote(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	l := s.claim()
	for _, id := range []string{"a", "b"} {
		require.NoError(t, s.store.Start(t.Context(), l, nil, []engine.Principal{{Kind: engine.User, ID: id}}))
		s.finish(l, store.Finish{ID: id, RemoteID: "r-" + id})
	}
	s.die()
	s.now = s.now.Add(time.Minute)
	l = s.claim()
	n, _, err := s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"user b"}, s.due(), "the last note has replaced the first")

	require.NoError(t, s.store.Start(t.Context(), l, nil, []engine.Principal{{Kind: engine.User, ID: "a"}}))
	s.release(l, engine.Hold{}, time.Time{})
	s.die()
	s.now = s.now.Add(time.Hour)
	require.Zero(t, s.claim().Recheck, "a release removes the note")

	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
}

// testLateCreate lets a process die while its create is in flight. The next owner finds no account for the user, who is inactive by then.
// The create arrives afterwards, so that the recheck has to search for the account again.
//
// Invariant 25
func testLateCreate(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	old := s.claim()
	note := []engine.Principal{{Kind: engine.User, ID: "a"}}
	require.NoError(t, s.store.Start(t.Context(), old, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Active}}, note))
	s.die()
	l := s.claim()
	require.NoError(t, s.store.Start(t.Context(), l, []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Inactive}}, note))
	s.finish(l, store.Finish{ID: "a"})
	require.False(t, s.state(engine.User, "a").MayExist, "the search has found no account")
	s.now = s.now.Add(time.Hour)
	n, _, err := s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.True(t, s.state(engine.User, "a").MayExist)
}

// testRechecks lets two processes of a lane die one after the other.
func testRechecks(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	first, begun := s.claim(), s.now
	for _, id := range []string{"a", "b"} {
		s.finish(first, store.Finish{ID: id, RemoteID: "r-" + id})
	}
	require.NoError(t, s.store.Start(t.Context(), first, nil, []engine.Principal{{Kind: engine.User, ID: "a"}}))
	s.die()
	s.now = s.now.Add(30 * time.Second)
	second := s.claim()
	require.NoError(t, s.store.Start(t.Context(), second, nil, []engine.Principal{{Kind: engine.User, ID: "b"}}))
	s.die()
	l := s.claim()
	require.Equal(t, begun.Add(time.Minute), l.Recheck, "the second death does not delay the first recheck")
	s.now = begun.Add(time.Minute)
	n, next, err := s.store.RecheckInFlight(t.Context(), l, s.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, begun.Add(90*time.Second), next)
	require.Equal(t, []string{"user a"}, s.due())
	s.finish(l, store.Finish{ID: "a", RemoteID: "r-a"})
	require.Equal(t, next, s.release(l, engine.Hold{}, time.Time{}))
}

func testClaimLimit(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"})
	claim := func(due time.Time, limit int) (n int) {
		t.Helper()
		leases, err := s.store.Claim(t.Context(), s.process(), due, limit)
		require.NoError(t, err)
		for _, l := range leases {
			defer s.release(l, engine.Hold{}, time.Time{})
		}
		return len(leases)
	}
	require.Zero(t, claim(s.now.Add(-time.Millisecond), 1000), "the lane is not due before the time of the mark")
	require.Zero(t, claim(s.now, 0))
	s.mark(engine.Mark{App: s.app + " 2", ID: "a"}, engine.Mark{App: s.app + " 3", ID: "a"})
	require.Equal(t, 2, claim(s.now, 2))
	require.GreaterOrEqual(t, claim(s.now, 1000), 3)
	for _, process := range []string{"", "unknown"} {
		leases, err := s.store.Claim(t.Context(), process, s.now, 1000)
		require.NoError(t, err)
		require.Empty(t, leases)
	}
}

func (s *suite) search(due time.Time, limit int) store.Claimable {
	s.t.Helper()
	c, err := s.store.Claimable(s.t.Context(), due, limit)
	require.NoError(s.t, err)
	return c
}

// testClaimable first claims the lanes of other tests, so that it counts only its own.
func testClaimable(t *testing.T, s *suite) {
	_, err := s.store.Claim(t.Context(), s.process(), s.now.AddDate(10, 0, 0), 10_000)
	require.NoError(t, err)
	require.Equal(t, store.Claimable{}, s.search(s.now, 10), "nothing is due")
	s.mark(engine.Mark{ID: "a"})
	require.Zero(t, s.search(s.now.Add(-time.Millisecond), 10).Lanes)
	first := s.now
	s.now = s.now.Add(time.Second)
	s.mark(engine.Mark{App: s.app + " 2", ID: "a"}, engine.Mark{App: s.app + " 3", ID: "a"})
	c := s.search(s.now, 10)
	require.Equal(t, 3, c.Lanes)
	require.True(t, first.Equal(c.First), "%s %s", first, c.First)
	require.Equal(t, 1, c.Processes)
	require.Equal(t, 2, s.search(s.now, 2).Lanes)
	require.False(t, c.Retired)
}

// testClaimableShared checks the numbers for a fleet.
func testClaimableShared(t *testing.T, s *suite) {
	s.shared()
	other := s.join(store.Joining{Name: "other"}).ID
	s.mark(engine.Mark{ID: "a"}, engine.Mark{App: s.app + " 2", ID: "a"})
	before := s.search(s.now, 1)
	require.Equal(t, 2, before.Processes)
	l, ok := s.tryClaim(other)
	require.True(t, ok)
	c := s.search(s.now, 1)
	require.Equal(t, []any{1, before.Running + 1}, []any{c.Lanes, c.Running})
	require.NoError(t, s.store.Retire(t.Context(), other))
	c = s.search(s.now, 1)
	require.Equal(t, []any{1, true, before.Running + 1}, []any{c.Processes, c.Retired, c.Running})
	require.NoError(t, s.store.Begin(t.Context(), l, nil), "a retired process keeps its lanes")
	f, err := s.store.Beat(t.Context(), s.process(), store.Load{})
	require.NoError(t, err)
	require.Equal(t, 2, f.Alive, "and is valid")
	s.leave(other)
	require.False(t, s.search(s.now, 1).Retired)
	require.NoError(t, s.store.Retire(t.Context(), "unknown"))
}

func testHeld(t *testing.T, s *suite) {
	held := func() []engine.Lease {
		t.Helper()
		leases, err := s.store.Held(t.Context(), s.process())
		require.NoError(t, err)
		return leases
	}
	s.mark(engine.Mark{ID: "a"})
	require.Empty(t, held())
	l := s.claim()
	s.release(l, engine.Hold{Kind: engine.HoldBreaker, Until: s.now, Reason: "down", Streak: 2}, time.Time{})
	l = s.claim()
	require.Equal(t, "down", l.Hold.Reason)
	require.Equal(t, []engine.Lease{l}, held(), "Held returns the leases that Claim has returned")
	s.release(l, engine.Hold{}, time.Time{})
	require.Empty(t, held())
	none, err := s.store.Held(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, none, "free lanes belong to no process")
}
