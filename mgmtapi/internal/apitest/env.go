package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Token is the API token of the built-in administrator.
const Token = "00testTokenOfTheAdministrator012345678-_ab"

// Env is an API on a server of its own.
type Env struct {
	API    *assembly.API
	Store  *docstore.Store
	Model  *model.Model
	Clock  *Clock
	Server *httptest.Server
	Log    *Log

	document   *openapi3.T
	router     routers.Router
	unrecorded bool
	beside     string
}

// Beside serves paths of the sandbox that contain a text with the handler of a host. They are in no document and no record.
func (e *Env) Mount(part string, h http.Handler) {
	e.beside = part
	e.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.besides(r) {
			h.ServeHTTP(w, r)
			return
		}
		e.API.ServeHTTP(w, r)
	})
}

func (e *Env) besides(r *http.Request) bool {
	return e.beside != "" && strings.HasPrefix(r.URL.Path, "/sandbox/") && strings.Contains(r.URL.Path, e.beside)
}

// Document returns the OpenAPI document that the API generates of itself. Tests share it and must not change it.
func (e *Env) Document() *openapi3.T { return e.document }

// Unrecorded keeps what happens out of the record of operations, for tests whose requests are drawn at random.
func (e *Env) Unrecorded() { e.unrecorded = true }

// New serves an API on an empty database, with rate limits off and cheap password hashes. Each adjust may change the options.
func New(t testing.TB, db *sqldb.DB, adjust ...func(*assembly.Options)) *Env {
	t.Helper()
	e := &Env{Model: model.New(), Clock: NewClock(), Log: &Log{}}
	var err error
	e.Store, err = docstore.Open(t.Context(), db, e.Clock.Now, e.Model.Tables()...)
	require.NoError(t, err)
	o := assembly.Options{
		Store: e.Store, Model: e.Model, HashCost: bcrypt.MinCost, RateLimits: callers.Limits{Off: true}, KeySource: generated.of(t),
		Now: e.Clock.Now, Logger: slog.New(slog.NewTextHandler(e.Log, nil)),
	}
	for _, f := range adjust {
		f(&o)
	}
	e.API, err = assembly.New(o)
	require.NoError(t, err)
	require.NoError(t, e.API.Setup(t.Context(), assembly.Setup{Token: Token}))
	d, err := described.of(e.API)
	require.NoError(t, err)
	e.document, e.router = d.document, d.router
	e.Server = httptest.NewServer(e.API)
	t.Cleanup(e.Server.Close)
	t.Cleanup(func() { e.recordJobs(t) })
	return e
}

// documents keeps the documents of the APIs of this process by their tables of operations: the tests only read them, and generating one
// takes longer than most tests.
type documents struct {
	mu  sync.Mutex
	all map[string]description
}

// description is an OpenAPI document and a router over it.
type description struct {
	document *openapi3.T
	router   routers.Router
}

var described = documents{all: map[string]description{}}

// of returns the description of an API.
func (d *documents) of(api *assembly.API) (description, error) {
	var table strings.Builder
	for _, route := range api.Operations() {
		fmt.Fprintln(&table, route.Info())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.all[table.String()]; ok {
		return known, nil
	}
	document, err := api.Document()
	if err != nil {
		return description{}, err
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		return description{}, err
	}
	made := description{document, router}
	d.all[table.String()] = made
	return made, nil
}

// recordJobs notes the types of the events that no request has written, and of those about refused ones.
func (e *Env) recordJobs(t testing.TB) {
	if e.unrecorded || t.Failed() {
		return
	}
	// The context of the test has ended.
	err := model.Each(context.Background(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		if doc.Value.Request == nil || doc.Value.Result == model.LogFailure {
			seen.add(NoOperation, t.Name(), doc.Value.Type)
		}
		return nil
	})
	require.NoError(t, err)
}

// Sandboxed is an adjustment for New that serves /sandbox/v1 too, for its outbox. What it shows of the provisioning must not be asked.
func Sandboxed(o *assembly.Options) { o.Work = struct{ sandboxport.Work }{} }

// Clock is a clock that tests move.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	tick time.Duration
}

// NewClock makes a clock that stands at a fixed time.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.tick)
	return c.now
}

// Tick makes the clock advance whenever it is read.
func (c *Clock) Tick(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick = d
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Log keeps what the API logs.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Work does all that requests have left to do.
func (e *Env) Work(t testing.TB) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = e.API.Work(t.Context())
		require.NoError(t, err)
	}
}
