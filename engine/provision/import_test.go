package provision_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// readOnly makes the target reject everything except reads.
func (w *world) readOnly() {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		w.fake.Inject(enginetest.Fault{Method: method, Status: 405, Times: -1})
	}
}

// sentOnlyReads returns the requests since the last call, and checks that they are reads.
func (w *world) sentOnlyReads() []string {
	w.t.Helper()
	sent := w.fake.Requests()
	for _, r := range sent {
		require.True(w.t, strings.HasPrefix(r, "GET "), r)
	}
	return sent
}

// imported starts an import and waits until it has finished.
func (w *world) imported(r engine.ImportRequest) engine.ImportRun {
	w.t.Helper()
	id, err := w.engine.Imports().Start(w.t.Context(), app, r)
	require.NoError(w.t, err)
	return w.importEnd(id)
}

// importDeadline limits the wait for an import, which may be long.
const importDeadline = 6 * deadline

func (w *world) importEnd(id int64) engine.ImportRun {
	w.t.Helper()
	limit := time.After(importDeadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := w.engine.Imports().Run(w.t.Context(), app, id)
		require.NoError(w.t, err)
		if run.State != engine.ImportRunning {
			return run
		}
		select {
		case <-tick.C:
		case <-limit:
			require.Fail(w.t, "the import has not ended", "%+v", run)
		}
	}
}

// objects returns the objects of imports by remote id. It reads small pages.
func (w *world) objects(kind engine.Kind, v engine.Verdict) map[string]engine.RemoteObject {
	w.t.Helper()
	out := map[string]engine.RemoteObject{}
	q := engine.RemoteObjectQuery{App: app, Kind: kind, Verdict: v, Limit: 3}
	for {
		page, err := w.engine.Imports().Objects(w.t.Context(), q)
		require.NoError(w.t, err)
		for _, o := range page {
			out[o.RemoteID] = o
			q.After = o.RemoteID
		}
		if len(page) < q.Limit {
			return out
		}
	}
}

func (w *world) confirm(run int64, links ...engine.Link) error {
	return w.db.Update(w.t.Context(), func(tx *sqldb.Tx) error {
		return w.engine.Imports().Confirm(w.t.Context(), tx.Execer(), app, run, links)
	})
}

// account returns an account that the engine did not create.
func account(name, externalID, email string) *scim.Resource {
	r := &scim.Resource{}
	r.Set("schemas", []string{scim.UserSchema})
	r.Set("userName", name)
	r.Set("active", true)
	if externalID != "" {
		r.Set("externalId", externalID)
	}
	if email != "" {
		r.Set("emails", []any{map[string]any{"value": email, "primary": true}})
	}
	return r
}

