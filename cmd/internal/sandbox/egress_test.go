package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/hookstest"
)

func TestEgress_DefaultFollowsListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, listen string
		want         egress.Range
		own          string
	}{
		{"", "127.0.0.1:8080", egress.Any, "127.0.0.1:8080"},
		{"", "127.1.2.3:8080", egress.Any, "127.1.2.3:8080"},
		{"", "[::1]:8080", egress.Any, "[::1]:8080"},
		{"", "0.0.0.0:8080", egress.Private, "127.0.0.1:8080"},
		{"", "[::]:8080", egress.Private, "[::1]:8080"},
		{"", "10.0.0.5:8080", egress.Private, "10.0.0.5:8080"},
		{"", "93.184.216.34:8080", egress.Private, "93.184.216.34:8080"},
		{"any", "0.0.0.0:8080", egress.Any, "127.0.0.1:8080"},
		{"private", "127.0.0.1:8080", egress.Private, "127.0.0.1:8080"},
		{"public", "127.0.0.1:8080", egress.Public, "127.0.0.1:8080"},
	} {
		got, err := sandbox.EgressPolicy(c.flag, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.listen)))
		require.NoError(t, err)
		require.Equal(t, c.want, got.Range, "%q %s", c.flag, c.listen)
		require.NoError(t, got.Control("tcp", c.own, nil), "its own SCIM servers are targets in every policy")
		require.Equal(t, c.want == egress.Any, got.Control("tcp", "127.0.0.1:9", nil) == nil, "%q %s", c.flag, c.listen)
	}
	_, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Empty: true, Egress: "all"})
	require.ErrorContains(t, err, `unknown address policy "all": use any, private or public`)
}

// One policy applies to all requests of the sandbox. It is checked when the connection is opened.
func TestEgress_AppliesToEveryRequest(t *testing.T) {
	t.Parallel()
	endpoint := hookstest.New(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, []byte(endpoint.CA), 0o600))
	base, token := newSCIMServer(t)
	hook := func(channel string) string {
		return `{"name":"h","type":"com.svc.telephony.provider","version":"1.0.0","channel":` + channel + `}`
	}
	for policy, allowed := range map[string]bool{"": true, "any": true, "private": false, "public": false} {
		t.Run(policy, func(t *testing.T) {
			s, api := startSandbox(t, sandbox.Options{Empty: true, Egress: policy, HookCA: file}) // the sandbox listens on a loopback address
			connection := func(label, body string) error {
				var app object
				do(t, api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"`+label+`"}`, &app)
				return api.Do(t.Context(), http.MethodPost, "/api/v1/apps/"+app["id"].(string)+"/connections/default?activate=true",
					json.RawMessage(body), nil)
			}
			execute := func(channel string) error {
				var made object
				do(t, api, http.MethodPost, "/api/v1/inlineHooks", hook(channel), &made)
				err := api.Do(t.Context(), http.MethodPost, "/api/v1/inlineHooks/"+made["id"].(string)+"/execute", object{}, nil)
				do(t, api, http.MethodPost, "/api/v1/inlineHooks/"+made["id"].(string)+"/lifecycle/deactivate", "", nil)
				do(t, api, http.MethodDelete, "/api/v1/inlineHooks/"+made["id"].(string), "", nil)
				return err
			}
			require.NoError(t, connection("own", fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, s.Ready().SCIMURL, s.Ready().SCIMToken)))

			const machine = "127.0.0.1 is this machine itself"
			for name, c := range map[string]struct {
				try     func() error
				reached string // the error of a request that reaches the endpoint; empty if it succeeds
			}{
				"connection": {func() error {
					return connection("target", fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, base, token))
				}, ""},
				"connection by name": {func() error {
					return connection("named",
						fmt.Sprintf(`{"baseUrl":"http://localhost:%s","profile":{"token":%q}}`, base[len("http://127.0.0.1:"):], token))
				}, ""},
				"token endpoint of a connection": {func() error {
					return connection("oauth",
						fmt.Sprintf(`{"baseUrl":%q,"profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":"cl1ent-s3cret","tokenUrl":%q}}`,
							s.Ready().SCIMURL, base))
				}, "no access token from " + base + ": the status is 401"},
				"hook": {func() error {
					endpoint.Answer(hookstest.JSON(http.StatusOK, `{}`))
					return execute(fmt.Sprintf(`{"config":{"uri":%q}}`, endpoint.URL))
				}, ""},
				"token endpoint of a hook": {func() error {
					endpoint.Answer(hookstest.JSON(http.StatusBadRequest, `{"error":"invalid_client"}`))
					return execute(fmt.Sprintf(`{"type":"OAUTH","config":{"uri":"https://hook.example.com","tokenUrl":%q,"clientId":"me",`+
						`"clientSecret":"cl1ent-s3cret"}}`, endpoint.URL))
				}, "the token endpoint answered with 400 Bad Request: invalid_client"},
			} {
				err := c.try()
				switch {
				case !allowed && name == "connection by name": // localhost may resolve to ::1, so the error names another address
					require.ErrorContains(t, err, "is this machine itself", name)
				case !allowed:
					require.ErrorContains(t, err, machine, name)
				case c.reached != "":
					require.ErrorContains(t, err, c.reached, name)
				default:
					require.NoError(t, err, name)
				}
			}
		})
	}
}

// With every policy, a sandbox provisions its seed into its own SCIM servers.
func TestEgress_SeedProvisioned(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Egress: "public"})
	var tasks []object
	var apps []object
	do(t, api, http.MethodGet, "/api/v1/apps", "", &apps)
	require.NotEmpty(t, apps)
	for _, app := range apps {
		do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app["id"].(string)+"/tasks", "", &tasks)
		require.Empty(t, tasks)
	}
}
