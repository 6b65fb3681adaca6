package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/listing"
)

// Imports read the accounts and groups of targets, and keep whose they are. See [Engine.Imports].
type Imports struct{ e *Engine }

// Imports returns the handle of the imports and links.
func (e *Engine) Imports() Imports { return Imports{e} }

// Start begins to read the accounts or groups of a target by pages and to tell whose they are, and returns the id of the run. The
// run is worked on by whichever engine of the store has time, goes on at the page where a crash has left it, and sends nothing but
// GET. When it has ended ([Imports.Run]), [Imports.Objects] has the result and [Imports.Confirm] links what somebody has
// looked at. A list that changes while it is read, or contradicts itself, fails the run, and nothing is concluded from it.
//
// The directory has to be a [engine.Matcher]. ErrImportRunning when one is running for that kind.
func (i Imports) Start(ctx context.Context, app string, r engine.ImportRequest) (int64, error) {
	if _, err := i.e.can.imports.get(); err != nil {
		return 0, err
	}
	id, err := i.e.imports.Start(ctx, app, r)
	if err == nil {
		i.e.importLeases.Wake()
	}
	return id, err
}

// Run returns how far an import has come, or ErrNotFound.
func (i Imports) Run(ctx context.Context, app string, id int64) (engine.ImportRun, error) {
	s, err := i.e.can.imports.get()
	if err != nil {
		return engine.ImportRun{}, err
	}
	run, err := s.ImportRun(ctx, id)
	if err == nil && run.App != app {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.ImportRun{}, fmt.Errorf("engine: import %d of %s: %w", id, app, err)
	}
	return run, nil
}

// Runs lists the imports of an app, newest first.
func (i Imports) Runs(ctx context.Context, app string) ([]engine.ImportRun, error) {
	s, err := i.e.can.imports.get()
	if err != nil {
		return nil, err
	}
	return s.ImportRuns(ctx, app)
}

// Objects lists what imports have found at the target of an app.
func (i Imports) Objects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error) {
	if q.App == "" || listing.Endpoints[q.Kind] == "" {
		return nil, fmt.Errorf("engine: remote objects: RemoteObjectQuery needs an app and a kind, not %q and %q", q.App, q.Kind)
	}
	s, err := i.e.can.imports.get()
	if err != nil {
		return nil, err
	}
	return s.RemoteObjects(ctx, q)
}

// Confirm links accounts that an import has found, inside the caller's transaction and on the terms of [Imports.Link]. The links need
// not be those that the import has proposed. ErrStale when a newer import has begun, or this one has not ended well or has not seen
// an account.
func (i Imports) Confirm(ctx context.Context, tx engine.Execer, app string, run int64, links []engine.Link) error {
	s, err := i.e.can.imports.get()
	if err != nil {
		return err
	}
	if err := s.Confirm(ctx, tx, i.e.o.Now(), app, run, links); err != nil {
		return fmt.Errorf("engine: confirm import %d of %s: %w", run, app, err)
	}
	return nil
}

// Link says, inside the caller's transaction, which accounts of the target belong to which principals, e.g. those of a provisioning
// client that was used before. Nothing is sent to the target until the principals are marked. Links are refused as a whole, with
// all reasons in a *[engine.LinkError]: an account belongs to one principal, and a principal has one account.
func (i Imports) Link(ctx context.Context, tx engine.Execer, app string, links []engine.Link) error {
	s, err := i.e.can.links.get()
	if err != nil {
		return err
	}
	if err := s.Link(ctx, tx, i.e.o.Now(), app, links); err != nil {
		return fmt.Errorf("engine: link to %s: %w", app, err)
	}
	return nil
}

// Links exports the links of an app page by page: groups before users, ascending by id, after the last one of the page before (the
// zero Link begins). A limit of 0 means 100. They can be handed to [Imports.Link] of another engine.
func (i Imports) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	s, err := i.e.can.links.get()
	if err != nil {
		return nil, err
	}
	return s.Links(ctx, app, after, limit)
}
