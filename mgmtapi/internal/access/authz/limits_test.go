package authz_test

import (
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// limits is the parsed testdata/limits.txt.
type limits struct {
	roles []limitedRole
	// by "METHOD PATH": two strings, each a list of permissions separated by "|". A role needs one permission of each string
	both map[string][]string
	// exceptions from the rules: the decision by role, then by "METHOD PATH TEXT", where TEXT is place.text
	except map[string]map[string]bool
}

type limitedRole struct {
	name  string
	holds []string // a role type, or permissions
	on    []string
}

func readLimits(t *testing.T) limits {
	t.Helper()
	data, err := os.ReadFile("testdata/limits.txt")
	require.NoError(t, err)
	out := limits{both: map[string][]string{}, except: map[string]map[string]bool{}}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "role":
			on := slices.Index(words, "on")
			require.Greater(t, on, 2, line)
			out.roles = append(out.roles, limitedRole{words[1], words[2:on], words[on+1:]})
		case "both":
			require.Len(t, words, 5, line)
			for method := range strings.SplitSeq(words[1], ",") {
				out.both[method+" "+words[2]] = words[3:]
			}
		case "except":
			require.Len(t, words, 6, line)
			for name := range strings.SplitSeq(words[1], ",") {
				if out.except[name] == nil {
					out.except[name] = map[string]bool{}
				}
				out.except[name][strings.Join([]string{words[4], words[5], words[2]}, " ")] = words[3] == "y"
			}
		default:
			require.Fail(t, "line is neither a role nor an operation: "+line)
		}
	}
	return out
}

// kindOfThing maps the path segment before a variable to the kind of the resource.
var kindOfThing = map[string]string{
	"users": "user", "api-tokens": "user", "sessions": "user", "org": "user", "groups": "group", "apps": "app", "clients": "app",
	"authorizationServers": "server",
}

// limitedThings holds the ids of one resource inside and one outside of the limits, by the path segment before the path variable.
type limitedThings struct{ in, out map[string]string }

// thing is a resource in a path.
type thing struct {
	kind, id string
	inside   bool
}

// place is a choice of resources for the variables of a path: for each variable a resource inside or outside of the limits. text is "in" or
// "out" for each resource, separated by commas.
type place struct {
	variables []string
	things    []thing
	text      string
}

// places returns all combinations of resources inside and outside of the limits for the variables of a path.
func (x *limitedThings) places(path string) (all []place) {
	segments := strings.Split(path, "/")
	named := 0
	for i, s := range segments {
		if s == "{}" && x.in[segments[i-1]] != "" {
			named++
		}
	}
	for choice := range 1 << named {
		place := place{text: "-"}
		var words []string
		for i, s := range segments {
			if s != "{}" {
				continue
			}
			before := segments[i-1]
			if x.in[before] == "" {
				place.variables = append(place.variables, "some")
				continue
			}
			one := thing{kindOfThing[before], x.in[before], choice>>len(words)&1 == 0}
			words = append(words, "in")
			if !one.inside {
				one.id, words[len(words)-1] = x.out[before], "out"
			}
			place.things, place.variables = append(place.things, one), append(place.variables, one.id)
		}
		if len(words) > 0 {
			place.text = strings.Join(words, ",")
		}
		all = append(all, place)
	}
	return all
}

// about returns the kind of the collection that an operation works on, empty for none.
func about(path string) string {
	if path == "/api/v1/api-tokens/current" {
		return "" // the caller's own
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "meta" || segment == "iam" || segment == "sandbox" {
			return ""
		}
		if kind := kindOfThing[segment]; kind != "" {
			return kind
		}
	}
	return ""
}

// permits implements rules 2 to 4 of testdata/limits.txt for the resources of one kind.
func permits(method, path string, things []thing, kind string, inside func(thing) bool) bool {
	named := slices.DeleteFunc(slices.Clone(things), func(x thing) bool { return x.kind != kind })
	if len(named) > 0 {
		return !slices.ContainsFunc(named, func(x thing) bool { return !inside(x) })
	}
	if about(path) != kind {
		return true
	}
	return method == "GET" && (strings.HasPrefix(path, "/api/v1/") && strings.Count(path, "/") == 3 || path == "/oauth2/v1/clients")
}

