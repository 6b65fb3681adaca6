package mgmtapi_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

func TestOpenAPI_Deterministic(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	first, err := e.API.OpenAPI()
	require.NoError(t, err)
	for range 3 {
		again, err := e.API.OpenAPI()
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
	}
	require.Contains(t, string(first), `"/api/v1/users/{user}/lifecycle/suspend"`)
}

// recorder records the operation that a request reaches, and rejects the request.
type recorder struct{ reached string }

func (r *recorder) Authorize(_ context.Context, _ rest.Principal, op rest.Info) error {
	r.reached = op.ID
	return rest.Fail(rest.CodeForbidden)
}

func TestOperations_ReachedByOwnPath(t *testing.T) {
	r := &recorder{}
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.Authorizer = r })
	variable := regexp.MustCompile(`\{\w+\}`)
	for _, route := range e.API.Operations() {
		info := rest.Describe(route)
		for _, value := range []string{"00u1", "a%2Fb", "me", "default"} {
			if value == "default" && info.Tag != "Users" || value == "me" && info.Tag == "Sessions" {
				continue // here, the literal is part of the path of another operation, not an id
			}
			path := variable.ReplaceAllString(info.Path, value)
			r.reached = ""
			a := e.Do(t, info.Method+" "+path, "", nil)
			if info.OAuth { // OAuth endpoints are public, unsupported, or reject the request because its parameters are missing
				require.NotEqual(t, "E0000008", a.Value("errorCode"), "%s %s", info.Method, path)
				continue
			}
			if info.Public { // a public operation checks no access: it rejects the request because the body or the session is missing
				require.Contains(t, []string{"E0000003", "E0000007"}, a.Value("errorCode"), "%s %s", info.Method, path)
				continue
			}
			require.Equal(t, info.ID, r.reached, "%s %s", info.Method, path)
		}
	}
}

func TestSetup(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		require.NoError(t, e.API.Setup(t.Context(), assembly.Setup{Token: apitest.Token}), "again")
		require.ErrorContains(t, e.API.Setup(t.Context(), assembly.Setup{Token: "with blank"}), "an API token must be")
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/users", Equal: map[string]any{"#": 1, "0.profile.login": assembly.DefaultLogin, "0.status": "ACTIVE"}},
			apitest.Step{Do: "GET /api/v1/groups", Equal: map[string]any{"#": 1, "0.profile.name": "Everyone", "0.type": "BUILT_IN"}},
			apitest.Step{Do: "GET /api/v1/api-tokens", Equal: map[string]any{"#": 1}},
		)
	})
	_, err := assembly.New(assembly.Options{})
	require.ErrorContains(t, err, "a store and a model are required")
}
