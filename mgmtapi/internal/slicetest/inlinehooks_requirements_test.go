package slicetest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves A-hooks-01, A-hooks-02, A-hooks-09.
func TestHook_ReadOnlyMembers(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	given := func(body string) string {
		return strings.Replace(body, "{", `{"id":"cal00000000000000000","status":"INACTIVE","created":"2001-01-01T00:00:00.000Z",
			"lastUpdated":"2001-01-01T00:00:00.000Z",`, 1)
	}
	const now = "2026-03-04T05:06:07.000Z"
	body := given(httpHook("h", transform, "https://h.example.com"))
	same := map[string]any{"id": "{{id}}", "status": "ACTIVE", "created": now, "lastUpdated": now}
	e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: body, Save: map[string]string{"id": "id"}, Equal: map[string]any{"status": "ACTIVE",
			"created": now, "lastUpdated": now},
			Then: func(t *testing.T, a *apitest.Answer) { require.NotEqual(t, "cal00000000000000000", a.Value("id")) }},
		apitest.Step{Do: "PUT " + hookRoot + "/{{id}}", Body: body, Equal: same},
		apitest.Step{Do: "GET " + hookRoot + "/{{id}}", Equal: same},
	)
}

// Proves A-hooks-04, A-hooks-05.
func TestHook_NamesAndTypes(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	long := strings.Repeat("é", 255)
	for name, kind := range map[string]string{"x": transform, long: "com.svc.saml.tokens.transform"} {
		e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook(name, kind, "https://h.example.com"),
			Equal: map[string]any{"name": name, "type": kind}})
	}
	for _, name := range []string{"", long + "é"} {
		e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook(name, transform, "https://h.example.com"), Status: 400,
			Code: "E0000001", Causes: []string{"name: "}})
	}
}

// Proves A-hooks-34.
func TestHook_DeletedForGood(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	id := e.Run(t,
		apitest.Step{Do: "POST " + hookRoot, Body: httpHook("h", transform, "https://h.example.com"), Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST " + hookRoot + "/{{id}}/lifecycle/deactivate"},
		apitest.Step{Do: "DELETE " + hookRoot + "/{{id}}", Status: 204},
	)["id"]
	for _, do := range []string{"GET " + hookRoot + "/" + id, "POST " + hookRoot + "/" + id + "/lifecycle/activate", "PUT " + hookRoot + "/" +
		id, "POST " + hookRoot + "/" + id + "/execute"} {
		body := ""
		if strings.HasPrefix(do, "PUT") {
			body = httpHook("h", transform, "https://h.example.com")
		}
		e.Run(t, apitest.Step{Do: do, Body: body, Status: 404, Code: "E0000007"})
	}
}

// Proves A-hooks-45, A-api-08.
func TestHook_ExecutionChangesNothing(t *testing.T) {
	e, endpoint := hookWorld(t)
	e.Unrecorded()
	id := e.Run(t, apitest.Step{Do: "POST " + hookRoot, Body: httpHook("h", transform, endpoint.URL),
		Save: map[string]string{"id": "id"}})["id"]
	rows := func() []string {
		var all []string
		for _, path := range []string{hookRoot, "/api/v1/users", "/api/v1/apps", "/api/v1/groups", "/api/v1/authorizationServers",
			"/api/v1/authorizationServers/default/policies"} {
			all = append(all, string(e.Do(t, "GET "+path, "", nil).Body))
		}
		return all
	}
	before := rows()
	endpoint.Answer(hookstest.JSON(200,
		`{"commands":[{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/x","value":1}]}]}`))
	e.Run(t, apitest.Step{Do: "POST " + hookRoot + "/" + id + "/execute", Body: `{"eventType":"com.svc.oauth2.tokens.transform","data":{}}`})
	require.Equal(t, before, rows())
	e.Run(t, apitest.Step{Name: "the call itself is logged", Do: executed, Equal: map[string]any{"#": 1}})
	call := endpoint.Called(1)[0]
	require.NotContains(t, call.Body, apitest.Token)
	for name, values := range call.Header {
		require.NotContains(t, strings.Join(values, " "), apitest.Token, name)
	}
	require.Equal(t, hookSecret, call.Header.Get("X-Api-Key"))
}
