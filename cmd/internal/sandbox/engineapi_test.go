package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// checked sends requests and validates each response of the sandbox API against the OpenAPI document.
type checked struct {
	t      *testing.T
	router routers.Router
}

func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s is not in the OpenAPI document: %w", r.Method, r.URL.Path, err)
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(data)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		return nil, fmt.Errorf("the response does not match the OpenAPI document: %w\n%s", err, data)
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res, nil
}

// documented returns a router over the OpenAPI document. The tests share it, because parsing the document takes longer than most of them.
var documented = sync.OnceValues(func() (routers.Router, error) {
	text, err := sandbox.OpenAPI()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// checkedAPI returns a client that validates responses against the OpenAPI document.
func checkedAPI(t *testing.T, s *sandbox.Sandbox) *sandbox.APIClient {
	t.Helper()
	router, err := documented()
	require.NoError(t, err)
	return &sandbox.APIClient{BaseURL: s.Ready().BaseURL, Token: s.Ready().APIToken, HTTP: &http.Client{Transport: checked{t, router}}}
}

// driven is a sandbox with one app, which tests control with the engine's control API.
type driven struct {
	t      *testing.T
	api    *sandbox.APIClient
	app    string
	target *target
	ready  sandbox.Ready
}

func drive(t *testing.T, o sandbox.Options) *driven {
	t.Helper()
	o.Empty, o.TargetTimeout, o.RetryMax = true, testCallTimeout, testRetryMax
	s, _ := startSandbox(t, o)
	d := &driven{t: t, api: checkedAPI(t, s), target: newTarget(t, scimHandler(t)), ready: s.Ready()}
	d.app = newApp(t, d.api, d.target.URL, scimToken)
	return d
}

// of returns a path below the app.
func (d *driven) of(path string) string { return "/sandbox/v1/apps/" + d.app + path }

func (d *driven) get(path string, into any) {
	d.t.Helper()
	do(d.t, d.api, http.MethodGet, d.of(path), "", into)
}

func (d *driven) post(path, body string, into any) {
	d.t.Helper()
	do(d.t, d.api, http.MethodPost, d.of(path), body, into)
}

// refused sends a request that must fail with the status and the text.
func (d *driven) refused(method, path, body string, status int, text string) {
	d.t.Helper()
	var payload any
	if body != "" {
		payload = json.RawMessage(body)
	}
	err := d.api.Do(d.t.Context(), method, d.of(path), payload, nil)
	require.ErrorContains(d.t, err, fmt.Sprintf(": %d ", status))
	require.ErrorContains(d.t, err, text)
}

func (d *driven) assign(login string) (id string) {
	d.t.Helper()
	id = newUser(d.t, d.api, login)
	do(d.t, d.api, http.MethodPost, "/api/v1/apps/"+d.app+"/users", fmt.Sprintf(`{"id":%q,"scope":"USER"}`, id), nil)
	return id
}

func (d *driven) settle() {
	d.t.Helper()
	d.post("/wait?timeoutSeconds=60", "", nil)
}

func TestEngineAPI_ErrorsNameNoPackage(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	ann := d.assign("ann@northwind.example")
	d.settle()
	var plan engine.Plan
	d.post("/plans", `{"userIds":["`+ann+`"]}`, &plan)
	d.post("/plans/"+plan.ID+"/apply", "{}", nil)
	d.target.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	requests := map[string]string{"/plans/" + plan.ID + "/apply": "{}", "/drift": "{}"}
	check := func() {
		for path, body := range requests {
			err := d.api.Do(t.Context(), http.MethodPost, d.of(path), json.RawMessage(body), nil)
			require.Error(t, err, path)
			require.NotRegexp(t, `\b(engine|sqlstore|desired|connect): `, err.Error(), path)
		}
	}
	check()
	do(t, d.api, http.MethodPost, "/api/v1/apps/"+d.app+"/lifecycle/deactivate", "", nil)
	check()
}

func TestEngineAPI_AppsAndUsers(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{Metrics: serving.MetricsOptions{Token: metricsToken}})
	ann := d.assign("ann@northwind.example")
	bob := newUser(t, d.api, "bob@northwind.example")
	d.settle()

	var apps []client.App
	do(t, d.api, http.MethodGet, "/sandbox/v1/engine/apps", "", &apps)
	require.Len(t, apps, 1)
	require.Equal(t, "running", apps[0].Lane.State)
	require.Equal(t, map[engine.Status]int{engine.StatusClean: 1}, apps[0].Counts)
	require.Equal(t, d.target.URL, apps[0].BaseURL)
	require.NotZero(t, apps[0].Lag.LastSuccess)

	one := "/principals/user/" + ann
	var p client.Principal
	d.get(one, &p)
	require.Equal(t, "ann@northwind.example", p.Name)
	require.Equal(t, p.State.Desired, p.State.Synced)
	var all []client.Principal
	d.get("/principals?kind=user&status=clean", &all)
	require.Len(t, all, 1)
	d.get("/principals?after=user:"+ann, &all)
	require.Empty(t, all)

	var proof client.Verification
	d.get(one+"/proof", &proof)
	require.True(t, proof.Converged, proof.Summary)
	require.Contains(t, proof.Summary, "read back equal")

	var x client.Explanation
	d.get(one+"/explanation", &x)
	require.Equal(t, []string{"The user is assigned to the application directly."}, x.Reasons)
	require.Contains(t, x.Values,
		engine.Value{Path: "name.givenName", Source: "the profile of the user", Rule: "user.firstName", Value: "Test"})
	require.NotEmpty(t, x.Exchanges)
	d.get("/principals/user/"+bob+"/explanation", &x)
	require.Equal(t, []string{"The user is not assigned to the application."}, x.Reasons)

	var trace client.Trace
	d.get(one+"/trace", &trace)
	require.True(t, trace.Rehearsed)
	require.Equal(t, engine.Done, trace.Outcome)
	for _, r := range trace.Requests {
		require.Equal(t, http.MethodGet, r.Method, "no change is pending")
	}
	d.post(one+"/provision", `{"forceSync":true}`, &trace)
	require.False(t, trace.Rehearsed)
	require.NotEmpty(t, trace.Requests)
	d.post(one+"/wait", "", &p)
	require.Equal(t, engine.StatusClean, p.State.Status)

	var events []client.Event
	d.get("/events", &events)
	require.Equal(t, engine.UserCreated, events[0].Type)
	require.Equal(t, "ann@northwind.example", events[0].Name)
	d.get(one+"/events", &events)
	require.NotEmpty(t, events)
	d.get(fmt.Sprintf("%s/events?after=%d", one, events[len(events)-1].Seq), &events)
	require.Empty(t, events)

	d.refused(http.MethodGet, "/principals/robot/x", "", http.StatusNotFound, "kind of principals")
	d.refused(http.MethodGet, "/principals/user/nobody", "", http.StatusNotFound, "nobody (User)")
	d.refused(http.MethodGet, "/principals?after=ann", "", http.StatusBadRequest, "kind:id")
	err := d.api.Do(t.Context(), http.MethodGet, "/sandbox/v1/engine/apps/nosuch", nil, nil)
	require.ErrorContains(t, err, "404 E0000007")

	_, err = find(t.Context(), d.ready.SCIMURL, d.ready.SCIMToken, "nobody")
	require.NoError(t, err)
	text := metricsOf(t, d.ready.BaseURL)
	require.Contains(t, text, fmt.Sprintf(`scim_engine_sequences_total{app=%q,operation="create",outcome="done"} 1`, d.app))
	require.Contains(t, text, "scim_requests_total")
}

func TestEngineAPI_RetriesAndDismissesTasks(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	working := d.target.handler.Load().(boxed)
	d.target.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no licence left"}`,
				http.StatusBadRequest)
			return
		}
		working.ServeHTTP(w, r)
	}))
	ann, bob := d.assign("ann@northwind.example"), d.assign("bob@northwind.example")
	d.settle()
	var tasks []struct{ ID, Name, Status, ErrorSummary string }
	d.get("/tasks", &tasks)
	require.Len(t, tasks, 2)
	require.Equal(t, "failed", tasks[0].Status)
	require.Contains(t, tasks[0].ErrorSummary, "no licence left")

	d.post("/tasks/"+bob+"/dismiss", "", nil)
	d.refused(http.MethodPost, "/tasks/"+bob+"/dismiss", "", http.StatusConflict, "no longer open")
	d.refused(http.MethodPost, "/tasks/nosuch/dismiss", "", http.StatusNotFound, "nosuch (Task)")
	d.target.set(working.Handler)
	var n struct{ Retried int }
	d.post("/tasks/retry", "", &n)
	require.Equal(t, 1, n.Retried)
	d.settle()
	d.get("/tasks", &tasks)
	require.Empty(t, tasks)
	var p client.Principal
	d.get("/principals/user/"+ann, &p)
	require.Equal(t, engine.StatusClean, p.State.Status)
	d.get("/principals/user/"+bob, &p)
	require.Equal(t, engine.StatusDismissed, p.State.Status)
}