// kindOfPermission returns the kind of resource of a permission.
func kindOfPermission(name string) string {
	area, _, _ := strings.Cut(strings.TrimPrefix(name, "svc."), ".")
	if name == "svc.users.create" {
		return "group"
	}
	return map[string]string{"users": "user", "groups": "group", "apps": "app", "authzServers": "server", "iam": "iam"}[area]
}

// reaches maps the limits of a role to the kinds of resources that they cover.
var reaches = map[string][]string{
	"group-target": {"user", "group"}, "app-target": {"app"},
	"users-of-group": {"user"}, "group": {"group"}, "app": {"app"}, "apps-of-type": {"app"}, "server": {"server"},
	"all-but": {"user", "group", "app", "server", "iam"},
}

func (r limitedRole) reaches(kind string) bool {
	return slices.ContainsFunc(r.on, func(on string) bool { return slices.Contains(reaches[on], kind) })
}

// expected returns the decision that testdata/limits.txt and testdata/matrix.txt require.
func (l limits) expected(r limitedRole, row cells, key string, things []thing, text, client string) bool {
	if want, ok := l.except[r.name][strings.Join([]string{row.method, row.path, text}, " ")]; ok {
		return want
	}
	// Roles on "apps-of-type" are limited to bookmarks, so a client is outside of their limits.
	inside := func(x thing) bool { return x.inside && (x.id != client || !slices.Contains(r.on, "apps-of-type")) }
	if i := slices.Index(inOrder, model.RoleType(r.holds[0])); i >= 0 {
		allowed := row.standard[i] == 'y'
		for kind := range slices.Values(reaches[r.on[0]]) {
			allowed = allowed && permits(row.method, row.path, things, kind, inside)
		}
		return allowed
	}
	enough := func(permission string) bool {
		kind := kindOfPermission(permission)
		return slices.Contains(r.holds, permission) && r.reaches(kind) && permits(row.method, row.path, things, kind, inside)
	}
	both := l.both[key]
	for _, alternatives := range both {
		names, later := strings.CutPrefix(alternatives, "later:")
		if !slices.ContainsFunc(strings.Split(names, "|"), func(name string) bool {
			name = "svc." + name
			if later {
				return slices.Contains(r.holds, name) && r.reaches(kindOfPermission(name))
			}
			// A group rule applies to all users. A role that is limited to some users or groups therefore does not permit operations on group
			// rules.
			return enough(name) && !strings.Contains(row.path, "/groups/rules")
		}) {
			return false
		}
	}
	return both != nil || slices.Contains(row.permissions, "any") || slices.ContainsFunc(row.permissions, enough)
}

// Proves B-permissions-14, B-permissions-15, B-permissions-16, B-permissions-18, B-permissions-19, B-permissions-29,
// B-permissions-30, B-targets-02, B-targets-03.
func TestLimitedRoles_ExpectedDecisions(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	authorizer := authz.New(deps(w.Env))
	server := func(name string) string {
		return w.Do(t, "POST /api/v1/authorizationServers", `{"name":"`+name+`","description":"d","audiences":["a"]}`, nil).Value("id")
	}
	x := &limitedThings{
		in: map[string]string{
			"users": w.in, "groups": w.inner, "apps": w.appIn, "clients": w.client(t, "In"), "authorizationServers": server("in"),
			"api-tokens": createToken(t, w.Env, w.in, "in").ID,
		},
		out: map[string]string{
			"users": w.out, "groups": w.outer, "apps": w.appOut, "clients": w.client(t, "Out"), "authorizationServers": server("out"),
			"api-tokens": createToken(t, w.Env, w.out, "out").ID,
		},
	}
	rows, limits := matrix(t), readLimits(t)
	excepted := 0
	for _, role := range limits.roles {
		id := w.limited(t, role, x)
		access, err := authorizer.User(t.Context(), w.Store.Reader(), id)
		require.NoError(t, err)
		for key, row := range rows {
			for _, place := range x.places(row.path) {
				d, err := authorizer.Explain(t.Context(), w.Store.Reader(), access, row.info(), func(number string) string {
					i, _ := strconv.Atoi(number)
					return place.variables[i]
				})
				require.NoError(t, err)
				want := limits.expected(role, row, key, place.things, place.text, x.in["clients"])
				if want != d.Allowed {
					t.Errorf("%s: %s with %s: allowed %v, expected %v", role.name, key, place.text, d.Allowed, want)
				}
				if _, ok := limits.except[role.name][key+" "+place.text]; ok {
					excepted++
				}
			}
		}
	}
	named := 0
	for _, of := range limits.except {
		named += len(of)
	}
	require.Equal(t, named, excepted, "every exception matches a cell")
	for key := range limits.both {
		require.Contains(t, rows, key)
	}
}

