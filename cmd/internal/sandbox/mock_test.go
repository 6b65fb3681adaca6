package sandbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/mockserver"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

const mockToken = "the-token-of-the-mock"

const joinerMoverLeaver = "joiner-mover-leaver"

// startMock starts a mock server with the scenario joiner-mover-leaver.
func startMock(t *testing.T, settings ...string) *mockserver.Server {
	t.Helper()
	return startMockWith(t, joinerMoverLeaver, clientgrade.Resilient, settings...)
}

func startMockWith(t *testing.T, name string, contract clientgrade.Contract, settings ...string) *mockserver.Server {
	t.Helper()
	scenario, ok := clientgrade.ScenarioNamed(name)
	require.True(t, ok)
	scenario.Contract = contract
	parsed, err := quirks.ParseAll(settings)
	require.NoError(t, err)
	server, err := mockserver.Start(t.Context(), mockserver.Options{Token: mockToken, Scenario: scenario, Quirks: parsed})
	require.NoError(t, err)
	t.Cleanup(func() { server.Close(context.Background()) })
	return server
}

// The engine completes the scenario against servers with various quirks and is graded clean.
func TestMock_GradesEngineClean(t *testing.T) {
	for name, settings := range map[string][]string{
		"no quirks":                        nil,
		"dropped connections":              {"drop-after,p=1,times=2,method=POST", "error=503,p=1,times=3,method=PATCH"},
		"lost responses":                   {"error-after=500,p=1,times=3,method=POST"},
		"a rate limit":                     {"rate-limit=1,p=1,times=1,method=POST"},
		"no PUT":                           {"no-put", "patch-204", "lower-case-resources"},
		"PATCH with paths, hidden members": {"patch-needs-path", "members-hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startMock(t, settings...)
			provisionInto(t, joinerMoverLeaver, engine.Target{BaseURL: server.URL()})
			result, err := server.Grade(t.Context())
			require.NoError(t, err)
			for _, c := range result.Checks {
				require.NotContains(t, []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error}, c.Outcome, "%s: %+v", c.Check.ID,
					c.Findings)
			}
			require.Equal(t, conformance.Clean, result.Verdict)
			require.Equal(t, conformance.Pass, outcomeOf(result, "cope.keeps-foreign-changes"))
			require.Equal(t, conformance.Pass, outcomeOf(result, "cope.deactivates"))
			if len(settings) > 0 && strings.Contains(settings[0], "after") {
				require.Equal(t, conformance.Pass, outcomeOf(result, "cope.looks-after-lost-answer"), "a response was lost")
			}
		})
	}
}

// The engine satisfies each contract if the target has the style and fallback of that contract, and violates it with other settings.
func TestMock_EngineKeepsContracts(t *testing.T) {
	styles := map[clientgrade.Contract]engine.Style{clientgrade.Catalog: engine.Catalog, clientgrade.Wizard: engine.Wizard}
	for _, scenario := range clientgrade.Scenarios() {
		for _, contract := range clientgrade.Contracts() {
			t.Run(scenario.Name+"/"+string(contract), func(t *testing.T) {
				t.Parallel()
				target := engine.Target{Style: styles[contract], Fallback: engine.FallbackNone}
				if contract == clientgrade.Resilient {
					target.Fallback = engine.FallbackLearn
				}
				server := startMockWith(t, scenario.Name, contract)
				target.BaseURL = server.URL()
				provisionInto(t, scenario.Name, target)
				result, err := server.Grade(t.Context())
				require.NoError(t, err)
				for _, c := range result.Checks {
					require.NotContains(t, []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error}, c.Outcome, "%s: %+v", c.Check.ID,
						c.Findings)
				}
				require.Equal(t, conformance.Clean, result.Verdict)
			})
		}
	}
	for name, c := range map[string]struct {
		scenario string
		contract clientgrade.Contract
		target   engine.Target
		fails    string
		quirks   []string
	}{
		"conflict resolved under the catalog contract": {"taken", clientgrade.Catalog, engine.Target{}, "contract.conflict-stops", nil},
		"PATCH under the wizard contract": {joinerMoverLeaver, clientgrade.Wizard, engine.Target{Fallback: engine.FallbackNone},
			"contract.requests", nil},
		"alternative request under the catalog contract": {joinerMoverLeaver, clientgrade.Catalog, engine.Target{}, "contract.no-other-form",
			[]string{"patch-needs-path"}},
		"conflict not resolved under the resilient contract": {"taken", clientgrade.Resilient, engine.Target{Fallback: engine.FallbackNone},
			"cope.links-on-conflict", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startMockWith(t, c.scenario, c.contract, c.quirks...)
			c.target.BaseURL = server.URL()
			provisionInto(t, c.scenario, c.target)
			result, err := server.Grade(t.Context())
			require.NoError(t, err)
			require.Contains(t, []conformance.Outcome{conformance.Fail, conformance.Warn}, outcomeOf(result, c.fails))
		})
	}
}

func outcomeOf(r *conformance.Result, id string) conformance.Outcome {
	for _, c := range r.Checks {
		if c.Check.ID == id {
			return c.Outcome
		}
	}
	return ""
}

