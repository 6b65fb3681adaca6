package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

const targetToken = "target-token"

// transcript records the commands of an operator and their output. Each command runs in this process, against a sandbox in this process.
type transcript struct {
	t      *testing.T
	s      *sandbox.Sandbox
	api    *sandbox.APIClient
	target *httptest.Server
	refuse atomic.Bool       // the target rejects creates
	answer atomic.Value      // a func(http.ResponseWriter, *http.Request) bool; if it returns true, it has responded instead of the target
	masks  map[string]string // replacements of ids
	text   strings.Builder
}

func newTranscript(t *testing.T) *transcript {
	t.Helper()
	server, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens(targetToken), PasswordCost: 4})
	require.NoError(t, err)
	x := &transcript{t: t, masks: map[string]string{}}
	x.target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := x.answer.Load().(func(http.ResponseWriter, *http.Request) bool); ok && answer(w, r) {
			return
		}
		if r.Method == http.MethodPost && x.refuse.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no licence is left"}`))
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(x.target.Close)
	x.s, err = sandbox.Start(t.Context(),
		sandbox.Options{Listen: "127.0.0.1:0", Empty: true, NoRateLimits: true, Guard: 1, RetryMax: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, x.s.Close(context.WithoutCancel(t.Context())))
	})
	x.api = &sandbox.APIClient{BaseURL: x.s.Ready().BaseURL, Token: x.s.Ready().APIToken}
	x.masks[x.target.URL] = "http://target"
	return x
}

// do sends a request to the management API and returns the id in its response.
func (x *transcript) do(method, path, body string) string {
	x.t.Helper()
	var payload any
	if body != "" {
		payload = json.RawMessage(body)
	}
	var answer struct {
		ID string `json:"id"`
	}
	require.NoError(x.t, x.api.Do(x.t.Context(), method, path, payload, &answer))
	return answer.ID
}

func (x *transcript) app(label string) string {
	x.t.Helper()
	id := x.do(http.MethodPost, "/api/v1/apps", fmt.Sprintf(`{"name":"scim2_test_app","label":%q,"settings":{"app":{}}}`, label))
	x.do(http.MethodPost, "/api/v1/apps/"+id+"/connections/default?activate=true",
		fmt.Sprintf(`{"baseUrl":%q,"profile":{"authScheme":"TOKEN","token":%q}}`, x.target.URL, targetToken))
	x.do(http.MethodPut, "/api/v1/apps/"+id+"/features/USER_PROVISIONING",
		`{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"profile":{"status":"ENABLED"},`+
			`"lifecycleDeactivate":{"status":"ENABLED"}}}`)
	x.masks[id] = "<" + label + ">"
	return id
}

func (x *transcript) user(name string) string {
	x.t.Helper()
	id := x.do(http.MethodPost, "/api/v1/users?provider=true", fmt.Sprintf(
		`{"profile":{"login":"%[1]s@northwind.example","email":"%[1]s@northwind.example","firstName":%[1]q,"lastName":"Person"},`+
			`"credentials":{"provider":{"type":"FEDERATION","name":"FEDERATION"}}}`, name))
	x.masks[id] = "<" + name + ">"
	return id
}

// assign assigns a user and waits until the assignment is provisioned or rejected.
func (x *transcript) assign(app, user string) {
	x.t.Helper()
	x.do(http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q,"scope":"USER"}`, user))
	x.settle(app)
}

func (x *transcript) settle(app string) {
	x.t.Helper()
	x.do(http.MethodPost, "/sandbox/v1/apps/"+app+"/wait?timeoutSeconds=120", "")
}

// alter changes an account on the target without the engine.
func (x *transcript) alter(app, user, givenName string) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPatch, x.target.URL+"/Users/"+x.account(app, user),
		strings.NewReader(fmt.Sprintf(
			`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","path":"name.givenName","value":%q}]}`,
			givenName)))
	require.NoError(x.t, err)
	req.Header.Set("Authorization", "Bearer "+targetToken)
	req.Header.Set("Content-Type", "application/scim+json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(x.t, err)
	require.NoError(x.t, res.Body.Close())
	require.Equal(x.t, http.StatusOK, res.StatusCode)
}

// account returns the id of a user's account and masks it from then on.
func (x *transcript) account(app, user string) string {
	x.t.Helper()
	var p struct{ State struct{ RemoteID string } }
	require.NoError(x.t, x.api.Do(x.t.Context(), http.MethodGet, "/sandbox/v1/apps/"+app+"/principals/user/"+user, nil, &p))
	x.masks[p.State.RemoteID] = strings.Replace(x.masks[user], ">", "'s account>", 1)
	return p.State.RemoteID
}