// TestImport_MatchesAccounts checks the matches of an import and their confirmation, and that the target receives only reads.
//
// Invariant 18
func TestImport_MatchesAccounts(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newJobWorld(t, db, provision.Options{})
		w.set("u-own", user("u-own", "own"))
		w.wait()
		for id, name := range map[string]string{"u-1": "ann@x.org", "u-2": "bob@x.org", "u-3": "cat@x.org", "u-4": "dan@x.org",
			"u-5": "eve@x.org"} {
			u := user(id, name)
			u.Resource.Set("emails", []any{map[string]any{"value": name}})
			w.dir.SetUser(app, id, u)
		}
		byID := w.fake.Add("Users", account("other", "u-1", ""))
		byName := w.fake.Add("Users", account("BOB@x.org", "", ""))
		first, second := w.fake.Add("Users", account("c1", "", "cat@x.org")), w.fake.Add("Users", account("c2", "", "cat@x.org"))
		both := account("x", "", "dan@x.org")
		both.Set("emails", []any{map[string]any{"value": "dan@x.org"}, map[string]any{"value": "eve@x.org"}})
		several := w.fake.Add("Users", both)
		resembles := w.fake.Add("Users", account("eve@elsewhere.org", "", ""))
		unmanaged := w.fake.Add("Users", account("zoe", "", ""))
		second0 := w.fake.Add("Users", account("own@x", "u-own", ""))
		w.fake.Requests()
		w.readOnly()

		rules := []engine.MatchRule{engine.MatchExternalID, engine.MatchUserName, engine.MatchEmail}
		run := w.imported(engine.ImportRequest{Match: rules, Partial: true})
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Equal(t, []string{"GET /Users?startIndex=1&count=100"}, w.sentOnlyReads())
		require.Equal(t, []int{9, 9}, []int{run.Seen, run.Total})
		require.Empty(t, cmp.Diff(map[engine.Verdict]int{engine.VerdictLinked: 1, engine.VerdictMatched: 2, engine.VerdictAmbiguous: 4,
			engine.VerdictPartial: 1, engine.VerdictUnmatched: 1}, run.Counts))

		got := w.objects(engine.User, "")
		type whose struct {
			Verdict   engine.Verdict
			Rule      engine.MatchRule
			Principal string
			Among     []string
			Note      string
		}
		verdicts := map[string]whose{}
		for id, o := range got {
			verdicts[id] = whose{o.Verdict, o.Rule, o.Principal, o.Candidates, o.Note}
		}
		require.Empty(t, cmp.Diff(map[string]whose{
			"u1":      {Verdict: engine.VerdictLinked, Principal: "u-own"},
			byID:      {engine.VerdictMatched, engine.MatchExternalID, "u-1", nil, ""},
			byName:    {engine.VerdictMatched, engine.MatchUserName, "u-2", nil, ""},
			first:     {engine.VerdictAmbiguous, engine.MatchEmail, "", []string{"u-3"}, "another object matches the same principal"},
			second:    {engine.VerdictAmbiguous, engine.MatchEmail, "", []string{"u-3"}, "another object matches the same principal"},
			several:   {engine.VerdictAmbiguous, engine.MatchEmail, "", []string{"u-4", "u-5"}, ""},
			resembles: {engine.VerdictPartial, "", "", []string{"u-5"}, ""},
			unmanaged: {Verdict: engine.VerdictUnmatched},
			second0:   {engine.VerdictAmbiguous, engine.MatchExternalID, "", []string{"u-own"}, "u-own already has the account u1"},
		}, verdicts))
		require.True(t, got[unmanaged].Active)
		require.Len(t, w.links(), 1, "nothing is linked without a confirmation")

		require.NoError(t, w.confirm(run.ID, engine.Link{Kind: engine.User, ID: "u-5", RemoteID: resembles, RemoteName: "eve@elsewhere.org"},
			engine.Link{Kind: engine.User, ID: "u-1", RemoteID: byID}))
		require.Equal(t, engine.Imported, w.state(engine.User, "u-5").Origin)
		require.Equal(t, engine.VerdictLinked, w.objects(engine.User, "")[resembles].Verdict)
		require.Equal(t, "u-5", w.objects(engine.User, "")[resembles].Principal)
		w.wait()
		require.Empty(t, w.sentOnlyReads(), "a link sends nothing")

		err := w.confirm(run.ID, engine.Link{Kind: engine.User, ID: "u-2", RemoteID: byID},
			engine.Link{Kind: engine.User, ID: "u-3", RemoteID: first})
		refusal, ok := errors.AsType[*engine.LinkError](err)
		require.True(t, ok, "%v", err)
		require.Len(t, refusal.Conflicts, 1)
		require.Equal(t, "the account already belongs to u-1", refusal.Conflicts[0].Reason)
		require.Len(t, w.links(), 3, "no link was created")
		require.ErrorIs(t, w.confirm(run.ID, engine.Link{Kind: engine.User, ID: "u-3", RemoteID: "u99"}), engine.ErrStale,
			"the run has not seen it")
		require.ErrorIs(t, w.confirm(run.ID, engine.Link{Kind: engine.Group, ID: "u-3", RemoteID: first}), engine.ErrStale)
		require.ErrorIs(t, w.confirm(run.ID+1), engine.ErrNotFound)

		next := w.imported(engine.ImportRequest{})
		require.Equal(t, 3, next.Counts[engine.VerdictLinked])
		require.ErrorIs(t, w.confirm(run.ID, engine.Link{Kind: engine.User, ID: "u-3", RemoteID: first}), engine.ErrStale,
			"a newer import has started")
		runs, err := w.engine.Imports().Runs(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, []int64{next.ID, run.ID}, []int64{runs[0].ID, runs[1].ID})
		require.Equal(t, run.Counts, runs[1].Counts, "the counts at the end of the run")
		w.sentOnlyReads()
	})
}

