package apps

import (
	"cmp"
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// DefaultSubdomain is the default prefix of the generated names of custom applications.
const DefaultSubdomain = "sandbox"

// Options configure the slice.
type Options struct {
	// Secrets encrypts shared passwords, the secrets of OAuth clients and the keys of applications.
	Secrets seal.Secrets
	// KeySource generates the key pairs of applications. Default: the source of package signkey.
	KeySource signkey.Source
	// Subdomain is the prefix of the generated names of custom applications. Default: DefaultSubdomain.
	Subdomain string
	// AppUser returns the assignment of a user to an application in the form of the API.
	AppUser func(ctx context.Context, q docstore.Reader, app, user string) (any, error)
	// Scopes returns the scopes of the operation table, which can be granted to applications.
	Scopes func() []string
}

// Slice serves the operations on applications.
type Slice struct {
	model.Deps
	Options
}

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	o.Subdomain = cmp.Or(o.Subdomain, DefaultSubdomain)
	s := &Slice{Deps: d, Options: o}
	model.On(s.Feed, s.appChanged)
	model.On(s.Feed, s.hookDeleted)
	return s
}

// appChanged deletes the keys and the scope grants of a deleted application.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if _, err := s.AppKeys.DeleteWhere(ctx, tx, docstore.Eq(model.AppKeyByApp, e.App)); err != nil {
		return err
	}
	_, err := s.AppGrants.DeleteWhere(ctx, tx, docstore.Eq(model.AppGrantByApp, e.App))
	return err
}

const tag = "Applications"

var (
	readScope        = []string{"svc.apps.read"}
	writeScope       = []string{"svc.apps.manage"}
	grantsReadScope  = []string{"svc.appGrants.read"}
	grantsWriteScope = []string{"svc.appGrants.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return slices.Concat(s.appRoutes(), s.keyRoutes(), s.grantRoutes(), s.pageRoutes(), s.unsupportedRoutes())
}

func (s *Slice) appRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[createRequest, App]{
			ID: "createApplication", Route: "POST /api/v1/apps", Tag: tag, Scopes: writeScope,
			Summary: "Adds an application", Check: s.checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Page[App]]{
			ID: "listApplications", Route: "GET /api/v1/apps", Tag: tag, Scopes: readScope,
			Summary: "Lists applications", Do: s.list,
		},
		rest.Op[ofGroupRequest, rest.Page[App]]{
			ID: "listGroupApplications", Route: "GET /api/v1/groups/{groupId}/apps", Tag: "Groups", Scopes: []string{"svc.groups.read"},
			Summary: "Lists the applications of a group", Find: lookup.Found(s.Store, s.Groups.Get, "UserGroup", (*ofGroupRequest).at),
			Do: s.ofGroup,
		},
		rest.Op[getRequest, App]{
			ID: "getApplication", Route: "GET /api/v1/apps/{appId}", Tag: tag, Scopes: readScope,
			Summary: "Reads an application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at), Do: s.get,
		},
		rest.Op[replaceRequest, App]{
			ID: "replaceApplication", Route: "PUT /api/v1/apps/{appId}", Tag: tag, Scopes: writeScope,
			Summary: "Replaces the writable members of an application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*replaceRequest).at),
			Check: s.checkReplace, Do: s.replace,
		},
		rest.Op[getRequest, rest.NoContent]{
			ID: "deleteApplication", Route: "DELETE /api/v1/apps/{appId}", Tag: tag, Scopes: writeScope,
			Summary: "Deletes an inactive application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at), Do: s.delete,
		},
		rest.Op[getRequest, rest.Empty]{
			ID: "activateApplication", Route: "POST /api/v1/apps/{appId}/lifecycle/activate", Tag: tag, Scopes: writeScope,
			Summary: "Activates an application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at),
			Do: s.setStatus(model.AppActive, audit.AppActivate),
		},
		rest.Op[getRequest, rest.Empty]{
			ID: "deactivateApplication", Route: "POST /api/v1/apps/{appId}/lifecycle/deactivate", Tag: tag, Scopes: writeScope,
			Summary: "Deactivates an application and pauses its provisioning",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at),
			Do:      s.setStatus(model.AppInactive, audit.AppDeactivate),
		},
	}
}

// find reads an application, or returns a 404 error.
func (s *Slice) find(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.App], error) {
	doc, err := s.Apps.Get(ctx, q, id)
	return doc, rest.Missing(err, "AppInstance", id)
}

// log writes a system log entry about an application.
func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, app docstore.Doc[model.App]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.App(app.ID, &app.Value)}})
}
