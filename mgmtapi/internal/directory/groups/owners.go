package groups

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Owner is an owner of a group in the API.
type Owner struct {
	ID          string          `json:"id" readOnly:"true" doc:"Id of the user or group."`
	Type        model.OwnerType `json:"type" readOnly:"true" enum:"USER,GROUP" doc:"Type of the owner."`
	DisplayName string          `json:"displayName" readOnly:"true" doc:"Human-readable name of the owner."`
	LastUpdated rest.Time       `json:"lastUpdated" readOnly:"true" doc:"When the owner was added."`
}

func renderOwner(doc docstore.Doc[model.GroupOwner], owner model.LogParty) Owner {
	return Owner{ID: doc.Value.Owner, Type: doc.Value.Type, DisplayName: owner.DisplayName, LastUpdated: rest.TimeOf(doc.Updated)}
}

// owner returns the owner of a group as a target of log entries.
func (s *Slice) owner(ctx context.Context, q docstore.Reader, kind model.OwnerType, id string) (model.LogParty, error) {
	if kind == model.OwnerGroup {
		group, err := s.Groups.Get(ctx, q, id)
		return audit.Group(group), rest.Missing(err, "UserGroup", id)
	}
	user, err := s.Users.Get(ctx, q, id)
	return audit.User(user), rest.Missing(err, "User", id)
}

type ownersRequest struct{ target }

func (s *Slice) listOwners(ctx context.Context, r *ownersRequest) (out rest.Page[Owner], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		return model.Each(ctx, q, s.GroupOwners, docstore.Eq(model.GroupOwnerByGroup, r.found.ID),
			func(doc docstore.Doc[model.GroupOwner]) error {
				owner, err := s.owner(ctx, q, doc.Value.Type, doc.Value.Owner)
				if err != nil {
					return fmt.Errorf("owner of the group %s: %w", r.found.ID, err)
				}
				out.Items = append(out.Items, renderOwner(doc, owner))
				return nil
			})
	})
	return out, err
}

// OwnerInput is the body of a new owner.
type OwnerInput struct {
	ID   string          `json:"id" required:"true" doc:"Id of the user or group."`
	Type model.OwnerType `json:"type" required:"true" enum:"USER,GROUP" doc:"Type of the owner."`
}

type addOwnerRequest struct {
	target
	Body OwnerInput `body:"required"`
}

func (s *Slice) addOwner(ctx context.Context, r *addOwnerRequest) (out Owner, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		owner, err := s.owner(ctx, tx, r.Body.Type, r.Body.ID)
		if err != nil {
			return err
		}
		id := model.GroupOwnerID(r.found.ID, r.Body.ID)
		old, err := model.Optional(ctx, tx, s.GroupOwners, id)
		if err != nil {
			return err
		}
		if old != nil {
			return rest.Invalid("id", "The group already has this owner")
		}
		doc, err := s.GroupOwners.Insert(ctx, tx, id, model.GroupOwner{Group: r.found.ID, Owner: r.Body.ID, Type: r.Body.Type})
		if err != nil {
			return err
		}
		out = renderOwner(doc, owner)
		return s.log(ctx, tx, audit.GroupOwnerAdd, r.found, owner)
	})
	return out, err
}

type removeOwnerRequest struct {
	target
	Owner string `path:"ownerId" doc:"Id of the user or group that is an owner."`
}

func (s *Slice) findForRemoveOwner(ctx context.Context, r *removeOwnerRequest) error {
	q := s.Store.Reader()
	if err := s.find(ctx, q, &r.target); err != nil {
		return err
	}
	_, err := s.findOwner(ctx, q, r)
	return err
}

func (s *Slice) findOwner(ctx context.Context, q docstore.Reader, r *removeOwnerRequest) (docstore.Doc[model.GroupOwner], error) {
	doc, err := s.GroupOwners.Get(ctx, q, model.GroupOwnerID(r.found.ID, r.Owner))
	return doc, rest.Missing(err, "GroupOwner", r.Owner)
}

func (s *Slice) removeOwner(ctx context.Context, r *removeOwnerRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		doc, err := s.findOwner(ctx, tx, r)
		if err != nil {
			return err
		}
		owner, err := s.owner(ctx, tx, doc.Value.Type, doc.Value.Owner)
		if err != nil {
			return err
		}
		if err := s.GroupOwners.Delete(ctx, tx, doc.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.GroupOwnerRemove, r.found, owner)
	})
}

// userDeleted deletes the ownerships of the user.
func (s *Slice) userDeleted(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
	_, err := s.GroupOwners.DeleteWhere(ctx, tx, docstore.Eq(model.GroupOwnerByOwner, e.ID))
	return err
}

// groupDeleted deletes the owners of the group, and its ownerships.
func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	_, err := s.GroupOwners.DeleteWhere(ctx, tx,
		docstore.Any(docstore.Eq(model.GroupOwnerByGroup, e.ID), docstore.Eq(model.GroupOwnerByOwner, e.ID)))
	return err
}
