package sqldbtest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// standbyName is the application_name of the standby, by which the primary waits for it.
const standbyName = "standby"

// Pair is a PostgreSQL server and its synchronous standby, for one test. A commit is acknowledged when both have it.
type Pair struct {
	t             testing.TB
	owner         *syscall.Credential
	dir           string
	primary, next *daemon

	pooler   *daemon // nil without Pooled
	mode     string
	poolSize int
}

// NewPair starts a primary and a standby, which are stopped at the end of the test.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	WithPostgres(t)
	p := &Pair{t: t}
	t.Cleanup(func() { require.NoError(t, p.stop()) })
	require.NoError(t, p.start())
	return p
}

// URL returns a URL for sqlopen.Open that names both servers. A connection is one to the server that accepts writes.
func (p *Pair) URL() string {
	params := url.Values{"host": {p.at("primary") + "," + p.at("next")}, "port": {"5432,5432"}, "user": {"postgres"}, "sslmode": {"disable"},
		"target_session_attrs": {"read-write"}, "connect_timeout": {"2"}}
	return "postgres:///postgres?" + params.Encode()
}

// PooledURL starts a PgBouncer in front of the pair, in the mode "transaction" or "session", and returns a URL for sqlopen.Open. Promote
// changes its configuration. The test is skipped without PgBouncer.
func (p *Pair) PooledURL(mode string) string {
	p.t.Helper()
	needPooler(p.t)
	p.mode, p.poolSize = mode, transactionPool
	if mode == "session" {
		p.poolSize = 100 // a client has its connection until it disconnects
	}
	config, err := writePooler(p.at("primary"), p.dir, p.mode, p.poolSize)
	require.NoError(p.t, err)
	p.pooler, err = startDaemon(p.dir, "pgbouncer.log", p.owner, poolerProgram, config)
	require.NoError(p.t, err)
	url := databaseURL(p.dir, "postgres")
	require.NoError(p.t, p.pooler.await(url+"&default_query_exec_mode=simple_protocol"))
	return url
}

// Kill kills the primary, which does not start again. Its connections break.
func (p *Pair) Kill() {
	p.t.Helper()
	require.NoError(p.t, p.primary.cmd.Process.Kill())
	<-p.primary.exited
}

// Promote makes the standby a primary. It returns when the standby accepts writes.
func (p *Pair) Promote() {
	p.t.Helper()
	program, err := findBinary("pg_ctl")
	require.NoError(p.t, err)
	require.NoError(p.t, p.run(program, "promote", "-w", "-t", "60", "-D", filepath.Join(p.at("next"), "data")))
	if p.pooler != nil {
		_, err := writePooler(p.at("next"), p.dir, p.mode, p.poolSize)
		require.NoError(p.t, err)
		require.NoError(p.t, p.pooler.cmd.Process.Signal(syscall.SIGHUP)) // reads the configuration again
	}
}

// at returns the directory of a server.
func (p *Pair) at(name string) string { return filepath.Join(p.dir, name) }

func (p *Pair) start() (err error) {
	if p.owner, err = serverCredential(); err != nil {
		return err
	}
	sweep()
	if p.dir, err = os.MkdirTemp("", fmt.Sprintf("sqldbtest-%d-", os.Getpid())); err != nil {
		return err
	}
	for _, dir := range []string{p.dir, p.at("primary"), p.at("next")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if p.owner != nil {
			if err := os.Chown(dir, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
				return err
			}
		}
	}
	initdb, err := findBinary("initdb")
	if err != nil {
		return err
	}
	err = p.run(initdb, "-D", filepath.Join(p.at("primary"), "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	if err != nil {
		return err
	}
	if p.primary, err = p.serve("primary"); err != nil {
		return err
	}
	backup, err := findBinary("pg_basebackup")
	if err != nil {
		return err
	}
	err = p.run(backup, "-D", filepath.Join(p.at("next"), "data"), "-h", p.at("primary"), "-U", "postgres", "-R", "-X", "stream",
		"--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	p.next, err = p.serve("next", "-c", "primary_conninfo=host="+p.at("primary")+" user=postgres application_name="+standbyName)
	if err != nil {
		return err
	}
	return p.synchronize()
}

// serve starts a server. fsync is off, because the machine does not fail: a killed server loses nothing that it has written.
func (p *Pair) serve(name string, more ...string) (*daemon, error) {
	postgres, err := findBinary("postgres")
	if err != nil {
		return nil, err
	}
	args := append([]string{"-D", filepath.Join(p.at(name), "data"), "-k", p.at(name), "-c", "listen_addresses=", "-c", "max_connections=200",
		"-c", "shared_buffers=64MB", "-c", "fsync=off", "-c", "synchronous_commit=on", "-c", "autovacuum=off"}, more...)
	d, err := startDaemon(p.dir, name+".log", p.owner, postgres, args...)
	if err != nil {
		return nil, err
	}
	return d, d.await(serverURL(p.at(name)))
}

func serverURL(dir string) string {
	params := url.Values{"host": {dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///postgres?" + params.Encode()
}

// synchronize makes the primary wait for the standby in each commit.
func (p *Pair) synchronize() error {
	db, err := sql.Open("pgx", serverURL(p.at("primary")))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '` + standbyName + `'`, `SELECT pg_reload_conf()`} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	for limit := time.Now().Add(startTimeout); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) { // poll interval
		var n int
		if err := db.QueryRow(`SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&n); err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("the standby is not synchronous: %s", p.next.tail())
}

func (p *Pair) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out)
	}
	return nil
}

func (p *Pair) stop() error {
	err := errors.Join(p.pooler.halt(syscall.SIGQUIT), p.primary.halt(syscall.SIGQUIT), p.next.halt(syscall.SIGQUIT))
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}
