package model

// ImportSettings determine how the accounts of a target become users: the feature INBOUND_PROVISIONING of an application.
type ImportSettings struct {
	// UserName is the source of the login of an imported user. Expression is the expression of ImportByExpression, in the language of
	// internal/expression, over the attributes of the account.
	UserName   ImportUserName `json:"userName"`
	Expression string         `json:"expression,omitempty"`
	// Match is the criterion by which an account matches a user. With Partial, users who only have the same name are partial matches.
	Match   ImportMatch `json:"match"`
	Partial bool        `json:"partial"`
	// Actions without a confirmation: to link an account to the user that matches exactly, to link it to the user that matches partially, and
	// to create a user from an account without a match. Activate also activates created users immediately.
	ConfirmExact   bool `json:"confirmExact,omitempty"`
	ConfirmPartial bool `json:"confirmPartial,omitempty"`
	ConfirmNew     bool `json:"confirmNew,omitempty"`
	Activate       bool `json:"activate,omitempty"`

	Schedule ImportSchedule `json:"schedule,omitzero"`
}

// ImportUserName is the source of the login of an imported user.
type ImportUserName string

// The sources of logins.
const (
	ImportByEmail      ImportUserName = "EMAIL"
	ImportByLogin      ImportUserName = "LOGIN" // the user name of the account
	ImportByExpression ImportUserName = "CUSTOM"
)

// ImportMatch is a criterion by which an account matches a user.
type ImportMatch string

// The criteria.
const (
	ImportMatchUserName ImportMatch = "USERNAME" // the login that a user created from the account would have
	ImportMatchEmail    ImportMatch = "EMAIL"
)

// DefaultImport holds the settings if none were configured. No account is imported without a confirmation.
var DefaultImport = ImportSettings{UserName: ImportByLogin, Match: ImportMatchUserName, Partial: true}

// LoginRule returns the expression for the login of an imported user.
func (s *ImportSettings) LoginRule() string {
	switch s.UserName {
	case ImportByEmail:
		return "appuser.email"
	case ImportByExpression:
		return s.Expression
	default:
		return "appuser." + AppUserName
	}
}

// ImportSettings returns the settings of the connection. It returns the default settings for a nil connection and for unset settings.
func (c *Connection) ImportSettings() ImportSettings {
	if c == nil || c.Import == nil {
		return DefaultImport
	}
	return *c.Import
}

// Imports reports whether imports are configured and the connection is enabled. It returns false for a nil connection.
func (c *Connection) Imports() bool { return c != nil && c.Enabled && c.Import != nil }
