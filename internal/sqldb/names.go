package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Names defines the schema and prefix of the tables of a DB. A statement writes the name of a table, index or sequence in braces: {plan} is
// the qualified and quoted name, {.plan} the name without the schema, as CREATE INDEX and RENAME TO expect it. Braces in literals, quoted
// identifiers and comments are not replaced.
type Names struct {
	// Schema is a schema of PostgreSQL. Empty means the search path of the connection.
	Schema string
	// Prefix is the prefix of each name.
	Prefix string
}

// DefaultPrefix is the prefix of names in an embedder's database unless the embedder chooses a prefix or a schema.
const DefaultPrefix = "scimwright_"

// MaxPrefix is the maximum length of a prefix in bytes. PostgreSQL truncates names at 63 bytes.
const MaxPrefix = 20

// maxSchema is the maximum length in bytes of a name in PostgreSQL.
const maxSchema = 63

var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Embedded returns the Names for the database of an embedder. With neither a schema nor a prefix, the prefix is DefaultPrefix.
func Embedded(d Dialect, schema, prefix string) (Names, error) {
	n := Names{Schema: schema, Prefix: prefix}
	if schema == "" {
		n.Prefix = cmp.Or(prefix, DefaultPrefix)
	}
	switch {
	case n.Prefix == "":
	case len(n.Prefix) > MaxPrefix:
		return n, fmt.Errorf("prefix %q is longer than %d bytes", n.Prefix, MaxPrefix)
	case !validPrefix.MatchString(n.Prefix):
		return n, fmt.Errorf("prefix %q is not allowed: use lowercase letters, digits and underscores, and start with a letter", n.Prefix)
	case strings.HasPrefix(n.Prefix, "sqlite_"), strings.HasPrefix(n.Prefix, "pg_"):
		return n, fmt.Errorf("prefix %q is reserved by the database", n.Prefix)
	}
	switch {
	case n.Schema == "":
	case d != Postgres:
		return n, errors.New("a schema is for PostgreSQL; use a prefix")
	case len(n.Schema) > maxSchema || strings.ContainsRune(n.Schema, 0):
		return n, fmt.Errorf("schema %q is not a name for a PostgreSQL schema", n.Schema)
	case strings.HasPrefix(n.Schema, "pg_"), n.Schema == "information_schema":
		return n, fmt.Errorf("schema %q is reserved by PostgreSQL", n.Schema)
	}
	return n, nil
}

// Plain returns a name without the schema and without quotes.
func (n Names) Plain(name string) string { return n.Prefix + name }

// Quoted returns the replacement of {name} in a statement.
func (n Names) Quoted(name string) string {
	if n.Schema == "" {
		return Quote(n.Prefix + name)
	}
	return Quote(n.Schema) + "." + Quote(n.Prefix+name)
}

// Quote returns a quoted identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// expand replaces the names in braces in a part of a statement that is code, not a literal or comment.
func (n Names) expand(code string) string {
	if strings.IndexByte(code, '{') < 0 {
		return code
	}
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(code, "{")
		b.WriteString(before)
		name, after, closed := strings.Cut(rest, "}")
		plain, unqualified := strings.CutPrefix(name, ".")
		switch {
		case !open:
			return b.String()
		case !closed || !isName(plain):
			b.WriteByte('{')
			code = rest
			continue
		case unqualified:
			b.WriteString(Quote(n.Prefix + plain))
		default:
			b.WriteString(n.Quoted(plain))
		}
		code = after
	}
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// own removes the prefix from the name of the constraint in a unique violation, so that callers receive the names that their statements
// use.
func (n Names) own(err error) error {
	unique, ok := errors.AsType[*UniqueError](err)
	if n.Prefix == "" || !ok {
		return err
	}
	columns := strings.Split(unique.Constraint, ", ")
	for i, c := range columns {
		columns[i] = strings.TrimPrefix(c, n.Prefix)
	}
	return &UniqueError{Constraint: strings.Join(columns, ", "), err: unique.err}
}

// Title returns "SQLite" or "PostgreSQL".
func (d Dialect) Title() string {
	if d == Postgres {
		return "PostgreSQL"
	}
	return "SQLite"
}

// probes are queries that succeed on only one of the databases.
var probes = map[Dialect]string{
	SQLite:   `SELECT sqlite_version()`,
	Postgres: `SELECT current_setting('server_version_num')`,
}

// ErrDialect means that the dialect of a database differs from the one that the caller gave.
var ErrDialect = errors.New("wrong dialect")

// Check returns an error if db cannot be reached, has another dialect, or needs sessions that a pooler does not provide (ErrSessions).
func Check(ctx context.Context, db *sql.DB, d Dialect) error {
	version := ""
	err := db.QueryRowContext(ctx, probes[d]).Scan(&version)
	if err == nil {
		return checkSessions(ctx, db, d)
	}
	for other, probe := range probes {
		if other != d && db.QueryRowContext(ctx, probe).Scan(&version) == nil {
			return fmt.Errorf("%w: the database is %s, the options say %s", ErrDialect, other.Title(), d.Title())
		}
	}
	return fmt.Errorf("the database does not respond as %s: %w", d.Title(), err)
}

// Embed returns a DB on an embedder's connections, with the given schema and prefix of the tables. dialect is "sqlite" or "postgres". Close
// leaves the connections open.
func Embed(ctx context.Context, db *sql.DB, dialect, schema, prefix string) (*DB, error) {
	if db == nil {
		return nil, errors.New("a database is required")
	}
	d, ok := map[string]Dialect{SQLite.String(): SQLite, Postgres.String(): Postgres}[dialect]
	if !ok {
		return nil, fmt.Errorf("unknown dialect %q: use SQLite or Postgres", dialect)
	}
	names, err := Embedded(d, schema, prefix)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, db, d); err != nil {
		return nil, err
	}
	if names, err = names.Located(ctx, db, d); err != nil {
		return nil, err
	}
	return New(Options{Dialect: d, Writer: db, Names: names})
}

// Located returns n with a schema: if n has none, the current schema of the connection, in which CREATE TABLE creates tables. With this
// schema, statements in a transaction of the embedder find the tables even if the transaction has another search path.
func (n Names) Located(ctx context.Context, db *sql.DB, d Dialect) (Names, error) {
	if d != Postgres || n.Schema != "" {
		return n, nil
	}
	var schema sql.NullString
	if err := db.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return n, err
	}
	if !schema.Valid {
		return n, errors.New("no schema of the search path exists: name a schema")
	}
	n.Schema = schema.String
	return n, nil
}
