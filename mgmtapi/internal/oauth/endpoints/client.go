package endpoints

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

// Client is an OAuth client in JSON (RFC 7591).
type Client struct {
	ID     string `json:"client_id" readOnly:"true" doc:"Id of the client."`
	Secret string `json:"client_secret,omitempty" readOnly:"true" doc:"Secret of the client. Returned by the creation only."`

	IssuedAt int64 `json:"client_id_issued_at" readOnly:"true" doc:"When the client was registered, in seconds of Unix time."`

	SecretExpiresAt int64            `json:"client_secret_expires_at" readOnly:"true" doc:"Always 0: secrets do not expire."`
	Name            string           `json:"client_name" readOnly:"true" doc:"Name of the client."`
	Method          model.AuthMethod `json:"token_endpoint_auth_method" readOnly:"true" doc:"Authentication method of the client."`
	model.AppOAuthSettings
	Links rest.Links `json:"_links" readOnly:"true" doc:"Link to the application of the client."`
}

// ClientInput is the body of a new or replaced client.
type ClientInput struct {
	ID string `json:"client_id" empty:"absent" doc:"Id of the replaced client; may be omitted. A new client receives one."`

	Name   string           `json:"client_name" required:"true" max:"100" doc:"Name of the client."`
	Method model.AuthMethod `json:"token_endpoint_auth_method" empty:"absent" doc:"Client authentication. Default: client_secret_basic."`
	model.AppOAuthSettings
}

// applyDefaults sets the defaults of absent members (RFC 7591 section 2) and records errors.
func (in *ClientInput) applyDefaults(causes *rest.Causes) {
	s := &in.AppOAuthSettings
	if in.Method == "" {
		in.Method = model.AuthSecretBasic
	}
	if s.ApplicationType == "" {
		s.ApplicationType = model.OAuthWeb
	}
	if len(s.GrantTypes) == 0 {
		s.GrantTypes = []string{model.GrantAuthorizationCode}
	}
	if len(s.ResponseTypes) == 0 {
		s.ResponseTypes = []string{"token"}
		if slices.Contains(s.GrantTypes, model.GrantAuthorizationCode) {
			s.ResponseTypes = []string{"code"}
		}
	}
	s.Problems(in.Method, causes.Add)
}

func showClient(ctx context.Context, doc docstore.Doc[model.App], secret string) Client {
	oauth := doc.Value.Credentials.OAuthClient
	return Client{
		ID: oauth.ID, Secret: secret, IssuedAt: doc.Created.Unix(), Name: doc.Value.Label, Method: oauth.AuthMethod,
		AppOAuthSettings: *doc.Value.Settings.OAuthClient, Links: rest.Links{"app": rest.To(rest.URL(ctx, "api", "v1", "apps", doc.ID), "GET")},
	}
}

type listClientsRequest struct {
	Q     string `query:"q" doc:"Prefix of the name, ignoring case."`
	Limit int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

func (s *Slice) listClients(ctx context.Context, r *listClientsRequest) (rest.Page[Client], error) {
	query := docstore.Query[model.App]{Where: docstore.NotNull(model.AppByClientID), After: r.After, Limit: r.Limit}
	if prefix := filter.Fold(r.Q); prefix != "" {
		query.Match = func(doc *docstore.Doc[model.App]) bool {
			return strings.HasPrefix(filter.Fold(doc.Value.Label), prefix)
		}
	}
	if visible, match := authz.Apps(ctx), query.Match; visible != nil {
		query.Match = func(doc *docstore.Doc[model.App]) bool {
			return visible(doc.ID, &doc.Value) && (match == nil || match(doc))
		}
	}
	page, err := search.Page(ctx, s.Apps, s.Store.Reader(), query)
	if err != nil {
		return rest.Page[Client]{}, err
	}
	out := rest.Page[Client]{Next: page.Next}
	for _, doc := range page.Docs {
		out.Items = append(out.Items, showClient(ctx, doc, ""))
	}
	return out, nil
}

type createClientRequest struct {
	Body ClientInput `body:"required"`
}

// checkCreateClient validates the settings.
func checkCreateClient(_ context.Context, r *createClientRequest, causes *rest.Causes) error {
	r.Body.applyDefaults(causes)
	return nil
}

func (s *Slice) createClient(ctx context.Context, r *createClientRequest) (Client, error) {
	id := model.NewID(model.KindApp)
	client := model.AppOAuthClient{ID: id, AuthMethod: r.Body.Method}
	secret, err := s.giveSecret(id, &client)
	if err != nil {
		return Client{}, err
	}
	app := model.NewOIDCApp(r.Body.Name, client, r.Body.AppOAuthSettings)
	if err := authz.CreateApp(ctx, app.Name, true); err != nil {
		return Client{}, err
	}
	var doc docstore.Doc[model.App]
	err = s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if doc, err = s.Apps.Insert(ctx, tx, id, app); err != nil {
			return err
		}
		return s.logChange(ctx, tx, audit.AppCreate, doc, model.AppChanged{App: id})
	})
	if err != nil {
		return Client{}, err
	}
	return showClient(ctx, doc, secret), nil
}

