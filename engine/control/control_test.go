package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

const secret = "target-secret-4711"

// host is an embedder: a program with an engine and the API, and only the required options.
type host struct {
	*client.Client
	t         *testing.T
	directory *enginetest.Directory
	target    *enginetest.Target
	options   control.Options
	store     store.Store
	url       string
}

func serve(t *testing.T, adjust ...func(*control.Options)) *host {
	t.Helper()
	h := &host{t: t, directory: &enginetest.Directory{}, target: enginetest.NewTarget()}
	server := httptest.NewServer(h.target)
	t.Cleanup(server.Close)
	database, feed := sqldbtest.SQLite(t), &control.Feed{}
	store, err := sqlstore.Open(t.Context(), database.Writer(), sqlstore.Options{Dialect: sqlstore.SQLite, Recorded: feed.Wake})
	require.NoError(t, err)
	h.store = store
	h.directory.SetTarget("crm", engine.Target{
		BaseURL: server.URL, Auth: engine.Auth{Scheme: engine.Bearer, Secret: secret},
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true,
	})
	e, err := provision.New(provision.Options{Store: store, Directory: h.directory})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.Stop(context.WithoutCancel(t.Context()))) })
	h.options = control.Options{
		Engine: e, Directory: h.directory, Update: control.InTx(database.Writer()),
		Authorize: func(next http.Handler) http.Handler { return next },
		Feed:      feed,
	}
	for _, f := range adjust {
		f(&h.options)
	}
	api, err := control.New(h.options)
	require.NoError(t, err)
	served := httptest.NewServer(api)
	t.Cleanup(served.Close)
	h.url = served.URL + control.DefaultPrefix
	h.Client = client.New(h.url, "")
	return h
}

// user assigns a user and waits for the account.
func (h *host) user(id, name string) engine.Principal {
	h.t.Helper()
	r := &scim.Resource{}
	r.Set("userName", name)
	r.Set("externalId", id)
	h.directory.SetUser("crm", id, engine.UserState{Want: engine.Active, UserName: name, Resource: r})
	require.NoError(h.t, h.options.Update(h.t.Context(), func(tx engine.Execer) error {
		return h.options.Engine.Mark(h.t.Context(), tx, engine.Mark{App: "crm", Kind: engine.User, ID: id})
	}))
	h.options.Engine.Wake("crm")
	_, err := h.Wait(h.t.Context(), "crm", client.WaitOptions{})
	require.NoError(h.t, err)
	return engine.Principal{Kind: engine.User, ID: id}
}

func TestNew_Required(t *testing.T) {
	h := serve(t)
	for name, remove := range map[string]func(*control.Options){
		"Engine":    func(o *control.Options) { o.Engine = nil },
		"Directory": func(o *control.Options) { o.Directory = nil },
		"Update":    func(o *control.Options) { o.Update = nil },
		"Authorize": func(o *control.Options) { o.Authorize = nil },
	} {
		o := h.options
		remove(&o)
		_, err := control.New(o)
		require.ErrorContains(t, err, "Options."+name+" is required")
	}
}

func TestAuthorize_BeforeEverything(t *testing.T) {
	h := serve(t, func(o *control.Options) {
		o.Authorize = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		}
	})
	for _, op := range control.Operations("") {
		address := strings.TrimSuffix(h.url, control.DefaultPrefix) + op.Path
		req, err := http.NewRequestWithContext(t.Context(), op.Method, address, strings.NewReader("{"))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusForbidden, res.StatusCode, op.ID)
	}
	require.Zero(t, len(h.target.Requests()))
}

