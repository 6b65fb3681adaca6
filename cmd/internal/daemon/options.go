package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Options configure a Daemon. The zero value stores everything in DefaultDB, on the address DefaultListen.
type Options struct {
	// Listen is the address of all services except separate metrics. Default: DefaultListen. Port 0 selects a free port.
	Listen string
	// DB is a database URL: sqlite:PATH or postgres://... Default: DefaultDB.
	DB string
	// TLSCert and TLSKey are PEM files with a certificate chain and its key. Default: none. The daemon then listens on a loopback address
	// only, unless BehindProxy is set.
	TLSCert, TLSKey string
	// ClientCA is a PEM file with the certificates that sign those of clients (tokens with a certificate). Default: none.
	ClientCA string
	// BehindProxy allows another address without TLS, because a proxy in front of the daemon terminates TLS.
	BehindProxy bool
	// Keys defines the keys that encrypt secrets at rest.
	Keys KeyOptions
	// AcceptLostKey starts the daemon although the keys do not decrypt all secrets in the database. Default: it does not start.
	AcceptLostKey bool
	// StartHalted halts all apps before the engine starts, such as after a restore. Default: the engine continues with its work.
	StartHalted bool
	// AdminToken is a token with all permissions for all tenants. Default: that in AdminTokenFile. Without a file, the first start with a
	// database creates a random one.
	AdminToken string
	// AdminTokenFile contains the admin token. The first start with a database creates the file with a random token if it does not exist.
	// Default: with TokenElsewhere, none; otherwise the file PATH.admin-token next to an SQLite database.
	AdminTokenFile string
	// TokenElsewhere means that the caller passes Ready.AdminToken to the operator, such as on a terminal or in the ready file.
	TokenElsewhere bool
	// ReadyFile is written when all services are available. Default: none.
	ReadyFile string
	// Egress is the policy for the addresses of targets and of endpoints of webhooks: any, private or public. Default: any on a loopback
	// address, otherwise private.
	Egress string
	// Metrics define the address of the metrics and the clients that may read them. Default: not served.
	Metrics serving.MetricsOptions
	// NoConsole disables the console.
	NoConsole bool
	// ConsoleOpen lets callers on this machine use the console without a login.
	ConsoleOpen bool
	// ConsoleHosts are further host names under which the console is available, over HTTPS. Default: loopback names only.
	ConsoleHosts []string
	// TrustedProxies are the addresses of proxies that terminate TLS for the console. Default: none.
	TrustedProxies []netip.Prefix
	// Limits limit the requests of each tenant.
	Limits Limits
	// Audit limits the audit log.
	Audit AuditLimits
	// Retention limits the stored history.
	Retention Retention
	// Config is a YAML file with settings, tokens and apps. Default: none.
	Config string
	// LookupEnv returns the variables that the file refers to. Default: none are set.
	LookupEnv func(string) (string, bool)

	// RequestTimeout is the time limit of a request to a target, and RetryMax is the maximum backoff. Defaults: those of the engine.
	RequestTimeout, RetryMax time.Duration
	// Webhooks define the retries of webhooks. Defaults: those of package webhooks.
	Webhooks WebhookOptions
	// Traces define the export of OpenTelemetry traces. Default: none.
	Traces TraceOptions
	// Logger receives the log. Default: discarded.
	Logger *slog.Logger

	hooks hooks
}

// hooks replace parts of a daemon in tests that end the process at a certain point. Default: no replacement.
type hooks struct {
	store     func(store.All) store.All // of the engine
	transport http.RoundTripper         // to targets and endpoints of webhooks
	handler   func(http.Handler) http.Handler
}

// WebhookOptions define the retries of webhooks.
type WebhookOptions struct {
	Attempts               int           // after which a message is a dead letter
	RetryInitial, RetryMax time.Duration // delays before a retry
}

// Defaults of Options.
const (
	DefaultListen = "127.0.0.1:8090"
	DefaultDB     = "sqlite:scimwright-engine.db"
)

// Limits limit the requests of each tenant. A request over a limit is rejected with 429 and Retry-After.
type Limits struct {
	Rate     float64 // requests per second. Default: 500
	Burst    int     // requests that may arrive at the same moment: the size of the token bucket. Default: twice the rate
	InFlight int     // concurrent requests. Default: 64
}

// AuditLimits limit the audit log.
type AuditLimits struct {
	Age  time.Duration // Default: 90 days
	Rows int64         // Default: 1,000,000
}

// Retention limits the stored history. Each limit applies independently: what exceeds one of them is removed.
type Retention struct {
	Exchanges   RetentionLimit // requests to targets with their responses. Default: 30 days, 1,000,000 of all apps
	Events      RetentionLimit // lifecycle events. Default: 90 days, 10,000 of each app
	Deleted     RetentionLimit // versions of deleted users, groups and apps. Default: 90 days, 1,000,000 of all apps
	DeadLetters RetentionLimit // undeliverable messages of webhooks. Default: 30 days, 1000 of each endpoint
	// Every is the interval at which old objects are removed. Default: 10 minutes.
	Every time.Duration
}

