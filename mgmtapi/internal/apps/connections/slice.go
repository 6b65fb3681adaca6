package connections

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Endpoint is a SCIM service provider with the credentials to reach it.
type Endpoint struct {
	App     string // the application of the target
	BaseURL string
	Header  model.HeaderFormat
	// Token is the secret in plaintext: the token, or the secret of the OAuth client. It must not be logged.
	Token string
	OAuth *model.ConnectionOAuth // nil means that Token is sent as it is
}

// ConnectionTester verifies that a SCIM service provider works: a request for the first page of users must return a list response within a
// few seconds. The text of the error is shown to clients, so it must not contain the token.
type ConnectionTester interface {
	TestConnection(ctx context.Context, e Endpoint) error
}

// Options configure the slice.
type Options struct {
	// Secrets encrypts the tokens of connections.
	Secrets seal.Secrets
	// Tester verifies connections. Default: a tester that always fails, because only a verified connection may be activated.
	Tester ConnectionTester
	// Rescheduled is called before the commit of a changed schedule of imports. Default: none; the schedule is found at the next periodic run.
	Rescheduled func()
}

// Slice serves the operations on connections, features and group push.
type Slice struct {
	model.Deps
	Options
}

// New returns the slice and registers its event handlers.
func New(d model.Deps, o Options) *Slice {
	if o.Tester == nil {
		o.Tester = noTester{}
	}
	s := &Slice{Deps: d, Options: o}
	s.react()
	return s
}

// noTester fails for every connection.
type noTester struct{}

// TestConnection implements ConnectionTester.
func (noTester) TestConnection(context.Context, Endpoint) error {
	return errors.New("this service cannot verify connections")
}

const (
	connectionTag = "Application connections"
	featureTag    = "Application features"
	pushTag       = "Group push"
)

var (
	readScope      = []string{"svc.apps.read"}
	writeScope     = []string{"svc.apps.manage"}
	pushReadScope  = []string{"svc.apps.read", "svc.groups.read"}
	pushWriteScope = []string{"svc.apps.manage", "svc.groups.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	const (
		connection = "/api/v1/apps/{appId}/connections/default"
		features   = "/api/v1/apps/{appId}/features"
		mappings   = "/api/v1/apps/{appId}/group-push/mappings"
	)
	return []rest.Route{
		rest.Op[appRequest, Connection]{
			ID: "getDefaultConnection", Route: "GET " + connection, Tag: connectionTag, Scopes: readScope,
			Summary: "Reads the provisioning connection", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*appRequest).at),
			Do: s.getConnection,
		},
		rest.Op[connectionRequest, Connection]{
			ID: "updateDefaultConnection", Route: "POST " + connection, Tag: connectionTag, Scopes: writeScope,
			Summary: "Configures the provisioning connection", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*connectionRequest).at),
			Check: checkConnection, Do: s.setConnection,
		},
		rest.Op[appRequest, rest.NoContent]{
			ID: "activateDefaultConnection", Route: "POST " + connection + "/lifecycle/activate", Tag: connectionTag, Scopes: writeScope,
			Summary: "Verifies and activates the provisioning connection",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*appRequest).at),
			Do:      s.activate,
		},
		rest.Op[appRequest, rest.NoContent]{
			ID: "deactivateDefaultConnection", Route: "POST " + connection + "/lifecycle/deactivate", Tag: connectionTag, Scopes: writeScope,
			Summary: "Deactivates the provisioning connection and stops its traffic",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*appRequest).at), Do: s.deactivate,
		},

		rest.Op[appRequest, []Feature]{
			ID: "listFeatures", Route: "GET " + features, Tag: featureTag, Scopes: readScope,
			Summary: "Lists the provisioning features",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*appRequest).at), Do: s.listFeatures,
		},
		rest.Op[featureRequest, Feature]{
			ID: "getFeature", Route: "GET " + features + "/{featureName}", Tag: featureTag, Scopes: readScope,
			Summary: "Reads a provisioning feature", Find: s.findForFeature, Do: s.getFeature,
		},
		rest.Op[featureUpdate, Feature]{
			ID: "updateFeature", Route: "PUT " + features + "/{featureName}", Tag: featureTag, Scopes: writeScope,
			Summary: "Changes the capabilities of a provisioning feature that are sent", Find: s.findForFeatureUpdate, Check: checkFeatureUpdate,
			Do: s.updateFeature,
		},

		rest.Op[listMappingsRequest, rest.Page[PushMapping]]{
			ID: "listGroupPushMappings", Route: "GET " + mappings, Tag: pushTag, Scopes: pushReadScope,
			Summary: "Lists the group push mappings", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*listMappingsRequest).at),
			Do: s.listMappings,
		},
		rest.Op[createMappingRequest, PushMapping]{
			ID: "createGroupPushMapping", Route: "POST " + mappings, Tag: pushTag, Scopes: pushWriteScope, Status: 201,
			Summary: "Pushes a group to the target", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*createMappingRequest).at),
			Check: checkCreateMapping, Do: s.createMapping,
		},
		rest.Op[mappingRequest, PushMapping]{
			ID: "getGroupPushMapping", Route: "GET " + mappings + "/{mappingId}", Tag: pushTag, Scopes: pushReadScope,
			Summary: "Reads a group push mapping", Find: lookup.In(s.Store, s.findForMapping, (*mappingRequest).self), Do: s.getMapping,
		},
		rest.Op[patchMappingRequest, PushMapping]{
			ID: "updateGroupPushMapping", Route: "PATCH " + mappings + "/{mappingId}", Tag: pushTag, Scopes: pushWriteScope,
			Summary: "Pauses or resumes a group push mapping", Find: lookup.In(s.Store, s.findForMapping, (*patchMappingRequest).self),
			Do: s.patchMapping,
		},
		rest.Op[deleteMappingRequest, rest.NoContent]{
			ID: "deleteGroupPushMapping", Route: "DELETE " + mappings + "/{mappingId}", Tag: pushTag, Scopes: pushWriteScope,
			Summary: "Deletes a group push mapping that is not active", Find: lookup.In(s.Store, s.findForMapping, (*deleteMappingRequest).self),
			Do: s.deleteMapping,
		},
	}
}

type appRequest struct {
	AppID string `path:"appId" doc:"Id of the application."`

	app docstore.Doc[model.App]
}

func (r *appRequest) at() (string, *docstore.Doc[model.App]) { return r.AppID, &r.app }

func (s *Slice) findApp(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.App], error) {
	doc, err := s.Apps.Get(ctx, q, id)
	return doc, rest.Missing(err, "AppInstance", id)
}

// connection reads the connection of an application. For an application without a connection, it returns a document with revision 0.
func (s *Slice) connection(ctx context.Context, q docstore.Reader, app string) (docstore.Doc[model.Connection], error) {
	doc, err := s.Connections.Get(ctx, q, app)
	if errors.Is(err, docstore.ErrNotFound) {
		return docstore.Doc[model.Connection]{ID: app}, nil
	}
	return doc, err
}