// TestImport_LinksByPages checks that an import with AutoConfirm reads a long list by pages and links each matched account.
func TestImport_LinksByPages(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		const n = 5000
		w := newJobWorld(t, db, provision.Options{})
		for i := range n {
			name := fmt.Sprintf("user%04d", i)
			w.fake.Add("Users", account(name, "", ""))
			if i%2 == 0 {
				w.dir.SetUser(app, "p-"+name, user("p-"+name, name))
			}
		}
		w.readOnly()
		run := w.imported(engine.ImportRequest{AutoConfirm: true})
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Empty(t, cmp.Diff(map[engine.Verdict]int{engine.VerdictLinked: n / 2, engine.VerdictUnmatched: n / 2}, run.Counts))
		var want []string
		for i := 1; i <= n; i += 100 {
			want = append(want, fmt.Sprintf("GET /Users?startIndex=%d&count=100", i))
		}
		w.wait()
		require.Empty(t, cmp.Diff(want, w.sentOnlyReads()))
		links, err := w.engine.Imports().Links(t.Context(), app, engine.Link{}, n)
		require.NoError(t, err)
		require.Len(t, links, n/2)
		for _, l := range links {
			require.Equal(t, "p-"+l.RemoteName, l.ID)
		}
	})
}

// TestImport_StoresObjectsOnRequest checks that an import stores whole objects only with Keep, and never their passwords.
func TestImport_StoresObjectsOnRequest(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	shows := account("ann", "", "ann@x.org")
	shows.Set("nickName", "A")
	shows.Set("password", "secret")
	id := w.fake.Add("Users", shows)
	whole := func() *scim.Resource {
		found, err := w.engine.Imports().Objects(t.Context(),
			engine.RemoteObjectQuery{App: app, Kind: engine.User, Only: []string{id}, Whole: true})
		require.NoError(t, err)
		require.Len(t, found, 1)
		return found[0].Resource
	}
	w.imported(engine.ImportRequest{Keep: true})
	require.Equal(t, "A", whole().Text("nickName"))
	_, there := whole().Get("password")
	require.False(t, there, "not requested")
	w.imported(engine.ImportRequest{})
	require.Nil(t, whole())
}

// TestImport_ResumesAtStoredPage checks that the next engine resumes a canceled import at the stored page.
func TestImport_ResumesAtStoredPage(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newJobWorld(t, db, provision.Options{})
		for i := range 450 {
			w.fake.Add("Users", account(fmt.Sprint("user", i), "", ""))
		}
		hang := make(chan struct{})
		defer close(hang)
		w.fake.Inject(enginetest.Fault{Path: "/Users?startIndex=201&", Hang: hang})
		id, err := w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
		require.NoError(t, err)
		_, err = w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
		require.ErrorIs(t, err, engine.ErrImportRunning)
		var sent []string
		w.poll("the third page", func() bool { sent = append(sent, w.fake.Requests()...); return len(sent) == 3 })
		cut, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, w.engine.Stop(cut), context.Canceled)
		run, err := w.engine.Imports().Run(t.Context(), app, id)
		require.NoError(t, err)
		require.Equal(t, []any{engine.ImportRunning, 200, 450}, []any{run.State, run.Seen, run.Total})

		w.engine = w.start(provision.Options{})
		run = w.importEnd(id)
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Equal(t, 450, run.Counts[engine.VerdictUnmatched])
		w.requests("GET /Users?startIndex=201&count=100", "GET /Users?startIndex=301&count=100", "GET /Users?startIndex=401&count=100")
	})
}

