package console_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// evil is in every stored text of the fake engine.
const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

// The credentials of the fake host.
const (
	admin  = "admin-token"
	viewer = "viewer-token"
)

// fake is a host and an engine whose texts all contain evil.
type fake struct {
	mu       sync.Mutex
	attempts []engine.Attempt
	calls    []string // of operations that change something
	revoked  []string
	gone     map[string]bool // credentials that were revoked since the login
}

var (
	_ console.Host  = (*fake)(nil)
	_ console.Reads = (*fake)(nil)
)

func (f *fake) Caller(_ context.Context, credential string) (console.Caller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.gone[credential]:
	case credential == admin:
		return console.Caller{Name: "admin " + evil, Access: console.AllAccess()}, nil
	case credential == viewer:
		return console.Caller{Name: "viewer", Access: []string{engine.AccessRead}}, nil
	}
	return console.Caller{}, console.ErrNoCaller
}

func (f *fake) Grant(context.Context) (string, error) { return admin, nil }

func (f *fake) Revoke(_ context.Context, credential string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revoked = append(f.revoked, credential)
	return nil
}

func (f *fake) Apps(context.Context, string) ([]control.App, error) {
	return []control.App{{ID: "crm", Label: "CRM " + evil}, {ID: "pay", Label: "Payroll"}}, nil
}

func (f *fake) Names(_ context.Context, _ string, all []engine.Principal) (map[engine.Principal]string, error) {
	names := map[engine.Principal]string{}
	for _, p := range all {
		names[p] = "ada " + evil
	}
	return names, nil
}

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func (f *fake) Lags(context.Context) ([]engine.Lag, error) {
	return []engine.Lag{
		{App: "crm", Failed: 2, Held: 1, Due: 3, Retrying: 1, Oldest: noon.Add(-time.Hour), Hold: engine.Hold{Reason: evil}},
		{App: "pay", Due: 1, Oldest: noon, Hold: engine.Hold{Kind: engine.HoldQuarantine, Reason: "401 " + evil}},
	}, nil
}

func (f *fake) Attempts(_ context.Context, q engine.AttemptQuery) (found []engine.Attempt, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.attempts) - 1; i >= 0; i-- {
		a := f.attempts[i]
		if (q.App == "" || q.App == a.App) && (q.Principal == "" || q.Principal == a.Principal) && (q.Before == 0 || a.ID < q.Before) &&
			(q.Limit == 0 || len(found) < q.Limit) {
			found = append(found, a)
		}
	}
	return found, nil
}

func (f *fake) add(app string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts = append(f.attempts, engine.Attempt{
		ID: int64(len(f.attempts) + 1), App: app, Kind: engine.User, Principal: "u1", Run: "run", At: noon, Method: "POST",
		URL: "https://target.example/scim/Users?x=" + url.QueryEscape(evil), RequestHeader: http.Header{"X-Evil": {evil}},
		RequestBody: `{"userName":"` + strings.ReplaceAll(evil, `"`, `\"`) + `"}`, Status: status, ResponseHeader: http.Header{"Server": {evil}},
		ResponseBody: evil, Error: evil, Duration: time.Millisecond,
	})
}

func (f *fake) Imports(context.Context, string) ([]engine.ImportRun, error) {
	return []engine.ImportRun{{ID: 1, State: engine.ImportFailed, Error: evil, Begun: noon, Counts: map[engine.Verdict]int{"matched": 1}}}, nil
}

