package issue

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/hooks"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// Transformer asks an inline hook what to change in tokens before they are signed. A hooks.Caller does.
type Transformer interface {
	// TransformTokens returns the tokens as they are to be signed, and leaves those that it is given as they are. After an error they
	// are issued as they were.
	TransformTokens(ctx context.Context, hook string, about hooks.TokenContext, tokens hooks.Tokens) (hooks.Tokens, error)
}

// about is what a hook is told of what the tokens come from.
func (r *Request) about(ctx context.Context) hooks.TokenContext {
	out := hooks.TokenContext{
		Protocol: map[string]any{
			"type":    "OAUTH2.0",
			"request": map[string]any{"grant_type": r.Grant, "scope": strings.Join(r.Scopes, " "), "client_id": r.ClientID()},
			"issuer":  map[string]any{"uri": r.Issuer},
			"client":  map[string]any{"id": r.ClientID(), "name": r.Client.Value.Label, "type": r.clientType()},
		},
		Policy: map[string]any{"id": r.Policy.ID, "rule": map[string]any{"id": r.Rule.ID}},
		Target: []model.LogParty{audit.Client(r.Client)},
	}
	if r.Person != nil {
		u := &r.Person.User
		profile := map[string]any{}
		for name, attribute := range shownAttributes {
			if text := u.Value.Text(attribute); text != "" {
				profile[name] = text
			}
		}
		at := func(what string) rest.Link { return rest.To(rest.URL(ctx, "api", "v1", "users", u.ID, what)) }
		out.User = map[string]any{
			"id": u.ID, "profile": profile, "passwordChanged": rest.TimePtr(u.Value.PasswordChanged),
			"_links": rest.Links{"groups": at("groups"), "factors": at("factors")},
		}
		out.Target = append(out.Target, audit.User(*u))
	}
	return out
}

// clientType says whether the client can keep a secret (RFC 6749 section 2.1).
func (r *Request) clientType() string {
	if r.Client.Value.Credentials.OAuthClient.AuthMethod == model.AuthNone {
		return "PUBLIC"
	}
	return "CONFIDENTIAL"
}

// shownAttributes are the attributes of a user that a hook is told.
var shownAttributes = map[string]string{
	"login": "login", "firstName": "firstName", "lastName": "lastName", "locale": "locale", "timeZone": "timezone",
}

// scopeIDs are the granted scopes with their ids.
func (r *Request) scopeIDs() map[string]string {
	out := map[string]string{}
	for _, name := range r.Scopes {
		if scope := r.Server.Value.Scope(name); scope != nil {
			out[name] = scope.ID
		}
	}
	return out
}
