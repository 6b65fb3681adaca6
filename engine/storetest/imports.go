package storetest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
)

func (s *suite) startImport(r engine.ImportRequest) int64 {
	s.t.Helper()
	if r.Kind == "" {
		r.Kind = engine.User
	}
	id, err := s.can.imports.StartImport(s.t.Context(), s.app, r, s.now)
	require.NoError(s.t, err)
	return id
}

// claimImport claims a run, and releases the runs of other tests that it claimed too. ok reports whether the run was claimed.
func (s *suite) claimImport(id int64) (mine engine.Lease, ok bool) {
	s.t.Helper()
	leases, err := s.can.imports.ImportLeases().Claim(s.t.Context(), s.process(), s.now, 1000)
	require.NoError(s.t, err)
	for _, l := range leases {
		if l.App == strconv.FormatInt(id, 10) {
			mine, ok = l, true
		} else {
			require.NoError(s.t, s.releaseImport(l, time.Time{}))
		}
	}
	return mine, ok
}

func (s *suite) releaseImport(l engine.Lease, notBefore time.Time) error {
	_, err := s.can.imports.ImportLeases().Release(s.t.Context(), l, engine.Hold{}, notBefore)
	return err
}

func (s *suite) savePage(l engine.Lease, seen int, last bool, objects ...engine.RemoteObject) error {
	for i := range objects {
		objects[i].App, objects[i].Kind = s.app, engine.User
		if objects[i].Verdict == "" {
			objects[i].Verdict = engine.VerdictUnmatched
		}
	}
	return s.can.imports.SaveImportPage(s.t.Context(), l, store.ImportPage{Objects: objects, Seen: seen, Total: seen, Last: last})
}

func testImports(t *testing.T, s *suite) {
	request := engine.ImportRequest{Kind: engine.User, Match: []engine.MatchRule{engine.MatchEmail}, Partial: true, MaxGone: 20}
	id := s.startImport(request)
	_, err := s.can.imports.StartImport(t.Context(), s.app, request, s.now)
	require.ErrorIs(t, err, engine.ErrImportRunning)
	groups := s.startImport(engine.ImportRequest{Kind: engine.Group})

	l, ok := s.claimImport(id)
	require.True(t, ok)
	_, ok = s.claimImport(id)
	require.False(t, ok, "a claimed run cannot be claimed again")
	object := engine.RemoteObject{App: s.app, Kind: engine.User, RemoteID: "r1", UserName: "a\x00nn", ExternalID: "e", Email: "a@x",
		DisplayName: "Ann", Active: true,
		Hash: "h", Run: id, Verdict: engine.VerdictAmbiguous, Rule: engine.MatchEmail, Candidates: []string{`p"1`, "p2"}, Note: "why"}
	require.NoError(t, s.savePage(l, 2, false, object, engine.RemoteObject{RemoteID: "r0"}))
	require.ErrorIs(t, s.savePage(l, 4, false, engine.RemoteObject{RemoteID: "r3"}, engine.RemoteObject{RemoteID: "r1"}),
		store.ErrDuplicateObject)
	require.NoError(t, s.can.imports.DelayImport(t.Context(), l, 3, "target is down"))

	run, err := s.can.imports.ImportRun(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t,
		cmp.Diff(
			engine.ImportRun{ID: id, App: s.app, Request: request, State: engine.ImportRunning, Seen: 2, Total: 2, Attempts: 3,
				Error: "target is down",
				Begun: s.now, Counts: map[engine.Verdict]int{engine.VerdictAmbiguous: 1, engine.VerdictUnmatched: 1}}, run))
	object.UserName = "a\uFFFDnn"
	found, err := s.can.imports.RemoteObjects(t.Context(),
		engine.RemoteObjectQuery{App: s.app, Kind: engine.User, Verdict: engine.VerdictAmbiguous})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]engine.RemoteObject{object}, found), "the rejected page is not stored")
	found, err = s.can.imports.RemoteObjects(t.Context(), engine.RemoteObjectQuery{App: s.app, Kind: engine.User, After: "r0", Limit: 1})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "r1", found[0].RemoteID)
	found, err = s.can.imports.RemoteObjects(t.Context(),
		engine.RemoteObjectQuery{App: s.app, Kind: engine.User, Only: []string{"r0", "r9"}, Whole: true})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "r0", found[0].RemoteID)
	require.Nil(t, found[0].Resource, "the resource was not stored")
	whole, err := scim.DecodeResource([]byte(`{"userName":"a\u0000nn","nickName":"A"}`))
	require.NoError(t, err)
	require.NoError(t, s.savePage(l, 3, false, engine.RemoteObject{RemoteID: "r2", Resource: whole}))
	for _, kept := range []bool{true, false} {
		found, err = s.can.imports.RemoteObjects(t.Context(), engine.RemoteObjectQuery{App: s.app, Kind: engine.User, After: "r1", Whole: kept})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, kept, found[0].Resource != nil)
		if kept {
			require.Equal(t, "A", found[0].Resource.Text("nickName"))
		}
	}

	require.NoError(t, s.releaseImport(l, s.now.Add(time.Second)))
	for name, write := range map[string]func() error{
		"save":    func() error { return s.savePage(l, 9, true, engine.RemoteObject{RemoteID: "r9"}) },
		"delay":   func() error { return s.can.imports.DelayImport(t.Context(), l, 9, "x") },
		"close":   func() error { return s.can.imports.CloseImport(t.Context(), l, s.now) },
		"confirm": func() error { _, err := s.can.imports.ConfirmMatched(t.Context(), l, s.now, 9); return err },
		"end":     func() error { return s.can.imports.EndImport(t.Context(), l, engine.ImportDone, "", s.now) },
		"release": func() error { return s.releaseImport(l, s.now) },
	} {
		require.ErrorIs(t, write(), engine.ErrLeaseLost, name)
	}
	_, ok = s.claimImport(id)
	require.False(t, ok, "not due yet")
	s.now = s.now.Add(time.Second)
	l, ok = s.claimImport(id)
	require.True(t, ok)
	s.now = s.now.Add(2 * time.Minute)
	_, ok = s.claimImport(id)
	require.False(t, ok, "the lease lasts as long as its process")
	held, err := s.can.imports.ImportLeases().Held(t.Context(), s.process())
	require.NoError(t, err)
	require.Equal(t, []engine.Lease{l}, held)
	s.die()
	require.ErrorIs(t, s.can.imports.DelayImport(t.Context(), l, 9, "x"), engine.ErrLeaseLost)
	l, ok = s.claimImport(id)
	require.True(t, ok, "the next process can claim the run")
	require.NoError(t, s.can.imports.EndImport(t.Context(), l, engine.ImportFailed, "why", s.now))
	require.NoError(t, s.releaseImport(l, time.Time{}))
	_, ok = s.claimImport(id)
	require.False(t, ok, "a finished run cannot be claimed")

	again := s.startImport(request)
	runs, err := s.can.imports.ImportRuns(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, []int64{again, groups, id}, []int64{runs[0].ID, runs[1].ID, runs[2].ID})
	_, err = s.can.imports.ImportRun(t.Context(), again+1_000_000)
	require.ErrorIs(t, err, engine.ErrNotFound)

	l, _ = s.claimImport(again)
	require.NoError(t, s.inTx(t.Context(), func(tx engine.Execer) error { return s.store.Forget(t.Context(), tx, s.app) }))
	require.ErrorIs(t, s.savePage(l, 1, true), engine.ErrLeaseLost)
	_, err = s.can.imports.ImportRun(t.Context(), again)
	require.ErrorIs(t, err, engine.ErrNotFound)
	found, err = s.can.imports.RemoteObjects(t.Context(), engine.RemoteObjectQuery{App: s.app, Kind: engine.User})
	require.NoError(t, err)
	require.Empty(t, found)
}

