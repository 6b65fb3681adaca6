package provision_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scim"
)

// orders configure a child process.
type orders struct {
	Database string
	Scenario string
	Style    engine.Style
	App      string
	Target   string // base URL
	Owner    string
	Lease    time.Duration
	At       string // the fault point, empty: none
	Standby  bool   // commit no change, and wait until other engines release the lane
	Reads    bool   // include reads of the store in the fault points
	Signal   syscall.Signal
}

// childVariable is the environment variable with the orders of a child process.
const childVariable = "SCIMWRIGHT_TEST_ENGINE"

// openShared opens a database for several processes. Commits do not wait for the disk, but are not lost when a process is killed.
func openShared(ctx context.Context, url string) (*sqldb.DB, error) {
	return sqlopen.Open(ctx, url, sqlopen.Options{NoSync: strings.HasPrefix(url, "sqlite:"), MaxConns: 1})
}

func scenario(name string) killScenario {
	i := slices.IndexFunc(killScenarios, func(s killScenario) bool { return s.name == name })
	return killScenarios[i]
}

// settings returns the target of the app in a scenario. It works on one principal at a time, so that the points have the same order in each
// run.
func (s killScenario) settings(style engine.Style, baseURL string) engine.Target {
	t := engine.Target{
		BaseURL: baseURL, Style: style, Concurrency: 1,
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true,
	}
	if s.target != nil {
		s.target(&t)
	}
	return t
}

// childDeadline limits the life of a child. A test may stop the child by SIGSTOP for most of this time.
const childDeadline = 4 * deadline

