package apps

import (
	"cmp"
	"reflect"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// OAuthClient configures how an application authenticates as an OAuth client.
type OAuthClient struct {
	ID string `json:"client_id,omitempty" empty:"absent" doc:"Id of the client. Immutable. Default: the id of the application."`

	Secret string `json:"client_secret,omitempty" empty:"absent" doc:"Secret of the client. Default: a generated one. Lists omit it."`

	AutoKeyRotation *bool `json:"autoKeyRotation,omitempty" doc:"Whether the signing keys of tokens rotate automatically. Default: true."`

	AuthMethod model.AuthMethod `json:"token_endpoint_auth_method,omitempty" empty:"absent"`

	PKCERequired *bool `json:"pkce_required,omitempty" doc:"Whether the client must use PKCE. True for clients without authentication."`
}

// MoreTags implements rest.Described.
func (OAuthClient) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"token_endpoint_auth_method": `doc:"How the client authenticates: client_secret_basic, client_secret_post, private_key_jwt or none."`,
	}
}

func renderClient(c *model.AppOAuthClient) *OAuthClient {
	return &OAuthClient{ID: c.ID, AutoKeyRotation: new(c.AutoKeyRotation), AuthMethod: c.AuthMethod, PKCERequired: new(c.PKCERequired)}
}

// The paths of the members of OAuth clients.
const (
	clientPath        = "credentials.oauthClient."
	oauthSettingsPath = "settings.oauthClient."
)

// oauth sets the OAuth client of the application from the body, except its id and secret.
func (b *body) oauth(app *model.App, causes *rest.Causes) {
	given, settings := OAuthClient{}, model.AppOAuthSettings{}
	if b.Credentials.OAuthClient != nil {
		given = *b.Credentials.OAuthClient
	}
	if b.Settings.OAuthClient != nil {
		settings = *b.Settings.OAuthClient
	}
	settings.Problems(given.AuthMethod, func(member, format string, args ...any) {
		path := oauthSettingsPath
		if member == model.AuthMethodMember {
			path = clientPath
		}
		causes.Add(path+member, format, args...)
	})
	if given.ID != "" {
		if problem := model.ClientIDProblem(given.ID); problem != "" {
			causes.Add(clientPath+"client_id", "%s", problem)
		} else if given.ID == model.AllClients {
			causes.Add(clientPath+"client_id", "The value is reserved: in policies it represents all clients")
		}
	}
	if given.Secret != "" {
		if problem := model.ClientSecretProblem(given.Secret); problem != "" {
			causes.Add(clientPath+"client_secret", "%s", problem)
		}
	}
	public := given.AuthMethod == model.AuthNone
	if public && given.PKCERequired != nil && !*given.PKCERequired {
		causes.Add(clientPath+"pkce_required", "The value must be true for clients that do not authenticate")
	}
	app.Settings.OAuthClient = &settings
	app.Credentials.OAuthClient = &model.AppOAuthClient{
		ID: given.ID, AuthMethod: given.AuthMethod,
		PKCERequired:    public || given.PKCERequired != nil && *given.PKCERequired,
		AutoKeyRotation: given.AutoKeyRotation == nil || *given.AutoKeyRotation,
	}
}

// sealSecret stores the secret of an OAuth client, encrypted: the one that was sent, the stored one, or a generated one.
func (s *Slice) sealSecret(id string, given *OAuthClient, app *model.App, had string) (err error) {
	client := app.Credentials.OAuthClient
	if client == nil || !client.AuthMethod.Secret() {
		return nil
	}
	secret := ""
	if given != nil {
		secret = given.Secret
	}
	if secret == "" && had != "" {
		client.SealedSecret = had
		return nil
	}
	client.SealedSecret, err = s.Secrets.Seal(cmp.Or(secret, model.NewSecret(model.OAuthSecretLength)), model.OAuthSecretBinding(id))
	return err
}
