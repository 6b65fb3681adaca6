package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine/plan"
)

// Link says which account or group of a target belongs to a principal. As JSON, one a line, links can be carried from one identity
// provider to another without a single account being created again:
//
//	{"kind":"user","id":"u-1","remoteId":"2819c223","remoteName":"ann@example.org","origin":"created"}
type Link struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"` // of the principal in the directory
	RemoteID string `json:"remoteId"`
	// RemoteName is the userName or displayName at the target, if known.
	RemoteName string `json:"remoteName,omitempty"`
	// Origin says how the link came about. Defaults to imported.
	Origin plan.Origin `json:"origin,omitempty"`
}

// Conflict is a link that cannot be made.
type Conflict struct {
	Link   Link   `json:"link"`
	Reason string `json:"reason"`
}

// LinkError refuses links as a whole: none of them was made.
type LinkError struct{ Conflicts []Conflict }

// linkErrorShown is how many conflicts the text of a LinkError tells.
const linkErrorShown = 5

// Error tells the first conflicts.
func (e *LinkError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine: no link was made, %d cannot be:", len(e.Conflicts))
	for i, c := range e.Conflicts {
		if i == linkErrorShown {
			fmt.Fprintf(&b, " and %d more", len(e.Conflicts)-i)
			break
		}
		fmt.Fprintf(&b, " %s %s to %s: %s;", c.Link.Kind, c.Link.ID, c.Link.RemoteID, c.Reason)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// LinkStore keeps links: they are part of the principals' states.
type LinkStore interface {
	// Link makes the links within the caller's transaction, or none of them and returns a *LinkError with all conflicts. A principal
	// that is not known yet is StatusClean afterwards: a link alone sends nothing. One that had stopped without an account (failed,
	// held or skipped) comes due, and so do groups that wait for the user. The next push of a linked group is a full one. A link that
	// is there already is left as it is.
	//
	// Conflicts: a link that names nobody, one principal or account twice, an account that another principal has, a principal that
	// has another account or is due (its sequence may be about to find one). ErrMoved when a principal was marked meanwhile.
	Link(ctx context.Context, tx Execer, now time.Time, app string, links []Link) error
	// Links returns the links of an app by kind (groups first) and id, after the given one; the zero Link is the beginning.
	Links(ctx context.Context, app string, after Link, limit int) ([]Link, error)
}

// Link says, inside the caller's transaction, which accounts of the target belong to which principals, e.g. those of a provisioning
// client that was used before. Nothing is sent to the target until the principals are marked. Links are refused as a whole, with
// all reasons in a *[LinkError]: an account belongs to one principal, and a principal has one account.
func (e *Engine) Link(ctx context.Context, tx Execer, app string, links []Link) error {
	if err := e.o.Store.Link(ctx, tx, e.o.Now(), app, links); err != nil {
		return fmt.Errorf("engine: link to %s: %w", app, err)
	}
	return nil
}

// Links exports the links of an app page by page: groups before users, ascending by id, after the last one of the page before (the
// zero Link begins). A limit of 0 means 100. They can be handed to [Engine.Link] of another engine.
func (e *Engine) Links(ctx context.Context, app string, after Link, limit int) ([]Link, error) {
	return e.o.Store.Links(ctx, app, after, limit)
}
