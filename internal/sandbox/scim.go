package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	scimstore "github.com/scimwright/scimwright/scimserver/sqlstore"
)

const (
	scimPrefix   = "/scim/v2"
	tenantPrefix = "/t/"
	// defaultTarget is the service provider at scimPrefix; the others are at tenantPrefix + name + scimPrefix.
	defaultTarget = "default"
	// chatTarget is a second one: the seed has two applications, and two that manage the same accounts would fight.
	chatTarget = "chat"

	// sandboxPasswordCost is the bcrypt cost of the sandbox's SCIM servers: low, because a sandbox receives a random
	// placeholder with every create and its start should not be spent on hashing those.
	sandboxPasswordCost = 6
)

// scimTables are the tables of each service provider by name.
type scimTables map[string]*scimstore.Layout

func newSCIMTables() scimTables {
	return scimTables{defaultTarget: scimstore.NewLayout("scim"), chatTarget: scimstore.NewLayout("scim_" + chatTarget)}
}

func (t scimTables) tables() []docstore.Table {
	var all []docstore.Table
	for _, l := range t {
		all = append(all, l.Tables()...)
	}
	return all
}

// prefixOf is the path below which a service provider is mounted.
func prefixOf(name string) string {
	if name == defaultTarget {
		return scimPrefix
	}
	return tenantPrefix + name + scimPrefix
}

// newProviders returns the service providers by their names. All begin with the same quirks.
func newProviders(store *docstore.Store, t scimTables, token string, active []string, log *slog.Logger) (providers, error) {
	all := providers{}
	for name, layout := range t {
		h, err := scimserver.New(scimserver.Options{
			Store: scimstore.New(store, layout), Tokens: scimserver.StaticTokens(token), Prefix: prefixOf(name),
			PasswordCost: sandboxPasswordCost, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		if all[name], err = withQuirks(h, active); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SCIMOptions configure the SCIM server alone.
type SCIMOptions struct {
	// Listen is the address. Defaults to 127.0.0.1:8080; port 0 takes a free one.
	Listen string
	// DB is a database URL. Defaults to a temporary SQLite file that Close removes.
	DB string
	// Tokens are the bearer tokens that are accepted. Defaults to a random one.
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
	// Logger defaults to discarding.
	Logger *slog.Logger
}

// SCIMServer is a running SCIM server.
type SCIMServer struct {
	*httpServer
	closing
	token string
}

// ServeSCIM starts the SCIM server alone, at the path /scim/v2.
func ServeSCIM(ctx context.Context, o SCIMOptions) (*SCIMServer, error) {
	s := &SCIMServer{}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *SCIMServer) start(ctx context.Context, o SCIMOptions) error {
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if len(o.Tokens) == 0 {
		o.Tokens = []string{newToken()}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s.token = o.Tokens[0]
	if o.DB != "" {
		if err := checkDatabase(o.DB); err != nil {
			return err
		}
	}
	listener, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	s.onClose(func(context.Context) error { _ = listener.Close(); return nil }) // closed already when it was served
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
	types, err := loadTypes(o.Schemas)
	if err != nil {
		return err
	}
	layout := scimstore.NewLayout("scim", types...)
	store, err := docstore.Open(ctx, db, time.Now, layout.Tables()...)
	if err != nil {
		return err
	}
	h, err := scimserver.New(scimserver.Options{
		Store: scimstore.New(store, layout), Types: types, Tokens: o.tokens(), Prefix: scimPrefix, Refuse: o.Refuse, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	quirky, err := withQuirks(h, o.Quirks)
	if err != nil {
		return err
	}
	metrics := observe.NewMetrics()
	observed := providers{defaultTarget: quirky}.observed(metrics, o.Logger)[scimPrefix]
	s.httpServer = serve(listener, beside(metrics.Handler(), observed), o.Logger)
	s.onClose(s.httpServer.Close)
	return nil
}

func (o SCIMOptions) tokens() scimserver.TokenVerifier {
	var tokens []scimserver.Token
	for _, value := range o.ReadTokens {
		tokens = append(tokens, scimserver.Token{Value: value, Grant: scimserver.Grant{ReadOnly: true}})
	}
	for _, value := range o.Tokens {
		tokens = append(tokens, scimserver.Token{Value: value})
	}
	return scimserver.Tokens(time.Now, tokens...)
}

// loadTypes reads the resource types of a directory; none when there is no directory, which stands for the built-in ones.
func loadTypes(dir string) ([]*schema.ResourceType, error) {
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	types, err := schema.Load(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("schemas in %s: %w", dir, err)
	}
	return types, nil
}

// URL is the SCIM base URL.
func (s *SCIMServer) URL() string { return s.url() + scimPrefix }

// Token is the first accepted token.
func (s *SCIMServer) Token() string { return s.token }

// Done is closed when serving ended by itself; Err says why.
func (s *SCIMServer) Done() <-chan struct{} { return s.done }

// Err returns why serving ended by itself, nil while it goes on and after Close.
func (s *SCIMServer) Err() error { return s.ended() }

// Close ends the server; running requests end within ctx. A second call returns what the first did.
func (s *SCIMServer) Close(ctx context.Context) error { return s.closing.run(ctx) }
