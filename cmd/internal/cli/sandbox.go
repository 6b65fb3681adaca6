package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/internal/similar"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver/quirks"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// shutdownTime is the maximum time for a server to complete its running requests when it stops.
const shutdownTime = 10 * time.Second

// flagHelp is the help of flags that does not fit into a struct tag.
var flagHelp = kong.Vars{
	"secretKeyFile": "File with the key that encrypts stored secrets; created if missing.",
	"metricsToken": "Serve /metrics to clients that send this bearer token. Without it and without --metrics-listen, metrics are not " +
		"served.",
	"metricsListen": "Serve /metrics only at this address, without a token unless --metrics-token is given.",
	"db":            "Database: sqlite:PATH or postgres://... Default: a temporary SQLite file that is removed on exit.",
	"readyFile":     "Write a JSON file with addresses, tokens and process id once all services respond and the seed is provisioned.",
	"baseURL": "Public base URL of the links and issuers of the management API and of security keys. Default: the address of --listen; " +
		"required if --listen names all addresses.",
	"customDomain":     "Second host name of the sandbox, which authorization servers can use as issuer (issuerMode), such as id.localhost.",
	"optionalPassword": "Allow the enrollment policy to make passwords optional or forbid them; users without a password sign in by email.",
	"answerReplays":    "If a factor passcode was used before or is outside its time window, return a factor result instead of an error.",
	"hookCA":           "PEM file with certificates that calls of inline hooks trust in addition to those of the system.",
	"egress": "Allowed addresses of connections, inline hooks and token endpoints: any, private (all except loopback) or public " +
		"(neither loopback nor private networks). Default: any if --listen is a loopback address, else private.",
	"guard": "Block the deactivations and deletions of an application that exceed this number within a day, until they are approved " +
		"(scimwright engine approve).",
	"consoleHost": "Further host name of the console (repeatable); requires HTTPS. Default: loopback names; sandbox: also " +
		"that of --base-url.",
	"trustedProxy": "Address or network of a proxy whose X-Forwarded-Proto and X-Forwarded-Host the console accepts (repeatable).",
	"apiToken": "Token of the built-in administrator for the management API. Default: the token of the last run with the database; " +
		"in a new database random.",
	"scimToken": "Bearer token of the SCIM server. Default: the token of the last run with the database; in a new database random.",
	"token": "Bearer token that clients must send (repeatable), with options: " +
		"'TOKEN;read-only;expires=2026-12-01T00:00:00Z;me=USERID'; or its digest: 'sha256:HEX;...'. Default: random.",
	"doctorListen": "Address that must be free or used by scimwright (repeatable). Default: that of the configuration file, or " +
		"127.0.0.1:8080 (sandbox) and 127.0.0.1:8090 (serve engine).",
	"doctorConfig": "Configuration file of serve engine: check it, its address and its database.",
	"doctorDB":     "Database: sqlite:PATH or postgres://... Default: that of the configuration file, or sqlite:scimwright-engine.db.",
	"engineConfig": "YAML file with settings, tokens and apps; see docs/reference/daemon.md. SIGHUP reads it again.",
	"engineDB": "Database: sqlite:PATH or postgres://... Default: sqlite:scimwright-engine.db. Several daemons may share a PostgreSQL " +
		"database.",
	"engineLostKey":     "Start although no key decrypts some secrets; write them again.",
	"engineExchangeAge": "Age limit of exchanges with targets. Default: 720h.",
	"engineEventAge":    "Age limit of lifecycle events. Default: 2160h.",
	"engineEventRows":   "Maximum number of events of an app. Default: 10000.",
	"engineDeletedRows": "Maximum number of these versions. Default: 1000000.",
	"engineLetterAge":   "Age limit of dead letters of webhooks. Default: 720h.",
	"engineLetterRows":  "Maximum number of dead letters of a webhook. Default: 1000.",
	"policies":          "any,private,public,",
	"engineTLS":         "PEM file with the certificate chain; enables TLS.",
	"engineProxy":       "Allow other addresses than loopback without TLS, because a proxy terminates TLS.",
	"openAPI":           "management: the API of the sandbox; engine: that of serve engine.",
	"engineClientCA":    "PEM file with the certificates that sign those of clients; the configuration file assigns permissions to them.",
	"engineKey": "Keys that encrypt stored secrets: 32 bytes in base64 each, separated by commas; the first one encrypts, all decrypt. " +
		"Default: the file PATH.key next to an SQLite database, created if missing.",
	"engineAdmin": "Token with all permissions; visible in the list of processes. Default: see --admin-token-file.",
	"engineAdminFile": "File that contains the admin token; the first start with a database creates it if missing. Default: the first start " +
		"prints a token on a terminal, and otherwise creates PATH.admin-token next to an SQLite database.",
	"engineHalted":  "Halt all apps before the engine starts, such as after a restore; \"scimwright engine resume\" ends the halts.",
	"engineDeleted": "Age limit of the versions of deleted users, groups and apps. Default: 2160h.",
	"engineEgress": "Allowed addresses of targets and webhooks: any, private (all except loopback) or public (neither loopback nor " +
		"private networks). " +
		"Default: any if --listen is a loopback address, else private.",
	"engineTraceHost": "Host of targets to which the trace context is sent (repeatable), or * for all. Default: none. The variables OTEL_* " +
		"of OpenTelemetry enable and configure traces; see docs/reference/daemon.md.",
	"benchPID": "Process id of the first server on this machine: adds its processor time per request and its memory (Linux; without " +
		"child processes).",
	"benchJSON": "Write the result to a file as JSON. If FILE is -, standard output has only JSON.",
	"benchDuration": "Duration of the measurement of each row (a kind of request) on each server, at most 10m. The row of creates " +
		"instead ends when all users exist.",
	"quirk":      "Simulated deviation (repeatable); see serve scim --list-quirks.",
	"scimQuirk":  "Quirk of the server, a simulated deviation (repeatable); see --list-quirks.",
	"lenient":    "Accept only this nonstandard input (docs/reference/leniencies.md).",
	"jobState":   "List only jobs in this state: waiting, running, finished or failed. Default: all but finished.",
	"operations": "create, link, update, reactivate, deactivate, members, delete",
	"scopes":     "read, write, apps, approve, secrets, admin, fleet",
	"tenants": "Also serve the tenants of this YAML or JSON file at /t/NAME/scim/v2 (docs/howto/tenants.md). All other flags apply to " +
		"/scim/v2, the tenant named default.",
}

