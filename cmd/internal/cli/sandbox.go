package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver/quirks"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// shutdownTime bounds how long a server may take to end its running requests.
const shutdownTime = 10 * time.Second

// metricsFlags define where metrics are served and to whom.
type metricsFlags struct {
	MetricsToken  string `help:"Serve /metrics to clients that send this bearer token. Without it and without --metrics-listen, metrics are not served." placeholder:"TOKEN" env:"SCIMWRIGHT_METRICS_TOKEN"`
	MetricsListen string `help:"Serve /metrics at this address alone, without a token unless --metrics-token is given." placeholder:"ADDRESS" env:"SCIMWRIGHT_METRICS_LISTEN"`
}

func (f metricsFlags) options() sandbox.MetricsOptions {
	return sandbox.MetricsOptions{Token: f.MetricsToken, Listen: f.MetricsListen}
}

type sandboxCommand struct {
	Listen           string `help:"Address of the one port that serves everything." default:"127.0.0.1:8080" env:"SCIMWRIGHT_LISTEN"`
	Data             string `help:"Keep everything in this directory (a SQLite database and the secret key)." placeholder:"DIR" env:"SCIMWRIGHT_DATA"`
	DB               string `help:"Database: sqlite:PATH or postgres://... Defaults to a temporary SQLite file that is removed on exit." placeholder:"URL" env:"SCIMWRIGHT_DB"`
	SecretKey        string `help:"Key that seals stored secrets: 32 bytes in base64." placeholder:"KEY" env:"SCIMWRIGHT_SECRET_KEY"`
	SecretKeyFile    string `help:"File with that key; created when missing." placeholder:"FILE" env:"SCIMWRIGHT_SECRET_KEY_FILE"`
	APIToken         string `help:"Token of the built-in administrator at the management API. Random when unset." env:"SCIMWRIGHT_API_TOKEN"`
	SCIMToken        string `help:"Bearer token of the SCIM server. Random when unset." name:"scim-token" env:"SCIMWRIGHT_SCIM_TOKEN"`
	ReadyFile        string `help:"Write a JSON file with addresses, tokens and process id once everything answers and the seed is provisioned." placeholder:"FILE"`
	Empty            bool   `help:"Start without the seed organisation."`
	NoRateLimits     bool   `help:"Do not limit the rate of management API requests."`
	BaseURL          string `help:"Public base of the links and issuers of the management API, and what security keys are bound to. Defaults to the address of --listen; required when that is all addresses." name:"base-url" placeholder:"URL" env:"SCIMWRIGHT_BASE_URL"`
	CustomDomain     string `help:"Another name of the sandbox that authorization servers can have as issuer (issuerMode), such as id.localhost." placeholder:"HOST[:PORT]" env:"SCIMWRIGHT_CUSTOM_DOMAIN"`
	DynamicIssuer    bool   `help:"Enable Dynamic Issuer Mode: new authorization servers have the domain of each request as issuer."`
	AnswerReplays    bool   `help:"Answer passcodes of factors that are used again, or that are of another time, with a result instead of an error."`
	RelaxedFIDO      bool   `help:"Accept u2f and webauthn data whose challenge is right without checking its signatures." name:"relaxed-fido"`
	OptionalPassword bool   `help:"Let the enrollment policy make passwords optional or forbid them; users without one sign in by email." name:"optional-password"`
	HookCA           string `help:"PEM file with certificates that the calls of inline hooks trust beside those of the system." name:"hook-ca" placeholder:"FILE" env:"SCIMWRIGHT_HOOK_CA"`
	Egress           string `help:"Addresses that connections, inline hooks and token endpoints may have: any, private (not this machine) or public (no private network either). Default: any if --listen is a loopback address, else private." enum:"any,private,public," default:"" placeholder:"POLICY" env:"SCIMWRIGHT_EGRESS"`
	metricsFlags
	Guard   int      `help:"Hold deactivations and deletions of an application back when there are more than so many within a day, until they are approved (scimwright engine approve)." placeholder:"N"`
	Quirk   []string `help:"Have the SCIM servers deviate; may be given several times. scimwright serve scim --list-quirks lists them." placeholder:"NAME[=ARG]" sep:"none"`
	Tenants string   `help:"Serve the tenants of this YAML or JSON file too, at /t/NAME/scim/v2; docs/tenants.md describes it." placeholder:"FILE"`
}

