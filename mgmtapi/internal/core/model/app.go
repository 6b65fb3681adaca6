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
	// Custom is true if the name was generated. Provisioning then follows the style of custom integrations: every update is a PUT.
	Custom bool `json:"custom,omitempty"`
	// IssuerID is the id under which a SAML application signs. It is part of the entity id and of the sign-on addresses.
	IssuerID      string           `json:"issuerId,omitempty"`
	Accessibility AppAccessibility `json:"accessibility"`
	Visibility    AppVisibility    `json:"visibility"`
	Credentials   AppCredentials   `json:"credentials"`
	Settings      AppSettings      `json:"settings"`
}

// Provisions reports whether the users of the application have an application profile: the catalog entry provisions users, or a connection
// was configured. conn is nil if the application never had a connection.
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

// The following types are members of an application. They are stored in the same JSON form that the API uses. The package internal/rest
// defines the struct tags other than json.

// AppAccessibility describes how users reach an application.
type AppAccessibility struct {
	SelfService      bool    `json:"selfService" doc:"Users may add the application themselves."`
	ErrorRedirectURL *string `json:"errorRedirectUrl" empty:"absent" max:"1024" doc:"Where users are sent on an error."`
	LoginRedirectURL *string `json:"loginRedirectUrl" empty:"absent" max:"1024" doc:"Where users are sent to sign in."`
}

// AppVisibility describes where an application is shown.
type AppVisibility struct {
	AutoLaunch        bool            `json:"autoLaunch" doc:"The application starts when the user signs in."`
	AutoSubmitToolbar bool            `json:"autoSubmitToolbar" doc:"The browser plugin submits the sign-in page automatically."`
	Hide              AppHide         `json:"hide" doc:"Clients that do not show the application."`
	AppLinks          map[string]bool `json:"appLinks" doc:"The published links by name, and whether each is shown."`
}

// DefaultLink is the published link of an application whose name was not generated.
const DefaultLink = "login"

// AppHide determines where the link to an application is hidden from its users. The API only stores it.
type AppHide struct {
	IOS bool `json:"iOS" doc:"Hidden on mobile devices."`
	Web bool `json:"web" doc:"Hidden in the browser."`
}

// CredentialScheme determines who manages the credentials of an application. It is empty for sign-on modes without credentials.
type CredentialScheme string

// The credential schemes.
const (
	EditUsernameAndPassword   CredentialScheme = "EDIT_USERNAME_AND_PASSWORD"
	AdminSetsCredentials      CredentialScheme = "ADMIN_SETS_CREDENTIALS"
	EditPasswordOnly          CredentialScheme = "EDIT_PASSWORD_ONLY"
	ExternalPasswordSync      CredentialScheme = "EXTERNAL_PASSWORD_SYNC"
	SharedUsernameAndPassword CredentialScheme = "SHARED_USERNAME_AND_PASSWORD"
)

// AcceptsUserName reports whether an app user may have its own user name.
func (s CredentialScheme) AcceptsUserName() bool { return s != SharedUsernameAndPassword }

// AcceptsPassword reports whether an app user may have its own password.
func (s CredentialScheme) AcceptsPassword() bool {
	return s == EditUsernameAndPassword || s == AdminSetsCredentials || s == EditPasswordOnly
}

// AppCredentials are the credential rules of an application.
type AppCredentials struct {
	Scheme           CredentialScheme `json:"scheme,omitempty"`
	UserNameTemplate UserNameTemplate `json:"userNameTemplate"`
	// UserName and SealedPassword are the shared credentials of the scheme SHARED_USERNAME_AND_PASSWORD. The password is encrypted with
	// AppPasswordBinding(app id).
	UserName       string `json:"userName,omitempty"`
	SealedPassword string `json:"sealedPassword,omitempty"`
	// SigningKID is the id of the key that the application signs with. It is empty for sign-on modes that do not sign.
	SigningKID string `json:"signingKid,omitempty"`
	// OwnKID is the id of the first key of the application. The key itself is created when it is first read.
	OwnKID string `json:"ownKid,omitempty"`
	// OAuthClient is set for OAuth clients, together with AppSettings.OAuthClient.
	OAuthClient *AppOAuthClient `json:"oauthClient,omitempty"`
}

// AppPasswordBinding returns the binding with which package seal encrypts the shared password of an application.
func AppPasswordBinding(app string) string { return "app-password:" + app }

// UserNameTemplateType is the source of the user names of an application.
type UserNameTemplateType string

// The types of user name templates. With TemplateNone, each assignment must supply a user name.
const (
	TemplateBuiltIn UserNameTemplateType = "BUILT_IN"
	TemplateCustom  UserNameTemplateType = "CUSTOM"
	TemplateNone    UserNameTemplateType = "NONE"
)

// PushStatus determines when a mapped value is applied.
type PushStatus string

// The push statuses: at creation and update, or at creation only.
const (
	Push     PushStatus = "PUSH"
	DontPush PushStatus = "DONT_PUSH"
)

// UserNameTemplate describes how a user name is derived from a user.
type UserNameTemplate struct {
	Template string `json:"template,omitempty" max:"1024" doc:"Text with expressions in ${...}. Default: ${source.login}."`

	Type UserNameTemplateType `json:"type" enum:"BUILT_IN,CUSTOM,NONE" default:"BUILT_IN" doc:"NONE: each assignment supplies a user name."`

	Suffix string `json:"suffix,omitempty" max:"100" doc:"Text appended to the result of the template."`
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
	// App holds the members that the catalog entry lists: strings, booleans, or nil for an optional member without a value.
	App           map[string]any   `json:"app"`
	Notifications AppNotifications `json:"notifications"`
	Notes         AppNotes         `json:"notes"`
	// SignOn holds settings.signOn as it was sent, after validation.
	SignOn map[string]any `json:"signOn,omitempty"`
	// OAuthClient is set for OAuth clients, together with AppCredentials.OAuthClient.
	OAuthClient *AppOAuthSettings `json:"oauthClient,omitempty"`
}

// AppNotifications are the notification settings of an application.
type AppNotifications struct {
	VPN AppVPN `json:"vpn" doc:"Notice about a private network."`
}

// AppVPN is the notice that is shown to users when an application requires a private network.
type AppVPN struct {
	Network AppNetwork `json:"network" doc:"When the notice is shown."`
	Message *string    `json:"message" empty:"absent" max:"4000" doc:"Text of the notice."`
	HelpURL *string    `json:"helpUrl" empty:"absent" max:"1024" doc:"Page that helps to connect."`
}

// AppNetwork describes from which networks the private network is required.
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

// AppChanged reports that an application was created, changed or deleted, or that its connection or its features changed. It does not
// change the desired state of the users and groups of the application.
type AppChanged struct {
	App     string `json:"app"`
	Deleted bool   `json:"deleted,omitempty"`
	// Ended is true if the connection was deactivated. The queued work for the target is then dropped, except for the work of later events.
	Ended bool `json:"ended,omitempty"`
	// Client is the client_id of a deleted OAuth client. Another application may use it.
	Client string `json:"client,omitempty"`
}

// AppDeleted returns the event for the deletion of an application.
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
	AppByName     = "name"   // index by the name
	AppByStatus   = "status" // index by the status
	AppByKID      = "kid"    // index by the id of the signing key
	AppByPrefix   = "prefix" // index by folded name and folded label, for prefix search
	AppByClientID = "client" // index by the client_id, for OAuth clients, unique
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
