package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// engineSettlingTime is the settling time of serve engine. Until then, the engine has usually claimed all its apps for the first time,
// which leaves memory that is not in use.
const engineSettlingTime = 15 * time.Second

type serveEngineCommand struct {
	Config         string        `help:"${engineConfig}" placeholder:"FILE" env:"SCIMWRIGHT_ENGINE_CONFIG"`
	Listen         string        `help:"Address to listen on. Default: 127.0.0.1:8090." placeholder:"ADDRESS" env:"SCIMWRIGHT_ENGINE_LISTEN"`
	DB             string        `help:"${engineDB}" placeholder:"URL" env:"SCIMWRIGHT_ENGINE_DB"`
	TLSCert        string        `help:"${engineTLS}" name:"tls-cert" placeholder:"FILE" env:"SCIMWRIGHT_TLS_CERT"`
	TLSKey         string        `help:"PEM file with the key of the certificate." name:"tls-key" placeholder:"FILE" env:"SCIMWRIGHT_TLS_KEY"`
	ClientCA       string        `help:"${engineClientCA}" name:"client-ca" placeholder:"FILE" env:"SCIMWRIGHT_ENGINE_CLIENT_CA"`
	BehindProxy    bool          `help:"${engineProxy}" env:"SCIMWRIGHT_ENGINE_BEHIND_PROXY"`
	Key            string        `help:"${engineKey}" placeholder:"KEY" env:"SCIMWRIGHT_KEY"`
	KeyFile        string        `help:"File that contains the keys; see --key." placeholder:"FILE" env:"SCIMWRIGHT_KEY_FILE"`
	KeyCommand     string        `help:"Shell command that prints the keys; see --key." placeholder:"COMMAND" env:"SCIMWRIGHT_KEY_COMMAND"`
	AdminToken     string        `help:"${engineAdmin}" placeholder:"TOKEN" env:"SCIMWRIGHT_ENGINE_ADMIN_TOKEN"`
	AcceptLostKey  bool          `help:"${engineLostKey}" env:"SCIMWRIGHT_ENGINE_ACCEPT_LOST_KEY"`
	StartHalted    bool          `help:"${engineHalted}" env:"SCIMWRIGHT_ENGINE_START_HALTED"`
	AdminTokenFile string        `help:"${engineAdminFile}" placeholder:"FILE" env:"SCIMWRIGHT_ENGINE_ADMIN_TOKEN_FILE"`
	ReadyFile      string        `help:"Write a JSON file with addresses and process id once all services respond." placeholder:"FILE"`
	Egress         string        `help:"${engineEgress}" enum:"${policies}" default:"" env:"SCIMWRIGHT_ENGINE_EGRESS" placeholder:"POLICY"`
	Rate           float64       `help:"Requests per second of each tenant. Default: 500." placeholder:"N" env:"SCIMWRIGHT_ENGINE_RATE"`
	Burst          int           `help:"Burst of each tenant. Default: twice the rate." placeholder:"N" env:"SCIMWRIGHT_ENGINE_BURST"`
	InFlight       int           `help:"Concurrent requests of each tenant. Default: 64." placeholder:"N" env:"SCIMWRIGHT_ENGINE_IN_FLIGHT"`
	AuditAge       time.Duration `help:"Age limit of audit entries. Default: 2160h." placeholder:"DURATION" env:"SCIMWRIGHT_ENGINE_AUDIT_AGE"`
	AuditRows      int64         `help:"Maximum number of audit entries. Default: 1000000." placeholder:"N" env:"SCIMWRIGHT_ENGINE_AUDIT_ROWS"`
	TraceHost      []string      `help:"${engineTraceHost}" placeholder:"HOST" env:"SCIMWRIGHT_ENGINE_TRACE_HOSTS"`
	ExchangeAge    time.Duration `help:"${engineExchangeAge}" placeholder:"DURATION" env:"SCIMWRIGHT_ENGINE_EXCHANGE_AGE"`
	ExchangeRows   int64         `help:"Maximum number of exchanges. Default: 1000000." placeholder:"N" env:"SCIMWRIGHT_ENGINE_EXCHANGE_ROWS"`
	EventAge       time.Duration `help:"${engineEventAge}" placeholder:"DURATION" env:"SCIMWRIGHT_ENGINE_EVENT_AGE"`
	EventRows      int64         `help:"${engineEventRows}" placeholder:"N" env:"SCIMWRIGHT_ENGINE_EVENT_ROWS"`
	DeletedAge     time.Duration `help:"${engineDeleted}" placeholder:"DURATION" env:"SCIMWRIGHT_ENGINE_DELETED_AGE"`
	DeletedRows    int64         `help:"${engineDeletedRows}" placeholder:"N" env:"SCIMWRIGHT_ENGINE_DELETED_ROWS"`
	LetterAge      time.Duration `help:"${engineLetterAge}" placeholder:"DURATION" env:"SCIMWRIGHT_ENGINE_LETTER_AGE"`
	LetterRows     int64         `help:"${engineLetterRows}" placeholder:"N" env:"SCIMWRIGHT_ENGINE_LETTER_ROWS"`
	metricsFlags
	NoConsole bool `help:"Do not serve the console." env:"SCIMWRIGHT_NO_CONSOLE"`
	consoleFlags
}