func TestEngineAPI_AppliesPlan(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { planAndApply(t, sandbox.Options{}) })
	t.Run("PostgreSQL", func(t *testing.T) {
		planAndApply(t, sandbox.Options{DB: sqldbtest.PostgresURL(t), SecretKeyFile: filepath.Join(t.TempDir(), "secret.key")})
	})
}

func planAndApply(t *testing.T, o sandbox.Options) {
	t.Helper()
	d := drive(t, o)
	ann, bob := d.assign("ann@northwind.example"), d.assign("bob@northwind.example")
	d.settle()
	d.alter(ann, `{"title":"altered","name":{"givenName":"Anna","familyName":"Other"}}`)
	d.alter(bob, `{"name":{"givenName":"Bobby","familyName":"Other"}}`)

	var p engine.Plan
	d.post("/plans", `{"all":true,"reason":"names"}`, &p)
	require.Equal(t, 2, p.Items)
	require.Equal(t, map[engine.Operation]int{engine.OpUpdate: 2}, p.Operations)
	var items []client.PlanItem
	d.get("/plans/"+p.ID+"/items?operation=update&limit=1", &items)
	require.Len(t, items, 1)
	require.Contains(t, []string{"ann@northwind.example", "bob@northwind.example"}, items[0].Name)
	require.NotEmpty(t, items[0].Diff)
	require.NotEmpty(t, items[0].Requests)

	d.post("/plans/"+p.ID+"/apply", `{"first":1}`, &p)
	require.Equal(t, engine.PlanPartial, p.Status)
	d.settle()
	d.post("/plans/"+p.ID+"/apply", "", &p)
	d.settle()
	require.Equal(t, engine.PlanApplied, p.Status)
	d.refused(http.MethodPost, "/plans/"+p.ID+"/apply", "", http.StatusConflict, "already been applied")
	for _, id := range []string{ann, bob} {
		var proof client.Verification
		d.get("/principals/user/"+id+"/proof", &proof)
		require.True(t, proof.Converged, proof.Summary)
	}

	d.post("/plans", fmt.Sprintf(`{"userIds":[%q]}`, ann), &p)
	d.post("/principals/user/"+ann+"/provision", "", nil)
	d.refused(http.MethodPost, "/plans/"+p.ID+"/apply", "", http.StatusConflict, "has changed")
	var plans []engine.Plan
	d.get("/plans", &plans)
	require.Len(t, plans, 2)
	do(t, d.api, http.MethodDelete, d.of("/plans/"+p.ID), "", nil)
	d.refused(http.MethodGet, "/plans/"+p.ID, "", http.StatusNotFound, "(Plan)")
	d.refused(http.MethodPost, "/plans", `{}`, http.StatusBadRequest, "At least one of userIds, groupIds and all")
}