// ServeHTTP is the control API.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, ok := console.CallerOf(r.Context())
	if !ok || r.Header.Get("Authorization") != "Bearer "+admin && r.Header.Get("Authorization") != "Bearer "+viewer {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.calls = append(f.calls, caller.Name[:5]+" "+r.Method+" "+r.URL.Path+" "+string(body))
		f.mu.Unlock()
	}
	state := engine.PrincipalState{
		Status: engine.StatusFailed, Want: engine.Active, Error: evil, RemoteID: evil, RemoteName: evil, Operation: engine.OpCreate,
		UpdatedAt: noon,
	}
	app := client.App{
		ID: "crm", Label: "CRM " + evil, BaseURL: "https://target.example/" + evil,
		Lane:   client.Lane{State: "quarantine", Reason: evil, Until: noon},
		Counts: map[engine.Status]int{"failed": 2, "clean": 1}, Unprovisioned: []client.Unprovisioned{{Reason: evil, Users: 1}},
		Halts:   []engine.Halt{{App: "crm", Operation: engine.OpCreate, Reason: evil, Since: noon}},
		Learned: engine.Learned{Traits: map[engine.Trait]time.Time{engine.Trait(evil): noon}},
	}
	diff := []engine.Difference{{Path: evil, Before: evil, After: evil}}
	sent := []engine.Sent{{Method: "POST", Path: evil, Body: evil, Answer: evil, Error: evil, Status: 400}}
	person := client.Principal{Kind: engine.User, ID: "u1", Name: "ada " + evil, State: state, WaitingOn: []string{evil}}
	plan := engine.Plan{
		ID: "p1", Reason: evil, Status: engine.PlanOpen, Items: 7, Operations: map[engine.Operation]int{engine.Operation(evil): 7},
	}
	explained := engine.PrincipalExplanation{Explanation: engine.Explanation{
		Reasons: []string{evil}, Values: []engine.Value{{Path: evil, Source: evil, Rule: evil, Value: evil, Error: evil}},
	}}
	answers := map[string]any{
		"GET /apps/crm/tasks": []client.Task{
			{ID: "u1", UserID: "u1", Name: evil, Status: "failed", Operation: "create", Error: evil, Created: "x"}},
		"GET /apps/crm/principals":                     []client.Principal{person},
		"GET /apps/crm/principals/user/u1":             person,
		"GET /apps/crm/principals/user/u1/explanation": client.Explanation{PrincipalExplanation: explained},
		"GET /apps/crm/principals/user/u1/proof": client.Verification{
			Summary: evil, Verification: engine.Verification{Diff: diff, Ignored: []string{evil}}},
		"GET /apps/crm/principals/user/u1/trace": client.Trace{
			Trace: engine.Trace{Message: evil, Hold: evil, Diff: diff, Requests: sent}},
		"GET /apps/crm/plans":    []engine.Plan{plan},
		"GET /apps/crm/plans/p1": plan,
		"GET /apps/crm/plans/p1/items": []client.PlanItem{
			{ID: "u1", Kind: "user", Name: evil, PlanItem: engine.PlanItem{Message: evil, Diff: diff, Requests: sent}}},
		"GET /apps/crm/import/1": client.Import{Status: "done", Errors: []string{evil}, Verdicts: map[engine.Verdict]int{"matched": 1}},
		"GET /apps/crm/import/1/objects": []engine.RemoteObject{
			{RemoteID: evil, UserName: evil, ExternalID: evil, Principal: evil, Note: evil, Candidates: []string{evil}}},
		"GET /apps/crm/profile": engine.Profile{
			Results: []engine.ProbeResult{{Feature: engine.Feature(evil), Detail: evil}}, Leftovers: []string{evil}},
		"GET /apps/crm/events": []client.Event{},
		"GET /engine/apps/crm": app,
		"GET /engine/apps/pay": client.App{ID: "pay", Label: "Payroll", Lane: client.Lane{State: "running"}},
		"POST /apps/crm/drift": client.Drift{Findings: []engine.Finding{{
			What: "differs", Principal: evil, RemoteName: evil, RemoteID: evil, Note: evil,
			Values: []engine.Mismatch{{Path: evil, Have: evil, Want: evil}},
		}}},
		"POST /apps/crm/tasks/retry":    map[string]int{"retried": 2},
		"POST /apps/crm/plans/p1/apply": engine.Plan{ID: "p1"},
	}
	answer, ok := answers[r.Method+" "+strings.TrimPrefix(r.URL.Path, control.DefaultPrefix)]
	switch {
	case ok:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/test"):
		w.WriteHeader(http.StatusBadGateway)
		_ = json.NewEncoder(w).Encode(map[string]any{"errorCode": "E1", "errorSummary": "The target failed: " + evil})
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]any{"errorCode": "E0000007", "errorSummary": "Not found: " + evil})
	}
}

// world is a console on a server with the fake engine.
type world struct {
	t       *testing.T
	fake    *fake
	console *console.Console
	server  *httptest.Server
	done    chan struct{}
}

func newWorld(t *testing.T, change func(o *console.Options)) *world {
	t.Helper()
	w := &world{t: t, fake: &fake{gone: map[string]bool{}}, done: make(chan struct{})}
	sessions, err := session.Open(t.Context(), sqldbtest.SQLite(t), nil)
	require.NoError(t, err)
	o := console.Options{
		Host: w.fake, Reads: w.fake, API: w.fake, Sessions: sessions, Product: "test", Links: true, Done: w.done, Rate: &console.Rate{},
		Now: func() time.Time { return noon },
	}
	if change != nil {
		change(&o)
	}
	w.console, err = console.New(o)
	require.NoError(t, err)
	w.server = httptest.NewServer(w.console)
	t.Cleanup(func() { close(w.done); w.server.Close() })
	return w
}

// browser has the cookies of one user.
type browser struct {
	*world
	http *http.Client
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &browser{w, &http.Client{Jar: jar, Transport: transport}}
}

// login returns a browser with a session of a token.
func (w *world) login(token string) *browser {
	w.t.Helper()
	b := w.browser()
	status, page := b.post("/login", url.Values{"token": {token}})
	require.Equal(w.t, http.StatusOK, status, page)
	return b
}

func (b *browser) send(r *http.Request) (int, string) {
	b.t.Helper()
	res, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return res.StatusCode, string(body)
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.server.URL+path, nil)
	require.NoError(b.t, err)
	return b.send(r)
}

func (b *browser) form(path string, values url.Values) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+path, strings.NewReader(values.Encode()))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.server.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func (b *browser) post(path string, values url.Values) (int, string) {
	b.t.Helper()
	return b.send(b.form(path, values))
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf returns the token of the forms of the session.
func (b *browser) csrf() string {
	b.t.Helper()
	_, page := b.get("/")
	found := csrfField.FindStringSubmatch(page)
	require.Len(b.t, found, 2, page)
	return found[1]
}
