package slicetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
	"github.com/scimwright/scimwright/scim"
)

// engine is an import engine that returns the accounts that a test sets.
type engine struct {
	sandboxport.Work
	state    imports.Run
	accounts []imports.Account // ascending by id
	links    map[string]string // from the id of an account to the id of its user
	settings model.ImportSettings
	fail     error // the error of the next call of Link
	reads    int
	runs     int
	during   func() // Import calls it, unless it is nil
}

func (e *engine) TestConnection(context.Context, connections.Endpoint) error { return nil }

func (e *engine) Import(_ context.Context, _ string, _ bool, s model.ImportSettings) (string, error) {
	if e.during != nil {
		e.during()
	}
	e.settings = s
	e.runs++
	return fmt.Sprint("run", e.runs), nil
}

func (e *engine) State(context.Context, string, string) (imports.Run, error) { return e.state, nil }

func (e *engine) Accounts(_ context.Context, _, _ string, q imports.Query) (out []imports.Account, _ error) {
	e.reads++
	for _, a := range e.accounts {
		if user, linked := e.links[a.ID]; linked {
			a.Verdict, a.User = imports.Linked, user
		}
		if a.ID > q.After && (q.Verdict == "" || q.Verdict == a.Verdict) && (q.Only == nil || slices.Contains(q.Only, a.ID)) &&
			len(out) < q.Limit {
			out = append(out, a)
		}
	}
	return out, nil
}

func (e *engine) Link(_ context.Context, _ *docstore.Tx, _, _ string, links []imports.Link) error {
	if err := e.fail; err != nil {
		e.fail = nil
		return err
	}
	for _, l := range links {
		e.links[l.Account] = l.User
	}
	return nil
}

// account returns an account that is not linked. The verdict determines its owner or candidates.
func account(t *testing.T, id, name string, v imports.Verdict, users ...string) imports.Account {
	t.Helper()
	r, err := scim.DecodeResource(fmt.Appendf(nil, `{"userName":%q,"name":{"givenName":"Given","familyName":%q},"displayName":"Shown",
		"emails":[{"value":%q}],"locale":"en-US"}`, name, "F"+id, name))
	require.NoError(t, err)
	a := imports.Account{ID: id, Name: name, Active: true, Verdict: v, Candidates: users, Resource: r}
	if v == imports.Matched {
		a.User, a.Candidates = users[0], nil
	}
	return a
}

type importWorld struct {
	*apitest.Env
	t      *testing.T
	engine *engine
	app    string
}

func newWorld(t *testing.T, rules string, adjust ...func(*assembly.Options)) *importWorld {
	w := &importWorld{t: t, engine: &engine{state: imports.Run{State: imports.Done}, links: map[string]string{}}}
	adjust = append(adjust, func(o *assembly.Options) { o.Work, o.Imports, o.Connections = w.engine, w.engine, w.engine })
	w.Env = apitest.New(t, sqldbtest.SQLite(t), adjust...)
	w.Mount("/import", w.API.Authorize("svc.sandbox.manage", w.host()))
	w.app = w.Run(t,
		apitest.Step{Do: "POST /api/v1/apps", Body: `{"name":"scim2_test_app","label":"HR"}`, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/connections/default?activate=true",
			Body: `{"baseUrl":"https://scim.example.com","profile":{"token":"t"}}`},
		apitest.Step{Do: "PUT /api/v1/apps/{{app}}/features/INBOUND_PROVISIONING", Body: `{"importRules":{"userCreateAndMatch":` + rules + `}}`},
	)["app"]
	return w
}

