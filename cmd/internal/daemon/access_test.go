package daemon_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// operation is an operation in the OpenAPI document.
type operation struct {
	id, method, path string
	scopes           []string // all of them are required
}

func (o *operation) has(scope string) bool { return slices.Contains(o.scopes, scope) }

func operations(t *testing.T) (all []operation) {
	t.Helper()
	text, err := daemon.OpenAPI()
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string                `json:"operationId"`
			Security    []map[string][]string `json:"security"`
			Scopes      []string              `json:"x-svc-scopes"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			scopes := slices.Clone(op.Scopes)
			for _, s := range op.Security {
				for _, some := range s {
					scopes = append(scopes, some...)
				}
			}
			require.NotEmpty(t, scopes, op.OperationID)
			all = append(all, operation{op.OperationID, strings.ToUpper(method), strings.TrimPrefix(path, "/engine/v1"), scopes})
		}
	}
	require.Greater(t, len(all), 50)
	return all
}

// filled returns a path with an app and with ids for the other variables.
func (o operation) filled(app string) string {
	path := strings.NewReplacer("{app}", app, "{kind}", "user", "{principal}", "u-1", "{user}", "u-1").Replace(o.path)
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + "1" + after
	}
	return path
}

// TestScopes_EachOperation calls every operation without each of its permissions, with all others, and with its own permissions alone.
func TestScopes_EachOperation(t *testing.T) {
	d, _ := start(t, daemon.Options{Limits: daemon.Limits{Rate: 1e6}})
	admin := callerOf(t, d)
	all := []string{"read", "write", "apps", "approve", "secrets", "admin"}
	with, without := map[string]*caller{}, map[string]*caller{}
	for _, scope := range append(slices.Clone(all), "fleet") {
		without[scope] = admin.as("default", slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == scope })...)
	}
	for _, op := range operations(t) {
		for _, scope := range op.scopes {
			require.Contains(t, without, scope, op.id)
			r, err := without[scope].send(op.method, op.filled("none"), "application/json", nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusForbidden, r.status, "%s without %s: %s", op.id, scope, r.body)
			assert.Contains(t, r.body, "permission "+scope, op.id)
		}
		own := strings.Join(op.scopes, " ")
		if with[own] == nil {
			with[own] = admin.as("default", op.scopes...)
		}
		r, err := with[own].send(op.method, op.filled("none"), "application/json", nil)
		require.NoError(t, err)
		assert.NotEqual(t, http.StatusForbidden, r.status, "%s with %s: %s", op.id, own, r.body)
		assert.NotEqual(t, http.StatusUnauthorized, r.status, op.id)
		assert.Less(t, r.status, 500, "%s: %s", op.id, r.body)
	}
}

// TestTenants_Isolated checks with every operation that a tenant does not see the apps of another one, and that no response contains the
// names that the store uses.
func TestTenants_Isolated(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		_, url := newTarget(t)
		d, _ := start(t, daemon.Options{DB: databaseURL, Limits: daemon.Limits{Rate: 1e6}})
		admin := callerOf(t, d)
		scopes := []string{"read", "write", "apps", "approve", "secrets", "admin"}
		acme, other := admin.as("acme", scopes...), admin.as("acme-2", scopes...)
		for _, c := range []*caller{acme, other} {
			c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
			c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		}
		acme.do(http.StatusOK, http.MethodPut, "/apps/only", appBody(1, url))
		acme.do(http.StatusOK, http.MethodPut, "/apps/only/users/u-1", userBody(1, "eve@acme.example"))
		acme.do(http.StatusOK, http.MethodPost, "/apps/only/wait", "")

		for _, op := range operations(t) {
			if op.has("fleet") || !strings.Contains(op.path, "{app}") || op.id == "deleteApp" {
				continue
			}
			r, err := acme.send(op.method, op.filled("only"), "application/json", nil)
			require.NoError(t, err)
			assert.NotContains(t, r.body, "acme:", op.id)
			if op.id != "putApp" { // creates an app of the caller's own tenant
				r, err = other.send(op.method, op.filled("only"), "application/json", nil)
				require.NoError(t, err)
				assert.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, r.status, "%s: %s", op.id, r.body)
				assert.NotContains(t, r.body, "acme", op.id)
				assert.NotContains(t, r.body, "eve@acme.example", op.id)
			}
			for _, app := range []string{"acme:only", "..%2Facme:only"} {
				r, err = other.send(http.MethodGet, strings.Replace(op.filled("X"), "X", app, 1), "application/json", nil)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, r.status, 400, "%s of %s", op.id, app)
			}
		}
		for _, path := range []string{"/apps", "/engine/apps"} {
			var apps []struct{ ID, Label string }
			acme.do(http.StatusOK, http.MethodGet, path, "", &apps)
			require.Len(t, apps, 2, path)
			assert.Equal(t, "crm", apps[0].ID, path)
			other.do(http.StatusOK, http.MethodGet, path, "", &apps)
			require.Len(t, apps, 1, path)
			var page []struct{ ID string }
			acme.do(http.StatusOK, http.MethodGet, "/apps?limit=1&after=crm", "", &page)
			require.Len(t, page, 1)
			assert.Equal(t, "only", page[0].ID)
		}
		other.do(http.StatusOK, http.MethodDelete, "/apps/crm?version=2", "")
		acme.do(http.StatusOK, http.MethodGet, "/apps/crm/users/u-1", "")
		other.tenant = "acme"
		other.do(http.StatusForbidden, http.MethodGet, "/apps", "")

		var tokens []struct{ ID, Tenant string }
		other.tenant = ""
		other.do(http.StatusOK, http.MethodGet, "/tokens", "", &tokens)
		require.Len(t, tokens, 1)
		acme.do(http.StatusNotFound, http.MethodDelete, "/tokens/"+tokens[0].ID, "")
		var entries []struct{ Tenant string }
		other.do(http.StatusOK, http.MethodGet, "/audit?limit=1000", "", &entries)
		require.NotEmpty(t, entries)
		for _, e := range entries {
			require.Equal(t, "acme-2", e.Tenant)
		}
		other.do(http.StatusForbidden, http.MethodGet, "/audit?allTenants=true", "")
		admin.do(http.StatusOK, http.MethodGet, "/audit?allTenants=true", "")
	})
}

func TestTokens_ExpireAndRevoke(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	admin := callerOf(t, d)
	var made struct{ ID, Token string }
	admin.do(http.StatusCreated, http.MethodPost, "/tokens", `{"name":"a","scopes":["read"]}`, &made)
	c := callerOf(t, d)
	c.token = made.Token
	c.do(http.StatusOK, http.MethodGet, "/apps", "")
	var listed []struct{ ID, LastUsed string }
	eventually(t, "the last use is stored", func() bool {
		body := admin.do(http.StatusOK, http.MethodGet, "/tokens", "", &listed).body
		require.NotContains(t, body, made.Token)
		return slices.ContainsFunc(listed, func(l struct{ ID, LastUsed string }) bool { return l.ID == made.ID && l.LastUsed != "" })
	})
	admin.do(http.StatusNoContent, http.MethodDelete, "/tokens/"+made.ID, "")
	r := c.do(http.StatusUnauthorized, http.MethodGet, "/apps", "")
	assert.NotEmpty(t, r.header.Get("WWW-Authenticate"))
	admin.do(http.StatusNotFound, http.MethodDelete, "/tokens/"+made.ID, "")
	admin.do(http.StatusConflict, http.MethodDelete, "/tokens/bootstrap", "")

	for name, body := range map[string]string{
		"no scope": `{"name":"a","scopes":[]}`, "unknown": `{"name":"a","scopes":["all"]}`, "no name": `{"scopes":["read"]}`,
		"past": `{"name":"a","scopes":["read"],"expires":"2020-01-01T00:00:00Z"}`,
	} {
		r := admin.do(http.StatusBadRequest, http.MethodPost, "/tokens", body)
		assert.Contains(t, r.body, "errorCauses", name)
	}
	admin.as("default", "admin").do(http.StatusForbidden, http.MethodPost, "/tokens", `{"name":"a","scopes":["fleet"]}`)
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	admin.do(http.StatusCreated, http.MethodPost, "/tokens", `{"name":"a","scopes":["read"],"expires":"`+end+`"}`, &made)
	c.token = made.Token
	c.do(http.StatusOK, http.MethodGet, "/apps", "")
	require.NoError(t, d.Expire(t.Context(), made.ID))
	c.do(http.StatusUnauthorized, http.MethodGet, "/apps", "")
	c.token = ""
	c.do(http.StatusUnauthorized, http.MethodGet, "/apps", "")
}

// TestSecrets_Permission checks that callers without the permission "secrets" can write no secret, in any operation.
func TestSecrets_Permission(t *testing.T) {
	d, _ := start(t, daemon.Options{})
	admin := callerOf(t, d)
	_, url := newTarget(t)
	c := admin.as("default", "read", "write", "apps")
	r := c.do(http.StatusForbidden, http.MethodPut, "/apps/crm", appBody(1, url))
	assert.Contains(t, r.body, "permission secrets")
	c.do(http.StatusNotFound, http.MethodGet, "/apps/crm", "")
	admin.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	password := `{"version":1,"want":"active","resource":{"userName":"ann"},"password":"p"}`
	c.do(http.StatusForbidden, http.MethodPut, "/apps/crm/users/u-1", password)
	var report struct {
		Applied, Failed int
		FailedLines     []struct{ Reason string }
	}
	lines := `{"op":"putUser","id":"u-1","version":1,"want":"active","resource":{"userName":"ann"},"password":"p"}` + "\n" +
		`{"op":"putUser","id":"u-2","version":1,"want":"active","resource":{"userName":"bob"}}`
	res, err := c.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", strings.NewReader(lines))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(res.body), &report), res.body)
	assert.Equal(t, 1, report.Applied)
	assert.Equal(t, 1, report.Failed)
	assert.Equal(t, "secret", report.FailedLines[0].Reason)
	c.do(http.StatusNotFound, http.MethodGet, "/apps/crm/users/u-1", "")
	admin.as("default", "write", "secrets").do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", password)
}

func TestLimits_PerTenant(t *testing.T) {
	d, _ := start(t, daemon.Options{Limits: daemon.Limits{Rate: 1e-6, Burst: 5, InFlight: 1}})
	admin := callerOf(t, d) // each tenant may send 5 requests
	one, two := admin.as("one", "read"), admin.as("two", "read")
	for range 4 { // the creation of the token was the first request of the tenant
		one.do(http.StatusOK, http.MethodGet, "/apps", "")
	}
	r := one.do(http.StatusTooManyRequests, http.MethodGet, "/apps", "")
	assert.NotEmpty(t, r.header.Get("Retry-After"))
	two.do(http.StatusOK, http.MethodGet, "/apps", "")
}
