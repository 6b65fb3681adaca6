package endpoints

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// Options configure the slice.
type Options struct {
	// Keys are the signing keys of the servers. Required.
	Keys *tokens.Keys
	// Domains selects the issuers.
	Domains tokens.Domains
	// Secrets decrypts the secrets of clients. Required.
	Secrets seal.Secrets
	// Transformer changes tokens whose rules name an inline hook. Default: none.
	Transformer tokens.Transformer
	// Hook verifies passwords that are stored in another system. Default: none; users with such a password receive no tokens for it.
	Hook password.Hook
	// HashCost is the bcrypt cost of passwords. Default: bcrypt.DefaultCost.
	HashCost int
	// Logger receives the error if the event of a rejected request cannot be written. Default: none.
	Logger *slog.Logger
}

// Slice serves the OAuth endpoints.
type Slice struct {
	model.Deps
	keys     *tokens.Keys
	domains  tokens.Domains
	issuer   *tokens.Issuer
	clients  *tokens.Clients
	secrets  seal.Secrets
	hasher   password.Hasher
	hook     password.Hook
	logger   *slog.Logger
	refusals *rate.Limiter // limits how many rejections are logged
}

// maxRefusals is the number of rejected requests that are logged in a burst; after that, one per second is logged.
const maxRefusals = 60

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Slice{
		Deps: d, keys: o.Keys, domains: o.Domains, issuer: tokens.New(d, o.Keys, tokens.Options{Transformer: o.Transformer}),
		clients: &tokens.Clients{Deps: d, Secrets: o.Secrets}, secrets: o.Secrets, hasher: password.Hasher{Cost: o.HashCost}, hook: o.Hook,
		logger:   o.Logger,
		refusals: rate.NewLimiter(rate.Every(time.Second), maxRefusals),
	}
}

const (
	tag       = "OAuth"
	clientTag = "OAuth clients"

	custom    = " /oauth2/{authServerId}"
	orgServer = " /oauth2"
	clients   = " /oauth2/v1/clients"
)

