package assignments

import (
	"cmp"
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// react registers the event handlers of the slice.
func (s *Slice) react() {
	model.On(s.Feed, s.userChanged)
	model.On(s.Feed, s.userActivated)
	model.On(s.Feed, s.userDeleted)
	model.On(s.Feed, s.membershipChanged)
	model.On(s.Feed, s.groupDeleted)
	model.On(s.Feed, s.appChanged)
	model.On(s.Feed, s.mappingChanged)
	model.On(s.Feed, s.groupChanged)
}

// userChanged updates every assignment of the user. It removes all assignments of a deactivated user.
func (s *Slice) userChanged(ctx context.Context, tx *docstore.Tx, e model.UserChanged) error {
	if e.New {
		return nil // a new user has no assignments
	}
	user, err := s.Users.Get(ctx, tx, e.ID)
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByListedUser, e.ID), func(doc docstore.Doc[model.AppUser]) error {
		t, err := s.target(ctx, tx, doc.Value.AppID)
		if err != nil || t == nil {
			return err
		}
		if user.Value.Status == model.UserDeprovisioned {
			return s.remove(ctx, tx, t, user, doc)
		}
		return s.follow(ctx, tx, t, user, doc)
	})
}

// follow updates one assignment from its user. It emits the event even if the stored assignment is unchanged: a suspension of the user, for
// example, changes what may be sent to the target.
func (s *Slice) follow(ctx context.Context, tx *docstore.Tx, t *target, user docstore.Doc[model.User],
	doc docstore.Doc[model.AppUser]) error {
	u, err := s.followed(ctx, tx, t, user, doc)
	if err != nil || u == nil {
		return err
	}
	_, err = s.store(ctx, tx, t, user, change{doc: &doc, value: *u})
	return err
}

// followed returns an assignment with the values that its mapping derives from the current user. It returns nil if the assignment has the
// scope GROUP and its group is no longer assigned to the application.
func (s *Slice) followed(ctx context.Context, q docstore.Reader, t *target, user docstore.Doc[model.User],
	doc docstore.Doc[model.AppUser]) (*model.AppUser, error) {
	u := doc.Value
	var group *model.AppGroup
	if u.Scope == model.ScopeGroup {
		found, err := model.Optional(ctx, q, s.AppGroups, model.AppGroupID(t.id, u.Group))
		if err != nil || found == nil {
			return nil, err
		}
		group = &found.Value
	}
	p, err := s.mappedUser(ctx, q, t, user)
	if err != nil {
		return nil, err
	}
	problems := t.derive(p, group, t.renames(user.Value.Type) || u.Blocked, &u)
	problem, err := s.nameProblem(ctx, q, t, &u)
	if err != nil {
		return nil, err
	}
	if problem != "" && u.UserName != doc.Value.UserName && !u.Blocked {
		u.UserName = doc.Value.UserName // the new name is not usable: the assignment keeps the previous one
		if problem, err = s.nameProblem(ctx, q, t, &u); err != nil {
			return nil, err
		}
	}
	problem = cmp.Or(problem, joinProblems(problems))
	t.updateSyncState(&u, problem, differs(&doc.Value, &u))
	if u.Status == model.AppUserStaged && u.SyncState == model.SyncDisabled && user.Value.Status != model.UserStaged {
		u.SyncState = model.SyncOutOfSync // the user was activated: the push is pending
	}
	return &u, nil
}

// userActivated creates the assignments that follow from the user's groups.
func (s *Slice) userActivated(ctx context.Context, tx *docstore.Tx, e model.UserActivated) error {
	if e.New {
		return nil // membershipChanged has already created the assignments, at each membership of the new user
	}
	return model.Each(ctx, tx, s.Memberships, docstore.Eq(model.MembershipByUser, e.ID), func(m docstore.Doc[model.Membership]) error {
		return s.regroupIn(ctx, tx, m.Value.Group, e.ID)
	})
}

// userDeleted deletes the user's assignments, except tombstones whose account still has to be deactivated.
func (s *Slice) userDeleted(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
	return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByUser, e.ID), func(doc docstore.Doc[model.AppUser]) error {
		if doc.Value.Pending() {
			return nil
		}
		return s.AppUsers.Delete(ctx, tx, doc.ID)
	})
}

// membershipChanged derives the user's assignments to the applications of the group.
func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if err := s.regroupIn(ctx, tx, e.Group, e.User); err != nil {
		return err
	}
	return s.followGroups(ctx, tx, e.User)
}

// regroupIn derives the user's assignment to each application that the group is assigned to.
func (s *Slice) regroupIn(ctx context.Context, tx *docstore.Tx, group, user string) error {
	return model.Each(ctx, tx, s.AppGroups, docstore.Eq(model.AppGroupByGroup, group), func(g docstore.Doc[model.AppGroup]) error {
		t, err := s.target(ctx, tx, g.Value.AppID)
		if err != nil || t == nil {
			return err
		}
		return s.regroup(ctx, tx, t, user)
	})
}

// groupDeleted deletes the assignments of the group.
func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	err := model.Each(ctx, tx, s.AppGroups, docstore.Eq(model.AppGroupByGroup, e.ID), func(g docstore.Doc[model.AppGroup]) error {
		return s.endGroup(ctx, tx, g.Value.AppID, e.ID)
	})
	if err != nil {
		return err
	}
	return s.followAllGroups(ctx, tx)
}

// endGroup deletes the assignment of a group. The users that were assigned through it get an assignment from another group, or none.
func (s *Slice) endGroup(ctx context.Context, tx *docstore.Tx, app, group string) error {
	if err := s.AppGroups.Delete(ctx, tx, model.AppGroupID(app, group)); err != nil {
		return err
	}
	if err := s.Feed.Emit(ctx, tx, model.AppGroupChanged{App: app, Group: group}); err != nil {
		return err
	}
	t, err := s.target(ctx, tx, app)
	if err != nil || t == nil {
		return err
	}
	if err := s.logGroup(ctx, tx, audit.GroupAssignRemove, t, group); err != nil {
		return err
	}
	return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByGroup, model.AppGroupID(app, group)),
		func(u docstore.Doc[model.AppUser]) error {
			err := s.regroup(ctx, tx, t, u.Value.UserID)
			if errors.Is(err, docstore.ErrNotFound) {
				return nil // the user and its assignments were deleted
			}
			return err
		})
}

// appChanged deletes the assignments of a deleted application. It needs no tombstones, because nothing is sent to the target.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if _, err := s.AppUsers.DeleteWhere(ctx, tx, docstore.Eq(model.AppUserByApp, e.App)); err != nil {
		return err
	}
	if err := s.Followings.Delete(ctx, tx, e.App); err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	_, err := s.AppGroups.DeleteWhere(ctx, tx, docstore.Eq(model.AppGroupByApp, e.App))
	return err
}
