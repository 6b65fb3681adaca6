package apps

import (
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
)

// unsupported lists the operations below /api/v1/apps/{appId} that the vendor's API has (docs/howto/client-libraries.md) and this API does
// not implement. Their response is 501. GET requires the scope for reading applications, the other methods the scope for changing them.
var unsupported = []struct{ id, do string }{
	{"listCsrsForApplication", "GET /credentials/csrs"},
	{"generateCsrForApplication", "POST /credentials/csrs"},
	{"getCsrForApplication", "GET /credentials/csrs/{innerId}"},
	{"revokeCsrFromApplication", "DELETE /credentials/csrs/{innerId}"},
	{"publishCsrFromApplication", "POST /credentials/csrs/{innerId}/lifecycle/publish"},
	{"uploadApplicationLogo", "POST /logo"},
	{"listOAuth2ClientSecrets", "GET /credentials/secrets"},
	{"createOAuth2ClientSecret", "POST /credentials/secrets"},
	{"getOAuth2ClientSecret", "GET /credentials/secrets/{innerId}"},
	{"deleteOAuth2ClientSecret", "DELETE /credentials/secrets/{innerId}"},
	{"activateOAuth2ClientSecret", "POST /credentials/secrets/{innerId}/lifecycle/activate"},
	{"deactivateOAuth2ClientSecret", "POST /credentials/secrets/{innerId}/lifecycle/deactivate"},
	{"listFederatedClaims", "GET /federated-claims"},
	{"createFederatedClaim", "POST /federated-claims"},
	{"getFederatedClaim", "GET /federated-claims/{innerId}"},
	{"replaceFederatedClaim", "PUT /federated-claims/{innerId}"},
	{"deleteFederatedClaim", "DELETE /federated-claims/{innerId}"},
	{"getAllCrossAppAccessConnections", "GET /cwo/connections"},
	{"createCrossAppAccessConnection", "POST /cwo/connections"},
	{"getCrossAppAccessConnection", "GET /cwo/connections/{innerId}"},
	{"updateCrossAppAccessConnection", "PATCH /cwo/connections/{innerId}"},
	{"deleteCrossAppAccessConnection", "DELETE /cwo/connections/{innerId}"},
	{"assignApplicationPolicy", "PUT /policies/{innerId}"},
}

type innerRequest struct {
	getRequest
	InnerID string `path:"innerId" doc:"Id of the object below the application."`
}

func (s *Slice) unsupportedRoutes() []rest.Route {
	routes := make([]rest.Route, len(unsupported))
	for i, u := range unsupported {
		method, path, _ := strings.Cut(u.do, " ")
		route, scopes := method+" /api/v1/apps/{appId}"+path, writeScope
		if method == "GET" {
			scopes = readScope
		}
		if strings.Contains(path, "{innerId}") {
			routes[i] = rest.Unsupported[innerRequest]{ID: u.id, Route: route, Scopes: scopes,
				Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*innerRequest).at)}
			continue
		}
		routes[i] = rest.Unsupported[getRequest]{ID: u.id, Route: route, Scopes: scopes,
			Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at)}
	}
	return routes
}
