package assignments

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// memberBatch is the number of members of a group per query.
const memberBatch = 500

// regroupMembers performs regroup for all members of an assigned group. Groups can be very large, so it reads shared documents once and the
// members in batches.
func (s *Slice) regroupMembers(ctx context.Context, tx *docstore.Tx, t *target, group string) error {
	assigned, err := s.AppGroups.Query(ctx, tx, docstore.Query[model.AppGroup]{Where: docstore.Eq(model.AppGroupByApp, t.id), Limit: 2})
	if err != nil {
		return err
	}
	var only *model.AppGroup // the group, if no other group is assigned to the application
	if len(assigned.Docs) == 1 {
		only = &assigned.Docs[0].Value
	}
	for after := ""; ; {
		page, err := s.Memberships.Query(ctx, tx, docstore.Query[model.Membership]{
			Where: docstore.Eq(model.MembershipByGroup, group), After: after, Limit: memberBatch,
		})
		if err != nil {
			return err
		}
		if err := s.regroupSome(ctx, tx, t, only, page.Docs); err != nil {
			return err
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

func (s *Slice) regroupSome(
	ctx context.Context, tx *docstore.Tx, t *target, only *model.AppGroup, members []docstore.Doc[model.Membership],
) error {
	ids, appUserIDs := make([]string, len(members)), make([]string, len(members))
	for i, m := range members {
		ids[i], appUserIDs[i] = m.Value.User, model.AppUserID(t.id, m.Value.User)
	}
	users, err := s.Users.GetMany(ctx, tx, ids)
	if err != nil {
		return err
	}
	found, err := s.AppUsers.GetMany(ctx, tx, appUserIDs)
	if err != nil {
		return err
	}
	stored := make(map[string]docstore.Doc[model.AppUser], len(found))
	for _, doc := range found {
		stored[doc.Value.UserID] = doc
	}
	for _, user := range users {
		c := change{value: noAppUser(t.id, user.ID)}
		if doc, ok := stored[user.ID]; ok {
			c = change{doc: &doc, value: doc.Value}
		}
		if c.value.Listed() && c.value.Scope == model.ScopeUser {
			continue
		}
		group := only
		if only == nil || !assignable(&user.Value) {
			if group, err = s.effectiveGroup(ctx, tx, t.id, user); err != nil {
				return err
			}
		}
		if err := s.applyGroup(ctx, tx, t, user, group, c); err != nil {
			return err
		}
	}
	return nil
}
