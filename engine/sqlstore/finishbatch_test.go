package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// claimed is a claimed lane of a store on PostgreSQL.
type claimed struct {
	*Store
	t     *testing.T
	lease engine.Lease
	now   time.Time
}

// newLanes returns claimed lanes of apps in which the principals are marked.
func newLanes(t *testing.T, apps []string, kind engine.Kind, ids ...string) []*claimed {
	t.Helper()
	s, err := Open(t.Context(), sqldbtest.PostgresPlace(t).Open(t), Options{Dialect: Postgres})
	require.NoError(t, err)
	now := time.UnixMilli(time.Now().UnixMilli())
	var marks []engine.Mark
	for _, app := range apps {
		for _, id := range ids {
			marks = append(marks, engine.Mark{App: app, Kind: kind, ID: id})
		}
	}
	require.NoError(t, s.update(t.Context(), func(tx *sqldb.Tx) error { return s.Mark(t.Context(), tx.Execer(), now, marks) }))
	p, _, err := s.Join(t.Context(), store.Joining{Name: "p", Lease: time.Hour, When: store.When{Now: now, Recheck: now}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Leave(context.Background(), p.ID, store.When{Now: now, Recheck: now})) })
	leases, err := s.Claim(t.Context(), p.ID, now, len(apps))
	require.NoError(t, err)
	byApp := map[string]engine.Lease{}
	for _, l := range leases {
		byApp[l.App] = l
	}
	var out []*claimed
	for _, app := range apps {
		require.Contains(t, byApp, app)
		out = append(out, &claimed{s, t, byApp[app], now})
	}
	return out
}

// batch stores the results in one batch, and afterwards those that have to be stored alone. It returns their number.
func (l *claimed) batch(kind engine.Kind, all ...store.Finish) (alone int, errs map[string]error) {
	l.t.Helper()
	results := make([]*result, len(all))
	for i, f := range all {
		results[i] = &result{f: f, alone: true}
	}
	l.finishBatch(l.t.Context(), l.lease, kind, results)
	errs = map[string]error{}
	for _, r := range results {
		if r.alone {
			alone++
			r.status, r.err = l.finish(l.t.Context(), l.lease, r.f)
		}
		if r.err != nil {
			errs[r.f.ID] = r.err
		}
	}
	return alone, errs
}

// contents returns what the store contains of the lane.
func (l *claimed) contents() (states []engine.State, events []engine.Event, exchanges []engine.Attempt, members []store.Member) {
	l.t.Helper()
	ctx := l.t.Context()
	states, err := l.States(ctx, engine.StateQuery{App: l.lease.App, Limit: 100})
	require.NoError(l.t, err)
	for i := range states {
		states[i].App = ""
	}
	events, err = l.Events(ctx, engine.EventQuery{App: l.lease.App, Limit: 100})
	require.NoError(l.t, err)
	for i := range events {
		require.EqualValues(l.t, i+1, events[i].Seq, "no gaps")
		events[i].App, events[i].Seq = "", 0
	}
	exchanges, err = l.Attempts(ctx, engine.AttemptQuery{App: l.lease.App, Limit: 1000})
	require.NoError(l.t, err)
	for i := range exchanges {
		exchanges[i].App, exchanges[i].ID = "", 0
	}
	for _, group := range []string{"g", "h", "i"} {
		of, err := l.Members(ctx, l.lease.App, store.MemberQuery{Group: group, Which: store.MembersAll, Limit: 100})
		require.NoError(l.t, err)
		members = append(members, of...)
	}
	return states, events, exchanges, members
}

func (l *claimed) result(kind engine.Kind, id, remote string) store.Finish {
	return store.Finish{
		Kind: kind, ID: id, Gen: 1, Status: engine.StatusClean, Operation: engine.OpCreate, HTTP: 201, RemoteID: remote, RemoteName: id,
		Origin: engine.Created, At: l.now.Add(time.Minute), Exchanges: []engine.Attempt{{Run: id, Method: "POST", Status: 201, At: l.now}},
	}
}

