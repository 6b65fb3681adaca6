package authz_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func TestResourceSet_AuthorizationServers(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	const servers = "/api/v1/authorizationServers"
	server := func(name string) string {
		return w.Do(t, "POST "+servers, `{"name":"`+name+`","description":"d","audiences":["a"]}`, nil).Value("id")
	}
	one, other := server("one"), server("other")
	standard := w.Do(t, "GET "+servers+"/default", "", nil).Value("id")
	some := w.custom(t, "some", []string{"svc.authzServers.manage"}, []string{servers + "/" + one, servers + "/default"})
	w.Run(t,
		apitest.Step{Name: "the set refers to the server by its id", Do: "GET /api/v1/iam/resource-sets/some/resources",
			Equal: map[string]any{"resources.#": 2}},
		some.may("GET "+servers, "", equal(map[string]any{"#": 2, "0.id": standard, "1.id": one})),
		some.may("GET "+servers+"/default", ""),
		some.may("GET "+servers+"/"+standard, ""),
		some.mayNot("GET "+servers+"/"+other, ""),
		some.mayNot("DELETE "+servers+"/"+other, ""),
		some.mayNot("POST "+servers, `{"name":"x","description":"d","audiences":["a"]}`),
		some.may("POST "+servers+"/"+one+"/scopes", `{"name":"s"}`, status(201)),
		some.may("DELETE "+servers+"/"+one, "", status(204)),
		apitest.Step{Name: "deleted servers are removed from the sets", Do: "GET /api/v1/iam/resource-sets/some/resources",
			Equal: map[string]any{"resources.#": 1}},
		apitest.Step{Do: "POST /api/v1/iam/resource-sets", Body: `{"label":"gone","description":"x","resources":["` + servers + "/" + one + `"]}`,
			Status: 400, Code: "E0000001", Causes: []string{"resources"}},
	)
	most := w.custom(t, "most", []string{"svc.authzServers.read"}, []string{"/api/v1/users"})
	org := w.Do(t, "GET /api/v1/iam/resource-sets/some/resources", "", nil).Value("resources.0.orn")
	w.Run(t,
		apitest.Step{Do: "POST /api/v1/iam/resource-sets/most/resources",
			Body: `{"resourceOrnOrUrl":"` + servers + `","conditions":{"Exclude":{"svc:ORN":["` + org + `"]}}}`},
		most.may("GET "+servers, "", equal(map[string]any{"#": 1, "0.id": other})),
		most.mayNot("GET "+servers+"/"+standard, ""),
		most.mayNot("GET "+servers+"/default", ""),
		most.may("GET "+servers+"/"+other, ""),
	)
}

// TestClients_AuthorizedAsApps verifies that permissions for applications also apply to OAuth clients.
func TestClients_AuthorizedAsApps(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	one, other := w.client(t, "One"), w.client(t, "Other")
	targeted := administrator(t, w.Env, "targeted", "APP_ADMIN")
	kind := w.custom(t, "kind", []string{"svc.apps.manage"}, []string{`/api/v1/apps?filter=name eq "oidc_client"`})
	access := administrator(t, w.Env, "access", "API_ACCESS_MANAGEMENT_ADMIN")
	w.Run(t,
		apitest.Step{Do: "PUT /api/v1/users/" + targeted.id + "/roles/IFIFAX2BIRGUSTQ/targets/catalog/apps/oidc_client/" + one, Status: 204},
		targeted.may("GET /oauth2/v1/clients", "", equal(map[string]any{"#": 1, "0.client_id": one})),
		targeted.mayNot("POST /oauth2/v1/clients", serviceClient("New")),
		targeted.may("PUT /oauth2/v1/clients/"+one, serviceClient("Renamed")),
		targeted.mayNot("PUT /oauth2/v1/clients/"+other, serviceClient("x")),
		kind.may("POST /oauth2/v1/clients", serviceClient("New"), status(201)),
		kind.may("GET /oauth2/v1/clients", "", equal(map[string]any{"#": 3})),
		kind.mayNot("POST /api/v1/apps", bookmark("x")),
		access.may("POST /oauth2/v1/clients", serviceClient("Newer"), status(201)),
		access.may("POST /api/v1/apps/"+one+"/users", `{"id":"`+w.in+`"}`),
		access.may("PUT /api/v1/apps/"+one+"/groups/"+w.inner, ""),
		access.mayNot("POST /api/v1/apps/"+w.appIn+"/users", `{"id":"`+w.in+`"}`),
	)
	grant := `{"scopeId":"svc.users.manage","issuer":"` + w.Server.URL + `"}`
	w.Run(t,
		targeted.mayNot("POST /api/v1/apps/"+one+"/grants", grant),
		access.mayNot("POST /api/v1/apps/"+one+"/grants", grant),
		apitest.Step{Do: "POST /api/v1/apps/" + one + "/grants", Body: grant, Status: 201},
		apitest.Step{Name: "the client's secret would permit more than the roles", Do: "GET /api/v1/apps/" + one},
		targeted.mayNot("PUT /oauth2/v1/clients/"+one, serviceClient("Mine")),
		access.mayNot("POST /api/v1/apps/"+one+"/lifecycle/deactivate", ""),
		access.may("GET /api/v1/apps/"+one, "", lacks("credentials.oauthClient.client_secret")),
		targeted.may("GET /api/v1/apps/"+one, "", lacks("credentials.oauthClient.client_secret")),
		administrator(t, w.Env, "reader", "READ_ONLY_ADMIN").may("GET /api/v1/apps/"+other, "", lacks("credentials.oauthClient.client_secret")),
		access.may("GET /api/v1/apps/"+other, "", func(s *apitest.Step) { s.Has = []string{"credentials.oauthClient.client_secret"} }),
	)
}

// TestGroupPush_RequiresGroupPermission verifies that a push mapping requires permissions for the application and for the group.
func TestGroupPush_RequiresGroupPermission(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	apps := w.custom(t, "apps", []string{"svc.apps.manage"}, []string{"/api/v1/apps", "/api/v1/groups"})
	both := w.custom(t, "both", []string{"svc.apps.manage", "svc.groups.appAssignment.manage"},
		[]string{"/api/v1/apps", "/api/v1/groups/" + w.inner})
	push := func(group string) string { return `{"sourceGroupId":"` + group + `","targetGroupName":"G"}` }
	at := "POST /api/v1/apps/" + w.appIn + "/group-push/mappings"
	// the authorization succeeds, and the operation then fails because no connection is configured
	past := func(s *apitest.Step) { s.Status, s.Code = 400, "E0000001" }
	w.Run(t,
		apps.mayNot(at, push(w.inner)),
		both.mayNot(at, push(w.outer)),
		both.may(at, push(w.inner), past),
		administrator(t, w.Env, "pusher", "APP_ADMIN").may(at, push(w.outer), past),
	)
}
