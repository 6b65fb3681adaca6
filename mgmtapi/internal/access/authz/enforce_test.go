package authz_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func person(login string) string { return inGroups(login) }

func inGroups(login string, groups ...string) string {
	return fmt.Sprintf(`{"profile":{"login":"%[1]s@example.com","email":"%[1]s@example.com","firstName":"A","lastName":"B","city":"Berlin",`+
		`"costCenter":"42"},"credentials":{"password":{"value":"Tlpwd-2026"}},"groupIds":[%[2]s]}`,
		strings.ToLower(login), quoted(groups))
}

func quoted(texts []string) string {
	out := []string{}
	for _, text := range texts {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return strings.Join(out, ",")
}

func bookmark(label string) string {
	return fmt.Sprintf(`{"name":"bookmark","label":%q,"settings":{"app":{"url":"https://example.com"}}}`, label)
}

func createToken(t *testing.T, e *apitest.Env, user, name string) apitokens.Created {
	t.Helper()
	token, err := apitokens.New(deps(e)).Create(t.Context(), name, user)
	require.NoError(t, err)
	return token
}

// admin is an administrator that calls the API.
type admin struct {
	id     string
	header map[string]string
}

// administrator creates a user with a standard role, or with none, and a token.
func administrator(t *testing.T, e *apitest.Env, login, role string) admin {
	t.Helper()
	id := e.Do(t, "POST /api/v1/users", person(strings.ToLower(login)), nil).Value("id")
	require.NotEmpty(t, id)
	if role != "" {
		require.Equal(t, 201, e.Do(t, "POST /api/v1/users/"+id+"/roles", `{"type":"`+role+`"}`, nil).Status)
	}
	return admin{id, map[string]string{"Authorization": "SSWS " + createToken(t, e, id, login).Secret}}
}

// may returns a step with a request of the administrator that the API must permit. mayNot returns a step with a request that the API must
// reject with the status 403.
func (a admin) may(do, body string, more ...func(*apitest.Step)) apitest.Step {
	s := apitest.Step{Name: "may " + do, Do: do, Body: body, Header: a.header}
	for _, f := range more {
		f(&s)
	}
	return s
}

func (a admin) mayNot(do, body string) apitest.Step {
	return apitest.Step{Name: "may not " + do + body, Do: do, Body: body, Header: a.header, Status: 403, Code: "E0000006"}
}

func status(n int) func(*apitest.Step) { return func(s *apitest.Step) { s.Status = n } }

func equal(values map[string]any) func(*apitest.Step) {
	return func(s *apitest.Step) { s.Equal = values }
}

func lacks(paths ...string) func(*apitest.Step) { return func(s *apitest.Step) { s.Lacks = paths } }

// world has a user in a group and one outside of it, and the same for applications.
type world struct {
	*apitest.Env
	in, out, inner, outer, appIn, appOut string
}

func newWorld(t *testing.T, db *sqldb.DB) *world {
	e := apitest.New(t, db)
	w := &world{Env: e}
	w.inner = e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Inner"}}`, nil).Value("id")
	w.outer = e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Outer"}}`, nil).Value("id")
	w.in = e.Do(t, "POST /api/v1/users", inGroups("inside", w.inner), nil).Value("id")
	w.out = e.Do(t, "POST /api/v1/users", inGroups("outside", w.outer), nil).Value("id")
	w.appIn = e.Do(t, "POST /api/v1/apps", bookmark("In"), nil).Value("id")
	w.appOut = e.Do(t, "POST /api/v1/apps", bookmark("Out"), nil).Value("id")
	for _, id := range []string{w.inner, w.outer, w.in, w.out, w.appIn, w.appOut} {
		require.NotEmpty(t, id)
	}
	return w
}

// custom creates an administrator with a custom role.
func (w *world) custom(t *testing.T, name string, permissions, resources []string) admin {
	t.Helper()
	a := administrator(t, w.Env, name, "")
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/iam/roles",
			Body: fmt.Sprintf(`{"label":%q,"description":"x","permissions":[%s]}`, name, quoted(permissions))},
		apitest.Step{Do: "POST /api/v1/iam/resource-sets",
			Body: fmt.Sprintf(`{"label":%q,"description":"x","resources":[%s]}`, name, quoted(resources))},
		apitest.Step{Do: "POST /api/v1/users/" + a.id + "/roles", Body: fmt.Sprintf(`{"type":"CUSTOM","role":%q,"resource-set":%q}`, name, name),
			Status: 201},
	)
	return a
}