func TestHandler_HostWithoutPorts(t *testing.T) {
	h := serve(t)
	ann := h.user("u-1", "ann@example.com")
	apps, err := h.Apps(t.Context())
	require.NoError(t, err)
	require.Len(t, apps, 1)
	require.Equal(t, "crm", apps[0].Label)
	require.Equal(t, map[engine.Status]int{engine.StatusClean: 1}, apps[0].Counts)
	require.Equal(t, engine.FallbackLearn, apps[0].Fallback)
	_, err = h.App(t.Context(), "nosuch")
	require.True(t, client.IsNotFound(err), err)

	all, err := h.Principals(t.Context(), "crm", client.PrincipalOptions{Kind: engine.User})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "ann@example.com", all[0].Name, "the name on the target")
	next, err := h.Principals(t.Context(), "crm", client.PrincipalOptions{After: ann})
	require.NoError(t, err)
	require.Empty(t, next)

	trace, err := h.Provision(t.Context(), "crm", ann, client.ProvisionOptions{ProvisionOptions: engine.ProvisionOptions{ForceSync: true}})
	require.NoError(t, err)
	require.True(t, trace.Assigned)
	require.Equal(t, "ann@example.com", trace.Desired.Text("userName"))
	x, err := h.Explain(t.Context(), "crm", ann)
	require.NoError(t, err)
	require.NotEmpty(t, x.Exchanges)
	events, err := h.PrincipalEvents(t.Context(), "crm", ann, client.EventOptions{})
	require.NoError(t, err)
	require.Equal(t, engine.UserCreated, events[0].Type)
	require.NotEmpty(t, events[0].RemoteID)
	_, err = h.DryRun(t.Context(), "crm", engine.Principal{Kind: engine.User, ID: "nobody"})
	require.True(t, client.IsNotFound(err), err)
}

func TestHandler_PlansAndLinksInTransactions(t *testing.T) {
	h := serve(t)
	ann := h.user("u-1", "ann@example.com")
	plan, err := h.CreatePlan(t.Context(), "crm", client.NewPlan{Users: []string{ann.ID}, Reason: "test"})
	require.NoError(t, err)
	items, err := h.PlanItems(t.Context(), "crm", plan.ID, client.ItemOptions{})
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, ann.ID, items[0].ID)
	plan, err = h.ApplyPlan(t.Context(), "crm", plan.ID, 0)
	require.NoError(t, err)
	require.Equal(t, engine.PlanApplied, plan.Status)
	links, err := h.Links(t.Context(), "crm", engine.Link{}, 0)
	require.NoError(t, err)
	require.Len(t, links, 1)
	links[0].RemoteID = "other"
	_, err = h.ImportLinks(t.Context(), "crm", links)
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, err)
	require.Equal(t, http.StatusBadRequest, e.Status)
	require.Len(t, e.Causes, 1)
	kept, err := h.Links(t.Context(), "crm", engine.Link{}, 0)
	require.NoError(t, err)
	require.NotEqual(t, "other", kept[0].RemoteID)
}

// TestHandler_TestReportsCause checks that a connection test returns the error of the target, hides the secret and changes nothing.
func TestHandler_TestReportsCause(t *testing.T) {
	h := serve(t)
	h.user("u-1", "ann@example.com")
	h.target.Requests() // discard the requests that created the user
	require.NoError(t, h.Test(t.Context(), "crm"))
	sent := h.target.Requests()
	require.Len(t, sent, 1)
	require.Contains(t, sent[0], "GET /Users", "the test sends only a GET")
	h.target.Inject(enginetest.Fault{Status: http.StatusUnauthorized})
	err := h.Test(t.Context(), "crm")
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, err)
	require.Equal(t, "E0000059", e.Code)
	require.Contains(t, e.Summary, "401")
	require.NotContains(t, err.Error(), secret)
	app, err := h.App(t.Context(), "crm")
	require.NoError(t, err)
	require.Equal(t, client.LaneRunning, app.Lane.State, "a test is not a sequence")
	require.True(t, client.IsNotFound(h.Test(t.Context(), "nosuch")))
}