// metricsFlags define the address of the metrics and the token that clients need.
type metricsFlags struct {
	MetricsToken  string `help:"${metricsToken}" placeholder:"TOKEN" env:"SCIMWRIGHT_METRICS_TOKEN"`
	MetricsListen string `help:"${metricsListen}" placeholder:"ADDRESS" env:"SCIMWRIGHT_METRICS_LISTEN"`
}

func (f metricsFlags) options() serving.MetricsOptions {
	return serving.MetricsOptions{Token: f.MetricsToken, Listen: f.MetricsListen}
}

// consoleFlags define who may use the console.
type consoleFlags struct {
	ConsoleOpen  bool     `help:"Let any process on this machine use the console without a login." env:"SCIMWRIGHT_CONSOLE_OPEN"`
	ConsoleHost  []string `help:"${consoleHost}" placeholder:"NAME" env:"SCIMWRIGHT_CONSOLE_HOST"`
	TrustedProxy []string `help:"${trustedProxy}" placeholder:"ADDRESS" env:"SCIMWRIGHT_TRUSTED_PROXY"`
}

// proxies parses the addresses and networks of trusted proxies.
func (f consoleFlags) proxies() (all []netip.Prefix, err error) {
	for _, text := range f.TrustedProxy {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(text); err != nil {
				return nil, frame.Usage("--trusted-proxy must be an address or a network such as 10.0.0.0/8")
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		all = append(all, prefix)
	}
	return all, nil
}

type sandboxCommand struct {
	Listen           string `help:"Address to listen on. All services use this port." default:"127.0.0.1:8080" env:"SCIMWRIGHT_LISTEN"`
	Data             string `help:"Directory for all data: a SQLite database and the secret key." placeholder:"DIR" env:"SCIMWRIGHT_DATA"`
	DB               string `help:"${db}" placeholder:"URL" env:"SCIMWRIGHT_DB"`
	SecretKey        string `help:"Key that encrypts stored secrets: 32 bytes in base64." placeholder:"KEY" env:"SCIMWRIGHT_SECRET_KEY"`
	SecretKeyFile    string `help:"${secretKeyFile}" placeholder:"FILE" env:"SCIMWRIGHT_SECRET_KEY_FILE"`
	APIToken         string `help:"${apiToken}" env:"SCIMWRIGHT_API_TOKEN"`
	SCIMToken        string `help:"${scimToken}" name:"scim-token" env:"SCIMWRIGHT_SCIM_TOKEN"`
	ReadyFile        string `help:"${readyFile}" placeholder:"FILE"`
	Empty            bool   `help:"Start without the seed organization."`
	NoRateLimits     bool   `help:"Do not limit the rate of management API requests."`
	BaseURL          string `help:"${baseURL}" name:"base-url" placeholder:"URL" env:"SCIMWRIGHT_BASE_URL"`
	CustomDomain     string `help:"${customDomain}" placeholder:"HOST[:PORT]" env:"SCIMWRIGHT_CUSTOM_DOMAIN"`
	DynamicIssuer    bool   `help:"Enable Dynamic Issuer Mode: new authorization servers use the domain of each request as issuer."`
	AnswerReplays    bool   `help:"${answerReplays}"`
	RelaxedFIDO      bool   `help:"Check only the challenge of u2f and webauthn data, and no signatures." name:"relaxed-fido"`
	OptionalPassword bool   `help:"${optionalPassword}" name:"optional-password"`
	HookCA           string `help:"${hookCA}" name:"hook-ca" placeholder:"FILE" env:"SCIMWRIGHT_HOOK_CA"`
	Egress           string `help:"${egress}" enum:"any,private,public," default:"" placeholder:"POLICY" env:"SCIMWRIGHT_EGRESS"`
	metricsFlags
	consoleFlags
	Guard   int      `help:"${guard}" placeholder:"N"`
	Quirk   []string `help:"${quirk}" placeholder:"NAME[=ARG]" sep:"none" complete:"@quirks"`
	Tenants string   `help:"Also serve the tenants of this YAML or JSON file at /t/NAME/scim/v2 (docs/howto/tenants.md)." placeholder:"FILE"`
}

// Run starts the sandbox, prints its addresses, and waits until it stops.
func (c *sandboxCommand) Run(in *invocation) error {
	if c.Data != "" && c.DB != "" {
		return frame.Usage("--data and --db exclude each other: --data DIR means --db sqlite:DIR/scimwright.db")
	}
	if c.Guard < 0 {
		return frame.Usage("--guard must be a number of accounts, or 0 for no guard")
	}
	if c.BaseURL != "" && !isBase(c.BaseURL) {
		return frame.Usage("--base-url must be a URL such as https://id.example.com, without credentials, query and fragment")
	}
	if _, err := quirks.ParseAll(c.Quirk); err != nil {
		return frame.Usage(err.Error())
	}
	if err := c.metricsFlags.options().Check(); err != nil {
		return frame.Usage(err.Error())
	}
	configs, err := readTenants(c.Tenants)
	if err != nil {
		return err
	}
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	o := sandbox.Options{
		Listen: c.Listen, DB: c.DB, Data: c.Data, SecretKey: c.SecretKey, SecretKeyFile: c.SecretKeyFile,
		APIToken: c.APIToken, SCIMToken: c.SCIMToken, ReadyFile: c.ReadyFile,
		Empty: c.Empty, NoRateLimits: c.NoRateLimits, BaseURL: c.BaseURL, CustomDomain: c.CustomDomain,
		DynamicIssuer: c.DynamicIssuer, AnswerReplays: c.AnswerReplays,
		RelaxedFIDO: c.RelaxedFIDO, OptionalPassword: c.OptionalPassword, HookCA: c.HookCA, Egress: c.Egress, Metrics: c.metricsFlags.options(),
		Guard: c.Guard, Quirks: c.Quirk, Tenants: configs, Logger: in.log,
		ConsoleOpen: c.ConsoleOpen, ConsoleHosts: c.ConsoleHost, TrustedProxies: proxies,
	}
	if err := o.Check(); err != nil {
		return frame.Usage(err.Error())
	}
	started := collectOften(sandboxGC)
	s, err := sandbox.Start(in.ctx, o)
	started()
	if errors.Is(err, sandbox.ErrNoBaseURL) {
		return frame.Usage(err.Error())
	}
	if err != nil {
		return in.startFailed(err)
	}
	s.LogStart(in.ctx)
	s.PrintWelcome(in.ctx, in.stdout)
	return waitAndClose(in, s, settlingTime)
}

// isBase reports whether a string is a URL to which paths can be appended.
func isBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		!strings.ContainsAny(text, "?#")
}