// give assigns a standard role with targets to an administrator; the paths of the targets follow "targets/".
func (w *world) give(t *testing.T, a admin, role string, targets ...string) {
	t.Helper()
	id := w.Do(t, "POST /api/v1/users/"+a.id+"/roles", `{"type":"`+role+`"}`, nil).Value("id")
	for _, target := range targets {
		w.Run(t, apitest.Step{Do: "PUT /api/v1/users/" + a.id + "/roles/" + id + "/targets/" + target, Status: 204})
	}
}

// serviceClient returns the body of a client.
func serviceClient(name string) string {
	return `{"client_name":"` + name + `","application_type":"service","grant_types":["client_credentials"],"response_types":["token"]}`
}

// client creates a client and returns its id.
func (w *world) client(t *testing.T, name string) string {
	t.Helper()
	return w.Do(t, "POST /oauth2/v1/clients", serviceClient(name), nil).Value("client_id")
}

// orgOf returns the id of the organization in ORNs.
func orgOf(t *testing.T, e *apitest.Env) string {
	t.Helper()
	return strings.Split(e.Do(t, "GET /api/v1/iam/assignees/users", "", nil).Value("value.0.orn"), ":")[3]
}

// Proves B-api-03, B-assignments-14, B-targets-19.
func TestRole_LimitedByGroupTargets(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		a := administrator(t, w.Env, "targeted", "USER_ADMIN")
		w.Run(t,
			a.may("GET /api/v1/users/"+w.out, ""),
			apitest.Step{Name: "the first target limits the role",
				Do:     "PUT /api/v1/users/" + a.id + "/roles/KVJUKUS7IFCE2SKO/targets/groups/" + w.inner,
				Status: 204},
			a.may("GET /api/v1/users/"+w.in, ""),
			a.may("GET /api/v1/users/inside", ""),
			a.mayNot("GET /api/v1/users/"+w.out, ""),
			a.mayNot("GET /api/v1/users/me", ""),
			a.may("GET /api/v1/users/00unobody", "", func(s *apitest.Step) { s.Status, s.Code = 404, "E0000007" }),
			a.may("GET /api/v1/users", "", equal(map[string]any{"#": 1, "0.id": w.in})),
			a.may("GET /api/v1/users?q=out", "", equal(map[string]any{"#": 0})),
			a.may("GET /api/v1/users?search=id+pr&sortBy=id", "", equal(map[string]any{"#": 1})),
			a.may("GET /api/v1/users?filter=status+eq+%22ACTIVE%22", "", equal(map[string]any{"#": 1})),
			a.may("GET /api/v1/groups", "", equal(map[string]any{"#": 1, "0.id": w.inner})),
			a.may("GET /api/v1/groups?search=id+pr", "", equal(map[string]any{"#": 1})),
			a.may("GET /api/v1/groups?filter=type+eq+%22SVC_GROUP%22", "", equal(map[string]any{"#": 1})),
			a.may("GET /api/v1/users/"+w.in+"/groups", "", equal(map[string]any{"#": 1, "0.id": w.inner})),
			a.may("GET /api/v1/groups/"+w.inner+"/users", "", equal(map[string]any{"#": 1})),
			a.mayNot("GET /api/v1/groups/"+w.outer, ""),
			a.mayNot("GET /api/v1/groups/"+w.outer+"/users", ""),
			a.may("POST /api/v1/users/"+w.in, `{"profile":{"nickName":"I"}}`),
			a.mayNot("POST /api/v1/users/"+w.out, `{"profile":{"nickName":"O"}}`),
			a.mayNot("POST /api/v1/users/"+w.out+"/lifecycle/suspend", ""),
			a.may("POST /api/v1/users/"+w.in+"/lifecycle/suspend", ""),
			a.may("POST /api/v1/users/"+w.in+"/lifecycle/unsuspend", ""),
			a.mayNot("PUT /api/v1/groups/"+w.outer+"/users/"+w.in, ""),
			a.mayNot("PUT /api/v1/groups/"+w.inner+"/users/"+w.out, ""),
			a.mayNot("GET /api/v1/users/"+w.out, ""),
			a.may("PUT /api/v1/groups/"+w.inner+"/users/"+w.in, "", status(204)),
			a.mayNot("POST /api/v1/users", inGroups("new1")),
			a.mayNot("POST /api/v1/users", inGroups("new2", w.outer)),
			a.mayNot("POST /api/v1/users", inGroups("new3", w.inner, w.outer)),
			a.may("POST /api/v1/users", inGroups("new4", w.inner)),
			a.mayNot("PUT /api/v1/groups/"+w.inner, `{"profile":{"name":"x"}}`),
			a.mayNot("GET /api/v1/groups/rules", ""),
			apitest.Step{Name: "no user was created", Do: "GET /api/v1/users/new3", Status: 404, Code: "E0000007"},
			a.may("GET /api/v1/apps", "", equal(map[string]any{"#": 2})),
		)
	})
}

