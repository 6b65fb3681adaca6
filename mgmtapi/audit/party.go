package audit

import (
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/model"
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
	TypeToken       = "Token"
	TypeInlineHook  = "InlineHook"
	TypeHookKey     = "HookKey"
	TypeSystem      = "SystemPrincipal"
	TypeBucket      = "Bucket"
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

// Token is an API token as a party.
func Token(doc docstore.Doc[model.APIToken]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeToken, AlternateID: doc.Value.Client, DisplayName: doc.Value.Name}
}

// GroupRule is a group rule as a party.
func GroupRule(doc docstore.Doc[model.GroupRule]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeGroupRule, AlternateID: unknown, DisplayName: doc.Value.Name}
}

// InlineHook is an inline hook as a party.
func InlineHook(doc docstore.Doc[model.InlineHook]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeInlineHook, AlternateID: string(doc.Value.Type), DisplayName: doc.Value.Name}
}

// HookKey is a hook key as a party.
func HookKey(doc docstore.Doc[model.HookKey]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: TypeHookKey, AlternateID: doc.Value.KeyID, DisplayName: doc.Value.Name}
}
