package audit

import (
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The types of actors and targets.
const (
	TypeUser        = "User"
	TypeGroup       = "UserGroup"
	TypeApp         = "AppInstance"
	TypeAppUser     = "AppUser"
	TypePushMapping = "GroupPushMapping"
	TypeGroupRule   = "GroupRule"
	TypeUserType    = "UserType"
	TypePolicy      = "Policy"
	TypeMapping     = "ProfileMapping"
	TypeSchema      = "Schema"
	TypeToken       = "Token"
	TypeAuthServer  = "AuthorizationServer"
	TypePolicyRule  = "PolicyRule"
	TypeScope       = "OAuth2Scope"
	TypeClaim       = "OAuth2Claim"
	TypeClient      = "PublicClientApp"
	TypeAccess      = "access_token"
	TypeRefresh     = "refresh_token"
	TypeConsent     = "OAuth2Grant"
	TypeInlineHook  = "InlineHook"
	TypeHookKey     = "HookKey"
	TypeSMSTemplate = "SmsTemplate"
	TypeHardware    = "HardwareToken"
	TypeFactor      = "UserFactor"
	TypeSystem      = "SystemPrincipal"
	TypeBucket      = "Bucket"
	TypeRole        = "ROLE"
	TypePermission  = "PERMISSION"
	TypeResourceSet = "RESOURCE_SET"
	TypeResource    = "RESOURCE"
)

// User returns a user as an actor or target.
func User(doc docstore.Doc[model.User]) model.LogParty {
	u := doc.Value
	return model.LogParty{ID: doc.ID, Type: TypeUser, AlternateID: u.Login(), DisplayName: UserName(&u)}
}

// UserName returns the human-readable name of a user.
func UserName(u *model.User) string {
	if name := u.Text("displayName"); name != "" {
		return name
	}
	return strings.TrimSpace(u.Text("firstName") + " " + u.Text("lastName"))
}

// Group returns a group as a target.
func Group(doc docstore.Doc[model.Group]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeGroup, AlternateID: unknown, DisplayName: doc.Value.Name()}
}

// App returns an application as a target.
func App(id string, app *model.App) model.LogParty {
	return model.LogParty{ID: id, Type: TypeApp, AlternateID: app.Label, DisplayName: app.Label}
}

// AppUser returns an assignment as a target. Its id is the id of the account in the target system once that is known.
func AppUser(u *model.AppUser) model.LogParty {
	id := u.ExternalID
	if id == "" {
		id = u.UserID
	}
	return model.LogParty{ID: id, Type: TypeAppUser, AlternateID: u.UserName, DisplayName: u.UserName}
}

// PushMapping returns a group push mapping as a target.
func PushMapping(id string, m *model.PushMapping) model.LogParty {
	return model.LogParty{ID: id, Type: TypePushMapping, AlternateID: m.SourceGroupID, DisplayName: m.SourceName}
}

// UserType returns a user type as a target.
func UserType(id string, t *model.UserType) model.LogParty {
	return model.LogParty{ID: id, Type: TypeUserType, AlternateID: t.Name, DisplayName: t.DisplayName}
}

// Role returns a role as a target. The id of a standard role is its type.
func Role(id, label string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeRole, AlternateID: unknown, DisplayName: label}
}

// Permission returns a permission of a role as a target.
func Permission(name string) model.LogParty {
	return model.LogParty{ID: name, Type: TypePermission, AlternateID: name, DisplayName: name}
}

// ResourceSet returns a resource set as a target.
func ResourceSet(id, label string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeResourceSet, AlternateID: unknown, DisplayName: label}
}

// Resource returns a resource of a set as a target.
func Resource(id, orn string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeResource, AlternateID: orn, DisplayName: orn}
}

// Mapping returns a profile mapping as a target.
func Mapping(id string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeMapping, AlternateID: unknown}
}

// GroupSchema returns the profile schema of groups as a target.
func GroupSchema() model.LogParty {
	return model.LogParty{ID: model.GroupSchemaDocument, Type: TypeSchema, AlternateID: unknown, DisplayName: "Group"}
}

// Token returns an API token as a target.
func Token(doc docstore.Doc[model.APIToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeToken, AlternateID: doc.Value.Client, DisplayName: doc.Value.Name}
}

// GroupRule returns a group rule as a target.
func GroupRule(doc docstore.Doc[model.GroupRule]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeGroupRule, AlternateID: unknown, DisplayName: doc.Value.Name}
}

// AuthServer returns an authorization server as a target.
func AuthServer(id string, s *model.AuthServer) model.LogParty {
	return model.LogParty{ID: id, Type: TypeAuthServer, AlternateID: s.Name, DisplayName: s.Name}
}

// Part returns a part of an authorization server as a target.
func Part(kind, id, name string) model.LogParty {
	return model.LogParty{ID: id, Type: kind, AlternateID: unknown, DisplayName: name}
}

// Client returns an OAuth client as an actor or target.
func Client(doc docstore.Doc[model.App]) model.LogParty {
	id := doc.ID
	if doc.Value.OAuth() {
		id = doc.Value.Credentials.OAuthClient.ID
	}
	return model.LogParty{ID: id, Type: TypeClient, AlternateID: id, DisplayName: doc.Value.Label}
}

// RefreshToken returns a refresh token as a target.
func RefreshToken(doc docstore.Doc[model.RefreshToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeRefresh, AlternateID: doc.Value.ClientID, DisplayName: "Refresh token"}
}

// Consent returns a consent as a target.
func Consent(doc docstore.Doc[model.Consent]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeConsent, AlternateID: doc.Value.ClientID, DisplayName: doc.Value.Scope}
}

// InlineHook returns an inline hook as a target.
func InlineHook(doc docstore.Doc[model.InlineHook]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeInlineHook, AlternateID: string(doc.Value.Type), DisplayName: doc.Value.Name}
}

// SMSTemplate returns an SMS template as a target.
func SMSTemplate(doc docstore.Doc[model.SMSTemplate]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeSMSTemplate, AlternateID: unknown, DisplayName: doc.Value.Name}
}

// HookKey returns a hook key as a target.
func HookKey(doc docstore.Doc[model.HookKey]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeHookKey, AlternateID: doc.Value.KeyID, DisplayName: doc.Value.Name}
}

// HardwareToken returns a hardware token as a target.
func HardwareToken(doc docstore.Doc[model.HardwareToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeHardware, AlternateID: doc.Value.PublicID, DisplayName: doc.Value.Serial}
}

// Factor returns a factor of a user as a target.
func Factor(id string, f *model.Factor) model.LogParty {
	return model.LogParty{ID: id, Type: TypeFactor, AlternateID: string(f.Provider), DisplayName: string(f.Type)}
}
