package groups

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the groups.
type Slice struct{ model.Deps }

// New returns the slice and registers its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, s.userDeleted)
	model.On(d.Feed, s.groupDeleted)
	return s
}

const tag = "Groups"

var (
	readScope  = []string{"svc.groups.read"}
	writeScope = []string{"svc.groups.manage"}
)

// Routes lists the operations. Package users lists the members of a group, because they are users.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[createRequest, Group]{
			ID: "createGroup", Route: "POST /api/v1/groups", Tag: tag, Scopes: writeScope,
			Summary: "Creates a group", Find: s.findForCreate, Check: checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Page[Group]]{
			ID: "listGroups", Route: "GET /api/v1/groups", Tag: tag, Scopes: readScope,
			Summary: "Lists groups", Description: "A list for q has no further pages.", Do: s.list,
		},
		rest.Op[getRequest, Group]{
			ID: "getGroup", Route: "GET /api/v1/groups/{groupId}", Tag: tag, Scopes: readScope,
			Summary: "Reads a group", Find: lookup.In(s.Store, s.find, (*getRequest).self), Do: s.get,
		},
		rest.Op[replaceRequest, Group]{
			ID: "replaceGroup", Route: "PUT /api/v1/groups/{groupId}", Tag: tag, Scopes: writeScope,
			Summary: "Replaces the profile of a group", Find: s.findForReplace, Check: checkReplace, Do: s.replace,
		},
		rest.Op[deleteRequest, rest.NoContent]{
			ID: "deleteGroup", Route: "DELETE /api/v1/groups/{groupId}", Tag: tag, Scopes: writeScope,
			Summary: "Deletes a group", Find: lookup.In(s.Store, s.find, (*deleteRequest).self), Do: s.delete,
		},
		rest.Op[memberRequest, rest.NoContent]{
			ID: "addGroupUser", Route: "PUT /api/v1/groups/{groupId}/users/{userId}", Tag: tag, Scopes: writeScope,
			Summary: "Adds a user to a group", Find: s.findMember, Do: s.add,
		},
		rest.Op[memberRequest, rest.NoContent]{
			ID: "removeGroupUser", Route: "DELETE /api/v1/groups/{groupId}/users/{userId}", Tag: tag, Scopes: writeScope,
			Summary: "Removes a user from a group", Find: s.findMember, Do: s.remove,
		},
		rest.Op[ownersRequest, rest.Page[Owner]]{
			ID: "listGroupOwners", Route: "GET /api/v1/groups/{groupId}/owners", Tag: tag, Scopes: readScope,
			Summary: "Lists all owners of a group", Find: lookup.In(s.Store, s.find, (*ownersRequest).self), Do: s.listOwners,
		},
		rest.Op[addOwnerRequest, Owner]{
			ID: "addGroupOwner", Route: "POST /api/v1/groups/{groupId}/owners", Tag: tag, Scopes: writeScope, Status: http.StatusCreated,
			Summary: "Adds an owner to a group", Find: lookup.In(s.Store, s.find, (*addOwnerRequest).self), Do: s.addOwner,
		},
		rest.Op[removeOwnerRequest, rest.NoContent]{
			ID: "removeGroupOwner", Route: "DELETE /api/v1/groups/{groupId}/owners/{ownerId}", Tag: tag, Scopes: writeScope,
			Summary: "Removes an owner from a group", Find: s.findForRemoveOwner, Do: s.removeOwner,
		},
		rest.Op[ofUserRequest, rest.Page[Group]]{
			ID: "listUserGroups", Route: "GET /api/v1/users/{user}/groups", Tag: "Users", Scopes: []string{"svc.users.read"},
			Summary: "Lists the groups of a user", Find: callers.FoundUser(s.Deps, (*ofUserRequest).at), Do: s.ofUser,
		},
	}
}

// target is the group that a path names.
type target struct {
	Group string `path:"groupId" doc:"Id of the group."`

	found docstore.Doc[model.Group]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.Groups.Get(ctx, q, t.Group)
	return rest.Missing(err, "UserGroup", t.Group)
}

// editable reads the group in the transaction that changes it, and rejects groups that clients cannot edit.
func (s *Slice) editable(ctx context.Context, tx *docstore.Tx, t *target) error {
	if err := s.find(ctx, tx, t); err != nil {
		return err
	}
	if t.found.Value.Protected() {
		return rest.Failf(rest.CodeUnsupported, "A group of the type %s cannot be edited.", t.found.Value.Type)
	}
	return nil
}

// log writes a system log entry about a group and the other targets.
func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, group docstore.Doc[model.Group],
	others ...model.LogParty) error {
	targets := append([]model.LogParty{audit.Group(group)}, others...)
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: targets})
}
