package foreign_test

import (
	"bufio"
	"cmp"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/alltest"
)

// server is a third-party SCIM server.
type server struct {
	name    string   // heading of its part of the report
	folder  string   // name of the directory in which the server is installed
	script  string   // directory of the script below docs/interop/servers, if the server needs one
	install []string // installation command, which runs in that directory
	command []string // command that starts the server and prints the base URL and optionally a token; it runs in that directory
	// members is set if SCIM responses contain no members of groups. The script returns them at /members/{id}.
	members bool
	styles  []engine.Style
	// knownDifferences are the permitted differences that the engine does not report. No request fails, and SCIM requests cannot remove the
	// differences.
	knownDifferences []string
}

// dangling is the difference of a target that keeps the id of a deleted account as a member of its groups.
const dangling = "members without an account"

// token is the token of the servers. saml-jackson generates its own.
const token = "interop-token"

var (
	both = []engine.Style{engine.Auto, engine.Wizard} // for a target that declares support of PATCH, Auto sends the same requests as Catalog
	all  = []engine.Style{engine.Auto, engine.Wizard, engine.Catalog}
)

// The servers, with the versions in the report.
var servers = []server{
	{
		name: "scimmy-routers", folder: "scimmy", script: "scimmy-express4", styles: both, knownDifferences: []string{dangling},
		install: []string{"npm", "install", "--no-audit", "--no-fund", "express@4.22.1", "scimmy@1.3.5", "scimmy-routers@1.3.2"},
		command: []string{"node", "server.mjs", token},
	},
	{
		name: "@boxyhq/saml-jackson", folder: "jackson", script: "saml-jackson", styles: all, members: true, knownDifferences: []string{dangling},
		install: []string{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"},
		command: []string{"node", "server.mjs"},
	},
	{
		name: "scim2-server", folder: "scim2", styles: both, knownDifferences: []string{dangling},
		install: []string{"sh", "-c", "python3 -m venv venv && venv/bin/pip install --quiet scim2-server==0.8.3 scim2-models==0.12.3"},
		command: []string{"venv/bin/scim2-server", "--bearer-token", token, "--port", "PORT"},
	},
}

// installed returns the directory in which a server is installed.
func (s server) installed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP"), s.folder)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"package.json", "server.mjs"} {
		if s.script == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "interop", "servers", s.script, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	install := exec.Command(s.install[0], s.install[1:]...)
	install.Dir = dir
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(done, nil, 0o600))
	return dir
}

// start runs a new server until the end of the test.
func (s server) start(t *testing.T, dir string) reader {
	t.Helper()
	base := ""
	arguments := append([]string{}, s.command...)
	for i, a := range arguments {
		if a == "PORT" {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			_, arguments[i], _ = net.SplitHostPort(l.Addr().String())
			base = "http://" + l.Addr().String() + "/v2"
			require.NoError(t, l.Close())
		}
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	run := exec.Command(arguments[0], arguments[1:]...)
	run.Dir, run.Stderr = dir, log
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r := reader{base: base, token: token}
	if base == "" {
		stdout, err := run.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, run.Start())
		t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
		lines := bufio.NewScanner(stdout)
		for !strings.HasPrefix(r.base, "http") { // a library may print other lines first
			require.True(t, lines.Scan(), "the server prints its address")
			own := ""
			r.base, own, _ = strings.Cut(lines.Text(), " ")
			r.token = cmp.Or(own, token)
		}
	} else {
		require.NoError(t, run.Start())
		t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	}
	if s.members {
		r.membersAt = r.base[:strings.Index(r.base, "/scim/")] + "/members/"
	}
	require.Eventually(t, func() bool {
		status, _ := r.do(t, http.MethodGet, r.base+"/Users?startIndex=1&count=1", nil)
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	return r
}
