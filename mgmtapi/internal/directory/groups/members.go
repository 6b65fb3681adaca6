package groups

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

type memberRequest struct {
	target
	User string `path:"userId" doc:"Id, login, unambiguous part of the login before its @, or me."`

	member docstore.Doc[model.User]
}

func (s *Slice) findMember(ctx context.Context, r *memberRequest) (err error) {
	q := s.Store.Reader()
	if err := s.find(ctx, q, &r.target); err != nil {
		return err
	}
	r.member, err = callers.FindUser(ctx, s.Deps, q, r.User)
	return err
}

func (s *Slice) add(ctx context.Context, r *memberRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		member, err := callers.FindUser(ctx, s.Deps, tx, r.member.ID)
		if err != nil {
			return err
		}
		if member.Value.Status == model.UserDeprovisioned {
			return rest.Fail(rest.CodeStatus)
		}
		return s.Join(ctx, tx, r.found.ID, member.ID)
	})
}

func (s *Slice) remove(ctx context.Context, r *memberRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		if err := s.ExcludeFromRules(ctx, tx, r.found.ID, r.member.ID); err != nil {
			return err
		}
		return s.Leave(ctx, tx, r.found.ID, r.member.ID)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.GroupMemberRemove, Targets: []model.LogParty{audit.User(r.member), audit.Group(r.found)}}, err)
}

type ofUserRequest struct {
	User  string `path:"user" doc:"Id, login, unambiguous part of the login before its @, or me."`
	Limit int    `query:"limit" default:"200" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After string `query:"after" doc:"Cursor from the link to the next page."`

	found docstore.Doc[model.User]
}

func (r *ofUserRequest) at() (string, *docstore.Doc[model.User]) { return r.User, &r.found }

func (s *Slice) ofUser(ctx context.Context, r *ofUserRequest) (out rest.Page[Group], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		query := docstore.Query[model.Membership]{
			Where: docstore.Eq(model.MembershipByUser, r.found.ID), After: r.After, Limit: r.Limit,
		}
		if visible := authz.Groups(ctx); visible != nil {
			query.Match = func(m *docstore.Doc[model.Membership]) bool { return visible(m.Value.Group) }
		}
		page, err := search.Linked(ctx, s.Memberships, s.Groups, q, query, func(m *model.Membership) string { return m.Group })
		out = rest.Page[Group]{Next: page.Next}
		for _, doc := range page.Docs {
			out.Items = append(out.Items, render(ctx, doc))
		}
		return err
	})
	return out, err
}
