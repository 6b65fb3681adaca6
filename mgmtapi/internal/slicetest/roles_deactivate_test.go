package slicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const revoked = "GET /api/v1/logs?sortOrder=ASCENDING&filter=eventType+eq+%22user.account.privilege.revoke%22"

// holder creates a user with a standard role that has a target, a custom role, and a group that has a role.
func holder(t *testing.T, e *apitest.Env) map[string]string {
	t.Helper()
	return e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Target"}}`, Save: map[string]string{"target": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Admins"}}`, Save: map[string]string{"admins": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"USER_ADMIN"}`, Status: 201},
		apitest.Step{Do: "PUT /api/v1/users/{{u}}/roles/" + userAdmin + "/targets/groups/{{target}}", Status: 204},
		apitest.Step{Do: "POST /api/v1/iam/roles", Body: `{"label":"R","description":"x","permissions":["svc.users.read"]}`,
			Save: map[string]string{"r": "id"}},
		apitest.Step{Do: "POST /api/v1/iam/resource-sets", Body: `{"label":"S","description":"x","resources":["/api/v1/users"]}`,
			Save: map[string]string{"set": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"CUSTOM","role":"R","resource-set":"S"}`, Status: 201},
		apitest.Step{Do: "POST /api/v1/groups/{{admins}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 201},
		apitest.Step{Do: "PUT /api/v1/groups/{{admins}}/users/{{u}}", Status: 204},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles", Equal: map[string]any{"#": 3}},
	)
}

func TestDeactivation_RevokesRoles(t *testing.T) {
	async := map[string]string{"Prefer": "respond-async"}
	for name, way := range map[string]apitest.Step{
		"deactivate":       {Do: "POST /api/v1/users/ann/lifecycle/deactivate"},
		"deactivate later": {Do: "POST /api/v1/users/ann/lifecycle/deactivate", Header: async},
		"delete":           {Do: "DELETE /api/v1/users/ann", Status: 204},
		"delete later":     {Do: "DELETE /api/v1/users/ann", Status: 204, Header: async},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db)
				saved := holder(t, e)
				at := "/api/v1/users/" + saved["u"]
				e.Run(t, apitest.Step{Do: "DELETE /api/v1/iam/roles/R", Status: 400, Code: "E0000001"}, way)
				e.Work(t)
				none := apitest.Step{Do: "GET " + at + "/roles", Equal: map[string]any{"#": 0}}
				e.Run(t,
					apitest.Step{Do: "GET " + at, Equal: map[string]any{"status": "DEPROVISIONED"}}, none,
					apitest.Step{Do: revoked, Equal: map[string]any{
						"#": 2, "0.target.0.id": saved["u"], "0.target.0.alternateId": "ann@example.com", "0.target.1.id": "USER_ADMIN",
						"0.outcome.result": "SUCCESS",
						"1.target.0.id":    saved["u"], "1.target.1.id": saved["r"], "1.target.2.id": saved["set"],
					}},
					apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22iam.resourceset.bindings.delete%22", Equal: map[string]any{"#": 1}},
					apitest.Step{Do: "GET /api/v1/groups/" + saved["admins"] + "/users", Equal: map[string]any{"#": 0}},
					apitest.Step{Do: "GET /api/v1/iam/assignees/users", Equal: map[string]any{"value.#": 1}},
					apitest.Step{Name: "a role that no other user holds can be deleted", Do: "DELETE /api/v1/iam/roles/R", Status: 204},
					apitest.Step{Name: "no role for a DEPROVISIONED user", Do: "POST " + at + "/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 403,
						Code: "E0000038"},
					apitest.Step{Do: "POST /api/v1/iam/roles", Body: `{"label":"Q","description":"x","permissions":["svc.users.read"]}`},
					apitest.Step{Name: "nor through a binding", Do: "POST /api/v1/iam/resource-sets/S/bindings",
						Body: `{"role":"Q","members":["` + at + `"]}`, Status: 403, Code: "E0000038"},
					apitest.Step{Do: "POST " + at + "/lifecycle/activate"}, none,
					apitest.Step{Do: "GET " + at, Equal: map[string]any{"status": "ACTIVE"}},
					apitest.Step{Name: "the targets do not return with a new assignment", Do: "POST " + at + "/roles", Body: `{"type":"USER_ADMIN"}`,
						Status: 201},
					apitest.Step{Do: "GET " + at + "/roles/" + userAdmin + "/targets/groups", Equal: map[string]any{"#": 0}},
				)
			})
		})
	}
}

func TestActivation_KeepsRolesOfStagedUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: rolePerson("ann"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/roles", Body: `{"type":"ORG_ADMIN"}`, Status: 201},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate"},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/roles", Equal: map[string]any{"#": 1}},
	)
}

// An earlier version left the roles of a DEPROVISIONED user stored.
func TestStoredRoles_OfDeprovisionedUser(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, e *apitest.Env){
		"activation": func(*testing.T, *apitest.Env) {},
		"start": func(t *testing.T, e *apitest.Env) {
			require.NoError(t, e.API.Setup(t.Context(), assembly.Setup{Token: apitest.Token}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db)
				saved := holder(t, e)
				user, role, set := saved["u"], saved["r"], saved["set"]
				e.Run(t, apitest.Step{Do: "POST /api/v1/users/ann/lifecycle/deactivate"})
				require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
					_, err := e.Model.RoleMembers.Insert(t.Context(), tx, model.NewID(model.KindRoleMember), model.RoleMember{
						Role: role, Set: set, Kind: model.AssigneeUser, Assignee: user,
					})
					if err != nil {
						return err
					}
					_, err = e.Model.RoleAssignments.Insert(t.Context(), tx, model.RoleAssignmentID(user, model.RoleSuperAdmin), model.RoleAssignment{
						ID: "ra1", Type: model.RoleSuperAdmin, Kind: model.AssigneeUser, Assignee: user,
					})
					return err
				}))
				end(t, e)
				if name == "start" {
					e.Run(t, apitest.Step{Do: "DELETE /api/v1/iam/roles/R", Status: 204})
				}
				e.Run(t,
					apitest.Step{Do: "POST /api/v1/users/ann/lifecycle/activate"},
					apitest.Step{Do: "GET /api/v1/users/ann/roles", Equal: map[string]any{"#": 0}},
					apitest.Step{Do: revoked, Equal: map[string]any{"#": 4}},
				)
			})
		})
	}
}