// host returns a handler that serves imports as a program with the API and an engine does. It calls the methods of the API.
func (w *importWorld) host() http.Handler {
	type begin struct {
		App  string `path:"app"`
		Body struct {
			Type string `json:"type"`
		} `body:"required"`
	}
	type begun struct {
		JobID string `json:"jobId"`
	}
	type one struct {
		App string `path:"app"`
		Job string `path:"job"`
	}
	type confirm struct {
		one
		Body *struct {
			Links []struct {
				ID       string `json:"id"`
				RemoteID string `json:"remoteId"`
			} `json:"links"`
			Create []string `json:"create"`
		} `body:"optional"`
	}
	service, scopes := w.API.Importing(), []string{"any"}
	h, err := rest.NewHandler([]rest.Route{
		rest.Op[begin, begun]{ID: "begin", Route: "POST /sandbox/v1/apps/{app}/import", Tag: "t", Summary: "s", Scopes: scopes, Status: 202,
			Do: func(ctx context.Context, r *begin) (begun, error) {
				run, err := service.Begin(ctx, r.App, r.Body.Type == "GROUPS")
				return begun{run}, err
			}},
		rest.Op[one, map[string]any]{ID: "show", Route: "GET /sandbox/v1/apps/{app}/import/{job}", Tag: "t", Summary: "s", Scopes: scopes,
			Do: func(ctx context.Context, r *one) (map[string]any, error) {
				job, err := service.Job(ctx, r.App, r.Job)
				if err != nil || job == nil {
					return nil, cmp.Or(err, error(rest.NotFound("Import", r.Job)))
				}
				status := string(w.engine.state.State)
				if job.Open && status == string(imports.Done) {
					status = string(imports.Running)
				}
				return map[string]any{
					"status": status, "usersCreated": job.Created, "usersUpdated": job.Updated, "usersPending": job.Waiting,
					"usersInactive": job.Inactive, "usersFailed": job.Failed, "errors": append([]string{}, job.Errors...),
				}, nil
			}},
		rest.Op[confirm, map[string]any]{ID: "confirm", Route: "POST /sandbox/v1/apps/{app}/import/{job}/confirm", Tag: "t", Summary: "s",
			Scopes: scopes,
			Do: func(ctx context.Context, r *confirm) (map[string]any, error) {
				var c *imports.Confirmed
				if r.Body != nil && (r.Body.Links != nil || r.Body.Create != nil) {
					c = &imports.Confirmed{Create: r.Body.Create}
					for _, l := range r.Body.Links {
						c.Links = append(c.Links, imports.Link{User: l.ID, Account: l.RemoteID})
					}
				}
				linked, created, err := service.Confirm(ctx, r.App, r.Job, c)
				return map[string]any{"linked": linked, "created": created}, err
			}},
	}, rest.Options{Guard: allowAll{}, Limiter: allowAll{}})
	require.NoError(w.t, err)
	return h
}

// allowAll accepts every caller: API.Authorize has already checked the request.
type allowAll struct{}

func (allowAll) Authenticate(r *http.Request) (rest.Principal, error) {
	return rest.Caller(r.Context()), nil
}
func (allowAll) Authorize(context.Context, rest.Principal, rest.Info) error { return nil }
func (allowAll) Take(string, string) (none rest.Quota)                      { return none }

