package roles

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const targetTag = "Role targets"

// MaxTargets is the maximum number of targets of an assignment.
const MaxTargets = 100

func (o kindRoutes) targets() []rest.Route {
	groups, apps := o.at+"/{roleAssignmentId}/targets/groups", o.at+"/{roleAssignmentId}/targets/catalog/apps"
	group, app := groups+"/{targetGroupId}", apps+"/{appName}"
	return []rest.Route{
		rest.Op[targetsRequest, rest.Page[GroupTarget]]{
			ID: o.id("listGroupTargetsForRole"), Route: "GET " + groups, Tag: targetTag, Scopes: readScope,
			Summary: "Lists the groups that a role of " + o.name + " is limited to",
			Find:    lookup.In(o.Store, o.findAssignment, (*targetsRequest).self), Do: o.listGroups,
		},
		rest.Op[groupTargetRequest, rest.NoContent]{
			ID: o.id("assignGroupTargetToUserRole"), Route: "PUT " + group, Tag: targetTag, Scopes: writeScope,
			Summary: "Limits a role of " + o.name + " to a group",
			Find:    lookup.In(o.Store, o.findGroup, (*groupTargetRequest).self), Do: o.addGroup,
		},
		rest.Op[groupTargetRequest, rest.NoContent]{
			ID: o.id("unassignGroupTargetFromUserAdminRole"), Route: "DELETE " + group, Tag: targetTag, Scopes: writeScope,
			Summary: "Removes a target group of a role of " + o.name, Find: lookup.In(o.Store, o.findGroup, (*groupTargetRequest).self),
			Do: o.dropGroup,
		},
		rest.Op[targetsRequest, rest.Page[AppTarget]]{
			ID: o.id("listApplicationTargetsForApplicationAdministratorRoleForUser"), Route: "GET " + apps, Tag: targetTag, Scopes: readScope,
			Summary: "Lists the applications that a role of " + o.name + " is limited to",
			Find:    lookup.In(o.Store, o.findAssignment, (*targetsRequest).self), Do: o.listApps,
		},
		rest.Op[appTypeRequest, rest.NoContent]{
			ID: o.id("assignAppTargetToAdminRoleForUser"), Route: "PUT " + app, Tag: targetTag, Scopes: writeScope,
			Summary: "Limits a role of " + o.name + " to all applications of a catalog entry",
			Find:    lookup.In(o.Store, o.findAppType, (*appTypeRequest).self), Do: o.addAppType,
		},
		rest.Op[appTypeRequest, rest.NoContent]{
			ID: o.id("unassignAppTargetFromAppAdminRoleForUser"), Route: "DELETE " + app, Tag: targetTag, Scopes: writeScope,
			Summary: "Removes a target catalog entry of a role of " + o.name, Find: lookup.In(o.Store, o.findAppType, (*appTypeRequest).self),
			Do: o.dropAppType,
		},
		rest.Op[appRequest, rest.NoContent]{
			ID: o.id("assignAppInstanceTargetToAppAdminRoleForUser"), Route: "PUT " + app + "/{appId}", Tag: targetTag, Scopes: writeScope,
			Summary: "Limits a role of " + o.name + " to an application", Find: lookup.In(o.Store, o.findApp, (*appRequest).self), Do: o.addApp,
		},
		rest.Op[appRequest, rest.NoContent]{
			ID: o.id("unassignAppInstanceTargetFromAdminRoleForUser"), Route: "DELETE " + app + "/{appId}", Tag: targetTag, Scopes: writeScope,
			Summary: "Removes a target application of a role of " + o.name, Find: lookup.In(o.Store, o.findApp, (*appRequest).self), Do: o.dropApp,
		},
	}
}

func groupsAmong(targets []model.RoleTarget) []model.RoleTarget {
	return slices.DeleteFunc(slices.Clone(targets), func(t model.RoleTarget) bool { return t.Group == "" })
}

func appsAmong(targets []model.RoleTarget) []model.RoleTarget {
	return slices.DeleteFunc(slices.Clone(targets), func(t model.RoleTarget) bool { return t.AppName == "" })
}

