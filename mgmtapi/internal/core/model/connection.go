package model

import "github.com/scimwright/scimwright/internal/docstore"

// HeaderFormat is the format of the Authorization header of a connection.
type HeaderFormat string

// The header formats.
const (
	HeaderBearer HeaderFormat = "BEARER" // "Bearer " and the token
	HeaderRaw    HeaderFormat = "RAW"    // the token alone
	HeaderBasic  HeaderFormat = "BASIC"  // the token is user:password
)

// Fallback determines whether the engine may send another form of a SCIM request than the preferred one of the update style.
type Fallback string

// The fallbacks.
const (
	FallbackLearn Fallback = "LEARN" // another form is sent after the target rejects a request, or accepts it without effect
	FallbackNone  Fallback = "NONE"  // never
)

// UpdateStyle selects the SCIM requests that update users and groups.
type UpdateStyle string

// The update styles.
const (
	StyleCatalog UpdateStyle = "CATALOG" // PATCH for activation, deactivation, password and group membership, PUT for other updates
	StyleWizard  UpdateStyle = "WIZARD"  // PUT for all
	StyleAuto    UpdateStyle = "AUTO"    // CATALOG or WIZARD, according to the target's ServiceProviderConfig
)

// Connection is the provisioning connection of an application, with the features that use it. Its document id is the application id. An
// application whose connection was never configured has no document.
type Connection struct {
	// Enabled is true from an activation, which verifies the connection, until the next deactivation.
	Enabled bool `json:"enabled"`
	// Ended is true from a deactivation until the next activation. Before the first activation, neither Enabled nor Ended is true.
	Ended   bool   `json:"ended,omitempty"`
	BaseURL string `json:"baseUrl"`
	// SealedToken is the token, or the secret of the OAuth client, encrypted with ConnectionBinding(app).
	SealedToken  string       `json:"sealedToken"`
	HeaderFormat HeaderFormat `json:"headerFormat"`
	// OAuth is nil for a static token.
	OAuth             *ConnectionOAuth `json:"oauth,omitempty"`
	UserNameAttribute string           `json:"userNameAttribute"`
	// UpdateStyle is empty if unset: see Style.
	UpdateStyle UpdateStyle `json:"updateStyle,omitempty"`
	// Fallback is empty if unset: see FallsBack.
	Fallback Fallback `json:"fallback,omitempty"`

	UserProvisioning UserProvisioning `json:"userProvisioning"`
	GroupPush        GroupPush        `json:"groupPush"`
	// Import is nil if imports were never configured.
	Import *ImportSettings `json:"import,omitempty"`
}

// ConnectionOAuth describes how a connection obtains access tokens, by the client credentials grant.
type ConnectionOAuth struct {
	ClientID string `json:"clientId"`
	TokenURL string `json:"tokenUrl"`
	Scope    string `json:"scope,omitempty"`
}

// ConnectionBinding returns the binding with which package seal encrypts the token of a connection.
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

// PasswordSeed selects the password that Sync Password sends.
type PasswordSeed string

// The password seeds.
const (
	SeedRandom PasswordSeed = "RANDOM"
	SeedSvc    PasswordSeed = "SVC"
)

// PasswordChange selects what Sync Password does when a password changes.
type PasswordChange string

// The actions after a changed password.
const (
	KeepExisting PasswordChange = "KEEP_EXISTING"
	ChangeBoth   PasswordChange = "CHANGE"
)

// GroupPush are the options of the feature GROUP_PUSH.
type GroupPush struct {
	// Off disables group push. The zero value means that group push is enabled, which is the default.
	Off bool `json:"off,omitempty"`
}

// Style returns the update style: the configured one, otherwise the default of the application, which depends on App.Custom. For a nil
// connection, it returns the default.
func (c *Connection) Style(app *App) UpdateStyle {
	switch {
	case c != nil && c.UpdateStyle != "":
		return c.UpdateStyle
	case app.Custom:
		return StyleWizard
	}
	return StyleCatalog
}

// FallsBack returns the configured fallback. It returns FallbackNone for an unset fallback and for a nil connection.
func (c *Connection) FallsBack() Fallback {
	if c == nil || c.Fallback == "" {
		return FallbackNone
	}
	return c.Fallback
}

// Creates reports whether the connection and Create Users are enabled. It returns false for a nil connection.
func (c *Connection) Creates() bool { return c != nil && c.Enabled && c.UserProvisioning.Create }

// Updates reports whether the connection and Update User Attributes are enabled. It returns false for a nil connection.
func (c *Connection) Updates() bool { return c != nil && c.Enabled && c.UserProvisioning.Update }

// Deactivates reports whether the connection and Deactivate Users are enabled. It returns false for a nil connection.
func (c *Connection) Deactivates() bool {
	return c.OwesDeactivations() && c.Enabled
}

// ConnectionOff is the error text for requests that require an enabled connection.
const ConnectionOff = "Provisioning is not enabled for the application; activate its connection first"

// OwesDeactivations reports whether Deactivate Users is enabled, whether or not the connection is enabled. A user who loses an assignment
// while the connection is not enabled is deactivated in the target when the connection is enabled again. It returns false for a nil
// connection.
func (c *Connection) OwesDeactivations() bool { return c != nil && c.UserProvisioning.Deactivate }

// OwesUpdates reports whether Update User Attributes is enabled, whether or not the connection is enabled. It returns false for a nil
// connection.
func (c *Connection) OwesUpdates() bool { return c != nil && c.UserProvisioning.Update }

// SyncsPasswords reports whether the connection and Sync Password are enabled. It returns false for a nil connection.
func (c *Connection) SyncsPasswords() bool {
	return c != nil && c.Enabled && c.UserProvisioning.Password
}

// PushesGroups reports whether the connection and Group Push are enabled. It returns false for a nil connection.
func (c *Connection) PushesGroups() bool { return c != nil && c.Enabled && !c.GroupPush.Off }

// PushesProfiles reports whether the mapping overrides supplied values, because assignments are pushed to the target.
func (c *Connection) PushesProfiles() bool { return c.Creates() || c.Updates() }

// Features returns the feature list of an application. It is empty for a connection that is nil or not enabled.
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
