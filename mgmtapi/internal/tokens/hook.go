package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// Transformer calls an inline hook that changes tokens before they are signed. A calls.Caller implements it.
type Transformer interface {
	// TransformTokens returns the tokens to be signed and does not modify the given ones. After an error the given tokens are issued.
	TransformTokens(ctx context.Context, hook string, about calls.TokenContext, tokens calls.Tokens) (calls.Tokens, error)
}

// about returns what the request to the hook states about the tokens: the client, the policy, the user and the session.
func (i *Issuer) about(ctx context.Context, r *Request) (calls.TokenContext, error) {
	out := calls.TokenContext{
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
		session, err := i.session(ctx, r)
		if err != nil {
			return out, err
		}
		out.Session = session
	}
	return out, nil
}

// sessionName is the number of characters after the kind in the id of a session.
const sessionName = 22

// session returns the sign-in of the user in the form of a session. Its id identifies the sign-in and grants no access: the endpoint of a
// hook must not receive the id of a session, which is a secret.
func (i *Issuer) session(ctx context.Context, r *Request) (map[string]any, error) {
	q, u := i.Store.Reader(), &r.Person.User
	org, err := i.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	multiFactor := false
	err = model.Each(ctx, q, i.Factors, docstore.Eq(model.FactorByUser, u.ID), func(f docstore.Doc[model.Factor]) error {
		multiFactor = multiFactor || f.Value.Status == model.FactorActive
		return nil
	})
	if err != nil {
		return nil, err
	}
	name := sha256.Sum256([]byte(u.ID + " " + r.Client.ID + " " + r.SignedIn.Format(time.RFC3339Nano)))
	return map[string]any{
		"id":     string(model.KindSession) + base64.RawURLEncoding.EncodeToString(name[:])[:sessionName],
		"userId": u.ID, "login": u.Value.Login(), "status": "ACTIVE", "amr": []string{"pwd"},
		"createdAt": rest.TimeOf(r.SignedIn), "expiresAt": rest.TimeOf(r.SignedIn.Add(model.SessionLifetime)),
		"lastPasswordVerification": rest.TimeOf(r.SignedIn),
		"idp":                      map[string]any{"id": org.ID, "type": string(model.ProviderService)}, "mfaActive": multiFactor,
	}, nil
}

// clientType returns whether the client is confidential or public (RFC 6749 section 2.1).
func (r *Request) clientType() string {
	if r.Client.Value.Credentials.OAuthClient.AuthMethod == model.AuthNone {
		return "PUBLIC"
	}
	return "CONFIDENTIAL"
}

// shownAttributes are the attributes of a user that hooks receive.
var shownAttributes = map[string]string{
	"login": "login", "firstName": "firstName", "lastName": "lastName", "locale": "locale", "timeZone": "timezone",
}

// scopeIDs maps the granted scopes to their ids.
func (r *Request) scopeIDs() map[string]string {
	out := map[string]string{}
	for _, name := range r.Scopes {
		if scope := r.Server.Value.Scope(name); scope != nil {
			out[name] = scope.ID
		}
	}
	return out
}