// provisionInto runs the engine through a scenario, with the target's style and fallback.
func provisionInto(t *testing.T, scenario string, target engine.Target) {
	t.Helper()
	db, err := sql.Open("sqlite3",
		"file:"+url.PathEscape(filepath.Join(t.TempDir(), "idp.db"))+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	require.NoError(t, err)
	defer db.Close()
	store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.SQLite})
	require.NoError(t, err)
	directory := &enginetest.Directory{}
	target.Auth = engine.Auth{Scheme: engine.Bearer, Secret: mockToken}
	target.CreateUsers, target.UpdateUsers, target.DeactivateUsers, target.PushGroups = true, true, true, true
	directory.SetTarget("app", target)
	e, err := provision.New(provision.Options{Store: store, Directory: directory, RetryInitial: 20 * time.Millisecond, RetryMax: testRetryMax})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	defer func() { require.NoError(t, e.Stop(context.Background())) }()

	mark := func(marks ...engine.Mark) {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		for _, m := range marks {
			m.App = "app"
			require.NoError(t, e.Mark(t.Context(), tx, m))
		}
		require.NoError(t, tx.Commit())
		e.Wake("app")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, e.Wait(ctx, "app"))
	}
	user := func(id, given, family, job string, want engine.Want) engine.Mark {
		name := fmt.Sprintf("%s.%s@example.com", id, job)
		r := &scim.Resource{}
		r.Set("userName", name)
		r.Set("externalId", "u-"+id)
		r.Set("name", map[string]string{"givenName": given, "familyName": family})
		directory.SetUser("app", id, engine.UserState{Want: want, UserName: name, Resource: r})
		return engine.Mark{Kind: engine.User, ID: id}
	}
	group := func(id, name string, members ...string) engine.Mark {
		directory.SetGroup("app", id, engine.GroupState{Want: engine.Active, DisplayName: name})
		for _, u := range []string{"ada", "ben"} {
			directory.SetMember("app", id, u, strings.Contains(strings.Join(members, " "), u))
		}
		return engine.Mark{Kind: engine.Group, ID: id, Members: []string{"ada", "ben"}}
	}
	switch scenario {
	case "joiners":
		mark(user("ada", "Ada", "Joiner", "joiner", engine.Active), user("ben", "Ben", "Joiner", "joiner", engine.Active),
			user("cleo", "Cleo", "Joiner", "joiner", engine.Active))
		return
	case "returner":
		target.DeactivateUsers = false
		directory.SetTarget("app", target)
		mark(user("ada", "Ada", "Returner", "returner", engine.Active))
		mark(user("ada", "Ada", "Again", "returner", engine.Active))
		return
	case "taken":
		mark(user("ada", "Ada", "Taken", "taken", engine.Active))
		return
	}
	mark(user("ada", "Ada", "Joiner", "joiner", engine.Active), user("ben", "Ben", "Mover", "mover", engine.Active),
		user("cleo", "Cleo", "Leaver", "leaver", engine.Active), user("dora", "Dora", "Linked", "linked", engine.Active))
	mark(group("eng", "Mock Engineering", "ada", "ben"))
	mark(user("ben", "Ben", "Moved", "mover", engine.Active), group("eng", "Mock Engineering", "ada"), group("sales", "Mock Sales", "ben"))
	mark(user("cleo", "Cleo", "Leaver", "leaver", engine.Inactive))
}

// A naive client violates the contract in every way, and each violation is reported.
func TestMock_ReportsBadClient(t *testing.T) {
	server := startMock(t, "error-after=500,p=1,times=1,method=POST", "rate-limit=30,p=1,times=1,method=PUT")
	send := func(method, path, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+mockToken)
		req.Header.Set("Content-Type", scim.MediaType)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		var created struct{ ID string }
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&created) // an error response has no id
		return created.ID
	}
	person := func(name, more string) string {
		return fmt.Sprintf(`{"schemas":[%q],"userName":%q,"active":true%s}`, scim.UserSchema, name, more)
	}
	send("POST", "/Users", person("ada.joiner@example.com", ``)) // created, but the response is lost
	send("POST", "/Users", person("ada.joiner@example.com", ``)) // now a conflict
	ben := send("POST", "/Users", person("ben.mover@example.com", ``))
	cleo := send("POST", "/Users", person("cleo.leaver@example.com", ``))
	send("POST", "/Users", person("dora.linked@example.com", ``))
	crew := fmt.Sprintf(`{"schemas":[%q],"displayName":"Mock Sales","members":[{"value":%q}]}`, scim.GroupSchema, ben)
	send("POST", "/Groups", crew)
	send("POST", "/Groups", crew)
	moved := person("ben.mover@example.com", `,"name":{"familyName":"Moved"}`)
	send("PUT", "/Users/"+ben, moved) // the response has a Retry-After header
	send("PUT", "/Users/"+ben, moved)
	send("DELETE", "/Users/"+cleo, "")

	result, err := server.Grade(t.Context())
	require.NoError(t, err)
	require.Equal(t, conformance.Findings, result.Verdict)
	for id, want := range map[string]conformance.Outcome{
		"cope.users": conformance.Fail, "cope.groups": conformance.Fail, "cope.no-duplicates": conformance.Fail,
		"cope.keeps-foreign-changes": conformance.Warn,
		"cope.deactivates":           conformance.Warn, "cope.looks-after-lost-answer": conformance.Warn,
		"cope.links-on-conflict": conformance.Warn,
		"client.retry-after":     conformance.Warn, "client.creates-once": conformance.Warn, "client.lookup-before-create": conformance.Info,
	} {
		require.Equal(t, want, outcomeOf(result, id), id)
	}
}

func TestMock_ProfilesConsistOfQuirks(t *testing.T) {
	for _, p := range mockserver.Profiles() {
		settings, err := quirks.ParseAll(p.Quirks)
		require.NoError(t, err, p.Name)
		_, err = quirks.New(http.NotFoundHandler(), settings...)
		require.NoError(t, err, p.Name)
		require.NotEmpty(t, p.Title)
		found, ok := mockserver.ProfileNamed(p.Name)
		require.True(t, ok)
		require.Equal(t, p, found)
	}
}
