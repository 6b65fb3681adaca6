package provision_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/riverjobstest"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim"
)

const app = "crm"

// deadline is the maximum duration of every wait in these tests.
const deadline = 30 * time.Second

// world is an engine between a directory in memory and a fake target on loopback.
type world struct {
	t      testing.TB
	db     *sqldb.DB
	store  *sqlstore.Store
	dir    *enginetest.Directory
	fake   *enginetest.Target
	server *httptest.Server
	engine *provision.Engine
	target engine.Target
	jobs   func() jobs.Scheduler // nil: the default

	mu      sync.Mutex
	results []engine.Result
}

func newWorld(t testing.TB, db *sqldb.DB, o provision.Options) *world {
	t.Helper()
	return newWorldWith(t, db, nil, o)
}

// newJobWorld returns a world whose engines run jobs on both databases.
func newJobWorld(t testing.TB, db *sqldb.DB, o provision.Options) *world {
	t.Helper()
	if db.Dialect() == sqldb.SQLite {
		return newWorld(t, db, o)
	}
	return newWorldWith(t, db, riverjobstest.New(t, db.Writer()), o)
}

func newWorldWith(t testing.TB, db *sqldb.DB, jobs func() jobs.Scheduler, o provision.Options) *world {
	t.Helper()
	w := &world{t: t, db: db, dir: &enginetest.Directory{}, fake: enginetest.NewTarget(), jobs: jobs}
	w.fake.Token = "s3cr3t-token"
	w.server = httptest.NewServer(w.fake)
	t.Cleanup(w.server.Close)
	var err error
	w.store, err = enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	w.target = engine.Target{
		BaseURL: w.server.URL, Auth: engine.Auth{Secret: "s3cr3t-token"},
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true,
	}
	w.dir.SetTarget(app, w.target)
	w.engine = w.start(o)
	return w
}

// as changes the target of the world.
func (w *world) as(change func(*engine.Target)) {
	change(&w.target)
	w.dir.SetTarget(app, w.target)
}

// front puts a handler in front of the fake target, which the handler may call.
func (w *world) front(h http.HandlerFunc) {
	server := httptest.NewServer(h)
	w.t.Cleanup(server.Close)
	w.as(func(t *engine.Target) { t.BaseURL = server.URL })
}

func (w *world) start(o provision.Options) *provision.Engine {
	w.t.Helper()
	if o.Directory == nil {
		o.Directory = w.dir
	}
	if o.Store == nil {
		o.Store = w.store
	}
	if o.Jobs == nil && w.jobs != nil {
		o.Jobs = w.jobs()
	}
	o.Observer = engine.ObserverFunc(func(_ context.Context, r engine.Result) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.results = append(w.results, r)
	})
	if o.RetryInitial == 0 {
		o.RetryInitial, o.RetryMax = 2*time.Millisecond, 20*time.Millisecond
	}
	e, err := provision.New(o)
	require.NoError(w.t, err)
	require.NoError(w.t, e.Start(w.t.Context()))
	w.t.Cleanup(func() { w.stop(e) })
	return e
}

func (w *world) stop(e *provision.Engine) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	require.NoError(w.t, e.Stop(ctx))
}

func (w *world) mark(marks ...engine.Mark) {
	w.t.Helper()
	err := w.db.Update(w.t.Context(), func(tx *sqldb.Tx) error { return w.engine.Mark(w.t.Context(), tx.Execer(), marks...) })
	require.NoError(w.t, err)
	w.engine.Wake(app)
}

// claim claims the lanes that are due, as a process that then does nothing. On SQLite no engine may run.
func (w *world) claim(name string) []engine.Lease {
	w.t.Helper()
	p, _, err := w.store.Join(w.t.Context(), store.Joining{Name: name, Lease: time.Hour})
	require.NoError(w.t, err)
	leases, err := w.store.Claim(w.t.Context(), p.ID, time.Now(), 10)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, leases)
	return leases
}

// die ends the process of a lease, as its death does: the next process takes its lanes over.
func (w *world) die(l engine.Lease) {
	w.t.Helper()
	require.NoError(w.t, w.store.Leave(w.t.Context(), l.Process, store.When{Now: time.Now(), Recheck: time.Now().Add(time.Minute)}))
}

func (w *world) wait() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), deadline)
	defer cancel()
	if err := w.engine.Wait(ctx, app); err != nil {
		states, _ := w.engine.States(context.Background(), engine.StateQuery{App: app, Status: engine.StatusRetrying, Limit: 3})
		lane, _ := w.engine.Apps().Get(context.Background(), app)
		require.NoError(w.t, err, "%+v %+v", lane, states)
	}
}

func (w *world) state(kind engine.Kind, id string) engine.State {
	w.t.Helper()
	s, err := w.engine.State(w.t.Context(), app, kind, id)
	require.NoError(w.t, err)
	return s
}

func (w *world) result() engine.Result {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(w.t, w.results)
	return w.results[len(w.results)-1]
}

func user(id, name string) engine.UserState {
	r := &scim.Resource{}
	r.Set("schemas", []string{scim.UserSchema})
	r.Set("userName", name)
	r.Set("name", map[string]any{"familyName": "Quist", "givenName": name})
	r.Set("externalId", id)
	return engine.UserState{Want: engine.Active, UserName: name, Resource: r}
}

func userMark(id string) engine.Mark { return engine.Mark{App: app, Kind: engine.User, ID: id} }

func (w *world) set(id string, u engine.UserState) {
	w.dir.SetUser(app, id, u)
	w.mark(userMark(id))
}

func (w *world) requests(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.fake.Requests()); diff != "" {
		w.t.Errorf("requests (-want +got):\n%s", diff)
	}
}