func TestRole_LimitedByAppTargets(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := administrator(t, w.Env, "targeted", "APP_ADMIN")
	targets := "/api/v1/users/" + a.id + "/roles/IFIFAX2BIRGUSTQ/targets/catalog/apps/"
	w.Run(t,
		apitest.Step{Do: "PUT /api/v1/apps/" + w.appIn + "/groups/" + w.inner},
		apitest.Step{Do: "PUT /api/v1/apps/" + w.appOut + "/groups/" + w.inner},
		apitest.Step{Do: "PUT " + targets + "bookmark/" + w.appIn, Status: 204},
		a.may("GET /api/v1/apps", "", equal(map[string]any{"#": 1, "0.id": w.appIn})),
		a.may("GET /api/v1/apps?q=o", "", equal(map[string]any{"#": 0})),
		a.may("GET /api/v1/groups/"+w.inner+"/apps", "", equal(map[string]any{"#": 1, "0.id": w.appIn})),
		a.may("GET /api/v1/apps/"+w.appIn, ""),
		a.mayNot("GET /api/v1/apps/"+w.appOut, ""),
		a.mayNot("POST /api/v1/apps/"+w.appOut+"/users", `{"id":"`+w.in+`"}`),
		a.may("POST /api/v1/apps/"+w.appIn+"/users", `{"id":"`+w.out+`"}`),
		a.mayNot("POST /api/v1/apps", bookmark("New")),
		apitest.Step{Do: "PUT " + targets + "bookmark", Status: 204},
		a.may("GET /api/v1/apps/"+w.appOut, ""),
		a.may("POST /api/v1/apps", bookmark("New")),
		a.mayNot("POST /api/v1/apps", `{"label":"Custom","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://example.com"}}}`),
	)
}