type targetsRequest struct {
	assignmentRequest
	Limit int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

// page returns a page of targets, which are ordered by their numbers.
func (r *targetsRequest) page(targets []model.RoleTarget) (page []model.RoleTarget, next string, err error) {
	after := 0
	if r.After != "" {
		text, err := base64.RawURLEncoding.DecodeString(r.After)
		if err == nil {
			after, err = strconv.Atoi(string(text))
		}
		if err != nil {
			return nil, "", rest.Fail(rest.CodeCursor)
		}
	}
	begin := slices.IndexFunc(targets, func(t model.RoleTarget) bool { return t.Number > after })
	if begin < 0 {
		return nil, "", nil
	}
	page = targets[begin:]
	if len(page) > r.Limit {
		page = page[:r.Limit]
		next = base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, int64(page[r.Limit-1].Number), 10))
	}
	return page, next, nil
}

// standard returns an error for a custom role, which has a resource set instead of targets.
func (r *assignmentRequest) standard() (*docstore.Doc[model.RoleAssignment], error) {
	if r.found.standard == nil {
		return nil, rest.Fail(rest.CodeTargetKind, "roleAssignmentId: A custom role has a resource set instead of targets")
	}
	return r.found.standard, nil
}

func (o kindRoutes) listGroups(ctx context.Context, r *targetsRequest) (out rest.Page[GroupTarget], err error) {
	assignment, err := r.standard()
	if err != nil {
		return out, err
	}
	page, next, err := r.page(groupsAmong(assignment.Value.Targets))
	if err != nil {
		return out, err
	}
	out.Next = next
	out.Items, err = o.groupTargets(ctx, o.Store.Reader(), page)
	return out, err
}

func (o kindRoutes) listApps(ctx context.Context, r *targetsRequest) (out rest.Page[AppTarget], err error) {
	assignment, err := r.standard()
	if err != nil {
		return out, err
	}
	page, next, err := r.page(appsAmong(assignment.Value.Targets))
	if err != nil {
		return out, err
	}
	out.Next = next
	out.Items, err = o.appTargets(ctx, o.Store.Reader(), page)
	return out, err
}

// change changes the targets of an assignment of the assignee itself. A change without effect is not logged.
func (o kindRoutes) change(
	ctx context.Context, r *assignmentRequest, fits func(model.RoleType) bool, event audit.Type, about model.LogParty,
	fn func(*model.RoleAssignment) (changed bool, err error),
) error {
	err := o.Update(ctx, func(tx *docstore.Tx) error {
		if err := o.among(ctx, tx, r, o.own); err != nil {
			return err
		}
		doc, err := r.standard()
		if err != nil {
			return err
		}
		if !fits(doc.Value.Type) {
			return rest.Fail(rest.CodeTargetKind)
		}
		assignment := doc.Value
		assignment.Targets = slices.Clone(assignment.Targets)
		changed, err := fn(&assignment)
		if err != nil || !changed {
			return err
		}
		if len(assignment.Targets) > MaxTargets {
			return rest.Failf(rest.CodeTooMany, "An assignment can have at most %d targets.", MaxTargets)
		}
		if _, err := o.RoleAssignments.Update(ctx, tx, doc.ID, doc.Rev, assignment); err != nil {
			return err
		}
		targets := parties(r.who.Party, assignment.Type)
		if about.ID != "" {
			targets = append(targets, about)
		}
		return audit.Write(ctx, tx, o.Deps, audit.Entry{Type: event, Targets: targets})
	})
	return audit.Refused(ctx, o.Deps, audit.Entry{Type: event, Targets: []model.LogParty{r.who.Party}}, err)
}

// add adds a target and reports whether it was new.
func add(a *model.RoleAssignment, t model.RoleTarget) bool {
	if slices.ContainsFunc(a.Targets, t.Same) {
		return false
	}
	a.LastTarget++
	t.Number = a.LastTarget
	a.Targets = append(a.Targets, t)
	return true
}

// drop removes a target. The last target cannot be removed: without targets the role would be unlimited.
func drop(a *model.RoleAssignment, t model.RoleTarget, kind, id string) (bool, error) {
	i := slices.IndexFunc(a.Targets, t.Same)
	switch {
	case i < 0:
		return false, rest.NotFound(kind, id)
	case len(a.Targets) == 1:
		return false, rest.Invalid("targets",
			"The last target cannot be removed; to remove the limits, delete the assignment and create it again")
	}
	a.Targets = slices.Delete(a.Targets, i, i+1)
	return true, nil
}

type groupTargetRequest struct {
	assignmentRequest
	Group string `path:"targetGroupId" doc:"Id of the target group."`

	group docstore.Doc[model.Group]
}

func (r *groupTargetRequest) self() *groupTargetRequest { return r }

