package model

import (
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/scim/filter"
	"reflect"
)

// AppStatus is the status of an application.
type AppStatus string

// The statuses of an application.
const (
	AppActive   AppStatus = "ACTIVE"
	AppInactive AppStatus = "INACTIVE"
)

// App is an application instance.
type App struct {
	// Name is the catalog name, or the generated one of a custom application.
	Name       string       `json:"name"`
	Label      string       `json:"label"`
	Status     AppStatus    `json:"status"`
	SignOnMode catalog.Mode `json:"signOnMode"`
	// Custom says that the name was generated: provisioning then follows the
	// style of custom integrations (every update is a PUT).
	Custom bool `json:"custom,omitempty"`
	// IssuerID is the id under which a SAML application signs: part of its entity id and of its sign-on addresses.
	IssuerID      string           `json:"issuerId,omitempty"`
	Accessibility AppAccessibility `json:"accessibility"`
	Visibility    AppVisibility    `json:"visibility"`
	Credentials   AppCredentials   `json:"credentials"`
	Settings      AppSettings      `json:"settings"`
}

// Provisions says whether the users of the application have a profile of their
// own: the integration provisions users by nature, or a connection was
// configured. The connection is nil when there never was one.
func (a *App) Provisions(conn *Connection) bool {
	if conn != nil {
		return true
	}
	entry, ok := catalog.Named(a.Name)
	return ok && entry.SCIM
}

// RenamesUsers reports whether user names that follow the template change with the user.
func (a *App) RenamesUsers() bool {
	names := a.Credentials.UserNameTemplate
	return names.Type != TemplateNone && names.PushStatus != DontPush
}

// The members of an application below are stored in the shape they have on
// the wire; their tags are those of internal/rest.

// AppAccessibility says how users reach an application.
type AppAccessibility struct {
	SelfService      bool    `json:"selfService" doc:"Users may add the application themselves."`
	ErrorRedirectURL *string `json:"errorRedirectUrl" empty:"absent" max:"1024" doc:"Where users are sent on an error."`
	LoginRedirectURL *string `json:"loginRedirectUrl" empty:"absent" max:"1024" doc:"Where users are sent to sign in."`
}

// AppVisibility says where an application is shown.
type AppVisibility struct {
	AutoLaunch        bool            `json:"autoLaunch" doc:"The application starts when the user signs in."`
	AutoSubmitToolbar bool            `json:"autoSubmitToolbar" doc:"The browser plugin submits the sign-in page by itself."`
	Hide              AppHide         `json:"hide" doc:"Clients that do not show the application."`
	AppLinks          map[string]bool `json:"appLinks" doc:"The published links by name, and whether each is shown."`
}

// DefaultLink is the published link of an application whose name was not generated.
const DefaultLink = "login"

// AppHide hides an application from clients.
type AppHide struct {
	IOS bool `json:"iOS" doc:"Hidden on mobile devices."`
	Web bool `json:"web" doc:"Hidden in the browser."`
}

// CredentialScheme says who keeps the credentials of an application. It is
// empty for sign-on modes without credentials.
type CredentialScheme string

// The credential schemes.
const (
	EditUsernameAndPassword   CredentialScheme = "EDIT_USERNAME_AND_PASSWORD"
	AdminSetsCredentials      CredentialScheme = "ADMIN_SETS_CREDENTIALS"
	EditPasswordOnly          CredentialScheme = "EDIT_PASSWORD_ONLY"
	ExternalPasswordSync      CredentialScheme = "EXTERNAL_PASSWORD_SYNC"
	SharedUsernameAndPassword CredentialScheme = "SHARED_USERNAME_AND_PASSWORD"
)

// AcceptsUserName says whether an app user may have a user name of its own.
func (s CredentialScheme) AcceptsUserName() bool { return s != SharedUsernameAndPassword }

// AcceptsPassword says whether an app user may have a password of its own.
func (s CredentialScheme) AcceptsPassword() bool {
	return s == EditUsernameAndPassword || s == AdminSetsCredentials || s == EditPasswordOnly
}

// AppCredentials are the credential rules of an application.
type AppCredentials struct {
	Scheme           CredentialScheme `json:"scheme,omitempty"`
	UserNameTemplate UserNameTemplate `json:"userNameTemplate"`
	// UserName and SealedPassword are the shared credentials of the scheme
	// SHARED_USERNAME_AND_PASSWORD. The binding is "app-password:" + app id.
	UserName       string `json:"userName,omitempty"`
	SealedPassword string `json:"sealedPassword,omitempty"`
	// SigningKID is the id of the key that the application signs with, empty for sign-on modes that sign nothing.
	SigningKID string `json:"signingKid,omitempty"`
	// OwnKID is the id of the key that the application began with. The key itself is made when it is first looked at.
	OwnKID string `json:"ownKid,omitempty"`
	// OAuthClient is there for OAuth clients, together with AppSettings.OAuthClient.
	OAuthClient *AppOAuthClient `json:"oauthClient,omitempty"`
}

// AppPasswordBinding is the seal binding of an application's shared password.
func AppPasswordBinding(app string) string { return "app-password:" + app }

// UserNameTemplateType says where the user names of an application come from.
type UserNameTemplateType string

// The types of user name templates. With TemplateNone a user name has to be
// supplied with every assignment.
const (
	TemplateBuiltIn UserNameTemplateType = "BUILT_IN"
	TemplateCustom  UserNameTemplateType = "CUSTOM"
	TemplateNone    UserNameTemplateType = "NONE"
)

