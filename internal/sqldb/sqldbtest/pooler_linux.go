package sqldbtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
)

// pooler is a PgBouncer in transaction mode in front of the private cluster. The tests of the process share it.
type pooler struct {
	mu     sync.Mutex
	tried  bool
	err    error
	server *daemon
}

const (
	poolerProgram = "/usr/sbin/pgbouncer"
	poolerPort    = "6432"
)

// poolerConfig is the configuration of PgBouncer. Its parameters are the directory of the server, that of the socket of PgBouncer, the mode
// and the size of a pool. Successive transactions of a client run on different connections (server_round_robin), so that a test fails if it
// depends on the state of a session.
const poolerConfig = `[databases]
* = host=%[1]s user=postgres
[pgbouncer]
unix_socket_dir = %[2]s
listen_port = ` + poolerPort + `
auth_type = any
pool_mode = %[3]s
default_pool_size = %[4]d
max_client_conn = 1000
server_login_retry = 1
server_round_robin = 1
log_connections = 0
log_disconnections = 0
log_stats = 0
`

// PooledURL returns a URL for sqlopen.Open whose connections go through PgBouncer in transaction mode, to a new database, which is dropped
// at the end of the test. The test is skipped without PgBouncer.
func PooledURL(t testing.TB, options ...Option) string {
	t.Helper()
	WithPostgres(t)
	needPooler(t)
	if os.Getenv("SCIMWRIGHT_TEST_POSTGRES") != "" {
		t.Skip("PgBouncer runs in front of the private server: unset SCIMWRIGHT_TEST_POSTGRES")
	}
	server, err := private.url()
	require.NoError(t, err, "the private cluster of PostgreSQL")
	require.NoError(t, private.pooler.run(&private), "PgBouncer")
	// PgBouncer rejects search_path as a parameter of a connection, so that each test has a database instead of a schema.
	name := newName()
	admin(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	if durable(options) {
		admin(t, server, "ALTER DATABASE "+name+" SET synchronous_commit = on")
	}
	return databaseURL(private.dir, name)
}

// needPooler skips a test if the machine lacks PgBouncer.
func needPooler(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(poolerProgram); err != nil {
		alltest.Lacks(t, "PgBouncer: "+poolerProgram+" does not exist")
	}
}

// transactionPool is the size of a pool in transaction mode.
const transactionPool = 4

// writePooler writes the configuration of a PgBouncer and returns its name.
func writePooler(server, socket, mode string, size int) (string, error) {
	config := filepath.Join(socket, "pgbouncer.ini")
	text := fmt.Appendf(nil, poolerConfig, server, socket, mode, size)
	return config, os.WriteFile(config, text, 0o644) //nolint:gosec // another user reads it
}

func databaseURL(dir, database string) string {
	params := url.Values{"host": {dir}, "port": {poolerPort}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + params.Encode()
}

// run starts PgBouncer on first use.
func (p *pooler) run(c *cluster) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried = true
		p.err = p.start(c)
	}
	return p.err
}

func (p *pooler) start(c *cluster) (err error) {
	config, err := writePooler(c.dir, c.dir, "transaction", transactionPool)
	if err != nil {
		return err
	}
	if p.server, err = startDaemon(c.dir, "pgbouncer.log", c.owner, poolerProgram, config); err != nil {
		return err
	}
	// The simple protocol needs no prepared statement.
	return p.server.await(databaseURL(c.dir, "postgres") + "&default_query_exec_mode=simple_protocol")
}

func (p *pooler) halt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The meaning of the other signals depends on the version. Versions before 1.23 do not handle SIGQUIT, which then ends the process.
	err := p.server.halt(syscall.SIGQUIT)
	p.server = nil
	return err
}
