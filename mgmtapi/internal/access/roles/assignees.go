package roles

import (
	"context"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// Assignees is a page of the users that have a role.
type Assignees struct {
	Value []AssignedUser `json:"value" readOnly:"true" doc:"The users."`
	Links rest.Links     `json:"_links,omitempty" readOnly:"true" doc:"Link to the next page, if there is one."`
}

// AssignedUser is a user that has a role.
type AssignedUser struct {
	ID    string     `json:"id" readOnly:"true" doc:"Id of the user."`
	ORN   string     `json:"orn" readOnly:"true" doc:"Resource name of the user."`
	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the user and its roles."`
}

type assigneesRequest struct {
	After string `query:"after" doc:"Cursor from the link to the next page."`
	Limit int    `query:"limit" default:"100" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
}

func (s *Slice) assignees(ctx context.Context, r *assigneesRequest) (Assignees, error) {
	out := Assignees{Value: []AssignedUser{}}
	err := s.Store.View(ctx, func(q docstore.Reader) error {
		org, err := s.Org(ctx, q)
		if err != nil {
			return err
		}
		ids, err := s.assigned(ctx, q)
		if err != nil {
			return err
		}
		page, err := search.Page(ctx, s.Users, q, docstore.Query[model.User]{Where: docstore.IDs(ids...), After: r.After, Limit: r.Limit})
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			out.Value = append(out.Value, AssignedUser{
				ID: doc.ID, ORN: authz.OfUser(doc.ID).ORN(org.ID),
				Links: rest.Links{
					"self":  rest.To(rest.URL(ctx, "api", "v1", "users", doc.ID)),
					"roles": rest.To(rest.URL(ctx, "api", "v1", "users", doc.ID, "roles")),
				},
			})
		}
		if page.Next != "" {
			out.Links = rest.Links{"next": rest.To(rest.NextURL(ctx, page.Next))}
		}
		return nil
	})
	return out, err
}

// assigned returns the users that have a role, directly or through a group.
func (s *Slice) assigned(ctx context.Context, q docstore.Reader) ([]string, error) {
	users, groups := map[string]bool{}, map[string]bool{}
	add := func(kind model.AssigneeKind, id string) {
		switch kind {
		case model.AssigneeUser:
			users[id] = true
		case model.AssigneeGroup:
			groups[id] = true
		case model.AssigneeClient:
		}
	}
	err := model.Each(ctx, q, s.RoleAssignments, nil, func(doc docstore.Doc[model.RoleAssignment]) error {
		add(doc.Value.Kind, doc.Value.Assignee)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = model.Each(ctx, q, s.RoleMembers, nil, func(doc docstore.Doc[model.RoleMember]) error {
		add(doc.Value.Kind, doc.Value.Assignee)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for group := range groups {
		err := model.Each(ctx, q, s.Memberships, docstore.Eq(model.MembershipByGroup, group), func(m docstore.Doc[model.Membership]) error {
			users[m.Value.User] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(users)), nil
}
