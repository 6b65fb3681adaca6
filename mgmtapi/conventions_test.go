package mgmtapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// person returns the body of a user, followed by further members.
func person(login, more string) string {
	return fmt.Sprintf(`{"profile":{"login":%q,"email":%q,"firstName":"Isaac","lastName":"Brock"}%s}`, login, login, more)
}

type header = map[string]string

// Each convention that applies to all operations is tested with one operation.
func TestConventions(t *testing.T) {
	for section, steps := range map[string][]apitest.Step{
		"bodies": {
			{Name: "unknown members are ignored", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"A"},"unknown":{"x":[1]}}`},
			{Name: "unknown attributes of a profile are rejected", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"B","unknown":1}}`,
				Status: 400, Code: "E0000001",
				Causes: []string{"unknown: "}},
			{Name: "a body must be JSON", Do: "POST /api/v1/groups", Body: `{"profile":`, Status: 400, Code: "E0000003"},
			{Name: "a body must be an object", Do: "POST /api/v1/groups", Body: `[]`, Status: 400, Code: "E0000003"},
			{Name: "a body is required", Do: "POST /api/v1/groups", Header: header{"Content-Type": "application/json"}, Status: 400,
				Code: "E0000003"},
			{Name: "the media type must be JSON", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"C"}}`,
				Header: header{"Content-Type": "text/plain"}, Status: 400, Code: "E0000021"},
			{Name: "the media type may have parameters", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"D"}}`,
				Header: header{"Content-Type": "application/json; charset=UTF-8"}},
			{Name: "a body requires a media type", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"E"}}`, Header: header{"Content-Type": ""},
				Status: 400, Code: "E0000021"},
			{Name: "strings are returned unchanged", Do: "POST /api/v1/groups", Body: `{"profile":{"name":"<b>&\u00e9</b>"}}`,
				Equal: map[string]any{"profile.name": "<b>&é</b>"}, Then: func(t *testing.T, a *apitest.Answer) {
					require.Contains(t, string(a.Body), `<b>&é</b>`)
				}},
		},
		"responses": {
			{Name: "an Accept header that excludes JSON", Do: "GET /api/v1/groups", Header: header{"Accept": "application/xml"}, Status: 406,
				Code: "E0000122"},
			{Name: "an Accept header that includes JSON", Do: "GET /api/v1/groups", Header: header{"Accept": "text/html, */*;q=0.1"}},
			{Name: "no Accept header", Do: "GET /api/v1/groups", Header: header{"Accept": ""}},
			{Name: "an unknown path", Do: "GET /api/v1/nothing", Status: 404, Code: "E0000008"},
			{Name: "a known path with another method", Do: "PATCH /api/v1/groups", Status: 405, Code: "E0000022",
				Equal: map[string]any{"header:Allow": "GET, POST"}},
			{Name: "a trailing slash", Do: "GET /api/v1/groups/", Equal: map[string]any{"#": 1}},
			{Do: "POST /api/v1/users?activate=false", Body: person("empty@example.com", "")},
			{Name: "an empty object as the response", Do: "POST /api/v1/users/empty/lifecycle/activate",
				Equal: map[string]any{"header:Content-Type": "application/json"}, Then: func(t *testing.T, a *apitest.Answer) {
					require.JSONEq(t, `{}`, string(a.Body))
				}},
			{Name: "a response without a body", Do: "DELETE /api/v1/users/empty", Status: 204, Lacks: []string{"header:Content-Type"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Empty(t, a.Body)
				}},
		},
		"parameters": {
			{Name: "booleans are case-insensitive", Do: "POST /api/v1/users?activate=FaLsE", Body: person("case@example.com", ""),
				Equal: map[string]any{"status": "STAGED"}},
			{Name: "other values are not booleans", Do: "POST /api/v1/users?activate=0", Body: person("bool@example.com", ""), Status: 400,
				Code:   "E0000001",
				Causes: []string{"activate: "}},
			{Name: "empty parameters count as absent", Do: "GET /api/v1/users?limit=&sortOrder=&search=&after=&expand="},
			{Name: "a limit must be a number", Do: "GET /api/v1/users?limit=many", Status: 400, Code: "E0000001", Causes: []string{"limit: "}},
			{Name: "a limit must not be 0", Do: "GET /api/v1/groups?limit=0", Status: 400, Code: "E0000001", Causes: []string{"limit: "}},
			{Name: "a limit must not be negative", Do: "GET /api/v1/apps?limit=-1", Status: 400, Code: "E0000001", Causes: []string{"limit: "}},
			{Name: "a limit that is too large is lowered", Do: "GET /api/v1/apps?limit=100000"},
			{Name: "an unknown cursor", Do: "GET /api/v1/users?after=abc", Status: 400, Code: "E0000029"},
			{Name: "filter and search are mutually exclusive", Do: "GET /api/v1/users?search=id+pr&filter=status+eq+%22ACTIVE%22", Status: 400,
				Code: "E0000033"},
			{Name: "q and filter are mutually exclusive", Do: "GET /api/v1/groups?q=a&filter=type+eq+%22BUILT_IN%22", Status: 400, Code: "E0000033"},
			{Name: "q and filter are mutually exclusive for applications", Do: "GET /api/v1/apps?q=a&filter=status+eq+%22ACTIVE%22", Status: 400,
				Code: "E0000033"},
			{Name: "a search for an unknown attribute", Do: "GET /api/v1/users?search=nothing+eq+%22x%22", Status: 400, Code: "E0000031"},
			{Name: "only the log supports ne", Do: "GET /api/v1/users?search=status+ne+%22ACTIVE%22", Status: 400, Code: "E0000031"},
			{Name: "operators are case-insensitive", Do: "GET /api/v1/users?search=status+EQ+%22ACTIVE%22+AND+id+PR", Equal: map[string]any{"#": 1}},
			{Name: "attribute names are case-sensitive", Do: "GET /api/v1/users?search=Status+eq+%22ACTIVE%22", Status: 400, Code: "E0000031"},
			{Name: "values of searches are case-insensitive", Do: "GET /api/v1/users?search=status+eq+%22active%22", Equal: map[string]any{"#": 1}},
			{Name: "values of filters are case-sensitive", Do: "GET /api/v1/users?filter=status+eq+%22active%22", Equal: map[string]any{"#": 0}},
			{Name: "an unknown sort order is ignored", Do: "GET /api/v1/users?search=id+pr&sortBy=id&sortOrder=upwards",
				Equal: map[string]any{"#": 2}},
			{Name: "values in filters of applications may lack quotes", Do: "GET /api/v1/apps?filter=status+eq+ACTIVE",
				Equal: map[string]any{"#": 0}},
		},
		"paths": {
			{Do: "POST /api/v1/users", Body: person("a+b@example.com", ""), Save: map[string]string{"id": "id"}},
			{Name: "a login", Do: "GET /api/v1/users/a+b@example.com", Equal: map[string]any{"id": "{{id}}"}},
			{Name: "a percent-encoded login", Do: "GET /api/v1/users/a%2Bb%40example.com", Equal: map[string]any{"id": "{{id}}"}},
			{Name: "a login is case-insensitive", Do: "GET /api/v1/users/A+B@EXAMPLE.com", Equal: map[string]any{"id": "{{id}}"}},
			{Name: "the part of a login before the @", Do: "GET /api/v1/users/a+b", Equal: map[string]any{"id": "{{id}}"}},
			{Name: "an id", Do: "GET /api/v1/users/{{id}}"},
			{Name: "an id of another kind is not found", Do: "GET /api/v1/groups/{{id}}", Status: 404, Code: "E0000007"},
			{Name: "the caller", Do: "GET /api/v1/users/me", Equal: map[string]any{"profile.login": assembly.DefaultLogin}},
			{Name: "paths are decoded only once", Do: "GET /api/v1/users/a%252Bb", Status: 404, Code: "E0000007"},
		},
		"order of checks": {
			{Name: "credentials before the path", Do: "GET /api/v1/nothing", Header: header{"Authorization": ""}, Status: 403, Code: "E0000005"},
			{Name: "existence before the body", Do: "PUT /api/v1/groups/nobody", Body: `{`, Status: 404, Code: "E0000007"},
			{Do: "POST /api/v1/users?activate=false", Body: person("order@example.com", "")},
			{Name: "validation before the state", Do: "POST /api/v1/users/order/lifecycle/unsuspend?x=y", Status: 400, Code: "E0000001"},
			{Name: "all causes in one response", Do: "POST /api/v1/users?activate=maybe", Body: `{"profile":{"login":"x","nickName":1}}`,
				Status: 400,
				Code:   "E0000001", Then: func(t *testing.T, a *apitest.Answer) {
					require.True(t, strings.HasPrefix(a.Value("errorSummary"), "Api validation failed: "), a.Value("errorSummary"))
					for _, member := range []string{"activate", "login", "nickName", "firstName", "lastName", "email"} {
						require.Contains(t, string(a.Body), `"`+member+`: `)
					}
				}},
			{Name: "a duplicate of a unique value", Do: "POST /api/v1/users", Body: person("ORDER@example.com", ""), Status: 400, Code: "E0000001",
				Causes: []string{"login: An object with this field already exists in the current organization"}},
			{Name: "a missing mandatory value", Do: "POST /api/v1/groups", Body: `{"profile":{}}`, Status: 400, Code: "E0000001",
				Causes: []string{"name: The field cannot be left blank"}},
			{Name: "a user without any members", Do: "POST /api/v1/users", Body: `{}`, Status: 400, Code: "E0000001",
				Causes: []string{"login: ", "firstName: ", "lastName: ", "email: "}},
			{Name: "a 404 names the id as it was sent", Do: "GET /api/v1/apps/no%20body", Status: 404, Code: "E0000007",
				Equal: map[string]any{"errorSummary": "Not found: Resource not found: no body (AppInstance)"}},
		},
		"requests of client libraries": {
			{Name: "empty strings, objects and nulls", Do: "POST /api/v1/users",
				Body: person("lenient@example.com", `,"credentials":{"password":{},"recovery_question":null},"groupIds":null,"type":null`),
				Save: map[string]string{"id": "id"}},
			{Name: "lifecycle calls with a media type and no body", Do: "POST /api/v1/users/{{id}}/lifecycle/deactivate",
				Header: header{"Content-Type": "application/json"}},
			{Name: "lifecycle calls without a media type and body", Do: "POST /api/v1/users/{{id}}/lifecycle/activate"},
			{Name: "applications by their catalog name alone", Do: "POST /api/v1/apps",
				Body: `{"name":"bookmark","label":"B","signOnMode":"","features":null,"credentials":{"userName":"","password":{},"scheme":""},` +
					`"settings":{"app":{"url":"https://example.com"}}}`, Equal: map[string]any{"signOnMode": "BOOKMARK"},
				Save: map[string]string{"app": "id"}},
			{Name: "assignments with empty credentials", Do: "POST /api/v1/apps/{{app}}/users",
				Body: `{"id":"{{id}}","scope":"","credentials":{"userName":"","password":{}},"profile":null}`},
			{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Lenient","description":null}}`, Save: map[string]string{"g": "id"}},
			{Name: "memberships without a body", Do: "PUT /api/v1/groups/{{g}}/users/{{id}}", Header: header{"Content-Type": "application/json"},
				Status: 204},
			{Name: "group assignments without a body", Do: "PUT /api/v1/apps/{{app}}/groups/{{g}}"},
			{Name: "group assignments with an empty object as the body", Do: "PUT /api/v1/apps/{{app}}/groups/{{g}}", Body: `{}`},
			{Name: "the priority null counts as absent", Do: "PUT /api/v1/apps/{{app}}/groups/{{g}}", Body: `{"priority":null,"profile":null}`,
				Equal: map[string]any{"priority": 0}},
			{Name: "another spelling of a selector", Do: "POST /api/v1/apps",
				Body: `{"name":"template_swa3field","label":"T","settings":{"app":{"targetURL":"https://example.com","userNameSelector":"#u",` +
					`"passwordSelector":"#p","buttonSelector":"#b","extraFieldSelector":"#e","extraFieldValue":"v"}}}`,
				Equal: map[string]any{"settings.app.usernameSelector": "#u"}, Lacks: []string{"settings.app.userNameSelector"}},
		},
	} {
		t.Run(section, func(t *testing.T) { apitest.New(t, sqldbtest.SQLite(t)).Run(t, steps...) })
	}
}

