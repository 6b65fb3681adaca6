package daemon

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// WithHooks returns options of a daemon whose parts call functions of a test: the store of the engine, the connections to targets and
// endpoints of webhooks, and the handler of all requests.
func (o Options) WithHooks(
	all func(store.All) store.All, transport http.RoundTripper, handler func(http.Handler) http.Handler,
) Options {
	o.hooks = hooks{store: all, transport: transport, handler: handler}
	return o
}

// Requests returns the number of requests of a tenant in flight.
func (d *Daemon) Requests(tenant string) int {
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	if t := d.usage.by[tenant]; t != nil {
		return t.inFlight
	}
	return 0
}

// CloseDatabase closes the connections to the database.
func (d *Daemon) CloseDatabase() error { return d.db.Readers().Close() }

// Expire sets the end of the validity of a token to a time in the past.
func (d *Daemon) Expire(ctx context.Context, id string) error {
	return d.db.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {daemon_token} SET expires = 1 WHERE id = ?`, id)
		return err
	})
}
