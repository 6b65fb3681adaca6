package foreign_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

const app = "foreign"

// settleTime is the maximum time to wait for one phase. The report contains the number of principals that have not converged by then.
const settleTime = 3 * time.Minute

// run is an engine that provisions an organization to one target through all phases.
type run struct {
	*organization
	t       *testing.T
	target  reader
	dir     *enginetest.Directory
	db      *sqldb.DB
	engine  *provision.Engine
	wire    *wire
	marks   []engine.Mark // recorded since the last call of settle
	marked  int           // in this phase
	results []phaseResult // by phase
}

// phaseResult is the result of a phase.
type phaseResult struct {
	phase     string
	marks     int
	requests  map[string]int // by method
	refused   int
	unsettled int // principals that have not converged in time
	found     findings
}

func newRun(t *testing.T, target reader, style engine.Style) *run {
	r := &run{
		organization: newOrganization(), t: t, target: target, dir: &enginetest.Directory{}, db: sqldbtest.SQLite(t),
		wire: &wire{base: target.base, transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
	store, err := enginestore.Open(t.Context(), r.db, sqlstore.Options{})
	require.NoError(t, err)
	r.dir.SetTarget(app, engine.Target{
		BaseURL: target.base, Auth: engine.Auth{Secret: target.token}, Style: style,
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true,
	})
	r.engine, err = provision.New(provision.Options{
		Store: store, Directory: r.dir, Transport: r.wire, RetryInitial: 20 * time.Millisecond, RetryMax: 200 * time.Millisecond,
	})
	require.NoError(t, err)
	require.NoError(t, r.engine.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		require.NoError(t, r.engine.Stop(ctx))
		r.wire.transport.CloseIdleConnections()
	})
	return r
}

// person updates the user in the directory and records the mark.
func (r *run) person(p *person) {
	p.account = p.account || p.want == engine.Active
	r.dir.SetUser(app, p.id, p.state())
	r.marks = append(r.marks, engine.Mark{App: app, Kind: engine.User, ID: p.id})
}

func (r *run) team(g *team, m engine.Mark) {
	r.dir.SetGroup(app, g.id, g.state())
	for _, p := range r.people {
		r.dir.SetMember(app, g.id, p.id, g.members[p])
	}
	m.App, m.Kind, m.ID = app, engine.Group, g.id
	r.marks = append(r.marks, m)
}

func (r *run) member(g *team, p *person, in bool) {
	delete(g.members, p)
	if in {
		g.members[p] = true
	}
	r.dir.SetMember(app, g.id, p.id, in)
	r.marks = append(r.marks, engine.Mark{App: app, Kind: engine.Group, ID: g.id, Members: []string{p.id}})
}

// everything marks all users and all pushed groups.
func (r *run) everything() {
	for _, p := range r.people {
		r.person(p)
	}
	for _, g := range r.teams {
		if r.pushed(g) {
			r.team(g, engine.Mark{AllMembers: true})
		}
	}
}

func (r *run) remoteID(kind engine.Kind, id string) string {
	s, err := r.engine.State(r.t.Context(), app, kind, id)
	require.NoError(r.t, err)
	return s.RemoteID
}

// settle writes the recorded marks and waits for the engine. It returns the number of principals that have not converged.
func (r *run) settle() int {
	r.t.Helper()
	err := r.db.Update(r.t.Context(), func(tx *sqldb.Tx) error { return r.engine.Mark(r.t.Context(), tx.Execer(), r.marks...) })
	require.NoError(r.t, err)
	r.marked += len(r.marks)
	r.marks = nil
	r.engine.Wake(app)
	ctx, cancel := context.WithTimeout(r.t.Context(), settleTime)
	defer cancel()
	if r.engine.Wait(ctx, app) == nil {
		return 0
	}
	n, err := r.engine.Apps().Pending(r.t.Context())
	require.NoError(r.t, err)
	return n
}

// play runs all phases.
func (r *run) play() {
	for _, p := range history {
		r.wire.begin()
		r.marked = 0
		begun := time.Now()
		p.do(r)
		t := phaseResult{phase: p.name, unsettled: r.settle()}
		t.marks = r.marked
		t.requests, t.refused = r.wire.end()
		t.found = r.compare()
		r.t.Logf("%-60s %5.1fs %v errors %d not converged %d: %s", p.name, time.Since(begun).Seconds(), t.requests, t.refused, t.unsettled,
			t.found.summary())
		r.results = append(r.results, t)
	}
}

// exchange is one request and its response.
type exchange struct {
	method, path, sent, answer string
	status                     int
}

// wire counts and records the exchanges between the engine and a target.
type wire struct {
	base      string
	transport *http.Transport
	mu        sync.Mutex
	from      int
	all       []exchange
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchange{method: req.Method, path: strings.TrimPrefix(req.URL.String(), w.base)}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		sent, _ := io.ReadAll(body)
		x.sent = string(sent)
	}
	res, err := w.transport.RoundTrip(req)
	if err == nil {
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(answer))
		x.status, x.answer = res.StatusCode, string(answer)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, x)
	return res, err
}

func (w *wire) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from = len(w.all)
}

// end counts the requests since begin.
func (w *wire) end() (methods map[string]int, refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	methods = map[string]int{}
	for _, x := range w.all[w.from:] {
		methods[x.method]++
		if x.status < 200 || x.status >= 300 {
			refused++
		}
	}
	return methods, refused
}