// Run starts the daemon, prints its address, and waits until it stops. SIGHUP reads the configuration file again.
func (c *serveEngineCommand) Run(in *invocation) error {
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	o := daemon.Options{
		Listen: c.Listen, DB: c.DB, TLSCert: c.TLSCert, TLSKey: c.TLSKey, ClientCA: c.ClientCA, BehindProxy: c.BehindProxy,
		Keys:          daemon.KeyOptions{Keys: c.Key, File: c.KeyFile, Command: c.KeyCommand},
		AcceptLostKey: c.AcceptLostKey, StartHalted: c.StartHalted,
		AdminToken: c.AdminToken, AdminTokenFile: c.AdminTokenFile, TokenElsewhere: frame.IsTerminal(in.stdout),
		ReadyFile: c.ReadyFile, Egress: c.Egress, Metrics: c.metricsFlags.options(),
		Limits: daemon.Limits{Rate: c.Rate, Burst: c.Burst, InFlight: c.InFlight},
		Audit:  daemon.AuditLimits{Age: c.AuditAge, Rows: c.AuditRows},
		Traces: daemon.TraceOptions{Hosts: c.TraceHost},
		Retention: daemon.Retention{
			Exchanges:   daemon.RetentionLimit{Age: c.ExchangeAge, Rows: c.ExchangeRows},
			Events:      daemon.RetentionLimit{Age: c.EventAge, Rows: c.EventRows},
			Deleted:     daemon.RetentionLimit{Age: c.DeletedAge, Rows: c.DeletedRows},
			DeadLetters: daemon.RetentionLimit{Age: c.LetterAge, Rows: c.LetterRows},
		},
		Config: c.Config, LookupEnv: in.lookupEnv, Logger: in.log,
		NoConsole: c.NoConsole, ConsoleOpen: c.ConsoleOpen, ConsoleHosts: c.ConsoleHost, TrustedProxies: proxies,
	}
	if err := o.Check(); err != nil {
		return frame.Usage(err.Error())
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	d, err := daemon.Start(in.ctx, o)
	if errors.Is(err, daemon.ErrNoTLS) {
		return frame.Usage(err.Error())
	}
	if err != nil {
		return in.startFailed(err)
	}
	d.LogStart(in.ctx)
	d.PrintWelcome(in.stdout)
	ended := make(chan struct{})
	reloaded := make(chan struct{})
	go func() {
		defer close(reloaded)
		for {
			select {
			case <-ended:
				return
			case <-hangups:
				d.Reload(in.ctx)
			}
		}
	}()
	err = waitAndClose(in, d, engineSettlingTime)
	close(ended)
	<-reloaded
	return err
}