type serveSCIMCommand struct {
	DB        string   `help:"${db}" placeholder:"URL" env:"SCIMWRIGHT_DB"`
	Listen    string   `help:"Address to listen on." default:"127.0.0.1:8080" env:"SCIMWRIGHT_LISTEN"`
	Token     []string `help:"${token}" placeholder:"TOKEN[;OPTION...]" env:"SCIMWRIGHT_SCIM_TOKEN"`
	ReadToken []string `help:"Same as --token with the option read-only (repeatable)." name:"read-token" placeholder:"TOKEN[;OPTION...]"`
	Strict    bool     `help:"Reject nonstandard requests, including those that known clients send." xor:"leniency"`
	Lenient   []string `help:"${lenient}" placeholder:"NAME,..." xor:"leniency" complete:"@leniencies"`
	Schemas   string   `help:"Also serve the resource types and extensions in *.json of this directory." placeholder:"DIR" type:"existingdir"`
	Quirk     []string `help:"${scimQuirk}" placeholder:"NAME[=ARG]" sep:"none" complete:"@quirks"`
	Tenants   string   `help:"${tenants}" placeholder:"FILE"`
	TLSCert   string   `help:"PEM file with the certificate chain; enables TLS." name:"tls-cert" placeholder:"FILE" env:"SCIMWRIGHT_TLS_CERT"`
	TLSKey    string   `help:"PEM file with the key of the certificate." name:"tls-key" placeholder:"FILE" env:"SCIMWRIGHT_TLS_KEY"`
	metricsFlags

	ListQuirks bool `help:"List all quirks and exit."`
	JSON       bool `name:"json" help:"With --list-quirks, print JSON instead of a table."`
}

