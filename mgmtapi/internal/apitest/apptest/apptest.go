// Package apptest provides tests of provisioning with helpers for users, groups and applications, and access to the data behind the
// management API: stored documents, events and the desired state. It builds on apitest, so that every response is checked against the
// OpenAPI document.
package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Secret is the token of the connections that Connect creates.
const Secret = "s3cret-of-the-target"

// World is a management API with access to the data behind it.
type World struct {
	t       *testing.T
	env     *apitest.Env
	Store   *docstore.Store
	Model   *model.Model
	Desired *desired.State
	Tester  *Tester

	mu       sync.Mutex
	answered bytes.Buffer // the bodies of all responses
}

// Tester is a ConnectionTester whose result a test sets.
type Tester struct {
	mu    sync.Mutex
	err   error
	asked []connections.Endpoint
}

// TestConnection implements connections.ConnectionTester.
func (c *Tester) TestConnection(_ context.Context, e connections.Endpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, e)
	return c.err
}

// Fail makes every verification return err; nil makes them succeed.
func (c *Tester) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Asked returns the endpoints that have been verified.
func (c *Tester) Asked() []connections.Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]connections.Endpoint(nil), c.asked...)
}

// New returns a world on SQLite.
func New(t *testing.T) *World { return On(t, sqldbtest.SQLite(t)) }

// Each runs the test on every database.
func Each(t *testing.T, fn func(t *testing.T, w *World)) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { fn(t, On(t, db)) })
}

// On returns a world on the database.
func On(t *testing.T, db *sqldb.DB) *World {
	t.Helper()
	w := &World{t: t, Tester: &Tester{}}
	secrets := seal.Random()
	w.env = apitest.New(t, db, func(o *assembly.Options) { o.Secrets, o.Connections = secrets, w.Tester })
	w.Store, w.Model = w.env.Store, w.env.Model
	w.Desired = desired.New(w.Model, w.Store, secrets, w.env.Clock.Now)
	w.Events() // discard the events of the setup
	return w
}

// Unrecorded excludes the requests of the test from the record of operations, for tests with random requests.
func (w *World) Unrecorded() { w.env.Unrecorded() }

// Now returns the time of the clock of the API.
func (w *World) Now() time.Time { return w.env.Clock.Now() }

// Advance moves the clock forward.
func (w *World) Advance(by time.Duration) { w.env.Clock.Advance(by) }

// Answer is a response of the API.
type Answer struct {
	t      *testing.T
	Status int
	Header http.Header
	Body   []byte
	what   string
}

// Do sends a request below /api/v1. The body is nil, a JSON string, or a value to marshal.
func (w *World) Do(method, path string, body any) *Answer {
	w.t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		data, err := json.Marshal(body)
		require.NoError(w.t, err)
		text = string(data)
	}
	res := w.env.Do(w.t, method+" /api/v1"+path, text, nil)
	w.mu.Lock()
	w.answered.Write(res.Body)
	w.mu.Unlock()
	return &Answer{t: w.t, Status: res.Status, Header: res.Header, Body: res.Body, what: method + " " + path}
}

// Get sends a GET request, see Do.
func (w *World) Get(path string) *Answer { w.t.Helper(); return w.Do(http.MethodGet, path, nil) }

// Post sends a POST request, see Do.
func (w *World) Post(path string, body any) *Answer {
	w.t.Helper()
	return w.Do(http.MethodPost, path, body)
}

// Put sends a PUT request, see Do.
func (w *World) Put(path string, body any) *Answer {
	w.t.Helper()
	return w.Do(http.MethodPut, path, body)
}

// Patch sends a PATCH request, see Do.
func (w *World) Patch(path string, body any) *Answer {
	w.t.Helper()
	return w.Do(http.MethodPatch, path, body)
}

// Delete sends a DELETE request, see Do.
func (w *World) Delete(path string) *Answer {
	w.t.Helper()
	return w.Do(http.MethodDelete, path, nil)
}

// OK requires the status 200, or the given status.
func (a *Answer) OK(status ...int) *Answer {
	a.t.Helper()
	want := http.StatusOK
	if len(status) > 0 {
		want = status[0]
	}
	require.Equal(a.t, want, a.Status, "%s: %s", a.what, a.Body)
	return a
}

// Fails requires an error with the status and the code and, if given, a string in its causes or its summary.
func (a *Answer) Fails(status int, code string, clue ...string) *Answer {
	a.t.Helper()
	require.Equal(a.t, status, a.Status, "%s: %s", a.what, a.Body)
	require.Equal(a.t, code, a.Text("errorCode"), "%s: %s", a.what, a.Body)
	for _, text := range clue {
		require.Contains(a.t, string(a.Body), text, a.what)
	}
	return a
}

// Into decodes the body.
func (a *Answer) Into(v any) *Answer {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.Body, v), "%s: %s", a.what, a.Body)
	return a
}

