package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/listing"
)

// Imports reads the accounts and groups of targets, and stores their owners. See [Engine.Imports].
type Imports struct{ e *Engine }

// Imports returns the handle of the imports and links.
func (e *Engine) Imports() Imports { return Imports{e} }

// Start starts to read the accounts or groups of a target by pages and to match them with principals, and returns the id of the run. Any
// engine that shares the store may work on the run, as a job of Options.Jobs. After a crash the run continues at the next page. The run
// sends only GET requests. When the run has finished ([Imports.Run]), [Imports.Objects] returns the result, and [Imports.Confirm] creates
// the links after a review. If the list changes while it is read, or is inconsistent, the run fails and the list is not used.
//
// The directory has to implement [engine.Matcher]. Start returns ErrImportRunning if the app has a running import of that kind.
func (i Imports) Start(ctx context.Context, app string, r engine.ImportRequest) (int64, error) {
	if _, err := i.e.can.imports.get(); err != nil {
		return 0, err
	}
	if i.e.schedule.missing != nil {
		return 0, i.e.schedule.missing
	}
	return i.e.imports.Start(ctx, app, r)
}

// Run returns the progress of an import, or ErrNotFound.
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

// Objects lists the objects that imports have found on the target of an app.
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

// Confirm creates links to accounts that an import has found, inside the caller's transaction and under the conditions of [Imports.Link].
// The links may differ from those that the import has proposed. Confirm returns ErrStale if a newer import has started, if this import has
// not succeeded, or if it has not seen one of the accounts.
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

// Link stores, inside the caller's transaction, which accounts of the target belong to which principals, for example those of a previous
// provisioning client. The engine sends nothing to the target until the principals are marked. An account belongs to one principal, and a
// principal has one account. On a conflict, Link creates no link and returns a *[engine.LinkError] with all reasons.
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

// Links exports the links of an app by pages: groups before users, ascending by id, after the last link of the previous page. The zero Link
// selects the first page. A limit of 0 means 100. [Imports.Link] of another engine accepts them.
func (i Imports) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	s, err := i.e.can.links.get()
	if err != nil {
		return nil, err
	}
	return s.Links(ctx, app, after, limit)
}
