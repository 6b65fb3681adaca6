package mgmtapi

import (
	"context"
	"database/sql"
	"log/slog"
	"net/netip"
	"time"
)

// Dialect is a supported database.
type Dialect string

// The supported databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Options configure an API. DB and Dialect are required; the zero values of the other options work.
type Options struct {
	// DB is the database of the API's tables. Open creates the tables and does not modify those of other programs. The caller closes DB after
	// Close. SQLite requires a file and the connection parameters _journal_mode=WAL, _busy_timeout and _foreign_keys=on.
	DB *sql.DB
	// Readers executes queries that do not write. Default: DB, which then needs more than one connection.
	Readers *sql.DB
	// Dialect is the kind of database that DB connects to.
	Dialect Dialect
	// Schema is the PostgreSQL schema of the tables; Open creates it if it does not exist. Default: the current schema of the connection.
	Schema string
	// Prefix starts the names of all tables, indexes and sequences: lower-case letters, digits and underscores, at most 20. Default:
	// "scimwright_", or no prefix if Schema is set. Open renames the tables of versions that had no prefix.
	Prefix string
	// NoPrefix omits the prefix, as earlier versions did. No other program may then have tables in the schema, or, if Schema is empty, in the
	// database.
	NoPrefix bool
	// Updater runs the write transactions, for a SQLite database that other parts of this process write to. Default: the API runs its
	// transactions one after the other and commits several waiting transactions together; they compete with other writers for the lock of the
	// database file.
	Updater Updater

	// Secrets is the key of SecretSize bytes that encrypts tokens of connections, keys and other secrets at rest. Default: a random key; the
	// secrets in the database are lost when the process ends.
	Secrets []byte
	// Connections tests connections to SCIM servers. Default: none; no connection can be activated.
	Connections ConnectionTester
	// Imports reads the accounts of targets. Default: none; imports are not supported.
	Imports Importer
	// Jobs runs scheduled imports, the processing of imported accounts and the removal of old events of the system log, so that one process at
	// a time does each of them. Default: Run does them in each process, and the processes compete for the imports.
	Jobs Jobs
	// Syncing reports whether an account is being provisioned now. Default: the state that Wanted.Report has stored.
	Syncing func(ctx context.Context, a Account) bool
	// Hooks configures the requests to inline hooks.
	Hooks HookNetwork
	// Limits configure the rate limits.
	Limits Limits

	// BaseURL is the public base URL of all links and issuers. Default: the scheme and host of each request; OAuth endpoints and access tokens
	// then work only on loopback addresses.
	BaseURL string
	// Aliases are further base URLs at which clients reach the API. They require BaseURL.
	Aliases []string
	// CustomDomain is the base URL at a custom domain that authorization servers can use as issuer. It requires BaseURL. Default: none.
	CustomDomain string
	// DynamicIssuer enables Dynamic Issuer Mode for authorization servers: in this mode, the issuer is below the base URL to which the client
	// sent its request.
	DynamicIssuer bool
	// Subdomain is the prefix of the generated names of custom applications. Default: "sandbox".
	Subdomain string
	// HashCost is the bcrypt cost of passwords. Default: 10, the default of package bcrypt.
	HashCost int
	// MaxBody limits the size of request bodies, in bytes. Default: 1 MiB.
	MaxBody int64
	// AnswerReplays makes the verification of a factor respond with a factor result instead of an error if the passcode was used before or
	// belongs to another time.
	AnswerReplays bool
	// RelaxedFIDO accepts the data of security keys without checking signatures. It is for tests only: a client without a security key can
	// then enroll one with generated data.
	RelaxedFIDO bool
	// OptionalPassword lets the enrollment policy make passwords optional or forbid them: a user without a password is then ACTIVE and signs
	// in by email.
	OptionalPassword bool

	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Logger receives internal errors. Default: slog.Default().
	Logger *slog.Logger
}

// SecretSize is the size of Options.Secrets, in bytes.
const SecretSize = 32

// Limits configures the rate limits.
type Limits struct {
	// Off admits every request. Responses still have the headers of rate limits.
	Off bool
	// PerMinute replaces the maximum number of requests per minute, by bucket: users, user, users-other, groups, apps, app, logs, tokens, api.
	// Zero means no limit.
	PerMinute map[string]int
}

// HookNetwork configures the requests to inline hooks. The zero value is valid.
type HookNetwork struct {
	// CA holds PEM certificates that are trusted in addition to those of the system.
	CA string
	// CAOption is the name of the option with which the program sets CA, for error messages. Default: no name.
	CAOption string
	// Reach limits the addresses of hooks and their token endpoints. Default: ReachAny.
	Reach Reach
	// Allow lists networks, and Own addresses with a port, that are allowed in addition to Reach. Own is for servers of this process.
	Allow []netip.Prefix
	Own   []netip.AddrPort
	// Timeout limits one request. Default: 3s.
	Timeout time.Duration
}

// Reach is a set of addresses. No set contains link-local addresses or metadata services.
type Reach string

// The sets of addresses.
const (
	ReachAny     Reach = "any"
	ReachPrivate Reach = "private" // private and public addresses, but not this machine
	ReachPublic  Reach = "public"
)

// Tx is a transaction of the API's database. *sql.Tx implements it.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Updater runs fn in a transaction and returns nil only after the commit. If fn returns an error, the Updater rolls back and returns that
// error, or one that wraps it. The transaction acquires the write lock when it starts (BEGIN IMMEDIATE).
type Updater func(ctx context.Context, fn func(tx Tx) error) error
