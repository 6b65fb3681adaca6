package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// SCIMOptions configure the SCIM server alone.
type SCIMOptions struct {
	// Listen is the address. Defaults to 127.0.0.1:8080; port 0 takes a free one.
	Listen string
	// DB is a database URL. Defaults to a temporary SQLite file that Close removes.
	DB string
	// Tokens are the bearer tokens that are accepted at /scim/v2, as tenants.ParseToken reads them. Defaults to a random one.
	Tokens []string
	// ReadTokens are further ones that are for reading only. Defaults to none.
	ReadTokens []string
	// Schemas is a directory of schema and resource type documents, as schema.Load reads it. Defaults to none: users and
	// groups.
	Schemas string
	// Refuse is what to refuse of what known clients send outside the RFCs. Defaults to nothing.
	Refuse lenient.Set
	// Quirks make the server deviate, as quirks.Parse reads them. Defaults to none.
	Quirks []string
	// Tenants are further service providers. One with the name of tenants.Default takes the place of what Tokens, ReadTokens,
	// Schemas, Refuse and Quirks say, none of which may be given then.
	Tenants []tenants.Config
	// TLSCert and TLSKey are PEM files with a certificate chain and its key, to be served with TLS. Defaults to none: without
	// TLS, which is for this machine and for what stands behind a proxy.
	TLSCert, TLSKey string
	// Metrics define where metrics are served and to whom. Default: nowhere.
	Metrics MetricsOptions
	// Logger defaults to discarding.
	Logger *slog.Logger
}

// SCIMServer is a running SCIM server.
type SCIMServer struct {
	*httpServer
	closing
	token   string
	tenants []tenants.Config
	metrics *metricsServer
}

// ServeSCIM starts the SCIM server alone: one service provider at the path /scim/v2, the others at /t/{tenant}/scim/v2.
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
	failures := newFailureLog(o.Logger.Handler())
	s.onClose(failures.close)
	o.Logger = slog.New(failures)
	if o.DB != "" {
		if err := checkDatabase(o.DB); err != nil {
			return err
		}
	}
	var err error
	if s.tenants, s.token, err = o.tenants(); err != nil {
		return err
	}
	secure, err := readCertificate(o.TLSCert, o.TLSKey)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, o.Listen, "--listen")
	if err != nil {
		return err
	}
	s.onClose(func(context.Context) error { _ = listener.Close(); return nil }) // closed already when it was served
	if s.metrics, err = openMetrics(ctx, o.Metrics); err != nil {
		return err
	}
	s.onClose(s.metrics.close)
	if o.DB == "" {
		databaseURL, cleanup, err := temporaryDatabase()
		if err != nil {
			return err
		}
		o.DB = databaseURL
		s.onClose(func(context.Context) error { return cleanup() })
	}
	db, err := sqlopen.Open(ctx, o.DB, sqlopen.Options{Logger: o.Logger})
	if err != nil {
		return err
	}
	s.onClose(func(context.Context) error { return db.Close() })
	all, metrics, err := newTenants(db, 0, time.Now, o.Logger)
	if err != nil {
		return err
	}
	for _, c := range s.tenants {
		if _, err := all.Add(ctx, c); err != nil {
			return err
		}
	}
	if secure == nil {
		warnOfPlainText(ctx, o.Logger, listener.Addr())
	}
	s.metrics.serve(ctx, metrics.Handler(), o.Logger)
	s.httpServer = serve(listener, beside(s.metrics.next(metrics.Handler()), all), secure, o.Logger)
	s.onClose(s.httpServer.Close)
	return nil
}

// Check says what is wrong with the tenants, with what describes that at /scim/v2, with the certificate and with the metrics token, nil
// when nothing is.
// ServeSCIM does so too.
func (o SCIMOptions) Check() error {
	if _, err := readCertificate(o.TLSCert, o.TLSKey); err != nil {
		return err
	}
	if err := o.Metrics.Check(); err != nil {
		return err
	}
	_, _, err := o.tenants()
	return err
}

// tenants are all service providers, that at /scim/v2 first, and the value of its first token, "" when it is not known.
func (o SCIMOptions) tenants() (all []tenants.Config, token string, err error) {
	if i := slices.IndexFunc(o.Tenants, func(c tenants.Config) bool { return c.Name == tenants.Default }); i >= 0 {
		if len(o.Tokens)+len(o.ReadTokens)+len(o.Quirks) > 0 || o.Schemas != "" || o.Refuse != 0 {
			return nil, "", fmt.Errorf(
				"the tenant %q is the service provider at %s, which options describe too: tokens, quirks, leniencies and schemas stand in one place",
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

// parseTokens reads tokens and further ones that are for reading only.
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

// PrintWelcome prints where the service providers answer, and a token where it is known.
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

// MetricsURL is the address of the metrics at a listener of their own, "" without one.
func (s *SCIMServer) MetricsURL() string { return s.metrics.url() }

// URL is the SCIM base URL of the service provider at /scim/v2.
func (s *SCIMServer) URL() string { return s.TenantURL(tenants.Default) }

// TenantURL is the SCIM base URL of a tenant.
func (s *SCIMServer) TenantURL(name string) string { return s.url() + tenants.Prefix(name) }

// Token is the first accepted token of the service provider at /scim/v2, "" when only its digest was given.
func (s *SCIMServer) Token() string { return s.token }

// Done is closed when serving ended by itself; Err says why.
func (s *SCIMServer) Done() <-chan struct{} { return s.done }

// Err returns why serving ended by itself, nil while it goes on and after Close.
func (s *SCIMServer) Err() error { return s.ended() }

// Close ends the server; running requests end within ctx. A second call returns what the first did.
func (s *SCIMServer) Close(ctx context.Context) error { return s.closing.run(ctx) }