var (
	instant = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z|\b\d\d:\d\d:\d\d\b`)
	// ragged matches the space between columns, which depends on the lengths of masked values.
	ragged = regexp.MustCompile(`(\S)  +`)
)

// run runs an engine command and records its output, with ids and times masked.
func (x *transcript) run(code int, args ...string) {
	x.t.Helper()
	x.write(code, args, func(stdout string) string { return stdout })
}

// unordered does the same as run, but sorts the recorded lines. It is for lists that are ordered by random ids.
func (x *transcript) unordered(code int, args ...string) {
	x.t.Helper()
	x.write(code, args, func(stdout string) string {
		lines := strings.SplitAfter(stdout, "\n")
		slices.Sort(lines)
		return strings.Join(lines, "")
	})
}

func (x *transcript) write(code int, args []string, arrange func(stdout string) string) {
	x.t.Helper()
	got, stdout, stderr := run(x.t.Context(), append([]string{"engine", "--url", x.api.BaseURL, "--api-token", x.api.Token}, args...)...)
	require.Equal(x.t, code, got, "%v\nstdout: %s\nstderr: %s", args, stdout, stderr)
	text := fmt.Sprintf("$ scimwright engine %s\n%s%s", x.mask(strings.Join(args, " ")), arrange(x.mask(stdout)), x.mask(stderr))
	if code != 0 {
		text += fmt.Sprintf("exit code %d\n", code)
	}
	x.text.WriteString(text + "\n")
}

func (x *transcript) mask(text string) string {
	for id, shown := range x.masks {
		text = strings.ReplaceAll(text, id, shown)
	}
	return ragged.ReplaceAllString(instant.ReplaceAllString(text, "<time>"), "$1  ")
}

// json runs a command with --json and decodes what it prints.
func (x *transcript) json(into any, args ...string) {
	x.t.Helper()
	args = append([]string{"engine", "--json", "--url", x.api.BaseURL, "--api-token", x.api.Token}, args...)
	_, stdout, stderr := run(x.t.Context(), args...)
	require.NoError(x.t, json.Unmarshal([]byte(stdout), into), "%v\n%s%s", args, stdout, stderr)
}

// fleet runs the commands that show processes and jobs. The numbers that depend on the time are masked.
func (x *transcript) fleet() {
	x.t.Helper()
	x.masked(map[string]string{
		`(?m)^\S+( +sandbox +alive +)\S+( +- +)\d+( +)[\d.]+( +)\S+( +)\d+( +)`: "<id>${1}<age>${2}0${3}0.0${4}-${5}0${6}",
		`\d+ lanes?, \d+ principals?`:                                           "0 lanes, 0 principals",
	}, "fleet")
	x.masked(map[string]string{`(?m) (waiting|running) .*`: " <state>"}, "jobs")
	x.run(0, "jobs", "--kind", "unknown")
	x.run(2, "jobs", "--state", "unknown")
	var f struct {
		Shared    bool
		Processes []struct{ Name string }
	}
	x.json(&f, "fleet")
	require.False(x.t, f.Shared)
	require.Len(x.t, f.Processes, 1)
}

// masked runs a command and replaces what the patterns match. It sorts jobs, because their order depends on the time.
func (x *transcript) masked(patterns map[string]string, args ...string) {
	x.t.Helper()
	x.write(0, args, func(stdout string) string {
		for line := range strings.Lines(stdout) {
			require.LessOrEqual(x.t, len(strings.TrimSpace(line)), 100, line)
		}
		if lines := strings.SplitAfter(stdout, "\n"); args[0] == "jobs" {
			slices.Sort(lines[1 : len(lines)-1])
			stdout = strings.Join(lines, "")
		}
		for pattern, by := range patterns {
			stdout = regexp.MustCompile(pattern).ReplaceAllString(stdout, by)
		}
		return stdout
	})
}

// TestEngine_Transcript compares a transcript of the commands of the engine with testdata/engine.txt.
func TestEngine_Transcript(t *testing.T) {
	t.Parallel()
	x := newTranscript(t)
	crm := x.app("CRM")
	ann, bob, cy, dee := x.user("ann"), x.user("bob"), x.user("cy"), x.user("dee")
	x.assign(crm, ann)
	x.assign(crm, bob)
	x.account(crm, ann)
	x.account(crm, bob)

	x.run(0, "apps")
	x.run(0, "apps", "CRM")
	x.run(0, "tasks", "crm")
	x.run(0, "explain", crm, "ann@northwind.example")
	x.run(0, "verify", "CRM", "ann@northwind.example")
	x.run(1, "verify", "CRM", "cy@northwind.example")
	x.run(1, "trace", "CRM", "cy@northwind.example")
	x.run(1, "explain", "CRM", "cy@northwind.example")
	for _, command := range []string{"verify", "trace", "explain"} {
		x.run(1, command, "CRM", "nobody@northwind.example")
		x.run(1, command, "CRM", "--group", "Nobodies")
	}

	var all struct {
		ID    string
		Items int
	}
	x.json(&all, "plan", "CRM", "--all")
	require.Zero(t, all.Items, "the plan of a converged app is empty")
	_, _, stderr := run(t.Context(), "engine", "--url", x.api.BaseURL, "--api-token", x.api.Token, "discard", "CRM", all.ID)
	require.Empty(t, stderr)

	x.refuse.Store(true)
	x.assign(crm, cy)
	x.run(1, "wait", "CRM", "cy@northwind.example")
	x.run(1, "trace", "CRM", "cy@northwind.example", "--apply")
	code, stdout, stderr := run(t.Context(), "engine", "--url", x.api.BaseURL, "--api-token", x.api.Token, "explain", "CRM",
		"cy@northwind.example")
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, stdout, "no licence is left")
	require.Contains(t, stderr, "cy@northwind.example has not converged")
	x.run(1, "tasks", "CRM")
	x.run(0, "dismiss", "CRM", "cy@northwind.example")
	x.run(1, "dismiss", "CRM", "ann@northwind.example")
	x.assign(crm, dee)
	x.refuse.Store(false)
	x.run(0, "retry", "CRM", "--all")
	x.settle(crm)
	x.run(0, "retry", "CRM", "cy@northwind.example")
	x.run(0, "wait", "CRM")
	x.account(crm, cy)
	x.account(crm, dee)

	x.alter(crm, ann, "Anna")
	x.run(1, "verify", "CRM", "ann@northwind.example")
	x.run(1, "trace", "CRM", "ann@northwind.example")
	x.run(1, "drift", "CRM")
	x.run(0, "trace", "CRM", "ann@northwind.example", "--apply")
	x.alter(crm, ann, "Anna")
	x.run(0, "drift", "CRM", "--repair")
	x.settle(crm)
	x.run(0, "reconcile", "CRM")

	x.do(http.MethodPost, "/api/v1/users/"+cy+"/lifecycle/suspend", "")
	x.settle(crm)
	code, _, stderr = run(t.Context(), "engine", "--url", x.api.BaseURL, "--api-token", x.api.Token, "verify", "CRM", "cy@northwind.example")
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, stderr, "cy@northwind.example was not compared: the desired state is to leave the account unchanged")
	x.json(&all, "plan", "CRM", "--all")
	require.Zero(t, all.Items, "a user who is skipped again is not planned")
	run(t.Context(), "engine", "--url", x.api.BaseURL, "--api-token", x.api.Token, "discard", "CRM", all.ID)
	x.do(http.MethodPost, "/api/v1/users/"+cy+"/lifecycle/unsuspend", "")
	x.settle(crm)

	sales := x.do(http.MethodPost, "/api/v1/groups", `{"profile":{"name":"Sales"}}`)
	x.masks[sales] = "<Sales>"
	x.do(http.MethodPut, "/api/v1/groups/"+sales+"/users/"+dee, "")
	x.do(http.MethodPost, "/api/v1/apps/"+crm+"/group-push/mappings",
		fmt.Sprintf(`{"sourceGroupId":%q,"targetGroupName":"Sales team","status":"ACTIVE"}`, sales))
	x.settle(crm)
	x.run(0, "verify", "--group", "CRM", "Sales")
	x.run(0, "drift", "CRM", "--groups")
	x.run(1, "wait", "CRM", "--group", "No such group")

	x.alter(crm, ann, "Anna")
	x.alter(crm, bob, "Bobby")
	var plan struct{ ID string }
	x.json(&plan, "plan", "CRM", "ann@northwind.example", "bob@northwind.example", "--reason", "ticket 4711")
	x.masks[plan.ID] = "<plan>"
	x.run(0, "plans", "CRM")
	x.run(0, "plans", "CRM", plan.ID)
	x.run(0, "apply", "CRM", plan.ID, "--first", "1")
	x.settle(crm)
	x.run(0, "apply", "CRM", plan.ID)
	x.settle(crm)
	x.run(1, "apply", "CRM", plan.ID)
	x.run(0, "discard", "CRM", plan.ID)

	links := filepath.Join(t.TempDir(), "links.jsonl")
	require.NoError(t, os.WriteFile(links, []byte(x.linked("CRM")), 0o600))
	x.app("ERP")
	x.masks[links] = "links.jsonl"
	x.run(0, "links", "import", "ERP", links)
	x.unordered(0, "import", "CRM")
	x.run(0, "import", "ERP", "--confirm", "--limit", "0")
	x.run(1, "drift", "ERP", "--limit", "0")

	x.run(0, "halt", "CRM", "--op", "deactivate", "--reason", "audit")
	x.run(0, "apps")
	x.run(0, "resume", "CRM")
	x.run(0, "halt", "--all-apps", "--reason", "maintenance")
	x.run(0, "apps")
	x.run(0, "resume", "--all-apps")
	for _, user := range []string{ann, bob, cy} {
		x.do(http.MethodDelete, "/api/v1/apps/"+crm+"/users/"+user, "")
		x.settle(crm)
	}
	x.unordered(1, "tasks", "CRM")
	x.run(0, "events", "CRM")
	x.run(0, "events", "CRM", "cy@northwind.example", "--limit", "2")
	x.run(1, "approve", "CRM", "3")
	x.run(0, "approve", "CRM", "2")
	x.settle(crm)
	x.run(0, "tasks", "CRM")
	x.run(0, "release", "CRM")
	x.run(0, "test", "CRM")
	x.masks[x.do(http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Unconnected","settings":{"app":{}}}`)] = "<Unconnected>"
	x.run(1, "test", "Unconnected")
	x.run(0, "probe", "CRM")
	x.run(0, "unlearn", "CRM")
	x.run(1, "probe", "CRM", "--stored")

	x.fleet()
	x.run(1, "apps", "no such app")
	x.run(2, "halt")
	x.run(2, "retry", "CRM")
	x.run(2, "plan", "CRM")
	x.run(2, "events")

	golden := filepath.Join("testdata", "engine.txt")
	got := x.text.String()
	goldentest.Check(t, golden, got)
}