// Proves B-api-03, B-permissions-28, B-permissions-31.
func TestRole_LimitedByResourceSet(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		users := w.custom(t, "members", []string{"svc.users.manage"}, []string{"/api/v1/groups/" + w.inner + "/users"})
		groups := w.custom(t, "group", []string{"svc.groups.manage", "svc.groups.create"}, []string{"/api/v1/groups/" + w.inner})
		both := w.custom(t, "both", []string{"svc.groups.members.manage", "svc.users.groupMembership.manage"},
			[]string{"/api/v1/groups/" + w.inner, "/api/v1/users"})
		creator := w.custom(t, "creator", []string{"svc.users.create"}, []string{"/api/v1/groups/" + w.inner})
		apps := w.custom(t, "apps", []string{"svc.apps.assignment.manage", "svc.users.appAssignment.manage"},
			[]string{"/api/v1/apps/" + w.appIn, "/api/v1/groups/" + w.inner + "/users"})
		helper := w.custom(t, "helper", []string{"svc.users.credentials.resetPassword"}, []string{"/api/v1/users"})
		w.Run(t,
			users.may("GET /api/v1/users", "", equal(map[string]any{"#": 1, "0.id": w.in})),
			users.may("POST /api/v1/users/"+w.in, `{"profile":{"nickName":"I"},"credentials":{"password":{"value":"Other-2026"}}}`),
			users.mayNot("GET /api/v1/users/"+w.out, ""),
			users.mayNot("DELETE /api/v1/users/"+w.out, ""),
			users.mayNot("GET /api/v1/groups", ""),
			users.mayNot("GET /api/v1/logs", ""),
			users.mayNot("PUT /api/v1/groups/"+w.inner+"/users/"+w.in, ""),
			users.may("POST /api/v1/users", inGroups("made", w.inner)),
			users.mayNot("POST /api/v1/users", inGroups("lost")),
			users.mayNot("POST /api/v1/users", inGroups("astray", w.inner, w.outer)),

			groups.may("GET /api/v1/groups", "", equal(map[string]any{"#": 1, "0.id": w.inner})),
			groups.may("PUT /api/v1/groups/"+w.inner, `{"profile":{"name":"Inner circle"}}`),
			groups.mayNot("PUT /api/v1/groups/"+w.outer, `{"profile":{"name":"x"}}`),
			groups.mayNot("POST /api/v1/groups", `{"profile":{"name":"x"}}`),
			groups.may("GET /api/v1/groups/"+w.inner+"/users", "", equal(map[string]any{"#": 0})),
			groups.mayNot("GET /api/v1/users", ""),
			groups.mayNot("PUT /api/v1/groups/"+w.inner+"/users/"+w.out, ""),

			both.may("PUT /api/v1/groups/"+w.inner+"/users/"+w.out, "", status(204)),
			both.may("DELETE /api/v1/groups/"+w.inner+"/users/"+w.out, "", status(204)),
			both.mayNot("PUT /api/v1/groups/"+w.outer+"/users/"+w.in, ""),
			both.may("GET /api/v1/users/"+w.out, ""),

			creator.may("POST /api/v1/users", inGroups("created", w.inner)),
			creator.mayNot("POST /api/v1/users", inGroups("nowhere")),
			creator.mayNot("GET /api/v1/users", ""),

			apps.may("GET /api/v1/apps", "", equal(map[string]any{"#": 1, "0.id": w.appIn})),
			apps.may("POST /api/v1/apps/"+w.appIn+"/users", `{"id":"`+w.in+`"}`),
			apps.mayNot("POST /api/v1/apps/"+w.appIn+"/users", `{"id":"`+w.out+`"}`),
			apps.mayNot("POST /api/v1/apps/"+w.appOut+"/users", `{"id":"`+w.in+`"}`),
			apps.may("DELETE /api/v1/apps/"+w.appIn+"/users/"+w.in, ""),
			apps.mayNot("PUT /api/v1/apps/"+w.appIn+"/groups/"+w.inner, ""),
			apps.mayNot("PUT /api/v1/apps/"+w.appIn, bookmark("x")),

			helper.may("POST /api/v1/users/"+w.out+"/lifecycle/reset_password?sendEmail=false", ""),
			helper.mayNot("POST /api/v1/users/"+w.out+"/lifecycle/expire_password", ""),
			helper.mayNot("GET /api/v1/users/"+w.out, ""),

			apitest.Step{Name: "a resource removed from the set", Do: "GET /api/v1/iam/resource-sets/group/resources",
				Save: map[string]string{"res": "resources.0.id"}},
			apitest.Step{Do: "DELETE /api/v1/iam/resource-sets/group/resources/{{res}}", Status: 204},
			groups.mayNot("GET /api/v1/groups/"+w.inner, ""),
			apitest.Step{Name: "a resource added to the set", Do: "PATCH /api/v1/iam/resource-sets/group/resources",
				Body: `{"additions":["/api/v1/groups"]}`},
			groups.may("GET /api/v1/groups/"+w.outer, ""),
			groups.may("POST /api/v1/groups", `{"profile":{"name":"Theirs"}}`),
			apitest.Step{Name: "a removed permission", Do: "DELETE /api/v1/iam/roles/group/permissions/svc.groups.manage", Status: 204},
			groups.mayNot("GET /api/v1/groups/"+w.outer, ""),
			groups.may("POST /api/v1/groups", `{"profile":{"name":"Theirs too"}}`),
		)
	})
}

