package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// SCIMOptions configure the SCIM server alone.
type SCIMOptions struct {
	// Listen is the address. Default: 127.0.0.1:8080. Port 0 selects a free port.
	Listen string
	// DB is a database URL. Default: a temporary SQLite file that Close removes.
	DB string
	// Tokens are the bearer tokens accepted at /scim/v2, in the format of tenants.ParseToken. Default: a random one.
	Tokens []string
	// ReadTokens are further tokens that allow reading only. Default: none.
	ReadTokens []string
	// Schemas is a directory of schema and resource type documents, in the format of schema.Load. Default: users and groups only.
	Schemas string
	// Refuse are the nonstandard requests of known clients that the server rejects. Default: none.
	Refuse lenient.Set
	// Quirks are the deviations of the server, in the format of quirks.Parse. Default: none.
	Quirks []string
	// Tenants are further service providers. A tenant with the name tenants.Default replaces the service provider that Tokens, ReadTokens,
	// Schemas, Refuse and Quirks describe; none of these fields may be set then.
	Tenants []tenants.Config
	// TLSCert and TLSKey are PEM files with a certificate chain and its key. Default: none. The server then runs without TLS, which is
	// intended for use on this machine and behind a proxy.
	TLSCert, TLSKey string
	// Metrics define the address of the metrics and the clients that may read them. Default: not served.
	Metrics serving.MetricsOptions
	// Logger receives the log. Default: discarded.
	Logger *slog.Logger
}

// SCIMServer is a running SCIM server.
type SCIMServer struct {
	*serving.Server
	serving.Closing
	token   string
	tenants []tenants.Config
	metrics *serving.MetricsServer
}

// ServeSCIM starts the SCIM server alone: one service provider at the path /scim/v2, all others at /t/{tenant}/scim/v2.
func ServeSCIM(ctx context.Context, o SCIMOptions) (*SCIMServer, error) {
	s := &SCIMServer{}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *SCIMServer) start(ctx context.Context, o SCIMOptions) error {
	o.Listen = cmp.Or(o.Listen, defaultListen)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	failures := serving.NewFailureLog(o.Logger.Handler())
	s.OnClose(failures.Close)
	o.Logger = slog.New(failures)
	if o.DB != "" {
		if err := serving.CheckDatabase(o.DB); err != nil {
			return err
		}
	}
	var err error
	if s.tenants, s.token, err = o.tenants(); err != nil {
		return err
	}
	secure, err := serving.ReadCertificate(o.TLSCert, o.TLSKey)
	if err != nil {
		return err
	}
	listener, err := serving.Listen(ctx, o.Listen, "--listen")
	if err != nil {
		return err
	}
	s.OnClose(func(context.Context) error { _ = listener.Close(); return nil }) // fails if serve has already closed the listener
	if s.metrics, err = serving.OpenMetrics(ctx, o.Metrics); err != nil {
		return err
	}
	s.OnClose(s.metrics.Close)
	if o.DB == "" {
		databaseURL, cleanup, err := serving.TemporaryDatabase()
		if err != nil {
			return err
		}
		o.DB = databaseURL
		s.OnClose(func(context.Context) error { return cleanup() })
	}
	db, err := s.OpenDatabase(ctx, o.DB, o.Logger)
	if err != nil {
		return err
	}
	shared, err := s.join(ctx, db, serving.BaseURL(listener, secure != nil), o.Logger)
	if err != nil {
		return err
	}
	key, err := scimCursorKey(ctx, db)
	if err != nil {
		return err
	}
	all, metrics, err := newTenants(scimStores{db, time.Now}, tenants.Options{Logger: o.Logger, Cursors: scimserver.CursorOptions{Key: key}})
	if err != nil {
		return err
	}
	for _, c := range s.tenants {
		c.Shared = shared.quirksOf(c.Name, 0)
		if _, err := all.Add(ctx, c); err != nil {
			return err
		}
	}
	if secure == nil {
		warnOfPlainText(ctx, o.Logger, listener.Addr())
	}
	s.metrics.Serve(ctx, metrics.Handler(), o.Logger)
	s.Server = serving.Serve(listener, withMetrics(s.metrics.MainHandler(metrics.Handler()), all), secure, o.Logger)
	s.OnClose(s.Server.Close)
	return nil
}

// Check returns an error if the tenants, the options of the service provider at /scim/v2, the certificate or the metrics token are invalid.
// ServeSCIM checks the same.
func (o SCIMOptions) Check() error {
	if o.DB != "" {
		if err := serving.CheckDatabase(o.DB); err != nil {
			return err
		}
	}
	if _, err := serving.ReadCertificate(o.TLSCert, o.TLSKey); err != nil {
		return err
	}
	if err := o.Metrics.Check(); err != nil {
		return err
	}
	_, _, err := o.tenants()
	return err
}

