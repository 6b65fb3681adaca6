package connections

import (
	"cmp"
	"context"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// inbound is the name of the feature that imports users.
const inbound = "INBOUND_PROVISIONING"

// ImportSettings configure the logins of imported users and the schedule of imports.
type ImportSettings struct {
	Username *ImportUserName `json:"username,omitempty" doc:"Rule by which an import derives the login of a new user."`
	Schedule *ImportSchedule `json:"schedule,omitempty" doc:"When imports start automatically."`
}

// ImportUserName configures how the login of an imported user is derived.
type ImportUserName struct {
	Format model.ImportUserName `json:"userNameFormat,omitempty" empty:"absent"`

	Expression *string `json:"userNameExpression,omitempty" max:"1024" doc:"Expression over appuser, the account, for userNameFormat CUSTOM."`
}

// MoreTags implements rest.Described.
func (ImportUserName) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"userNameFormat": `enum:"EMAIL,LOGIN,CUSTOM" doc:"The email address or the user name of the account, or the result of the ` +
			`expression. A rule for login in the mapping to users replaces it."`,
	}
}

// ImportSchedule configures when imports start automatically.
type ImportSchedule struct {
	Status      string       `json:"status" empty:"absent"`
	Full        *ImportTimes `json:"fullImport,omitempty" doc:"When all accounts are read."`
	Incremental *ImportTimes `json:"incrementalImport,omitempty" doc:"More times at which all accounts are read: SCIM has no list of changes."`
}

// MoreTags implements rest.Described.
func (ImportSchedule) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"status": `enum:"ENABLED,DISABLED" doc:"ENABLED: imports of users start at the times of both members, of which at least one is ` +
			`required. DISABLED: imports start on request."`,
	}
}

// ImportTimes are the times at which an import starts.
type ImportTimes struct {
	Expression string `json:"expression" max:"255"`
	Timezone   string `json:"timezone,omitempty" empty:"absent" max:"64" doc:"IANA time zone of the expression. Default: UTC."`
}

// MoreTags implements rest.Described.
func (ImportTimes) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"expression": `doc:"UNIX cron expression of five fields: minute, hour, day of the month, month, day of the week. An empty string ` +
			`removes the times."`,
	}
}

func showTimes(t model.ImportTimes) *ImportTimes {
	if t.Expression == "" {
		return nil
	}
	return &ImportTimes{Expression: t.Expression, Timezone: t.Timezone}
}

// set replaces the stored times if any were sent.
func (t *ImportTimes) set(to *model.ImportTimes) {
	switch {
	case t == nil:
	case t.Expression == "":
		*to = model.ImportTimes{}
	default:
		*to = model.ImportTimes{Expression: t.Expression, Timezone: cmp.Or(t.Timezone, "UTC")}
	}
}

// ImportRules configure how accounts match users and what needs no consent.
type ImportRules struct {
	CreateAndMatch *CreateAndMatch `json:"userCreateAndMatch,omitempty" doc:"Rules for users."`
}

// CreateAndMatch are the rules for users.
type CreateAndMatch struct {
	Exact model.ImportMatch `json:"exactMatchCriteria,omitempty" empty:"absent"`

	Partial *bool `json:"allowPartialMatch,omitempty" doc:"Treats an account and a user with the same first and last names as similar."`

	ConfirmPartial *bool `json:"autoConfirmPartialMatch,omitempty" doc:"Links an account to the only user that it is similar to."`
	ConfirmExact   *bool `json:"autoConfirmExactMatch,omitempty" doc:"Links an account to the user that it matches."`
	ConfirmNew     *bool `json:"autoConfirmNewUsers,omitempty" doc:"Creates a user from an account that matches no user."`
	Activate       *bool `json:"autoActivateNewUsers,omitempty" doc:"Activates created users; otherwise they are STAGED."`
}

// MoreTags implements rest.Described.
func (CreateAndMatch) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"exactMatchCriteria": `enum:"USERNAME,EMAIL" doc:"How an account and a user match: by the login that the account would get, or by ` +
			`the email address."`,
	}
}

func showImport(c *model.Connection) Capabilities {
	s := c.ImportSettings()
	name := &ImportUserName{Format: s.UserName}
	if s.Expression != "" {
		name.Expression = &s.Expression
	}
	return Capabilities{
		ImportSettings: &ImportSettings{Username: name, Schedule: &ImportSchedule{
			Status: onOff(s.Schedule.On), Full: showTimes(s.Schedule.Full), Incremental: showTimes(s.Schedule.Incremental),
		}},
		ImportRules: &ImportRules{CreateAndMatch: &CreateAndMatch{
			Exact: s.Match, Partial: &s.Partial, ConfirmPartial: &s.ConfirmPartial, ConfirmExact: &s.ConfirmExact, ConfirmNew: &s.ConfirmNew,
			Activate: &s.Activate,
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
	if sent.ImportSettings != nil && sent.ImportSettings.Schedule != nil {
		schedule := sent.ImportSettings.Schedule
		(&Switch{schedule.Status}).set(&s.Schedule.On)
		schedule.Full.set(&s.Schedule.Full)
		schedule.Incremental.set(&s.Schedule.Incremental)
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

// checkImport records errors in settings of imports. stored holds the current settings, source lists the attributes that an expression may
// use.
func (c *Capabilities) checkImport(stored model.ImportSettings, source map[string]expression.Kind, causes *rest.Causes) {
	if c.ImportSettings == nil {
		return
	}
	const path = "importSettings.username.userNameExpression"
	changed := model.Connection{Import: &stored}
	setImport(&changed, *c)
	if c.ImportSettings.Schedule != nil {
		checkSchedule(changed.Import.Schedule, causes)
	}
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

// checkSchedule records errors in a schedule.
func checkSchedule(s model.ImportSchedule, causes *rest.Causes) {
	const path = "importSettings.schedule."
	for _, times := range []struct {
		member string
		model.ImportTimes
	}{{"fullImport", s.Full}, {"incrementalImport", s.Incremental}} {
		if times.Expression == "" {
			continue
		}
		expression, timezone := times.Problems()
		if expression != "" {
			causes.Add(path+times.member+".expression", "%s", expression)
		}
		if timezone != "" {
			causes.Add(path+times.member+".timezone", "%s", timezone)
		}
	}
	if s.On && s.Full.Expression == "" && s.Incremental.Expression == "" {
		causes.Add(path+"status", "An enabled schedule requires an expression in fullImport or incrementalImport")
	}
}

// reschedule stores the time of the next import if the schedule has changed.
func (s *Slice) reschedule(ctx context.Context, tx *docstore.Tx, app string, was, is model.ImportSchedule) error {
	if was == is {
		return nil
	}
	doc, err := model.Optional(ctx, tx, s.DueImports, app)
	if err != nil {
		return err
	}
	if s.Rescheduled != nil {
		s.Rescheduled()
	}
	next := is.Next(s.Now())
	due := model.DueImport{Due: next, At: next, Base: rest.URL(ctx)}
	switch {
	case doc == nil && next.IsZero():
	case doc == nil:
		_, err = s.DueImports.Insert(ctx, tx, app, due)
	case next.IsZero():
		err = s.DueImports.Delete(ctx, tx, app)
	default:
		_, err = s.DueImports.Update(ctx, tx, app, doc.Rev, due)
	}
	return err
}
