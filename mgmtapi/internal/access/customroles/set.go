package customroles

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ResourceSet is a resource set in JSON.
type ResourceSet struct {
	ID          string     `json:"id" readOnly:"true" doc:"Id of the resource set."`
	Label       string     `json:"label" readOnly:"true" doc:"Name of the resource set, unique ignoring case."`
	Description string     `json:"description" readOnly:"true" doc:"Description of the resource set."`
	Created     rest.Time  `json:"created" readOnly:"true" doc:"When the resource set was created."`
	LastUpdated rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the resource set or its resources last changed."`
	Links       rest.Links `json:"_links" readOnly:"true" doc:"Links to the resources and bindings of the resource set."`
}

// ResourceSets is a page of resource sets.
type ResourceSets struct {
	ResourceSets []ResourceSet `json:"resource-sets" readOnly:"true" doc:"The resource sets."`
	Links        rest.Links    `json:"_links,omitempty" readOnly:"true" doc:"Link to the next page, if there is one."`
}

func renderSet(ctx context.Context, doc docstore.Doc[model.ResourceSet]) ResourceSet {
	return ResourceSet{
		ID: doc.ID, Label: doc.Value.Label, Description: doc.Value.Description,
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Links: rest.Links{
			"self": url(ctx, "resource-sets", doc.ID), "resources": url(ctx, "resource-sets", doc.ID, "resources"),
			"bindings": url(ctx, "resource-sets", doc.ID, "bindings"),
		},
	}
}

// SetBody holds the writable members of a resource set.
type SetBody struct {
	Label       string `json:"label" required:"true" min:"1" max:"255" doc:"Name of the resource set. Must not have the form of an id."`
	Description string `json:"description" required:"true" max:"1024" doc:"Description of the resource set."`
}

func (b *SetBody) check(causes *rest.Causes) {
	if model.KindResourceSet.LooksLike(b.Label) {
		causes.Add("label", "The value must not have the form of a resource set id")
	}
}

// MaxResources is the maximum number of resources in a set.
const MaxResources = 1000

type createSetRequest struct {
	Body struct {
		SetBody
		Resources []string `json:"resources" required:"true" min:"1" max:"1000" doc:"Resources, each by its URL or its resource name."`
	} `body:"required"`

	names []authz.Name
}

// checkCreateSet validates the label and finds the resources.
func (s *Slice) checkCreateSet(ctx context.Context, r *createSetRequest, causes *rest.Causes) (err error) {
	r.Body.check(causes)
	r.names, err = s.resolve(ctx, s.Store.Reader(), r.Body.Resources, "resources", causes)
	return err
}

func (s *Slice) createSet(ctx context.Context, r *createSetRequest) (ResourceSet, error) {
	id := model.NewID(model.KindResourceSet)
	var doc docstore.Doc[model.ResourceSet]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if doc, err = s.ResourceSets.Insert(ctx, tx, id, model.ResourceSet{Label: r.Body.Label, Description: r.Body.Description}); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.ResourceSetCreate, audit.ResourceSet(id, r.Body.Label)); err != nil {
			return err
		}
		_, err = s.put(ctx, tx, doc, r.names, "resources")
		return err
	})
	if err != nil {
		return ResourceSet{}, err
	}
	return renderSet(ctx, doc), nil
}

func (s *Slice) listSets(ctx context.Context, r *pageRequest) (ResourceSets, error) {
	sets, links, err := page(ctx, s, s.ResourceSets, r, renderSet)
	return ResourceSets{ResourceSets: sets, Links: links}, err
}

// setTarget is the resource set in a path.
type setTarget struct {
	Set string `path:"resourceSetIdOrLabel" doc:"Id or label of the resource set."`

	set docstore.Doc[model.ResourceSet]
}

func (t *setTarget) self() *setTarget { return t }

func (s *Slice) inSet(ctx context.Context, q docstore.Reader, t *setTarget) (err error) {
	t.set, err = s.FindResourceSet(ctx, q, t.Set)
	return rest.Missing(err, "ResourceSet", t.Set)
}

type setRequest struct{ setTarget }

// findSetForRead finds a resource set, also the fixed resource set of a governance role.
func (s *Slice) findSetForRead(ctx context.Context, r *setRequest) error {
	for _, role := range model.StandardRoles() {
		if policy := role.Policy(); policy != "" && policy == r.Set {
			org, err := s.Orgs.Get(ctx, s.Store.Reader(), model.OrgDocument)
			r.set = docstore.Doc[model.ResourceSet]{
				ID: policy, Created: org.Created, Updated: org.Created,
				Value: model.ResourceSet{Label: policy, Description: "Resources of the role " + role.Label()},
			}
			return err
		}
	}
	return s.inSet(ctx, s.Store.Reader(), &r.setTarget)
}

func (s *Slice) getSet(ctx context.Context, r *setRequest) (ResourceSet, error) {
	return renderSet(ctx, r.set), nil
}

type replaceSetRequest struct {
	setTarget
	Body SetBody `body:"required"`
}

// checkReplaceSet validates the label.
func checkReplaceSet(_ context.Context, r *replaceSetRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (s *Slice) replaceSet(ctx context.Context, r *replaceSetRequest) (ResourceSet, error) {
	var doc docstore.Doc[model.ResourceSet]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if err := s.inSet(ctx, tx, &r.setTarget); err != nil {
			return err
		}
		doc, err = s.ResourceSets.Update(ctx, tx, r.set.ID, r.set.Rev, model.ResourceSet{Label: r.Body.Label, Description: r.Body.Description})
		if err != nil {
			return err
		}
		return s.log(ctx, tx, audit.ResourceSetUpdate, audit.ResourceSet(doc.ID, doc.Value.Label))
	})
	if err != nil {
		return ResourceSet{}, err
	}
	return renderSet(ctx, doc), nil
}

func (s *Slice) deleteSet(ctx context.Context, r *setRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inSet(ctx, tx, &r.setTarget); err != nil {
			return err
		}
		err := model.Each(ctx, tx, s.RoleMembers, docstore.Eq(model.RoleMemberBySet, r.set.ID), func(m docstore.Doc[model.RoleMember]) error {
			return authz.Unbind(ctx, tx, s.Deps, m)
		})
		if err != nil {
			return err
		}
		if _, err := s.SetResources.DeleteWhere(ctx, tx, docstore.Eq(model.SetResourceBySet, r.set.ID)); err != nil {
			return err
		}
		if err := s.ResourceSets.Delete(ctx, tx, r.set.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.ResourceSetDelete, audit.ResourceSet(r.set.ID, r.set.Value.Label))
	})
}
