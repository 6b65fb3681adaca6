package audit

import (
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The types of parties.
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

// User is a user as a party.
func User(doc docstore.Doc[model.User]) model.LogParty {
	u := doc.Value
	return model.LogParty{ID: doc.ID, Type: TypeUser, AlternateID: u.Login(), DisplayName: UserName(&u)}
}

// UserName is how a user is called among people.
func UserName(u *model.User) string {
	if name := u.Text("displayName"); name != "" {
		return name
	}
	return strings.TrimSpace(u.Text("firstName") + " " + u.Text("lastName"))
}

// Group is a group as a party.
func Group(doc docstore.Doc[model.Group]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeGroup, AlternateID: unknown, DisplayName: doc.Value.Name()}
}

// App is an application as a party.
func App(id string, app *model.App) model.LogParty {
	return model.LogParty{ID: id, Type: TypeApp, AlternateID: app.Label, DisplayName: app.Label}
}

// AppUser is an assignment as a party. Its id is the account in the target as soon as that is known.
func AppUser(u *model.AppUser) model.LogParty {
	id := u.ExternalID
	if id == "" {
		id = u.UserID
	}
	return model.LogParty{ID: id, Type: TypeAppUser, AlternateID: u.UserName, DisplayName: u.UserName}
}

// PushMapping is a group push mapping as a party.
func PushMapping(id string, m *model.PushMapping) model.LogParty {
	return model.LogParty{ID: id, Type: TypePushMapping, AlternateID: m.SourceGroupID, DisplayName: m.SourceName}
}

// UserType is a user type as a party.
func UserType(id string, t *model.UserType) model.LogParty {
	return model.LogParty{ID: id, Type: TypeUserType, AlternateID: t.Name, DisplayName: t.DisplayName}
}

// Role is a role as a party: a standard one by its type, a custom one by its id.
func Role(id, label string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeRole, AlternateID: unknown, DisplayName: label}
}

// Permission is a permission of a role as a party.
func Permission(name string) model.LogParty {
	return model.LogParty{ID: name, Type: TypePermission, AlternateID: name, DisplayName: name}
}

// ResourceSet is a resource set as a party.
func ResourceSet(id, label string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeResourceSet, AlternateID: unknown, DisplayName: label}
}

// Resource is a resource of a set as a party.
func Resource(id, orn string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeResource, AlternateID: orn, DisplayName: orn}
}

// Mapping is a profile mapping as a party.
func Mapping(id string) model.LogParty {
	return model.LogParty{ID: id, Type: TypeMapping, AlternateID: unknown}
}

// GroupSchema is the profile schema of groups as a party.
func GroupSchema() model.LogParty {
	return model.LogParty{ID: model.GroupSchemaDocument, Type: TypeSchema, AlternateID: unknown, DisplayName: "Group"}
}

// Token is an API token as a party.
func Token(doc docstore.Doc[model.APIToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeToken, AlternateID: doc.Value.Client, DisplayName: doc.Value.Name}
}

// GroupRule is a group rule as a party.
func GroupRule(doc docstore.Doc[model.GroupRule]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeGroupRule, AlternateID: unknown, DisplayName: doc.Value.Name}
}

// AuthServer is an authorization server as a party.
func AuthServer(id string, s *model.AuthServer) model.LogParty {
	return model.LogParty{ID: id, Type: TypeAuthServer, AlternateID: s.Name, DisplayName: s.Name}
}

// Part is a part of an authorization server as a party.
func Part(kind, id, name string) model.LogParty {
	return model.LogParty{ID: id, Type: kind, AlternateID: unknown, DisplayName: name}
}

// Client is an OAuth client as a party.
func Client(doc docstore.Doc[model.App]) model.LogParty {
	id := doc.ID
	if doc.Value.OAuth() {
		id = doc.Value.Credentials.OAuthClient.ID
	}
	return model.LogParty{ID: id, Type: TypeClient, AlternateID: id, DisplayName: doc.Value.Label}
}

// RefreshToken is a refresh token as a party.
func RefreshToken(doc docstore.Doc[model.RefreshToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeRefresh, AlternateID: doc.Value.ClientID, DisplayName: "Refresh token"}
}

// Consent is a consent as a party.
func Consent(doc docstore.Doc[model.Consent]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeConsent, AlternateID: doc.Value.ClientID, DisplayName: doc.Value.Scope}
}

// InlineHook is an inline hook as a party.
func InlineHook(doc docstore.Doc[model.InlineHook]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeInlineHook, AlternateID: string(doc.Value.Type), DisplayName: doc.Value.Name}
}

// SMSTemplate is an SMS template as a party.
func SMSTemplate(doc docstore.Doc[model.SMSTemplate]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeSMSTemplate, AlternateID: unknown, DisplayName: doc.Value.Name}
}

// HookKey is a hook key as a party.
func HookKey(doc docstore.Doc[model.HookKey]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeHookKey, AlternateID: doc.Value.KeyID, DisplayName: doc.Value.Name}
}

// HardwareToken is a hardware token as a party.
func HardwareToken(doc docstore.Doc[model.HardwareToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeHardware, AlternateID: doc.Value.PublicID, DisplayName: doc.Value.Serial}
}

// Factor is a factor of a user as a party.
func Factor(id string, f *model.Factor) model.LogParty {
	return model.LogParty{ID: id, Type: TypeFactor, AlternateID: string(f.Provider), DisplayName: string(f.Type)}
}
