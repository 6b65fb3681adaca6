package authn_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// hooked returns the body of a user whose password is in another system.
func hooked(login string) string {
	return fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"x@example.com","firstName":"X","lastName":"Y"},`+
		`"credentials":{"password":{"hook":{"type":"default"}}}}`, login)
}

// passwordHook registers a hook for password imports.
func passwordHook(name, uri string) apitest.Step {
	return apitest.Step{Name: "register " + name, Do: "POST /api/v1/inlineHooks", Save: map[string]string{name: "id"}, Body: fmt.Sprintf(
		`{"name":%q,"type":"com.svc.user.credential.password.import","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0",`+
			`"config":{"uri":%q,"authScheme":{"type":"HEADER","key":"X-Key","value":"the-key"}}}}`, name, uri)}
}

// world returns an API that trusts the endpoint of a hook.
func world(t *testing.T, db *sqldb.DB) (*apitest.Env, *hookstest.Endpoint) {
	t.Helper()
	endpoint := hookstest.New(t)
	e := apitest.New(t, db, func(o *assembly.Options) { o.Hooks = calls.Network{CA: endpoint.CA} })
	t.Cleanup(e.API.CloseIdleConnections)
	return e, endpoint
}

// verify is a hook that confirms the password first and rejects all others.
func verify(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct {
		Data struct {
			Context struct {
				Credential struct{ Username, Password string }
			}
		}
	}
	answer := "UNVERIFIED"
	if err == nil && json.Unmarshal(body, &event) == nil && event.Data.Context.Credential.Password == first {
		answer = "VERIFIED"
	}
	hookstest.JSON(200,
		`{"commands":[{"type":"com.svc.action.update","value":{"credential":"`+answer+`"}}],"debugContext":{"saw":"`+
			event.Data.Context.Credential.Password+`"}}`)(w, r)
}

// Proves B-credentials-08, B-credentials-09, B-users-17.
func TestPasswordHook_ImportsVerifiedPassword(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e, endpoint := world(t, db)
		endpoint.Answer(verify)
		saved := e.Run(t,
			apitest.Step{Do: create, Body: hooked("hooked"), Equal: map[string]any{"status": "ACTIVE", "credentials.provider.type": "IMPORT"},
				Has: []string{"credentials.password"}, Lacks: []string{"credentials.password.hook"}, Save: map[string]string{"u": "id"}},
			refused(signIn("sign-in fails without a hook", "hooked", first), 401, "E0000004"),
			passwordHook("one", endpoint.URL),
			refused(signIn("another password is rejected", "hooked", second), 401, "E0000004"),
			signIn("the right one signs in", "hooked", first),
			apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"credentials.provider.type": "SVC", "status": "ACTIVE"}},
		)
		var event map[string]any
		calls := endpoint.Called(2)
		require.NoError(t, json.Unmarshal([]byte(calls[1].Body), &event))
		require.Equal(t, "the-key", calls[1].Header.Get("X-Key"))
		data := event["data"].(map[string]any)
		request := data["context"].(map[string]any)["request"].(map[string]any)
		require.Equal(t, "com.svc.user.credential.password.import", event["eventType"])
		require.Equal(t, "1.0", event["eventTypeVersion"])
		require.Equal(t, "0.1", event["cloudEventVersion"])
		require.Equal(t, "application/json", event["contentType"])
		require.Equal(t, "2026-03-04T05:06:07.890Z", event["eventTime"])
		require.Equal(t, e.Server.URL+"/api/v1/inlineHooks/"+saved["one"], event["source"])
		require.NotEmpty(t, event["eventId"])
		require.Equal(t, map[string]any{"username": "hooked@example.com", "password": first}, data["context"].(map[string]any)["credential"])
		require.Equal(t, map[string]any{"credential": "UNVERIFIED"}, data["action"])
		require.Equal(t, map[string]any{"value": e.Server.URL + "/api/v1/authn"}, request["url"])
		require.NotEmpty(t, request["id"])

		e.Run(t,
			signIn("the hook is no longer called", "hooked", first),
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.import.password%22", Equal: map[string]any{"#": 1}},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22inline_hook.executed%22",
				Equal: map[string]any{"#": 2, "0.outcome.result": "SUCCESS", "0.target.0.type": "InlineHook", "0.target.1.type": "User"}},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22inline_hook.response.processed%22", Equal: map[string]any{
				"#": 2, "0.outcome.result": "SUCCESS", "0.debugContext.debugData.commands": "1",
				"0.debugContext.debugData.debugContext": `{"saw":"[redacted]"}`}},
		)
		endpoint.Called(2)
		executed := e.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22inline_hook.executed%22", "", nil)
		require.Contains(t, executed.Value("0.debugContext.debugData.envelope"),
			`"credential":{"password":"[redacted]","username":"hooked@example.com"}`)
		require.Contains(t, executed.Value("0.debugContext.debugData.answer"), `{"commands":[`)
		logs := e.Do(t, "GET /api/v1/logs?limit=1000", "", nil)
		for _, secret := range []string{first, second, "the-key"} {
			require.NotContains(t, string(logs.Body), secret)
			require.NotContains(t, e.Log.String(), secret)
		}
	})
}

