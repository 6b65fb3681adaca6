package users

import (
	"context"
	"maps"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Import creates a user of the default type with the profile, STAGED or activated. The profile may contain attributes that clients cannot
// write. If the profile violates the schema, Import returns an error that can be shown to clients.
func (s *Slice) Import(ctx context.Context, tx *docstore.Tx, profile map[string]any, activate bool) (doc docstore.Doc[model.User],
	err error) {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return doc, err
	}
	schema, err := s.schemaOf(ctx, tx, org.UserType)
	if err != nil {
		return doc, err
	}
	user := model.User{Status: model.UserStaged, Provider: model.ProviderService, Type: org.UserType, Profile: merge(nil, profile)}
	enroll, err := s.PasswordEnrollment(ctx, tx)
	if err != nil {
		return doc, err
	}
	var activation Activation
	if now := tx.Now(); activate {
		user.Activated = now
		user.Enter(activeStatus(&user, enroll), now)
		if user.Status == model.UserProvisioned {
			activation, user.Activation = s.issueActivation(ctx)
		}
	}
	id := model.NewID(model.KindUser)
	if err := s.enforceValues(ctx, tx, &schema.Value, id, nil, &user); err != nil {
		return doc, err
	}
	if doc, err = s.Users.Insert(ctx, tx, id, user); err != nil {
		return doc, err
	}
	if err := audit.Write(ctx, tx, s.Deps, createEntries(doc)...); err != nil {
		return doc, err
	}
	if activate {
		if err := s.mailActivation(ctx, tx, doc, activation); err != nil {
			return doc, err
		}
	}
	return doc, s.created(ctx, tx, id, user.Status, nil, org.Everyone)
}

// UpdateImported sets attributes of a user, where nil removes one, and reports whether the user changed. Errors are as for Import.
func (s *Slice) UpdateImported(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], profile map[string]any) (bool, error) {
	schema, err := s.schemaOf(ctx, tx, user.Value.Type)
	if err != nil {
		return false, err
	}
	before := user.Value
	after := before
	after.Profile = merge(before.Profile, profile)
	if maps.EqualFunc(before.Profile, after.Profile, func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
		return false, nil
	}
	if err := s.enforceValues(ctx, tx, &schema.Value, user.ID, user.Value.Profile, &after); err != nil {
		return false, err
	}
	doc, err := s.Users.Update(ctx, tx, user.ID, user.Rev, after)
	if err != nil {
		return false, err
	}
	if err := audit.Write(ctx, tx, s.Deps, updateEntries(doc, &before, secrets{})...); err != nil {
		return false, err
	}
	return true, s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}
