package storetest

import (
	"fmt"
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

func (s *suite) beginImport(id int64) store.ImportAttempt {
	s.t.Helper()
	a, run, err := s.can.imports.BeginImport(s.t.Context(), id)
	require.NoError(s.t, err)
	require.Equal(s.t, s.app, run.App)
	return a
}

func (s *suite) savePage(l store.ImportAttempt, seen int, last bool, objects ...engine.RemoteObject) error {
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

	running, err := s.can.imports.RunningImports(t.Context())
	require.NoError(t, err)
	require.Subset(t, running, []int64{id, groups})
	l := s.beginImport(id)
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

	next := s.beginImport(id)
	for name, write := range map[string]func() error{
		"save":    func() error { return s.savePage(l, 9, true, engine.RemoteObject{RemoteID: "r9"}) },
		"delay":   func() error { return s.can.imports.DelayImport(t.Context(), l, 9, "x") },
		"close":   func() error { return s.can.imports.CloseImport(t.Context(), l, s.now) },
		"confirm": func() error { _, err := s.can.imports.ConfirmMatched(t.Context(), l, s.now, 9); return err },
		"end":     func() error { return s.can.imports.EndImport(t.Context(), l, engine.ImportDone, "", s.now) },
	} {
		require.ErrorIs(t, write(), engine.ErrLeaseLost, name)
	}
	require.NoError(t, s.can.imports.EndImport(t.Context(), next, engine.ImportFailed, "why", s.now))
	_, _, err = s.can.imports.BeginImport(t.Context(), id)
	require.ErrorIs(t, err, engine.ErrNotFound, "a finished run")
	running, err = s.can.imports.RunningImports(t.Context())
	require.NoError(t, err)
	require.NotContains(t, running, id)

	again := s.startImport(request)
	runs, err := s.can.imports.ImportRuns(t.Context(), s.app)
	require.NoError(t, err)
	require.Equal(t, []int64{again, groups, id}, []int64{runs[0].ID, runs[1].ID, runs[2].ID})
	_, err = s.can.imports.ImportRun(t.Context(), again+1_000_000)
	require.ErrorIs(t, err, engine.ErrNotFound)

	l = s.beginImport(again)
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
	l := s.beginImport(id)
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