// Value returns a member by its path, nil if absent: Value("profile", "email").
func (a *Answer) Value(path ...string) any {
	a.t.Helper()
	var value any
	a.Into(&value)
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// Text returns a string member, "" if it is absent or not a string.
func (a *Answer) Text(path ...string) string {
	a.t.Helper()
	text, _ := a.Value(path...).(string)
	return text
}

// IDs returns the member "id" of every element of a list.
func (a *Answer) IDs() []string {
	a.t.Helper()
	a.OK()
	var list []struct {
		ID string `json:"id"`
	}
	a.Into(&list)
	ids := []string{}
	for _, element := range list {
		ids = append(ids, element.ID)
	}
	return ids
}

// Next returns the path of the next page, "" on the last one.
func (a *Answer) Next() string {
	for _, link := range a.Header.Values("Link") {
		if target, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
			_, path, _ := strings.Cut(target, "/api/v1")
			return path
		}
	}
	return ""
}

// User creates an active user with the login name@example.com and returns its id. The attributes are further pairs of name and value.
func (w *World) User(name string, attributes ...string) string {
	w.t.Helper()
	return w.user(name, true, attributes)
}

// StagedUser creates a user without activating it.
func (w *World) StagedUser(name string, attributes ...string) string {
	w.t.Helper()
	return w.user(name, false, attributes)
}

func (w *World) user(name string, active bool, attributes []string) string {
	w.t.Helper()
	login := name + "@example.com"
	profile := map[string]any{"login": login, "email": login, "firstName": name, "lastName": "Tester"}
	for i := 0; i < len(attributes); i += 2 {
		profile[attributes[i]] = attributes[i+1]
	}
	path := "/users?activate=false"
	if active {
		path = "/users?activate=true"
	}
	body := map[string]any{"profile": profile, "credentials": map[string]any{"password": map[string]any{"value": "Xk7-plonk-Qw"}}}
	return w.Post(path, body).OK().Text("id")
}

// Group creates a group with the members and returns its id.
func (w *World) Group(name string, members ...string) string {
	w.t.Helper()
	id := w.Post("/groups", map[string]any{"profile": map[string]any{"name": name}}).OK().Text("id")
	for _, member := range members {
		w.Join(id, member)
	}
	return id
}

// Join adds a user to a group.
func (w *World) Join(group, user string) {
	w.t.Helper()
	w.Put("/groups/"+group+"/users/"+user, nil).OK(http.StatusNoContent)
}

// Leave removes a user from a group.
func (w *World) Leave(group, user string) {
	w.t.Helper()
	w.Delete("/groups/" + group + "/users/" + user).OK(http.StatusNoContent)
}

// Bookmark creates an application without credentials and provisioning.
func (w *World) Bookmark(label string) string {
	w.t.Helper()
	return w.Post("/apps", `{"name":"bookmark","label":"`+label+`","settings":{"app":{"url":"https://example.com/"}}}`).OK().Text("id")
}

// SCIMApp creates an application of the catalog that supports provisioning.
func (w *World) SCIMApp(label string) string {
	w.t.Helper()
	return w.Post("/apps", `{"name":"scim2_test_app","label":"`+label+`"}`).OK().Text("id")
}

// All enables every capability of USER_PROVISIONING except passwords.
const All = `{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"profile":{"status":"ENABLED"},` +
	`"lifecycleDeactivate":{"status":"ENABLED"}}}`

// Connect gives an application an active connection with the token Secret and these capabilities, "" for the initial ones.
func (w *World) Connect(app, capabilities string) {
	w.t.Helper()
	w.Post("/apps/"+app+"/connections/default?activate=true",
		`{"baseUrl":"https://scim.example.com/v2","profile":{"authScheme":"TOKEN","token":"`+Secret+`"}}`).OK()
	if capabilities != "" {
		w.Put("/apps/"+app+"/features/USER_PROVISIONING", capabilities).OK()
	}
}

// Assign assigns a user to an application.
func (w *World) Assign(app, user string) *Answer {
	w.t.Helper()
	return w.Post("/apps/"+app+"/users", map[string]any{"id": user}).OK()
}

// Event is an event of the outbox: its topic and its data.
type Event struct {
	Topic string
	Data  string
}

// Events removes the events from the outbox and returns them in order.
func (w *World) Events() []Event {
	w.t.Helper()
	var out []Event
	for {
		n, err := w.Store.Relay(w.t.Context(), 100, func(_ *docstore.Tx, events []docstore.Event) error {
			for _, e := range events {
				out = append(out, Event{e.Topic, string(e.Data)})
			}
			return nil
		})
		require.NoError(w.t, err)
		if n == 0 {
			return out
		}
	}
}

// Expect requires that the outbox contains the events, in any order and possibly among other events. It then removes all events from the
// outbox.
func (w *World) Expect(events ...model.Event) {
	w.t.Helper()
	got := w.Events()
	for _, e := range events {
		data, err := json.Marshal(e)
		require.NoError(w.t, err)
		require.Contains(w.t, got, Event{e.Topic(), string(data)})
	}
}

// Answered returns the bodies of all responses that the test has received.
func (w *World) Answered() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered.String()
}

// Work runs all work that requests have queued.
func (w *World) Work() {
	w.t.Helper()
	w.env.Work(w.t)
}

// Step runs one batch of the work that requests have queued.
func (w *World) Step() {
	w.t.Helper()
	_, err := w.env.API.Work(w.t.Context())
	require.NoError(w.t, err)
}