func (o kindRoutes) findGroup(ctx context.Context, q docstore.Reader, r *groupTargetRequest) (err error) {
	if err := o.findOwn(ctx, q, &r.assignmentRequest); err != nil {
		return err
	}
	r.group, err = o.Groups.Get(ctx, q, r.Group)
	return rest.Missing(err, "UserGroup", r.Group)
}

func (o kindRoutes) addGroup(ctx context.Context, r *groupTargetRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.GroupTargets, audit.RoleTargetAdd, audit.Group(r.group),
		func(a *model.RoleAssignment) (bool, error) {
			return add(a, model.RoleTarget{Group: r.Group}), nil
		})
}

func (o kindRoutes) dropGroup(ctx context.Context, r *groupTargetRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.GroupTargets, audit.RoleTargetDelete, audit.Group(r.group),
		func(a *model.RoleAssignment) (bool, error) {
			return drop(a, model.RoleTarget{Group: r.Group}, "UserGroup", r.Group)
		})
}

type appTypeRequest struct {
	assignmentRequest
	Name string `path:"appName" doc:"Name of the catalog entry."`
}

func (r *appTypeRequest) self() *appTypeRequest { return r }

func (o kindRoutes) findAppType(ctx context.Context, q docstore.Reader, r *appTypeRequest) error {
	if err := o.findOwn(ctx, q, &r.assignmentRequest); err != nil {
		return err
	}
	return o.isAppType(ctx, q, r.Name)
}

func appType(name string) model.LogParty {
	return model.LogParty{ID: name, Type: audit.TypeApp, AlternateID: name, DisplayName: name}
}

func (o kindRoutes) addAppType(ctx context.Context, r *appTypeRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.AppTargets, audit.RoleTargetAdd, appType(r.Name),
		func(a *model.RoleAssignment) (bool, error) {
			whole := model.RoleTarget{AppName: r.Name}
			if slices.ContainsFunc(a.Targets, whole.Same) {
				return false, nil
			}
			a.Targets = slices.DeleteFunc(a.Targets, func(t model.RoleTarget) bool { return t.AppName == r.Name })
			return add(a, whole), nil
		})
}

func (o kindRoutes) dropAppType(ctx context.Context, r *appTypeRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.AppTargets, audit.RoleTargetDelete, appType(r.Name),
		func(a *model.RoleAssignment) (bool, error) {
			return drop(a, model.RoleTarget{AppName: r.Name}, "AppInstance", r.Name)
		})
}

type appRequest struct {
	assignmentRequest
	Name string `path:"appName" doc:"Name of the application."`
	App  string `path:"appId" doc:"Id of the application."`

	app docstore.Doc[model.App]
}

func (r *appRequest) self() *appRequest { return r }

func (o kindRoutes) findApp(ctx context.Context, q docstore.Reader, r *appRequest) (err error) {
	if err := o.findOwn(ctx, q, &r.assignmentRequest); err != nil {
		return err
	}
	r.app, err = o.Apps.Get(ctx, q, r.App)
	if err == nil && r.app.Value.Name != r.Name {
		return rest.NotFound("AppInstance", r.App)
	}
	return rest.Missing(err, "AppInstance", r.App)
}

func (o kindRoutes) addApp(ctx context.Context, r *appRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.AppTargets, audit.RoleTargetAdd,
		audit.App(r.App, &r.app.Value),
		func(a *model.RoleAssignment) (bool, error) {
			if slices.ContainsFunc(a.Targets, model.RoleTarget{AppName: r.Name}.Same) {
				return false, rest.Invalid("appId", "All applications with the name %s are already targets", r.Name)
			}
			return add(a, model.RoleTarget{AppName: r.Name, App: r.App}), nil
		})
}

func (o kindRoutes) dropApp(ctx context.Context, r *appRequest) (rest.NoContent, error) {
	return rest.NoContent{}, o.change(ctx, &r.assignmentRequest, model.RoleType.AppTargets, audit.RoleTargetDelete,
		audit.App(r.App, &r.app.Value), func(a *model.RoleAssignment) (bool, error) {
			return drop(a, model.RoleTarget{AppName: r.Name, App: r.App}, "AppInstance", r.App)
		})
}

// clearApps removes all application targets.
func (o kindRoutes) clearApps(ctx context.Context, r *assignmentRequest) (rest.Empty, error) {
	return rest.Empty{}, o.change(ctx, r, model.RoleType.AppTargets, audit.RoleTargetDelete, model.LogParty{},
		func(a *model.RoleAssignment) (bool, error) {
			changed := len(a.Targets) > 0
			a.Targets = nil
			return changed, nil
		})
}
