package sandbox_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandbox"
)

// The seed organisation is provisioned into a SCIM server that we did not write. It needs node and npm and
// the registry, so it runs only when asked for: SCIMWRIGHT_TEST_INTEROP=1 go test -run Interop ./internal/sandbox
func TestInteropScimmyRouters(t *testing.T) {
	if os.Getenv("SCIMWRIGHT_TEST_INTEROP") == "" {
		t.Skip("SCIMWRIGHT_TEST_INTEROP is not set")
	}
	base, token := startScimmy(t)
	s, api := startSandbox(t, sandbox.Options{ExternalTarget: base, ExternalToken: token})
	_ = s

	var dump struct {
		Users []struct {
			UserName string `json:"userName"`
			Active   bool   `json:"active"`
		} `json:"users"`
		Groups []struct {
			DisplayName string `json:"displayName"`
			Members     []any  `json:"members"`
		} `json:"groups"`
		Log []string `json:"log"`
	}
	res, err := http.Get(strings.TrimSuffix(base, "/scim/v2") + "/dump")
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&dump))
	active := 0
	for _, u := range dump.Users {
		if u.Active {
			active++
		}
	}
	t.Logf("%d users (%d active), %d groups, %d requests", len(dump.Users), active, len(dump.Groups), len(dump.Log))
	for _, g := range dump.Groups {
		t.Logf("group %s: %d members", g.DisplayName, len(g.Members))
	}
	for _, line := range dump.Log {
		t.Log(line)
	}
	require.NotEmpty(t, dump.Users)
	require.Equal(t, len(dump.Users)-1, active, "the leaver is inactive, everyone else is active")
	_ = api
}

// startScimmy installs the npm package into a temporary folder and starts the server there.
func startScimmy(t *testing.T) (base, token string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "server.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", "interop", "scimmy", name))
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
