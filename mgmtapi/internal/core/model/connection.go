package model

import "github.com/scimwright/scimwright/internal/docstore"

// HeaderFormat says how the token of a connection is put into the
// Authorization header.
type HeaderFormat string

// The header formats.
const (
	HeaderBearer HeaderFormat = "BEARER" // "Bearer " and the token
	HeaderRaw    HeaderFormat = "RAW"    // the token as it is
	HeaderBasic  HeaderFormat = "BASIC"  // the token is user:password
)

// Fallback says whether another form of a SCIM request may be tried than the one that the update style names first.
type Fallback string

// The fallbacks.
const (
	FallbackLearn Fallback = "LEARN" // after a rejection, or a success without effect
	FallbackNone  Fallback = "NONE"  // never
)

// UpdateStyle says which SCIM requests update users and groups.
type UpdateStyle string

// The update styles.
const (
	StyleCatalog UpdateStyle = "CATALOG" // PATCH for activation, deactivation, password and group membership, PUT for other updates
	StyleWizard  UpdateStyle = "WIZARD"  // PUT for all
	StyleAuto    UpdateStyle = "AUTO"    // as the target's ServiceProviderConfig says
)

// Connection is the provisioning connection of an application and the
// features that work over it. Its document id is the application id; an
// application that was never configured has none.
type Connection struct {
	// Enabled says that the connection was verified and activated.
	Enabled bool `json:"enabled"`
	// Ended says that it was enabled, and was deactivated.
	Ended   bool   `json:"ended,omitempty"`
	BaseURL string `json:"baseUrl"`
	// SealedToken is the token, or the secret of the OAuth client; its binding is ConnectionBinding(app).
	SealedToken  string       `json:"sealedToken"`
	HeaderFormat HeaderFormat `json:"headerFormat"`
	// OAuth is nil for a token that is sent as it is.
	OAuth             *ConnectionOAuth `json:"oauth,omitempty"`
	UserNameAttribute string           `json:"userNameAttribute"`
	// UpdateStyle is empty as long as none was chosen: see Style.
	UpdateStyle UpdateStyle `json:"updateStyle,omitempty"`
	// Fallback is empty as long as none was chosen: see FallsBack.
	Fallback Fallback `json:"fallback,omitempty"`

	UserProvisioning UserProvisioning `json:"userProvisioning"`
	GroupPush        GroupPush        `json:"groupPush"`
	// Import is nil as long as imports were not set up.
	Import *ImportSettings `json:"import,omitempty"`
}

// ConnectionOAuth says where the access tokens of a connection come from, by the client credentials grant.
type ConnectionOAuth struct {
	ClientID string `json:"clientId"`
	TokenURL string `json:"tokenUrl"`
	Scope    string `json:"scope,omitempty"`
}

// ConnectionBinding is the seal binding of a connection's token.
func ConnectionBinding(app string) string { return "connection:" + app }

// UserProvisioning are the options of the feature USER_PROVISIONING.
type UserProvisioning struct {
	Create     bool           `json:"create"`
	Update     bool           `json:"update"`
	Deactivate bool           `json:"deactivate"`
	Password   bool           `json:"password,omitempty"`
	Seed       PasswordSeed   `json:"seed"`
	Change     PasswordChange `json:"change"`
}

// PasswordSeed says which password Sync Password sends.
type PasswordSeed string

// The password seeds.
const (
	SeedRandom PasswordSeed = "RANDOM"
	SeedSvc    PasswordSeed = "SVC"
)

// PasswordChange says what Sync Password does when a password changes.
type PasswordChange string

// The reactions to a changed password.
const (
	KeepExisting PasswordChange = "KEEP_EXISTING"
	ChangeBoth   PasswordChange = "CHANGE"
)

// GroupPush are the options of the feature GROUP_PUSH.
type GroupPush struct {
	// Off is kept, not on, because the feature starts on with the connection.
	Off bool `json:"off,omitempty"`
}

// Style returns the update style: the one that was chosen, otherwise the one of the application, whose name the sandbox generated for a
// custom integration. It is the latter for nil.
func (c *Connection) Style(app *App) UpdateStyle {
	switch {
	case c != nil && c.UpdateStyle != "":
		return c.UpdateStyle
	case app.Custom:
		return StyleWizard
	}
	return StyleCatalog
}

// FallsBack returns the fallback: the one that was chosen, otherwise FallbackNone. It is FallbackNone for nil.
func (c *Connection) FallsBack() Fallback {
	if c == nil || c.Fallback == "" {
		return FallbackNone
	}
	return c.Fallback
}

// Creates says whether Create Users is on and can work. It is false for nil.
func (c *Connection) Creates() bool { return c != nil && c.Enabled && c.UserProvisioning.Create }

// Updates says whether Update User Attributes is on and can work. It is false for nil.
func (c *Connection) Updates() bool { return c != nil && c.Enabled && c.UserProvisioning.Update }

// Deactivates says whether Deactivate Users is on and can work. It is false for nil.
func (c *Connection) Deactivates() bool {
	return c.OwesDeactivations() && c.Enabled
}

// ConnectionOff is told to whoever asks for what takes a connection that is enabled.
const ConnectionOff = "Provisioning is not enabled for the application; activate its connection first"

// OwesDeactivations says whether Deactivate Users is on, also while the connection is not enabled: who loses an assignment meanwhile
// is deactivated in the target when it is again. It is false for nil.
func (c *Connection) OwesDeactivations() bool { return c != nil && c.UserProvisioning.Deactivate }

// OwesUpdates reports whether Update User Attributes is on, including while the connection is not enabled. It is false for nil.
func (c *Connection) OwesUpdates() bool { return c != nil && c.UserProvisioning.Update }

// SyncsPasswords says whether Sync Password is on and can work. It is false for nil.
func (c *Connection) SyncsPasswords() bool {
	return c != nil && c.Enabled && c.UserProvisioning.Password
}

// PushesGroups says whether Group Push is on and can work. It is false for nil.
func (c *Connection) PushesGroups() bool { return c != nil && c.Enabled && !c.GroupPush.Off }

// PushesProfiles says that the mapping rules over supplied values, because
// what is assigned is pushed to the target.
func (c *Connection) PushesProfiles() bool { return c.Creates() || c.Updates() }

// Features derives the feature list of an application. It is empty for nil
// and for a connection that is not enabled.
func (c *Connection) Features() []string {
	features := []string{}
	add := func(on bool, names ...string) {
		if on {
			features = append(features, names...)
		}
	}
	add(c.Creates(), "PUSH_NEW_USERS")
	add(c.Updates(), "PUSH_PROFILE_UPDATES")
	add(c.Deactivates(), "PUSH_USER_DEACTIVATION", "REACTIVATE_USERS")
	add(c.SyncsPasswords(), "PUSH_PASSWORD_UPDATES")
	add(c.PushesGroups(), "GROUP_PUSH")
	add(c.Imports(), "IMPORT_NEW_USERS", "IMPORT_PROFILE_UPDATES")
	return features
}

func connectionCollection() docstore.Collection[Connection] {
	return docstore.NewCollection[Connection]("connections").Cached()
}
