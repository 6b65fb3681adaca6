package authz_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// callers holds the ids of callers whose decisions have different costs, by the description of their roles. The decisions are about the
// user subject and the groups mine and free.
type callers struct {
	*apitest.Env
	ids                 map[string]string
	subject, mine, free string
}

func newCallers(b *testing.B) *callers {
	e := apitest.New(b, sqldbtest.SQLite(b))
	c := &callers{Env: e, ids: map[string]string{"SUPER_ADMIN only": e.Do(b, "GET /api/v1/users/me", "", nil).Value("id")}}
	id := func(do, body string) string {
		id := e.Do(b, do, body, nil).Value("id")
		require.NotEmpty(b, id)
		return id
	}
	for i, name := range []string{"50 assignments", "1000 resources", "GROUP_MEMBERSHIP_ADMIN with targets", "USER_ADMIN with targets"} {
		c.ids[name] = id("POST /api/v1/users", person(fmt.Sprint("caller", i)))
	}
	c.mine, c.free = id("POST /api/v1/groups", `{"profile":{"name":"Mine"}}`), id("POST /api/v1/groups", `{"profile":{"name":"Free"}}`)
	c.subject = id("POST /api/v1/users", inGroups("subject", c.mine, c.free))
	require.NoError(b, e.Store.Update(b.Context(), func(tx *docstore.Tx) error {
		ctx := b.Context()
		join := func(group, user string) {
			_, err := e.Model.Memberships.Insert(ctx, tx, model.MembershipID(group, user), model.Membership{Group: group, User: user})
			require.NoError(b, err)
		}
		assign := func(kind model.AssigneeKind, assignee string, role model.RoleType, groups ...string) {
			a := model.RoleAssignment{ID: model.NewSecret(10), Type: role, Kind: kind, Assignee: assignee}
			for i, group := range groups {
				a.Targets = append(a.Targets, model.RoleTarget{Number: i + 1, Group: group})
			}
			_, err := e.Model.RoleAssignments.Insert(ctx, tx, model.RoleAssignmentID(assignee, role), a)
			require.NoError(b, err)
		}
		for i := range 20 {
			join(fmt.Sprintf("00gother%d", i), c.subject)
		}
		for i := range 49 {
			group, targets := fmt.Sprintf("00gadmins%d", i), []string{}
			for n := range 100 {
				targets = append(targets, fmt.Sprintf("00g%d-%d", i, n))
			}
			join(group, c.ids["50 assignments"])
			assign(model.AssigneeGroup, group, model.RoleUserAdmin, targets...)
		}
		assign(model.AssigneeUser, c.ids["50 assignments"], model.RoleUserAdmin, c.mine)
		assign(model.AssigneeUser, c.ids["GROUP_MEMBERSHIP_ADMIN with targets"], model.RoleMembershipAdmin, c.mine, c.free)
		assign(model.AssigneeUser, c.ids["USER_ADMIN with targets"], model.RoleUserAdmin, c.mine, c.free)
		role, err := e.Model.CustomRoles.Insert(ctx, tx, model.NewID(model.KindCustomRole),
			model.CustomRole{Label: "R", Permissions: []model.RolePermission{{Name: authz.UsersManage}}})
		require.NoError(b, err)
		set, err := e.Model.ResourceSets.Insert(ctx, tx, model.NewID(model.KindResourceSet), model.ResourceSet{Label: "S"})
		require.NoError(b, err)
		org, err := deps(e).Org(ctx, tx)
		require.NoError(b, err)
		for i := range 1000 {
			group := c.mine
			if i < 999 {
				group = fmt.Sprintf("00gset%d", i)
			}
			_, err := e.Model.SetResources.Insert(ctx, tx, model.NewID(model.KindSetResource),
				model.SetResource{Set: set.ID, ORN: authz.OfMembers(group).ORN(org.ID)})
			require.NoError(b, err)
		}
		_, err = e.Model.RoleMembers.Insert(ctx, tx, model.NewID(model.KindRoleMember),
			model.RoleMember{Role: role.ID, Set: set.ID, Kind: model.AssigneeUser, Assignee: c.ids["1000 resources"]})
		return err
	}))
	return c
}