// TestHandler_ImportsWithoutPort checks that an embedder without Options.Imports links accounts and creates no users.
func TestHandler_ImportsWithoutPort(t *testing.T) {
	h := serve(t)
	h.target.Add("Users", named("ann@example.com", "u-1"))
	h.target.Add("Users", named("unmanaged", ""))
	h.directory.SetUser("crm", "u-1", engine.UserState{
		Want: engine.Active, UserName: "ann@example.com", Resource: named("ann@example.com", "u-1"),
	})
	id, err := h.StartImport(t.Context(), "crm", engine.User)
	require.NoError(t, err)
	var run client.Import
	require.Eventually(t, func() bool {
		run, err = h.Import(t.Context(), "crm", id)
		return err == nil && run.Status != engine.ImportRunning
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, engine.ImportDone, run.Status, run.Errors)
	require.Equal(t, 2, run.UsersImported)
	matched, err := h.ImportedObjects(t.Context(), "crm", id, client.ObjectOptions{Verdict: engine.VerdictMatched})
	require.NoError(t, err)
	require.Len(t, matched, 1)
	require.Equal(t, "u-1", matched[0].Principal)
	done, err := h.ConfirmImport(t.Context(), "crm", id, nil)
	require.NoError(t, err)
	require.Equal(t, client.Confirmed{Linked: 1}, done)
	links, err := h.Links(t.Context(), "crm", engine.Link{}, 0)
	require.NoError(t, err)
	require.Equal(t, matched[0].RemoteID, links[0].RemoteID)
	_, err = h.Import(t.Context(), "crm", "4711")
	require.True(t, client.IsNotFound(err), err)
}

// TestHandler_ImportsWithoutMatcher checks the error response if the directory does not match accounts.
func TestHandler_ImportsWithoutMatcher(t *testing.T) {
	h := serve(t)
	e, err := provision.New(provision.Options{Store: h.store, Directory: struct{ engine.Directory }{h.directory}})
	require.NoError(t, err)
	o := h.options
	o.Engine = e
	api, err := control.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(api)
	defer server.Close()
	_, err = client.New(server.URL+control.DefaultPrefix, "").StartImport(t.Context(), "crm", engine.User)
	rejection, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, err)
	require.Equal(t, http.StatusBadRequest, rejection.Status)
	require.Contains(t, rejection.Summary, "engine.Matcher")
}

// named returns a user of a target.
func named(userName, externalID string) *scim.Resource {
	r := &scim.Resource{}
	r.Set("userName", userName)
	if externalID != "" {
		r.Set("externalId", externalID)
	}
	return r
}

// TestHandler_ShowsNoSecret uses a target that echoes the credentials. No response of the API contains them.
func TestHandler_ShowsNoSecret(t *testing.T) {
	h := serve(t)
	ann := h.user("u-1", "ann@example.com")
	for _, op := range control.Operations("") {
		if op.Method != http.MethodGet {
			continue
		}
		if op.ID == "streamLifecycleEvents" { // its response does not end
			s, _ := h.open("", "")
			_, _, data, _ := s.next()
			require.NotContains(t, data, secret)
			continue
		}
		path := strings.TrimPrefix(op.Path, control.DefaultPrefix)
		path = strings.NewReplacer("{app}", "crm", "{kind}", "user", "{principal}", ann.ID).Replace(path)
		var raw json.RawMessage
		if err := h.Do(t.Context(), op.Method, path, nil, &raw); err == nil {
			require.NotContains(t, string(raw), secret, op.ID)
		}
	}
}

func TestOpenAPI_NamesPrefixAndScope(t *testing.T) {
	text, err := control.OpenAPI(control.Options{Prefix: "/ops/", Scope: "ops.write"})
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	require.Equal(t, len(control.Operations("")), strings.Count(string(text), `"operationId"`))
	require.Equal(t, strings.Count(string(text), `"operationId"`), strings.Count(string(text), `"ops.write"`))
	require.NotNil(t, doc.Paths.Find("/ops/engine/apps"))
	require.NotContains(t, string(text), "sandbox")
}