// alter changes the account of a user on the target.
func (d *driven) alter(user, attributes string) {
	d.t.Helper()
	var p client.Principal
	d.get("/principals/user/"+user, &p)
	body := fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","value":%s}]}`, attributes)
	d.scim(http.MethodPatch, "/Users/"+p.State.RemoteID, body, http.StatusOK)
}

func (d *driven) scim(method, path, body string, status int) []byte {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.target.URL+path, strings.NewReader(body))
	require.NoError(d.t, err)
	req.Header.Set("Authorization", "Bearer "+scimToken)
	req.Header.Set("Content-Type", "application/scim+json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(d.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, status, res.StatusCode, "%s", data)
	return data
}

func TestEngineAPI_RepairsDrift(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	ann := d.assign("ann@northwind.example")
	d.settle()
	d.alter(ann, `{"name":{"givenName":"Anna","familyName":"Other"}}`)
	d.scim(http.MethodPost, "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"unmanaged"}`, http.StatusCreated)

	var drift client.Drift
	d.post("/drift", "", &drift)
	require.Equal(t, map[engine.DriftKind]int{engine.DriftDiffers: 1, engine.DriftUnmanaged: 1}, drift.Found)
	require.Len(t, drift.Findings, 2)
	d.post("/drift", `{"repair":true,"limit":0}`, &drift)
	require.True(t, drift.More)
	require.Equal(t, 1, drift.Marked)
	d.settle()
	d.post("/drift", "", &drift)
	require.Zero(t, drift.Drifted)

	var done map[engine.Kind]client.Reconciled
	d.post("/reconcile", "", &done)
	require.Equal(t, 1, done[engine.User].Known)
	require.Zero(t, done[engine.User].Unlisted)
	require.Contains(t, done, engine.Group)

	d.target.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"detail":"out of order"}`, http.StatusNotImplemented)
	}))
	d.refused(http.MethodPost, "/drift", "", http.StatusBadRequest, "501")
	do(t, d.api, http.MethodPost, "/api/v1/apps/"+d.app+"/lifecycle/deactivate", "", nil)
	d.refused(http.MethodPost, "/drift", "", http.StatusConflict, "paused")
}

func TestEngineAPI_ImportsAccountsAndLinks(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	do(t, d.api, http.MethodPut, "/api/v1/apps/"+d.app+"/features/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"DISABLED"}}}`,
		nil)
	for _, name := range []string{"ann@northwind.example", "unmanaged"} {
		d.scim(http.MethodPost, "/Users", fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":%q}`, name),
			http.StatusCreated)
	}
	ann := d.assign("ann@northwind.example")
	d.settle()

	var job struct{ JobID string }
	d.post("/import", `{"type":"USERS"}`, &job)
	var run client.Import
	eventually(t, "the import ends", func() bool {
		d.get("/import/"+job.JobID, &run)
		return run.Status != "running"
	})
	require.Equal(t, engine.ImportDone, run.Status, run.Errors)
	require.Equal(t, 2, run.UsersImported)
	require.Equal(t, map[engine.Verdict]int{engine.VerdictMatched: 1, engine.VerdictUnmatched: 1}, run.Verdicts)
	var found []engine.RemoteObject
	d.get("/import/"+job.JobID+"/objects?verdict=matched", &found)
	require.Len(t, found, 1)
	require.Equal(t, ann, found[0].Principal)
	d.refused(http.MethodPost, "/import/"+job.JobID+"/confirm", `{"links":[{"kind":"group","id":"x","remoteId":"c"}]}`, http.StatusBadRequest,
		"users only")
	var n struct{ Linked int }
	d.post("/import/"+job.JobID+"/confirm", "", &n)
	require.Equal(t, 1, n.Linked)
	d.settle()

	var links []engine.Link
	d.get("/links", &links)
	require.Len(t, links, 1)
	require.Equal(t, found[0].RemoteID, links[0].RemoteID)
	require.Equal(t, engine.Imported, links[0].Origin)
	d.get("/links?after="+url.QueryEscape("user:"+ann), &links)
	require.Empty(t, links)
	d.refused(http.MethodPost, "/links", fmt.Sprintf(`{"links":[{"kind":"user","id":%q,"remoteId":"another"}]}`, ann), http.StatusBadRequest,
		"links: user "+ann)
	bob := newUser(t, d.api, "bob@northwind.example")
	d.post("/links", fmt.Sprintf(`{"links":[{"kind":"user","id":%q,"remoteId":"77"}]}`, bob), &n)
	require.Equal(t, 1, n.Linked)

	d.post("/import", `{"type":"GROUPS"}`, &job)
	eventually(t, "the import of groups ends", func() bool {
		d.get("/import/"+job.JobID, &run)
		return run.Status == "done"
	})
	require.Zero(t, run.GroupsImported)
	d.refused(http.MethodPost, "/import", `{"type":"PETS"}`, http.StatusBadRequest, "type")
	d.refused(http.MethodGet, "/import/x", "", http.StatusNotFound, "(Import)")
	d.refused(http.MethodGet, "/import/4711", "", http.StatusNotFound, "(Import)")
}

