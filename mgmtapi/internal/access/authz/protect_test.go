package authz_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// changesUser reports whether an operation changes the user in its first path variable.
func (c cells) changesUser() bool {
	return c.method != "GET" &&
		(c.path == "/api/v1/users/{}" || strings.HasPrefix(c.path, "/api/v1/users/{}/") && !strings.HasPrefix(c.path, "/api/v1/users/{}/roles"))
}

// TestRoleHolders_Protected verifies that only a SUPER_ADMIN, or an ORG_ADMIN with at least the same permissions, may change a user with a
// role.
func TestRoleHolders_Protected(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	authorizer, rows := authz.New(deps(w.Env)), matrix(t)
	all := []string{"/api/v1/users", "/api/v1/groups"}
	callers := map[string]string{
		"super": administrator(t, w.Env, "super", "SUPER_ADMIN").id, "org": administrator(t, w.Env, "org", "ORG_ADMIN").id,
		"users": administrator(t, w.Env, "users", "USER_ADMIN").id, "desk": administrator(t, w.Env, "desk", "HELP_DESK_ADMIN").id,
		"custom": w.custom(t, "custom", []string{"svc.users.manage"}, all).id,
	}
	viaGroup := administrator(t, w.Env, "member", "").id
	holders := map[string]struct {
		id string
		by string // callers that may change the user
	}{
		"a SUPER_ADMIN":               {administrator(t, w.Env, "boss", "SUPER_ADMIN").id, "super"},
		"an ORG_ADMIN":                {administrator(t, w.Env, "chief", "ORG_ADMIN").id, "super org"},
		"a USER_ADMIN":                {administrator(t, w.Env, "clerk", "USER_ADMIN").id, "super org"},
		"a HELP_DESK_ADMIN":           {administrator(t, w.Env, "helper", "HELP_DESK_ADMIN").id, "super org"},
		"a GROUP_MEMBERSHIP_ADMIN":    {administrator(t, w.Env, "usher", "GROUP_MEMBERSHIP_ADMIN").id, "super org"},
		"a READ_ONLY_ADMIN":           {administrator(t, w.Env, "reader", "READ_ONLY_ADMIN").id, "super org"},
		"an APP_ADMIN":                {administrator(t, w.Env, "keeper", "APP_ADMIN").id, "super"},
		"an API administrator":        {administrator(t, w.Env, "issuer", "API_ACCESS_MANAGEMENT_ADMIN").id, "super"},
		"one with a custom role":      {w.custom(t, "special", []string{"svc.users.read"}, all).id, "super"},
		"an APP_ADMIN through groups": {viaGroup, "super"},
		"one without any role":        {w.in, "super org users desk custom"},
	}
	w.Run(t,
		apitest.Step{Do: "PUT /api/v1/groups/" + w.outer + "/users/" + viaGroup, Status: 204},
		apitest.Step{Do: "POST /api/v1/groups/" + w.outer + "/roles", Body: `{"type":"APP_ADMIN"}`, Status: 201},
	)
	for name, holder := range holders {
		for caller, id := range callers {
			access, err := authorizer.User(t.Context(), w.Store.Reader(), id)
			require.NoError(t, err)
			allowed := func(row cells, user string) bool {
				x := &things{user: user, group: w.inner, app: w.appIn}
				d, err := authorizer.Explain(t.Context(), w.Store.Reader(), access, row.info(), x.place(row.path))
				require.NoError(t, err)
				return d.Allowed
			}
			for key, row := range rows {
				if row.changesUser() {
					// a change of the holder is permitted only if a change of an ordinary user is
					want := allowed(row, w.in) && strings.Contains(holder.by, caller)
					require.Equal(t, want, allowed(row, holder.id), "%s: %s to %s", caller, key, name)
					require.Equal(t, allowed(row, w.in), allowed(row, id), "%s: %s to itself", caller, key)
				}
			}
		}
	}
	// The API makes the same decisions for requests, including those that change memberships.
	desk := administrator(t, w.Env, "desk2", "HELP_DESK_ADMIN")
	usher := administrator(t, w.Env, "usher2", "GROUP_MEMBERSHIP_ADMIN")
	chief := holders["an ORG_ADMIN"].id
	w.Run(t,
		desk.mayNot("POST /api/v1/users/"+chief+"/lifecycle/reset_password?sendEmail=false", ""),
		desk.mayNot("DELETE /api/v1/users/"+chief+"/sessions", ""),
		desk.may("POST /api/v1/users/"+w.in+"/lifecycle/reset_password?sendEmail=false", ""),
		usher.mayNot("PUT /api/v1/groups/"+w.inner+"/users/"+chief, ""),
		usher.may("PUT /api/v1/groups/"+w.inner+"/users/"+w.in, "", status(204)),
		usher.mayNot("DELETE /api/v1/groups/"+w.outer+"/users/"+w.out, ""),
		usher.mayNot("PUT /api/v1/groups/"+w.outer+"/users/"+w.in, ""),
	)
}