func TestResourceSet_ExcludesResources(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	org := orgOf(t, w.Env)
	names := "orn:svc:directory:" + org
	a := w.custom(t, "most", []string{"svc.users.read", "svc.groups.manage", "svc.apps.read"},
		[]string{"orn:svc:iam:" + org + ":contained_resources"})
	add := func(resource, without string) apitest.Step {
		return apitest.Step{Do: "POST /api/v1/iam/resource-sets/most/resources",
			Body: `{"resourceOrnOrUrl":"` + resource + `","conditions":{"Exclude":{"svc:ORN":["` + without + `"]}}}`}
	}
	w.Run(t,
		a.mayNot("GET /api/v1/users", ""),
		add("/api/v1/users", names+":groups:"+w.inner+":contained_resources"),
		add("/api/v1/groups", names+":groups:"+w.outer),
		add("/api/v1/apps", "orn:svc:idp:"+org+":apps:bookmark:"+w.appOut),
		a.may("GET /api/v1/users/"+w.out, ""),
		a.mayNot("GET /api/v1/users/"+w.in, ""),
		a.may("GET /api/v1/users?q=ins", "", equal(map[string]any{"#": 0})),
		a.may("GET /api/v1/groups/"+w.inner, ""),
		a.mayNot("GET /api/v1/groups/"+w.outer, ""),
		a.may("GET /api/v1/groups", "", equal(map[string]any{"#": 2})),
		a.mayNot("POST /api/v1/groups", `{"profile":{"name":"x"}}`),
		a.may("GET /api/v1/apps", "", equal(map[string]any{"#": 1, "0.id": w.appIn})),
		a.mayNot("GET /api/v1/apps/"+w.appOut, ""),
		apitest.Step{Name: "a group of an exclusion cannot be deleted", Do: "DELETE /api/v1/groups/" + w.inner, Status: 403, Code: "E0000107"},
		apitest.Step{Name: "another group can be deleted", Do: "DELETE /api/v1/groups/" + w.outer, Status: 204},
		a.mayNot("GET /api/v1/users/"+w.in, ""),
		a.may("GET /api/v1/groups", "", equal(map[string]any{"#": 2})),
		apitest.Step{Name: "only resources of a collection can be excluded from it", Do: "POST /api/v1/iam/resource-sets/most/resources",
			Status: 400,
			Code:   "E0000001",
			Body: `{"resourceOrnOrUrl":"/api/v1/authorizationServers","conditions":{"Exclude":{"svc:ORN":["` + names + ":groups:" + w.inner +
				`"]}}}`},
	)
}

// TestRole_DeletedTarget verifies that deleting the targets of a role does not extend it to other resources.
func TestRole_DeletedTarget(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := administrator(t, w.Env, "users", "USER_ADMIN")
	b := administrator(t, w.Env, "apps", "APP_ADMIN")
	w.Run(t,
		apitest.Step{Do: "PUT /api/v1/users/" + a.id + "/roles/KVJUKUS7IFCE2SKO/targets/groups/" + w.inner, Status: 204},
		apitest.Step{Do: "PUT /api/v1/users/" + a.id + "/roles/KVJUKUS7IFCE2SKO/targets/groups/" + w.outer, Status: 204},
		apitest.Step{Do: "PUT /api/v1/users/" + b.id + "/roles/IFIFAX2BIRGUSTQ/targets/catalog/apps/bookmark/" + w.appIn, Status: 204},
		apitest.Step{Do: "DELETE /api/v1/groups/" + w.outer, Status: 204},
		a.may("GET /api/v1/users/"+w.in, ""), a.mayNot("GET /api/v1/users/"+w.out, ""),
		apitest.Step{Do: "DELETE /api/v1/groups/" + w.inner, Status: 204},
		a.mayNot("GET /api/v1/users/"+w.in, ""), a.mayNot("GET /api/v1/users", ""),
		apitest.Step{Do: "POST /api/v1/apps/" + w.appIn + "/lifecycle/deactivate"},
		apitest.Step{Do: "DELETE /api/v1/apps/" + w.appIn, Status: 204},
		b.mayNot("GET /api/v1/apps/"+w.appOut, ""), b.mayNot("GET /api/v1/apps", ""),
	)
}

