package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/listing"
)

// Import begins to read the accounts or groups of a target by pages and to tell whose they are, and returns the id of the run. The
// run is worked on by whichever engine of the store has time, goes on at the page where a crash has left it, and sends nothing but
// GET. When it has ended ([Engine.ImportRun]), [Engine.RemoteObjects] has the result and [Engine.Confirm] links what somebody has
// looked at. A list that changes while it is read, or contradicts itself, fails the run, and nothing is concluded from it.
//
// The directory has to be a [engine.Matcher]. ErrImportRunning when one is running for that kind.
func (e *Engine) Import(ctx context.Context, app string, r engine.ImportRequest) (int64, error) {
	id, err := e.imports.Start(ctx, app, r)
	if err == nil {
		e.importLeases.Wake()
	}
	return id, err
}

// ImportRun returns how far an import has come, or ErrNotFound.
func (e *Engine) ImportRun(ctx context.Context, app string, id int64) (engine.ImportRun, error) {
	run, err := e.o.Store.ImportRun(ctx, id)
	if err == nil && run.App != app {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.ImportRun{}, fmt.Errorf("engine: import %d of %s: %w", id, app, err)
	}
	return run, nil
}

// ImportRuns lists the imports of an app, newest first.
func (e *Engine) ImportRuns(ctx context.Context, app string) ([]engine.ImportRun, error) {
	return e.o.Store.ImportRuns(ctx, app)
}

// RemoteObjects lists what imports have found at the target of an app.
func (e *Engine) RemoteObjects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error) {
	if q.App == "" || listing.Endpoints[q.Kind] == "" {
		return nil, fmt.Errorf("engine: remote objects: RemoteObjectQuery needs an app and a kind, not %q and %q", q.App, q.Kind)
	}
	return e.o.Store.RemoteObjects(ctx, q)
}

// Confirm links accounts that an import has found, inside the caller's transaction and on the terms of [Engine.Link]. The links need
// not be those that the import has proposed. ErrStale when a newer import has begun, or this one has not ended well or has not seen
// an account.
func (e *Engine) Confirm(ctx context.Context, tx engine.Execer, app string, run int64, links []engine.Link) error {
	if err := e.o.Store.Confirm(ctx, tx, e.o.Now(), app, run, links); err != nil {
		return fmt.Errorf("engine: confirm import %d of %s: %w", run, app, err)
	}
	return nil
}