// tenants returns all service providers, the one at /scim/v2 first. token is the value of its first token, "" if only the digest is known.
func (o SCIMOptions) tenants() (all []tenants.Config, token string, err error) {
	if i := slices.IndexFunc(o.Tenants, func(c tenants.Config) bool { return c.Name == tenants.Default }); i >= 0 {
		if len(o.Tokens)+len(o.ReadTokens)+len(o.Quirks) > 0 || o.Schemas != "" || o.Refuse != 0 {
			return nil, "", fmt.Errorf(
				"the tenant %q and other options configure the same service provider, %s: set tokens, quirks, leniencies and schemas in one place",
				tenants.Default, tenants.Prefix(tenants.Default))
		}
		return slices.Concat(o.Tenants[i:i+1], o.Tenants[:i], o.Tenants[i+1:]), "", nil
	}
	if len(o.Tokens) == 0 {
		o.Tokens = []string{newToken()}
	}
	c := tenants.Config{Name: tenants.Default, Refuse: o.Refuse}
	if c.Tokens, err = parseTokens(o.Tokens, o.ReadTokens); err != nil {
		return nil, "", err
	}
	if c.Quirks, err = parseQuirks(o.Quirks); err != nil {
		return nil, "", err
	}
	if o.Schemas != "" {
		if c.Types, err = tenants.LoadTypes(o.Schemas); err != nil {
			return nil, "", err
		}
	}
	return slices.Concat([]tenants.Config{c}, o.Tenants), tenants.Value(o.Tokens[0]), nil
}

// parseTokens parses tokens and further tokens that allow reading only.
func parseTokens(texts, readOnly []string) ([]tenants.Token, error) {
	var all []tenants.Token
	for i, text := range slices.Concat(texts, readOnly) {
		t, err := tenants.ParseToken(text)
		if err != nil {
			return nil, err
		}
		t.ReadOnly = t.ReadOnly || i >= len(texts)
		if slices.ContainsFunc(all, sameToken(t)) {
			return nil, fmt.Errorf("token %s is given twice", t.ID())
		}
		all = append(all, t)
	}
	return all, nil
}

// PrintWelcome prints the addresses of the service providers, and a token if its value is known.
func (s *SCIMServer) PrintWelcome(w io.Writer) {
	if s.token != "" {
		fmt.Fprintf(w, "SCIM server   %s   Authorization: Bearer %s\n", s.URL(), s.token)
	} else {
		fmt.Fprintf(w, "SCIM server   %s   %s\n", s.URL(), count(len(s.tenants[0].Tokens), "token"))
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range s.tenants[1:] {
		fmt.Fprintln(table, strings.Join([]string{"tenant " + c.Name, s.TenantURL(c.Name), count(len(c.Tokens), "token")}, "\t"))
	}
	_ = table.Flush()
	if url := s.MetricsURL(); url != "" {
		fmt.Fprintln(w, "metrics       "+url)
	}
}

// MetricsURL returns the address of the metrics at the separate listener, "" without a separate listener.
func (s *SCIMServer) MetricsURL() string { return s.metrics.URL() }

// URL returns the SCIM base URL of the service provider at /scim/v2.
func (s *SCIMServer) URL() string { return s.TenantURL(tenants.Default) }

// TenantURL returns the SCIM base URL of a tenant.
func (s *SCIMServer) TenantURL(name string) string { return s.Server.URL() + tenants.Prefix(name) }

// Token returns the first accepted token of the service provider at /scim/v2, "" if only its digest is configured.
func (s *SCIMServer) Token() string { return s.token }

// Done is closed when serving stops on its own; Err returns the cause.
func (s *SCIMServer) Done() <-chan struct{} { return s.Server.Done() }

// Err returns the cause if serving stopped on its own. It is nil while the server runs and after Close.
func (s *SCIMServer) Err() error { return s.Server.Err() }

// Close stops the server; running requests are completed or aborted when ctx ends. A second call returns the same error.
func (s *SCIMServer) Close(ctx context.Context) error { return s.CloseAll(ctx) }

// warnOfPlainText logs a warning if other machines can reach a server without TLS.
func warnOfPlainText(ctx context.Context, log *slog.Logger, addr net.Addr) {
	if serving.OnLoopback(addr) {
		return
	}
	log.WarnContext(ctx,
		"SCIM is served to other machines without TLS, which RFC 7644 section 7.2 requires: tokens and personal data can be read on the network "+
			"unless a proxy terminates TLS; enable TLS with --tls-cert and --tls-key", "listen", addr.String())
}
