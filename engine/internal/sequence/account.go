package sequence

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
)

// owner returns another user that owns the account and should retain it. owner queries the directory for each candidate, because the stored
// desired state of a user in a backoff may be outdated. owner then stores a changed desired state.
//
// Invariant 6: An account belongs to one principal. Before a deactivation, the engine checks whether the account belongs to another user.
func (r *run) owner(ctx context.Context, id string) (string, error) {
	rows, err := r.Ledger.States(ctx, engine.StateQuery{App: r.row.App, Kind: engine.User, RemoteID: id})
	if err != nil {
		return "", err
	}
	for _, other := range rows {
		if other.ID == r.row.ID {
			continue
		}
		u, err := r.Directory.User(ctx, other.App, other.ID)
		switch {
		case err != nil:
			return "", err
		case u.Want == engine.Active, u.Want == engine.Keep:
			return other.ID, nil
		case u.Want == other.Want:
			continue
		}
		if err := r.Ledger.Begin(ctx, r.Lease, []store.Intent{{Kind: engine.User, ID: other.ID, Want: u.Want}}); err != nil {
			return "", err
		}
	}
	return "", nil
}

// former returns another user of the app that has or had the account, or whose id is the account's externalId; empty if no such user
// exists.
func (r *run) former(ctx context.Context, account *scim.Resource) (string, error) {
	if id := account.ExternalID(); id != "" && id != r.row.ID {
		switch _, err := r.state(ctx, engine.User, id); {
		case err == nil:
			return id, nil
		case !errors.Is(err, engine.ErrNotFound):
			return "", err
		}
	}
	for _, q := range []engine.StateQuery{{RemoteID: account.ID()}, {PreviousID: account.ID()}} {
		q.App, q.Kind = r.row.App, engine.User
		rows, err := r.Ledger.States(ctx, q)
		if err != nil {
			return "", err
		}
		for _, other := range rows {
			if other.ID != r.row.ID {
				return other.ID, nil
			}
		}
	}
	return "", nil
}
