package users

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// Options configure the slice.
type Options struct {
	// HashCost is the bcrypt cost of passwords and recovery answers. Default: bcrypt.DefaultCost.
	HashCost int
	// Outbox receives the messages. Default: no messages are sent.
	Outbox *outbox.Box
}

// Slice serves the users.
type Slice struct {
	model.Deps
	hasher password.Hasher
	outbox *outbox.Box

	lastBasis    atomic.Pointer[basis]                     // see createRequest.guess
	lastEveryone atomic.Pointer[docstore.Doc[model.Group]] // see groupToJoin
}

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	return &Slice{Deps: d, hasher: password.Hasher{Cost: o.HashCost}, outbox: o.Outbox}
}

const tag = "Users"

var (
	readScope  = []string{"svc.users.read"}
	writeScope = []string{"svc.users.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	routes := []rest.Route{
		rest.Op[createRequest, User]{
			ID: "createUser", Route: "POST /api/v1/users", Tag: tag, Scopes: writeScope,
			Summary: "Creates a user", Check: s.checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Page[User]]{
			ID: "listUsers", Route: "GET /api/v1/users", Tag: tag, Scopes: readScope,
			Summary:     "Lists users",
			Description: "Without parameters, and with q, DEPROVISIONED users are omitted. A list for q has no further pages.",
			Do:          s.list,
		},
		rest.Op[getRequest, User]{
			ID: "getUser", Route: "GET /api/v1/users/{user}", Tag: tag, Scopes: readScope,
			Summary: "Reads a user", Find: callers.FoundUser(s.Deps, (*getRequest).at), Do: s.get,
		},
		rest.Op[updateRequest, User]{
			ID: "updateUser", Route: "POST /api/v1/users/{user}", Tag: tag, Scopes: writeScope,
			Summary: "Changes the members of a user that are sent", Find: lookup.In(s.Store, s.findForChange, (*updateRequest).self),
			Check: s.checkUpdate,
			Do:    s.update,
		},
		rest.Op[replaceRequest, User]{
			ID: "replaceUser", Route: "PUT /api/v1/users/{user}", Tag: tag, Scopes: writeScope,
			Summary: "Replaces the whole profile of a user, and each further member that the body contains",
			Find:    lookup.In(s.Store, s.findForChange, (*replaceRequest).self),
			Check:   s.checkReplace, Do: s.replace,
		},
		rest.Op[deleteRequest, rest.NoContent]{
			ID: "deleteUser", Route: "DELETE /api/v1/users/{user}", Tag: tag, Scopes: writeScope,
			Summary: "Deactivates a user, or deletes a DEPROVISIONED user", Find: callers.FoundUser(s.Deps, (*deleteRequest).at), Do: s.delete,
		},
		rest.Op[membersRequest, rest.Page[User]]{
			ID: "listGroupUsers", Route: "GET /api/v1/groups/{groupId}/users", Tag: "Groups", Scopes: []string{"svc.groups.read"},
			Summary: "Lists the members of a group", Find: lookup.Found(s.Store, s.Groups.Get, "UserGroup", (*membersRequest).at), Do: s.members,
		},
	}
	return slices.Concat(append(routes, s.appLinks()), s.lifecycle(), s.credentials())
}

// target is the user that a path names.
type target struct {
	User string `path:"user" doc:"Id, login, unambiguous part of the login before its @, or me."`

	found docstore.Doc[model.User]
}

func (t *target) at() (string, *docstore.Doc[model.User]) { return t.User, &t.found }

// rereadIdle reads the user like reread and rejects a change of the status while a queued one is pending.
func (s *Slice) rereadIdle(ctx context.Context, tx *docstore.Tx, t *target) (docstore.Doc[model.User], error) {
	doc, err := s.reread(ctx, tx, t)
	if err == nil && doc.Value.Transition != "" {
		err = rest.Fail(rest.CodeTransitioning)
	}
	return doc, err
}

// reread reads the found user again in the transaction that changes it.
func (s *Slice) reread(ctx context.Context, tx *docstore.Tx, t *target) (docstore.Doc[model.User], error) {
	return callers.FindUser(ctx, s.Deps, tx, t.found.ID)
}