// TestImport_AttemptOfDeadEngine checks that another engine resumes an import without a job, which a dead engine has begun, and that the
// store rejects the writes of the dead engine.
func TestImport_AttemptOfDeadEngine(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newJobWorld(t, db, provision.Options{})
		w.stop(w.engine)
		var objects []engine.RemoteObject
		for i := range 130 {
			u := account(fmt.Sprint("user", i), "", "")
			id := w.fake.Add("Users", u)
			if i < 100 {
				objects = append(objects, engine.RemoteObject{App: app, Kind: engine.User, RemoteID: id, Verdict: engine.VerdictUnmatched})
			}
		}
		now := time.Now()
		id, err := w.store.StartImport(t.Context(), app, engine.ImportRequest{Kind: engine.User, Match: []engine.MatchRule{engine.MatchUserName}},
			now)
		require.NoError(t, err)
		dead, _, err := w.store.BeginImport(t.Context(), id)
		require.NoError(t, err)
		require.NoError(t, w.store.SaveImportPage(t.Context(), dead, store.ImportPage{Objects: objects, Seen: 100, Total: 130}))

		w.engine = w.start(provision.Options{})
		run := w.importEnd(id)
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Equal(t, 130, run.Counts[engine.VerdictUnmatched])
		w.requests("GET /Users?startIndex=101&count=100")
		require.ErrorIs(t, w.store.EndImport(t.Context(), dead, engine.ImportFailed, "", now), engine.ErrLeaseLost,
			"the previous owner continues")
	})
}

func TestImport_ObeysRateLimit(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	for i := range 450 {
		w.fake.Add("Users", account(fmt.Sprint("user", i), "", ""))
	}
	w.as(func(t *engine.Target) { t.Rate, t.Burst = 0.0001, 2 }) // one request every few hours
	id, err := w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
	require.NoError(t, err)
	sent := 0
	w.poll("the burst", func() bool { sent += len(w.fake.Requests()); return sent == 2 })
	w.poll("the second page", func() bool {
		run, err := w.engine.Imports().Run(t.Context(), app, id)
		require.NoError(t, err)
		return run.Seen == 200
	})
	cut, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, w.engine.Stop(cut), context.Canceled)
	require.Empty(t, w.fake.Requests(), "the third request waits for the rate limit")
}

// TestImport_SingleEngine checks that only one of several engines runs an import.
func TestImport_SingleEngine(t *testing.T) {
	o := provision.Options{Sweep: time.Millisecond}
	w := newJobWorld(t, sqldbtest.Postgres(t), o)
	for range 3 {
		w.start(o)
	}
	for i := range 1000 {
		w.fake.Add("Users", account(fmt.Sprint("user", i), "", ""))
	}
	run := w.imported(engine.ImportRequest{})
	require.Equal(t, engine.ImportDone, run.State, run.Error)
	sent := w.sentOnlyReads()
	require.Len(t, sent, 10)
	slices.Sort(sent)
	require.Len(t, slices.Compact(sent), 10)
}

// TestImport_RetriesUnavailableTarget checks that an import continues after a busy or unavailable target, and fails after ten attempts.
func TestImport_RetriesUnavailableTarget(t *testing.T) {
	for name, faults := range map[string][]enginetest.Fault{
		"pauses":           {{Status: 429, RetryAfter: "0", Times: 3}},
		"unavailable":      {{Status: 503, RetryAfter: "0", Times: 2}},
		"too many pauses":  {{Status: 429, RetryAfter: "0", Times: 9}},
		"5xx":              {{Status: 500, Times: 3}},
		"broken":           {{Drop: true, Times: 6}},
		"cut off":          {{Truncate: true, Times: 2}},
		"HTML":             {{HTML: true, Times: 2}},
		"a second page":    {{Path: "/Users?startIndex=101&", Status: 502, Times: 2}},
		"a 5xx that stays": {{Status: 500, Times: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			for i := range 150 {
				w.fake.Add("Users", account(fmt.Sprint("user", i), "", ""))
			}
			w.fake.Inject(faults...)
			run := w.imported(engine.ImportRequest{})
			if faults[0].Times < 0 {
				require.Equal(t, engine.ImportFailed, run.State)
				require.Equal(t, "the list /Users cannot be read at startIndex 1: 500: injected 500", run.Error)
				require.Equal(t, 10, len(w.sentOnlyReads()))
				return
			}
			require.Equal(t, engine.ImportDone, run.State, run.Error)
			require.Equal(t, 150, run.Seen)
			require.Empty(t, run.Error)
		})
	}
}