// RetentionLimit limits stored objects by age and by number.
type RetentionLimit struct {
	Age  time.Duration
	Rows int64
}

// retentionDefaults are the defaults of Retention.
var retentionDefaults = Retention{
	Exchanges: RetentionLimit{30 * day, 1_000_000}, Events: RetentionLimit{90 * day, engine.KeptEvents},
	Deleted: RetentionLimit{90 * day, 1_000_000}, DeadLetters: RetentionLimit{30 * day, 1000}, Every: 10 * time.Minute,
}

const day = 24 * time.Hour

// with returns the limits with those of other where r has none.
func (r Retention) with(other Retention) Retention {
	limit := func(a, b RetentionLimit) RetentionLimit { return RetentionLimit{or(a.Age, b.Age), or(a.Rows, b.Rows)} }
	return Retention{
		limit(r.Exchanges, other.Exchanges), limit(r.Events, other.Events), limit(r.Deleted, other.Deleted),
		limit(r.DeadLetters, other.DeadLetters), or(r.Every, other.Every),
	}
}

func (r Retention) check() error {
	for name, l := range map[string]RetentionLimit{
		"exchanges": r.Exchanges, "events": r.Events, "deleted objects": r.Deleted, "dead letters": r.DeadLetters,
	} {
		if l.Age < time.Minute || l.Rows < 1 {
			return fmt.Errorf("the limits of the %s must be at least 1m and 1", name)
		}
	}
	if r.Events.Rows < minEvents {
		return fmt.Errorf("the number of events of an app must be at least %d", minEvents)
	}
	return nil
}

// minEvents is the minimum of sqlstore.Options.KeepEvents.
const minEvents = 100

const (
	defaultRate      = 500
	defaultInFlight  = 64
	defaultAuditAge  = 90 * day
	defaultAuditRows = 1_000_000
)

func (o *Options) completeLookup() {
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
}

// complete sets the defaults.
func (o *Options) complete() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.completeLookup()
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.DB == "" {
		o.DB = DefaultDB
	}
	if o.Limits.Rate == 0 {
		o.Limits.Rate = defaultRate
	}
	if o.Limits.Burst == 0 {
		o.Limits.Burst = max(int(2*o.Limits.Rate), 1)
	}
	if o.Limits.InFlight == 0 {
		o.Limits.InFlight = defaultInFlight
	}
	if o.Audit.Age == 0 {
		o.Audit.Age = defaultAuditAge
	}
	if o.Audit.Rows == 0 {
		o.Audit.Rows = defaultAuditRows
	}
	o.Retention = o.Retention.with(retentionDefaults)
}

// Check returns an error for invalid options or an invalid configuration file, before anything is created. Start checks the same.
func (o Options) Check() error {
	_, err := o.Resolved()
	return err
}

// Resolved returns the options with the settings of the configuration file and the defaults. It returns the errors of Check.
func (o Options) Resolved() (Options, error) {
	o.completeLookup()
	configured, err := readSettings(o.Config, o.LookupEnv)
	if err != nil {
		return o, err
	}
	o = o.with(&configured.file)
	o.Limits = o.limits(configured)
	if err := o.check(); err != nil {
		return o, err
	}
	o.complete()
	return o, nil
}

func (o Options) check() error {
	o.complete()
	if err := serving.CheckDatabase(o.DB); err != nil {
		return err
	}
	if err := o.Keys.check(o.DB); err != nil {
		return err
	}
	if _, err := serving.ReadCertificate(o.TLSCert, o.TLSKey); err != nil {
		return err
	}
	if o.ClientCA != "" && o.TLSCert == "" {
		return errors.New("certificates of clients require TLS: set the certificate and the key of the daemon, too")
	}
	if o.ClientCA != "" {
		if _, err := readClientCA(o.ClientCA); err != nil {
			return err
		}
	}
	if err := checkEgress(o.Egress); err != nil {
		return err
	}
	if o.Audit.Age < 0 || o.Audit.Rows < 0 {
		return errors.New("the limits of the audit log must be positive")
	}
	if err := o.Retention.check(); err != nil {
		return err
	}
	if o.AdminToken != "" && o.AdminTokenFile != "" {
		return errors.New("an admin token and a file with one exclude each other: set one of them")
	}
	if len(o.AdminToken) > 0 && len(o.AdminToken) < minToken {
		return fmt.Errorf("the admin token has %d characters: at least %d are required", len(o.AdminToken), minToken)
	}
	if err := o.Limits.check(); err != nil {
		return err
	}
	if err := o.Traces.check(o.LookupEnv); err != nil {
		return err
	}
	return o.Metrics.Check()
}

func (l Limits) check() error {
	if l.Rate <= 0 || l.Burst < 1 || l.InFlight < 1 {
		return errors.New("the limits of requests must be positive, and the burst at least 1")
	}
	return nil
}