func TestConventions_ResponseHeaders(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.RateLimits = callers.Limits{} })
	for do, want := range map[string]int{
		"GET /api/v1/users": 600, "GET /api/v1/users/me": 2000, "GET /api/v1/groups": 500, "GET /api/v1/apps": 100,
		"GET /api/v1/apps/nobody": 500,
		"GET /api/v1/logs":        120, "GET /api/v1/api-tokens": 1200, "GET /api/v1/nothing": 1200,
	} {
		a := e.Do(t, do, "", nil)
		require.Regexp(t, `^req[A-Za-z0-9_-]{22}$`, a.Header.Get("X-Svc-Request-Id"), do)
		require.Equal(t, fmt.Sprint(want), a.Header.Get("X-Rate-Limit-Limit"), do)
		require.Regexp(t, `^\d+$`, a.Header.Get("X-Rate-Limit-Remaining"), do)
		reset := a.Header.Get("X-Rate-Limit-Reset")
		require.Equal(t, fmt.Sprint(e.Clock.Now().Add(time.Minute+time.Second-1).Unix()), reset, do)
		require.Equal(t, e.Clock.Now().UTC().Format(http.TimeFormat), a.Header.Get("Date"), "%s: clients compare the reset time with this date",
			do)
		require.Equal(t, "no-cache, no-store", a.Header.Get("Cache-Control"), do)
	}
}

