package connections

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// react registers the event handlers of the slice.
func (s *Slice) react() {
	model.On(s.Feed, s.appUserChanged)
	model.On(s.Feed, s.membershipChanged)
	model.On(s.Feed, s.groupChanged)
	model.On(s.Feed, s.groupDeleted)
	model.On(s.Feed, s.appChanged)
	model.On(s.Feed, s.passwordKnown)
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeactivated) error {
		return s.dropPasswordsOf(ctx, tx, e.ID)
	})
}

// appUserChanged emits a change for each pushed group of the user: only users that are provisioned to the application are members on its
// target.
func (s *Slice) appUserChanged(ctx context.Context, tx *docstore.Tx, e model.AppUserChanged) error {
	if !e.Provision && !e.Linked {
		return nil
	}
	return model.Each(ctx, tx, s.PushMappings, docstore.Eq(model.PushMappingByLiveApp, e.App), func(m docstore.Doc[model.PushMapping]) error {
		member, err := s.IsMember(ctx, tx, m.Value.SourceGroupID, e.User)
		if err != nil || !member {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: e.App, Group: m.Value.SourceGroupID, Members: []string{e.User}})
	})
}

// membershipChanged emits a change for each mapping of the group.
func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	return s.eachMapping(ctx, tx, e.Group, func(m docstore.Doc[model.PushMapping]) error {
		return s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: m.Value.AppID, Group: e.Group, Members: []string{e.User}})
	})
}

// groupChanged renames the target groups of a pushed group that was renamed.
func (s *Slice) groupChanged(ctx context.Context, tx *docstore.Tx, e model.GroupChanged) error {
	return s.eachMapping(ctx, tx, e.ID, func(m docstore.Doc[model.PushMapping]) error {
		source, err := s.Groups.Get(ctx, tx, e.ID)
		if err != nil || source.Value.Name() == m.Value.SourceName {
			return err
		}
		m.Value.SourceName = source.Value.Name()
		if _, err := s.PushMappings.Update(ctx, tx, m.ID, m.Rev, m.Value); err != nil {
			return err
		}
		if err := s.logMapping(ctx, tx, audit.PushRenamed, m); err != nil {
			return err
		}
		target, err := s.Groups.Get(ctx, tx, m.Value.TargetGroupID)
		if err != nil {
			return err
		}
		target.Value.Profile["name"], target.Value.LastUpdated = m.Value.SourceName, s.Now()
		if _, err := s.Groups.Update(ctx, tx, target.ID, target.Rev, target.Value); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx,
			model.GroupChanged{ID: target.ID}, model.PushMappingChanged{App: m.Value.AppID, Group: e.ID})
	})
}

// groupDeleted deletes the mappings of a source group without changing the target. It rejects the deletion of a target group.
func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	n, err := s.PushMappings.Count(ctx, tx, docstore.Eq(model.PushMappingByLiveTarget, e.ID))
	if err != nil {
		return err
	}
	if n > 0 {
		return rest.Fail(rest.CodeState, "group: The group is the target of a push mapping")
	}
	return s.eachMapping(ctx, tx, e.ID, func(m docstore.Doc[model.PushMapping]) error { return s.markDeleted(ctx, tx, m, false) })
}

// eachMapping calls fn for each mapping of a source group that is not deleted.
func (s *Slice) eachMapping(ctx context.Context, tx *docstore.Tx, source string, fn func(docstore.Doc[model.PushMapping]) error) error {
	return model.Each(ctx, tx, s.PushMappings, docstore.Eq(model.PushMappingByLiveSource, source), fn)
}

// appChanged deletes the connection, the mappings and the groups of a deleted application. Nothing is sent to the target.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if err := s.Connections.Delete(ctx, tx, e.App); err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	if err := s.dropPasswords(ctx, tx, e.App); err != nil {
		return err
	}
	var targets []string
	err := model.Each(ctx, tx, s.PushMappings, docstore.Eq(model.PushMappingByApp, e.App), func(m docstore.Doc[model.PushMapping]) error {
		targets = append(targets, m.Value.TargetGroupID)
		return s.PushMappings.Delete(ctx, tx, m.ID)
	})
	if err != nil {
		return err
	}
	for _, target := range targets {
		if err := s.dropGroup(ctx, tx, target); err != nil {
			return err
		}
	}
	return nil
}
