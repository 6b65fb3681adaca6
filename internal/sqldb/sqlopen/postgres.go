package sqlopen

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// execMode is the parameter of a database URL that selects how the driver runs statements.
const execMode = "default_query_exec_mode"

func openPostgres(ctx context.Context, databaseURL string, o Options) (*sqldb.DB, error) {
	if o.NoSync {
		return nil, errors.New(`sqlopen: postgres: NoSync is for SQLite; add "synchronous_commit=off" to the URL`)
	}
	config, err := pgx.ParseConfig(databaseURL)
	if err == nil {
		err = AdjustMode(ctx, databaseURL, config)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlopen: postgres: %w", err)
	}
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config)})
	conns := cmp.Or(o.MaxConns, defaultPostgresConns)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return newDB(sqldb.Options{Dialect: sqldb.Postgres, Writer: pool, Logger: o.Logger})
}

// AdjustMode connects, and changes the configuration of the driver if the server is a pooler such as PgBouncer: the driver then prepares no
// named statements. In transaction mode, each transaction runs in another session, and a session has only the statements that were prepared
// in it. The parameter default_query_exec_mode of databaseURL, from which config was read, takes precedence.
func AdjustMode(ctx context.Context, databaseURL string, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return connectError{err}
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing depends on the end of the connection
	if strings.Contains(databaseURL, execMode+"=") {
		return nil
	}
	// A pooler sends a process id of its own, because a client has no session of its own.
	var pid uint32
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return err
	}
	if pid != conn.PgConn().PID() {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return nil
}

// connectError is an error of the driver with each line once: by default, the driver connects with TLS, then without, and reports both
// errors.
type connectError struct{ error }

// Error implements error.
func (e connectError) Error() string {
	var lines []string
	for line := range strings.SplitSeq(e.error.Error(), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the error of the driver.
func (e connectError) Unwrap() error { return e.error }