// TestRoleHolders_ClientWithoutRole verifies that a client without a role may change users but not administrators.
func TestRoleHolders_ClientWithoutRole(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	desk := administrator(t, w.Env, "desk", "HELP_DESK_ADMIN")
	authorizer := authz.New(deps(w.Env))
	access, err := authorizer.Client(t.Context(), w.Store.Reader(), model.NewID(model.KindApp))
	require.NoError(t, err)
	for user, want := range map[string]bool{w.in: true, desk.id: false} {
		d, err := authorizer.Explain(t.Context(), w.Store.Reader(), access, rest.Info{Method: "POST", Path: "/api/v1/users/{user}"},
			func(string) string { return user })
		require.NoError(t, err)
		require.Equal(t, want, d.Allowed)
	}
}

// TestMembership_NoEscalation verifies that administrators cannot extend their permissions over users by changing group memberships.
func TestMembership_NoEscalation(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	org := orgOf(t, w.Env)
	target := func(a admin, role string) apitest.Step {
		return apitest.Step{Do: "PUT /api/v1/users/" + a.id + "/roles/" + role + "/targets/groups/" + w.inner, Status: 204}
	}
	role := func(a admin, role string) string {
		t.Helper()
		id := w.Do(t, "POST /api/v1/users/"+a.id+"/roles", `{"type":"`+role+`"}`, nil).Value("id")
		require.NotEmpty(t, id)
		return id
	}
	usher := administrator(t, w.Env, "usher", "")
	w.Run(t, target(usher, role(usher, "GROUP_MEMBERSHIP_ADMIN")))
	both := administrator(t, w.Env, "both", "GROUP_MEMBERSHIP_ADMIN")
	w.Run(t, target(both, role(both, "HELP_DESK_ADMIN")))
	// this caller may already change all users, so the membership gives it no further permission
	more := administrator(t, w.Env, "more", "USER_ADMIN")
	w.Run(t, target(more, role(more, "HELP_DESK_ADMIN")))
	mixed := w.custom(t, "mixed", []string{"svc.users.lifecycle.manage"}, []string{"/api/v1/groups/" + w.inner + "/users"})
	role(mixed, "GROUP_MEMBERSHIP_ADMIN")
	freed := w.custom(t, "freed", []string{"svc.users.manage"}, []string{"orn:svc:iam:" + org + ":contained_resources"})
	role(freed, "GROUP_MEMBERSHIP_ADMIN")
	in, out := "PUT /api/v1/groups/"+w.inner+"/users/"+w.out, "DELETE /api/v1/groups/"+w.inner+"/users/"+w.out
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/iam/resource-sets/freed/resources",
			Body: `{"resourceOrnOrUrl":"/api/v1/users","conditions":{"Exclude":{"svc:ORN":["orn:svc:directory:` + org + `:groups:` + w.inner +
				`:contained_resources"]}}}`},
		usher.may(in, "", status(204)), // the membership only permits the caller to read the user
		freed.mayNot("POST /api/v1/users/"+w.out, `{"profile":{"city":"Rome"}}`),
		// rejected: the set of this role excludes the members of the group, so the removal would let the caller change the user
		freed.mayNot(out, ""),
		usher.mayNot("POST /api/v1/users/"+w.out+"/lifecycle/suspend", ""),
		usher.may(out, "", status(204)),
		freed.may("POST /api/v1/users/"+w.out, `{"profile":{"city":"Rome"}}`),
		both.mayNot(in, ""), mixed.mayNot(in, ""),
		both.may("PUT /api/v1/groups/"+w.outer+"/users/"+w.in, "", status(204)),
		both.may("PUT /api/v1/groups/"+w.inner+"/users/"+w.in, "", status(204)),
		both.may("PUT /api/v1/groups/"+w.inner+"/users/00unobody", "", func(s *apitest.Step) { s.Status, s.Code = 404, "E0000007" }),
		more.may(in, "", status(204)), more.may(out, "", status(204)),
	)
	authorizer := authz.New(deps(w.Env))
	access, err := authorizer.User(t.Context(), w.Store.Reader(), both.id)
	require.NoError(t, err)
	d, err := authorizer.Explain(t.Context(), w.Store.Reader(), access,
		rest.Info{Method: "PUT", Path: "/api/v1/groups/{groupId}/users/{userId}"}, func(name string) string {
			return map[string]string{"groupId": w.inner, "userId": w.out}[name]
		})
	require.NoError(t, err)
	require.Contains(t, d.Checks[1].Grants, authz.WhyEscalates)
}