// TestEngineAPI_HaltsAndApproves checks that operations are halted and resumed, and that an administrator approves guarded removals.
func TestEngineAPI_HaltsAndApproves(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{Guard: 1})
	var ids []string
	for _, name := range []string{"ann", "bob", "cy"} {
		ids = append(ids, d.assign(name+"@northwind.example"))
	}
	d.settle()

	var halts []engine.Halt
	d.post("/halt", `{"operations":["deactivate"],"reason":"ticket 4711"}`, &halts)
	require.Equal(t, "ticket 4711", halts[0].Reason)
	do(t, d.api, http.MethodPost, "/sandbox/v1/engine/halt", `{"operations":["update"]}`, &halts)
	var app client.App
	do(t, d.api, http.MethodGet, "/sandbox/v1/engine/apps/"+d.app, "", &app)
	require.Len(t, app.Halts, 2)
	do(t, d.api, http.MethodPost, "/sandbox/v1/engine/resume", "", &halts)
	require.Len(t, halts, 1, "operations halted for the app remain halted")
	d.post("/resume", "", &halts)
	require.Empty(t, halts)
	d.refused(http.MethodPost, "/halt", `{"operations":["fly"]}`, http.StatusBadRequest, "operations")

	for _, id := range ids {
		do(t, d.api, http.MethodDelete, "/api/v1/apps/"+d.app+"/users/"+id, "", nil)
		d.settle()
	}
	d.held(2)
	d.refused(http.MethodPost, "/approve", `{"expected":3}`, http.StatusConflict, "has changed")
	d.post("/approve", `{"expected":2}`, nil)
	d.settle()
	d.held(0)
	d.post("/release", "", nil)
}