// TestFinish_BatchEqualsSingles checks that results which are stored together have the same effects as results which are stored one after
// the other, and which of them concern other users.
func TestFinish_BatchEqualsSingles(t *testing.T) {
	lanes := newLanes(t, []string{"a", "b"}, engine.User, "u1", "u2", "u3", "u4", "u5", "u6", "u7", "boss", "late")
	results := make([][]store.Finish, 2)
	for i, l := range lanes {
		ctx, app := t.Context(), l.lease.App
		require.NoError(t, l.Begin(ctx, l.lease, []store.Intent{
			{Kind: engine.User, ID: "u1", Want: engine.Active}, {Kind: engine.User, ID: "u2", Want: engine.Active},
			{Kind: engine.User, ID: "u3", Want: engine.Active}, {Kind: engine.User, ID: "u4", Want: engine.Active},
			{Kind: engine.User, ID: "u5", Want: engine.Active, Manager: "boss"}, {Kind: engine.User, ID: "u6", Want: engine.Inactive},
			{Kind: engine.User, ID: "u7", Want: engine.Active}, {Kind: engine.User, ID: "boss", Want: engine.Active},
			{Kind: engine.User, ID: "late", Want: engine.Active},
		}))
		_, err := l.Finish(ctx, l.lease, l.result(engine.User, "u6", "held"))
		require.NoError(t, err)
		require.NoError(t, l.update(ctx, func(tx *sqldb.Tx) error {
			return l.Mark(ctx, tx.Execer(), l.now, []engine.Mark{
				{App: app, Kind: engine.Group, ID: "g"}, {App: app, Kind: engine.Group, ID: "h"}, {App: app, Kind: engine.User, ID: "late"},
			})
		}))
		for _, group := range []string{"g", "h"} {
			require.NoError(t, l.SaveMembers(ctx, l.lease, group, 1, []store.MemberAnswer{{User: "u1", Want: true}, {User: "u2", Want: true}}))
			_, err = l.Finish(ctx, l.lease, store.Finish{Kind: engine.Group, ID: group, Gen: 1, Status: engine.StatusWaiting, At: l.now})
			require.NoError(t, err)
		}
		failed := store.Finish{Kind: engine.User, ID: "u7", Gen: 1, Status: engine.StatusRetrying, Attempts: 1, NextAt: l.now.Add(time.Hour),
			Operation: engine.OpCreate, HTTP: 500, Error: "a\x00b", At: l.now}
		for n := range keptExchanges + 5 {
			failed.Exchanges = append(failed.Exchanges, engine.Attempt{Run: fmt.Sprint(n), At: l.now})
		}
		results[i] = []store.Finish{
			l.result(engine.User, "boss", "r-boss"),    // the manager of u5
			l.result(engine.User, "late", "r-late"),    // marked again
			l.result(engine.User, "u1", "r-1"), failed, // ordinary
			l.result(engine.User, "u2", "r-same"), l.result(engine.User, "u3", "r-same"), // one account for two users
			l.result(engine.User, "u4", "held"), l.result(engine.User, "u5", ""), // the account of u6
			{Kind: engine.User, ID: "unknown", Gen: 1, Status: engine.StatusClean, RemoteID: "x"}, // no principal
		}
	}
	alone, errs := lanes[0].batch(engine.User, results[0]...)
	require.Equal(t, 5, alone, "boss, u2, u3, u4, unknown")
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs["unknown"], engine.ErrNotFound)
	// Results that are stored alone follow the others.
	for _, n := range []int{1, 2, 3, 7, 0, 4, 5, 6} {
		_, err := lanes[1].finish(t.Context(), lanes[1].lease, results[1][n])
		require.NoError(t, err)
	}
	states, events, exchanges, members := lanes[0].contents()
	wantStates, wantEvents, wantExchanges, wantMembers := lanes[1].contents()
	require.Equal(t, wantStates, states)
	require.ElementsMatch(t, wantEvents, events)
	require.ElementsMatch(t, wantExchanges, exchanges)
	require.Equal(t, wantMembers, members)
	before, err := lanes[0].Lane(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, engine.HoldNone, before.Hold.Kind)

	groups := make([][]store.Finish, 2)
	for i, l := range lanes {
		g, h := l.result(engine.Group, "g", "r-g"), l.result(engine.Group, "h", "r-h")
		g.Replaced, g.Added = true, []engine.RemoteMember{{User: "u1", ID: "r-1"}, {User: "u2", ID: "other"}}
		h.Added, h.Removed = []engine.RemoteMember{{User: "u1", ID: "r-1"}}, []engine.RemoteMember{{User: "u2", ID: "r-same"}}
		groups[i] = []store.Finish{g, h}
	}
	alone, errs = lanes[0].batch(engine.Group, groups[0]...)
	require.Zero(t, alone)
	require.Empty(t, errs)
	for _, f := range groups[1] {
		_, err := lanes[1].finish(t.Context(), lanes[1].lease, f)
		require.NoError(t, err)
	}
	states, events, exchanges, members = lanes[0].contents()
	wantStates, wantEvents, wantExchanges, wantMembers = lanes[1].contents()
	require.Equal(t, wantStates, states)
	require.ElementsMatch(t, wantEvents, events)
	require.ElementsMatch(t, wantExchanges, exchanges)
	require.Equal(t, wantMembers, members)
}