var (
	readScope  = []string{"svc.clients.read"}
	writeScope = []string{"svc.clients.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return append(s.unserved(),
		rest.Op[serverRequest, Metadata]{ID: "getWellKnownOAuthConfigurationCustomAS",
			Route: "GET" + custom + "/.well-known/oauth-authorization-server", Tag: tag, Public: true, OAuth: true,
			Summary: "Describes a custom authorization server (RFC 8414)", Find: lookup.In(s.Store, s.findIssuing, (*serverRequest).self),
			Do: s.metadata},
		rest.Op[serverRequest, OpenIDMetadata]{ID: "getWellKnownOpenIDConfigurationCustomAS",
			Route: "GET" + custom + "/.well-known/openid-configuration", Tag: tag, Public: true, OAuth: true,
			Summary: "Describes a custom authorization server as an OpenID provider",
			Find:    lookup.In(s.Store, s.findIssuing, (*serverRequest).self),
			Do:      s.openID},
		rest.Op[struct{}, Metadata]{ID: "getWellKnownOAuthConfiguration", Route: "GET /.well-known/oauth-authorization-server", Tag: tag,
			Public: true, OAuth: true,
			Summary: "Describes the org authorization server (RFC 8414)", Find: checkHost[struct{}], Do: s.orgMetadata},
		rest.Op[struct{}, OpenIDMetadata]{ID: "getWellKnownOpenIDConfiguration", Route: "GET /.well-known/openid-configuration", Tag: tag,
			Public: true, OAuth: true,
			Summary: "Describes the org authorization server as an OpenID provider", Find: checkHost[struct{}], Do: s.orgOpenID},
		rest.Op[serverRequest, KeySet]{ID: "oauthKeysCustomAS", Route: "GET" + custom + "/v1/keys", Tag: tag, Public: true, OAuth: true,
			Summary: "Lists the public signing keys of a custom authorization server",
			Find:    lookup.In(s.Store, s.findActive, (*serverRequest).self),
			Do:      s.keySet},
		rest.Op[struct{}, KeySet]{ID: "oauthKeys", Route: "GET" + orgServer + "/v1/keys", Tag: tag, Public: true, OAuth: true,
			Summary: "Lists the public signing keys of the org authorization server", Do: s.orgKeySet},
		rest.Op[tokenRequest, TokenResponse]{ID: "tokenCustomAS", Route: "POST" + custom + "/v1/token", Tag: tag, Public: true, OAuth: true,
			Summary: "Issues tokens of a custom authorization server", Description: "Grant types: client_credentials, password and refresh_token.",
			Find: lookup.In(s.Store, s.findIssuing, (*tokenRequest).self), Do: s.token},
		rest.Op[orgTokenRequest, TokenResponse]{ID: "token", Route: "POST" + orgServer + "/v1/token", Tag: tag, Public: true, OAuth: true,
			Summary:     "Issues access tokens for this API",
			Description: "Grant type: client_credentials, with the scopes that the application was granted.", Find: checkHost[orgTokenRequest],
			Do: s.orgToken},
		rest.Op[introspectRequest, Introspection]{ID: "introspectCustomAS", Route: "POST" + custom + "/v1/introspect", Tag: tag, Public: true,
			OAuth:   true,
			Summary: "Introspects a token of a custom authorization server (RFC 7662)",
			Find:    lookup.In(s.Store, s.findIssuing, (*introspectRequest).self), Do: s.introspect},
		rest.Op[revokeRequest, rest.NoContent]{ID: "revokeCustomAS", Route: "POST" + custom + "/v1/revoke", Tag: tag, Public: true, OAuth: true,
			Status:  http.StatusOK,
			Summary: "Revokes a token of a custom authorization server (RFC 7009)",
			Find:    lookup.In(s.Store, s.findIssuing, (*revokeRequest).self),
			Do:      s.revoke},

		rest.Op[orgPresented, Introspection]{ID: "introspect", Route: "POST" + orgServer + "/v1/introspect", Tag: tag, Public: true, OAuth: true,
			Summary: "Introspects a token of the org authorization server (RFC 7662)", Find: checkHost[orgPresented], Do: s.introspectOrg},
		rest.Op[orgPresented, rest.NoContent]{ID: "revoke", Route: "POST" + orgServer + "/v1/revoke", Tag: tag, Public: true, OAuth: true,
			Status:  http.StatusOK,
			Summary: "Revokes a token of the org authorization server (RFC 7009)", Find: checkHost[orgPresented], Do: s.revokeOrg},

		rest.Op[listClientsRequest, rest.Page[Client]]{ID: "listClients", Route: "GET" + clients, Tag: clientTag, Scopes: readScope,
			Summary: "Lists the OAuth clients", Do: s.listClients},
		rest.Op[createClientRequest, Client]{ID: "createClient", Route: "POST" + clients, Tag: clientTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Registers an OAuth client (RFC 7591)", Description: "The client is an application with the sign-on mode OPENID_CONNECT.",
			Check: checkCreateClient, Do: s.createClient},
		rest.Op[clientTarget, Client]{ID: "getClient", Route: "GET" + clients + "/{clientId}", Tag: clientTag, Scopes: readScope,
			Summary: "Reads an OAuth client", Find: lookup.In(s.Store, s.findClient, (*clientTarget).self), Do: s.getClient},
		rest.Op[replaceClientRequest, Client]{ID: "replaceClient", Route: "PUT" + clients + "/{clientId}", Tag: clientTag, Scopes: writeScope,
			Summary: "Replaces the settings of an OAuth client", Find: lookup.In(s.Store, s.findClient, (*replaceClientRequest).self),
			Check: checkReplaceClient, Do: s.replaceClient},
		rest.Op[clientTarget, rest.NoContent]{ID: "deleteClient", Route: "DELETE" + clients + "/{clientId}", Tag: clientTag, Scopes: writeScope,
			Summary: "Deletes an OAuth client with its application", Find: lookup.In(s.Store, s.findClient, (*clientTarget).self),
			Do: s.deleteClient},
	)
}

