package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Link says, inside the caller's transaction, which accounts of the target belong to which principals, e.g. those of a provisioning
// client that was used before. Nothing is sent to the target until the principals are marked. Links are refused as a whole, with
// all reasons in a *[engine.LinkError]: an account belongs to one principal, and a principal has one account.
func (e *Engine) Link(ctx context.Context, tx engine.Execer, app string, links []engine.Link) error {
	if err := e.o.Store.Link(ctx, tx, e.o.Now(), app, links); err != nil {
		return fmt.Errorf("engine: link to %s: %w", app, err)
	}
	return nil
}

// Links exports the links of an app page by page: groups before users, ascending by id, after the last one of the page before (the
// zero Link begins). A limit of 0 means 100. They can be handed to [Engine.Link] of another engine.
func (e *Engine) Links(ctx context.Context, app string, after engine.Link, limit int) ([]engine.Link, error) {
	return e.o.Store.Links(ctx, app, after, limit)
}
