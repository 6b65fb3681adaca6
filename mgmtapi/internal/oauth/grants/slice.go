package grants

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves refresh tokens and consents.
type Slice struct{ model.Deps }

// New returns the slice and subscribes its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeactivated) error {
		return s.revokeOfUser(ctx, tx, e.ID)
	})
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.SessionsCleared) error {
		if !e.Tokens {
			return nil
		}
		return s.revokeOfUser(ctx, tx, e.User)
	})
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
		return s.remove(ctx, tx, docstore.Eq(model.RefreshTokenByUser, e.ID), docstore.Eq(model.ConsentByUser, e.ID))
	})
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
		if !e.Deleted {
			return nil
		}
		return s.remove(ctx, tx, docstore.Eq(model.RefreshTokenByApp, e.App), docstore.Eq(model.ConsentByApp, e.App))
	})
	return s
}

// revokeOfUser revokes the refresh tokens of a user who was deactivated or deleted, or whose sessions were cleared together with the
// tokens.
func (s *Slice) revokeOfUser(ctx context.Context, tx *docstore.Tx, user string) error {
	tokens, err := s.RevokeTokens(ctx, tx, docstore.Eq(model.RefreshTokenByUser, user), nil)
	if err != nil {
		return err
	}
	return s.logTokens(ctx, tx, tokens)
}

// remove deletes the tokens and consents of a deleted object.
func (s *Slice) remove(ctx context.Context, tx *docstore.Tx, tokens, consents docstore.Cond) error {
	if _, err := s.RefreshTokens.DeleteWhere(ctx, tx, tokens); err != nil {
		return err
	}
	_, err := s.Consents.DeleteWhere(ctx, tx, consents)
	return err
}

func (s *Slice) logTokens(ctx context.Context, tx *docstore.Tx, tokens []docstore.Doc[model.RefreshToken]) error {
	for _, t := range tokens {
		if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.OAuthRevoke, Targets: []model.LogParty{audit.RefreshToken(t)}}); err !=
			nil {
			return err
		}
	}
	return nil
}

var (
	usersRead   = []string{"svc.users.read"}
	usersWrite  = []string{"svc.users.manage"}
	appsRead    = []string{"svc.apps.read"}
	appsWrite   = []string{"svc.apps.manage"}
	serverRead  = []string{"svc.authorizationServers.read"}
	serverWrite = []string{"svc.authorizationServers.manage"}
)