// authorize is the last segment of authorization endpoints.
const authorize = "authorize"

// unserved are the endpoints for browsers and for flows that start in a browser. Their responses state that they are not supported. OpenID
// providers must name an authorization endpoint; its error has the format of RFC 6749 section 4.1.2.1.
func (s *Slice) unserved() []rest.Route {
	var routes []rest.Route
	for _, name := range []string{authorize, "userinfo", "logout"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			id := name
			if method == http.MethodPost {
				id += "WithPost"
			}
			at := func(server string) string { return method + server + "/v1/" + name }
			if name == authorize {
				routes = append(routes,
					rest.Unsupported[customAuthorizeRequest]{
						ID: id + "CustomAS", Route: at(custom), OAuth: true, Find: lookup.In(s.Store, s.findActive, (*customAuthorizeRequest).self),
						Error: func(r *customAuthorizeRequest) error { return r.refusal(grantTypes) },
					},
					rest.Unsupported[authorizeRequest]{
						ID: id, Route: at(orgServer), OAuth: true,
						Error: func(r *authorizeRequest) error { return r.refusal(orgGrantTypes) },
					},
				)
				continue
			}
			routes = append(routes,
				rest.Unsupported[serverRequest]{ID: id + "CustomAS", Route: at(custom), OAuth: true,
					Find: lookup.In(s.Store, s.findActive, (*serverRequest).self)},
				rest.Unsupported[struct{}]{ID: id, Route: at(orgServer), OAuth: true},
			)
		}
	}
	return routes
}

// authorizeRequest holds the parameters of an authorization request.
type authorizeRequest struct {
	ResponseType string `form:"response_type" max:"100" doc:"Requested response type."`
	ClientID     string `form:"client_id" max:"200" doc:"Id of the client."`
}

type customAuthorizeRequest struct {
	serverRequest
	authorizeRequest
}

// refusal returns the error of an authorization request. grants are the grant types of the server.
func (r *authorizeRequest) refusal(grants []string) error {
	switch {
	case r.ClientID == "":
		return rest.OAuthFail(rest.OAuthInvalidRequest, "client_id is missing.")
	case r.ResponseType == "":
		return rest.OAuthFail(rest.OAuthInvalidRequest, "response_type is missing.")
	}
	return rest.OAuthFail(rest.OAuthResponseType, "No response type is supported, because there is no sign-in page for browsers. "+
		"Request tokens at the token endpoint with the grant type "+strings.Join(grants, ", ")+".")
}

// serverRequest identifies a custom authorization server.
type serverRequest struct {
	Server string `path:"authServerId" doc:"Id of the authorization server, or default."`

	found  docstore.Doc[model.AuthServer]
	issuer string // set by findIssuing
}

func (r *serverRequest) self() *serverRequest { return r }

// findActive finds the server. A server that is not active is an error.
func (s *Slice) findActive(ctx context.Context, q docstore.Reader, r *serverRequest) (err error) {
	r.found, err = s.FindAuthServer(ctx, q, r.Server)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return rest.NotFound("AuthorizationServer", r.Server)
	case err != nil:
		return err
	case r.found.Value.Status != model.Active:
		return rest.OAuthFail(rest.OAuthInvalidRequest, "The authorization server is not active.")
	}
	return nil
}

// findIssuing is findActive for operations whose response depends on the issuer: it also sets the issuer, and rejects hosts that the
// service does not serve.
func (s *Slice) findIssuing(ctx context.Context, q docstore.Reader, r *serverRequest) error {
	if err := rest.CheckHost(ctx); err != nil {
		return err
	}
	err := s.findActive(ctx, q, r)
	r.issuer = s.domains.Issuer(ctx, r.found)
	return err
}

// checkHost replaces findIssuing for the org server, which is not stored: it only returns an error if the service does not serve the
// requested host.
func checkHost[Req any](ctx context.Context, _ *Req) error { return rest.CheckHost(ctx) }
