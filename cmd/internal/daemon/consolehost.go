package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/console/connect"
	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// consoleBase is the prefix of the paths of the console.
const consoleBase = "/console"

// ConsoleOf returns the base URL of the console of a daemon with the given URL of the engine. ok is false for a URL of another server.
func ConsoleOf(engineURL string) (base string, ok bool) {
	base, ok = strings.CutSuffix(engineURL, desiredapi.DefaultPrefix)
	return base + consoleBase, ok
}

// consolePrefix begins the ids of the tokens that logins with a one-time code create.
const consolePrefix = "console-"

// consoleHost tells the console who its callers are, and the names of apps and principals.
type consoleHost struct {
	names

	guard *guard
	audit *recorder
	db    *database
	now   func() time.Time
}

var _ console.Host = (*consoleHost)(nil)

// Caller implements console.Host.
func (h *consoleHost) Caller(ctx context.Context, credential string) (console.Caller, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return console.Caller{}, err
	}
	r.Header.Set("Authorization", "Bearer "+credential)
	t, err := h.guard.caller(r)
	if errors.Is(err, errNoToken) {
		return console.Caller{}, console.ErrNoCaller
	}
	return console.Caller{Name: t.Name, Tenant: t.Tenant + ":", Access: t.Scopes}, err
}

// Grant implements console.Host. It creates a token with all permissions, which expires with the session.
func (h *consoleHost) Grant(ctx context.Context) (string, error) {
	now := h.now()
	value := newToken()
	t := token{
		ID: consolePrefix + strings.ToLower(rand.Text()[:16]), Tenant: DefaultTenant, Name: "console", Scopes: []string{engine.AccessFleet},
		Created: now, Expires: now.Add(session.Lifetime),
	}
	seq, err := h.audit.begin(ctx, entry{
		At: now, Tenant: t.Tenant, Caller: t.ID, Name: t.Name, Operation: "consoleLogin", Object: "/tokens/" + t.ID,
	})
	if err != nil {
		return "", err
	}
	err = h.db.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {daemon_token} WHERE id LIKE 'console-%' AND expires > 0 AND expires <= ?`, millis(now))
		if err != nil {
			return err
		}
		return putToken(ctx, tx, t, digestOf(value))
	})
	if err != nil {
		h.audit.end(seq, http.StatusInternalServerError)
		return "", err
	}
	h.audit.end(seq, http.StatusCreated)
	return value, nil
}

// Revoke implements console.Host.
func (h *consoleHost) Revoke(ctx context.Context, credential string) error {
	t, err := h.db.tokenOf(ctx, credential)
	if errors.Is(err, errNoToken) || err == nil && !strings.HasPrefix(t.ID, consolePrefix) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = h.db.deleteToken(ctx, t.Tenant, t.ID)
	return err
}

// Apps implements console.Host.
func (h *consoleHost) Apps(ctx context.Context, tenant string) ([]control.App, error) {
	return h.names.apps(ctx, tenant)
}

// newConsole returns the console. api is the handler of the whole daemon, so that the calls of the console are authorized, limited and
// audited like those of other callers.
func (d *Daemon) newConsole(ctx context.Context, g *guard, audit *recorder, api http.Handler) (*console.Console, error) {
	sessions, err := session.Open(ctx, d.db.DB, nil)
	if err != nil {
		return nil, err
	}
	return console.New(console.Options{
		Host:  &consoleHost{names: names{d.store}, guard: g, audit: audit, db: d.db, now: time.Now},
		Reads: console.ReadsOf(d.engine), API: api, Prefix: desiredapi.DefaultPrefix, Scheme: "Bearer", Sessions: sessions, Base: consoleBase,
		Management: api, Sections: []console.Section{connect.New(connect.Options{
			Backend: &connect.Desired{Prefix: desiredapi.DefaultPrefix}, Test: d.engine.Targets().Test,
		})},
		Product: "engine", Hosts: d.options.ConsoleHosts, Proxies: d.options.TrustedProxies, Open: d.options.ConsoleOpen, Rate: &d.rate,
		Done: d.stopping.Done(), Logger: d.options.Logger,
	})
}

// consoleURL returns the address of the console with a code for one login; without the code if no login is required, and empty without a
// console. A daemon without the code serves the console to callers with a token.
func (d *Daemon) consoleURL(ctx context.Context, base string) string {
	switch {
	case d.console == nil:
		return ""
	case d.options.ConsoleOpen:
		return base + consoleBase + "/"
	}
	path, err := d.console.LoginPath(ctx)
	if err != nil {
		d.options.Logger.WarnContext(ctx, "no login link for the console", "error", err)
		return base + consoleBase + "/"
	}
	return base + path
}