// held asserts the number of principals that require an approval.
func (d *driven) held(n int) {
	d.t.Helper()
	var app client.App
	do(d.t, d.api, http.MethodGet, "/sandbox/v1/engine/apps/"+d.app, "", &app)
	require.Equal(d.t, n, app.Lag.Held)
}

func TestEngineAPI_ProbesTarget(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	d.refused(http.MethodGet, "/profile", "", http.StatusNotFound, "(Profile)")
	var p, stored engine.Profile
	d.post("/probe", `{"domain":"example.org"}`, &p)
	require.NotEmpty(t, p.Results)
	d.get("/profile", &stored)
	require.Equal(t, p.Results, stored.Results)
	d.post("/unlearn", "", nil)
	d.refused(http.MethodGet, "/profile", "", http.StatusNotFound, "(Profile)")
	d.target.set(http.NotFoundHandler())
	do(t, d.api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Unconnected","settings":{"app":{}}}`, &struct{}{})
	var apps []client.App
	do(t, d.api, http.MethodGet, "/sandbox/v1/engine/apps", "", &apps)
	require.Equal(t, "Unconnected", apps[1].Label)
	require.Equal(t, "unknown-app", apps[1].Lane.State)
	d.app = apps[1].ID
	d.refused(http.MethodPost, "/probe", "", http.StatusBadRequest, "no provisioning connection")
	kim := newUser(t, d.api, "kim@northwind.example")
	d.refused(http.MethodGet, "/principals/user/"+kim+"/trace", "", http.StatusBadRequest, "no provisioning connection")
}

// Every operation of the control API rejects callers without credentials, with unknown credentials and without a role, before it searches
// for the app and reads the body.
func TestEngineAPI_NeedsAdministrator(t *testing.T) {
	d := drive(t, sandbox.Options{})
	var token struct{ Token string }
	powerless := newUser(t, d.api, "powerless@northwind.example")
	do(t, d.api, http.MethodPost, "/sandbox/v1/api-tokens", fmt.Sprintf(`{"name":"none","userId":%q}`, powerless), &token)
	operations := control.Operations("/sandbox/v1")
	require.NotEmpty(t, operations)
	for _, op := range operations {
		for authorization, want := range map[string]string{
			"": "403 E0000005", "SSWS nothing": "401 E0000011", "Bearer nothing": "401 E0000011", "SSWS " + token.Token: "403 E0000006",
		} {
			req, err := http.NewRequestWithContext(t.Context(), op.Method, d.ready.BaseURL+op.Path, strings.NewReader(`{"broken`))
			require.NoError(t, err)
			if authorization != "" {
				req.Header.Set("Authorization", authorization)
			}
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			var body struct{ ErrorCode string }
			require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
			require.NoError(t, res.Body.Close())
			require.Equal(t, want, fmt.Sprintf("%d %s", res.StatusCode, body.ErrorCode), "%s with %q", op.ID, authorization)
			require.NotEmpty(t, res.Header.Get("X-Svc-Request-Id"))
		}
	}
}
