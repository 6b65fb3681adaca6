package sandbox

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// Options configure a sandbox. The zero value is a sandbox with a temporary database and random tokens.
type Options struct {
	// Listen is the address at which the sandbox serves everything except separate metrics (see Metrics). Default: 127.0.0.1:8080. Port 0
	// selects a free port.
	Listen string
	// DB is a database URL, sqlite:PATH or postgres://... Default: a temporary SQLite file that Close removes.
	DB string
	// Data is a directory for all data: DB is sqlite:DIR/scimwright.db, and SecretKeyFile is DIR/secret.key unless set. Data and DB are
	// mutually exclusive.
	Data string
	// HashCost is the bcrypt cost of passwords. Default: bcrypt.DefaultCost.
	HashCost int
	// SecretKey encrypts stored secrets: 32 bytes in base64. Default: the content of SecretKeyFile.
	SecretKey string
	// SecretKeyFile contains the key and is created if missing. Default: PATH.key next to an SQLite database. A PostgreSQL database requires a
	// key or a file.
	SecretKeyFile string
	// APIToken is the token of the built-in administrator. Default: the token of the last run with this database; in a new database a random
	// token.
	APIToken string
	// SCIMToken is the bearer token of the SCIM servers. Default: as for APIToken.
	SCIMToken string
	// ReadyFile is written when all services are available and the seed is provisioned.
	ReadyFile string
	// Empty omits the seed organization. It has no effect on a database that was used before.
	Empty bool
	// NoRateLimits disables the rate limits of the management API.
	NoRateLimits bool
	// BaseURL is the public base URL of the links and issuers of the management API. Security keys are bound to it. Default: the address of
	// the listener. If the sandbox listens on all addresses, BaseURL is required.
	BaseURL string
	// CustomDomain is another name of the sandbox, HOST or HOST:PORT, that authorization servers can use as issuer. Without a port, it has the
	// port of BaseURL. Default: none.
	CustomDomain string
	// DynamicIssuer enables Dynamic Issuer Mode: new authorization servers use the domain of each request as issuer.
	DynamicIssuer bool
	// AnswerReplays returns a result instead of an error for reused passcodes of factors and for passcodes of another time window.
	AnswerReplays bool
	// RelaxedFIDO accepts the data of security keys without checking signatures. Only the challenge is checked.
	RelaxedFIDO bool
	// OptionalPassword allows enrollment policies in which passwords are optional or not allowed.
	OptionalPassword bool
	// HookCA is a PEM file with certificates that the calls of inline hooks trust in addition to those of the system. Default: none.
	HookCA string
	// Egress is the policy for the addresses of connections, inline hooks and token endpoints: any, private or public. Default: any if the
	// sandbox listens on a loopback address, otherwise private.
	Egress string

	// ConsoleOpen lets callers on this machine use the console without a login.
	ConsoleOpen bool
	// ConsoleHosts are further host names under which the console is available, over HTTPS. Default: loopback names and that of BaseURL.
	ConsoleHosts []string
	// TrustedProxies are the addresses of proxies that terminate TLS for the console. Default: none.
	TrustedProxies []netip.Prefix

	// Metrics define the address of the metrics and the clients that may read them. Default: not served.
	Metrics serving.MetricsOptions

	// Quirks are the deviations of the built-in SCIM servers, as parsed by quirks.Parse. Default: none.
	Quirks []string
	// Tenants are further SCIM servers, and the configuration of the built-in ones except their token. Default: none.
	Tenants []tenants.Config

	// ExternalTarget and ExternalToken connect the seeded applications to another SCIM server instead of the built-in one.
	ExternalTarget, ExternalToken string
	// SeedTime is the maximum time to create and provision the seed, so that a target that does not respond cannot block the start. Default:
	// 60s.
	SeedTime time.Duration
	// TargetTimeout is the timeout of a call to a SCIM server. Default: 60s.
	TargetTimeout time.Duration
	// RetryMax is the maximum backoff after failures. Default: 30s, because users of a sandbox wait for the result.
	RetryMax time.Duration

	// Guard is the maximum number of users deactivated and groups deleted, in total, on the target of an app within 24 hours. Further
	// deactivations and deletions are on hold until an operator approves them. Default: 0, which means no limit.
	Guard int

	// Logger receives the log. Default: discarded.
	Logger *slog.Logger

	temporary bool // the database is removed by Close
}

const (
	defaultListen        = "127.0.0.1:8080"
	defaultSeedTime      = 60 * time.Second
	defaultTargetTimeout = 60 * time.Second
	defaultRetryMax      = 30 * time.Second
	keyName              = "secret.key"
)

// complete sets the defaults. cleanup removes the files that were created for this run only.
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
		o.DB = "sqlite:" + filepath.Join(o.Data, serving.DatabaseName)
		if o.SecretKeyFile == "" {
			o.SecretKeyFile = filepath.Join(o.Data, keyName)
		}
	case o.DB == "":
		o.temporary = true
		o.DB, cleanup, err = serving.TemporaryDatabase()
		return cleanup, err
	default:
		if err := serving.CheckDatabase(o.DB); err != nil {
			return cleanup, err
		}
		path, isFile := strings.CutPrefix(o.DB, "sqlite:")
		switch {
		case o.SecretKey != "" || o.SecretKeyFile != "":
		case !isFile:
			return cleanup, errors.New("a PostgreSQL database requires a secret key or a secret key file, because the database remains " +
				"after this process")
		default:
			o.SecretKeyFile = path + ".key"
		}
	}
	return cleanup, o.checkKey()
}

// checkKey returns an error if the database file exists and its key does not. A new key could not decrypt the secrets in the database.
func (o *Options) checkKey() error {
	path, isFile := strings.CutPrefix(o.DB, "sqlite:")
	if o.SecretKey != "" || !isFile {
		return nil
	}
	database, err := os.Stat(path)
	if err != nil || database.Size() == 0 {
		return nil //nolint:nilerr // whether the database can be made is for opening it to say
	}
	if _, err := os.Stat(o.SecretKeyFile); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the database %s exists, but the file with its secret key, %s, is missing: restore the file or pass the key with "+
			"--secret-key; without the key the secrets in the database cannot be read", path, o.SecretKeyFile)
	}
	return nil
}

// readHookCA reads the file with the certificates that hooks trust, if one is configured.
func readHookCA(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("certificates for inline hooks: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return "", fmt.Errorf("certificates for inline hooks: %s contains none in PEM format", file)
	}
	return string(text), nil
}
