package daemon_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/alltest"
)

// foreignServers are the servers of docs/interop/servers that have users and groups, with the program that installs them.
var foreignServers = map[string]string{
	"better-auth-1.7": "npm", "saml-jackson": "npm", "scimmy-express4": "npm", "scimmy-express5": "npm", "scim2-server": "python3",
	"scim-sdk-server": "mvn", "scimple": "mvn",
}

// foreign is a running third-party server.
type foreign struct{ name, base, token string }

// startForeign begins to install and to start a server. The returned function waits until the server has printed its address.
func startForeign(t *testing.T, name string) (wait func() *foreign) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "..", "docs", "interop", "servers", name, "start.sh"))
	require.NoError(t, err)
	cmd := exec.Command("sh", script, filepath.Join(alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP"), name))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "http") {
				first <- lines.Text()
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return func() *foreign {
		select {
		case line := <-first:
			base, token, _ := strings.Cut(line, " ")
			return &foreign{name: strings.NewReplacer("-", "", ".", "").Replace(name), base: base, token: cmp.Or(token, "interop-token")}
		case <-time.After(10 * time.Minute): // an installation may take minutes
			t.Fatalf("%s did not start", name)
			return nil
		}
	}
}

// get reads the JSON at a URL of the server.
func (f *foreign) get(t *testing.T, address string, into any) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+f.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(into)
}

// list reads all users or groups.
func (f *foreign) list(t *testing.T, path string) ([]map[string]any, error) {
	t.Helper()
	var page struct{ Resources []map[string]any }
	err := f.get(t, f.base+path+"?"+url.Values{"count": {"100"}}.Encode(), &page)
	return page.Resources, err
}

// members returns the ids of the members of a group. The SCIM responses of saml-jackson do not contain the current members;
// docs/interop/servers/saml-jackson/server.mjs returns the stored members at /members.
func (f *foreign) members(t *testing.T, group map[string]any) (ids []any) {
	t.Helper()
	if f.name == "samljackson" {
		server, _, _ := strings.Cut(f.base, "/scim/")
		require.NoError(t, f.get(t, fmt.Sprint(server, "/members/", group["id"]), &ids))
		return ids
	}
	list, _ := group["members"].([]any)
	for _, m := range list {
		member, _ := m.(map[string]any)
		ids = append(ids, member["value"])
	}
	return ids
}

// state returns the users as "userName familyName active", and the groups with the names of their members.
func (f *foreign) state(t *testing.T) (state []string) {
	t.Helper()
	users, err := f.list(t, "/Users")
	require.NoError(t, err)
	names := map[any]string{}
	for _, u := range users {
		name, _ := u["name"].(map[string]any)
		state = append(state, fmt.Sprint(u["userName"], " ", name["familyName"], " ", u["active"]))
		names[u["id"]] = fmt.Sprint(u["userName"])
	}
	groups, err := f.list(t, "/Groups")
	require.NoError(t, err)
	for _, g := range groups {
		var members []string
		for _, id := range f.members(t, g) {
			members = append(members, cmp.Or(names[id], fmt.Sprint("unknown user ", id)))
		}
		slices.Sort(members)
		state = append(state, fmt.Sprint(g["displayName"], " ", members))
	}
	slices.Sort(state)
	return state
}

// TestNodeExamples_ForeignTargets runs the examples in JavaScript, with and without pull, against a daemon whose apps are third-party
// servers, and compares the end state of each server with the desired one. It requires node, npm, python3, Java, Maven and their
// registries.
func TestNodeExamples_ForeignTargets(t *testing.T) {
	_ = alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP")
	for _, program := range []string{"idp.mjs", "pull.mjs"} {
		t.Run(program, func(t *testing.T) {
			d, _ := start(t, daemon.Options{})
			env := append(os.Environ(), "ENGINE_URL="+d.Ready().EngineURL, "ENGINE_TOKEN="+adminToken)
			var starting []func() *foreign
			for name, installer := range foreignServers {
				if _, err := exec.LookPath(installer); err != nil {
					t.Logf("%s: %s is not installed", name, installer)
					continue
				}
				starting = append(starting, startForeign(t, name))
			}
			var targets []*foreign
			var apps []string
			for _, wait := range starting {
				f := wait()
				targets, apps = append(targets, f), append(apps, f.name)
				prefix := strings.ToUpper(f.name)
				env = append(env, prefix+"_URL="+f.base, prefix+"_TOKEN="+f.token)
			}
			require.GreaterOrEqual(t, len(targets), 3)
			for _, f := range targets {
				eventually(t, f.name+" responds", func() bool { _, err := f.list(t, "/Users"); return err == nil })
			}
			cmd := exec.CommandContext(t.Context(), "node", filepath.Join("..", "..", "..", "examples", "idp-node", program))
			cmd.Env = append(env, "APPS="+strings.Join(apps, ","))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
			for _, f := range targets {
				require.Equal(t, []string{
					"Sales [ann@example.com bob@example.com]", "ann@example.com Lee true", "bob@example.com Stone true", "eve@example.com Fox false",
				}, f.state(t), f.name)
				t.Logf("%s: as desired", f.name)
			}
		})
	}
}
