package sqldbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// private is the cluster of this test binary. All tests of the process share it, because starting a cluster takes longer than most tests.
// The process has no other shared state.
var private cluster

// cluster is a PostgreSQL server in a temporary directory. It listens only on a Unix socket in that directory.
type cluster struct {
	mu     sync.Mutex
	tried  bool
	err    error
	dir    string
	owner  *syscall.Credential // of the server
	server *daemon
	pooler pooler
}

// url starts the cluster on first use and returns the URL of its database.
func (c *cluster) url() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tried {
		c.tried = true
		if c.err = c.start(); c.err != nil {
			c.err = errors.Join(c.err, c.halt())
		}
	}
	if c.err != nil {
		return "", c.err
	}
	return c.databaseURL(), nil
}

func (c *cluster) databaseURL() string { return serverURL(c.dir) }

// stop stops the server, if it was started, and removes its directory.
func (c *cluster) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halt()
}

func (c *cluster) start() error {
	initdb, err := findBinary("initdb")
	if err != nil {
		return err
	}
	postgres, err := findBinary("postgres")
	if err != nil {
		return err
	}
	if c.owner, err = serverCredential(); err != nil {
		return err
	}
	// The path of a Unix socket must be short, so the directory is not the test's temporary directory.
	sweep()
	if c.dir, err = os.MkdirTemp("", fmt.Sprintf("sqldbtest-%d-", os.Getpid())); err != nil {
		return err
	}
	if c.owner != nil {
		if err := os.Chown(c.dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(c.dir, "data")
	// The database sorts by the rules of English, so that tests fail for text columns without COLLATE "C".
	cmd := exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--locale=C", "--locale-provider=icu", "--icu-locale=en-US")
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	c.server, err = startDaemon(c.dir, "log", c.owner, postgres, "-D", data, "-k", c.dir,
		"-c", "listen_addresses=", "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "max_wal_size=2GB",
		"-c", "synchronous_commit=off", "-c", "autovacuum=off")
	if err != nil {
		return err
	}
	return c.server.await(c.databaseURL())
}

// sweep removes the directories of test processes that were killed. The servers of these processes no longer run: Linux stops a server when
// its test process exits.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "sqldbtest-*-*"))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // ignore the error: another process may be removing the directory
		}
	}
}

func (c *cluster) halt() error {
	errs := []error{c.pooler.halt(), c.server.halt(syscall.SIGQUIT)}
	c.server = nil
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
		c.dir = ""
	}
	return errors.Join(errs...)
}

// findBinary searches PATH, then the directories of Debian's PostgreSQL packages, newest version first.
func findBinary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(versions) == 0 {
		return "", fmt.Errorf("%s is neither in PATH nor in /usr/lib/postgresql", name)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return slices.MaxFunc(versions, func(a, b string) int { return version(a) - version(b) }), nil
}

// serverCredential returns the user that runs the server: the current user, or an unprivileged one for root, which PostgreSQL rejects.
func serverCredential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and neither user postgres nor user nobody exists")
}