// TestFinish_BatchFails checks that a result which PostgreSQL rejects does not prevent that others are stored, and that no result of a lost
// lease is stored.
func TestFinish_BatchFails(t *testing.T) {
	l := newLanes(t, []string{"a"}, engine.User, "u1", "u2", "u3")[0]
	bad := l.result(engine.User, "u2", "r-2")
	bad.Status = "cle\x00an"
	alone, errs := l.batch(engine.User, l.result(engine.User, "u1", "r-1"), bad, l.result(engine.User, "u3", "r-3"))
	require.Equal(t, 3, alone)
	require.Len(t, errs, 1)
	require.Error(t, errs["u2"])
	states, events, _, _ := l.contents()
	require.Len(t, events, 2)
	require.Equal(t, []string{"r-1", "", "r-3"}, []string{states[0].RemoteID, states[1].RemoteID, states[2].RemoteID})

	l.lease.Epoch++
	alone, errs = l.batch(engine.User, l.result(engine.User, "u1", "r-4"), l.result(engine.User, "u2", "r-5"))
	require.Zero(t, alone)
	require.ErrorIs(t, errs["u1"], engine.ErrLeaseLost)
	require.ErrorIs(t, errs["u2"], engine.ErrLeaseLost)
	unchanged, _, _, _ := l.contents()
	require.Equal(t, states, unchanged)
}

// TestFinish_BatchCommit counts the transactions of results that end while another one is stored.
func TestFinish_BatchCommit(t *testing.T) {
	var ids []string
	for n := range 40 {
		ids = append(ids, fmt.Sprintf("u%02d", n))
	}
	l := newLanes(t, []string{"a"}, engine.User, ids...)[0]
	errs := make(chan error, len(ids))
	finish := func(id string) {
		_, err := l.Finish(t.Context(), l.lease, l.result(engine.User, id, "r-"+id))
		errs <- err
	}
	key := batchKey{"a", l.lease.Epoch, engine.User}
	running, end := make(chan struct{}), make(chan struct{})
	go func() {
		_ = l.finishing.run(t.Context(), key, nil, func(context.Context, []*result) { close(running); <-end })
	}()
	<-running
	for _, id := range ids {
		go finish(id)
	}
	require.Eventually(t, func() bool {
		l.finishing.mu.Lock()
		defer l.finishing.mu.Unlock()
		return len(l.finishing.waiting[key]) == len(ids)
	}, time.Minute, time.Millisecond)
	close(end)
	for range ids {
		require.NoError(t, <-errs)
	}
	var transactions int
	require.NoError(t, l.db.Reader().QueryRow(t.Context(), `SELECT COUNT(DISTINCT CAST(xmin AS TEXT)) FROM {sync_state}
		WHERE app_id = 'a'`).Scan(&transactions))
	require.Equal(t, 1, transactions)
	_, events, _, _ := l.contents()
	require.Len(t, events, len(ids))
}
