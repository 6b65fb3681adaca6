package customroles

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// SetResource is a resource of a resource set in JSON.
type SetResource struct {
	ID          string              `json:"id" readOnly:"true" doc:"Id of the resource in the set."`
	ORN         string              `json:"orn" readOnly:"true" doc:"Name of the resource."`
	Created     rest.Time           `json:"created" readOnly:"true" doc:"When the resource was added to the set."`
	LastUpdated rest.Time           `json:"lastUpdated" readOnly:"true" doc:"When the conditions last changed."`
	Conditions  *ResourceConditions `json:"conditions,omitempty" readOnly:"true" doc:"Resources that a collection excludes."`
	Links       rest.Links          `json:"_links" readOnly:"true" doc:"Links: self is the resource itself, resource its entry in the set."`
}

// ResourceConditions exclude resources from a collection.
type ResourceConditions struct {
	Exclude map[string][]string `json:"Exclude,omitempty" doc:"Resource names under the key svc:ORN."`
}

// excludeKey is the only key of exclusions.
const excludeKey = "svc:ORN"

// SetResources is a page of the resources of a set.
type SetResources struct {
	Resources []SetResource `json:"resources" readOnly:"true" doc:"The resources."`
	Links     rest.Links    `json:"_links" readOnly:"true" doc:"Links to the resource set, and to the next page if there is one."`
}

// collectionLinks are the additional links of whole collections.
var collectionLinks = map[authz.Form]string{
	authz.FormUsers: "users", authz.FormGroupUsers: "users", authz.FormGroups: "groups", authz.FormApps: "apps", authz.FormAppsOf: "apps",
}

func renderResource(ctx context.Context, org string, doc docstore.Doc[model.SetResource]) SetResource {
	place := url(ctx, "resource-sets", doc.Value.Set, "resources", doc.ID)
	out := SetResource{
		ID: doc.ID, ORN: doc.Value.ORN, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Links: rest.Links{"self": place, "resource": place},
	}
	if len(doc.Value.Exclude) > 0 {
		out.Conditions = &ResourceConditions{Exclude: map[string][]string{excludeKey: doc.Value.Exclude}}
	}
	name, err := authz.ParseORN(doc.Value.ORN, org)
	if path := name.Path(); err == nil && path != "" {
		itself := rest.To(rest.URL(ctx) + path)
		out.Links["self"] = itself
		if rel := collectionLinks[name.Form]; rel != "" {
			out.Links[rel] = itself
		}
	}
	return out
}