// linked returns the exported links of an app.
func (x *transcript) linked(app string) string {
	x.t.Helper()
	code, stdout, stderr := run(x.t.Context(), "engine", "--url", x.api.BaseURL, "--api-token", x.api.Token, "links", "export", app)
	require.Equal(x.t, cli.ExitOK, code, stderr)
	var list []json.RawMessage
	x.json(&list, "links", "export", app)
	require.Len(x.t, list, strings.Count(stdout, "\n"))
	return stdout
}

func TestEngine_PrintsJSON(t *testing.T) {
	x := newTranscript(t)
	crm := x.app("CRM")
	x.assign(crm, x.user("ann"))
	for _, args := range [][]string{
		{"apps"}, {"apps", "CRM"}, {"tasks", "CRM"}, {"retry", "CRM", "--all"}, {"trace", "CRM", "ann"}, {"trace", "CRM", "ann", "--apply"},
		{"explain", "CRM", "ann"}, {"verify", "CRM", "ann"}, {"wait", "CRM"}, {"wait", "CRM", "ann"}, {"plan", "CRM", "--all"}, {"plans", "CRM"},
		{"drift", "CRM"}, {"reconcile", "CRM"}, {"import", "CRM"}, {"links", "export", "CRM"}, {"halt", "--all-apps"}, {"resume", "--all-apps"},
		{"probe", "CRM"}, {"probe", "CRM", "--stored"}, {"events", "CRM"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, stdout, stderr := run(t.Context(),
				append([]string{"engine", "--json", "--url", x.api.BaseURL, "--api-token", x.api.Token}, args...)...)
			require.Equal(t, cli.ExitOK, code, stderr)
			require.True(t, json.Valid([]byte(stdout)), stdout)
		})
	}
}

func TestEngineEvents_FollowedUntilInterrupt(t *testing.T) {
	x := newTranscript(t)
	crm := x.app("CRM")
	ctx, cancel := context.WithCancel(t.Context())
	var out lockedBuffer
	done := make(chan int, 1)
	go func() {
		var stderr bytes.Buffer
		done <- cli.Run(ctx, []string{"engine", "--json", "--url", x.api.BaseURL, "--api-token", x.api.Token, "events", "CRM", "--follow"}, &out,
			&stderr, os.LookupEnv)
	}()
	x.assign(crm, x.user("ann"))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), `"type":"user.created"`) }, time.Minute, 10*time.Millisecond)
	cancel()
	require.Equal(t, cli.ExitOK, <-done)
}

// lockedBuffer is a buffer for concurrent reads and writes.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
