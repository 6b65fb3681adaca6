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

// scoped is an authorizer of callers with scopes. The manage scope of an area implies its read scope; an operation requires all its scopes.
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

// areaOf returns a scope without its verb.
func areaOf(scope string) string { return scope[:strings.LastIndexByte(scope, '.')] }

// withSandbox enables all operations of the sandbox. Its dependencies are nil, so a call of one of them panics.
func withSandbox(o *assembly.Options) {
	o.Work, o.Providers = struct{ sandboxport.Work }{}, struct{ sandboxport.Providers }{}
}

// Every operation that is not public must reject callers without credentials, with invalid credentials, without scopes, without one of
// the required scopes, with the scopes of all other areas, or with the read scope instead of the manage scope. The request has a malformed
// body and unknown ids, so that the test detects an operation that checks these first.
func TestOperations_RejectedWithoutScope(t *testing.T) {
	authorizer := &scoped{}
	e := apitest.New(t, sqldbtest.SQLite(t), withSandbox, func(o *assembly.Options) { o.Authorizer = authorizer })
	e.Unrecorded()
	var all []string
	for _, route := range e.API.Operations() {
		all = append(all, rest.Describe(route).Scopes...)
	}
	slices.Sort(all)
	all = slices.Compact(all)

	public, served := 0, 0
	for _, route := range e.API.Operations() {
		op := rest.Describe(route)
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
		rejected := func(why string, status int, code string, header map[string]string) {
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
		rejected("without credentials", 403, "E0000005", map[string]string{"Authorization": ""})
		rejected("with an unknown token", 401, "E0000011",
			map[string]string{"Authorization": "SSWS 00nobodyHasThisTokenOfFortyTwoCharacters_"})
		rejected("with a malformed access token", 401, "E0000011", map[string]string{"Authorization": "Bearer nothing"})
		rejected("with another scheme", 401, "E0000011", map[string]string{"Authorization": "Basic YTpi"})
		authorizer.holds = nil
		rejected("without any scope", 403, "E0000006", nil)
		authorizer.holds = slices.DeleteFunc(slices.Clone(all), func(scope string) bool {
			return slices.ContainsFunc(op.Scopes, func(needed string) bool { return areaOf(needed) == areaOf(scope) })
		})
		rejected("with the scopes of all other areas", 403, "E0000006", nil)
		for _, missing := range op.Scopes {
			authorizer.holds = slices.DeleteFunc(slices.Clone(all), func(scope string) bool { return areaOf(scope) == areaOf(missing) })
			if strings.HasSuffix(missing, ".manage") {
				authorizer.holds = append(authorizer.holds, areaOf(missing)+".read")
			}
			rejected("without "+missing, 403, "E0000006", nil)
		}
	}
	require.Less(t, public, served/10, "fewer than a tenth of the operations are public")
}

type area struct {
	prefix string
	scopes []string
}

// areas maps paths to scopes; the first matching prefix applies. GET requires read of each scope, other methods require manage.
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

// open are the prefixes of paths that require no API token: sign-in, sessions (authenticated by a cookie), endpoints with client
// credentials, QR codes of enrollments (authenticated by their URL), discovery, and pages of applications that browsers load.
var open = []string{"/api/v1/authn", "/api/v1/sessions/me", "/oauth2/v1/token", "/oauth2/v1/introspect", "/oauth2/v1/revoke",
	"/oauth2/v1/keys",
	"/oauth2/v1/authorize", "/oauth2/v1/userinfo", "/oauth2/v1/logout", "/oauth2/{}/v1/", "/oauth2/{}/.well-known/", "/.well-known/",
	"/sandbox/v1/health",
	"/api/v1/users/{}/factors/{}/qr/", "/assets/logos/{}", "/home/{}/{}/{}", "/app/{}/{}/setup/help"}

func TestOperations_RequireAreaScopes(t *testing.T) {
	for _, op := range table(t) {
		path := shape(op.Path)
		if op.Public {
			require.True(t, slices.ContainsFunc(open, func(prefix string) bool { return strings.HasPrefix(path, prefix) }),
				"%s must require a token",
				op.ID)
			continue
		}
		want := []string{"svc.sandbox.manage"} // for all methods
		if !strings.HasPrefix(path, "/sandbox/v1/") {
			verb := ".manage"
			if op.Method == http.MethodGet {
				verb = ".read"
			}
			i := slices.IndexFunc(areas, func(a area) bool { return strings.HasPrefix(path, a.prefix) })
			require.GreaterOrEqual(t, i, 0, "%s is not in an area", path)
			want = nil
			for _, scope := range areas[i].scopes {
				want = append(want, scope+verb)
			}
		}
		require.ElementsMatch(t, want, op.Scopes, "%s %s", op.Method, path)
	}
}
