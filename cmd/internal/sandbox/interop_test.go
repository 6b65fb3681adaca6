package sandbox_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
)

// The seed organization is provisioned into a third-party SCIM server. The test requires node, npm and access to the registry, so it runs
// only on request: SCIMWRIGHT_TEST_INTEROP=1 go test -run Interop ./cmd/internal/sandbox
func TestInteropScimmyRouters(t *testing.T) {
	t.Parallel()
	base, token := startScimmy(t)
	_, api := startSandbox(t, sandbox.Options{ExternalTarget: base, ExternalToken: token})
	dump := readDump(t, base)
	require.Len(t, dump.Users, 24, "all assigned users except the staged one")
	require.Equal(t, 23, dump.active(), "the leaver is inactive")
	require.Equal(t, map[string]int{"Engineering": 7, "Wiki Editors": 5, "Sales": 5}, dump.groups())

	// One change of each kind, in the app that uses PATCH.
	user := func(login string) string { return "/api/v1/users/" + login + "@northwind.example" }
	do(t, api, http.MethodPost, user("quentin.dubois")+"/lifecycle/deactivate", "", nil)
	do(t, api, http.MethodPost, user("rosa.silva"), `{"profile":{"lastName":"Silva-Reis"}}`, nil)
	do(t, api, http.MethodPost, user("dmitri.holm")+"/lifecycle/deactivate", "", nil)
	var groups []struct {
		ID string `json:"id"`
	}
	do(t, api, http.MethodGet, "/api/v1/groups?search="+url.QueryEscape(`profile.name eq "Wiki Editors" and type eq "SVC_GROUP"`), "", &groups)
	require.Len(t, groups, 1)
	do(t, api, http.MethodPut, "/api/v1/groups/"+groups[0].ID, `{"profile":{"name":"Wiki Authors"}}`, nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=60", "", nil)
	do(t, api, http.MethodPost, user("quentin.dubois")+"/lifecycle/activate?sendEmail=false", "", nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain?timeoutSeconds=60", "", nil)

	log := len(dump.Log)
	dump = readDump(t, base)
	for _, line := range dump.Log[log:] {
		t.Log(line)
	}
	require.Equal(t, map[string]int{"Engineering": 6, "Wiki Authors": 5, "Sales": 5}, dump.groups())
	require.Equal(t, "Silva-Reis", dump.user(t, "rosa.silva@northwind.example").Name.FamilyName)
	require.False(t, dump.user(t, "dmitri.holm@northwind.example").Active)
	require.False(t, dump.user(t, "quentin.dubois@northwind.example").Active, "previous assignments are not restored")
}

// dump contains the data of the third-party server and its requests.
type dump struct {
	Users  []scimUser `json:"users"`
	Groups []struct {
		DisplayName string `json:"displayName"`
		Members     []any  `json:"members"`
	} `json:"groups"`
	Log []string `json:"log"`
}

func readDump(t *testing.T, base string) dump {
	t.Helper()
	res, err := http.Get(strings.TrimSuffix(base, "/scim/v2") + "/dump")
	require.NoError(t, err)
	defer res.Body.Close()
	var d dump
	require.NoError(t, json.NewDecoder(res.Body).Decode(&d))
	return d
}

func (d dump) active() (n int) {
	for _, u := range d.Users {
		if u.Active {
			n++
		}
	}
	return n
}

func (d dump) groups() map[string]int {
	sizes := map[string]int{}
	for _, g := range d.Groups {
		sizes[g.DisplayName] = len(g.Members)
	}
	return sizes
}

func (d dump) user(t *testing.T, userName string) scimUser {
	t.Helper()
	for _, u := range d.Users {
		if u.UserName == userName {
			return u
		}
	}
	require.Fail(t, "no such user", userName)
	return scimUser{}
}

// startScimmy installs the npm package into a directory and starts the server there.
func startScimmy(t *testing.T) (base, token string) {
	t.Helper()
	dir := filepath.Join(alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP"), "scimmy-sandbox")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"package.json", "server.mjs"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "interop", "servers", "scimmy-express4", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund")
	install.Dir = dir
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := exec.Command("node", "server.mjs", scimToken)
	server.Dir = dir
	server.Stderr = os.Stderr
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), scimToken
}
