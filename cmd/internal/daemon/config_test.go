package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

const configText = `# comment
limits: {rate: 5000, inFlight: 32}
tokens:
- {name: idp, token: "env:IDP_TOKEN", scopes: [read, write, apps]}
apps:
  crm:
    target:
      baseUrl: TARGET
      auth: {secret: "file:crm.token"}
      createUsers: true
      updateUsers: true
      guard: {limit: 20}
tenants:
  acme:
    apps:
      hr:
        target: {baseUrl: TARGET}
        mapping:
          attributes: {login: string}
          rules:
          - {target: userName, expression: user.login}
`

func writeConfig(t *testing.T, text string) (file string, env func(string) (string, bool)) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "engine.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crm.token"), []byte("t0k3n\n"), 0o600))
	return file, func(name string) (string, bool) {
		value, ok := map[string]string{"IDP_TOKEN": "token-of-the-identity-provider"}[name]
		return value, ok
	}
}

func TestConfig_AppsAndReload(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		target.Token = "t0k3n"
		text := strings.ReplaceAll(configText, "TARGET", url)
		file, env := writeConfig(t, text)
		var log logged
		o := daemon.Options{DB: databaseURL, Config: file, LookupEnv: env, Logger: log.logger()}
		d, stop := start(t, o)
		c := callerOf(t, d)
		c.token = "token-of-the-identity-provider"
		c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		callerOf(t, d).do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		require.Len(t, target.Users(), 1)
		version := func() (v struct{ Version int }) {
			c.do(http.StatusOK, http.MethodGet, "/apps/crm", "", &v)
			return v
		}
		require.Equal(t, 1, version().Version)
		r := c.do(http.StatusConflict, http.MethodPut, "/apps/crm", `{"version":9,"target":{"baseUrl":"http://127.0.0.1:1"}}`)
		assert.Contains(t, r.body, "configuration file")
		c.do(http.StatusConflict, http.MethodDelete, "/apps/crm?version=9", "")
		admin := callerOf(t, d)
		admin.tenant = "acme"
		admin.do(http.StatusConflict, http.MethodDelete, "/apps/hr?version=9", "")
		c.do(http.StatusOK, http.MethodDelete, "/apps/hr?version=9", "") // of another tenant

		d.Reload(t.Context()) // no change
		require.Equal(t, 1, version().Version)
		require.NoError(t, os.WriteFile(file, []byte("listne: x\n"), 0o600))
		d.Reload(t.Context())
		assert.Contains(t, log.String(), "the previous configuration stays in effect")
		assert.Contains(t, log.String(), `1:1: unknown key \"listne\"; did you mean \"listen\"?`)
		c.do(http.StatusConflict, http.MethodDelete, "/apps/crm?version=9", "")

		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(text, "limit: 20", "limit: 30", 1)), 0o600))
		d.Reload(t.Context())
		require.Equal(t, 2, version().Version)
		assert.Contains(t, log.String(), `"apps_written":["default:crm"]`)
		stop()

		d, _ = start(t, o)
		c = callerOf(t, d)
		require.Equal(t, 2, version().Version, "a restart does not change the version")
		require.NoError(t, os.WriteFile(file, []byte("limits: {rate: 1000}\n"), 0o600))
		d.Reload(t.Context())
		c.do(http.StatusOK, http.MethodDelete, "/apps/crm?version=9", "")
	})
}

func TestConfig_Errors(t *testing.T) {
	for text, says := range map[string]string{
		"a: [":                       "1:4: ",
		"limits: {rate: many}":       "1:16: a number is required",
		"limits: {rat: 5}":           `1:10: unknown key "rat"; did you mean "rate"?`,
		"limits: {rate: 5, rate: 6}": `1:19: "rate" occurs twice`,
		"listen: 80":                 "1:9: a string is required",
		"listen: [a]":                "1:9: a string is required, not a list",
		"apps: {crm: {}}":            "target.baseUrl: an http or https URL",
		"apps:\n  crm: {target: {baseUrl: 'ftp://x'}}":                             "2:18: target.baseUrl",
		"apps:\n  crm: {target: {baseUrl: 'http://x', guard: {limt: 3}}}":          `2:47: unknown key "limt"; did you mean "limit"?`,
		"apps:\n  crm: {target: {baseUrl: 'http://x', style: fancy}}":              "2:39: target.style",
		"apps:\n  crm: {version: 3, target: {baseUrl: 'http://x'}}":                `unknown key "version"`,
		"apps:\n  crm: {target: {baseUrl: 'http://x', auth: {secret: plain}}}":     "by reference",
		"apps:\n  crm: {target: {baseUrl: 'http://x', auth: {secret: 'env:NO'}}}":  "the variable NO is not set",
		"apps:\n  crm: {target: {baseUrl: 'http://x', auth: {secret: 'file:no'}}}": "no such file",
		"apps:\n  c/m: {target: {baseUrl: 'http://x'}}":                            "2:3: app: the id of an app",
		"tokens:\n- {name: a, token: 'env:IDP_TOKEN', scopes: [raed]}":             `2:46: unknown permission "raed"; did you mean "read"?`,
		"tokens:\n- {name: a, scopes: [read]}":                                     "either a token or a certificate",
		"tokens:\n- {name: a, token: secret, scopes: [read]}":                      "by reference",
		"tokens:\n- {name: a, certificate: idp, scopes: [read]}":                   "the name in the certificate",
		"tokens:\n- {token: 'env:IDP_TOKEN', scopes: [read]}":                      "a name is required",
		"tenants: {Acme: {}}":     "1:11: the name of a tenant",
		"tenants: {default: {}}":  "the name of a tenant",
		"audit: {age: tomorrow}":  "1:9: a positive duration",
		"x: &a 1\ny: *a":          "unknown key",
		"listen: !!binary aGVq":   "not supported",
		"--- {}\n--- {}":          "more than one document",
		"limits: {rate: -1}":      "must be positive",
		strings.Repeat("[", 2000): "too deep",
	} {
		file, env := writeConfig(t, text)
		err := daemon.Options{Config: file, LookupEnv: env}.Check()
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), says, text)
			assert.NotContains(t, err.Error(), "plain", text)
		}
	}
}