// Run starts the SCIM server, prints its address, and waits until it stops.
func (c *serveSCIMCommand) Run(in *invocation) error {
	if c.JSON && !c.ListQuirks {
		return frame.Usage("--json is for --list-quirks")
	}
	if c.JSON {
		return frame.WriteJSON(in.stdout, map[string]any{"available": conform.Quirks()})
	}
	if c.ListQuirks {
		return quirks.WriteTable(in.stdout)
	}
	refuse, err := c.refuse()
	if err != nil {
		return err
	}
	configs, err := readTenants(c.Tenants)
	if err != nil {
		return err
	}
	o := sandbox.SCIMOptions{
		Listen: c.Listen, DB: c.DB, Tokens: c.Token, ReadTokens: c.ReadToken, Schemas: c.Schemas, Refuse: refuse, Quirks: c.Quirk,
		Tenants: configs,
		TLSCert: c.TLSCert, TLSKey: c.TLSKey, Metrics: c.metricsFlags.options(), Logger: in.log,
	}
	if err := o.Check(); err != nil {
		return frame.Usage(err.Error())
	}
	started := collectOften(scimGC)
	s, err := sandbox.ServeSCIM(in.ctx, o)
	started()
	if err != nil {
		return in.startFailed(err)
	}
	in.log.InfoContext(in.ctx, "SCIM server started", "scim_url", s.URL(), "tenants", len(configs))
	s.PrintWelcome(in.stdout)
	return waitAndClose(in, s, settlingTime)
}

