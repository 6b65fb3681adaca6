package authservers

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ruleType is the only type of rule.
const ruleType = "RESOURCE_ACCESS"

// Rule is a rule in JSON.
type Rule struct {
	ID          string         `json:"id" readOnly:"true" doc:"Id of the rule."`
	Type        string         `json:"type" readOnly:"true" enum:"RESOURCE_ACCESS" doc:"Always RESOURCE_ACCESS."`
	Status      model.Status   `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"Whether the rule is in force."`
	Name        string         `json:"name" readOnly:"true" doc:"Name of the rule."`
	Priority    int            `json:"priority" readOnly:"true" doc:"Position among the rules of the policy, from 1."`
	System      bool           `json:"system" readOnly:"true" doc:"Whether the rule is built in and cannot be deleted."`
	Conditions  RuleConditions `json:"conditions" readOnly:"true" doc:"Conditions for the rule."`
	Actions     RuleActions    `json:"actions" readOnly:"true" doc:"Settings of the issued tokens."`
	Created     rest.Time      `json:"created" readOnly:"true" doc:"When the rule was created."`
	LastUpdated rest.Time      `json:"lastUpdated" readOnly:"true" doc:"When the rule last changed."`
	Links       rest.Links     `json:"_links" readOnly:"true" doc:"Links to the operations on the rule."`
}

// RuleConditions are the conditions for a rule.
type RuleConditions struct {
	People     *RulePeople `json:"people,omitempty" doc:"Users and groups. If omitted, the rule applies to every user."`
	GrantTypes Included    `json:"grantTypes" doc:"The grant types."`
	Scopes     Included    `json:"scopes" doc:"Names of scopes, or * for all."`
}

// RulePeople are the users that a rule applies to.
type RulePeople struct {
	Users  Selected `json:"users" doc:"Ids of users."`
	Groups Selected `json:"groups" doc:"Ids of groups, or EVERYONE."`
}

// Selected lists the included and the excluded ids.
type Selected struct {
	Include []string `json:"include" doc:"Users or groups that the rule applies to."`
	Exclude []string `json:"exclude" doc:"Exceptions from include."`
}

// RuleActions are the settings of the tokens of a rule.
type RuleActions struct {
	Token TokenAction `json:"token" doc:"Lifetimes and inline hook of the tokens."`
}

// TokenAction holds the lifetimes and the inline hook of tokens.
type TokenAction struct {
	Access  *int `json:"accessTokenLifetimeMinutes,omitempty" min:"5" max:"1440" doc:"Lifetime of access tokens in minutes. Default: 60."`
	Refresh *int `json:"refreshTokenLifetimeMinutes,omitempty" min:"0" max:"52560000"`

	Window *int `json:"refreshTokenWindowMinutes,omitempty" min:"10" max:"2628000" doc:"Maximum idle time in minutes. Default: 10080."`

	Hook *InlineHookRef `json:"inlineHook,omitempty" doc:"The inline hook that transforms the tokens."`
}

// MoreTags implements rest.Described.
func (TokenAction) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"refreshTokenLifetimeMinutes": `doc:"Lifetime of refresh tokens in minutes, at least that of access tokens. Default: 0, ` +
			`which means unlimited while they are used."`,
	}
}

// InlineHookRef refers to an inline hook.
type InlineHookRef struct {
	ID string `json:"id" doc:"Id of the inline hook."`
}

// RuleInput is the body of a new or replaced rule.
type RuleInput struct {
	Type   string       `json:"type" empty:"absent" enum:"RESOURCE_ACCESS" doc:"Always RESOURCE_ACCESS; may be omitted."`
	Status model.Status `json:"status" empty:"absent" enum:"ACTIVE,INACTIVE" doc:"Whether the rule is in force. Default: ACTIVE."`
	Name   string       `json:"name" max:"255" required:"true" doc:"Name of the rule, unique in its policy."`

	Priority int `json:"priority" min:"0" doc:"Position among the rules, from 1. The other rules are renumbered. 0 appends a new rule."`

	Conditions RuleConditions `json:"conditions" doc:"Conditions for the rule."`
	Actions    RuleActions    `json:"actions" doc:"Settings of the issued tokens."`
}