// TestPasswordHook_EchoNotLogged verifies that the log redacts a password that the hook endpoint returns.
func TestPasswordHook_EchoNotLogged(t *testing.T) {
	e, endpoint := world(t, sqldbtest.SQLite(t))
	e.Run(t, apitest.Step{Do: create, Body: hooked("h")}, passwordHook("hook", endpoint.URL))
	const odd = `quo"ted & <all>`
	for name, answer := range map[string]string{
		"in JSON":            `{"debugContext":{"saw":"quo\"ted & <all>"}}`,
		"in JSON, otherwise": `{"debugContext":{"saw":"\u0071uo\u0022ted \u0026 \u003call>"}}`,
		"in invalid JSON":    `you sent quo"ted & <all>`,
		"in a form":          `password=quo%22ted+%26+%3Call%3E`,
		"in the denial":      `{"error":{"errorSummary":"not quo\"ted & <all>"}}`,
		"in half of JSON":    `[{"password":"quo\"ted & <all>"`,
		"in the other half":  `[{"password":"quo\"ted \u0026 \u003call\u003e"`,
	} {
		endpoint.Answer(hookstest.JSON(200, answer))
		e.Run(t, refused(signIn(name, "h", odd), 401, "E0000004"))
		require.Contains(t, endpoint.Calls()[0].Body, "quo", "the endpoint received the password")
	}
	logs := e.Do(t, "GET /api/v1/logs?limit=1000", "", nil)
	require.Contains(t, string(logs.Body), "[redacted]")
	require.NotContains(t, string(logs.Body), "quo")
	require.NotContains(t, string(logs.Body), odd)
}

// TestPasswordHook_LastActivatedCalled verifies that, of several active hooks, the API calls the one activated last.
func TestPasswordHook_LastActivatedCalled(t *testing.T) {
	e, one := world(t, sqldbtest.SQLite(t))
	one.Answer(verify)
	saved := e.Run(t,
		apitest.Step{Do: create, Body: hooked("h")},
		passwordHook("one", one.URL+"/one"), passwordHook("two", one.URL+"/two"),
		refused(signIn("the second", "h", second), 401, "E0000004"),
	)
	asked := func(path string) {
		t.Helper()
		calls := one.Calls()
		require.Equal(t, path, calls[len(calls)-1].Path)
	}
	asked("/two")
	lifecycle := func(hook, transition string) apitest.Step {
		return apitest.Step{Do: "POST /api/v1/inlineHooks/" + saved[hook] + "/lifecycle/" + transition}
	}
	e.Run(t, lifecycle("two", "deactivate"), refused(signIn("the first alone", "h", second), 401, "E0000004"))
	asked("/one")
	e.Run(t, lifecycle("two", "activate"), refused(signIn("the second again", "h", second), 401, "E0000004"))
	asked("/two")
	e.Run(t, lifecycle("one", "activate"), refused(signIn("active already is not activated", "h", second), 401, "E0000004"))
	asked("/two")
	e.Run(t, lifecycle("one", "deactivate"), lifecycle("one", "activate"), refused(signIn("the first again", "h", second), 401, "E0000004"))
	asked("/one")
	calls := len(one.Calls())
	e.Run(t, lifecycle("one", "deactivate"), lifecycle("two", "deactivate"), refused(signIn("nobody", "h", first), 401, "E0000004"))
	require.Len(t, one.Calls(), calls, "an inactive hook is not called")
}