// limited creates an administrator with a limited role and returns its id.
func (w *world) limited(t *testing.T, r limitedRole, x *limitedThings) string {
	t.Helper()
	if slices.Contains(r.on, "group-target") || slices.Contains(r.on, "app-target") {
		a := administrator(t, w.Env, r.name, "")
		targets := []string{"groups/" + x.in["groups"]}
		if r.on[0] == "app-target" {
			targets = []string{"catalog/apps/bookmark/" + x.in["apps"], "catalog/apps/oidc_client/" + x.in["clients"]}
		}
		w.give(t, a, r.holds[0], targets...)
		return a.id
	}
	org := orgOf(t, w.Env)
	directory, idp := "orn:svc:directory:"+org+":", "orn:svc:idp:"+org+":"
	resources := map[string][]string{
		"users-of-group": {directory + "groups:" + x.in["groups"] + ":contained_resources"}, "group": {directory + "groups:" + x.in["groups"]},
		"app":     {idp + "apps:bookmark:" + x.in["apps"], idp + "apps:oidc_client:" + x.in["clients"]},
		"server":  {idp + "authorization_servers:" + x.in["authorizationServers"]},
		"all-but": {"orn:svc:iam:" + org + ":contained_resources"},
	}
	without := map[string][][2]string{
		"apps-of-type": {{idp + "apps:bookmark", idp + "apps:bookmark:" + x.out["apps"]}},
		"all-but": {
			{directory + "users", directory + "groups:" + x.out["groups"] + ":contained_resources"},
			{directory + "groups", directory + "groups:" + x.out["groups"]},
			{idp + "apps", idp + "apps:bookmark:" + x.out["apps"] + `","` + idp + "apps:oidc_client:" + x.out["clients"]},
			{idp + "authorization_servers", idp + "authorization_servers:" + x.out["authorizationServers"]},
		},
	}
	set := []string{directory + "devices"} // has no effect
	for _, on := range r.on {
		require.Contains(t, reaches, on)
		set = append(set, resources[on]...)
	}
	a := w.custom(t, r.name, r.holds, set)
	for _, on := range r.on {
		for _, pair := range without[on] {
			w.Run(t,
				apitest.Step{Do: "POST /api/v1/iam/resource-sets/" + r.name + "/resources",
					Body: `{"resourceOrnOrUrl":"` + pair[0] + `","conditions":{"Exclude":{"svc:ORN":["` + pair[1] + `"]}}}`})
		}
	}
	return a.id
}

func TestLists_LimitedToTargets(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	users, apps := administrator(t, w.Env, "users", ""), administrator(t, w.Env, "apps", "")
	w.give(t, users, "USER_ADMIN", "groups/"+w.inner)
	w.give(t, apps, "APP_ADMIN", "catalog/apps/bookmark/"+w.appIn)
	in, out := "/api/v1/apps/"+w.appIn, "/api/v1/apps/"+w.appOut
	w.Run(t,
		apitest.Step{Do: "PUT " + in + "/groups/" + w.inner}, apitest.Step{Do: "PUT " + in + "/groups/" + w.outer},
		apitest.Step{Do: "PUT " + out + "/groups/" + w.inner},

		users.may("GET "+in+"/users", "", equal(map[string]any{"#": 1, "0.id": w.in})),
		users.may("GET "+in+"/users?expand=user", "", equal(map[string]any{"#": 1, "0._embedded.user.id": w.in})),
		users.may("GET "+in+"/users?q=out", "", equal(map[string]any{"#": 0})),
		users.may("GET "+in+"/users/"+w.in, ""), users.mayNot("GET "+in+"/users/"+w.out, ""),
		users.may("GET "+in+"/users/00unobody", "", func(s *apitest.Step) { s.Status, s.Code = 404, "E0000007" }),
		users.may("GET "+in+"/groups", "", equal(map[string]any{"#": 1, "0.id": w.inner})),
		users.may("GET "+in+"/groups/"+w.inner, ""), users.mayNot("GET "+in+"/groups/"+w.outer, ""),
		users.may("GET /api/v1/users/"+w.in+"/appLinks", "", equal(map[string]any{"#": 2})),

		apps.may("GET "+in+"/users", "", equal(map[string]any{"#": 2})), apps.may("GET "+in+"/users/"+w.out, ""),
		apps.may("GET "+in+"/groups", "", equal(map[string]any{"#": 2})), apps.mayNot("GET "+out+"/users", ""),
		apps.may("GET /api/v1/users", "", equal(map[string]any{"#": 5})),
		apps.may("GET /api/v1/users/"+w.in+"/appLinks", "", equal(map[string]any{"#": 1, "0.appInstanceId": w.appIn})),
		apps.may("GET /api/v1/meta/schemas/apps/"+w.appIn+"/default", ""), apps.mayNot("GET /api/v1/meta/schemas/apps/"+w.appOut+"/default", ""),

		apitest.Step{Name: "a role without targets shows everything", Do: "POST /api/v1/users/" + users.id + "/roles",
			Body: `{"type":"REPORT_ADMIN"}`, Status: 201},
		users.may("GET "+in+"/users", "", equal(map[string]any{"#": 2})), users.may("GET "+in+"/groups/"+w.outer, ""),
	)
}

