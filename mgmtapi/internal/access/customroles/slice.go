package customroles

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// Slice serves custom roles and resource sets.
type Slice struct{ model.Deps }

// New returns the slice and subscribes its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, s.groupDeleted)
	model.On(d.Feed, s.appChanged)
	model.On(d.Feed, s.serverDeleted)
	return s
}

const (
	roleTag    = "Custom roles"
	setTag     = "Resource sets"
	bindingTag = "Role bindings"

	rolesPath     = "/api/v1/iam/roles"
	rolePath      = rolesPath + "/{roleIdOrLabel}"
	permitsPath   = rolePath + "/permissions"
	permitPath    = permitsPath + "/{permissionType}"
	setsPath      = "/api/v1/iam/resource-sets"
	setPath       = setsPath + "/{resourceSetIdOrLabel}"
	resourcesPath = setPath + "/resources"
	resourcePath  = resourcesPath + "/{resourceId}"
	bindingsPath  = setPath + "/bindings"
	bindingPath   = bindingsPath + "/{roleIdOrLabel}"
	membersPath   = bindingPath + "/members"
	memberPath    = membersPath + "/{memberId}"
)

// pageSize is the number of objects on a page.
const pageSize = 100

var (
	readScope  = []string{"svc.roles.read"}
	writeScope = []string{"svc.roles.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[createRoleRequest, LocatedRole]{
			ID: "createRole", Route: "POST " + rolesPath, Tag: roleTag, Scopes: writeScope, Summary: "Creates a custom role", Check: checkCreateRole,
			Do: s.createRole,
		},
		rest.Op[pageRequest, CustomRoles]{
			ID: "listRoles", Route: "GET " + rolesPath, Tag: roleTag, Scopes: readScope, Summary: "Lists the custom roles", Do: s.listRoles,
		},
		rest.Op[roleRequest, CustomRole]{
			ID: "getRole", Route: "GET " + rolePath, Tag: roleTag, Scopes: readScope, Summary: "Reads a custom role, or a governance role",
			Find: lookup.In(s.Store, s.readable, (*roleRequest).self), Do: s.getRole,
		},
		rest.Op[replaceRoleRequest, LocatedRole]{
			ID: "replaceRole", Route: "PUT " + rolePath, Tag: roleTag, Scopes: writeScope,
			Summary: "Changes the label and the description of a custom role",
			Find:    lookup.In(s.Store, s.custom, (*replaceRoleRequest).self), Check: checkReplaceRole, Do: s.replaceRole,
		},
		rest.Op[roleRequest, rest.NoContent]{
			ID: "deleteRole", Route: "DELETE " + rolePath, Tag: roleTag, Scopes: writeScope, Summary: "Deletes a custom role that is not bound",
			Find: lookup.In(s.Store, s.custom, (*roleRequest).self), Do: s.deleteRole,
		},
		rest.Op[roleRequest, Permissions]{
			ID: "listRolePermissions", Route: "GET " + permitsPath, Tag: roleTag, Scopes: readScope, Summary: "Lists the permissions of a role",
			Find: lookup.In(s.Store, s.readable, (*roleRequest).self), Do: s.listPermissions,
		},
		rest.Op[setPermissionRequest, rest.NoContent]{
			ID: "createRolePermission", Route: "POST " + permitPath, Tag: roleTag, Scopes: writeScope, Summary: "Adds a permission to a role",
			Find: s.findForSetPermission, Check: checkSetPermission, Do: s.addPermission,
		},
		rest.Op[setPermissionRequest, Permission]{
			ID: "replaceRolePermission", Route: "PUT " + permitPath, Tag: roleTag, Scopes: writeScope,
			Summary: "Replaces the conditions of a permission",
			Find:    s.findForReplacePermission, Check: checkSetPermission, Do: s.replacePermission,
		},
		rest.Op[permissionRequest, Permission]{
			ID: "getRolePermission", Route: "GET " + permitPath, Tag: roleTag, Scopes: readScope, Summary: "Reads a permission of a role",
			Find: lookup.In(s.Store, withPermission(s.readable), (*permissionRequest).self), Do: s.getPermission,
		},
		rest.Op[permissionRequest, rest.NoContent]{
			ID: "deleteRolePermission", Route: "DELETE " + permitPath, Tag: roleTag, Scopes: writeScope, Summary: "Removes a permission from a role",
			Find: lookup.In(s.Store, withPermission(s.custom), (*permissionRequest).self), Do: s.deletePermission,
		},
		rest.Op[createSetRequest, ResourceSet]{
			ID: "createResourceSet", Route: "POST " + setsPath, Tag: setTag, Scopes: writeScope, Summary: "Creates a resource set",
			Check: s.checkCreateSet, Do: s.createSet,
		},
		rest.Op[pageRequest, ResourceSets]{
			ID: "listResourceSets", Route: "GET " + setsPath, Tag: setTag, Scopes: readScope, Summary: "Lists the resource sets", Do: s.listSets,
		},
		rest.Op[setRequest, ResourceSet]{
			ID: "getResourceSet", Route: "GET " + setPath, Tag: setTag, Scopes: readScope, Summary: "Reads a resource set", Find: s.findSetForRead,
			Do: s.getSet,
		},
		rest.Op[replaceSetRequest, ResourceSet]{
			ID: "replaceResourceSet", Route: "PUT " + setPath, Tag: setTag, Scopes: writeScope,
			Summary: "Changes the label and the description of a resource set",
			Find:    lookup.In(s.Store, s.inSet, (*replaceSetRequest).self), Check: checkReplaceSet, Do: s.replaceSet,
		},
		rest.Op[setRequest, rest.NoContent]{
			ID: "deleteResourceSet", Route: "DELETE " + setPath, Tag: setTag, Scopes: writeScope,
			Summary: "Deletes a resource set with its bindings",
			Find:    lookup.In(s.Store, s.inSet, (*setRequest).self), Do: s.deleteSet,
		},
		rest.Op[listResourcesRequest, SetResources]{
			ID: "listResourceSetResources", Route: "GET " + resourcesPath, Tag: setTag, Scopes: readScope,
			Summary: "Lists the resources of a resource set",
			Find:    lookup.In(s.Store, s.inSet, (*listResourcesRequest).self), Do: s.listResources,
		},
		rest.Op[addResourcesRequest, ResourceSet]{
			ID: "addResourceSetResources", Route: "PATCH " + resourcesPath, Tag: setTag, Scopes: writeScope, Summary: "Adds resources to a set",
			Find: lookup.In(s.Store, s.inSet, (*addResourcesRequest).self), Check: s.checkAddResources, Do: s.addResources,
		},
		rest.Op[addResourceRequest, SetResource]{
			ID: "addResourceSetResource", Route: "POST " + resourcesPath, Tag: setTag, Scopes: writeScope,
			Summary: "Adds a resource with conditions to a set",
			Find:    lookup.In(s.Store, s.inSet, (*addResourceRequest).self), Check: s.checkAddResource, Do: s.addResource,
		},
		rest.Op[resourceRequest, SetResource]{
			ID: "getResourceSetResource", Route: "GET " + resourcePath, Tag: setTag, Scopes: readScope, Summary: "Reads a resource of a set",
			Find: lookup.In(s.Store, s.inResource, (*resourceRequest).self), Do: s.getResource,
		},
		rest.Op[replaceResourceRequest, SetResource]{
			ID: "replaceResourceSetResource", Route: "PUT " + resourcePath, Tag: setTag, Scopes: writeScope,
			Summary: "Replaces the conditions of a resource",
			Find:    s.findForReplaceResource, Check: s.checkReplaceResource, Do: s.replaceResource,
		},
		rest.Op[resourceRequest, rest.NoContent]{
			ID: "deleteResourceSetResource", Route: "DELETE " + resourcePath, Tag: setTag, Scopes: writeScope,
			Summary: "Removes a resource from a set",
			Find:    lookup.In(s.Store, s.inResource, (*resourceRequest).self), Do: s.deleteResource,
		},
		rest.Op[createBindingRequest, BindingLinks]{
			ID: "createResourceSetBinding", Route: "POST " + bindingsPath, Tag: bindingTag, Scopes: writeScope,
			Summary: "Binds a custom role to members for a resource set",
			Find:    lookup.In(s.Store, s.inSet, (*createBindingRequest).self), Do: s.createBinding,
		},
		rest.Op[listBindingsRequest, Bindings]{
			ID: "listBindings", Route: "GET " + bindingsPath, Tag: bindingTag, Scopes: readScope, Summary: "Lists the roles bound to a resource set",
			Find: lookup.In(s.Store, s.inSet, (*listBindingsRequest).self), Do: s.listBindings,
		},
		rest.Op[bindingRequest, Binding]{
			ID: "getBinding", Route: "GET " + bindingPath, Tag: bindingTag, Scopes: readScope, Summary: "Reads the binding of a role",
			Find: lookup.In(s.Store, s.inBinding, (*bindingRequest).self), Do: s.getBinding,
		},
		rest.Op[bindingRequest, rest.NoContent]{
			ID: "deleteBinding", Route: "DELETE " + bindingPath, Tag: bindingTag, Scopes: writeScope, Summary: "Deletes the binding of a role",
			Find: lookup.In(s.Store, s.inBinding, (*bindingRequest).self), Do: s.deleteBinding,
		},
		rest.Op[listMembersRequest, Members]{
			ID: "listMembersOfBinding", Route: "GET " + membersPath, Tag: bindingTag, Scopes: readScope, Summary: "Lists the members of a binding",
			Find: lookup.In(s.Store, s.inBinding, (*listMembersRequest).self), Do: s.listMembers,
		},
		rest.Op[addMembersRequest, BindingLinks]{
			ID: "addMembersToBinding", Route: "PATCH " + membersPath, Tag: bindingTag, Scopes: writeScope, Summary: "Adds members to a binding",
			Find: lookup.In(s.Store, s.inBinding, (*addMembersRequest).self), Do: s.addMembers,
		},
		rest.Op[memberRequest, Member]{
			ID: "getMemberOfBinding", Route: "GET " + memberPath, Tag: bindingTag, Scopes: readScope, Summary: "Reads a member of a binding",
			Find: lookup.In(s.Store, s.inMember, (*memberRequest).self), Do: s.getMember,
		},
		rest.Op[memberRequest, rest.NoContent]{
			ID: "unassignMemberFromBinding", Route: "DELETE " + memberPath, Tag: bindingTag, Scopes: writeScope,
			Summary: "Removes a member from a binding",
			Find:    lookup.In(s.Store, s.inMember, (*memberRequest).self), Do: s.deleteMember,
		},
	}
}

type pageRequest struct {
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

// page reads a page of a collection and renders it.
func page[T, Item any](
	ctx context.Context, s *Slice, c docstore.Collection[T], r *pageRequest, render func(context.Context, docstore.Doc[T]) Item,
) ([]Item, rest.Links, error) {
	found, err := search.Page(ctx, c, s.Store.Reader(), docstore.Query[T]{After: r.After, Limit: pageSize})
	if err != nil {
		return nil, nil, err
	}
	items := make([]Item, 0, len(found.Docs))
	for _, doc := range found.Docs {
		items = append(items, render(ctx, doc))
	}
	return items, nextLinks(ctx, found.Next, nil), nil
}

// nextLinks adds the link to the next page to the links of a list. It adds no link if next is empty.
func nextLinks(ctx context.Context, next string, links rest.Links) rest.Links {
	if next != "" {
		if links == nil {
			links = rest.Links{}
		}
		links["next"] = rest.To(rest.NextURL(ctx, next))
	}
	return links
}

func url(ctx context.Context, segments ...string) rest.Link {
	return rest.To(rest.URL(ctx, append([]string{"api", "v1", "iam"}, segments...)...))
}

// log writes an event to the system log.
func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, targets ...model.LogParty) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: targets})
}
