package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
)

// program returns the path of a program of PostgreSQL, of the highest version that is installed.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	if len(found) == 0 {
		alltest.Lacks(t, name)
	}
	return found[len(found)-1]
}

// output runs a program and returns its standard output.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	return out
}

// backupOf copies a database while a daemon uses it, as docs/howto/operating.md describes. restore returns the URL of a new database with
// the content of the copy.
func backupOf(t *testing.T, databaseURL string) (restore func() string) {
	t.Helper()
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		db, err := sql.Open("sqlite3", path)
		require.NoError(t, err)
		defer db.Close()
		restored := filepath.Join(t.TempDir(), "engine.db")
		_, err = db.ExecContext(t.Context(), `VACUUM INTO '`+restored+`'`)
		require.NoError(t, err)
		return func() string { return "sqlite:" + restored }
	}
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	params := u.Query()
	schema := params.Get("search_path")
	params.Del("search_path")
	params.Del("synchronous_commit")
	u.RawQuery = params.Encode()
	dump := filepath.Join(t.TempDir(), "engine.dump")
	output(t, program(t, "pg_dump"), "-Fc", "-f", dump, "-n", schema+"*", "-d", u.String())
	return func() string {
		db, err := sql.Open("pgx", databaseURL)
		require.NoError(t, err)
		name := schema + "_restored"
		_, err = db.ExecContext(t.Context(), `CREATE DATABASE `+name)
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := db.ExecContext(context.Background(), `DROP DATABASE `+name+` WITH (FORCE)`)
			require.NoError(t, err)
			require.NoError(t, db.Close())
		})
		u.Path = "/" + name
		output(t, program(t, "pg_restore"), "--exit-on-error", "-d", u.String(), dump)
		params.Set("search_path", schema)
		u.RawQuery = params.Encode()
		return u.String()
	}
}

// TestRestore_BackupUnderLoad copies the database while a client changes users, continues, and restores the copy into a new database. With
// --start-halted, the daemon sends nothing until the client has uploaded the present state: a user who was deactivated after the backup
// does not become active. At the end, each account has the last acknowledged version.
func TestRestore_BackupUnderLoad(t *testing.T) {
	const users, leaver = 30, "u-0"
	each(t, func(t *testing.T, databaseURL string) {
		target, _ := newTarget(t)
		var watching, activated atomic.Int32 // writes to the target after the restore, and those that activate the leaver
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if r.Method != http.MethodGet && watching.Load() > 0 {
				watching.Add(1)
				if bytes.Contains(body, []byte(`"`+leaver+`"`)) && !bytes.Contains(body, []byte(`false`)) {
					activated.Add(1)
				}
			}
			target.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		args := []string{"--key", testKey, "--admin-token", adminToken, "--rate", "100000"}
		running := startCommand(t, append(args, "--db", databaseURL)...)
		c := &caller{t: t, url: running.ready.EngineURL, token: adminToken}
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, front.URL))

		user := func(id, want string, version int) string {
			return fmt.Sprintf(`{"op":"putUser","id":%q,"version":%d,"want":%q,"resource":{"userName":%q,"title":"version %d"}}`,
				id, version, want, id, version)
		}
		batch := func(lines ...string) (report struct{ Applied, Unchanged, Stale, Failed int }) {
			t.Helper()
			r, err := c.send(http.MethodPost, "/apps/crm/batch", "application/x-ndjson", strings.NewReader(strings.Join(lines, "\n")))
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.status, r.body)
			require.NoError(t, json.Unmarshal([]byte(r.body), &report))
			return report
		}
		version := 0 // of all users
		upload := func() []string {
			lines := make([]string, users)
			for i := range lines {
				lines[i] = user(fmt.Sprint("u-", i), "active", version)
			}
			return lines
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var rounds atomic.Int32
		var load sync.WaitGroup
		load.Go(func() {
			for ctx.Err() == nil {
				version++
				batch(upload()...)
				rounds.Add(1)
			}
		})
		more := func() {
			t.Helper()
			from := rounds.Load()
			eventually(t, "the client writes", func() bool { return rounds.Load() >= from+5 })
		}
		more()
		eventually(t, "users are provisioned", func() bool { return len(target.Users()) == users })
		restore := backupOf(t, databaseURL)
		more()
		stop()
		load.Wait()
		version++
		last := upload()
		last[0] = user(leaver, "inactive", version)
		batch(last...)
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
		running.kill()

		watching.Store(1)
		running = startCommand(t, append(args, "--db", restore(), "--start-halted")...)
		c.url = running.ready.EngineURL
		root := &caller{t: t, url: running.ready.BaseURL}
		require.Contains(t, root.do(http.StatusOK, http.MethodGet, "/readyz", "").body, "1 app halted since the start")
		var stored struct{ Version int }
		c.do(http.StatusOK, http.MethodGet, "/apps/crm/users/"+leaver, "", &stored)
		require.Less(t, stored.Version, version, "the backup is older")
		report := batch(last...)
		require.Equal(t, users, report.Applied)
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "") // the process takes the lane over
		require.EqualValues(t, 1, watching.Load(), "nothing is sent while the app is halted")
		c.do(http.StatusOK, http.MethodPost, "/halted-at-start/resume", "")
		c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
		require.Zero(t, activated.Load())
		require.Len(t, target.Users(), users)
		for _, u := range target.Users() {
			active, _ := u.Bool("active")
			require.Equal(t, u.Text("userName") != leaver, active, u.Text("userName"))
			if active {
				require.Equal(t, fmt.Sprint("version ", version), u.Text("title"))
			}
		}
	})
}