// childMain commits the change of a scenario and provisions it, unless it is killed before.
func childMain(text string) int {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), childDeadline)
	defer stop()
	if err := runOrders(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runOrders(ctx context.Context, o orders) error {
	db, err := openShared(ctx, o.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := enginestore.Open(ctx, db, sqlstore.Options{})
	if err != nil {
		return err
	}
	s := scenario(o.Scenario)
	points := &faultPoints{at: o.At, signal: o.Signal, reads: o.Reads}
	dir := sqlDirectory{db: db, target: s.settings(o.Style, o.Target)}
	transport := faultyTransport{base: http.DefaultTransport, points: points}
	var e *provision.Engine
	var requests atomic.Int32
	var failed error
	transport.before = func() {
		if fn := s.during[requests.Add(1)]; fn != nil {
			failed = errors.Join(failed, dir.change(ctx, o.App, e.Mark, fn))
			e.Wake(o.App)
		}
	}
	e, err = provision.New(provision.Options{
		CheckInitial: 2 * time.Millisecond, CheckMax: 20 * time.Millisecond,
		Store: faultyStore{All: store, points: points}, Directory: dir, Transport: transport, Owner: o.Owner, UserAgent: o.Owner,
		Lease: o.Lease, RetryInitial: 2 * time.Millisecond, RetryMax: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	if !o.Standby {
		points.hit("before the change")
		if err := dir.change(ctx, o.App, e.Mark, s.change); err != nil {
			return err
		}
		points.hit("after the change")
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	return errors.Join(e.Wait(ctx, o.App), e.Stop(ctx), failed)
}

// start starts this test binary as a child process that executes the orders.
func (o orders) start(t testing.TB, out, log io.Writer) *exec.Cmd {
	t.Helper()
	return startChild(t, childVariable, o, out, log)
}

// startChild starts this test binary with orders in an environment variable, from which TestMain reads them.
func startChild(t testing.TB, variable string, orders any, out, log io.Writer) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(orders)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stdout, cmd.Stderr = out, log
	require.NoError(t, cmd.Start())
	return cmd
}

// killWorld is a durable database with the directory and target of its engines.
type killWorld struct {
	t        testing.TB
	url      string
	db       *sqldb.DB
	store    *sqlstore.Store
	scenario killScenario
	style    engine.Style

	app       string
	fake      *enginetest.Target
	log       *requestLog
	server    *httptest.Server
	open      *connections
	unmanaged []*scim.Resource
	prior     map[string]bool // ids of the objects on the target before any provisioning
}

func newKillWorld(t testing.TB, url string, s killScenario, style engine.Style) *killWorld {
	t.Helper()
	db, err := openShared(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrateDirectory(t, db)
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	return &killWorld{t: t, url: url, db: db, store: store, scenario: s, style: style}
}

// begin provisions the given state in a new app and target.
func (w *killWorld) begin(app string) (end func()) {
	w.t.Helper()
	s := w.scenario
	w.app, w.fake, w.log = app, enginetest.NewTarget(), &requestLog{}
	w.open = &connections{open: map[string]bool{}}
	w.server = httptest.NewUnstartedServer(w.log.of(w.fake))
	w.server.Config.ConnState = w.open.note
	w.server.Start()
	w.fake.Add("Users", killedUser("unmanaged", "guest"))
	w.fake.Add("Groups", collective("Unmanaged", "u1"))
	w.unmanaged = []*scim.Resource{w.fake.Users()[0], w.fake.Groups()[0]}
	if s.fake != nil {
		s.fake(w.fake)
	}
	w.prior = map[string]bool{}
	for _, r := range slices.Concat(w.fake.Users(), w.fake.Groups()) {
		w.prior[r.ID()] = true
	}
	if len(s.given) > 0 {
		e := w.start("before", time.Now)
		for _, fn := range s.given {
			w.change(e, fn)
		}
		w.stop(e)
	}
	if s.lost != nil {
		s.lost(w.fake)
	}
	return w.server.Close
}

func (w *killWorld) directory() sqlDirectory {
	return sqlDirectory{db: w.db, target: w.scenario.settings(w.style, w.server.URL)}
}

func (w *killWorld) start(owner string, now func() time.Time) *provision.Engine {
	w.t.Helper()
	return w.startAs(owner, owner, now)
}

func (w *killWorld) startAs(owner, agent string, now func() time.Time) *provision.Engine {
	w.t.Helper()
	e, err := provision.New(provision.Options{
		CheckInitial: 2 * time.Millisecond, CheckMax: 20 * time.Millisecond,
		Store: w.store, Directory: w.directory(), Owner: owner, UserAgent: agent, Now: now,
		RetryInitial: 2 * time.Millisecond, RetryMax: 20 * time.Millisecond, Sweep: 20 * time.Millisecond,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, e.Start(w.t.Context()))
	return e
}

func (w *killWorld) stop(e *provision.Engine) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), deadline)
	defer cancel()
	require.NoError(w.t, e.Wait(ctx, w.app))
	require.NoError(w.t, e.Stop(ctx))
}

// change commits a change and waits until it is provisioned.
func (w *killWorld) change(e *provision.Engine, fn func(*directoryTx)) {
	w.t.Helper()
	require.NoError(w.t, w.directory().change(w.t.Context(), w.app, e.Mark, fn))
	e.Wake(w.app)
	ctx, cancel := context.WithTimeout(w.t.Context(), deadline)
	defer cancel()
	require.NoError(w.t, e.Wait(ctx, w.app))
}

// run runs a child until it exits or is killed at a point. It returns the printed points: all, or that one.
func (w *killWorld) run(at string) (points []string, killed bool) {
	w.t.Helper()
	var out, log bytes.Buffer
	o := orders{
		Database: w.url, Scenario: w.scenario.name, Style: w.style, App: w.app, Target: w.server.URL, Owner: "killed",
		At: at, Signal: syscall.SIGKILL, Reads: w.db.Dialect() == sqldb.SQLite, // on PostgreSQL, stopping at reads too would take too long
	}
	err := o.start(w.t, &out, &log).Wait()
	points = strings.Split(strings.TrimSpace(out.String()), "\n")
	if err == nil {
		return points, false
	}
	status, _ := errors.AsType[*exec.ExitError](err)
	require.NotNil(w.t, status, "%v", err)
	require.Equal(w.t, syscall.SIGKILL, status.Sys().(syscall.WaitStatus).Signal(), "%v: %s", err, log.String())
	require.Equal(w.t, []string{at}, points)
	w.awaitRequests()
	return points, true
}

// awaitRequests waits until the target has processed all requests of the killed process. A request that is processed after the takeover is
// repaired by the recheck: see TestTakeover_LateRequestRepaired.
func (w *killWorld) awaitRequests() {
	w.t.Helper()
	// Connections are accepted in order: after this one, no connection of the killed process is pending.
	last, err := net.Dial("tcp", w.server.Listener.Addr().String())
	require.NoError(w.t, err)
	mine := last.LocalAddr().String()
	require.NoError(w.t, last.Close())
	require.Eventually(w.t, func() bool { return w.open.none(mine) }, deadline, time.Millisecond)
}

// connections are the connections of a server by the address of the client, and whether each is open.
type connections struct {
	mu   sync.Mutex
	open map[string]bool
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn.RemoteAddr().String()] = state != http.StateClosed && state != http.StateHijacked
}

// none reports whether the given connection was accepted and no other one is open.
func (c *connections) none(accepted string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, came := c.open[accepted]
	return came && !slices.Contains(slices.Collect(maps.Values(c.open)), true)
}

// leaseEnd is added to the clock of the next engine.
const leaseEnd = time.Hour

// takeOver completes the work, as the next engine does. It has the name of the killed one, so that on PostgreSQL it does not wait until
// that one is dead. leaseEnd is later than the end of the backoffs of the killed one.
func (w *killWorld) takeOver() {
	w.t.Helper()
	e := w.startAs("killed", "heir", func() time.Time { return time.Now().Add(leaseEnd) })
	if w.scenario.then != nil {
		w.change(e, w.scenario.then)
	}
	w.stop(e)
}

// verify compares the target with the directory and the stored states, and returns the differences.
func (w *killWorld) verify() string {
	w.t.Helper()
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	ctx, dir := w.t.Context(), w.directory()

	for _, s := range w.states() {
		if s.Status != engine.StatusClean {
			complain("%s %s is %s: %s", s.Kind, s.ID, s.Status, s.LastError)
		}
	}
	ids, err := dir.texts(ctx, `SELECT id FROM embedder_user WHERE app = ? ORDER BY id`, w.app)
	require.NoError(w.t, err)
	remote := map[string]string{}
	known := maps.Clone(w.prior)
	for _, id := range ids {
		want, err := dir.User(ctx, w.app, id)
		require.NoError(w.t, err)
		active := 0
		for _, u := range w.fake.Users() {
			if u.Text("userName") != want.UserName && (u.ExternalID() == "" || u.ExternalID() != want.Resource.ExternalID()) {
				continue
			}
			known[u.ID()] = true
			if on, _ := u.Bool("active"); !on {
				continue
			}
			active++
			remote[id] = u.ID()
			for name, v := range want.Resource.All() {
				if got, _ := u.Get(name); want.Want == engine.Active && name != "schemas" && cmp.Diff(plain(v), plain(got)) != "" {
					complain("%s of %s is %v, not %v", name, id, got, v)
				}
			}
		}
		others, err := dir.texts(ctx, `SELECT id FROM embedder_user WHERE app = ? AND id <> ? AND name = ? AND want = 'active'`, w.app, id,
			want.UserName)
		require.NoError(w.t, err)
		if wanted := map[bool]int{true: 1}[want.Want == engine.Active || len(others) > 0]; active != wanted {
			complain("%s has %d active accounts, not %d", id, active, wanted)
		}
	}
	for _, u := range w.fake.Users() {
		if !known[u.ID()] {
			complain("the account %s (%s) has no owner", u.ID(), u.Text("userName"))
		}
	}
	w.verifyGroups(dir, remote, complain)
	for i, now := range []*scim.Resource{w.fake.Users()[0], w.fake.Groups()[0]} {
		if diff := cmp.Diff(string(w.unmanaged[i].AppendJSON(nil)), string(now.AppendJSON(nil))); diff != "" {
			complain("an unmanaged account or group was changed: %s", diff)
		}
	}
	for name, n := range w.log.creations() {
		if n > max(w.scenario.most, 1) {
			complain("%s was created %d times", name, n)
		}
	}
	if len(wrong) > 0 {
		wrong = append(wrong, w.log.String())
	}
	return strings.Join(wrong, "\n")
}

func (w *killWorld) verifyGroups(dir sqlDirectory, remote map[string]string, complain func(string, ...any)) {
	w.t.Helper()
	ctx := w.t.Context()
	ids, err := dir.texts(ctx, `SELECT id FROM embedder_group WHERE app = ? ORDER BY id`, w.app)
	require.NoError(w.t, err)
	groups := w.fake.Groups()[1:]
	for _, id := range ids {
		want, err := dir.Group(ctx, w.app, id)
		require.NoError(w.t, err)
		switch {
		case want.Want == engine.Absent && want.DeleteRemote && len(groups) != 0:
			complain("the group %s still exists", id)
		case want.Want != engine.Active:
		case len(groups) != 1:
			complain("%d groups, not 1", len(groups))
		default:
			if got := groups[0].Text("displayName"); got != want.DisplayName {
				complain("%s has the name %q, not %q", id, got, want.DisplayName)
			}
			members, err := dir.Members(ctx, w.app, id, "", 1000)
			require.NoError(w.t, err)
			var wanted, have []string
			for _, m := range members {
				wanted = append(wanted, remote[m])
			}
			for _, v := range groups[0].Array("members") {
				have = append(have, v.(*scim.Object).Text("value"))
			}
			slices.Sort(wanted)
			slices.Sort(have)
			if diff := cmp.Diff(wanted, have); diff != "" {
				complain("members of %s (-want +got):\n%s", id, diff)
			}
		}
	}
	if len(ids) == 0 && slices.ContainsFunc(groups, func(g *scim.Resource) bool { return !w.prior[g.ID()] }) {
		complain("an undesired group exists")
	}
}

// plain returns a value as JSON with sorted members, so that a SCIM object equals a map with the same content.
func plain(v any) string {
	b, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(b, &out)
	b, _ = json.Marshal(out)
	return string(b)
}

// requestLog stores the requests to a target, their senders and statuses.
type requestLog struct {
	mu   sync.Mutex
	sent []sentRequest
}

type sentRequest struct {
	by, method, path, body string
	status                 int // 0 if the connection was dropped
	at                     time.Time
}

func (l *requestLog) of(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			return
		}
		s := sentRequest{by: r.UserAgent(), method: r.Method, path: r.URL.RequestURI(), body: body.String(), at: time.Now()}
		r.Body = http.NoBody
		if body.Len() > 0 {
			r.Body = readCloser{bytes.NewReader(body.Bytes())}
		}
		answer := &statusWriter{ResponseWriter: rw}
		defer func() {
			s.status = answer.status
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sent = append(l.sent, s)
		}()
		h.ServeHTTP(answer, r)
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (l *requestLog) all() []sentRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// creations returns the number of processed or accepted creates by the name of the object.
func (l *requestLog) creations() map[string]int {
	out := map[string]int{}
	for _, s := range l.all() {
		r, err := scim.DecodeResource([]byte(s.body))
		if s.method == http.MethodPost && (s.status == http.StatusCreated || s.status == http.StatusAccepted) && err == nil {
			out[r.Text("userName")+r.Text("displayName")]++
		}
	}
	return out
}

func (l *requestLog) String() string {
	var out []string
	for _, s := range l.all() {
		out = append(out, fmt.Sprintf("%s: %s %s -> %d %s", s.by, s.method, s.path, s.status, s.body))
	}
	return strings.Join(out, "\n")
}

// maxChildren is the maximum number of concurrent children.
const maxChildren = 2

// TestEngine_KilledAtEveryPoint kills the engine at the points of every sequence, and checks that the next engine completes the work.
func TestEngine_KilledAtEveryPoint(t *testing.T) {
	databases := []struct {
		name   string
		url    func(t *testing.T) string
		styles []engine.Style // the styles to test. They differ in requests, not in stored data: one is enough for PostgreSQL
	}{
		{"sqlite", func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "engine.db") },
			[]engine.Style{engine.Catalog, engine.Wizard}},
		{"postgres", func(t *testing.T) string { return sqldbtest.PostgresURL(t) }, []engine.Style{engine.Catalog}},
	}
	turns := make(chan struct{}, maxChildren)
	var total atomic.Int64
	begun := time.Now()
	t.Cleanup(func() { t.Logf("killed at %d points in %s", total.Load(), time.Since(begun).Round(time.Millisecond)) })
	for _, d := range databases {
		for _, s := range killScenarios {
			for _, style := range d.styles {
				if s.styles != nil && !slices.Contains(s.styles, style) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", d.name, s.name, style), func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					total.Add(killedEverywhere(t, d.url(t), s, style))
				})
			}
		}
	}
}