// TestImport_DiscardsInconsistentList checks that an import fails and changes nothing if the list is inconsistent or ends in an error.
//
// Invariant 18
func TestImport_DiscardsInconsistentList(t *testing.T) {
	for name, c := range map[string]struct {
		fault enginetest.Fault
		says  string
	}{
		"a repeated page":   {enginetest.Fault{Path: "/Users?startIndex=101&", Repeat: true}, "startIndex has no effect"},
		"duplicate objects": {enginetest.Fault{Path: "/Users?startIndex=101&", Twice: true}, "startIndex has no effect"},
		"rejected credentials": {enginetest.Fault{Path: "/Users?startIndex=101&", Status: 401},
			"the list /Users cannot be read at startIndex 101: 401: injected 401"},
		"no list":            {enginetest.Fault{Status: 404}, "404: injected 404"},
		"a missing endpoint": {enginetest.Fault{Path: "/Users?startIndex=101&", Status: 404}, "404: injected 404"},
		"without a body":     {enginetest.Fault{Path: "/Users?startIndex=101&", Empty: true}, "the response has no body"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			for i := range 250 {
				name := fmt.Sprint("user", i)
				w.fake.Add("Users", account(name, "", ""))
				w.dir.SetUser(app, name, user(name, name))
			}
			before := w.imported(engine.ImportRequest{})
			require.Equal(t, 250, before.Counts[engine.VerdictMatched])
			w.fake.Inject(c.fault)
			run := w.imported(engine.ImportRequest{AutoConfirm: true})
			require.Equal(t, engine.ImportFailed, run.State)
			require.Contains(t, run.Error, c.says)
			require.NotRegexp(t, `(engine|sqlstore|plan): `, run.Error, "error texts for administrators have no package prefix")
			require.Empty(t, w.links())
			require.Zero(t, run.Counts[engine.VerdictGone])
			require.ErrorIs(t, w.confirm(run.ID), engine.ErrStale)

			run = w.imported(engine.ImportRequest{AutoConfirm: true})
			require.Equal(t, engine.ImportDone, run.State, run.Error)
			require.Len(t, w.links(), 250)
		})
	}
}

// TestImport_ReportsMissingAccounts checks that an import reports accounts that are no longer listed, unlinks no user, and stops if too
// many are missing.
func TestImport_ReportsMissingAccounts(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newJobWorld(t, db, provision.Options{})
		var ids []string
		for i := range 40 {
			name := fmt.Sprintf("user%02d", i)
			ids = append(ids, w.fake.Add("Users", account(name, "", "")))
			w.dir.SetUser(app, name, user(name, name))
		}
		require.Equal(t, 40, w.imported(engine.ImportRequest{AutoConfirm: true}).Counts[engine.VerdictLinked])
		for _, id := range ids[:5] {
			w.fake.Remove("Users", id)
		}
		run := w.imported(engine.ImportRequest{})
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Equal(t, map[engine.Verdict]int{engine.VerdictLinked: 35, engine.VerdictGone: 5}, run.Counts)
		require.Equal(t, 5, run.Lost)
		require.Len(t, w.links(), 40, "no user is unlinked")

		for _, id := range ids[5:20] {
			w.fake.Remove("Users", id)
		}
		w.fake.Add("Users", account("new", "", ""))
		run = w.imported(engine.ImportRequest{AutoConfirm: true})
		require.Equal(t, engine.ImportStopped, run.State)
		require.Equal(t,
			"15 of 35 objects of earlier imports are missing from the list, more than 20 %: the import was stopped and the list was not used",
			run.Error)
		require.Equal(t, 5, run.Counts[engine.VerdictGone])
		require.ErrorIs(t, w.confirm(run.ID), engine.ErrStale)

		run = w.imported(engine.ImportRequest{MaxGone: 100})
		require.Equal(t, engine.ImportDone, run.State, run.Error)
		require.Equal(t, 20, run.Counts[engine.VerdictGone])
		require.Len(t, w.links(), 40)
		for _, l := range w.links() {
			require.Equal(t, engine.StatusClean, w.state(l.Kind, l.ID).Status)
		}
	})
}

