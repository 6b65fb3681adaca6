package provisioning

import (
	"cmp"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// inbound is the name of the feature that imports users.
const inbound = "INBOUND_PROVISIONING"

// ImportSettings say what is made of accounts, and when.
type ImportSettings struct {
	Username *ImportUserName `json:"username,omitempty" doc:"What logins are made of."`
	Schedule *ImportSchedule `json:"schedule,omitempty" doc:"When imports begin by themselves."`
}

// ImportUserName says what the login of an imported user is made of.
type ImportUserName struct {
	Format     model.ImportUserName `json:"userNameFormat,omitempty" empty:"absent" enum:"EMAIL,LOGIN,CUSTOM" doc:"The e-mail address or the user name of the account, or what the expression gives. A rule for login in the mapping to users takes its place."`
	Expression *string              `json:"userNameExpression,omitempty" max:"1024" doc:"Expression over the attributes of the account (appuser), for CUSTOM."`
}

// ImportSchedule says when imports begin by themselves.
type ImportSchedule struct {
	Status string `json:"status" empty:"absent" enum:"ENABLED,DISABLED" doc:"DISABLED: imports begin when they are asked for. Schedules are not served."`
}

// ImportRules say whose accounts are, and what needs nobody's consent.
type ImportRules struct {
	CreateAndMatch *CreateAndMatch `json:"userCreateAndMatch,omitempty" doc:"Rules for users."`
}

// CreateAndMatch are the rules for users.
type CreateAndMatch struct {
	Exact          model.ImportMatch `json:"exactMatchCriteria,omitempty" empty:"absent" enum:"USERNAME,EMAIL" doc:"By what an account and a user are the same: the login that the account would get, or the e-mail address."`
	Partial        *bool             `json:"allowPartialMatch,omitempty" doc:"Takes an account and a user for similar whose first and last names are the same."`
	ConfirmPartial *bool             `json:"autoConfirmPartialMatch,omitempty" doc:"Links an account to the one user that it is similar to."`
	ConfirmExact   *bool             `json:"autoConfirmExactMatch,omitempty" doc:"Links an account to the user that it matches."`
	ConfirmNew     *bool             `json:"autoConfirmNewUsers,omitempty" doc:"Makes a user of an account that matches nobody."`
	Activate       *bool             `json:"autoActivateNewUsers,omitempty" doc:"Activates users that are made; otherwise they are STAGED."`
}

func showImport(c *model.Connection) Capabilities {
	s := c.ImportSettings()
	name := &ImportUserName{Format: s.UserName}
	if s.Expression != "" {
		name.Expression = &s.Expression
	}
	return Capabilities{
		ImportSettings: &ImportSettings{Username: name, Schedule: &ImportSchedule{Status: disabled}},
		ImportRules: &ImportRules{CreateAndMatch: &CreateAndMatch{
			Exact: s.Match, Partial: &s.Partial, ConfirmPartial: &s.ConfirmPartial, ConfirmExact: &s.ConfirmExact, ConfirmNew: &s.ConfirmNew, Activate: &s.Activate,
		}},
	}
}

func setImport(c *model.Connection, sent Capabilities) {
	s := c.ImportSettings()
	if sent.ImportSettings != nil && sent.ImportSettings.Username != nil {
		name := sent.ImportSettings.Username
		s.UserName = cmp.Or(name.Format, s.UserName)
		if name.Expression != nil {
			s.Expression = *name.Expression
		}
	}
	if sent.ImportRules != nil && sent.ImportRules.CreateAndMatch != nil {
		rules := sent.ImportRules.CreateAndMatch
		s.Match = cmp.Or(rules.Exact, s.Match)
		for _, option := range []struct{ sent, to *bool }{
			{rules.Partial, &s.Partial}, {rules.ConfirmPartial, &s.ConfirmPartial}, {rules.ConfirmExact, &s.ConfirmExact},
			{rules.ConfirmNew, &s.ConfirmNew}, {rules.Activate, &s.Activate},
		} {
			if option.sent != nil {
				*option.to = *option.sent
			}
		}
	}
	c.Import = &s
}

// checkImport records what is wrong with settings of imports. so are those so far, source is what an expression may speak of.
func (c *Capabilities) checkImport(so model.ImportSettings, source map[string]expression.Kind, causes *rest.Causes) {
	if c.ImportSettings == nil {
		return
	}
	if schedule := c.ImportSettings.Schedule; schedule != nil && schedule.Status == enabled {
		causes.Add("importSettings.schedule.status", "Imports are not begun by a schedule, but when they are asked for")
	}
	const path = "importSettings.username.userNameExpression"
	changed := model.Connection{Import: &so}
	setImport(&changed, *c)
	text := changed.Import.Expression
	if text == "" {
		if changed.Import.UserName == model.ImportByExpression {
			causes.Blank(path)
		}
		return
	}
	if err := appprofile.CheckRule(model.ToUser, text, source, &model.Property{Type: model.PropertyString}); err != nil {
		causes.Add(path, "%s", err)
	}
}
