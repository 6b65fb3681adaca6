package apps

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// App is an application in the API.
type App struct {
	ID            string                 `json:"id" readOnly:"true" doc:"Id of the application."`
	Name          string                 `json:"name" doc:"Catalog name, or a generated one for custom applications."`
	Label         string                 `json:"label" doc:"Display label."`
	Status        model.AppStatus        `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"Status."`
	LastUpdated   rest.Time              `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Created       rest.Time              `json:"created" readOnly:"true" doc:"Time of creation."`
	Accessibility model.AppAccessibility `json:"accessibility" doc:"How users reach the application."`
	Visibility    model.AppVisibility    `json:"visibility" doc:"Where the application is shown."`
	Features      []string               `json:"features" readOnly:"true" doc:"Enabled provisioning features."`
	SignOnMode    catalog.Mode           `json:"signOnMode" doc:"Sign-on mode."`
	Credentials   Credentials            `json:"credentials" doc:"How user names, passwords, the signing key and the OAuth client are set."`
	Settings      Settings               `json:"settings" doc:"Settings."`
	Embedded      *Embedded              `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
	Links         rest.Links             `json:"_links" readOnly:"true" doc:"Links."`
}

// Credentials determine how the user names and passwords of an application's users are set. They also have the signing key of the
// application and the authentication of an OAuth client.
type Credentials struct {
	Scheme           model.CredentialScheme  `json:"scheme,omitempty" empty:"absent" doc:"Who sets the credentials of users."`
	UserNameTemplate *model.UserNameTemplate `json:"userNameTemplate,omitempty" doc:"How user names are derived."`
	UserName         string                  `json:"userName,omitempty" empty:"absent" max:"255" doc:"Shared user name."`

	Password *Password `json:"password,omitempty" doc:"Shared password. A response has the empty object if a password is set."`

	Signing     *Signing     `json:"signing,omitempty" doc:"Signing key, for sign-on modes with signatures."`
	OAuthClient *OAuthClient `json:"oauthClient,omitempty" doc:"How an OAuth client authenticates."`
}

// MoreTags implements rest.Described.
func (Credentials) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"scheme": `enum:"EDIT_USERNAME_AND_PASSWORD,ADMIN_SETS_CREDENTIALS,EDIT_PASSWORD_ONLY,EXTERNAL_PASSWORD_SYNC,` +
			`SHARED_USERNAME_AND_PASSWORD"`,
	}
}

// Password is a secret that requests contain and responses omit.
type Password struct {
	Value string `json:"value,omitempty" writeOnly:"true" max:"255" doc:"The password."`
}

// given reports whether a password was sent.
func (p *Password) given() bool { return p != nil && p.Value != "" }

// Signing names the signing key.
type Signing struct {
	KID string `json:"kid,omitempty" empty:"absent" max:"100" doc:"Id of the signing key, which is one of the application's keys."`
}

// given reports whether a key was named.
func (s *Signing) given() bool { return s != nil && s.KID != "" }

// Settings are the settings of an application.
type Settings struct {
	App map[string]any `json:"app" doc:"Members of the catalog entry. An optional member that was omitted is null."`

	Notifications model.AppNotifications  `json:"notifications" doc:"Notices to users."`
	Notes         model.AppNotes          `json:"notes" doc:"Notes for administrators and users."`
	SignOn        map[string]any          `json:"signOn,omitempty" doc:"Members of the sign-on mode."`
	OAuthClient   *model.AppOAuthSettings `json:"oauthClient,omitempty" doc:"Settings of an OAuth client."`
}

// Embedded holds the objects that are returned with an application.
type Embedded struct {
	User any `json:"user" doc:"The assignment of the user whose id is in the parameter expand."`
}

// render returns an application in the form of the API, without the secret of an OAuth client. conn may be nil.
func render(ctx context.Context, doc docstore.Doc[model.App], conn *model.Connection) App {
	a := doc.Value
	out := App{
		ID: doc.ID, Name: a.Name, Label: a.Label, Status: a.Status,
		LastUpdated: rest.TimeOf(doc.Updated), Created: rest.TimeOf(doc.Created),
		Accessibility: a.Accessibility, Visibility: a.Visibility,
		Features: conn.Features(), SignOnMode: a.SignOnMode,
		Credentials: Credentials{
			Scheme: a.Credentials.Scheme, UserNameTemplate: &a.Credentials.UserNameTemplate, UserName: a.Credentials.UserName,
		},
		Settings: Settings{
			App: a.Settings.App, Notifications: a.Settings.Notifications, Notes: a.Settings.Notes,
		},
	}
	if a.Credentials.SealedPassword != "" {
		out.Credentials.Password = &Password{}
	}
	if a.SignOnMode.Traits().Signing {
		out.Credentials.Signing = &Signing{KID: a.Credentials.SigningKID}
	}
	if a.OAuth() {
		out.Credentials.OAuthClient = renderClient(a.Credentials.OAuthClient)
		out.Settings.OAuthClient = a.Settings.OAuthClient
	}
	out.Settings.SignOn = withHookLinks(ctx, a.Settings.SignOn)
	out.Links = linksOf(ctx, doc)
	return out
}

