package customroles

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// BindingLinks is the response to a changed binding.
type BindingLinks struct {
	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the binding, all bindings and the resource set."`
}

// Binding is the binding of a role on a resource set.
type Binding struct {
	ID    string     `json:"id" readOnly:"true" doc:"Id of the role."`
	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the members and the resource set."`
}

// Bindings is a page of the bindings of a resource set.
type Bindings struct {
	Roles []Binding  `json:"roles" readOnly:"true" doc:"The roles that are bound."`
	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the list, the resource set, and the next page if there is one."`
}

func bindingLinks(ctx context.Context, set, role string) rest.Links {
	return rest.Links{
		"self": url(ctx, "resource-sets", set, "bindings", role), "bindings": url(ctx, "resource-sets", set, "bindings"),
		"resource-set": url(ctx, "resource-sets", set),
	}
}

// assigneePaths are the prefixes of the URLs of assignees.
var assigneePaths = []struct {
	path string
	kind model.AssigneeKind
}{
	{"/api/v1/users/", model.AssigneeUser}, {"/api/v1/groups/", model.AssigneeGroup}, {"/oauth2/v1/clients/", model.AssigneeClient},
}

// assignee finds a member by its URL, absolute or as a path.
func (s *Slice) assignee(ctx context.Context, q docstore.Reader, text, member string) (authz.Assignee, error) {
	path := rest.Below(ctx, text)
	for _, p := range assigneePaths {
		id, ok := strings.CutPrefix(path, p.path)
		if !ok || id == "" || strings.ContainsAny(id, "/?#") {
			continue
		}
		a, err := authz.FindAssignee(ctx, q, s.Deps, p.kind, id)
		if err != nil {
			return a, err
		}
		return a, authz.CheckAssignable(ctx, q, s.Deps, a, member)
	}
	return authz.Assignee{}, rest.Invalid(member, "%q is not the URL of a user, a group or a client", text)
}

// bind binds members.
func (s *Slice) bind(ctx context.Context, tx *docstore.Tx, role docstore.Doc[model.CustomRole], set docstore.Doc[model.ResourceSet],
	members []string, member string) error {
	for _, text := range members {
		a, err := s.assignee(ctx, tx, text, member)
		if err != nil {
			return err
		}
		if _, _, err := authz.Bind(ctx, tx, s.Deps, role, set, a); err != nil {
			return err
		}
	}
	return nil
}

type createBindingRequest struct {
	setTarget
	Body struct {
		Role    string   `json:"role" required:"true" doc:"Id of the custom role."`
		Members []string `json:"members" required:"true" min:"1" max:"1000" doc:"URLs of users, groups and clients."`
	} `body:"required"`
}

func (s *Slice) createBinding(ctx context.Context, r *createBindingRequest) (out BindingLinks, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inSet(ctx, tx, &r.setTarget); err != nil {
			return err
		}
		role, err := s.FindCustomRole(ctx, tx, r.Body.Role)
		if err != nil {
			return rest.Missing(err, "Role", r.Body.Role)
		}
		out.Links = bindingLinks(ctx, r.set.ID, role.ID)
		return s.bind(ctx, tx, role, r.set, r.Body.Members, "members")
	})
	return out, err
}

type listBindingsRequest struct {
	setTarget
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

func (s *Slice) listBindings(ctx context.Context, r *listBindingsRequest) (Bindings, error) {
	out := Bindings{Roles: []Binding{}}
	err := s.Store.View(ctx, func(q docstore.Reader) error {
		var ids []string
		err := model.Each(ctx, q, s.RoleMembers, docstore.Eq(model.RoleMemberBySet, r.set.ID), func(m docstore.Doc[model.RoleMember]) error {
			ids = append(ids, m.Value.Role)
			return nil
		})
		if err != nil {
			return err
		}
		page, err := search.Page(ctx, s.CustomRoles, q, docstore.Query[model.CustomRole]{
			Where: docstore.IDs(ids...), After: r.After, Limit: pageSize,
		})
		if err != nil {
			return err
		}
		for _, role := range page.Docs {
			out.Roles = append(out.Roles, Binding{ID: role.ID, Links: rest.Links{
				"self": url(ctx, "roles", role.ID), "members": url(ctx, "resource-sets", r.set.ID, "bindings", role.ID, "members"),
			}})
		}
		out.Links = nextLinks(ctx, page.Next, rest.Links{
			"self": url(ctx, "resource-sets", r.set.ID, "bindings"), "resource-set": url(ctx, "resource-sets", r.set.ID),
		})
		return nil
	})
	return out, err
}

// bindingTarget is the binding in a path.
type bindingTarget struct {
	setTarget
	Role string `path:"roleIdOrLabel" doc:"Id or label of the role."`

	role docstore.Doc[model.CustomRole]
}

func (t *bindingTarget) self() *bindingTarget { return t }

func (t *bindingTarget) members() docstore.Cond {
	return docstore.Eq(model.RoleMemberByBinding, model.RoleBindingKey(t.set.ID, t.role.ID))
}

func (s *Slice) inBinding(ctx context.Context, q docstore.Reader, t *bindingTarget) (err error) {
	if err := s.inSet(ctx, q, &t.setTarget); err != nil {
		return err
	}
	if t.role, err = s.FindCustomRole(ctx, q, t.Role); err != nil {
		return rest.Missing(err, "Binding", t.Role)
	}
	n, err := s.RoleMembers.Count(ctx, q, t.members())
	if err == nil && n == 0 {
		err = rest.NotFound("Binding", t.Role)
	}
	return err
}

type bindingRequest struct{ bindingTarget }

func (s *Slice) getBinding(ctx context.Context, r *bindingRequest) (Binding, error) {
	links := bindingLinks(ctx, r.set.ID, r.role.ID)
	links["members"] = url(ctx, "resource-sets", r.set.ID, "bindings", r.role.ID, "members")
	return Binding{ID: r.role.ID, Links: links}, nil
}

func (s *Slice) deleteBinding(ctx context.Context, r *bindingRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inBinding(ctx, tx, &r.bindingTarget); err != nil {
			return err
		}
		return model.Each(ctx, tx, s.RoleMembers, r.members(), func(m docstore.Doc[model.RoleMember]) error {
			return authz.Unbind(ctx, tx, s.Deps, m)
		})
	})
}