// Proves B-permissions-04.
func TestConditions_HideAndForbidAttributes(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := w.custom(t, "veiled", []string{"svc.groups.read"}, []string{"/api/v1/users", "/api/v1/groups"})
	condition := func(kind, attribute string) string {
		return `{"conditions":{"` + kind + `":{"svc:ResourceAttribute/User/Profile":["` + attribute + `"]}}}`
	}
	user := "/api/v1/users/" + w.in
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/iam/roles/veiled/permissions/svc.users.read", Body: condition("include", "city"), Status: 204},
		a.may("GET "+user, "", equal(map[string]any{"profile.city": "Berlin", "profile.login": "inside@example.com", "profile.secondEmail": nil}),
			lacks("profile.costCenter")),
		a.may("GET /api/v1/users", "", lacks("1.profile.costCenter")),
		a.may("GET /api/v1/groups/"+w.inner+"/users", "", equal(map[string]any{"0.profile.city": "Berlin"}), lacks("0.profile.costCenter")),
		a.may("GET /api/v1/users?search=profile.city+eq+%22Berlin%22", ""),
		a.may("GET /api/v1/users?search=profile.costCenter+eq+%2242%22", "", func(s *apitest.Step) { s.Status, s.Code = 400, "E0000031" }),
		a.mayNot("POST "+user, `{"profile":{"city":"Rome"}}`),
		apitest.Step{Do: "POST /api/v1/iam/roles/veiled/permissions/svc.users.userprofile.manage", Body: condition("exclude", "costCenter"),
			Status: 204},
		a.may("POST "+user, `{"profile":{"city":"Rome"}}`, equal(map[string]any{"profile.city": "Rome"}), lacks("profile.costCenter")),
		a.mayNot("POST "+user, `{"profile":{"costCenter":"43"}}`),
		// 42 is the current value: a response 200 would tell the caller that the guess is right
		a.mayNot("POST "+user, `{"profile":{"costCenter":"42"}}`),
		a.mayNot("PUT "+user,
			`{"profile":{"login":"inside@example.com","email":"inside@example.com","firstName":"A","lastName":"B","costCenter":"42"}}`),
		// null is the value that a read returns to this caller
		a.may("POST "+user, `{"profile":{"costCenter":null,"secondEmail":null}}`, lacks("profile.costCenter")),
		a.mayNot("POST "+user, `{"profile":{"city":"Oslo"},"credentials":{"password":{"value":"Other-2026"}}}`),
		a.may("PUT "+user, `{"profile":{"login":"inside@example.com","email":"inside@example.com","firstName":"A","lastName":"C","city":"Bonn"}}`,
			lacks("profile.costCenter")),
		apitest.Step{Name: "hidden attributes survive a replacement", Do: "GET " + user,
			Equal: map[string]any{"profile.costCenter": "42", "profile.lastName": "C", "profile.city": "Bonn"}},
		apitest.Step{Name: "nor does a replacement by a caller who may change them remove them",
			Do: "PUT /api/v1/iam/roles/veiled/permissions/svc.users.userprofile.manage", Body: condition("exclude", "zipCode")},
		a.may("PUT "+user, `{"profile":{"login":"inside@example.com","email":"inside@example.com","firstName":"A","lastName":"C","city":"Bonn"}}`,
			lacks("profile.costCenter")),
		apitest.Step{Do: "GET " + user, Equal: map[string]any{"profile.costCenter": "42"}},
		apitest.Step{Do: "PUT /api/v1/iam/roles/veiled/permissions/svc.users.read", Body: condition("exclude", "city")},
		a.may("GET "+user, "", equal(map[string]any{"profile.costCenter": "42"}), lacks("profile.city")),
		apitest.Step{Name: "another role shows more attributes", Do: "POST /api/v1/users/" + a.id + "/roles", Body: `{"type":"REPORT_ADMIN"}`,
			Status: 201},
		a.may("GET "+user, "", equal(map[string]any{"profile.city": "Bonn"})),
	)
}