// linksOf returns the links of an application. pageRoutes serves logo, help and the app links.
func linksOf(ctx context.Context, doc docstore.Doc[model.App]) rest.Links {
	a := doc.Value
	url := func(more ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "apps", doc.ID}, more...)...)
	}
	published := []rest.Link{}
	for _, name := range slices.Sorted(maps.Keys(a.Visibility.AppLinks)) {
		published = append(published, rest.Link{
			Name: name, Href: rest.URL(ctx, "home", a.Name, doc.ID, model.AppLinkID(doc.ID, name)), Type: "text/html",
		})
	}
	links := rest.Links{
		"self":       rest.To(url()),
		"users":      rest.To(url("users")),
		"groups":     rest.To(url("groups")),
		"uploadLogo": rest.To(url("logo"), "POST"),
		"logo":       []rest.Link{{Name: "medium", Href: rest.URL(ctx, model.LogoPath(doc.ID)...), Type: "image/svg+xml"}},
		"help":       rest.Link{Href: rest.URL(ctx, "app", a.Name, doc.ID, "setup", "help"), Type: "text/html"},
		"appLinks":   published,
	}
	if a.Status == model.AppActive {
		links["deactivate"] = rest.To(url("lifecycle", "deactivate"), "POST")
	} else {
		links["activate"] = rest.To(url("lifecycle", "activate"), "POST")
	}
	if a.SignOnMode == catalog.SAML {
		links["metadata"] = rest.Link{Href: url("sso", "saml", "metadata"), Type: "application/xml"}
	}
	if a.OAuth() {
		links["clientCredentials"] = rest.To(rest.URL(ctx, "oauth2", "v1", "clients", a.Credentials.OAuthClient.ID), "GET", "PUT", "DELETE")
	}
	return links
}

// show returns an application in the form of the API with the features of its connection. A caller who may change the application also gets
// the secret of an OAuth client.
func (s *Slice) show(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.App]) (App, error) {
	found, err := model.Optional(ctx, q, s.Connections, doc.ID)
	if err != nil {
		return App{}, err
	}
	var conn *model.Connection
	if found != nil {
		conn = &found.Value
	}
	out := render(ctx, doc, conn)
	if client := doc.Value.Credentials.OAuthClient; client != nil && client.SealedSecret != "" {
		changes, err := authz.ChangesApp(ctx, q, s.Deps, doc)
		if err != nil || !changes {
			return out, err
		}
		out.Credentials.OAuthClient.Secret, err = s.Secrets.Open(client.SealedSecret, model.OAuthSecretBinding(doc.ID))
		return out, err
	}
	return out, nil
}

type getRequest struct {
	AppID string `path:"appId" doc:"Id of the application."`

	app docstore.Doc[model.App]
}

func (r *getRequest) at() (string, *docstore.Doc[model.App]) { return r.AppID, &r.app }

func (s *Slice) get(ctx context.Context, req *getRequest) (App, error) {
	return s.show(ctx, s.Store.Reader(), req.app)
}

func (s *Slice) delete(ctx context.Context, req *getRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.find(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		if doc.Value.Status == model.AppActive {
			return rest.Fail(rest.CodeAppActive, "status: Deactivate the application before deleting it")
		}
		if err := s.Apps.Delete(ctx, tx, doc.ID); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.AppDelete, doc); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.AppDeleted(doc))
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.AppDelete, Targets: []model.LogParty{audit.App(req.app.ID, &req.app.Value)}}, err)
}

// setStatus returns the operation that sets the status of an application. It does nothing if the application has the status already.
func (s *Slice) setStatus(status model.AppStatus, event audit.Type) func(context.Context, *getRequest) (rest.Empty, error) {
	return func(ctx context.Context, req *getRequest) (rest.Empty, error) {
		err := s.Update(ctx, func(tx *docstore.Tx) error {
			doc, err := s.find(ctx, tx, req.AppID)
			if err != nil || doc.Value.Status == status {
				return err
			}
			doc.Value.Status = status
			if _, err := s.Apps.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
				return err
			}
			if err := s.log(ctx, tx, event, doc); err != nil {
				return err
			}
			return s.Feed.Emit(ctx, tx, model.AppChanged{App: doc.ID})
		})
		return rest.Empty{}, err
	}
}