func TestPasswordHook_InvalidResponse(t *testing.T) {
	e, endpoint := world(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: create, Body: hooked("h"), Save: map[string]string{"u": "id"}}, passwordHook("hook", endpoint.URL))
	attempts := func() int {
		doc, err := model.Optional(t.Context(), e.Store.Reader(), e.Model.Attempts, saved["u"])
		require.NoError(t, err)
		if doc == nil {
			return 0
		}
		return doc.Value.Count
	}
	command := func(kind, value string) string {
		return fmt.Sprintf(`{"commands":[{"type":"com.svc.action.update","value":{"credential":"VERIFIED"}},{"type":%q,"value":%s}]}`, kind,
			value)
	}
	const executed, processed = "inline_hook.executed", "inline_hook.response.processed"
	for name, c := range map[string]struct {
		status        int
		answer, event string
		reason        string
		calls         int
	}{
		"an error": {500, "", executed, "the hook endpoint answered with 500 Internal Server Error (attempts: 2)", 2},
		"HTML":     {200, "<html>", executed, "the hook endpoint answered with a body that is not JSON (attempts: 2)", 2},
		"not an object": {200, `[{"type":"com.svc.action.update"}]`, processed,
			"invalid response of the hook: it is not a JSON object", 1},
		"invalid commands": {200, `{"commands":"VERIFIED"}`, processed,
			"invalid response of the hook: it has members of the wrong type", 1},
		"a command for another hook type": {200, command("com.svc.access.patch", `[]`), processed,
			`invalid response of the hook: "com.svc.access.patch" is not a command for passwords`, 1},
		"an unknown decision": {200, command("com.svc.action.update", `{"credential":"MAYBE"}`), processed,
			"invalid response of the hook: a credential must be VERIFIED or UNVERIFIED", 1},
		"a decision of the wrong type": {200, command("com.svc.action.update", `"VERIFIED"`), processed,
			"invalid response of the hook: a credential must be VERIFIED or UNVERIFIED", 1},
	} {
		endpoint.Answer(hookstest.JSON(c.status, c.answer))
		e.Run(t,
			refused(signIn(name, "h", first), 401, "E0000004"),
			apitest.Step{Do: "GET /api/v1/logs?sortOrder=DESCENDING&limit=1&filter=eventType+eq+%22" + c.event + "%22",
				Equal: map[string]any{"0.outcome.result": "FAILURE", "0.outcome.reason": c.reason}},
		)
		endpoint.Called(c.calls)
	}
	require.Zero(t, attempts(), "an outage locks no user out")
	denials := map[string]string{
		"no command":            `{}`,
		"additional properties": command("com.svc.action.update", `{"credential":"UNVERIFIED"}`),
		"an error and a result": `{"error":{"errorSummary":"no","errorCauses":[{"errorSummary":"really not"}]},` +
			`"commands":[{"type":"com.svc.action.update","value":{"credential":"VERIFIED"}}]}`,
	}
	for name, answer := range denials {
		endpoint.Answer(hookstest.JSON(200, answer))
		e.Run(t, refused(signIn(name, "h", first), 401, "E0000004"))
	}
	require.Equal(t, len(denials), attempts())
	e.Run(t,
		apitest.Step{Name: "which is logged",
			Do:    "GET /api/v1/logs?filter=outcome.reason+co+%22the+hook+returned+an+error%3A+no%3B+really+not%22",
			Equal: map[string]any{"#": 1}})
	endpoint.Answer(verify)
	e.Run(t, signIn("in the end", "h", first))
}