// TestLists_ContinueAfterCursor checks that a list continues after its cursor while callers delete and add entries.
func TestLists_ContinueAfterCursor(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	ids := map[string]string{}
	add := func(name string) {
		ids[name] = e.Do(t, "POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":%q}}`, name), nil).Value("id")
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		add(name)
	}
	const list = "/api/v1/groups?limit=2&filter=type+eq+%22SVC_GROUP%22"
	first := e.Do(t, "GET "+list, "", nil)
	require.Len(t, first.Header.Values("Link"), 2, "one Link header per relation")
	require.Equal(t, e.Server.URL+list, first.Value("link:self"))
	next := first.Value("link:next")
	require.Contains(t, next, "limit=2")
	require.Contains(t, next, "filter=type")

	e.Do(t, "DELETE /api/v1/groups/"+ids["b"], "", nil) // delete the last entry of the first page, after which the cursor points
	add("f")
	names := []string{}
	for url := next; url != ""; {
		page := e.Do(t, "GET "+url, "", nil)
		for i := range page.JSON.([]any) {
			names = append(names, page.Value(fmt.Sprintf("%d.profile.name", i)))
		}
		url = page.Value("link:next")
	}
	require.Equal(t, []string{"c", "d", "e", "f"}, names)
}

func TestConventions_IDsTimesAndTags(t *testing.T) {
	w := apptest.New(t)
	user, group, app := w.User("ann"), w.Group("G"), w.SCIMApp("HR")
	w.Connect(app, "")
	mapping := w.Post("/apps/"+app+"/group-push/mappings", map[string]any{"sourceGroupId": group, "targetGroupName": "G"}).OK(201).Text("id")
	var tokens []struct{ ID string }
	w.Get("/api-tokens").OK().Into(&tokens)
	for id, prefix := range map[string]string{user: "00u", group: "00g", app: "0oa", mapping: "gPm", tokens[0].ID: "00T",
		w.Get("/users/me").Text("type", "id"): "oty"} {
		require.Regexp(t, "^"+prefix+"[0-9A-Za-z]{17}$", id)
	}
	whole := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$`)
	for path, members := range map[string][]string{
		"/users/" + user:   {"created", "activated", "statusChanged", "lastUpdated", "passwordChanged"},
		"/groups/" + group: {"created", "lastUpdated", "lastMembershipUpdated"},
		"/apps/" + app:     {"created", "lastUpdated"},
		"/apps/" + app + "/group-push/mappings/" + mapping: {"created", "lastUpdated"},
	} {
		for _, member := range members {
			require.Regexp(t, whole, w.Get(path).Text(member), "%s %s", path, member)
		}
	}
	for _, path := range []string{"/users/" + user, "/groups/" + group} {
		tag := w.Get(path).Header.Get("ETag")
		require.Regexp(t, `^W/".+"$`, tag)
		require.Equal(t, tag, w.Get(path).Header.Get("ETag"), "the object has not changed")
	}
}