// PushStatus says when a mapped value is applied.
type PushStatus string

// The push statuses: at creation and update, or at creation only.
const (
	Push     PushStatus = "PUSH"
	DontPush PushStatus = "DONT_PUSH"
)

// UserNameTemplate says how a user name is made from a user.
type UserNameTemplate struct {
	Template string `json:"template,omitempty" max:"1024" doc:"Text with expressions in ${...}. Defaults to ${source.login}."`

	Type UserNameTemplateType `json:"type" enum:"BUILT_IN,CUSTOM,NONE" default:"BUILT_IN" doc:"NONE: each assignment supplies a user name."`

	Suffix string `json:"suffix,omitempty" max:"100" doc:"Text put behind the result of the template."`
	// PushStatus is Push if empty.
	PushStatus PushStatus `json:"pushStatus,omitempty" empty:"absent"`
}

// MoreTags implements rest.Described.
func (UserNameTemplate) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"pushStatus": `enum:"PUSH,DONT_PUSH" doc:"Whether user names follow later changes of the user. Default: PUSH."`,
	}
}

// AppSettings are the settings of an application.
type AppSettings struct {
	// App holds the members that the catalog entry lists: strings, booleans or
	// nil for an optional member that was not given.
	App           map[string]any   `json:"app"`
	Notifications AppNotifications `json:"notifications"`
	Notes         AppNotes         `json:"notes"`
	// SignOn holds settings.signOn as it was sent, after validation.
	SignOn map[string]any `json:"signOn,omitempty"`
	// OAuthClient is there for OAuth clients, together with AppCredentials.OAuthClient.
	OAuthClient *AppOAuthSettings `json:"oauthClient,omitempty"`
}

// AppNotifications are the notification settings of an application.
type AppNotifications struct {
	VPN AppVPN `json:"vpn" doc:"Notice about a private network."`
}

// AppVPN tells users when an application needs a private network.
type AppVPN struct {
	Network AppNetwork `json:"network" doc:"When the notice is shown."`
	Message *string    `json:"message" empty:"absent" max:"4000" doc:"Text of the notice."`
	HelpURL *string    `json:"helpUrl" empty:"absent" max:"1024" doc:"Page that helps to connect."`
}

// AppNetwork says from where the private network is needed.
type AppNetwork struct {
	Connection string `json:"connection" default:"DISABLED" empty:"absent" doc:"When the notice is shown; DISABLED for never."`
}

// MoreTags implements rest.Described.
func (AppNetwork) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"connection": `enum:"DISABLED,ANYWHERE,ON_NETWORK,OFF_NETWORK,ZONE"`,
	}
}

// AppNotes are remarks shown to administrators and to users.
type AppNotes struct {
	Admin   *string `json:"admin" empty:"absent" max:"4000" doc:"Shown to administrators."`
	EndUser *string `json:"enduser" empty:"absent" max:"4000" doc:"Shown to users."`
}

// EventAppChanged is the topic of AppChanged.
const EventAppChanged = "app.changed"

// AppChanged tells that an application was created, changed or deleted, or
// that its connection or its features changed. The desired state of its users
// and groups is not changed by that.
type AppChanged struct {
	App     string `json:"app"`
	Deleted bool   `json:"deleted,omitempty"`
	// Ended says that its connection was deactivated: what is queued for the target is dropped, but for what the events behind this
	// one ask for.
	Ended bool `json:"ended,omitempty"`
	// Client is the client_id of a deleted OAuth client. Another application may take it.
	Client string `json:"client,omitempty"`
}

// AppDeleted is the event of an application that is deleted.
func AppDeleted(doc docstore.Doc[App]) AppChanged {
	e := AppChanged{App: doc.ID, Deleted: true}
	if doc.Value.OAuth() {
		e.Client = doc.Value.Credentials.OAuthClient.ID
	}
	return e
}

// Topic implements Event.
func (AppChanged) Topic() string { return EventAppChanged }

// Key implements Event with the id of the application.
func (e AppChanged) Key() string { return e.App }

// The indexes of the applications.
const (
	AppByName     = "name"   // the name
	AppByStatus   = "status" // the status
	AppByKID      = "kid"    // the id of the signing key
	AppByPrefix   = "prefix" // folded name and folded label, for prefix search
	AppByClientID = "client" // the client_id of an OAuth client, unique
)

func appCollection() docstore.Collection[App] {
	return docstore.NewCollection("apps",
		docstore.Index[App]{Name: AppByName, Values: func(a *App) []any { return []any{a.Name} }},
		docstore.Index[App]{Name: AppByStatus, Values: func(a *App) []any { return []any{string(a.Status)} }},
		docstore.Index[App]{Name: AppByKID, Values: func(a *App) []any { return optional(a.Credentials.SigningKID) }},
		docstore.Index[App]{Name: AppByClientID, Unique: true, Values: func(a *App) []any {
			if !a.OAuth() {
				return nil
			}
			return []any{a.Credentials.OAuthClient.ID}
		}},
		docstore.Index[App]{Name: AppByPrefix, Version: filter.FoldVersion, Multi: true, Values: func(a *App) []any {
			return []any{filter.Fold(a.Name), filter.Fold(a.Label)}
		}},
	).Cached()
}