// changesUser is the operation of the decisions.
func changesUser(do func(context.Context) error) rest.Route {
	type request struct {
		User string `path:"user"`
	}
	return rest.Op[request, rest.NoContent]{
		ID: "changeUser", Route: "PUT /api/v1/users/{user}", Tag: "User", Summary: "Change a user", Scopes: []string{"svc.users.manage"},
		Do: func(ctx context.Context, _ *request) (rest.NoContent, error) { return rest.NoContent{}, do(ctx) },
	}
}

// BenchmarkDecision measures a decision with loaded roles.
func BenchmarkDecision(b *testing.B) {
	c := newCallers(b)
	loader := authz.NewLoader(deps(c.Env))
	needs, ok := authz.NeedsOf("PUT", "/api/v1/users/{user}")
	require.True(b, ok)
	groups := []string{c.mine}
	for i := range 20 {
		groups = append([]string{fmt.Sprintf("00gother%d", i)}, groups...)
	}
	r := &authz.Resource{Kind: authz.KindUser, ID: c.subject, Groups: groups}
	for _, name := range []string{"50 assignments", "1000 resources"} {
		access, err := loader.User(b.Context(), c.Store.Reader(), c.ids[name])
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range needs {
					if !access.Meets(&needs[i], r) {
						b.Fatal("refused")
					}
				}
			}
		})
	}
}

func BenchmarkNeeds(b *testing.B) {
	for b.Loop() {
		if _, ok := authz.NeedsOf("GET", "/api/v1/logs"); !ok {
			b.Fatal("no rule")
		}
	}
}

// caller is a rest.Guard for benchmarks: every request has the caller with this id, without a token.
type caller struct {
	*authz.Authorizer
	id string
}

func (c caller) Authenticate(*http.Request) (rest.Principal, error) {
	return rest.Principal{UserID: c.id}, nil
}

type unlimited struct{}

func (unlimited) Take(string, string) rest.Quota { return rest.Quota{} }

// BenchmarkDecisionWithLoading measures the cost per request: reading the roles of the caller and the properties of the user.
func BenchmarkDecisionWithLoading(b *testing.B) {
	c := newCallers(b)
	authorizer := authz.New(deps(c.Env))
	for _, name := range []string{"SUPER_ADMIN only", "USER_ADMIN with targets", "50 assignments", "1000 resources"} {
		b.Run(name, func(b *testing.B) {
			done := 0
			handler, err := rest.NewHandler([]rest.Route{changesUser(func(context.Context) error { done++; return nil })},
				rest.Options{Guard: caller{authorizer, c.ids[name]}, Limiter: unlimited{}})
			require.NoError(b, err)
			b.ReportAllocs()
			asked := 0
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodPut, "/api/v1/users/"+c.subject, nil))
				asked++
			}
			require.Equal(b, asked, done, "all are allowed")
		})
	}
}

// BenchmarkMembership adds a user to a group and removes it again over HTTP. The callers other than the SUPER_ADMIN have targets, so that
// each request also checks whether the change of the membership would extend their permissions.
func BenchmarkMembership(b *testing.B) {
	c := newCallers(b)
	for _, name := range []string{"SUPER_ADMIN only", "GROUP_MEMBERSHIP_ADMIN with targets", "USER_ADMIN with targets"} {
		token, err := apitokens.New(deps(c.Env)).Create(b.Context(), name, c.ids[name])
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, method := range []string{http.MethodDelete, http.MethodPut} {
					r, err := http.NewRequestWithContext(b.Context(), method, c.Server.URL+"/api/v1/groups/"+c.mine+"/users/"+c.subject, nil)
					require.NoError(b, err)
					r.Header.Set("Authorization", "SSWS "+token.Secret)
					answer, err := http.DefaultClient.Do(r)
					require.NoError(b, err)
					_, _ = io.Copy(io.Discard, answer.Body)
					require.NoError(b, answer.Body.Close())
					if answer.StatusCode != http.StatusNoContent {
						b.Fatal(answer.Status)
					}
				}
			}
		})
	}
}
