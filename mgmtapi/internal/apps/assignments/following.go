package assignments

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// followBatch is the number of assignments that one transaction updates after a change that affects all assignments of an application. It
// is small so that other writers do not wait long.
const followBatch = 100

// mappingChanged requests an update of all assignments of an application.
func (s *Slice) mappingChanged(ctx context.Context, tx *docstore.Tx, e model.MappingChanged) error {
	return s.beginFollowing(ctx, tx, e.App, e.Removed)
}

// beginFollowing stores that all assignments of an application need an update, starting with the first assignment. Work performs the
// update.
func (s *Slice) beginFollowing(ctx context.Context, tx *docstore.Tx, app string, removed []string) error {
	users, err := s.AppUsers.Query(ctx, tx, docstore.Query[model.AppUser]{Where: docstore.Eq(model.AppUserByListedApp, app), Limit: 1})
	if err != nil || len(users.Docs) == 0 {
		return err
	}
	doc, err := model.Optional(ctx, tx, s.Followings, app)
	if err != nil {
		return err
	}
	if doc == nil {
		_, err = s.Followings.Insert(ctx, tx, app, model.PendingResync{Removed: removed})
		return err
	}
	all := slices.Concat(doc.Value.Removed, removed)
	slices.Sort(all)
	_, err = s.Followings.Update(ctx, tx, app, doc.Rev, model.PendingResync{Removed: slices.Compact(all)})
	return err
}

// Work performs one batch of the pending updates, in its own transaction, and reports whether there may be more. Pending updates survive a
// restart.
func (s *Slice) Work(ctx context.Context) (more bool, err error) {
	waiting, err := s.Followings.Query(ctx, s.Store.Reader(), docstore.Query[model.PendingResync]{Limit: 1})
	if err != nil || len(waiting.Docs) == 0 {
		return false, err
	}
	return true, s.Update(ctx, func(tx *docstore.Tx) error {
		f, err := model.Optional(ctx, tx, s.Followings, waiting.Docs[0].ID)
		if err != nil || f == nil {
			return err
		}
		t, err := s.target(ctx, tx, f.ID)
		if err != nil {
			return err
		}
		next := ""
		if t != nil {
			if next, err = s.followSome(ctx, tx, t, f.Value.After); err != nil {
				return err
			}
		}
		if next == "" {
			return s.Followings.Delete(ctx, tx, f.ID)
		}
		f.Value.After = next
		_, err = s.Followings.Update(ctx, tx, f.ID, f.Rev, f.Value)
		return err
	})
}

// followSome updates the assignments after a cursor and returns the next cursor, "" at the end.
func (s *Slice) followSome(ctx context.Context, tx *docstore.Tx, t *target, after string) (string, error) {
	query := docstore.Query[model.AppUser]{Where: docstore.Eq(model.AppUserByListedApp, t.id), After: after, Limit: followBatch}
	page, err := s.AppUsers.Query(ctx, tx, query)
	if errors.Is(err, docstore.ErrBadCursor) {
		query.After = "" // an earlier version stored a cursor of another form: start again from the first assignment
		page, err = s.AppUsers.Query(ctx, tx, query)
	}
	if err != nil {
		return "", err
	}
	for _, doc := range page.Docs {
		user, err := model.Optional(ctx, tx, s.Users, doc.Value.UserID)
		if err != nil {
			return "", err
		}
		if user == nil {
			continue
		}
		u, err := s.followed(ctx, tx, t, *user, doc)
		if err != nil {
			return "", err
		}
		if u == nil || reflect.DeepEqual(*u, doc.Value) {
			continue
		}
		if _, err := s.store(ctx, tx, t, *user, change{doc: &doc, value: *u}); err != nil {
			return "", err
		}
	}
	return page.Next, nil
}

// groupsTested returns the applications whose mappings test of which groups a user is a member.
func (s *Slice) groupsTested(ctx context.Context, q docstore.Reader) (apps []string, err error) {
	err = model.Each(ctx, q, s.Mappings, docstore.NotNull(model.MappingByGroups), func(m docstore.Doc[model.Mapping]) error {
		if !slices.Contains(apps, m.Value.App) {
			apps = append(apps, m.Value.App)
		}
		return nil
	})
	return apps, err
}

// followGroups updates the assignments of a user whose mapping uses the user's groups.
func (s *Slice) followGroups(ctx context.Context, tx *docstore.Tx, userID string) error {
	apps, err := s.groupsTested(ctx, tx)
	for _, app := range apps {
		c, err := s.load(ctx, tx, app, userID)
		if err != nil {
			return err
		}
		if !c.value.Listed() {
			continue
		}
		t, err := s.target(ctx, tx, app)
		if err != nil || t == nil {
			return err
		}
		user, err := s.Users.Get(ctx, tx, userID)
		if err != nil {
			return err
		}
		if err := s.follow(ctx, tx, t, user, *c.doc); err != nil {
			return err
		}
	}
	return err
}

// groupChanged requests an update of all assignments whose mapping uses groups: the mapping may compare the name of the group, which may
// have changed.
func (s *Slice) groupChanged(ctx context.Context, tx *docstore.Tx, _ model.GroupChanged) error {
	return s.followAllGroups(ctx, tx)
}

func (s *Slice) followAllGroups(ctx context.Context, tx *docstore.Tx) error {
	apps, err := s.groupsTested(ctx, tx)
	for _, app := range apps {
		if err := s.beginFollowing(ctx, tx, app, nil); err != nil {
			return err
		}
	}
	return err
}
