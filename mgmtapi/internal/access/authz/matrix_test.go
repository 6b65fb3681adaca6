package authz_test

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// inOrder are the standard roles in the order of the columns of the file.
var inOrder = []model.RoleType{
	"SUPER_ADMIN", "ORG_ADMIN", "USER_ADMIN", "HELP_DESK_ADMIN", "GROUP_MEMBERSHIP_ADMIN", "APP_ADMIN", "API_ACCESS_MANAGEMENT_ADMIN",
	"READ_ONLY_ADMIN", "REPORT_ADMIN", "MOBILE_ADMIN", "ACCESS_CERTIFICATIONS_ADMIN", "ACCESS_REQUESTS_ADMIN",
}

// cells is a row of the matrix.
type cells struct {
	method, path string
	standard     string
	permissions  []string
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

func shape(method, path string) string { return method + " " + variable.ReplaceAllString(path, "{}") }

func matrix(t *testing.T) map[string]cells {
	t.Helper()
	file, err := os.Open("testdata/matrix.txt")
	require.NoError(t, err)
	defer file.Close()
	out := map[string]cells{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		require.GreaterOrEqual(t, len(words), 4, lines.Text())
		require.Len(t, words[0], len(inOrder), lines.Text())
		key := words[1] + " " + words[2]
		require.NotContains(t, out, key)
		out[key] = cells{words[1], words[2], words[0], words[3:]}
	}
	return out
}

// sandbox is an adjust function for apitest.New that adds the operations of /sandbox/v1. Their dependencies are empty: the tests only
// decide who may call the operations.
func sandbox(o *assembly.Options) {
	o.Work, o.Providers = struct{ sandboxport.Work }{}, struct{ sandboxport.Providers }{}
}

func TestMatrix_CoversEveryOperation(t *testing.T) {
	rows := matrix(t)
	e := apitest.New(t, sqldbtest.SQLite(t), sandbox)
	for _, route := range e.API.Operations() {
		info := rest.Describe(route)
		_, found := rows[shape(info.Method, info.Path)]
		require.NotEqual(t, info.Public, found, "%s needs a row in testdata/matrix.txt, or no credentials: %s", info.ID,
			shape(info.Method, info.Path))
		_, ruled := authz.NeedsOf(info.Method, info.Path)
		require.Equal(t, !info.Public && !strings.HasPrefix(info.Path, "/sandbox/"), ruled, "%s has a rule", info.ID)
	}
}

// things holds the ids of the resources that the operations are called with.
type things struct{ user, group, app, client, token, set string }

// info returns the operation of a row; its path variables are named by their numbers.
func (c cells) info() rest.Info {
	path, parts := "", strings.Split(c.path, "{}")
	for i, part := range parts[:len(parts)-1] {
		path += part + "{" + strconv.Itoa(i) + "}"
	}
	return rest.Info{Method: c.method, Path: path + parts[len(parts)-1]}
}

// place returns a function that returns the id for a path variable. The segment before the variable determines the id.
func (x *things) place(path string) func(name string) string {
	named := []string{}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if s != "{}" {
			continue
		}
		id, ok := map[string]string{
			"users": x.user, "groups": x.group, "apps": x.app, "clients": x.client, "api-tokens": x.token,
			"authorizationServers": model.DefaultServerName,
		}[segments[i-1]]
		if !ok {
			id = "some"
		}
		named = append(named, id)
	}
	return func(number string) string {
		i, _ := strconv.Atoi(number)
		return named[i]
	}
}

func prepare(t *testing.T, e *apitest.Env) (*authz.Authorizer, *things) {
	t.Helper()
	x := &things{
		user:  e.Do(t, "POST /api/v1/users", person("subject"), nil).Value("id"),
		group: e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Subjects"}}`, nil).Value("id"),
		app:   e.Do(t, "POST /api/v1/apps", bookmark("B"), nil).Value("id"),
	}
	x.client = model.NewID(model.KindApp)
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		_, err := e.Model.Apps.Insert(t.Context(), tx, x.client, model.App{
			Name: "oidc_client", Label: "C", Status: model.AppActive, SignOnMode: catalog.OpenIDConnect,
			Credentials: model.AppCredentials{OAuthClient: &model.AppOAuthClient{ID: x.client}},
			Settings:    model.AppSettings{OAuthClient: &model.AppOAuthSettings{ApplicationType: model.OAuthService}},
		})
		return err
	}))
	x.token = createToken(t, e, x.user, "subject").ID
	org := orgOf(t, e)
	x.set = e.Do(t, "POST /api/v1/iam/resource-sets",
		`{"label":"Everything","description":"x","resources":["/api/v1/users","/api/v1/groups","/api/v1/apps","/api/v1/authorizationServers",`+
			`"orn:svc:iam:`+org+`:contained_resources"]}`, nil).Value("id")
	require.NotEmpty(t, x.set)
	return authz.New(deps(e)), x
}

func deps(e *apitest.Env) model.Deps {
	return model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now}
}

// Proves B-assignments-11.
func TestStandardRoles_MatchMatrix(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	authorizer, x := prepare(t, e)
	rows := matrix(t)
	for i, role := range inOrder {
		admin := administrator(t, e, string(role), string(role))
		access, err := authorizer.User(t.Context(), e.Store.Reader(), admin.id)
		require.NoError(t, err)
		for key, row := range rows {
			d, err := authorizer.Explain(t.Context(), e.Store.Reader(), access, row.info(), x.place(row.path))
			require.NoError(t, err)
			require.Equal(t, row.standard[i] == 'y', d.Allowed, "%s: %s", role, key)
		}
	}
}

// Proves B-permissions-13, B-permissions-27.
func TestPermissions_MatchMatrix(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	authorizer, x := prepare(t, e)
	rows := matrix(t)
	named := map[string]bool{}
	for _, permission := range authz.Permissions() {
		admin := administrator(t, e, permission, "")
		role := e.Do(t, "POST /api/v1/iam/roles", `{"label":"Only `+permission+`","description":"x","permissions":["`+permission+`"]}`,
			nil).Value("id")
		e.Run(t,
			apitest.Step{Do: "POST /api/v1/iam/resource-sets/" + x.set + "/bindings",
				Body: `{"role":"` + role + `","members":["/api/v1/users/` + admin.id + `"]}`})
		access, err := authorizer.User(t.Context(), e.Store.Reader(), admin.id)
		require.NoError(t, err)
		for key, row := range rows {
			d, err := authorizer.Explain(t.Context(), e.Store.Reader(), access, row.info(), x.place(row.path))
			require.NoError(t, err)
			want := slices.Contains(row.permissions, permission) || slices.Contains(row.permissions, "any")
			require.Equal(t, want, d.Allowed, "%s: %s", permission, key)
			named[permission] = named[permission] || want
		}
	}
	for key, row := range rows {
		for _, permission := range row.permissions {
			require.True(t, permission == "-" || permission == "any" || named[permission], "%s: unknown permission %s", key, permission)
		}
	}
}
