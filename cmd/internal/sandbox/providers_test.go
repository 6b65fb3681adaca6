package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// provider is a service provider as returned by the sandbox API.
type provider struct {
	Name    string   `json:"name"`
	URL     string   `json:"url"`
	Created bool     `json:"created"`
	Lenient []string `json:"lenient"`
	Quirks  []string `json:"quirks"`
	Token   string   `json:"token"`
	Tokens  []struct {
		ID       string `json:"id"`
		ReadOnly bool   `json:"readOnly"`
		Expires  string `json:"expires"`
		Me       string `json:"me"`
	} `json:"tokens"`
}

type madeToken struct{ ID, Token string }

// TestControlPort_CreatesTenants checks that a tenant created with the sandbox API is served and survives a restart.
func TestControlPort_CreatesTenants(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			var log bytes.Buffer
			dir := t.TempDir()
			o := sandbox.Options{Empty: true, Data: dir, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			if database == "postgres" {
				o.Data, o.DB, o.SecretKeyFile = "", sqldbtest.PostgresURL(t), filepath.Join(dir, "secret.key")
			}
			s, api := startSandbox(t, o)
			var made provider
			do(t, api, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme","quirks":["no-patch"],"lenient":["op-case"]}`, &made)
			require.Equal(t, s.Ready().BaseURL+"/t/acme/scim/v2", made.URL)
			require.True(t, made.Created)
			require.Equal(t, []string{"op-case"}, made.Lenient)
			require.Equal(t, []string{"no-patch"}, made.Quirks)
			acme := &tenant{base: made.URL, token: made.Token}
			ann := acme.send(t, http.MethodPost, "/Users", userBody("ann")).id(t)
			require.Equal(t, http.StatusNotImplemented, acme.send(t, http.MethodPatch, "/Users/"+ann, "{}").status)
			require.Equal(t, http.StatusBadRequest, acme.send(t, http.MethodPost, "/Users", userBody("bob", `"hobby":"chess"`)).status,
				"unknown attributes are not accepted")

			var mine, brief, extra madeToken
			do(t, api, http.MethodPost, "/sandbox/v1/scim/acme/tokens", fmt.Sprintf(`{"me":%q,"readOnly":true}`, ann), &mine)
			do(t, api, http.MethodPost, "/sandbox/v1/scim/acme/tokens", `{"expires":"2020-01-01T00:00:00Z"}`, &brief)
			do(t, api, http.MethodPost, "/sandbox/v1/scim/default/tokens", "", &extra)
			do(t, api, http.MethodPut, "/sandbox/v1/scim/acme/quirks", `{"active":["no-put"]}`, nil)
			check := func(s *sandbox.Sandbox) {
				t.Helper()
				base := s.Ready().BaseURL
				me := (&tenant{base: base + "/t/acme/scim/v2", token: mine.Token}).send(t, http.MethodGet, "/Me", "")
				require.Equal(t, http.StatusOK, me.status, me.text)
				require.Contains(t, me.text, `"userName":"ann"`)
				for token, want := range map[string][2]int{
					made.Token: {401, 200}, mine.Token: {401, 200}, brief.Token: {401, 401}, extra.Token: {200, 401}, s.Ready().SCIMToken: {200, 401},
				} {
					for i, path := range []string{"/scim/v2", "/t/acme/scim/v2"} {
						require.Equal(t, want[i], (&tenant{base: base + path, token: token}).send(t, http.MethodGet, "/Users", "").status, path)
					}
				}
				require.Equal(t, http.StatusForbidden,
					(&tenant{base: base + "/t/acme/scim/v2", token: mine.Token}).send(t, http.MethodDelete, "/Me", "").status)
				require.Equal(t, http.StatusMethodNotAllowed,
					(&tenant{base: base + "/t/acme/scim/v2", token: made.Token}).send(t, http.MethodPut, "/Users/"+ann, userBody("ann")).status)
			}
			check(s)
			require.NoError(t, s.Close(t.Context()))

			s, api = startSandbox(t, o)
			check(s)
			var list []provider
			do(t, api, http.MethodGet, "/sandbox/v1/scim", "", &list)
			require.Len(t, list, 3)
			require.Equal(t, []string{"acme", "chat", "default"}, []string{list[0].Name, list[1].Name, list[2].Name})
			require.Equal(t, []bool{true, false, false}, []bool{list[0].Created, list[1].Created, list[2].Created})
			require.Len(t, list[0].Tokens, 3)
			require.Equal(t, mine.ID, list[0].Tokens[1].ID)
			require.Equal(t, ann, list[0].Tokens[1].Me)
			require.True(t, list[0].Tokens[1].ReadOnly)
			require.NotEmpty(t, list[0].Tokens[2].Expires)

			do(t, api, http.MethodDelete, "/sandbox/v1/scim/acme/tokens/"+mine.ID, "", nil)
			require.Equal(t, http.StatusUnauthorized,
				(&tenant{base: s.Ready().BaseURL + "/t/acme/scim/v2", token: mine.Token}).send(t, http.MethodGet, "/Me", "").status)
			do(t, api, http.MethodDelete, "/sandbox/v1/scim/default/tokens/"+extra.ID, "", nil)
			do(t, api, http.MethodDelete, "/sandbox/v1/scim/acme", "", nil)
			require.Equal(t, http.StatusNotFound,
				(&tenant{base: s.Ready().BaseURL + "/t/acme/scim/v2", token: made.Token}).send(t, http.MethodGet, "/Users", "").status)
			do(t, api, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme"}`, &made)
			require.Contains(t, (&tenant{base: made.URL, token: made.Token}).send(t, http.MethodGet, "/Users", "").text, `"totalResults":0`)
			require.Equal(t, lenient.All.Names(), made.Lenient)
			require.NoError(t, s.Close(t.Context()))

			for _, token := range []string{made.Token, mine.Token, brief.Token, extra.Token} {
				require.NotContains(t, log.String(), token)
				if database == "sqlite" {
					files, err := filepath.Glob(filepath.Join(dir, "scimwright.db*"))
					require.NoError(t, err)
					for _, file := range files {
						data, err := os.ReadFile(file)
						require.NoError(t, err)
						require.NotContains(t, string(data), token, "tokens are stored as digests")
					}
				}
			}
		})
	}
}

