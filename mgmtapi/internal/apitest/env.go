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
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Token is the API token of the built-in administrator.
const Token = "00testTokenOfTheAdministrator012345678-_ab"

// Env is a management API that a test HTTP server of its own serves, with the store, the model, the clock and the log of the API.
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
	mounted    string
}

// Mount makes the handler h serve the paths below /sandbox/ that contain the given string. Requests to these paths are neither checked
// against the document nor recorded.
func (e *Env) Mount(contained string, h http.Handler) {
	e.mounted = contained
	e.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.isMounted(r) {
			h.ServeHTTP(w, r)
			return
		}
		e.API.ServeHTTP(w, r)
	})
}

func (e *Env) isMounted(r *http.Request) bool {
	return e.mounted != "" && strings.HasPrefix(r.URL.Path, "/sandbox/") && strings.Contains(r.URL.Path, e.mounted)
}

// Document returns the generated OpenAPI document. Tests share it and must not modify it.
func (e *Env) Document() *openapi3.T { return e.document }

// Unrecorded excludes the requests of the test from the record of operations, for tests with random requests.
func (e *Env) Unrecorded() { e.unrecorded = true }

// New serves an API on an empty database, without rate limits and with cheap password hashes. Each adjust function may change the options.
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

// documents caches the OpenAPI documents of this process by table of operations. Tests only read them, and generating one takes longer than
// most tests.
type documents struct {
	mu  sync.Mutex
	all map[string]description
}

// description is an OpenAPI document and a router that finds the operation of a request in the document.
type description struct {
	document *openapi3.T
	router   routers.Router
}

var described = documents{all: map[string]description{}}

// of returns the description of an API.
func (d *documents) of(api *assembly.API) (description, error) {
	var table strings.Builder
	for _, route := range api.Operations() {
		fmt.Fprintln(&table, rest.Describe(route))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.all[table.String()]; ok {
		return known, nil
	}
	text, err := api.OpenAPI()
	if err != nil {
		return description{}, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return description{}, err
	}
	if err := document.Validate(context.Background()); err != nil {
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

// recordJobs records, under NoOperation, the types of the log events that were written by jobs or that report failures.
func (e *Env) recordJobs(t testing.TB) {
	if e.unrecorded || t.Failed() {
		return
	}
	// A new context, because that of the test has already ended.
	err := model.Each(context.Background(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		if doc.Value.Request == nil || doc.Value.Result == model.LogFailure {
			seen.add(NoOperation, t.Name(), doc.Value.Type)
		}
		return nil
	})
	require.NoError(t, err)
}

// Sandboxed is an adjust function for New that also serves /sandbox/v1, so that tests can read the messages in the outbox. Tests must not
// call the provisioning operations of /sandbox/v1, which have no implementation here.
func Sandboxed(o *assembly.Options) { o.Work = struct{ sandboxport.Work }{} }

// Clock is a clock that tests move.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	tick time.Duration
}

// NewClock returns a clock that is stopped at a fixed time.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.tick)
	return c.now
}

// Tick makes every read advance the clock by d.
func (c *Clock) Tick(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick = d
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Log stores the log output of the API.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the whole log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Work runs all work that requests have queued.
func (e *Env) Work(t testing.TB) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = e.API.Work(t.Context())
		require.NoError(t, err)
	}
}