// Run starts the sandbox, prints what it serves, and waits for the end.
func (c *sandboxCommand) Run(in *invocation) error {
	if c.Data != "" && c.DB != "" {
		return frame.Usage("--data and --db exclude each other: --data DIR means --db sqlite:DIR/scimwright.db")
	}
	if c.Guard < 0 {
		return frame.Usage("--guard is a number of accounts, 0 for no guard")
	}
	if c.BaseURL != "" && !isBase(c.BaseURL) {
		return frame.Usage("--base-url is an address like https://id.example.com, without credentials, query and fragment")
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
	o := sandbox.Options{
		Listen: c.Listen, DB: c.DB, Data: c.Data, SecretKey: c.SecretKey, SecretKeyFile: c.SecretKeyFile,
		APIToken: c.APIToken, SCIMToken: c.SCIMToken, ReadyFile: c.ReadyFile,
		Empty: c.Empty, NoRateLimits: c.NoRateLimits, BaseURL: c.BaseURL, CustomDomain: c.CustomDomain,
		DynamicIssuer: c.DynamicIssuer, AnswerReplays: c.AnswerReplays,
		RelaxedFIDO: c.RelaxedFIDO, OptionalPassword: c.OptionalPassword, HookCA: c.HookCA, Egress: c.Egress, Metrics: c.metricsFlags.options(),
		Guard: c.Guard, Quirks: c.Quirk, Tenants: configs, Logger: in.log,
	}
	if err := o.Check(); err != nil {
		return frame.Usage(err.Error())
	}
	s, err := sandbox.Start(in.ctx, o)
	if errors.Is(err, sandbox.ErrNoBaseURL) {
		return frame.Usage(err.Error())
	}
	if err != nil {
		return err
	}
	s.LogStart(in.ctx)
	s.PrintWelcome(in.ctx, in.stdout)
	return waitAndClose(in, s)
}

// isBase reports whether a text is a URL to which paths can be appended.
func isBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		!strings.ContainsAny(text, "?#")
}

type serveSCIMCommand struct {
	DB        string   `help:"Database: sqlite:PATH or postgres://... Defaults to a temporary SQLite file that is removed on exit." placeholder:"URL" env:"SCIMWRIGHT_DB"`
	Listen    string   `help:"Address to listen on." default:"127.0.0.1:8080" env:"SCIMWRIGHT_LISTEN"`
	Token     []string `help:"Bearer token that clients must send; may be given several times. Options follow it: 'TOKEN;read-only;expires=2026-12-01T00:00:00Z;me=USERID' or 'sha256:HEX;...', where the digest stands for the token. Random when unset." placeholder:"TOKEN[;OPTION...]" env:"SCIMWRIGHT_SCIM_TOKEN"`
	ReadToken []string `help:"Bearer token for reading only, as --token with read-only; may be given several times." name:"read-token" placeholder:"TOKEN[;OPTION...]"`
	Strict    bool     `help:"Refuse what the RFCs do not allow but known clients send." xor:"leniency"`
	Lenient   []string `help:"Accept only these things outside the RFCs; docs/leniencies.md lists them." placeholder:"NAME,..." xor:"leniency"`
	Schemas   string   `help:"Serve the resource types and extensions of the schema documents (*.json) in this directory too." placeholder:"DIR" type:"existingdir"`
	Quirk     []string `help:"Have the server deviate; may be given several times." placeholder:"NAME[=ARG]" sep:"none"`
	Tenants   string   `help:"Serve the tenants of this YAML or JSON file too, at /t/NAME/scim/v2; docs/tenants.md describes it. The other flags are about /scim/v2, which is the tenant named default." placeholder:"FILE"`
	TLSCert   string   `help:"Serve with TLS, with the certificate chain in this PEM file." name:"tls-cert" placeholder:"FILE" env:"SCIMWRIGHT_TLS_CERT"`
	TLSKey    string   `help:"PEM file with the key of that certificate." name:"tls-key" placeholder:"FILE" env:"SCIMWRIGHT_TLS_KEY"`
	metricsFlags

	ListQuirks bool `help:"List the quirks there are, and end."`
}

// Run starts the SCIM server, prints its address, and waits for the end.
func (c *serveSCIMCommand) Run(in *invocation) error {
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
	s, err := sandbox.ServeSCIM(in.ctx, o)
	if err != nil {
		return err
	}
	in.log.InfoContext(in.ctx, "SCIM server started", "scim_url", s.URL(), "tenants", len(configs))
	s.PrintWelcome(in.stdout)
	return waitAndClose(in, s)
}

// refuse is what the flags say about leniencies.
func (c *serveSCIMCommand) refuse() (lenient.Set, error) {
	switch {
	case c.Strict:
		return lenient.All, nil
	case c.Lenient != nil:
		accepted, err := lenient.Parse(c.Lenient...)
		if err != nil {
			return 0, frame.Usage(err.Error())
		}
		return lenient.All &^ accepted, nil
	}
	return 0, nil
}

// readTenants reads a file of tenants, when there is one.
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
	// Done is closed when serving ended by itself; Err says why.
	Done() <-chan struct{}
	Err() error
	Close(ctx context.Context) error
}

// waitAndClose waits for the end of the context or of the server, and closes the server within shutdownTime.
func waitAndClose(in *invocation, s server) error {
	select {
	case <-in.ctx.Done():
		fmt.Fprintln(in.stderr, "shutting down")
	case <-s.Done():
		in.log.ErrorContext(in.ctx, "serving ended by itself", "error", s.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(in.ctx), shutdownTime)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	in.log.InfoContext(ctx, "stopped")
	return s.Err()
}