// TestRole_FollowsGroup verifies that users gain and lose the roles of their groups and that an ORG_ADMIN cannot gain higher ones.
func TestRole_FollowsGroup(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := administrator(t, w.Env, "member", "")
	boss := administrator(t, w.Env, "boss", "ORG_ADMIN")
	w.Run(t,
		a.mayNot("GET /api/v1/users", ""),
		apitest.Step{Do: "POST /api/v1/groups/" + w.outer + "/roles", Body: `{"type":"READ_ONLY_ADMIN"}`, Status: 201,
			Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "PUT /api/v1/groups/" + w.outer + "/users/" + a.id, Status: 204},
		a.may("GET /api/v1/users", ""),
		a.mayNot("POST /api/v1/groups", `{"profile":{"name":"x"}}`),
		boss.mayNot("PUT /api/v1/groups/"+w.outer+"/users/"+boss.id, ""),
		boss.mayNot("DELETE /api/v1/groups/"+w.outer, ""),
		boss.mayNot("POST /api/v1/users", inGroups("escalating", w.outer)),
		boss.mayNot("POST /api/v1/users/"+boss.id+"/roles", `{"type":"SUPER_ADMIN"}`),
		boss.may("GET /api/v1/users/"+a.id+"/roles", ""),
		boss.may("PUT /api/v1/groups/"+w.inner+"/users/"+boss.id, "", status(204)),
		apitest.Step{Name: "a user with a higher role is not changed", Do: "GET /api/v1/users/me", Save: map[string]string{"super": "id"},
			Then: func(t *testing.T, answer *apitest.Answer) {
				w.Run(t, boss.mayNot("POST /api/v1/users/"+answer.Value("id")+"/lifecycle/reset_password?sendEmail=false", ""),
					boss.may("GET /api/v1/users/"+answer.Value("id"), ""))
			}},
		apitest.Step{Do: "DELETE /api/v1/groups/" + w.outer + "/roles/{{id}}", Status: 204},
		a.mayNot("GET /api/v1/users", ""),
	)
}

func TestTokensOfOthers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	inside, outside := createToken(t, w.Env, w.in, "in").ID, createToken(t, w.Env, w.out, "out").ID
	a := w.custom(t, "tokens", []string{"svc.users.apitokens.manage"}, []string{"/api/v1/groups/" + w.inner + "/users"})
	boss := administrator(t, w.Env, "boss", "ORG_ADMIN")
	w.Run(t,
		a.may("GET /api/v1/api-tokens", "", equal(map[string]any{"#": 1, "0.id": inside})),
		a.may("GET /api/v1/api-tokens/"+inside, ""),
		a.mayNot("GET /api/v1/api-tokens/"+outside, ""),
		a.mayNot("DELETE /api/v1/api-tokens/"+outside, ""),
		a.may("DELETE /api/v1/api-tokens/"+inside, "", status(204)),
		boss.mayNot("GET /api/v1/api-tokens", ""),
		boss.may("DELETE /api/v1/api-tokens/current", "", status(204)),
	)
}