// showRule renders the rule at a position.
func showRule(ctx context.Context, server, policy string, at int, r *model.AuthRule) Rule {
	url := func(segments ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "authorizationServers", server, "policies", policy, "rules", r.ID}, segments...)...)
	}
	list := func(texts []string) []string { return append([]string{}, texts...) }
	out := Rule{
		ID: r.ID, Type: ruleType, Status: r.Status, Name: r.Name, Priority: at + 1, System: r.System,
		Conditions: RuleConditions{
			People: &RulePeople{
				Users:  Selected{list(r.People.Users), list(r.People.ExcludeUsers)},
				Groups: Selected{list(r.People.Groups), list(r.People.ExcludeGroups)},
			},
			GrantTypes: Included{list(r.Grants)}, Scopes: Included{list(r.Scopes)},
		},
		Actions: RuleActions{TokenAction{Access: &r.AccessMinutes, Refresh: &r.RefreshMinutes, Window: &r.WindowMinutes}},
		Created: rest.TimeOf(r.Created), LastUpdated: rest.TimeOf(r.Updated), Links: rest.Links{"self": rest.To(url(), get, put, remove)},
	}
	if r.Hook != "" {
		out.Actions.Token.Hook = &InlineHookRef{ID: r.Hook}
	}
	lifecycle(out.Links, r.Status, url)
	return out
}

// ruleTarget is the rule in a path.
type ruleTarget struct {
	policyTarget
	Rule string `path:"ruleId" doc:"Id of the rule."`
}

func (t *ruleTarget) self() *ruleTarget { return t }

func (s *Slice) findRule(ctx context.Context, q docstore.Reader, t *ruleTarget) error {
	return findPart(ctx, s, q, t)
}

func (t *ruleTarget) at(server *model.AuthServer) (spot[model.AuthRule], error) {
	in, err := t.policyTarget.at(server)
	if err != nil {
		return spot[model.AuthRule]{}, err
	}
	return locate(&in.part().Rules, "PolicyRule", t.Rule, func(r *model.AuthRule) bool { return r.ID == t.Rule }, ruleParties(in.part()))
}

// ruleParties returns the log targets of events about a rule of a policy.
func ruleParties(p *model.AuthPolicy) func(*model.AuthRule) []model.LogParty {
	return func(r *model.AuthRule) []model.LogParty {
		return append([]model.LogParty{audit.Part(audit.TypePolicyRule, r.ID, r.Name)}, policyParties(p)...)
	}
}

func (s *Slice) listRules(ctx context.Context, t *policyTarget) ([]Rule, error) {
	out := []Rule{}
	p := t.found.Value.Policy(t.Policy)
	for i := range p.Rules {
		out = append(out, showRule(ctx, t.found.ID, p.ID, i, &p.Rules[i]))
	}
	return out, nil
}

func (s *Slice) getRule(ctx context.Context, t *ruleTarget) (Rule, error) {
	at, err := t.at(&t.found.Value)
	if err != nil {
		return Rule{}, err
	}
	return showRule(ctx, t.found.ID, t.Policy, at.i, at.part()), nil
}

type createRuleRequest struct {
	policyTarget
	Body RuleInput `body:"required"`
}

func (s *Slice) createRule(ctx context.Context, r *createRuleRequest) (Rule, error) {
	rule := model.AuthRule{ID: model.NewID(model.KindPolicyRule), Status: model.Active}
	err := s.change(ctx, &r.target, audit.PolicyRuleAdd, func(tx *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		in, err := r.at(server)
		if err != nil {
			return nil, err
		}
		p := in.part()
		if len(p.Rules) >= maxRules {
			return nil, rest.Invalid("rules", "A policy can have at most %d rules", maxRules)
		}
		rule.Created = s.Now()
		if err := s.applyRule(ctx, tx, &r.Body, server, p, &rule); err != nil {
			return nil, err
		}
		p.Rules = place(p.Rules, rule, r.Body.Priority)
		return ruleParties(p)(&rule), nil
	})
	if err != nil {
		return Rule{}, err
	}
	return s.getRule(ctx, &ruleTarget{policyTarget: r.policyTarget, Rule: rule.ID})
}