// events reads the log page by page.
func events(t *testing.T, e *apitest.Env, header map[string]string, query string) (all []map[string]any, pages int) {
	t.Helper()
	next := regexp.MustCompile(`<([^>]*)>; rel="next"`)
	for at := "/api/v1/logs?" + query; at != ""; pages++ {
		require.Less(t, pages, 1000)
		page := e.Do(t, "GET "+at, "", header)
		require.Equal(t, 200, page.Status, string(page.Body))
		for _, event := range page.JSON.([]any) {
			all = append(all, event.(map[string]any))
		}
		at = ""
		for _, link := range page.Header.Values("Link") {
			if m := next.FindStringSubmatch(link); m != nil {
				at = strings.TrimPrefix(m[1], e.Server.URL)
			}
		}
	}
	return all, pages
}

// TestLog_LimitedToTargets verifies that a role with targets reads only the log events of these targets and its own.
func TestLog_LimitedToTargets(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	client := w.client(t, "In")
	users, desk, apps, typed := administrator(t, w.Env, "users", ""), administrator(t, w.Env, "desk", ""), administrator(t, w.Env, "apps",
		""), administrator(t, w.Env, "typed", "")
	w.give(t, users, "USER_ADMIN", "groups/"+w.inner)
	w.give(t, desk, "HELP_DESK_ADMIN", "groups/"+w.outer)
	w.give(t, apps, "APP_ADMIN", "catalog/apps/bookmark/"+w.appIn, "catalog/apps/oidc_client/"+client)
	w.give(t, typed, "APP_ADMIN", "catalog/apps/bookmark")
	w.Run(t,
		apitest.Step{Do: "PUT /api/v1/apps/" + w.appIn + "/groups/" + w.inner},
		apitest.Step{Do: "PUT /api/v1/apps/" + w.appOut + "/groups/" + w.outer},
		apitest.Step{Do: "POST /api/v1/users/" + w.out, Body: `{"profile":{"nickName":"O"}}`},
		apitest.Step{Do: "POST /api/v1/users/" + w.in, Body: `{"profile":{"nickName":"I"}}`},
		apitest.Step{Do: "POST /api/v1/users", Body: inGroups("third", w.inner, w.outer), Save: map[string]string{"third": "id"}},
		apitest.Step{Do: "POST /api/v1/authn", Body: `{"username":"outside@example.com","password":"Tlpwd-2026"}`},
		users.may("POST /api/v1/users/"+w.in+"/lifecycle/suspend", ""), users.may("POST /api/v1/users/"+w.in+"/lifecycle/unsuspend", ""),
		apps.may("PUT /api/v1/apps/"+w.appIn, bookmark("Renamed")),
		apitest.Step{Do: "POST /oauth2/v1/token", Body: "grant_type=client_credentials", Header: map[string]string{
			"Content-Type":  "application/x-www-form-urlencoded",
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(client+":wrong")),
		}, Status: 401, Code: "invalid_client"},
	)
	third := w.Do(t, "GET /api/v1/users/third", "", nil).Value("id")
	all, _ := events(t, w.Env, nil, "until=2030-01-01T00:00:00Z&since=2026-03-01T00:00:00Z")
	for name, seen := range map[string]struct {
		who admin
		ids []string
	}{
		"users": {users, []string{w.inner, w.in, third}}, "desk": {desk, []string{w.outer, w.out, third}},
		"apps": {apps, []string{w.appIn, client}}, "typed": {typed, []string{w.appIn, w.appOut}},
	} {
		var want []string
		for _, event := range all {
			ids := []string{event["actor"].(map[string]any)["id"].(string)}
			own := ids[0] == seen.who.id
			if list, ok := event["target"].([]any); ok {
				for _, target := range list {
					ids = append(ids, target.(map[string]any)["id"].(string))
				}
			}
			if own || slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(seen.ids, id) }) {
				want = append(want, event["uuid"].(string))
			}
		}
		require.Greater(t, len(want), 3, name)
		require.Less(t, len(want), len(all)-3, name)
		for _, query := range []string{"limit=1000&", "limit=2&", "limit=3&sortOrder=DESCENDING&"} {
			got, _ := events(t, w.Env, seen.who.header, query+"until=2030-01-01T00:00:00Z&since=2026-03-01T00:00:00Z")
			var uuids []string
			for _, event := range got {
				uuids = append(uuids, event["uuid"].(string))
			}
			if strings.Contains(query, "DESC") {
				slices.Reverse(uuids)
			}
			require.Empty(t, cmp.Diff(want, uuids), "%s: %s", name, query)
		}
	}
	reader := administrator(t, w.Env, "reader", "READ_ONLY_ADMIN")
	all, _ = events(t, w.Env, nil, "until=2030-01-01T00:00:00Z&since=2026-03-01T00:00:00Z")
	unlimited, _ := events(t, w.Env, reader.header, "until=2030-01-01T00:00:00Z&since=2026-03-01T00:00:00Z")
	require.Empty(t, cmp.Diff(all, unlimited))
	everything := w.custom(t, "custom", []string{"svc.users.manage", "svc.groups.manage", "svc.apps.manage", "svc.iam.read"},
		[]string{"/api/v1/users", "/api/v1/groups", "/api/v1/apps"})
	w.Run(t, everything.mayNot("GET /api/v1/logs", ""))
}