const (
	user       = " /api/v1/users/{user}"
	userClient = user + "/clients/{clientId}"
	userGrant  = user + "/grants/{grantId}"
	app        = " /api/v1/apps/{appId}/tokens"
	server     = " /api/v1/authorizationServers/{authServerId}/clients"
	client     = server + "/{clientId}/tokens"

	userTag   = "User grants and tokens"
	appTag    = "Application tokens"
	serverTag = "Authorization server clients"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[userRequest, []Client]{ID: "listUserClients", Route: "GET" + user + "/clients", Tag: userTag, Scopes: usersRead,
			Summary: "Lists the clients that hold a consent or a refresh token of a user", Find: find[userRequest](s), Do: s.clientsOfUser},

		rest.Op[userGrantsRequest, rest.Page[Grant]]{ID: "listUserGrants", Route: "GET" + user + "/grants", Tag: userTag, Scopes: usersRead,
			Summary: "Lists the consents of a user", Find: find[userGrantsRequest](s), Do: s.grantsOfUser},
		rest.Op[userRequest, rest.NoContent]{ID: "revokeUserGrants", Route: "DELETE" + user + "/grants", Tag: userTag, Scopes: usersWrite,
			Summary: "Revokes all consents of a user, with the refresh tokens that use them", Find: find[userRequest](s), Do: s.withdrawOfUser},
		rest.Op[userGrantReading, Grant]{ID: "getUserGrant", Route: "GET" + userGrant, Tag: userTag, Scopes: usersRead,
			Summary: "Reads a consent", Find: find[userGrantReading](s), Do: s.grant},
		rest.Op[userGrantRequest, rest.NoContent]{ID: "revokeUserGrant", Route: "DELETE" + userGrant, Tag: userTag, Scopes: usersWrite,
			Summary: "Revokes a consent, with the refresh tokens that use it", Find: find[userGrantRequest](s), Do: s.withdraw},

		rest.Op[clientGrantsRequest, rest.Page[Grant]]{ID: "listGrantsForUserAndClient", Route: "GET" + userClient + "/grants", Tag: userTag,
			Scopes:  usersRead,
			Summary: "Lists the consents of a user for a client", Find: find[clientGrantsRequest](s), Do: s.grantsForClient},
		rest.Op[userClientRequest, rest.NoContent]{ID: "revokeGrantsForUserAndClient", Route: "DELETE" + userClient + "/grants", Tag: userTag,
			Scopes:  usersWrite,
			Summary: "Revokes the consents of a user for a client, with the refresh tokens that use them", Find: find[userClientRequest](s),
			Do: s.withdrawForClient},
		rest.Op[userTokensRequest, rest.Page[RefreshToken]]{ID: "listRefreshTokensForUserAndClient", Route: "GET" + userClient + "/tokens",
			Tag: userTag, Scopes: usersRead,
			Summary: "Lists the refresh tokens that a client holds for a user", Find: find[userTokensRequest](s), Do: list[userTokensRequest](s)},
		rest.Op[userClientRequest, rest.NoContent]{ID: "revokeTokensForUserAndClient", Route: "DELETE" + userClient + "/tokens", Tag: userTag,
			Scopes:  usersWrite,
			Summary: "Revokes the refresh tokens that a client holds for a user", Find: find[userClientRequest](s),
			Do: revokeAll[userClientRequest](s)},
		rest.Op[userTokenReading, RefreshToken]{ID: "getRefreshTokenForUserAndClient", Route: "GET" + userClient + "/tokens/{tokenId}",
			Tag: userTag, Scopes: usersRead,
			Summary: "Reads a refresh token that a client holds for a user", Find: find[userTokenReading](s), Do: read[userTokenReading](s)},
		rest.Op[userTokenRequest, rest.NoContent]{ID: "revokeTokenForUserAndClient", Route: "DELETE" + userClient + "/tokens/{tokenId}",
			Tag: userTag, Scopes: usersWrite,
			Summary: "Revokes a refresh token that a client holds for a user", Find: find[userTokenRequest](s), Do: revokeOne[userTokenRequest](s)},

		rest.Op[appTokensRequest, rest.Page[RefreshToken]]{ID: "listOAuth2TokensForApplication", Route: "GET" + app, Tag: appTag,
			Scopes:  appsRead,
			Summary: "Lists the refresh tokens of an application", Find: find[appTokensRequest](s), Do: list[appTokensRequest](s)},
		rest.Op[appRequest, rest.NoContent]{ID: "revokeOAuth2TokensForApplication", Route: "DELETE" + app, Tag: appTag, Scopes: appsWrite,
			Summary: "Revokes the refresh tokens of an application", Find: find[appRequest](s), Do: revokeAll[appRequest](s)},
		rest.Op[appTokenReading, RefreshToken]{ID: "getOAuth2TokenForApplication", Route: "GET" + app + "/{tokenId}", Tag: appTag,
			Scopes:  appsRead,
			Summary: "Reads a refresh token of an application", Find: find[appTokenReading](s), Do: read[appTokenReading](s)},
		rest.Op[appTokenRequest, rest.NoContent]{ID: "revokeOAuth2TokenForApplication", Route: "DELETE" + app + "/{tokenId}", Tag: appTag,
			Scopes:  appsWrite,
			Summary: "Revokes a refresh token of an application", Find: find[appTokenRequest](s), Do: revokeOne[appTokenRequest](s)},

		rest.Op[serverRequest, []Client]{ID: "listOAuth2ClientsForAuthorizationServer", Route: "GET" + server, Tag: serverTag, Scopes: serverRead,
			Summary: "Lists the clients that hold refresh tokens of a server", Find: find[serverRequest](s), Do: s.clientsOfServer},
		rest.Op[serverTokensRequest, rest.Page[RefreshToken]]{ID: "listRefreshTokensForAuthorizationServerAndClient", Route: "GET" + client,
			Tag: serverTag, Scopes: serverRead,
			Summary: "Lists the refresh tokens of a client at a server", Find: find[serverTokensRequest](s), Do: list[serverTokensRequest](s)},
		rest.Op[serverClientRequest, rest.NoContent]{ID: "revokeRefreshTokensForAuthorizationServerAndClient", Route: "DELETE" + client,
			Tag: serverTag, Scopes: serverWrite,
			Summary: "Revokes the refresh tokens of a client at a server", Find: find[serverClientRequest](s),
			Do: revokeAll[serverClientRequest](s)},
		rest.Op[serverTokenReading, RefreshToken]{ID: "getRefreshTokenForAuthorizationServerAndClient", Route: "GET" + client + "/{tokenId}",
			Tag: serverTag, Scopes: serverRead,
			Summary: "Reads a refresh token of a client at a server", Find: find[serverTokenReading](s), Do: read[serverTokenReading](s)},
		rest.Op[serverTokenRequest, rest.NoContent]{ID: "revokeRefreshTokenForAuthorizationServerAndClient",
			Route: "DELETE" + client + "/{tokenId}", Tag: serverTag, Scopes: serverWrite,
			Summary: "Revokes a refresh token of a client at a server", Find: find[serverTokenRequest](s), Do: revokeOne[serverTokenRequest](s)},
	}
}

