package sandbox

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scimserver/tenants"
)

// Options configure a sandbox. The zero value is a sandbox with a temporary database and random tokens.
type Options struct {
	// Listen is the address of the one port. Defaults to 127.0.0.1:8080; port 0 takes a free one.
	Listen string
	// DB is a database URL, sqlite:PATH or postgres://... Defaults to a temporary SQLite file that Close removes.
	DB string
	// Data is a directory that keeps everything; it means DB sqlite:DIR/scimwright.db and SecretKeyFile
	// DIR/secret.key. It excludes DB.
	Data string
	// HashCost is the bcrypt cost of passwords. Defaults to bcrypt.DefaultCost.
	HashCost int
	// SecretKey seals stored secrets: 32 bytes in base64. Defaults to the content of SecretKeyFile.
	SecretKey string
	// SecretKeyFile holds the key and is created when missing. Defaults to PATH.key beside an SQLite database. A
	// PostgreSQL database needs a key or a file.
	SecretKeyFile string
	// APIToken is the token of the built-in administrator. Defaults to the one of the last run with this
	// database, else to a random one.
	APIToken string
	// SCIMToken is the bearer token of the SCIM servers. Defaults like APIToken.
	SCIMToken string
	// ReadyFile is written when everything answers and the seed is provisioned.
	ReadyFile string
	// Empty leaves the seed organisation out. It has no effect on a database that was used before.
	Empty bool
	// NoRateLimits switches the rate limits of the management API off.
	NoRateLimits bool
	// BaseURL is the public base of the links and issuers of the management API, and what security keys are bound to. Defaults to the
	// address that Listen leads to; there is no default if that is all addresses.
	BaseURL string
	// CustomDomain is another name of the sandbox, HOST or HOST:PORT, that authorization servers can have as issuer. Without a port it has
	// that of BaseURL. Defaults to none.
	CustomDomain string
	// DynamicIssuer enables Dynamic Issuer Mode: new authorization servers have the domain of each request as issuer.
	DynamicIssuer bool
	// AnswerReplays answers passcodes of factors that are used again, or that are of another time, with a result instead of an error.
	AnswerReplays bool
	// RelaxedFIDO accepts the data of security keys without checking signatures: the challenge in it decides.
	RelaxedFIDO bool
	// OptionalPassword lets the enrollment policy say that passwords are optional or not allowed.
	OptionalPassword bool
	// HookCA is a PEM file with certificates that the calls of inline hooks trust beside those of the system. Defaults to none.
	HookCA string
	// Egress is the policy for the addresses of connections, inline hooks and token endpoints: any, private or public. Default: any if
	// the sandbox listens on a loopback address, else private.
	Egress string

	// Metrics define where metrics are served and to whom. Default: nowhere.
	Metrics MetricsOptions

	// Quirks make the built-in SCIM servers deviate, as quirks.Parse reads them. Defaults to none.
	Quirks []string
	// Tenants are further SCIM servers, and the configuration of the built-in ones beside their token. Defaults to none.
	Tenants []tenants.Config

	// ExternalTarget and ExternalToken connect the seeded applications to another SCIM server than the built-in one.
	ExternalTarget, ExternalToken string
	// SeedTime bounds creating and provisioning the seed, so that a target that does not answer cannot hold the start.
	// Defaults to 60 s.
	SeedTime time.Duration
	// TargetTimeout bounds one call to a SCIM server. Defaults to 60 s.
	TargetTimeout time.Duration
	// RetryMax bounds the back-off after failures. Defaults to 30 s: in a sandbox somebody is watching.
	RetryMax time.Duration

	// Guard holds deactivations and deletions of an app back, until they are approved, when there are more than so many within a
	// day. Defaults to 0: none are held back.
	Guard int

	// Logger defaults to discarding.
	Logger *slog.Logger

	temporary bool // the database goes with the process
}

const (
	defaultListen        = "127.0.0.1:8080"
	defaultSeedTime      = 60 * time.Second
	defaultTargetTimeout = 60 * time.Second
	defaultRetryMax      = 30 * time.Second
	databaseName         = "scimwright.db"
	keyName              = "secret.key"
)

// complete fills the defaults in. The returned function removes what was made for this run only.
func (o *Options) complete() (cleanup func() error, err error) {
	cleanup = func() error { return nil }
	if o.Data != "" && o.DB != "" {
		return cleanup, errors.New("a data directory and a database exclude each other")
	}
	if err := o.Check(); err != nil {
		return cleanup, err
	}
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if o.SeedTime == 0 {
		o.SeedTime = defaultSeedTime
	}
	if o.TargetTimeout == 0 {
		o.TargetTimeout = defaultTargetTimeout
	}
	if o.RetryMax == 0 {
		o.RetryMax = defaultRetryMax
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Data != "":
		if err := os.MkdirAll(o.Data, 0o700); err != nil {
			return cleanup, fmt.Errorf("data directory: %w", err)
		}
		o.DB = "sqlite:" + filepath.Join(o.Data, databaseName)
		if o.SecretKeyFile == "" {
			o.SecretKeyFile = filepath.Join(o.Data, keyName)
		}
	case o.DB == "":
		o.temporary = true
		o.DB, cleanup, err = temporaryDatabase()
		return cleanup, err
	default:
		if err := checkDatabase(o.DB); err != nil {
			return cleanup, err
		}
		path, isFile := strings.CutPrefix(o.DB, "sqlite:")
		switch {
		case o.SecretKey != "" || o.SecretKeyFile != "":
		case !isFile:
			return cleanup, errors.New("a PostgreSQL database needs a secret key or a secret key file, because it outlives this process")
		default:
			o.SecretKeyFile = path + ".key"
		}
	}
	return cleanup, o.keepKey()
}

// checkDatabase refuses a database of another kind before anything is made for it.
func checkDatabase(databaseURL string) error {
	scheme, _, found := strings.Cut(databaseURL, ":")
	switch {
	case !found:
		return fmt.Errorf("the database %q has no scheme: it is given as sqlite:PATH or postgres://USER@HOST/NAME", databaseURL)
	case !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme):
		return fmt.Errorf("databases of the kind %q are not supported: it is sqlite:PATH or postgres://USER@HOST/NAME", scheme)
	}
	return nil
}

// keepKey refuses to make a new key for a database file that is there already: with another key its secrets are lost.
func (o *Options) keepKey() error {
	path, isFile := strings.CutPrefix(o.DB, "sqlite:")
	if o.SecretKey != "" || !isFile {
		return nil
	}
	database, err := os.Stat(path)
	if err != nil || database.Size() == 0 {
		return nil //nolint:nilerr // whether the database can be made is for opening it to say
	}
	if _, err := os.Stat(o.SecretKeyFile); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the database %s is there, but the file with its secret key, %s, is missing: put it back, or give the key with "+
			"--secret-key; without it the secrets in the database cannot be read", path, o.SecretKeyFile)
	}
	return nil
}

// temporaryDatabase makes room for a database that lives as long as the process; cleanup removes it.
func temporaryDatabase() (databaseURL string, cleanup func() error, err error) {
	dir, err := os.MkdirTemp("", "scimwright-*")
	if err != nil {
		return "", func() error { return nil }, fmt.Errorf("temporary database: %w", err)
	}
	return "sqlite:" + filepath.Join(dir, databaseName), func() error { return os.RemoveAll(dir) }, nil
}

// readHookCA reads the certificates that hooks trust, when there is a file of them.
func readHookCA(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("certificates for inline hooks: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return "", fmt.Errorf("certificates for inline hooks: %s holds none in PEM form", file)
	}
	return string(text), nil
}