// TestLog_PageScanLimit verifies that a page of a limited log scans a bounded number of events and that polling misses none.
func TestLog_PageScanLimit(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := administrator(t, w.Env, "desk", "")
	role := w.Do(t, "POST /api/v1/users/"+a.id+"/roles", `{"type":"HELP_DESK_ADMIN"}`, nil).Value("id")
	w.Run(t, apitest.Step{Do: "PUT /api/v1/users/" + a.id + "/roles/" + role + "/targets/groups/" + w.inner, Status: 204})
	w.Clock.Advance(time.Hour)
	since := "since=" + w.Clock.Now().Format(time.RFC3339)
	require.NoError(t, w.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		for range 5100 {
			id := model.NewLogID(w.Clock.Now())
			if _, err := w.Model.LogEvents.Insert(t.Context(), tx, id,
				model.LogEvent{ID: id, Published: w.Clock.Now(), Type: "test", Actor: model.LogParty{ID: "x", Type: "User"}, Transaction: "t"}); err !=
				nil {
				return err
			}
		}
		return nil
	}))
	w.Run(t, apitest.Step{Do: "POST /api/v1/users/" + w.in, Body: `{"profile":{"nickName":"I"}}`})
	until := "&until=" + w.Clock.Now().Add(time.Minute).Format(time.RFC3339)
	found, pages := events(t, w.Env, a.header, since+until)
	require.Len(t, found, 1)
	require.Equal(t, 2, pages, "the first page is empty")
	// Repeated requests with the cursor of the previous page reach the end of the log and miss no event.
	var cursor string
	poll := func(want int) {
		t.Helper()
		page := w.Do(t, "GET /api/v1/logs?"+since+cursor, "", a.header)
		require.Len(t, page.JSON, want, string(page.Body))
		link := regexp.MustCompile(`after=([^&>]*)[^>]*>; rel="next"`).FindStringSubmatch(strings.Join(page.Header.Values("Link"), "\n"))
		require.NotNil(t, link)
		cursor = "&after=" + link[1]
	}
	poll(0)
	poll(1)
	poll(0)
	w.Run(t, apitest.Step{Do: "POST /api/v1/users/" + w.out, Body: `{"profile":{"nickName":"O"}}`})
	poll(0)
	w.Run(t, apitest.Step{Do: "POST /api/v1/users/" + w.in, Body: `{"profile":{"nickName":"J"}}`})
	poll(1)
}
