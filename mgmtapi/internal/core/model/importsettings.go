package model

// ImportSettings say how the accounts of a target become users: the feature INBOUND_PROVISIONING of an application.
type ImportSettings struct {
	// UserName says what the login of an imported user is made of, Expression how for ImportByExpression: in the language of
	// internal/expression, over the attributes of the account.
	UserName   ImportUserName `json:"userName"`
	Expression string         `json:"expression,omitempty"`
	// Match says by what an account and a user are the same. Partial also takes those for similar who only have the same name.
	Match   ImportMatch `json:"match"`
	Partial bool        `json:"partial"`
	// What needs nobody's consent: to link an account to the user that matches exactly, or partially, and to make a user of one
	// that matches nobody, which is activated at once with Activate.
	ConfirmExact   bool `json:"confirmExact,omitempty"`
	ConfirmPartial bool `json:"confirmPartial,omitempty"`
	ConfirmNew     bool `json:"confirmNew,omitempty"`
	Activate       bool `json:"activate,omitempty"`

	Schedule ImportSchedule `json:"schedule,omitzero"`
}

// ImportUserName says what the login of an imported user is made of.
type ImportUserName string

// What logins are made of.
const (
	ImportByEmail      ImportUserName = "EMAIL"
	ImportByLogin      ImportUserName = "LOGIN" // the user name of the account
	ImportByExpression ImportUserName = "CUSTOM"
)

// ImportMatch says by what an account and a user are the same.
type ImportMatch string

// The criteria.
const (
	ImportMatchUserName ImportMatch = "USERNAME" // the login that the account would get
	ImportMatchEmail    ImportMatch = "EMAIL"
)

// DefaultImport are the settings before any were given. Nothing is done without somebody's consent.
var DefaultImport = ImportSettings{UserName: ImportByLogin, Match: ImportMatchUserName, Partial: true}

// LoginRule is the expression that makes the login of an imported user.
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

// ImportSettings are those of the connection, or the default ones. It works for nil.
func (c *Connection) ImportSettings() ImportSettings {
	if c == nil || c.Import == nil {
		return DefaultImport
	}
	return *c.Import
}

// Imports says whether imports were set up and can work. It is false for nil.
func (c *Connection) Imports() bool { return c != nil && c.Enabled && c.Import != nil }