// applyRule validates a body and applies it to a rule.
func (s *Slice) applyRule(
	ctx context.Context, tx *docstore.Tx, in *RuleInput, server *model.AuthServer, p *model.AuthPolicy, r *model.AuthRule,
) error {
	var causes rest.Causes
	if slices.ContainsFunc(p.Rules, func(other model.AuthRule) bool { return other.ID != r.ID && strings.EqualFold(other.Name, in.Name) }) {
		causes.NotUnique("name")
	}
	people := model.RulePeople{Groups: []string{model.EveryoneToken}}
	if given := in.Conditions.People; given != nil {
		people = model.RulePeople{
			Users: unique(given.Users.Include), ExcludeUsers: unique(given.Users.Exclude),
			Groups: unique(given.Groups.Include), ExcludeGroups: unique(given.Groups.Exclude),
		}
	}
	if err := callers.CheckPeople(ctx, tx, s.Deps, &people, &causes); err != nil {
		return err
	}
	grants := unique(in.Conditions.GrantTypes.Include)
	if len(grants) == 0 {
		causes.Blank("conditions.grantTypes.include")
	}
	for i, grant := range grants {
		if !slices.Contains(model.GrantTypes, grant) {
			causes.Add(fmt.Sprintf("conditions.grantTypes.include[%d]", i), "The value must be one of: %s", strings.Join(model.GrantTypes, ", "))
		}
	}
	scopes := unique(in.Conditions.Scopes.Include)
	checkScopes(server, scopes, "conditions.scopes.include", true, &causes)
	next := *r
	if err := s.applyTokens(ctx, tx, &in.Actions.Token, &next, &causes); err != nil {
		return err
	}
	if err := causes.Err(); err != nil {
		return err
	}
	next.Name, next.People, next.Grants, next.Scopes, next.Updated = in.Name, people, grants, scopes, s.Now()
	if in.Status != "" {
		next.Status = in.Status
	}
	*r = next
	return nil
}

// checkScopes requires the names of scopes of the server. With anyScope, * means all scopes, and the list must not be empty.
func checkScopes(server *model.AuthServer, names []string, member string, anyScope bool, causes *rest.Causes) {
	switch {
	case len(names) == 0 && anyScope:
		causes.Blank(member)
	case len(names) > maxNamed:
		causes.Add(member, "The field must have at most %d elements", maxNamed)
		return
	}
	for i, name := range names {
		if (!anyScope || name != model.AnyScope) && server.Scope(name) == nil {
			causes.Add(fmt.Sprintf("%s[%d]", member, i), "The authorization server has no scope %.100q", name)
		}
	}
}

// applyTokens validates the settings of tokens and applies them to a rule. Absent settings get their defaults.
func (s *Slice) applyTokens(ctx context.Context, q docstore.Reader, in *TokenAction, r *model.AuthRule, causes *rest.Causes) error {
	given := func(n *int, fallback int) int {
		if n == nil {
			return fallback
		}
		return *n
	}
	r.AccessMinutes = given(in.Access, model.DefaultAccessMinutes)
	r.RefreshMinutes = given(in.Refresh, 0)
	r.WindowMinutes = given(in.Window, model.DefaultWindowMinutes)
	if r.RefreshMinutes != 0 && r.RefreshMinutes < r.AccessMinutes {
		causes.Add("actions.token.refreshTokenLifetimeMinutes", "The value must be 0, or at least accessTokenLifetimeMinutes")
	}
	r.Hook = ""
	if in.Hook == nil || in.Hook.ID == "" {
		return nil
	}
	r.Hook = in.Hook.ID
	there, err := s.HasInlineHook(ctx, q, r.Hook, model.HookTokenTransform)
	if err == nil && !there {
		causes.Add("actions.token.inlineHook.id", "Unknown id of an inline hook for tokens: %.100q", r.Hook)
	}
	return err
}

type replaceRuleRequest struct {
	ruleTarget
	Body RuleInput `body:"required"`
}

func (s *Slice) replaceRule(ctx context.Context, r *replaceRuleRequest) (Rule, error) {
	err := replacePart(ctx, s, r, audit.PolicyRuleUpdate, r.Body.Priority,
		func(tx *docstore.Tx, server *model.AuthServer, rule *model.AuthRule) error {
			return s.applyRule(ctx, tx, &r.Body, server, server.Policy(r.Policy), rule)
		})
	if err != nil {
		return Rule{}, err
	}
	return s.getRule(ctx, &r.ruleTarget)
}

func (s *Slice) deleteRule(ctx context.Context, t *ruleTarget) (rest.NoContent, error) {
	return rest.NoContent{}, deletePart(ctx, s, t, audit.PolicyRuleDelete, "rule", "ruleId", func(r *model.AuthRule) bool { return r.System })
}

func ruleStatus(r *model.AuthRule) (*model.Status, *time.Time) { return &r.Status, &r.Updated }