func TestDecisions_Explained(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), sandbox)
	w := &world{Env: e}
	w.inner = e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Inner"}}`, nil).Value("id")
	w.in = e.Do(t, "POST /api/v1/users", inGroups("inside", w.inner), nil).Value("id")
	w.out = e.Do(t, "POST /api/v1/users", inGroups("outside"), nil).Value("id")
	desk := administrator(t, e, "desk", "HELP_DESK_ADMIN")
	e.Run(t, apitest.Step{Do: "PUT /api/v1/users/" + desk.id + "/roles/JBCUYUC7IRCVGS27IFCE2SKO/targets/groups/" + w.inner, Status: 204})
	explain := func(query string) string { return "GET /sandbox/v1/authz/explain?" + query }
	e.Run(t,
		apitest.Step{Do: explain("user=desk&path=/api/v1/users/" + w.in),
			Equal: map[string]any{"allowed": true, "operation": "getUser", "scopes.0": "svc.users.read", "checks.0.roles.0.why": "met",
				"checks.0.roles.0.assignment": "JBCUYUC7IRCVGS27IFCE2SKO"}},
		apitest.Step{Do: explain("user=desk&path=/api/v1/users/outside"),
			Equal: map[string]any{"allowed": false, "checks.0.resource": w.out,
				"checks.0.roles.0.why": "the resource is not among the targets of the assignment"}},
		apitest.Step{Do: explain("user=desk&method=POST&path=/api/v1/groups"),
			Equal: map[string]any{"allowed": false, "checks.0.roles.0.why": "the role does not permit the operation",
				"reason": "No role meets the need of the last check: change groups."}},
		apitest.Step{Do: explain("user=desk&path=/api/v1/users/00unobody"), Equal: map[string]any{"allowed": true, "checks.0.exists": false}},
		apitest.Step{Do: explain("user=me&method=POST&path=/sandbox/v1/api-tokens"), Equal: map[string]any{"allowed": true}},
		apitest.Step{Do: explain("user=desk&method=POST&path=/sandbox/v1/api-tokens"),
			Equal: map[string]any{"allowed": false, "reason": "Only a SUPER_ADMIN may run the operation."}},
		apitest.Step{Do: explain("user=inside&path=/api/v1/users"), Equal: map[string]any{"allowed": false, "reason": "The caller has no role."}},
		apitest.Step{Do: explain("user=desk&method=POST&path=/api/v1/authn"),
			Equal: map[string]any{"allowed": true, "operation": "authenticate"}},
		apitest.Step{Name: "nobody", Do: explain("user=nobody&path=/api/v1/users"), Status: 404, Code: "E0000007"},
		apitest.Step{Do: explain("client=nobody&path=/api/v1/users"), Status: 404, Code: "E0000007"},
		apitest.Step{Name: "no one", Do: explain("path=/api/v1/users"), Status: 400, Code: "E0000001", Causes: []string{"user"}},
		apitest.Step{Name: "nothing", Do: explain("user=desk&path=/api/v1/nothing"), Status: 400, Code: "E0000001", Causes: []string{"path"}},
		desk.mayNot(explain("user=desk&path=/api/v1/users"), ""),
	)
}

func TestLastSuperAdmin_StaysActive(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	a, b := administrator(t, e, "a", "SUPER_ADMIN"), administrator(t, e, "b", "")
	built := e.Do(t, "GET /api/v1/users/me", "", nil).Value("id")
	role := e.Do(t, "GET /api/v1/users/me/roles", "", nil).Value("0.id")
	refused := func(who admin, verb string) apitest.Step {
		return apitest.Step{Name: "refused: " + verb, Do: "POST /api/v1/users/" + who.id + "/lifecycle/" + verb, Header: a.header, Status: 400,
			Code: "E0000001"}
	}
	e.Run(t,
		a.may("DELETE /api/v1/users/"+built+"/roles/"+role, "", status(204)),
		refused(a, "suspend"), refused(a, "deactivate"),
		apitest.Step{Name: "rejected immediately, not when it runs", Do: "POST /api/v1/users/" + a.id + "/lifecycle/deactivate",
			Header: map[string]string{"Authorization": a.header["Authorization"], "Prefer": "respond-async"}, Status: 400, Code: "E0000001"},
		a.may("POST /api/v1/groups", `{"profile":{"name":"Super"}}`, func(s *apitest.Step) { s.Save = map[string]string{"g": "id"} }),
		a.may("POST /api/v1/groups/{{g}}/roles", `{"type":"SUPER_ADMIN"}`, status(201)),
		a.may("PUT /api/v1/groups/{{g}}/users/"+b.id, "", status(204)),
		a.may("POST /api/v1/users/"+a.id+"/lifecycle/suspend", ""),
		apitest.Step{Name: "also through a group", Do: "POST /api/v1/users/" + b.id + "/lifecycle/suspend", Header: b.header, Status: 400,
			Code: "E0000001"},
		b.may("POST /api/v1/users/"+a.id+"/lifecycle/unsuspend", ""),
		b.may("POST /api/v1/users/"+b.id+"/lifecycle/suspend", ""),
	)
}
