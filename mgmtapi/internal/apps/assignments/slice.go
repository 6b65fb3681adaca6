package assignments

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// Options configure the slice.
type Options struct {
	// Secrets encrypts the passwords of app users.
	Secrets seal.Secrets
	// Outbox receives messages. Default: none.
	Outbox *outbox.Box
	// User returns a user in the form of the response of GET /api/v1/users/{id}.
	User func(ctx context.Context, q docstore.Reader, id string) (any, error)
	// Syncing reports whether an assignment is being provisioned now. Default: the stored state.
	Syncing func(ctx context.Context, u *model.AppUser) bool
}

// Slice serves the operations on the users and groups of applications, and handles events of users, groups, memberships and applications.
type Slice struct {
	model.Deps
	Options
	programs appprofile.Programs
}

// New returns the slice and registers its event handlers.
func New(d model.Deps, o Options) *Slice {
	s := &Slice{Deps: d, Options: o}
	s.react()
	return s
}

const (
	userTag  = "Application users"
	groupTag = "Application groups"
)

var (
	readScope  = []string{"svc.apps.read"}
	writeScope = []string{"svc.apps.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[assignRequest, AppUser]{
			ID: "assignUserToApplication", Route: "POST /api/v1/apps/{appId}/users", Tag: userTag, Scopes: writeScope,
			Summary: "Assigns a user to an application",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*assignRequest).at), Do: s.assign,
		},
		rest.Op[listUsersRequest, rest.Page[AppUser]]{
			ID: "listApplicationUsers", Route: "GET /api/v1/apps/{appId}/users", Tag: userTag, Scopes: readScope,
			Summary: "Lists the users of an application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*listUsersRequest).at),
			Do: s.listUsers,
		},
		rest.Op[getUserRequest, AppUser]{
			ID: "getApplicationUser", Route: "GET /api/v1/apps/{appId}/users/{userId}", Tag: userTag, Scopes: readScope,
			Summary: "Reads the assignment of a user", Find: lookup.In(s.Store, s.findForUser, (*getUserRequest).self), Do: s.getUser,
		},
		rest.Op[updateRequest, AppUser]{
			ID: "updateApplicationUser", Route: "POST /api/v1/apps/{appId}/users/{userId}", Tag: userTag, Scopes: writeScope,
			Summary: "Changes the credentials or the profile of an assigned user",
			Find:    lookup.In(s.Store, s.findForUser, (*updateRequest).self),
			Do:      s.update,
		},
		rest.Op[unassignRequest, rest.Empty]{
			ID: "unassignUserFromApplication", Route: "DELETE /api/v1/apps/{appId}/users/{userId}", Tag: userTag, Scopes: writeScope,
			Summary: "Ends the assignment of a user", Find: lookup.In(s.Store, s.findForUser, (*unassignRequest).self), Do: s.unassign,
		},
		rest.Op[putGroupRequest, AppGroup]{
			ID: "assignGroupToApplication", Route: "PUT /api/v1/apps/{appId}/groups/{groupId}", Tag: groupTag, Scopes: writeScope,
			Summary: "Assigns a group to an application, or replaces the assignment", Find: s.findForPutGroup, Do: s.putGroup,
		},
		rest.Op[groupRequest, AppGroup]{
			ID: "getApplicationGroup", Route: "GET /api/v1/apps/{appId}/groups/{groupId}", Tag: groupTag, Scopes: readScope,
			Summary: "Reads the assignment of a group", Find: lookup.In(s.Store, s.findForGroup, (*groupRequest).self), Do: s.getGroup,
		},
		rest.Op[listGroupsRequest, rest.Page[AppGroup]]{
			ID: "listApplicationGroups", Route: "GET /api/v1/apps/{appId}/groups", Tag: groupTag, Scopes: readScope,
			Summary: "Lists the groups of an application by priority",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*listGroupsRequest).at), Do: s.listGroups,
		},
		rest.Op[patchGroupRequest, AppGroup]{
			ID: "updateApplicationGroup", Route: "PATCH /api/v1/apps/{appId}/groups/{groupId}", Tag: groupTag, Scopes: writeScope,
			Summary: "Changes the priority or the profile of the assignment of a group",
			Find:    lookup.In(s.Store, s.findForGroup, (*patchGroupRequest).self), Do: s.patchGroup,
		},
		rest.Op[groupRequest, rest.NoContent]{
			ID: "unassignGroupFromApplication", Route: "DELETE /api/v1/apps/{appId}/groups/{groupId}", Tag: groupTag, Scopes: writeScope,
			Summary: "Ends the assignment of a group", Find: lookup.In(s.Store, s.findForGroup, (*groupRequest).self), Do: s.unassignGroup,
		},
	}
}

// findApp reads an application, or returns a 404 error.
func (s *Slice) findApp(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.App], error) {
	doc, err := s.Apps.Get(ctx, q, id)
	return doc, rest.Missing(err, "AppInstance", id)
}