// killedEverywhere kills a process at each point of a scenario and returns the number of kills.
func killedEverywhere(t *testing.T, url string, s killScenario, style engine.Style) int64 {
	w := newKillWorld(t, url, s, style)
	end := w.begin("whole")
	points, killed := w.run("")
	require.False(t, killed)
	w.takeOver()
	require.Empty(t, w.verify(), "no process was killed")
	end()
	for _, p := range s.passes {
		require.Contains(t, points, p)
	}
	if s.name != killScenarios[0].name {
		points = slices.DeleteFunc(points, func(p string) bool { return slices.Contains(preamble, p) })
	}
	if !alltest.All() || raceDetector {
		points = slices.Collect(func(yield func(string) bool) {
			for i := len(s.name) % skippedPoints; i < len(points) && yield(points[i]); i += skippedPoints {
			}
		})
	}
	var hit []string
	for i, at := range points {
		end := w.begin(fmt.Sprint("app-", i))
		_, killed := w.run(at)
		w.takeOver()
		wrong := w.verify()
		end()
		require.Empty(t, wrong, "killed %s", at)
		if killed { // otherwise the process has not reached the point: the number of claims during a backoff varies
			hit = append(hit, at)
		}
	}
	t.Logf("killed at %d points: %s", len(hit), strings.Join(hit, ", "))
	return int64(len(hit))
}

// preamble has the points until a lane is claimed. They are equal in all scenarios, and only the first scenario tests them.
var preamble = []string{
	"before the change", "before Mark", "after Mark", "after the change", "before Join", "after Join", "before Claim", "after Claim",
}

// skippedPoints is the number of points that are skipped for each tested one in short runs.
const skippedPoints = 9
