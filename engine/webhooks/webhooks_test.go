package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDatabase) != "" {
		child()
		return
	}
	os.Exit(sqldbtest.Main(m))
}

// events is a Source in memory.
type events struct {
	mu   sync.Mutex
	apps map[string][]engine.Event // by app; the last one has the highest number
	late time.Duration             // of later events
	wake func(app string)
}

func (s *events) add(app string, kind engine.Kind, id string, t engine.EventType) int64 {
	s.mu.Lock()
	seq := int64(1)
	if have := s.apps[app]; len(have) > 0 {
		seq = have[len(have)-1].Seq + 1
	}
	s.apps[app] = append(s.apps[app], engine.Event{App: app, Seq: seq, At: time.Now().Add(s.late), Type: t, Kind: kind, Principal: id})
	wake := s.wake
	s.mu.Unlock()
	if wake != nil {
		wake(app)
	}
	return seq
}

// user adds an event of a user of crm.
func (s *events) user(id string) int64 { return s.add("crm", engine.User, id, engine.UserUpdated) }

// trim removes all events of an app but the last n.
func (s *events) trim(app string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app] = s.apps[app][len(s.apps[app])-n:]
}

func (s *events) forget(app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.apps, app)
	s.late += time.Second
}

func (s *events) Events(_ context.Context, q engine.EventQuery) (out []engine.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.apps[q.App] {
		if e.Seq > q.After && len(out) < q.Limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *events) EventHeads(_ context.Context, after string, limit int) (out []engine.EventHead, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, app := range slices.Sorted(maps.Keys(s.apps)) {
		if have := s.apps[app]; app > after && len(have) > 0 && len(out) < limit {
			out = append(out, engine.EventHead{App: app, Seq: have[len(have)-1].Seq})
		}
	}
	return out, nil
}

// request is a request to a receiver.
type request struct {
	id      string
	headers http.Header
	body    string
	webhooks.Message
}

// receiver is an endpoint that records the requests. respond returns the status of the response, or 0 if it has written the response.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []request
	respond func(w http.ResponseWriter, r request) int
}

func newReceiver(t testing.TB, respond func(w http.ResponseWriter, r request) int) *receiver {
	t.Helper()
	out := &receiver{respond: respond}
	out.Server = httptest.NewServer(out)
	t.Cleanup(out.Close)
	return out
}

func (x *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	got := request{id: r.Header.Get("Webhook-Id"), headers: r.Header, body: string(body)}
	if err == nil {
		err = json.Unmarshal(body, &got.Message)
	}
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	x.mu.Lock()
	x.got = append(x.got, got)
	respond := x.respond
	x.mu.Unlock()
	status := http.StatusNoContent
	if respond != nil {
		status = respond(w, got)
	}
	if status != 0 {
		w.WriteHeader(status)
	}
}

func (x *receiver) responds(f func(w http.ResponseWriter, r request) int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.respond = f
}

func (x *receiver) requests() []request {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.got)
}

// seqs returns the numbers of the received events, in the order of the requests.
func (x *receiver) seqs() []int64 {
	out := []int64{}
	for _, r := range x.requests() {
		out = append(out, r.Data.Seq)
	}
	return out
}

// clock is a clock that a test can set forward.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// patience is the time after which a test fails that waits for something. It is not a bound of the Service.
const patience = 2 * time.Minute

// world is a Service with a Source in memory.
type world struct {
	*webhooks.Service
	t      testing.TB
	db     *sqldb.DB
	source *events
	clock  *clock
}

func newSeal(t testing.TB) webhooks.Seal {
	t.Helper()
	seal, err := desired.NewKey([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	return seal
}

func options(t testing.TB, db *sqldb.DB) webhooks.Options {
	t.Helper()
	o := webhooks.Options{
		Dialect: sqlstore.Dialect(db.Dialect().String()), Seal: newSeal(t), AllowHTTP: true, Timeout: patience,
		RetryInitial: time.Millisecond, RetryMax: 10 * time.Millisecond, Poll: 20 * time.Millisecond, Lease: time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	}
	if db.Dialect() == sqldb.SQLite {
		o.Updater = func(ctx context.Context, fn func(tx engine.Execer) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		}
	}
	return o
}

// open opens a Service on the database.
func open(t testing.TB, db *sqldb.DB, o webhooks.Options) *webhooks.Service {
	t.Helper()
	conn := db.Writer()
	if db.Dialect() == sqldb.SQLite {
		conn = db.Readers()
	}
	s, err := webhooks.Open(t.Context(), conn, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func newWorld(t testing.TB, db *sqldb.DB, change ...func(*webhooks.Options)) *world {
	t.Helper()
	w := &world{t: t, db: db, source: &events{apps: map[string][]engine.Event{}}, clock: &clock{}}
	o := options(t, db)
	o.Source, o.Now = w.source, w.clock.now
	for _, f := range change {
		f(&o)
	}
	w.Service = open(t, db, o)
	w.source.wake = w.Wake
	require.NoError(t, w.Start(t.Context()))
	return w
}

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, w *world), change ...func(*webhooks.Options)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { fn(t, newWorld(t, db, change...)) })
}

// endpoint creates an endpoint for the app crm.
func (w *world) endpoint(x *receiver, change ...func(*webhooks.Endpoint)) (id, secret string) {
	w.t.Helper()
	e := webhooks.Endpoint{App: "crm", URL: x.URL}
	for _, f := range change {
		f(&e)
	}
	e, secret, err := w.Create(w.t.Context(), e, webhooks.CreateOptions{})
	require.NoError(w.t, err)
	return e.ID, secret
}

// poll waits until a condition holds.
func (w *world) poll(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, patience, 2*time.Millisecond, what)
}

// received waits for n requests.
func (w *world) received(x *receiver, n int) {
	w.t.Helper()
	w.poll(fmt.Sprintf("%d requests", n), func() bool { return len(x.requests()) >= n })
}

func (w *world) get(id string) webhooks.Endpoint {
	w.t.Helper()
	e, err := w.Get(w.t.Context(), id)
	require.NoError(w.t, err)
	return e
}

func (w *world) letters(id string, dead bool) []webhooks.Letter {
	w.t.Helper()
	all, err := w.Letters(w.t.Context(), webhooks.LetterQuery{Endpoint: id, Dead: dead})
	require.NoError(w.t, err)
	return all
}

// idle waits until all events of crm are delivered to the endpoint.
func (w *world) idle(id string) {
	w.t.Helper()
	w.poll("all events are delivered", func() bool {
		if w.get(id).Parked > 0 {
			return false
		}
		heads, _ := w.source.EventHeads(w.t.Context(), "", 10)
		for _, h := range heads {
			var seq int64
			_ = w.db.Reader().QueryRow(w.t.Context(), `SELECT seq FROM scimwright_webhook_cursor WHERE endpoint_id = ? AND app_id = ?`, id, h.App).
				Scan(&seq)
			if seq != h.Seq {
				return false
			}
		}
		return true
	})
}

// firsts returns the numbers of the events of each user, in the order of the first successful requests.
func firsts(all []request) map[string][]int64 {
	seen, out := map[string]bool{}, map[string][]int64{}
	for _, r := range all {
		if !seen[r.id] {
			seen[r.id] = true
			out[r.Data.ID] = append(out[r.Data.ID], r.Data.Seq)
		}
	}
	return out
}
