package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
)

// smallDisk mounts an empty file system of 12 MiB. fill uses its space, and returns a function that frees the space again.
func smallDisk(t *testing.T) (dir string, fill func() (free func())) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		alltest.Lacks(t, "the permission to mount a file system")
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir, func() func() {
		name := filepath.Join(dir, "ballast")
		f, err := os.Create(name)
		require.NoError(t, err)
		defer f.Close()
		block := make([]byte, 4096)
		for range 4096 {
			if _, err = f.Write(block); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		return func() { require.NoError(t, os.Remove(name)) }
	}
}

// TestDiskFull_NothingLost fills the disk of a SQLite database while users are written. A write returns 503 with Retry-After, reads
// continue, and no account changes. When there is space again, the daemon continues without a restart, with each acknowledged write.
func TestDiskFull_NothingLost(t *testing.T) {
	dir, fill := smallDisk(t)
	target, targetURL := newTarget(t)
	running := startCommand(t, "--db", "sqlite:"+filepath.Join(dir, "engine.db"), "--key", testKey, "--admin-token", adminToken)
	c := &caller{t: t, url: running.ready.EngineURL, token: adminToken}
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, targetURL))
	acknowledged := map[string]int{} // version, by user
	put := func(n int) response {
		t.Helper()
		user := fmt.Sprint("u-", n%20)
		version := acknowledged[user] + 1
		r, err := c.send(http.MethodPut, "/apps/crm/users/"+user, "application/json", strings.NewReader(fmt.Sprintf(
			`{"version":%d,"want":"active","resource":{"userName":%q,"title":"version %d","displayName":%q}}`, version, user, version,
			strings.Repeat("x", 2000))))
		require.NoError(t, err)
		if r.status == http.StatusOK {
			acknowledged[user] = version
		}
		return r
	}
	for n := range 20 {
		require.Equal(t, http.StatusOK, put(n).status)
	}
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	ready := func() int {
		res, err := http.Get(running.ready.BaseURL + "/readyz")
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}

	free := fill()
	var failed response
	n := 0
	eventually(t, "a write fails", func() bool { n++; failed = put(n); return failed.status != http.StatusOK })
	require.Equal(t, http.StatusServiceUnavailable, failed.status, failed.body)
	require.Contains(t, failed.body, "E0000503")
	require.NotEmpty(t, failed.header.Get("Retry-After"))
	require.Equal(t, http.StatusServiceUnavailable, put(n).status)
	c.do(http.StatusOK, http.MethodGet, "/apps/crm/users/u-1", "")
	eventually(t, "the daemon is not ready", func() bool { return ready() == http.StatusServiceUnavailable })
	require.Len(t, target.Users(), 20)
	for _, u := range target.Users() {
		active, ok := u.Bool("active")
		require.True(t, active || !ok, u.Text("userName"))
	}

	free()
	eventually(t, "the daemon is ready", func() bool { return ready() == http.StatusOK })
	eventually(t, "a write succeeds", func() bool { return put(n).status == http.StatusOK })
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait?timeoutSeconds=60", "")
	require.Len(t, target.Users(), 20)
	for _, u := range target.Users() {
		version := acknowledged[u.Text("userName")]
		require.Equal(t, fmt.Sprint("version ", version), u.Text("title"), u.Text("userName"))
		var stored struct{ Version int }
		c.do(http.StatusOK, http.MethodGet, "/apps/crm/users/"+u.Text("userName"), "", &stored)
		require.Equal(t, version, stored.Version, u.Text("userName"))
	}
}
