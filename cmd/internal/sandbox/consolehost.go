package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/console/connect"
	"github.com/scimwright/scimwright/cmd/internal/console/manage"
	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/cmd/internal/console/suite"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// consoleHost tells the console who its callers are, and the names of apps and principals.
type consoleHost struct {
	names

	api   *mgmtapi.API
	token string // of the built-in administrator

	mu      sync.Mutex
	readers map[[sha256.Size]byte]reader
}

// reader is a caller without the role SUPER_ADMIN. It is cached for a short time, because its roles take two requests to the API.
type reader struct {
	caller console.Caller
	err    error
	until  time.Time
}

const (
	readerTime = 5 * time.Second
	maxReaders = 1000
)

var _ console.Host = (*consoleHost)(nil)

// Caller implements console.Host. A SUPER_ADMIN may do everything, and a READ_ONLY_ADMIN may read.
func (h *consoleHost) Caller(ctx context.Context, credential string) (console.Caller, error) {
	var c mgmtapi.Caller
	admitted := false
	all := h.api.Authorize(sandboxScope, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c, _ = mgmtapi.CallerOf(r.Context())
		admitted = true
	}))
	status, err := h.call(ctx, all, credential, sandboxPrefix+"/engine/apps", nil)
	switch {
	case err != nil:
		return console.Caller{}, err
	case admitted:
		return console.Caller{Name: c.Login, Access: console.AllAccess()}, nil
	case status >= http.StatusInternalServerError:
		return console.Caller{}, errors.New("the caller of the console cannot be determined: the management API returned an error")
	case status != http.StatusForbidden:
		return console.Caller{}, console.ErrNoCaller
	}
	return h.reader(ctx, credential)
}

// reader returns the caller of a token whose owner is not a SUPER_ADMIN.
func (h *consoleHost) reader(ctx context.Context, credential string) (console.Caller, error) {
	key := sha256.Sum256([]byte(credential))
	h.mu.Lock()
	known, ok := h.readers[key]
	h.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.caller, known.err
	}
	found := reader{until: time.Now().Add(readerTime)}
	found.caller, found.err = h.lookUp(ctx, credential)
	if found.err != nil && !errors.Is(found.err, console.ErrNoCaller) {
		return found.caller, found.err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == nil || len(h.readers) >= maxReaders {
		h.readers = map[[sha256.Size]byte]reader{}
	}
	h.readers[key] = found
	return found.caller, found.err
}

func (h *consoleHost) lookUp(ctx context.Context, credential string) (console.Caller, error) {
	var me struct {
		ID      string
		Profile struct{ Login string }
	}
	if status, err := h.call(ctx, h.api, credential, "/api/v1/users/me", &me); err != nil || status != http.StatusOK {
		return console.Caller{}, errors.Join(err, console.ErrNoCaller)
	}
	var roles []struct{ Type, Status string }
	path := "/api/v1/users/" + url.PathEscape(me.ID) + "/roles"
	if status, err := h.call(ctx, h.api, h.token, path, &roles); err != nil || status != http.StatusOK {
		return console.Caller{}, errors.Join(err, console.ErrNoCaller)
	}
	for _, r := range roles {
		if r.Type == "READ_ONLY_ADMIN" && r.Status == "ACTIVE" {
			return console.Caller{Name: me.Profile.Login, Access: []string{engine.AccessRead}}, nil
		}
	}
	return console.Caller{}, console.ErrNoCaller
}

// call sends a GET request to a handler in this process.
func (h *consoleHost) call(ctx context.Context, handler http.Handler, credential, path string, into any) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://in-process"+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "SSWS "+credential)
	res, err := console.InProcess(handler).RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if into != nil && res.StatusCode == http.StatusOK {
		err = json.NewDecoder(res.Body).Decode(into)
	}
	return res.StatusCode, err
}

// Grant implements console.Host. The output of the start contains the token of the administrator, too.
func (h *consoleHost) Grant(context.Context) (string, error) { return h.token, nil }

// Revoke implements console.Host. The token of the administrator remains valid.
func (h *consoleHost) Revoke(context.Context, string) error { return nil }

// Apps implements console.Host.
func (h *consoleHost) Apps(ctx context.Context, _ string) ([]control.App, error) {
	return h.names.Apps(ctx)
}

// newConsole returns the console, behind which the control API permits what the role of the session permits. managed is the handler of the
// management API, which authorizes the token of the session itself.
func (s *Sandbox) newConsole(
	ctx context.Context, db *sqldb.DB, p *parts, o control.Options, base string, managed http.Handler, log *slog.Logger,
) (*console.Console, error) {
	sessions, err := session.Open(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	o.Authorize = func(next http.Handler) http.Handler { return next }
	o.Permit = func(ctx context.Context, op control.Operation) error {
		if c, ok := console.CallerOf(ctx); ok && c.May(op.Access) {
			return nil
		}
		return engine.ErrNotPermitted
	}
	operate, err := control.New(o)
	if err != nil {
		return nil, err
	}
	sections := []console.Section{
		connect.New(connect.Options{Backend: &connect.Management{Self: base}, Test: p.engine.Targets().Test}),
		manage.New(manage.Options{SCIM: p.readSCIM()}), suite.NewSection(p.suite, base),
	}
	hosts := s.options.ConsoleHosts
	if public, err := url.Parse(s.options.BaseURL); err == nil && public.Hostname() != "" {
		hosts = append([]string{public.Hostname()}, hosts...)
	}
	return console.New(console.Options{
		Host: &consoleHost{names: names{p.bridge}, api: p.api, token: p.tokens.api}, Reads: console.ReadsOf(p.engine), API: operate,
		Prefix: sandboxPrefix, Scheme: "SSWS", Sessions: sessions, Product: "sandbox", Links: true, Hosts: hosts,
		Proxies: s.options.TrustedProxies, Management: managed, Sections: sections,
		Open: s.options.ConsoleOpen, Rate: &p.rate, Done: p.engine.Done(), Now: o.Now, Logger: log,
		Endpoints: []console.Endpoint{
			{Name: "Management API", URL: base + "/api/v1"},
			{Name: "SCIM server", URL: base + tenants.Prefix(tenants.Default)},
			{Name: "Second SCIM server", URL: base + tenants.Prefix(chatTarget)},
			{Name: "OpenAPI document", URL: base + "/openapi.json"},
		},
	})
}

// readSCIM returns a handler that serves GET requests to the SCIM servers in this process, without a token of the caller.
func (p *parts) readSCIM() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !p.tenants.Owns(r.URL.Path) {
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+p.scimReader)
		p.tenants.ServeHTTP(w, r)
	})
}

// newSuite returns the runner of conformance runs. It connects only to the addresses that the policy of the sandbox allows.
func (s *Sandbox) newSuite(ctx context.Context, db *sqldb.DB, log *slog.Logger) (*suite.Runner, error) {
	runs, err := suite.Open(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	return suite.New(suite.Options{Store: runs, Transport: s.egress.Transport(suiteConnections), Logger: log}), nil
}

// suiteConnections is the maximum number of idle connections to the target of a conformance run.
const suiteConnections = 8

// consoleURL returns the address of the console with a code for one login; without the code if no login is required.
func (s *Sandbox) consoleURL(ctx context.Context, public, base string) (string, error) {
	if s.options.ConsoleOpen {
		return base + "/", nil
	}
	path, err := s.console.LoginPath(ctx)
	if err != nil {
		return "", err
	}
	if s.options.BaseURL != "" { // the address that clients use
		base = public
	}
	return base + path, nil
}
