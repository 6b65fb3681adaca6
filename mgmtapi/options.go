package mgmtapi

import (
	"context"
	"database/sql"
	"log/slog"
	"net/netip"
	"time"
)

// Dialect names a database.
type Dialect string

// The supported databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Options configure an API. DB and Dialect are required; the zero values of the other options work.
type Options struct {
	// DB holds the tables of the API, which Open creates; tables of other programs stay as they are. The caller closes DB, after Close.
	// SQLite needs a file and the connection parameters _journal_mode=WAL, _busy_timeout and _foreign_keys=on.
	DB *sql.DB
	// Readers run what does not write. Default: DB, which then needs more than one connection.
	Readers *sql.DB
	// Dialect is the database that DB leads to.
	Dialect Dialect
	// Schema is the PostgreSQL schema that has the tables; Open creates it if it does not exist. Default: the current schema of the
	// connection.
	Schema string
	// Prefix begins the names of all tables, indexes and sequences: lower case letters, digits and underscores, at most 20. Default:
	// "scimwright_", and no prefix if there is a Schema. Open renames the tables of versions that had none.
	Prefix string
	// NoPrefix leaves the names without a prefix, as earlier versions did. The database, or the schema, then has to be the API's own.
	NoPrefix bool
	// Updater runs the writing transactions of a SQLite database that others of this process write to. Default: the API serializes its own
	// transactions and commits waiting ones together; those of others wait for the lock of the file.
	Updater Updater

	// Secrets is the key of SecretSize bytes that encrypts tokens of connections, keys and the like at rest. Default: a random key, with
	// which the secrets in the database are lost when the process ends.
	Secrets []byte
	// Connections tests connections to SCIM servers. Default: none; no connection can be activated.
	Connections ConnectionTester
	// Imports reads the accounts of targets. Default: none; nothing is imported.
	Imports Importer
	// Syncing reports whether an account is being provisioned now. Default: what Wanted.Report has stored.
	Syncing func(ctx context.Context, a Account) bool
	// Hooks configures the requests to inline hooks.
	Hooks HookNetwork
	// Limits configure the rate limits.
	Limits Limits

	// BaseURL is the public base of all links and issuers. Default: the scheme and host of each request; OAuth endpoints and access
	// tokens then work at a loopback address only.
	BaseURL string
	// Aliases are further addresses at which clients reach the API, each a base URL. They need BaseURL.
	Aliases []string
	// CustomDomain is the base URL at a custom domain that authorization servers can have as issuer. It needs BaseURL. Default: none.
	CustomDomain string
	// DynamicIssuer enables Dynamic Issuer Mode for authorization servers.
	DynamicIssuer bool
	// Subdomain starts the generated names of custom applications. Default: "sandbox".
	Subdomain string
	// HashCost is the bcrypt cost of passwords. Default: that of package bcrypt, 10.
	HashCost int
	// MaxBody limits request bodies, in bytes. Default: 1 MiB.
	MaxBody int64
	// AnswerReplays returns a result instead of an error for passcodes of factors that were used before or belong to another time.
	AnswerReplays bool
	// RelaxedFIDO accepts the data of security keys without checking signatures. Only tests may set it: generated data enrolls a key.
	RelaxedFIDO bool
	// OptionalPassword lets the enrollment policy make passwords optional or forbid them: such users are ACTIVE without one and
	// sign in by email.
	OptionalPassword bool

	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Logger receives internal errors. Default: slog.Default().
	Logger *slog.Logger
}

// SecretSize is the size of Options.Secrets, in bytes.
const SecretSize = 32

// Limits configure the rate limits.
type Limits struct {
	// Off admits every request. Responses still have the headers of rate limits.
	Off bool
	// PerMinute replaces limits, by bucket: users, user, users-other, groups, apps, app, logs, tokens, api. Zero means no limit.
	PerMinute map[string]int
}

// HookNetwork configures the requests to inline hooks. The zero value works.
type HookNetwork struct {
	// CA holds certificates in PEM form that are trusted in addition to those of the system.
	CA string
	// CAOption names the option of the program that sets CA, for error messages. Default: no name.
	CAOption string
	// Reach limits the addresses of hooks and their token endpoints. Default: ReachAny.
	Reach Reach
	// Allow and Own are addresses that are allowed whatever Reach is.
	Allow []netip.Prefix
	Own   []netip.AddrPort
	// Timeout limits one request. Default: 3s.
	Timeout time.Duration
}

// Reach is a set of addresses. None contains link-local addresses and metadata services.
type Reach string

// The sets of addresses.
const (
	ReachAny     Reach = "any"
	ReachPrivate Reach = "private" // private and public addresses, without those of this machine
	ReachPublic  Reach = "public"
)

// Tx is a transaction of the API's database; *sql.Tx has these methods, too.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Updater runs fn in a transaction and returns nil only after the commit. If fn returns an error, the Updater rolls back and returns that
// error, or one that wraps it. The transaction starts with the lock of the writer (BEGIN IMMEDIATE).
type Updater func(ctx context.Context, fn func(tx Tx) error) error