func TestControlPort_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	s, api := startSandbox(t, sandbox.Options{Empty: true, Tenants: []tenants.Config{
		{Name: "filed", Tokens: []tenants.Token{tenants.NewToken("token-filed")}},
		{Name: tenants.Default, Tokens: []tenants.Token{tenants.NewToken("token-more")}},
	}})
	for _, token := range []string{"token-more", s.Ready().SCIMToken} {
		require.Equal(t, http.StatusOK, (&tenant{base: s.Ready().SCIMURL, token: token}).send(t, http.MethodGet, "/Users", "").status)
	}
	do(t, api, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme"}`, nil)
	own := tenants.NewToken("token-filed").ID()
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/sandbox/v1/scim", `{"name":"acme"}`, "name: "},
		{"POST", "/sandbox/v1/scim", `{"name":"filed"}`, "name: "},
		{"POST", "/sandbox/v1/scim", `{"name":"default"}`, "name: "},
		{"POST", "/sandbox/v1/scim", `{"name":"A/b"}`, "cannot be the name of a tenant"},
		{"POST", "/sandbox/v1/scim", `{"name":""}`, "name"},
		{"POST", "/sandbox/v1/scim", `{"name":"b","quirks":["nonsense"]}`, "quirks: "},
		{"POST", "/sandbox/v1/scim", `{"name":"b","quirks":["no-put","no-put"]}`, "occurs twice"},
		{"POST", "/sandbox/v1/scim", `{"name":"b","lenient":["nonsense"]}`, "lenient: "},
		{"PUT", "/sandbox/v1/scim/acme/quirks", `{"active":["no-put","no-put"]}`, "occurs twice"},
		{"GET", "/sandbox/v1/scim/nobody", "", "nobody (ServiceProvider)"},
		{"DELETE", "/sandbox/v1/scim/nobody", "", "nobody (ServiceProvider)"},
		{"DELETE", "/sandbox/v1/scim/default", "", "not created with this API"},
		{"DELETE", "/sandbox/v1/scim/filed", "", "not created with this API"},
		{"POST", "/sandbox/v1/scim/nobody/tokens", `{}`, "nobody (ServiceProvider)"},
		{"POST", "/sandbox/v1/scim/acme/tokens", `{"expires":"tomorrow"}`, "expires"},
		{"DELETE", "/sandbox/v1/scim/acme/tokens/nobody", "", "nobody (Token)"},
		{"DELETE", "/sandbox/v1/scim/filed/tokens/" + own, "", "not created with this API"},
	} {
		var body any
		if test.body != "" {
			body = json.RawMessage(test.body)
		}
		require.ErrorContains(t, api.Do(t.Context(), test.method, test.path, body, nil), test.want, "%s %s %s", test.method, test.path, test.body)
	}
	var list []provider
	do(t, api, http.MethodGet, "/sandbox/v1/scim", "", &list)
	require.Len(t, list, 4)
	outsider := &sandbox.APIClient{BaseURL: api.BaseURL, Token: s.Ready().SCIMToken}
	require.Error(t, outsider.Do(t.Context(), http.MethodGet, "/sandbox/v1/scim", nil, nil))
}

// TestTenants_FileNameConflictRejected checks that a start rejects a configured tenant with the name of a tenant created with the sandbox
// API.
func TestTenants_FileNameConflictRejected(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Empty: true, Data: t.TempDir()}
	s, api := startSandbox(t, o)
	do(t, api, http.MethodPost, "/sandbox/v1/scim", `{"name":"acme"}`, nil)
	require.NoError(t, s.Close(t.Context()))
	o.Listen, o.Tenants = "127.0.0.1:0", []tenants.Config{{Name: "acme", Tokens: []tenants.Token{tenants.NewToken("token-filed")}}}
	_, err := sandbox.Start(t.Context(), o)
	require.ErrorContains(t, err, "the tenant acme was created at /sandbox/v1/scim in an earlier run")
	require.False(t, strings.Contains(err.Error(), "\n"))
}