// holder is the object in a path whose tokens are served: a user, an application or a server, optionally with a client.
type holder interface {
	// resolve finds the objects in the path.
	resolve(ctx context.Context, s *Slice, q docstore.Reader) error
	// tokens returns the condition for the tokens of the object.
	tokens() docstore.Cond
}

// found holds the condition for the tokens that a request concerns. resolve sets it.
type found struct{ where docstore.Cond }

func (f *found) tokens() docstore.Cond { return f.where }

// find is the Find function of every request.
func find[R any, H interface {
	*R
	holder
}](s *Slice) func(ctx context.Context, r *R) error {
	return func(ctx context.Context, r *R) error { return H(r).resolve(ctx, s, s.Store.Reader()) }
}

type userRequest struct {
	User string `path:"user" doc:"Id or login of the user."`

	found
	id string
}

func (r *userRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	doc, err := callers.FindUser(ctx, s.Deps, q, r.User)
	r.id, r.where = doc.ID, docstore.Eq(model.RefreshTokenByUser, doc.ID)
	return err
}

type userClientRequest struct {
	userRequest
	Client string `path:"clientId" doc:"Id of the client."`
}

func (r *userClientRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.userRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	r.where = docstore.All(r.where, docstore.Eq(model.RefreshTokenByClient, r.Client))
	return s.findClient(ctx, q, r.Client)
}

func (s *Slice) findClient(ctx context.Context, q docstore.Reader, id string) error {
	_, err := s.FindOAuthClient(ctx, q, id)
	return rest.Missing(err, "OAuth2Client", id)
}

type appRequest struct {
	App string `path:"appId" doc:"Id of the application."`

	found
}

func (r *appRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	_, err := s.Apps.Get(ctx, q, r.App)
	r.where = docstore.Eq(model.RefreshTokenByApp, r.App)
	return rest.Missing(err, "AppInstance", r.App)
}

type serverRequest struct {
	Server string `path:"authServerId" doc:"Id of the authorization server, or default."`

	found
	id string
}

func (r *serverRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	doc, err := s.FindAuthServer(ctx, q, r.Server)
	r.id, r.where = doc.ID, docstore.Eq(model.RefreshTokenByServer, doc.ID)
	return rest.Missing(err, "AuthorizationServer", r.Server)
}

type serverClientRequest struct {
	serverRequest
	Client string `path:"clientId" doc:"Id of the client."`
}

func (r *serverClientRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.serverRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	r.where = docstore.All(r.where, docstore.Eq(model.RefreshTokenByClient, r.Client))
	return s.findClient(ctx, q, r.Client)
}

// paging holds the parameters of lists of tokens.
type paging struct {
	Expand string `query:"expand" doc:"The value scope adds the details of the scopes to the response."`
	Limit  int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After  string `query:"after" doc:"Cursor from the link to the next page."`
}

func (p *paging) page() *paging { return p }

type userTokensRequest struct {
	userClientRequest
	paging
}

type appTokensRequest struct {
	appRequest
	paging
}

type serverTokensRequest struct {
	serverClientRequest
	paging
}

// tokenID is the token in a path.
type tokenID struct {
	Token string `path:"tokenId" doc:"Id of the refresh token."`

	doc docstore.Doc[model.RefreshToken]
}

func (t *tokenID) token() *tokenID { return t }

// load finds the token among those of a holder.
func (t *tokenID) load(ctx context.Context, s *Slice, q docstore.Reader, where docstore.Cond) error {
	page, err := s.RefreshTokens.Query(ctx, q, docstore.Query[model.RefreshToken]{Where: docstore.All(where, docstore.IDs(t.Token)), Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Docs) == 0 {
		return rest.NotFound("OAuth2RefreshToken", t.Token)
	}
	t.doc = page.Docs[0]
	return nil
}

// expansion is the parameter expand of a single token or consent.
type expansion struct {
	Expand string `query:"expand" doc:"The value scope adds the details of the scopes to the response."`
}

func (e *expansion) expand() string { return e.Expand }

type userTokenReading struct {
	userTokenRequest
	expansion
}

type appTokenReading struct {
	appTokenRequest
	expansion
}

type serverTokenReading struct {
	serverTokenRequest
	expansion
}

type userTokenRequest struct {
	userClientRequest
	tokenID
}

func (r *userTokenRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.userClientRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	return r.load(ctx, s, q, r.where)
}

type appTokenRequest struct {
	appRequest
	tokenID
}

func (r *appTokenRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.appRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	return r.load(ctx, s, q, r.where)
}

type serverTokenRequest struct {
	serverClientRequest
	tokenID
}

func (r *serverTokenRequest) resolve(ctx context.Context, s *Slice, q docstore.Reader) error {
	if err := r.serverClientRequest.resolve(ctx, s, q); err != nil {
		return err
	}
	return r.load(ctx, s, q, r.where)
}