// TestGroupRule_RequiresMembershipPermission verifies that changing group rules requires the permission to manage the memberships of all
// users.
func TestGroupRule_RequiresMembershipPermission(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	body := func(name, group string) string {
		return fmt.Sprintf(`{"type":"group_rule","name":%q,"conditions":{"people":{"users":{"exclude":[]},"groups":{"exclude":[]}},`+
			`"expression":{"value":"user.city == \"Berlin\""}},"actions":{"assignUserToGroups":{"groupIds":[%q]}}}`, name, group)
	}
	all, permissions := []string{"/api/v1/users", "/api/v1/groups"}, []string{"svc.groups.manage", "svc.users.groupMembership.manage"}
	groups := w.custom(t, "groups", permissions[:1], all)
	both := w.custom(t, "both", permissions, all)
	some := w.custom(t, "some", permissions, []string{"/api/v1/groups", "/api/v1/groups/" + w.inner + "/users"})
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/groups/rules", Body: body("Made", w.inner), Save: map[string]string{"made": "id"}},
		groups.mayNot("POST /api/v1/groups/rules", body("G", w.inner)), some.mayNot("POST /api/v1/groups/rules", body("S", w.inner)),
		both.may("POST /api/v1/groups/rules", body("B", w.inner), func(s *apitest.Step) { s.Save = map[string]string{"r": "id"} }),
		groups.mayNot("POST /api/v1/groups/rules/{{r}}/lifecycle/activate", ""),
		groups.mayNot("PUT /api/v1/groups/rules/{{r}}", body("B", w.inner)),
		groups.mayNot("DELETE /api/v1/groups/rules/{{r}}?removeUsers=true", ""),
		groups.may("GET /api/v1/groups/rules/{{r}}", ""),
		both.may("PUT /api/v1/groups/rules/{{r}}", body("B2", w.inner)), both.may("DELETE /api/v1/groups/rules/{{r}}", "", status(202)),
		apitest.Step{Name: "after assigning a role for the members", Do: "POST /api/v1/iam/resource-sets",
			Body: `{"label":"Members","description":"x","resources":["/api/v1/groups/` + w.inner + `/users"]}`},
		apitest.Step{Do: "POST /api/v1/iam/roles",
			Body: `{"label":"Passwords","description":"x","permissions":["svc.users.credentials.manage"]}`},
		apitest.Step{Do: "POST /api/v1/users/" + both.id + "/roles", Body: `{"type":"CUSTOM","role":"Passwords","resource-set":"Members"}`,
			Status: 201},
		both.mayNot("POST /api/v1/groups/rules", body("B3", w.inner)), both.may("POST /api/v1/groups/rules", body("B4", w.outer)),
		both.mayNot("PUT /api/v1/groups/rules/{{made}}", body("Made", w.inner)),
		both.mayNot("POST /api/v1/groups/rules/{{made}}/lifecycle/activate", ""),
		apitest.Step{Name: "no membership was changed", Do: "GET /api/v1/groups/" + w.inner + "/users", Equal: map[string]any{"#": 1}},
	)
}