// TestImport_StopsOnMissingLinks checks that an import stops if the target does not list the linked accounts.
func TestImport_StopsOnMissingLinks(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	var links []engine.Link
	for i := range 20 {
		links = append(links, engine.Link{Kind: engine.User, ID: fmt.Sprint("p", i), RemoteID: fmt.Sprint("other", i)})
	}
	require.NoError(t, w.link(links...))
	began := time.Now().Add(time.Millisecond)
	w.poll("a later time", func() bool { return time.Now().After(began) })
	run := w.imported(engine.ImportRequest{})
	require.Equal(t, engine.ImportStopped, run.State)
	require.Contains(t, run.Error, "20 of 20 linked accounts are missing from the list")
}

func TestImport_MatchesGroupsByName(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	theirs := &scim.Resource{}
	theirs.Set("schemas", []string{scim.GroupSchema})
	theirs.Set("displayName", "tea")
	id := w.fake.Add("Groups", theirs)
	run := w.imported(engine.ImportRequest{Kind: engine.Group, AutoConfirm: true})
	require.Equal(t, engine.ImportDone, run.State, run.Error)
	require.Equal(t, id, w.state(engine.Group, "g").RemoteID)
	w.mark(groupMark("g"))
	w.wait()
	require.Len(t, w.fake.Groups(), 1)
}

// TestImport_WaitsForPause checks that an import waits for the end of a pause, and that Start returns errors of the request and the
// directory.
func TestImport_WaitsForPause(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.fake.Add("Users", account("ann", "", ""))
	w.as(func(t *engine.Target) { t.Paused = true })
	id, err := w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
	require.NoError(t, err)
	w.stop(w.engine)
	require.Empty(t, w.fake.Requests())

	w.as(func(t *engine.Target) { t.Paused = false })
	later := time.Now().Add(time.Hour)
	w.engine = w.start(provision.Options{Now: func() time.Time { return later }})
	require.Equal(t, engine.ImportDone, w.importEnd(id).State)

	_, err = w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{Match: []engine.MatchRule{"guess"}})
	require.ErrorContains(t, err, `unknown match rule "guess"`)
	_, err = w.engine.Imports().Start(t.Context(), "unknown", engine.ImportRequest{})
	require.ErrorIs(t, err, engine.ErrUnknownApp)

	w.dir.Fail(errors.New("the directory is down"))
	_, err = w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
	require.ErrorContains(t, err, "the directory is down")
}

// TestImport_FailsWithoutMatcher checks that a started import fails if the directory of the running engine implements no Matcher.
func TestImport_FailsWithoutMatcher(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	w.fake.Add("Users", user("u-1", "ann").Resource)
	id, err := w.store.StartImport(t.Context(), app, engine.ImportRequest{Kind: engine.User, Match: []engine.MatchRule{engine.MatchUserName}},
		time.Now())
	require.NoError(t, err)
	w.engine, err = provision.New(provision.Options{Store: w.store, Directory: requiredOnly{w.dir}}) // requiredOnly does not implement Matcher
	require.NoError(t, err)
	require.NoError(t, w.engine.Start(t.Context()))
	t.Cleanup(func() { w.stop(w.engine) })
	run := w.importEnd(id)
	require.Equal(t, engine.ImportFailed, run.State)
	require.Equal(t, "imports need a Directory that implements engine.Matcher", run.Error)
}

// TestImport_WithoutScheduler checks that an engine on PostgreSQL without a scheduler provisions, and starts no import.
func TestImport_WithoutScheduler(t *testing.T) {
	w := newWorld(t, sqldbtest.Postgres(t), provision.Options{})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	_, err := w.engine.Imports().Start(t.Context(), app, engine.ImportRequest{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "engine/jobs/riverjobs")
	runs, err := w.engine.Imports().Runs(t.Context(), app)
	require.NoError(t, err)
	require.Empty(t, runs)
}