func testImportConfirm(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "busy"})
	require.NoError(t, s.link(engine.Link{Kind: engine.User, ID: "has", RemoteID: "r0"}))
	s.now = s.now.Add(time.Second)
	id := s.startImport(engine.ImportRequest{MaxGone: 20})
	l, _ := s.claimImport(id)
	matched := func(remote, principal string) engine.RemoteObject {
		return engine.RemoteObject{RemoteID: remote, UserName: "name of " + remote, Verdict: engine.VerdictMatched, Principal: principal}
	}
	require.NoError(t,
		s.savePage(l, 6, true, matched("r1", "z"), matched("r2", "busy"), matched("r3", "a"), matched("r4", "twice"), matched("r5", "twice"),
			engine.RemoteObject{RemoteID: "r0", Verdict: engine.VerdictLinked, Principal: "has"}))
	for range 2 { // the second call is the repetition after a crash
		require.NoError(t, s.can.imports.CloseImport(t.Context(), l, s.now))
	}
	dealt := 0
	for n := 1; n > 0; dealt += n {
		var err error
		n, err = s.can.imports.ConfirmMatched(t.Context(), l, s.now, 2)
		require.NoError(t, err)
	}
	require.Equal(t, 3, dealt)
	require.NoError(t, s.can.imports.EndImport(t.Context(), l, engine.ImportDone, "", s.now))
	require.NoError(t, s.releaseImport(l, time.Time{}))

	links, err := s.can.links.Links(t.Context(), s.app, engine.Link{}, 0)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]engine.Link{
		{Kind: engine.User, ID: "a", RemoteID: "r3", RemoteName: "name of r3", Origin: engine.Imported},
		{Kind: engine.User, ID: "has", RemoteID: "r0", Origin: engine.Imported},
		{Kind: engine.User, ID: "z", RemoteID: "r1", RemoteName: "name of r1", Origin: engine.Imported},
	}, links))
	found, err := s.can.imports.RemoteObjects(t.Context(),
		engine.RemoteObjectQuery{App: s.app, Kind: engine.User, Verdict: engine.VerdictAmbiguous})
	require.NoError(t, err)
	var why []string
	for _, o := range found {
		why = append(why, fmt.Sprint(o.RemoteID, o.Principal, o.Candidates, " ", o.Note))
	}
	require.Equal(t, []string{
		"r2[busy] the principal has a pending change: retry after the principal is provisioned",
		"r4[twice] another object matches the same principal", "r5[twice] another object matches the same principal",
	}, why)

	confirm := func(run int64, links ...engine.Link) error {
		return s.inTx(t.Context(), func(tx engine.Execer) error { return s.can.imports.Confirm(t.Context(), tx, s.now, s.app, run, links) })
	}
	twice := engine.Link{Kind: engine.User, ID: "twice", RemoteID: "r5"}
	require.Len(t, s.refused(confirm(id, twice, engine.Link{Kind: engine.User, ID: "b", RemoteID: "r3"})), 1)
	require.NoError(t, confirm(id, twice))
	run, err := s.can.imports.ImportRun(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[engine.Verdict]int{engine.VerdictLinked: 4, engine.VerdictAmbiguous: 2}, run.Counts)
	s.startImport(engine.ImportRequest{})
	require.ErrorIs(t, confirm(id, engine.Link{Kind: engine.User, ID: "busy", RemoteID: "r2"}), engine.ErrStale)
}
