package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
)

// lines is an upload of users that stops at a line until it is closed.
type lines struct {
	users, stopAt int
	reached       chan struct{} // closed when the upload stops
	release       chan struct{} // closed to end the upload with an error
	next          int
	rest          []byte
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		switch l.next {
		case l.stopAt:
			close(l.reached)
			<-l.release
			return 0, io.ErrUnexpectedEOF
		case l.users:
			return 0, io.EOF
		}
		l.rest = fmt.Appendf(nil, `{"op":"putUser","id":"u-%d","version":1,"want":"active",`+
			`"resource":{"userName":"user%d","title":"%0200d"}}`+"\n", l.next, l.next, l.next)
		l.next++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestKilledDaemon_UploadRepeated kills a daemon during an upload, and then while it provisions. After each restart the upload is
// repeated. In the end, the target has every user once, and the daemon has no task.
func TestKilledDaemon_UploadRepeated(t *testing.T) {
	users := 2500
	if alltest.All() {
		users = 10_000
	}
	each(t, func(t *testing.T, databaseURL string) {
		target, url := newTarget(t)
		args := []string{"--db", databaseURL, "--key", testKey, "--admin-token", adminToken}
		running := startCommand(t, args...)
		c := &caller{t: t, url: running.ready.EngineURL, token: adminToken}
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))

		upload := &lines{users: users, stopAt: users * 2 / 3, reached: make(chan struct{}), release: make(chan struct{})}
		failed := make(chan error, 1)
		go func() {
			_, err := c.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", upload)
			failed <- err
		}()
		<-upload.reached
		eventually(t, "the first transaction is provisioned in part", func() bool { return len(target.Users()) > 0 })
		running.kill()
		close(upload.release)
		require.Error(t, <-failed, "the upload was interrupted")

		all := func() (report struct{ Lines, Applied, Unchanged, Stale, Failed int }) {
			r, err := c.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", &lines{users: users, stopAt: -1})
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.status, r.body)
			require.NoError(t, json.Unmarshal([]byte(r.body), &report))
			return report
		}
		running = startCommand(t, args...)
		c.url = running.ready.EngineURL
		report := all()
		require.Equal(t, users, report.Applied+report.Unchanged)
		require.Positive(t, report.Unchanged, "the transactions before the kill remain")
		require.Positive(t, report.Applied)
		provisioned := len(target.Users())
		eventually(t, "more users are provisioned", func() bool { n := len(target.Users()); return n > provisioned || n == users })
		running.kill()

		running = startCommand(t, args...)
		c.url = running.ready.EngineURL
		require.Equal(t, users, all().Unchanged)
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=300", "")
		seen := map[string]int{}
		for _, u := range target.Users() {
			seen[u.Text("userName")]++
		}
		require.Len(t, seen, users)
		require.Len(t, target.Users(), users, "no user twice")
		var tasks []any
		c.do(http.StatusOK, http.MethodGet, "/apps/crm/tasks", "", &tasks)
		require.Empty(t, tasks)
	})
}

// TestReload_Signal changes the configuration file of a running command, and sends SIGHUP.
func TestReload_Signal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.yaml")
	write := func(paused bool) {
		text := fmt.Sprintf("apps: {crm: {target: {baseUrl: 'http://127.0.0.1:1', paused: %t}}}\n", paused)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(false)
	running := startCommand(t, "--db", "sqlite:"+filepath.Join(t.TempDir(), "engine.db"), "--admin-token", adminToken, "--config", file)
	c := &caller{t: t, url: running.ready.EngineURL, token: adminToken}
	var app struct{ Version int }
	c.do(http.StatusOK, http.MethodGet, "/apps/crm", "", &app)
	require.Equal(t, 1, app.Version)
	write(true)
	require.NoError(t, running.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the app has the next version", func() bool {
		c.do(http.StatusOK, http.MethodGet, "/apps/crm", "", &app)
		return app.Version == 2
	})
	require.NoError(t, running.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, running.cmd.Wait(), "SIGTERM ends the daemon with the exit code 0")
}
