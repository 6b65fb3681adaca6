package sqlopen

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Description is what a database reports about itself and about a connection.
type Description struct {
	Version string // "SQLite 3.50.4", "PostgreSQL 17.6"
	Major   int    // of PostgreSQL; 0 for SQLite
	// Pooled reports whether the connection is that of a pooler in transaction mode.
	Pooled bool
	// Encrypted reports whether the connection to PostgreSQL uses TLS, and Local whether its server is on this machine.
	Encrypted, Local bool
	// Now is the time of the server, between the times Before and After of this machine; zero for SQLite.
	Now, Before, After time.Time
	// Steps are the numbers of the recorded steps of each schema; see sqldb.Steps.
	Steps map[string]int
}

// stepTables are the possible names of the table of steps.
var stepTables = []string{"scimwright_steps", "steps"}

// Describe connects to an existing database and describes it. It creates and changes nothing. Errors never contain the password of the URL.
func Describe(ctx context.Context, databaseURL string) (Description, error) {
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		return describeSQLite(ctx, path)
	}
	return describePostgres(ctx, databaseURL)
}

func describeSQLite(ctx context.Context, path string) (Description, error) {
	var d Description
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return d, err
	}
	if err := f.Close(); err != nil {
		return d, err
	}
	db, err := sql.Open("sqlite3", sqliteDSN(path, url.Values{"mode": {"rw"}, "_query_only": {"on"}, "_busy_timeout": {"5000"}}))
	if err != nil {
		return d, err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&d.Version); err != nil {
		return d, err
	}
	d.Version = "SQLite " + d.Version
	for _, table := range stepTables {
		var n int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&n)
		if err != nil {
			return d, err
		}
		if n == 0 {
			continue
		}
		rows, err := db.QueryContext(ctx, `SELECT name, MAX(step) FROM "`+table+`" GROUP BY name`)
		if err != nil {
			return d, err
		}
		defer rows.Close()
		for rows.Next() {
			if err := d.addStep(rows.Scan); err != nil {
				return d, err
			}
		}
		if err := rows.Err(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// addStep adds a row with the name of a schema and its number of steps.
func (d *Description) addStep(scan func(dest ...any) error) error {
	var name string
	var step int
	if err := scan(&name, &step); err != nil {
		return err
	}
	if d.Steps == nil {
		d.Steps = map[string]int{}
	}
	d.Steps[name] = step
	return nil
}

func describePostgres(ctx context.Context, databaseURL string) (Description, error) {
	var d Description
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return d, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // works with poolers
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return d, errors.New(strings.ReplaceAll(connectError{err}.Error(), "\n", " "))
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing depends on the end of the connection
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000`).
		Scan(&d.Version, &d.Major); err != nil {
		return d, err
	}
	version, _, _ := strings.Cut(d.Version, " ")
	d.Version = "PostgreSQL " + version
	var pid uint32
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		return d, err
	}
	d.Pooled = pid != conn.PgConn().PID()
	_, d.Encrypted = conn.PgConn().Conn().(*tls.Conn)
	switch address := conn.PgConn().Conn().RemoteAddr().(type) {
	case *net.UnixAddr:
		d.Local = true
	case *net.TCPAddr:
		d.Local = address.IP.IsLoopback()
	}
	for _, table := range stepTables {
		var exists bool
		if err := conn.QueryRow(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, table).Scan(&exists); err != nil {
			return d, err
		}
		if !exists {
			continue
		}
		rows, err := conn.Query(ctx, `SELECT name, MAX(step) FROM "`+table+`" GROUP BY name`)
		if err != nil {
			return d, err
		}
		defer rows.Close()
		for rows.Next() {
			if err := d.addStep(rows.Scan); err != nil {
				return d, err
			}
		}
		if err := rows.Err(); err != nil {
			return d, err
		}
	}
	d.Before = time.Now()
	err = conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&d.Now)
	d.After = time.Now()
	return d, err
}

// Redacted returns a database URL without its password.
func Redacted(databaseURL string) string {
	if !strings.HasPrefix(databaseURL, "postgres") {
		return databaseURL
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "postgres://..."
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}