// refuse returns the leniencies that the flags disable.
func (c *serveSCIMCommand) refuse() (lenient.Set, error) {
	switch {
	case c.Strict:
		return lenient.All, nil
	case c.Lenient != nil:
		accepted, err := lenient.Parse(c.Lenient...)
		if err != nil {
			known := lenient.All.Names()
			unknown := slices.IndexFunc(c.Lenient, func(name string) bool { return !slices.Contains(known, name) })
			return 0, frame.Usage(err.Error() + similar.Hint(c.Lenient[unknown], known))
		}
		return lenient.All &^ accepted, nil
	}
	return 0, nil
}

// readTenants reads a tenants file, if one is given.
func readTenants(file string) ([]tenants.Config, error) {
	if file == "" {
		return nil, nil
	}
	configs, err := tenants.ReadFile(file)
	if err != nil {
		return nil, frame.Usage(err.Error())
	}
	return configs, nil
}

type server interface {
	// Done is closed if the server stopped without a call of Close; Err returns the reason.
	Done() <-chan struct{}
	Err() error
	Close(ctx context.Context) error
	// ReleaseMemory returns to the system the memory that only the start has used.
	ReleaseMemory()
}

const (
	// startGC is GOGC during the start. With the default, garbage of the start is between the objects that remain, so that the runtime can
	// return less memory to the system: 5 MB less with the seed of the sandbox.
	startGC   = 25
	defaultGC = 100 // GOGC if the environment does not set it
	// sandboxGC and scimGC are GOGC after the start, unless the environment sets another value than the default. A SCIM server has so few
	// live objects that it takes only 5 MB more with 200, and 4 to 10 % less processor time.
	sandboxGC = 100
	scimGC    = 200
)

// collectOften sets GOGC for the start. The result sets it to after, or to what the environment has instead of the default.
func collectOften(after int) (started func()) {
	before := debug.SetGCPercent(startGC)
	if before != defaultGC {
		after = before
	}
	return func() { debug.SetGCPercent(after) }
}

// settlingTime is the time after the start of a sandbox or SCIM server until ReleaseMemory is called. The engine works on pending changes
// immediately after the start, which also leaves memory that is not in use.
const settlingTime = 5 * time.Second

// startFailed returns the error of a server that has not started, or nil if a signal has ended the start: a server that is stopped before
// it is ready exits like one that is stopped afterwards.
func (in *invocation) startFailed(err error) error {
	if in.ctx.Err() == nil {
		if _, invalid := errors.AsType[*net.AddrError](err); invalid { // of the address to listen on
			return frame.Usage(err.Error())
		}
		return err
	}
	fmt.Fprintln(in.stderr, "shutting down")
	in.log.InfoContext(in.ctx, "stopped before the start was complete", "error", err)
	return nil
}

// waitAndClose waits until the context ends or a started server stops, and closes the server within shutdownTime. After the time settling,
// it releases the memory of the start.
func waitAndClose(in *invocation, s server, settling time.Duration) error {
	settled := time.AfterFunc(settling, s.ReleaseMemory)
	select {
	case <-in.ctx.Done():
		fmt.Fprintln(in.stderr, "shutting down")
	case <-s.Done():
		in.log.ErrorContext(in.ctx, "server stopped unexpectedly", "error", s.Err())
	}
	settled.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(in.ctx), shutdownTime)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	in.log.InfoContext(ctx, "stopped")
	return s.Err()
}
