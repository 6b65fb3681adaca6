package sandbox

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi"
)

// The path and the scope of the engine's control API, which is part of the sandbox API.
const (
	sandboxPrefix = "/sandbox/v1"
	sandboxScope  = "svc.sandbox.manage"
)

// controlOptions returns the options that the OpenAPI document depends on.
func controlOptions() control.Options {
	return control.Options{Prefix: sandboxPrefix, Scope: sandboxScope}
}

// newControl returns the options of the engine's control API, behind the authorization of the management API.
func newControl(
	db *sqldb.DB, e *provision.Engine, feed *control.Feed, b *bridge, api *mgmtapi.API, now func() time.Time, log *slog.Logger,
) control.Options {
	o := controlOptions()
	o.Feed = feed
	o.Engine, o.Directory, o.Names, o.Unprovisioned, o.Now, o.Logger = e, b, names{b}, names{b}.unprovisioned, now, log
	o.Update = func(ctx context.Context, fn func(tx engine.Execer) error) error {
		// As in the relay, the transaction need not be serializable: fn writes no documents, and the engine's store orders its own writes.
		return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
	}
	o.Synced, o.Imports = b.waitRelayed, importing{api}
	o.Authorize = func(next http.Handler) http.Handler { return api.Authorize(sandboxScope, next) }
	return o
}

// controlOperations describes the operations of the control API to the management API, which explains the permissions they require.
func controlOperations() []rest.Info {
	var all []rest.Info
	for _, op := range control.Operations(sandboxPrefix) {
		all = append(all, rest.Info{ID: op.ID, Method: op.Method, Path: op.Path, Scopes: []string{sandboxScope}})
	}
	return all
}

// managementPaths are the paths below /sandbox/v1/apps/{app} that the management API serves, because they concern assignments.
var managementPaths = []string{"provision"}

// servedByControl reports whether the control API serves a path.
func servedByControl(path string) bool {
	if under(path, sandboxPrefix+"/engine") {
		return true
	}
	rest, ok := strings.CutPrefix(path, sandboxPrefix+"/apps/")
	if !ok {
		return false
	}
	_, rest, ok = strings.Cut(rest, "/")
	first, _, _ := strings.Cut(rest, "/")
	for _, segment := range managementPaths {
		if first == segment {
			return false
		}
	}
	return ok
}

// relayTime is the maximum time to wait for the relay.
const relayTime = 30 * time.Second

// waitRelayed waits until the relay, which transfers the changes of the management API to the engine, has marked all earlier changes in
// the engine.
func (b *bridge) waitRelayed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, relayTime)
	defer cancel()
	return poll(ctx, func() (bool, error) {
		n, err := b.wanted.Waiting(ctx)
		return n == 0, err
	})
}
