package desired

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// AssignedUsers returns the users that have, or had, an assignment to an application,
// ascending by id, behind the given one (empty for the first page). Fewer than
// limit end the list.
func (s *State) AssignedUsers(ctx context.Context, app, after string, limit int) ([]string, error) {
	where := docstore.Prefix(docstore.ID, model.AppUserID(app, ""))
	if after != "" {
		where = docstore.All(where, docstore.Gt(docstore.ID, model.AppUserID(app, after)))
	}
	page, err := s.AppUsers.Query(ctx, s.Store.Reader(), docstore.Query[model.AppUser]{Where: where, OrderBy: docstore.ID, Limit: limit})
	if err != nil {
		return nil, err
	}
	users := make([]string, len(page.Docs))
	for i, d := range page.Docs {
		users[i] = d.Value.UserID
	}
	return users, nil
}

// PushedGroups returns the groups that are, or were, pushed to an application,
// as AssignedUsers does.
func (s *State) PushedGroups(ctx context.Context, app, after string, limit int) ([]string, error) {
	var groups []string
	err := model.Each(ctx, s.Store.Reader(), s.PushMappings, docstore.Eq(model.PushMappingByApp, app), func(d docstore.Doc[model.PushMapping]) error {
		if d.Value.SourceGroupID > after {
			groups = append(groups, d.Value.SourceGroupID)
		}
		return nil
	})
	slices.Sort(groups)
	groups = slices.Compact(groups)
	return groups[:min(limit, len(groups))], err
}

// Account is what an account of a target shows of its owner. Empty fields are
// not known.
type Account struct {
	ExternalID string
	Name       string // userName of a user, displayName of a group
	Email      string
}

// Owner is somebody to whom an account may belong.
type Owner struct {
	ID         string
	Name       string // as in Account
	ExternalID string
	Emails     []string
}

// UserOwners returns, for all accounts at once, the users assigned to an
// application to whom they may belong: those with the id that an account has as
// externalId, those with its name or address, and those whose name or address
// is the same up to the @. Users who are not assigned are left out: an account
// that is linked to one of them would be deactivated.
func (s *State) UserOwners(ctx context.Context, app string, accounts []Account) ([]Owner, error) {
	var ids []string
	var like []docstore.Cond
	for _, a := range accounts {
		if a.ExternalID != "" {
			ids = append(ids, model.AppUserID(app, a.ExternalID))
		}
		for _, text := range []string{a.Name, a.Email} {
			if text == "" {
				continue
			}
			like = append(like, docstore.Eq(model.AppUserByPrefix, model.AppUserPrefixKey(app, text)))
			if local, _, _ := strings.Cut(text, "@"); local != "" {
				like = append(like, docstore.Prefix(model.AppUserByPrefix, model.AppUserPrefixKey(app, local+"@")))
			}
		}
	}
	q := s.Store.Reader()
	found, err := s.AppUsers.GetMany(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	err = model.Each(ctx, q, s.AppUsers, docstore.Any(like...), func(d docstore.Doc[model.AppUser]) error {
		found = append(found, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var owners []Owner
	seen := map[string]bool{}
	for _, d := range found {
		u := &d.Value
		if !u.Listed() || seen[u.UserID] {
			continue
		}
		seen[u.UserID] = true
		o := Owner{ID: u.UserID, Name: u.UserName, ExternalID: u.UserID}
		for _, name := range []string{"email", "secondEmail"} {
			if text, ok := u.Profile[name].(string); ok && text != "" {
				o.Emails = append(o.Emails, text)
			}
		}
		owners = append(owners, o)
	}
	return owners, nil
}

// GroupOwners returns the groups that are pushed to an application.
func (s *State) GroupOwners(ctx context.Context, app string) ([]Owner, error) {
	q := s.Store.Reader()
	var owners []Owner
	err := model.Each(ctx, q, s.PushMappings, docstore.Eq(model.PushMappingByLiveApp, app), func(d docstore.Doc[model.PushMapping]) error {
		target, err := s.Groups.Get(ctx, q, d.Value.TargetGroupID)
		if err != nil {
			return err
		}
		owners = append(owners, Owner{ID: d.Value.SourceGroupID, Name: target.Value.Name()})
		return nil
	})
	return owners, err
}