// giveSecret generates a secret for a client that needs one and has none, and deletes a secret that is not needed. It returns a new secret.
func (s *Slice) giveSecret(app string, client *model.AppOAuthClient) (string, error) {
	if !client.AuthMethod.Secret() {
		client.SealedSecret = ""
		return "", nil
	}
	if client.SealedSecret != "" {
		return "", nil
	}
	secret := model.NewSecret(model.OAuthSecretLength)
	var err error
	client.SealedSecret, err = s.secrets.Seal(secret, model.OAuthSecretBinding(app))
	return secret, err
}

// logChange logs a change of the application of a client and publishes it to the other slices.
func (s *Slice) logChange(ctx context.Context, tx *docstore.Tx, event audit.Type, doc docstore.Doc[model.App],
	change model.AppChanged) error {
	if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.App(doc.ID, &doc.Value)}}); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, change)
}

// clientTarget is the client in a path.
type clientTarget struct {
	Client string `path:"clientId" doc:"Id of the client."`

	found docstore.Doc[model.App]
}

func (t *clientTarget) self() *clientTarget { return t }

func (s *Slice) findClient(ctx context.Context, q docstore.Reader, t *clientTarget) (err error) {
	t.found, err = s.FindOAuthClient(ctx, q, t.Client)
	return rest.Missing(err, "OAuth2Client", t.Client)
}

func (s *Slice) getClient(ctx context.Context, t *clientTarget) (Client, error) {
	return showClient(ctx, t.found, ""), nil
}

type replaceClientRequest struct {
	clientTarget
	Body ClientInput `body:"required"`
}

// checkReplaceClient validates the settings.
func checkReplaceClient(_ context.Context, r *replaceClientRequest, causes *rest.Causes) error {
	r.Body.applyDefaults(causes)
	if r.Body.ID != "" && r.Body.ID != r.Client {
		causes.Add("client_id", "The client_id must be the same as in the path")
	}
	return nil
}

func (s *Slice) replaceClient(ctx context.Context, r *replaceClientRequest) (Client, error) {
	var secret string
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findClient(ctx, tx, &r.clientTarget); err != nil {
			return err
		}
		app, client := r.found.Value, *r.found.Value.Credentials.OAuthClient
		client.AuthMethod = r.Body.Method
		var err error
		if secret, err = s.giveSecret(r.found.ID, &client); err != nil {
			return err
		}
		app.Label, app.Credentials.OAuthClient, app.Settings.OAuthClient = r.Body.Name, &client, &r.Body.AppOAuthSettings
		if r.found, err = s.Apps.Update(ctx, tx, r.found.ID, r.found.Rev, app); err != nil {
			return err
		}
		return s.logChange(ctx, tx, audit.AppUpdate, r.found, model.AppChanged{App: r.found.ID})
	})
	if err != nil {
		return Client{}, err
	}
	return showClient(ctx, r.found, secret), nil
}

func (s *Slice) deleteClient(ctx context.Context, t *clientTarget) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findClient(ctx, tx, t); err != nil {
			return err
		}
		if err := s.Apps.Delete(ctx, tx, t.found.ID); err != nil {
			return err
		}
		return s.logChange(ctx, tx, audit.AppDelete, t.found, model.AppDeleted(t.found))
	})
}