// person creates a user with the login name@example.com.
func (w *importWorld) person(name, last string) string {
	w.t.Helper()
	return w.Run(w.t, apitest.Step{Do: "POST /api/v1/users", Save: map[string]string{"id": "id"},
		Body: fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"Given","lastName":%[2]q}}`, name,
			last)})["id"]
}

func (w *importWorld) begin(kind string) string {
	w.t.Helper()
	return w.Run(w.t,
		apitest.Step{Do: "POST /sandbox/v1/apps/" + w.app + "/import", Body: `{"type":"` + kind + `"}`, Status: 202,
			Save: map[string]string{"job": "jobId"}})["job"]
}

// work completes the background work of imports.
func (w *importWorld) work() {
	w.t.Helper()
	for more, err := true, error(nil); more; {
		more, err = w.API.Import(w.t.Context())
		require.NoError(w.t, err)
	}
}

// imported runs an import and checks its result.
func (w *importWorld) imported(equal map[string]any) string {
	w.t.Helper()
	job := w.begin("USERS")
	w.work()
	w.Run(w.t, apitest.Step{Do: w.at(job), Equal: equal})
	return job
}

func (w *importWorld) at(job string) string {
	return "GET /sandbox/v1/apps/" + w.app + "/import/" + job
}

// user checks members of a user.
func (w *importWorld) user(id string, equal map[string]any) {
	w.t.Helper()
	w.Run(w.t, apitest.Step{Do: "GET /api/v1/users/" + id, Equal: equal})
}

const alone = `{"autoConfirmExactMatch":true,"autoConfirmPartialMatch":true,"autoConfirmNewUsers":true}`

func TestImport_BatchesResumeAfterFailure(t *testing.T) {
	w := newWorld(t, alone)
	for i := range 120 {
		w.engine.accounts = append(w.engine.accounts, account(t, fmt.Sprintf("r%03d", i), fmt.Sprintf("u%03d@example.com", i), imports.Unmatched))
	}
	w.engine.state.State = imports.Running
	job := w.begin("USERS")
	w.work()
	w.Run(t,
		apitest.Step{Name: "no user is created while the list is being read", Do: w.at(job),
			Equal: map[string]any{"status": "running", "usersCreated": 0}},
		apitest.Step{Name: "one import at a time", Do: "POST /sandbox/v1/apps/" + w.app + "/import", Body: `{"type":"USERS"}`, Status: 409,
			Code: string(rest.CodeMoved)},
		apitest.Step{Name: "a running import cannot be confirmed", Do: "POST /sandbox/v1/apps/" + w.app + "/import/" + job + "/confirm",
			Status: 409,
			Code:   string(rest.CodeMoved)},
	)
	w.engine.state.State = imports.Done
	more, err := w.API.Import(t.Context())
	require.NoError(t, err)
	require.True(t, more)
	w.Run(t, apitest.Step{Do: w.at(job), Equal: map[string]any{"status": "running", "usersCreated": 50}})
	w.engine.fail = errors.New("the database is gone")
	_, err = w.API.Import(t.Context())
	require.ErrorContains(t, err, "the database is gone")
	w.Run(t, apitest.Step{Name: "each batch is all or nothing", Do: w.at(job), Equal: map[string]any{"status": "running", "usersCreated": 50}})
	w.work()
	w.Run(t, apitest.Step{Do: w.at(job), Equal: map[string]any{"status": "done", "usersCreated": 120, "usersFailed": 0}})
	require.Len(t, w.engine.links, 120)
	require.LessOrEqual(t, w.engine.reads, 5, "one read per batch")
	w.user(w.engine.links["r119"], map[string]any{
		"status": "STAGED", "profile.login": "u119@example.com", "profile.lastName": "Fr119", "profile.displayName": "Shown",
		"profile.locale": "en_US",
	})
	w.Run(t, apitest.Step{Do: "GET /api/v1/apps/" + w.app + "/users/" + w.engine.links["r119"], Equal: map[string]any{
		"status": "ACTIVE", "syncState": "SYNCHRONIZED", "externalId": "r119", "credentials.userName": "u119@example.com",
		"profile.displayName": "Shown",
	}})
}

func TestImport_ContinuesAfterFailedAccount(t *testing.T) {
	w := newWorld(t, alone)
	w.person("taken", "Other")
	w.engine.accounts = []imports.Account{
		account(t, "a", "a@example.com", imports.Unmatched), account(t, "b", "no login", imports.Unmatched),
		account(t, "c", "Taken@example.com", imports.Unmatched), account(t, "d", "d@example.com", imports.Unmatched),
		account(t, "e", "e@example.com", imports.Matched, "00unobody"), account(t, "f", strings.Repeat("f", 5000), imports.Unmatched),
	}
	job := w.imported(map[string]any{
		"usersCreated": 2, "usersFailed": 4, "errors.#": 4,
		"errors.0": "account b (no login): login: The value must look like an e-mail address; email: The field cannot be left blank",
		"errors.2": "account e (e@example.com): The user 00unobody was deleted",
	})
	require.Len(t, w.engine.links, 2)
	w.work()
	w.Run(t,
		apitest.Step{Do: w.at(job), Equal: map[string]any{"usersFailed": 4, "errors.#": 4}, Then: func(t *testing.T, a *apitest.Answer) {
			require.LessOrEqual(t, len(a.JSON.(map[string]any)["errors"].([]any)[3].(string)), model.MaxImportError+len("…"))
		}},
		apitest.Step{Name: "each account is logged once",
			Do:    `GET /api/v1/logs?filter=eventType+eq+"application.provision.user.import"+and+outcome.result+eq+"FAILURE"`,
			Equal: map[string]any{"#": 4}},
	)
}

// TestImport_PushStatusAndSource checks that push status and attribute source determine which attributes an import changes.
func TestImport_PushStatusAndSource(t *testing.T) {
	w := newWorld(t, alone)
	ann := w.person("ann", "Walker")
	var mapping string
	w.Run(t,
		apitest.Step{Do: "GET /api/v1/mappings?sourceId=" + w.app, Then: func(_ *testing.T, a *apitest.Answer) {
			mapping = a.JSON.([]any)[0].(map[string]any)["id"].(string)
		}},
		apitest.Step{Do: "POST /api/v1/meta/schemas/user/default",
			Body: `{"definitions":{"custom":{"properties":{"badge":{"title":"Badge","type":"string","master":{"type":"SVC"}}}}}}`},
	)
	w.Run(t, apitest.Step{Do: "POST /api/v1/mappings/" + mapping, Body: `{"properties":{
		"lastName":{"expression":"appuser.familyName","pushStatus":"DONT_PUSH"},"badge":{"expression":"appuser.userName"},"login":null}}`})
	w.engine.accounts = []imports.Account{account(t, "a", "ann@example.com", imports.Matched, ann)}
	w.imported(map[string]any{"usersUpdated": 1, "usersFailed": 0})
	w.user(ann, map[string]any{"profile.lastName": "Walker", "profile.displayName": "Shown"})
	w.Run(t,
		apitest.Step{Name: "attributes whose source is the service remain", Do: "GET /api/v1/users/" + ann, Lacks: []string{"profile.badge"}})

	w.Run(t, apitest.Step{Do: "POST /api/v1/users/" + ann, Body: `{"profile":{"displayName":"Mine"}}`})
	w.imported(map[string]any{"usersUpdated": 0})
	w.user(ann, map[string]any{"profile.displayName": "Mine"})
	w.engine.accounts[0].Resource.Set("displayName", "Theirs")
	w.engine.accounts[0].Resource.Delete("locale")
	w.imported(map[string]any{"usersUpdated": 1})
	w.user(ann, map[string]any{"profile.displayName": "Theirs"})
	w.Run(t,
		apitest.Step{Name: "an attribute that the account no longer has returns to its default", Do: "GET /api/v1/users/" + ann,
			Equal: map[string]any{"profile.locale": "en_US"}})
}

func TestImport_KeepsAdministratorIdentity(t *testing.T) {
	w := newWorld(t, alone)
	ann, bob, cid := w.person("ann", "Walker"), w.person("bob", "Walker"), w.person("cid", "Walker")
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/users/" + ann + "/roles", Body: `{"type":"REPORT_ADMIN"}`, Status: http.StatusCreated},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/" + cid, Status: http.StatusNoContent},
		apitest.Step{Do: "POST /api/v1/groups/{{g}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: http.StatusCreated},
	)
	w.engine.accounts = []imports.Account{
		account(t, "a", "evil-a@example.com", imports.Matched, ann), account(t, "b", "new-b@example.com", imports.Matched, bob),
		account(t, "c", "evil-c@example.com", imports.Matched, cid),
	}
	w.imported(map[string]any{"usersUpdated": 3, "usersFailed": 0, "errors.#": 2,
		"errors.0": "account a (evil-a@example.com): The user " + ann + " has a role; an import does not change login, email"})
	w.user(ann, map[string]any{"profile.login": "ann@example.com", "profile.email": "ann@example.com", "profile.displayName": "Shown"})
	w.user(bob, map[string]any{"profile.login": "new-b@example.com", "profile.email": "new-b@example.com"})
	w.user(cid, map[string]any{"profile.login": "cid@example.com", "profile.email": "cid@example.com"})
	require.Equal(t, map[string]string{"a": ann, "b": bob, "c": cid}, w.engine.links, "the accounts are linked anyway")
}

// TestImport_HookCannotEscalatePrivileges checks that an import hook can neither change the identity of an administrator nor assign a role.
func TestImport_HookCannotEscalatePrivileges(t *testing.T) {
	endpoint := hookstest.New(t)
	w := newWorld(t, alone, func(o *assembly.Options) { o.Hooks = calls.Network{CA: endpoint.CA} })
	ann, bob := w.person("ann", "Walker"), w.person("bob", "Walker")
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/users/" + ann + "/roles", Body: `{"type":"HELP_DESK_ADMIN"}`, Status: http.StatusCreated},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Admins"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "POST /api/v1/groups/{{g}}/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: http.StatusCreated},
		apitest.Step{Do: "POST /api/v1/inlineHooks",
			Body: fmt.Sprintf(`{"name":"h","type":"com.svc.import.transform","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0",`+
				`"config":{"uri":%q,"method":"POST"}}}`, endpoint.URL)},
	)
	administrators := "GET /api/v1/iam/assignees/users"
	before := w.Do(t, administrators, "", nil).Body
	evil := func(commands string) {
		endpoint.Answer(hookstest.JSON(200, `{"commands":[`+commands+`]}`))
	}
	profile := func(more string) string {
		return `{"type":"com.svc.user.profile.update","value":{"login":"evil@example.com","email":"evil@example.com",` +
			`"secondEmail":"evil2@example.com","mobilePhone":"+15551234567","displayName":"Theirs"` + more + `}}`
	}
	link := func(user string) string {
		return `{"type":"com.svc.action.update","value":{"result":"LINK_USER"}},{"type":"com.svc.user.update","value":{"id":"` + user + `"}}`
	}
	// The hook links an account that matches no user to the administrator ann, and sets a profile with another identity.
	w.engine.accounts = []imports.Account{account(t, "a", "new-a@example.com", imports.Unmatched)}
	evil(link(ann) + "," + profile(""))
	w.imported(
		map[string]any{"usersUpdated": 1, "errors.#": 1,
			"errors.0": "account a (new-a@example.com): The user " + ann +
				" has a role; an import does not change login, email, secondEmail, mobilePhone"})
	w.user(ann,
		map[string]any{"profile.login": "ann@example.com", "profile.email": "ann@example.com", "profile.secondEmail": nil,
			"profile.mobilePhone": nil, "profile.displayName": "Theirs"})
	endpoint.Called(1)

	// Commands with roles or groups have no effect: the API treats these members as attributes, which the schema does not define.
	w.engine.accounts = []imports.Account{account(t, "b", "new-b@example.com", imports.Unmatched)}
	for name, commands := range map[string]string{
		"a role in the profile": link(bob) + "," + profile(`,"roles":[{"type":"SUPER_ADMIN"}],"groupIds":["x"]`),
		"a custom command":      `{"type":"com.svc.user.roles.update","value":{"type":"SUPER_ADMIN"}},` + link(bob),
		"a user with a role": `{"type":"com.svc.action.update","value":{"result":"LINK_USER"}},{"type":"com.svc.user.update",` +
			`"value":{"id":"` + bob + `","roles":["SUPER_ADMIN"],"groupIds":["x"]}}`,
		"a new user with a group": `{"type":"com.svc.action.update","value":{"result":"CREATE_USER"}},{"type":"com.svc.user.update",` +
			`"value":{"id":"` + bob + `","groupIds":["x"]}}`,
	} {
		evil(commands)
		w.begin("USERS")
		w.work()
		require.Equal(t, string(before), string(w.Do(t, administrators, "", nil).Body), name)
	}
	w.Run(t,
		apitest.Step{Do: "GET /api/v1/users/" + bob + "/roles", Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "GET /api/v1/users/" + ann + "/roles", Equal: map[string]any{"#": 1, "0.type": "HELP_DESK_ADMIN"}},
	)
}

// TestImport_UncertainAccountsPending checks that new accounts and ambiguous matches wait for a confirmation.
func TestImport_UncertainAccountsPending(t *testing.T) {
	w := newWorld(t, `{"autoConfirmNewUsers":false,"autoConfirmPartialMatch":true}`)
	ann, bob := w.person("ann", "Fb"), w.person("bob", "Fb")
	inactive := account(t, "e", "e@example.com", imports.Unmatched)
	inactive.Active = false
	w.engine.accounts = []imports.Account{
		account(t, "a", "a@example.com", imports.Unmatched), account(t, "b", "b@example.com", imports.Partial, ann),
		account(t, "c", "c@example.com", imports.Partial, ann, bob), account(t, "d", "d@example.com", imports.Ambiguous, bob), inactive,
	}
	job := w.imported(map[string]any{"usersPending": 3, "usersInactive": 1, "usersCreated": 0, "usersFailed": 0})
	require.Equal(t, map[string]string{"b": ann}, w.engine.links)
	confirm := "POST /sandbox/v1/apps/" + w.app + "/import/" + job + "/confirm"
	link := func(user, account string) string {
		return `{"links":[{"kind":"user","id":"` + user + `","remoteId":"` + account + `"}]}`
	}
	w.Run(t,
		apitest.Step{Do: confirm, Body: link("00unobody", "c"), Status: 404, Code: "E0000007"},
		apitest.Step{Do: confirm, Body: link(bob, "unknown"), Status: 409, Code: string(rest.CodeMoved)},
		apitest.Step{Do: confirm, Body: `{"links":true}`, Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /sandbox/v1/apps/" + w.app + "/import/other/confirm", Status: 404, Code: "E0000007"},
		apitest.Step{Do: confirm, Body: link(bob, "d"), Equal: map[string]any{"linked": 1, "created": 0}},
		apitest.Step{Do: confirm, Body: `{"create":["a"]}`, Equal: map[string]any{"linked": 0, "created": 1}},
		apitest.Step{Do: confirm, Equal: map[string]any{"linked": 0, "created": 0}},
		apitest.Step{Do: w.at(job), Equal: map[string]any{"usersPending": 1, "usersCreated": 1}},
		apitest.Step{Do: w.at("x"), Status: 404, Code: "E0000007"},
	)
	require.Equal(t, bob, w.engine.links["d"])
}

func TestImport_StopsOnDeactivatedConnection(t *testing.T) {
	w := newWorld(t, alone)
	for i := range 60 {
		w.engine.accounts = append(w.engine.accounts, account(t, fmt.Sprintf("r%03d", i), fmt.Sprintf("u%03d@example.com", i), imports.Unmatched))
	}
	job := w.begin("USERS")
	more, err := w.API.Import(t.Context())
	require.NoError(t, err)
	require.True(t, more)
	connection := "POST /api/v1/apps/" + w.app + "/connections/default/lifecycle/"
	w.Run(t,
		apitest.Step{Do: connection + "deactivate", Status: http.StatusNoContent},
		apitest.Step{Name: "no import is started", Do: "POST /sandbox/v1/apps/" + w.app + "/import", Body: `{"type":"USERS"}`, Status: 400,
			Code: "E0000001"},
		apitest.Step{Do: connection + "activate", Status: http.StatusNoContent},
	)
	w.work()
	w.Run(t, apitest.Step{Do: w.at(job), Equal: map[string]any{"status": "done", "usersCreated": 50, "errors.#": 1,
		"errors.0": "The connection was deactivated before all accounts were processed"}})
	w.imported(map[string]any{"usersCreated": 10})
}

func TestImport_StartsBySchedule(t *testing.T) {
	w := newWorld(t, alone)
	const hour = time.Hour
	w.Run(t, apitest.Step{Do: "PUT /api/v1/apps/" + w.app + "/features/INBOUND_PROVISIONING",
		Body: `{"importSettings":{"schedule":{"status":"ENABLED","fullImport":{"expression":"0 * * * *"}}}}`})
	again, err := assembly.New(
		assembly.Options{Store: w.Store, Model: w.Model, Work: w.engine, Imports: w.engine, Connections: w.engine, Now: w.Clock.Now})
	require.NoError(t, err)
	both := func(what string, runs int) {
		t.Helper()
		w.work()
		_, err := again.Import(t.Context()) // a second process, or this process after a restart
		require.NoError(t, err)
		require.Equal(t, runs, w.engine.runs, what)
	}
	switched := func(path string) { w.Run(t, apitest.Step{Do: "POST /api/v1/apps/" + w.app + path}) }
	both("no scheduled time has passed", 0)
	w.engine.accounts = []imports.Account{account(t, "a", "a@example.com", imports.Unmatched)}
	w.Clock.Advance(hour)
	w.engine.during = func() {
		_, err := again.Import(t.Context())
		require.NoError(t, err)
	}
	both("one import per scheduled time, with two concurrent workers", 1)
	w.engine.during = nil
	require.Len(t, w.engine.links, 1, "users are created")
	w.Clock.Advance(72 * hour)
	both("missed times cause a single import", 2)
	both("", 2)

	w.Clock.Advance(hour)
	w.engine.state.State = imports.Running
	w.begin("USERS")
	both("only one import at a time", 3)
	w.engine.state.State = imports.Done
	both("the other import has ended", 3)
	w.Clock.Advance(hour / 60)
	both("the scheduled import runs after the other one", 4)

	switched("/lifecycle/deactivate")
	w.Clock.Advance(hour)
	both("the application is not active", 4)
	switched("/lifecycle/activate")
	both("a time that passed in the meantime is skipped", 4)
	w.Clock.Advance(hour)
	both("the next time is used", 5)
	w.Run(t, apitest.Step{Do: "POST /api/v1/apps/" + w.app + "/connections/default/lifecycle/deactivate", Status: http.StatusNoContent})
	w.Clock.Advance(hour)
	both("the connection is inactive", 5)

	switched("/lifecycle/deactivate")
	w.Run(t, apitest.Step{Do: "DELETE /api/v1/apps/" + w.app, Status: http.StatusNoContent})
	n, err := w.Model.DueImports.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestImport_FailedListCreatesNothing(t *testing.T) {
	w := newWorld(t, alone)
	w.engine.accounts = []imports.Account{account(t, "a", "a@example.com", imports.Unmatched)}
	w.engine.state = imports.Run{State: imports.Failed, Error: "the list is inconsistent"}
	w.imported(map[string]any{"status": "failed", "usersCreated": 0})
	w.engine.state = imports.Run{State: imports.Done}
	w.begin("GROUPS")
	w.work()
	require.Empty(t, w.engine.links)
	for _, event := range []string{"application.provision.user.import", "application.provision.group.import"} {
		w.Run(t, apitest.Step{Do: `GET /api/v1/logs?filter=eventType+eq+"` + event + `"`, Equal: map[string]any{"0.transaction.type": "JOB"}})
	}
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/apps/" + w.app + "/lifecycle/deactivate"},
		apitest.Step{Do: "DELETE /api/v1/apps/" + w.app, Status: http.StatusNoContent},
	)
	jobs, err := w.Model.ImportJobs.Count(t.Context(), w.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, jobs)
}
