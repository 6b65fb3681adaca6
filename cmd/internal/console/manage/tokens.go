package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	tokensPath  = "/api/v1/api-tokens"
	clientsPath = "/oauth2/v1/clients"
)

// apiToken is an API token without its secret.
type apiToken struct {
	ID, Name, UserID, ClientName    string
	Created, LastUpdated, ExpiresAt time.Time
	Owner                           string // login of the owner
}

// oauthClient is an OAuth client.
type oauthClient struct {
	ID        string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Issued    int64    `json:"client_id_issued_at"`
	Type      string   `json:"application_type"`
	Grants    []string `json:"grant_types"`
	Method    string   `json:"token_endpoint_auth_method"`
	Redirects []string `json:"redirect_uris"`
}

// Created returns the time of the registration.
func (c oauthClient) Created() time.Time { return time.Unix(c.Issued, 0) }

func (m *Manage) tokens() subject {
	return subject{
		links:     []console.Link{{Label: "Tokens", Path: "/tokens", Key: "t"}},
		actions:   tokenActions,
		templates: []string{"tokens"},
		pages:     map[string]console.Page{"/tokens": m.tokenList},
	}
}

// TokensPage lists API tokens and OAuth clients.
type TokensPage struct {
	NoTokens, NoClients bool // the caller may not read them
	Tokens              []apiToken
	Query               string
	Clients             []oauthClient
	Next                template.URL
}

// maxOwners is the maximum number of owners of tokens whose logins the page shows.
const maxOwners = 50

func (m *Manage) tokenList(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	ctx, c := r.Context(), m.frame.Management(v)
	p := TokensPage{Query: search(r)}
	err := c.Do(ctx, http.MethodGet, tokensPath, nil, &p.Tokens)
	if p.NoTokens = denied(err); err != nil && !p.NoTokens {
		m.frame.Problem(w, r, v, err)
		return
	}
	slices.SortFunc(p.Tokens, func(a, b apiToken) int { return b.Created.Compare(a.Created) })
	logins := map[string]string{}
	for i := range p.Tokens {
		id := p.Tokens[i].UserID
		if _, known := logins[id]; !known && len(logins) < maxOwners {
			u, err := readUser(ctx, c, id)
			logins[id] = id
			if err == nil {
				logins[id] = u.Login()
			}
		}
		p.Tokens[i].Owner = logins[id]
		if p.Tokens[i].Owner == "" {
			p.Tokens[i].Owner = id
		}
	}
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	for _, name := range []string{"q", "after"} {
		if text := r.URL.Query().Get(name); text != "" {
			query.Set(name, text)
		}
	}
	next, err := m.frame.List(ctx, v, clientsPath, query, &p.Clients)
	if p.NoClients = denied(err); err != nil && !p.NoClients {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.Next = console.Query("q", p.Query, "after", next)
	}
	m.frame.Write(w, r, v, "tokens", "Tokens", p)
}

var tokenActions = map[string]console.Row{
	"createAPIToken": {
		Label: "New API token", Submit: "Create",
		What:   "Creates a token that has the permissions of its owner. It expires 30 days after its last use.",
		Method: http.MethodPost, Path: "/sandbox/v1/api-tokens", Access: engine.AccessFleet,
		Fields: []console.Field{
			{Name: "name", Label: "Name", Required: true, Help: "What the token is for."},
			{Name: "userId", Label: "Owner", Required: true, Default: "me", Help: "Login or id of the user whose permissions the token has. " +
				"The value me is the user of this session."},
		},
		Result: secrets("New API token", "Copy the token now: it cannot be read again.",
			console.Fact{Name: "Name", Value: "name"}, console.Fact{Name: "Token", Value: "token"}),
	},
	"revokeApiToken": {
		Label:  "Revoke",
		What:   "Revokes the token. Programs that use it, and sessions of the console that began with it, lose access immediately.",
		Method: http.MethodDelete, Path: tokensPath + "/{token}", Done: done("The token is revoked."),
		Form: func(ctx context.Context, c *api.Client, args url.Values) (f console.Form, err error) {
			var t apiToken
			if err := c.Do(ctx, http.MethodGet, at(tokensPath, args.Get("token")), nil, &t); err != nil {
				return f, err
			}
			u, err := readUser(ctx, c, t.UserID)
			f.Subject = t.Name
			f.Facts = []console.Fact{
				{Name: "Owner", Value: u.Login()}, {Name: "Created", Value: console.Clock(t.Created)},
				{Name: "Expires", Value: console.Clock(t.ExpiresAt)},
			}
			return f, err
		},
	},
	"createClient": {
		Label: "New OAuth client", Submit: "Create", What: "Registers a client that gets access tokens from an authorization server.",
		Method: http.MethodPost, Path: clientsPath,
		Fields: []console.Field{
			{Name: "client_name", Label: "Name", Required: true},
			{Name: "application_type", Label: "Type", Kind: "choice", Options: []string{"service", "web", "native", "browser"}},
			{Name: "grant_types", Label: "Grant types", Kind: "several", Options: []string{
				"client_credentials", "authorization_code", "refresh_token", "password", "implicit",
			}},
			{Name: "redirect_uris", Label: "Redirect URIs", Kind: "lines",
				Help: "One per line. Responses of the authorization endpoint are sent to these URIs only."},
			{Name: "token_endpoint_auth_method", Label: "Client authentication", Kind: "choice", Options: []string{
				"client_secret_basic", "client_secret_post", "client_secret_jwt", "none",
			}, More: true},
		},
		Form: func(_ context.Context, _ *api.Client, args url.Values) (console.Form, error) {
			if _, given := args["application_type"]; !given {
				args["grant_types"] = []string{"client_credentials"}
			}
			return console.Form{}, nil
		},
		Done: func(_ url.Values, response json.RawMessage) string {
			var c oauthClient
			_ = json.Unmarshal(response, &c)
			return "The client " + c.Name + " is registered with the id " + c.ID + ". It has no secret."
		},
		Result: func(response json.RawMessage) (p console.ResultPage, err error) {
			var made struct {
				Secret string `json:"client_secret"`
			}
			if err := json.Unmarshal(response, &made); err != nil || made.Secret == "" {
				return p, err
			}
			return secrets("New OAuth client", "Copy the secret now: it cannot be read again.", console.Fact{Name: "Name", Value: "client_name"},
				console.Fact{Name: "Client id", Value: "client_id"}, console.Fact{Name: "Client secret", Value: "client_secret"})(response)
		},
	},
	"deleteClient": {
		Label: "Delete", What: "Deletes the client with its application. Its tokens become invalid.", Method: http.MethodDelete,
		Path: clientsPath + "/{client}", Done: done("The client is deleted."),
		Form: func(ctx context.Context, c *api.Client, args url.Values) (f console.Form, err error) {
			var found oauthClient
			if err := c.Do(ctx, http.MethodGet, at(clientsPath, args.Get("client")), nil, &found); err != nil {
				return f, err
			}
			f.Subject = found.Name
			f.Facts = []console.Fact{{Name: "Client id", Value: found.ID}, {Name: "Type", Value: found.Type},
				{Name: "Registered", Value: console.Clock(found.Created())}}
			return f, nil
		},
	},
}
