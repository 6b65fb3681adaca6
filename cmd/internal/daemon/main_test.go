package daemon_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// childVariable makes the test binary run as the scimwright command, so that tests can kill a real process.
const childVariable = "SCIMWRIGHT_TEST_AS_COMMAND"

// patience is the maximum duration of every wait in these tests.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
		stop()
		os.Exit(code)
	}
	if text := os.Getenv(killableVariable); text != "" {
		os.Exit(killableMain(text))
	}
	code := sqldbtest.Main(m)
	if code == 0 {
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

const (
	adminToken = "admin-token-of-the-tests"
	testKey    = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	otherKey   = "MTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// each runs a test with a new database of each kind.
func each(t *testing.T, fn func(t *testing.T, databaseURL string)) {
	t.Run("sqlite", func(t *testing.T) { fn(t, "sqlite:"+filepath.Join(t.TempDir(), "engine.db")) })
	t.Run("postgres", func(t *testing.T) { fn(t, sqldbtest.PostgresURL(t)) })
}

// start starts a daemon on a free port. stop stops it; the end of the test does so, too.
func start(t *testing.T, o daemon.Options) (d *daemon.Daemon, stop func()) {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.DB == "" {
		o.DB = "sqlite:" + filepath.Join(t.TempDir(), "engine.db")
	}
	if o.AdminToken == "" {
		o.AdminToken = adminToken
	}
	if o.Keys == (daemon.KeyOptions{}) {
		o.Keys.Keys = testKey
	}
	d, err := daemon.Start(t.Context(), o)
	require.NoError(t, err)
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, d.Close(ctx))
	})
	t.Cleanup(stop)
	return d, stop
}

// caller sends requests with a token.
type caller struct {
	t      testing.TB
	url    string
	token  string
	tenant string
	header http.Header // further headers
	http   *http.Client
}

func callerOf(t testing.TB, d *daemon.Daemon) *caller {
	return &caller{t: t, url: d.Ready().EngineURL, token: adminToken}
}

// as returns a caller of a tenant with a new token that has the permissions.
func (c *caller) as(tenant string, scopes ...string) *caller {
	c.t.Helper()
	admin := *c
	admin.tenant = tenant
	body, err := json.Marshal(map[string]any{"name": "test", "scopes": scopes})
	require.NoError(c.t, err)
	var made struct {
		Token string `json:"token"`
	}
	admin.do(http.StatusCreated, http.MethodPost, "/tokens", string(body), &made)
	return &caller{t: c.t, url: c.url, token: made.Token, http: c.http}
}

// response is a response of the API.
type response struct {
	status int
	header http.Header
	body   string
}

func (c *caller) send(method, path, media string, body io.Reader) (response, error) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, body)
	if err != nil {
		return response{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.tenant != "" {
		req.Header.Set("X-Svc-Tenant", c.tenant)
	}
	maps.Copy(req.Header, c.header)
	req.Header.Set("Content-Type", media)
	client := c.http
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" { // does not end
		return response{res.StatusCode, res.Header, ""}, nil
	}
	text, err := io.ReadAll(res.Body)
	return response{res.StatusCode, res.Header, string(text)}, err
}

// do sends a request with a JSON body, requires the status, and decodes the response into the last argument, if any.
func (c *caller) do(status int, method, path, body string, into ...any) response {
	c.t.Helper()
	r, err := c.send(method, path, "application/json", strings.NewReader(body))
	require.NoError(c.t, err)
	require.Equal(c.t, status, r.status, "%s %s: %s", method, path, r.body)
	for _, v := range into {
		require.NoError(c.t, json.Unmarshal([]byte(r.body), v), r.body)
	}
	return r
}

// appBody returns the body of an app.
func appBody(version int, target string) string {
	return fmt.Sprintf(`{"version":%d,"target":{"baseUrl":%q,"auth":{"secret":"t0k3n"},"createUsers":true,"updateUsers":true,`+
		`"deactivateUsers":true,"pushGroups":true}}`, version, target)
}

func userBody(version int, name string) string {
	return fmt.Sprintf(`{"version":%d,"want":"active","resource":{"userName":%q}}`, version, name)
}

// newTarget starts a SCIM server.
func newTarget(t testing.TB) (target *enginetest.Target, url string) {
	t.Helper()
	target = enginetest.NewTarget()
	server := httptest.NewServer(target)
	t.Cleanup(server.Close)
	return target, server.URL
}

// logged is a log that tests can read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// commandBinary selects a binary of the command, such as that of "make build". The test binary is larger.
var commandBinary = flag.String("daemon.binary", "",
	"path of the scimwright command that tests and benchmarks start; default: the test binary")

// child is the scimwright command in a separate process.
type child struct {
	cmd   *exec.Cmd
	ready daemon.Ready
}

// startCommand runs serve engine and waits for its ready file.
func startCommand(t testing.TB, args ...string) *child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	binary := cmp.Or(*commandBinary, os.Args[0])
	cmd := exec.Command(binary, append([]string{"serve", "engine", "--listen", "127.0.0.1:0", "--ready-file", file}, args...)...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd}
	t.Cleanup(c.kill)
	eventually(t, "the command is ready", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(data, &c.ready) == nil
	})
	return c
}

// kill kills the process without a shutdown. A second call does nothing.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// eventually polls a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
