package mgmtapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// scoped is an authorizer of callers who hold scopes: the manage scope of an area implies its read scope, and an operation that names
// several needs them all.
type scoped struct{ holds []string }

func (s *scoped) Authorize(_ context.Context, _ rest.Principal, op rest.Info) error {
	for _, scope := range op.Scopes {
		area, reads := strings.CutSuffix(scope, ".read")
		if !slices.Contains(s.holds, scope) && (!reads || !slices.Contains(s.holds, area+".manage")) {
			return rest.Fail(rest.CodeForbidden)
		}
	}
	return nil
}

// areaOf is a scope without its verb.
func areaOf(scope string) string { return scope[:strings.LastIndexByte(scope, '.')] }

// withSandbox has every operation served that there can be. Nothing of it may be reached.
func withSandbox(o *assembly.Options) {
	o.Work, o.Providers = struct{ sandboxport.Work }{}, struct{ sandboxport.Providers }{}
}

// Every operation but the public ones is refused to whoever has no credentials, dead ones, none of its scopes, only some of them,
// those of all other areas, or may only read what it changes. The body is broken and the ids are nobody's, so that an operation which
// looks at them first is found out.
func TestOperations_RejectedWithoutScope(t *testing.T) {
	authorizer := &scoped{}
	e := apitest.New(t, sqldbtest.SQLite(t), withSandbox, func(o *assembly.Options) { o.Authorizer = authorizer })
	e.Unrecorded()
	var all []string
	for _, route := range e.API.Operations() {
		all = append(all, route.Info().Scopes...)
	}
	slices.Sort(all)
	all = slices.Compact(all)

	public, served := 0, 0
	for _, route := range e.API.Operations() {
		op := route.Info()
		do := op.Method + " " + pathVariable.ReplaceAllString(op.Path, "nobody")
		if !op.Unsupported {
			served++
		}
		if op.Public {
			if !op.Unsupported {
				public++
			}
			require.Empty(t, op.Scopes, op.ID)
			continue
		}
		require.NotEmpty(t, op.Scopes, op.ID)
		refused := func(why string, status int, code string, header map[string]string) {
			t.Helper()
			body := ""
			if op.Method != http.MethodGet && op.Method != http.MethodDelete {
				body = `{"broken`
			}
			a := e.Do(t, do, body, header)
			require.Equal(t, status, a.Status, "%s %s: %s", op.ID, why, a.Body)
			require.Equal(t, code, a.Value("errorCode"), "%s %s", op.ID, why)
		}
		authorizer.holds = all
		refused("without credentials", 403, "E0000005", map[string]string{"Authorization": ""})
		refused("with a token that nobody has", 401, "E0000011",
			map[string]string{"Authorization": "SSWS 00nobodyHasThisTokenOfFortyTwoCharacters_"})
		refused("with an access token that is none", 401, "E0000011", map[string]string{"Authorization": "Bearer nothing"})
		refused("with another scheme", 401, "E0000011", map[string]string{"Authorization": "Basic YTpi"})
		authorizer.holds = nil
		refused("without any scope", 403, "E0000006", nil)
		authorizer.holds = slices.DeleteFunc(slices.Clone(all), func(scope string) bool {
			return slices.ContainsFunc(op.Scopes, func(needed string) bool { return areaOf(needed) == areaOf(scope) })
		})
		refused("with the scopes of all other areas", 403, "E0000006", nil)
		for _, missing := range op.Scopes {
			authorizer.holds = slices.DeleteFunc(slices.Clone(all), func(scope string) bool { return areaOf(scope) == areaOf(missing) })
			if strings.HasSuffix(missing, ".manage") {
				authorizer.holds = append(authorizer.holds, areaOf(missing)+".read")
			}
			refused("without "+missing, 403, "E0000006", nil)
		}
	}
	require.Less(t, public, served/10, "few operations that do something need no credentials")
}

type area struct {
	prefix string
	scopes []string
}

// areas are the scopes of the paths: the first prefix that fits. An operation that only reads needs read of each, any other manage.
var areas = []area{
	{"/api/v1/apps/{}/group-push/", []string{"svc.apps", "svc.groups"}},
	{"/api/v1/apps/{}/grants", []string{"svc.appGrants"}},
	{"/api/v1/apps", []string{"svc.apps"}},
	{"/api/v1/groups/{}/roles", []string{"svc.roles"}},
	{"/api/v1/groups", []string{"svc.groups"}},
	{"/api/v1/users/{}/roles", []string{"svc.roles"}},
	{"/api/v1/users", []string{"svc.users"}},
	{"/api/v1/sessions", []string{"svc.sessions"}},
	{"/api/v1/iam/", []string{"svc.roles"}},
	{"/api/v1/catalog/", []string{"svc.roles"}},
	{"/api/v1/authorizationServers", []string{"svc.authorizationServers"}},
	{"/api/v1/inlineHooks", []string{"svc.inlineHooks"}},
	{"/api/v1/hook-keys", []string{"svc.inlineHooks"}},
	{"/api/v1/meta/types/", []string{"svc.userTypes"}},
	{"/api/v1/meta/schemas/", []string{"svc.schemas"}},
	{"/api/v1/mappings", []string{"svc.profileMappings"}},
	{"/api/v1/policies", []string{"svc.policies"}},
	{"/api/v1/templates", []string{"svc.templates"}},
	{"/api/v1/org/factors", []string{"svc.users"}},
	{"/api/v1/api-tokens", []string{"svc.apiTokens"}},
	{"/api/v1/logs", []string{"svc.logs"}},
	{"/oauth2/v1/clients/{}/roles", []string{"svc.roles"}},
	{"/oauth2/v1/clients", []string{"svc.clients"}},
}

// open are the prefixes of paths that need no token: people sign in there, sessions prove themselves by a cookie, clients by their
// own credentials, pictures of enrolments by what their address holds, discovery serves every client, and browsers load the pages of
// applications.
var open = []string{"/api/v1/authn", "/api/v1/sessions/me", "/oauth2/v1/token", "/oauth2/v1/introspect", "/oauth2/v1/revoke",
	"/oauth2/v1/keys",
	"/oauth2/v1/authorize", "/oauth2/v1/userinfo", "/oauth2/v1/logout", "/oauth2/{}/v1/", "/oauth2/{}/.well-known/", "/.well-known/",
	"/sandbox/v1/health",
	"/api/v1/users/{}/factors/{}/qr/", "/assets/logos/{}", "/home/{}/{}/{}", "/app/{}/{}/setup/help"}

func TestOperations_RequireAreaScopes(t *testing.T) {
	for _, op := range table(t) {
		path := shape(op.Path)
		if op.Public {
			require.True(t, slices.ContainsFunc(open, func(prefix string) bool { return strings.HasPrefix(path, prefix) }), "%s needs no token",
				op.ID)
			continue
		}
		want := []string{"svc.sandbox.manage"} // whatever it does there
		if !strings.HasPrefix(path, "/sandbox/v1/") {
			verb := ".manage"
			if op.Method == http.MethodGet {
				verb = ".read"
			}
			i := slices.IndexFunc(areas, func(a area) bool { return strings.HasPrefix(path, a.prefix) })
			require.GreaterOrEqual(t, i, 0, "%s belongs to no area", path)
			want = nil
			for _, scope := range areas[i].scopes {
				want = append(want, scope+verb)
			}
		}
		require.ElementsMatch(t, want, op.Scopes, "%s %s", op.Method, path)
	}
}