// Member is a member of a binding in JSON.
type Member struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the member."`
	Created     rest.Time  `json:"created" readOnly:"true" doc:"When the member was added."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the membership last changed."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Link to the user, the group or the client."`
}

// Members is a page of the members of a binding.
type Members struct {
	Members []Member   `json:"members" readOnly:"true" doc:"The members."`
	Links   rest.Links `json:"_links" readOnly:"true" doc:"Links to the binding, and to the next page if there is one."`
}

func (s *Slice) renderMember(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.RoleMember]) (Member, error) {
	a, err := authz.FindAssignee(ctx, q, s.Deps, doc.Value.Kind, doc.Value.Assignee)
	if err != nil {
		return Member{}, err
	}
	self := ""
	for _, p := range assigneePaths {
		if p.kind == a.Kind {
			self = rest.URL(ctx, append(strings.Split(strings.Trim(p.path, "/"), "/"), a.Ref)...)
		}
	}
	return Member{
		ID: doc.ID, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), Links: rest.Links{"self": rest.To(self)},
	}, nil
}

type listMembersRequest struct {
	bindingTarget
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

func (s *Slice) listMembers(ctx context.Context, r *listMembersRequest) (Members, error) {
	out := Members{Members: []Member{}}
	err := s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Page(ctx, s.RoleMembers, q, docstore.Query[model.RoleMember]{Where: r.members(), After: r.After, Limit: pageSize})
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			member, err := s.renderMember(ctx, q, doc)
			if err != nil {
				return err
			}
			out.Members = append(out.Members, member)
		}
		out.Links = nextLinks(ctx, page.Next, rest.Links{"binding": url(ctx, "resource-sets", r.set.ID, "bindings", r.role.ID)})
		return nil
	})
	return out, err
}

type addMembersRequest struct {
	bindingTarget
	Body struct {
		Additions []string `json:"additions" required:"true" min:"1" max:"1000" doc:"URLs of users, groups and clients."`
	} `body:"required"`
}

func (s *Slice) addMembers(ctx context.Context, r *addMembersRequest) (out BindingLinks, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inBinding(ctx, tx, &r.bindingTarget); err != nil {
			return err
		}
		out.Links = bindingLinks(ctx, r.set.ID, r.role.ID)
		return s.bind(ctx, tx, r.role, r.set, r.Body.Additions, "additions")
	})
	return out, err
}

type memberRequest struct {
	bindingTarget
	ID string `path:"memberId" doc:"Id of the member."`

	found docstore.Doc[model.RoleMember]
}

func (t *memberRequest) self() *memberRequest { return t }

func (s *Slice) inMember(ctx context.Context, q docstore.Reader, r *memberRequest) (err error) {
	if err := s.inBinding(ctx, q, &r.bindingTarget); err != nil {
		return err
	}
	r.found, err = s.RoleMembers.Get(ctx, q, r.ID)
	if err == nil && (r.found.Value.Set != r.set.ID || r.found.Value.Role != r.role.ID) {
		return rest.NotFound("Member", r.ID)
	}
	return rest.Missing(err, "Member", r.ID)
}

func (s *Slice) getMember(ctx context.Context, r *memberRequest) (Member, error) {
	return s.renderMember(ctx, s.Store.Reader(), r.found)
}

func (s *Slice) deleteMember(ctx context.Context, r *memberRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inMember(ctx, tx, r); err != nil {
			return err
		}
		return authz.Unbind(ctx, tx, s.Deps, r.found)
	})
}
