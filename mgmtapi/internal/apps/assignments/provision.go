package assignments

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Provision provisions users that were assigned while Create Users was off, and retries failed ones. Without users it applies to all
// assigned users of the application.
func (s *Slice) Provision(ctx context.Context, app string, users []string) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		t, err := s.target(ctx, tx, app)
		if err != nil {
			return err
		}
		if t == nil {
			return rest.NotFound("AppInstance", app)
		}
		if !t.conn.Creates() {
			return rest.Invalid("feature", "Creating users is not enabled for the application")
		}
		if len(users) == 0 {
			return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByListedApp, app), func(doc docstore.Doc[model.AppUser]) error {
				return s.provision(ctx, tx, t, doc)
			})
		}
		for _, user := range users {
			doc, err := s.findUser(ctx, tx, app, user)
			if err != nil {
				return err
			}
			if err := s.provision(ctx, tx, t, doc); err != nil {
				return err
			}
		}
		return nil
	})
}

// provision updates an assignment from its user. An assignment that is not provisioned gets the status STAGED first.
func (s *Slice) provision(ctx context.Context, tx *docstore.Tx, t *target, doc docstore.Doc[model.AppUser]) error {
	user, err := s.Users.Get(ctx, tx, doc.Value.UserID)
	if err != nil {
		return err
	}
	if !doc.Value.Provisioned() {
		doc.Value.Enter(model.AppUserStaged, s.Now())
		doc.Value.SyncState = model.SyncDisabled // follow sets SyncOutOfSync if the user can be provisioned
	}
	return s.follow(ctx, tx, t, user, doc)
}