// resolve finds resources by their URLs or names. For each unknown resource, resolve adds a cause under the member, and it logs these
// causes. The returned error is an error of the store.
func (s *Slice) resolve(ctx context.Context, q docstore.Reader, texts []string, member string, causes *rest.Causes) ([]authz.Name, error) {
	org, err := s.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	var names []authz.Name
	var unknown rest.Causes
	for _, text := range texts {
		name, err := s.resource(ctx, q, text, org.ID)
		if wrong, ok := errors.AsType[*authz.ErrName](err); ok {
			causes.Add(member, "%s", wrong.Error())
			unknown.Add(member, "%s", wrong.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	// the caller gets these errors from causes, so the result is ignored
	_ = audit.Refused(ctx, s.Deps, audit.Entry{Type: audit.SetResourceAdd}, unknown.Err())
	return names, nil
}

// resource finds one resource. An unknown resource is an *authz.ErrName.
func (s *Slice) resource(ctx context.Context, q docstore.Reader, text, org string) (name authz.Name, err error) {
	if strings.HasPrefix(text, "orn:") {
		name, err = authz.ParseORN(text, org)
	} else {
		name, err = authz.ParsePath(rest.Below(ctx, text))
	}
	if err != nil {
		return name, err
	}
	missing := &authz.ErrName{Text: text, Why: "names an unknown resource"}
	switch name.Form {
	case authz.FormGroup, authz.FormGroupUsers:
		_, err = s.Groups.Get(ctx, q, name.ID)
	case authz.FormApp:
		var app docstore.Doc[model.App]
		app, err = s.Apps.Get(ctx, q, name.ID)
		if err == nil && name.Type != "" && name.Type != app.Value.Name {
			return name, missing
		}
		name = authz.OfApp(name.ID, &app.Value)
	case authz.FormServer:
		var server docstore.Doc[model.AuthServer]
		server, err = s.FindAuthServer(ctx, q, name.ID)
		name = authz.OfServer(server.ID)
	case authz.FormAppsOf:
		if _, ok := catalog.Named(name.Type); ok {
			return name, nil
		}
		n, err := s.Apps.Count(ctx, q, docstore.Eq(model.AppByName, name.Type))
		if err == nil && n == 0 {
			return name, missing
		}
		return name, err
	}
	if errors.Is(err, docstore.ErrNotFound) {
		return name, missing
	}
	return name, err
}

// put adds resources to a set and returns those that were new. It returns an error for the member if the set then has more than
// MaxResources.
func (s *Slice) put(
	ctx context.Context, tx *docstore.Tx, set docstore.Doc[model.ResourceSet], names []authz.Name, member string,
) (added []docstore.Doc[model.SetResource], err error) {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		orn := name.ORN(org.ID)
		n, err := s.SetResources.Count(ctx, tx, docstore.Eq(model.SetResourceByMember, model.SetResourceKey(set.ID, orn)))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			continue
		}
		doc, err := s.SetResources.Insert(ctx, tx, model.NewID(model.KindSetResource), model.SetResource{Set: set.ID, ORN: orn})
		if err != nil {
			return nil, err
		}
		added = append(added, doc)
		if err := s.log(ctx, tx, audit.SetResourceAdd, audit.ResourceSet(set.ID, set.Value.Label), audit.Resource(doc.ID, orn)); err != nil {
			return nil, err
		}
	}
	n, err := s.SetResources.Count(ctx, tx, docstore.Eq(model.SetResourceBySet, set.ID))
	if err == nil && n > MaxResources {
		err = rest.Invalid(member, "A resource set can have at most %d resources", MaxResources)
	}
	return added, err
}

// bumpRevision stores the set again to increase its revision: compiled sets are cached by revision.
func (s *Slice) bumpRevision(ctx context.Context, tx *docstore.Tx, set docstore.Doc[model.ResourceSet]) (docstore.Doc[model.ResourceSet],
	error) {
	return s.ResourceSets.Update(ctx, tx, set.ID, set.Rev, set.Value)
}

type listResourcesRequest struct {
	setTarget
	After string `query:"after" doc:"Cursor from the link to the next page."`
	Limit int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"Size of the page, at most 1000."`
}

func (s *Slice) listResources(ctx context.Context, r *listResourcesRequest) (SetResources, error) {
	q := s.Store.Reader()
	org, err := s.Org(ctx, q)
	if err != nil {
		return SetResources{}, err
	}
	page, err := search.Page(ctx, s.SetResources, q, docstore.Query[model.SetResource]{
		Where: docstore.Eq(model.SetResourceBySet, r.set.ID), After: r.After, Limit: r.Limit,
	})
	if err != nil {
		return SetResources{}, err
	}
	out := SetResources{
		Resources: []SetResource{}, Links: nextLinks(ctx, page.Next, rest.Links{"resource-set": url(ctx, "resource-sets", r.set.ID)}),
	}
	for _, doc := range page.Docs {
		out.Resources = append(out.Resources, renderResource(ctx, org.ID, doc))
	}
	return out, nil
}

type addResourcesRequest struct {
	setTarget
	Body struct {
		Additions []string `json:"additions" required:"true" min:"1" max:"1000" doc:"Resources, each by its URL or its resource name."`
	} `body:"required"`

	names []authz.Name
}

// checkAddResources finds the resources that the request adds.
func (s *Slice) checkAddResources(ctx context.Context, r *addResourcesRequest, causes *rest.Causes) (err error) {
	r.names, err = s.resolve(ctx, s.Store.Reader(), r.Body.Additions, "additions", causes)
	return err
}

func (s *Slice) addResources(ctx context.Context, r *addResourcesRequest) (ResourceSet, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inSet(ctx, tx, &r.setTarget); err != nil {
			return err
		}
		added, err := s.put(ctx, tx, r.set, r.names, "additions")
		if err == nil && len(added) > 0 {
			r.set, err = s.bumpRevision(ctx, tx, r.set)
		}
		return err
	})
	return renderSet(ctx, r.set), err
}

// conditioned is a resource with its exclusions.
type conditioned struct {
	name    authz.Name
	exclude []string
}

// checkConditions validates the exclusions of a resource, and finds the excluded resources.
func (s *Slice) checkConditions(ctx context.Context, c *conditioned, given *ResourceConditions, causes *rest.Causes) error {
	if given == nil {
		return nil
	}
	texts, ok := given.Exclude[excludeKey]
	if !ok || len(given.Exclude) != 1 || len(texts) == 0 {
		causes.Add("conditions", "The value must have one member, Exclude, which has one key, %s, with at least one resource name", excludeKey)
		return nil
	}
	if c.name.Form == 0 {
		return nil // the resource is unknown, which resolve has already reported
	}
	if !c.name.Collection() {
		causes.Add("conditions", "Only a whole collection can have conditions")
		return nil
	}
	q := s.Store.Reader()
	names, err := s.resolve(ctx, q, texts, "conditions", causes)
	if err != nil {
		return err
	}
	org, err := s.Org(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !name.Within(c.name) {
			causes.Add("conditions", "%s is not a resource of the collection", name.ORN(org.ID))
		}
		c.exclude = append(c.exclude, name.ORN(org.ID))
	}
	return nil
}

type addResourceRequest struct {
	setTarget
	Body struct {
		Resource   string              `json:"resourceOrnOrUrl" required:"true" doc:"The resource by its URL or its resource name."`
		Conditions *ResourceConditions `json:"conditions" doc:"Resources that a collection excludes."`
	} `body:"required"`

	conditioned
}

// checkAddResource finds the resource that the request adds, and its exclusions.
func (s *Slice) checkAddResource(ctx context.Context, r *addResourceRequest, causes *rest.Causes) error {
	if r.Body.Resource != "" {
		names, err := s.resolve(ctx, s.Store.Reader(), []string{r.Body.Resource}, "resourceOrnOrUrl", causes)
		if err != nil {
			return err
		}
		if len(names) == 1 {
			r.name = names[0]
		}
	}
	return s.checkConditions(ctx, &r.conditioned, r.Body.Conditions, causes)
}

func (s *Slice) addResource(ctx context.Context, r *addResourceRequest) (out SetResource, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inSet(ctx, tx, &r.setTarget); err != nil {
			return err
		}
		added, err := s.put(ctx, tx, r.set, []authz.Name{r.name}, "resourceOrnOrUrl")
		if err != nil {
			return err
		}
		if len(added) == 0 {
			return rest.Invalid("resourceOrnOrUrl", "The resource is already in the set")
		}
		doc := added[0]
		doc.Value.Exclude = r.exclude
		if doc, err = s.SetResources.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
			return err
		}
		out, err = s.changed(ctx, tx, r.set, doc)
		return err
	})
	return out, err
}

// changed updates the revision of the set of a resource and renders the resource.
func (s *Slice) changed(ctx context.Context, tx *docstore.Tx, set docstore.Doc[model.ResourceSet],
	doc docstore.Doc[model.SetResource]) (SetResource, error) {
	if _, err := s.bumpRevision(ctx, tx, set); err != nil {
		return SetResource{}, err
	}
	org, err := s.Org(ctx, tx)
	return renderResource(ctx, org.ID, doc), err
}

// resourceTarget is the resource in a path.
type resourceTarget struct {
	setTarget
	ID string `path:"resourceId" doc:"Id of the resource in the set."`

	found docstore.Doc[model.SetResource]
}

func (t *resourceTarget) self() *resourceTarget { return t }

func (s *Slice) inResource(ctx context.Context, q docstore.Reader, t *resourceTarget) (err error) {
	if err := s.inSet(ctx, q, &t.setTarget); err != nil {
		return err
	}
	t.found, err = s.SetResources.Get(ctx, q, t.ID)
	if err == nil && t.found.Value.Set != t.set.ID {
		return rest.NotFound("ResourceSetResource", t.ID)
	}
	return rest.Missing(err, "ResourceSetResource", t.ID)
}

type resourceRequest struct{ resourceTarget }

func (s *Slice) getResource(ctx context.Context, r *resourceRequest) (SetResource, error) {
	org, err := s.Org(ctx, s.Store.Reader())
	return renderResource(ctx, org.ID, r.found), err
}

func (s *Slice) deleteResource(ctx context.Context, r *resourceRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inResource(ctx, tx, &r.resourceTarget); err != nil {
			return err
		}
		return s.removeResource(ctx, tx, r.set, r.found)
	})
}

// removeResource removes a resource from its set.
func (s *Slice) removeResource(ctx context.Context, tx *docstore.Tx, set docstore.Doc[model.ResourceSet],
	doc docstore.Doc[model.SetResource]) error {
	if err := s.SetResources.Delete(ctx, tx, doc.ID); err != nil {
		return err
	}
	if _, err := s.bumpRevision(ctx, tx, set); err != nil {
		return err
	}
	return s.log(ctx, tx, audit.SetResourceDelete, audit.ResourceSet(set.ID, set.Value.Label), audit.Resource(doc.ID, doc.Value.ORN))
}

type replaceResourceRequest struct {
	resourceTarget
	Body struct {
		Conditions *ResourceConditions `json:"conditions" doc:"Resources excluded from a collection. Absent means no exclusion."`
	} `body:"required"`

	conditioned
}

func (s *Slice) findForReplaceResource(ctx context.Context, r *replaceResourceRequest) error {
	q := s.Store.Reader()
	if err := s.inResource(ctx, q, &r.resourceTarget); err != nil {
		return err
	}
	org, err := s.Org(ctx, q)
	if err != nil {
		return err
	}
	r.name, err = authz.ParseORN(r.found.Value.ORN, org.ID)
	return err
}

// checkReplaceResource validates the new exclusions, and finds the excluded resources.
func (s *Slice) checkReplaceResource(ctx context.Context, r *replaceResourceRequest, causes *rest.Causes) error {
	return s.checkConditions(ctx, &r.conditioned, r.Body.Conditions, causes)
}

func (s *Slice) replaceResource(ctx context.Context, r *replaceResourceRequest) (out SetResource, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.inResource(ctx, tx, &r.resourceTarget); err != nil {
			return err
		}
		doc := r.found
		if slices.Equal(doc.Value.Exclude, r.exclude) {
			org, err := s.Org(ctx, tx)
			out = renderResource(ctx, org.ID, doc)
			return err
		}
		doc.Value.Exclude = r.exclude
		doc, err := s.SetResources.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		if err != nil {
			return err
		}
		if out, err = s.changed(ctx, tx, r.set, doc); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.ResourceSetUpdate, audit.ResourceSet(r.set.ID, r.set.Value.Label), audit.Resource(doc.ID, doc.Value.ORN))
	})
	return out, err
}

func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	if err := s.checkExclusions(ctx, tx, e.ID); err != nil {
		return err
	}
	return s.removeFromSets(ctx, tx, authz.OfGroup(e.ID), authz.OfMembers(e.ID))
}

// checkExclusions rejects the deletion of a group whose members a set excludes: the deletion would add the members to the set.
func (s *Slice) checkExclusions(ctx context.Context, tx *docstore.Tx, group string) error {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	members := authz.OfMembers(group).ORN(org.ID)
	return model.Each(ctx, tx, s.SetResources, docstore.Eq(model.SetResourceByORN, authz.AllUsers().ORN(org.ID)),
		func(doc docstore.Doc[model.SetResource]) error {
			if !slices.Contains(doc.Value.Exclude, members) {
				return nil
			}
			return rest.Fail(rest.CodeState,
				"The resource set "+doc.Value.Set+" excludes the users of the group; remove them from the conditions first")
		})
}

func (s *Slice) serverDeleted(ctx context.Context, tx *docstore.Tx, e model.AuthServerDeleted) error {
	return s.removeFromSets(ctx, tx, authz.OfServer(e.ID))
}

func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	return s.removeApp(ctx, tx, e.App)
}

// removeApp removes a deleted application from all sets. Its catalog entry is no longer known, so the search uses the id in the
// resource name.
func (s *Slice) removeApp(ctx context.Context, tx *docstore.Tx, app string) error {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	begins := authz.AppsPrefix(org.ID)
	return model.Each(ctx, tx, s.SetResources, docstore.Prefix(model.SetResourceByORN, begins),
		func(doc docstore.Doc[model.SetResource]) error {
			if !strings.HasSuffix(doc.Value.ORN, ":"+app) {
				return nil
			}
			return s.takeByName(ctx, tx, doc)
		})
}

// removeFromSets removes deleted resources from all sets.
func (s *Slice) removeFromSets(ctx context.Context, tx *docstore.Tx, names ...authz.Name) error {
	org, err := s.Org(ctx, tx)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := model.Each(ctx, tx, s.SetResources, docstore.Eq(model.SetResourceByORN, name.ORN(org.ID)),
			func(doc docstore.Doc[model.SetResource]) error {
				return s.takeByName(ctx, tx, doc)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Slice) takeByName(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.SetResource]) error {
	set, err := s.ResourceSets.Get(ctx, tx, doc.Value.Set)
	if err != nil {
		return err
	}
	return s.removeResource(ctx, tx, set, doc)
}
