package policies

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Rule is a rule of a policy.
type Rule struct {
	ID          string         `json:"id" readOnly:"true" doc:"Id."`
	Type        string         `json:"type" readOnly:"true" enum:"PASSWORD,SIGN_ON,MFA_ENROLL" doc:"Type."`
	Name        string         `json:"name" readOnly:"true" doc:"Name."`
	Status      model.Status   `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"ACTIVE if the rule is evaluated."`
	Priority    int            `json:"priority" readOnly:"true" doc:"Order of evaluation, from 1. The default rule is last."`
	System      bool           `json:"system" readOnly:"true" doc:"true for a system policy or rule."`
	Conditions  RuleConditions `json:"conditions" readOnly:"true" doc:"Users that the rule applies to."`
	Actions     map[string]any `json:"actions" readOnly:"true" doc:"Actions, by type of rule."`
	Created     rest.Time      `json:"created" readOnly:"true" doc:"Time of creation."`
	LastUpdated rest.Time      `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Links       rest.Links     `json:"_links" readOnly:"true" doc:"Links."`
}

// RuleConditions are the users and networks that a rule applies to.
type RuleConditions struct {
	People  *RulePeople `json:"people,omitempty" doc:"Users and groups. Default: every user."`
	Network *Network    `json:"network,omitempty" doc:"Networks."`
	Auth    *AuthType   `json:"authContext,omitempty" doc:"Authentication methods."`
}

// RulePeople are the users that a rule applies to.
type RulePeople struct {
	Users  *Selected `json:"users,omitempty" doc:"Ids of users."`
	Groups *Selected `json:"groups,omitempty" doc:"Ids of groups, or EVERYONE. Without any included user or group, the rule applies to all."`
}

// Selected lists included ids, and excluded ids, which take precedence.
type Selected struct {
	Include []string `json:"include" max:"100" doc:"Ids that the rule applies to."`
	Exclude []string `json:"exclude" max:"100" doc:"Ids that the rule does not apply to, although they are included."`
}

// AuthType is an authentication method.
type AuthType struct {
	Type string `json:"authType" enum:"ANY" doc:"Always ANY."`
}

// RuleInput is the body of a new or replaced rule.
type RuleInput struct {
	Type string `json:"type" empty:"absent" enum:"SIGN_ON" doc:"Always SIGN_ON. Optional."`

	Status model.Status `json:"status" empty:"absent" enum:"ACTIVE,INACTIVE" doc:"ACTIVE rules are evaluated. Default for a new rule: ACTIVE."`

	Name string `json:"name" required:"true" max:"255" doc:"Name, unique in its policy."`

	Priority int `json:"priority" min:"0" doc:"Position, from 1. Default of a new rule: last before the default rule."`

	Conditions RuleConditions `json:"conditions" doc:"Users that the rule applies to."`
	Actions    RuleActions    `json:"actions" required:"true" doc:"Actions of the rule."`
}

// RuleActions are the actions of a rule.
type RuleActions struct {
	SignOn *SignOnAction `json:"signon" required:"true" doc:"Effect on sign-ins."`
}

// SignOnAction is the effect of a rule on sign-ins.
type SignOnAction struct {
	Access string `json:"access" required:"true" enum:"ALLOW,DENY" doc:"Whether users may sign in."`
	Factor bool   `json:"requireFactor" default:"false" doc:"Requires a further factor after the password."`
	Prompt string `json:"factorPromptMode" empty:"absent"`
}

// MoreTags implements rest.Described.
func (SignOnAction) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"factorPromptMode": `enum:"ALWAYS,SESSION" doc:"Interval at which the factor is required. Both values mean every sign-in, since ` +
			`each creates a session. Default with requireFactor: ALWAYS."`,
	}
}

// systemRules are the names and the actions of the default rules. They describe the fixed behavior of the service.
var systemRules = map[model.PolicyType]struct {
	name    string
	actions map[string]any
}{
	model.PolicyPassword: {"PASSWORD", map[string]any{
		"passwordChange":           map[string]any{"access": "ALLOW"},
		"selfServicePasswordReset": map[string]any{"access": "ALLOW"},
		"selfServiceUnlock":        map[string]any{"access": "DENY"},
	}},
	model.PolicySignOn: {"SIGN_ON", map[string]any{"signon": map[string]any{"access": "ALLOW", "requireFactor": false}}},
	model.PolicyEnroll: {"MFA_ENROLL", map[string]any{"enroll": map[string]any{"self": "CHALLENGE"}}},
}

// ruleURL returns the URL of a rule, or of a path below it.
func ruleURL(ctx context.Context, policy, id string, segments ...string) string {
	return rest.URL(ctx, append([]string{"api", "v1", "policies", policy, "rules", id}, segments...)...)
}

// ownRule returns the default rule of a policy.
func ownRule(ctx context.Context, doc docstore.Doc[model.OrgPolicy]) Rule {
	r := systemRules[doc.Value.Type]
	return Rule{
		ID: doc.Value.Rule, Type: r.name, Name: defaultRule, Status: model.Active, Priority: len(doc.Value.SignOn) + 1,
		System: true, Actions: r.actions,
		Conditions: RuleConditions{
			People:  &RulePeople{Users: &Selected{[]string{}, []string{}}, Groups: &Selected{[]string{model.EveryoneToken}, []string{}}},
			Network: &Network{"ANYWHERE"},
		},
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Created),
		Links: rest.Links{"self": rest.To(ruleURL(ctx, doc.ID, doc.Value.Rule), "GET")},
	}
}

// showRule returns the rule at a position.
func showRule(ctx context.Context, policy string, at int, r *model.SignOnRule) Rule {
	list := func(ids []string) []string { return append([]string{}, ids...) }
	action := map[string]any{"access": r.Access, "requireFactor": r.Factor}
	if r.Factor {
		action["factorPromptMode"] = r.Prompt
	}
	out := Rule{
		ID: r.ID, Type: systemRules[model.PolicySignOn].name, Name: r.Name, Status: r.Status, Priority: at + 1,
		Conditions: RuleConditions{
			People: &RulePeople{
				Users:  &Selected{list(r.People.Users), list(r.People.ExcludeUsers)},
				Groups: &Selected{list(r.People.Groups), list(r.People.ExcludeGroups)},
			},
			Network: &Network{"ANYWHERE"}, Auth: &AuthType{"ANY"},
		},
		Actions: map[string]any{"signon": action}, Created: rest.TimeOf(r.Created), LastUpdated: rest.TimeOf(r.Updated),
		Links: rest.Links{"self": rest.To(ruleURL(ctx, policy, r.ID), "GET", "PUT", "DELETE")},
	}
	verb := "activate"
	if r.Status == model.Active {
		verb = "deactivate"
	}
	out.Links[verb] = rest.To(ruleURL(ctx, policy, r.ID, "lifecycle", verb), "POST")
	return out
}

func (s *Slice) ruleRoutes() []rest.Route {
	const all, one = "/api/v1/policies/{policyId}/rules", "/api/v1/policies/{policyId}/rules/{ruleId}"
	return []rest.Route{
		rest.Op[target, rest.Page[Rule]]{
			ID: "listPolicyRules", Route: "GET " + all, Tag: tag, Scopes: readScope,
			Summary: "Lists the rules of a policy", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.listRules,
		},
		rest.Op[createRuleRequest, Rule]{
			ID: "createPolicyRule", Route: "POST " + all, Tag: tag, Scopes: writeScope, Summary: "Adds a rule to the sign-on policy",
			Description: "The first active rule that applies to the user decides about a sign-in. The default rule is last. " +
				"Policies of other types accept no further rules; the response is 501.",
			Find: lookup.In(s.Store, s.find, (*createRuleRequest).self), Do: s.createRule,
		},
		rest.Op[ruleTarget, Rule]{
			ID: "getPolicyRule", Route: "GET " + one, Tag: tag, Scopes: readScope,
			Summary: "Reads a rule of a policy", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self), Do: s.getRule,
		},
		rest.Op[replaceRuleRequest, Rule]{
			ID: "replacePolicyRule", Route: "PUT " + one, Tag: tag, Scopes: writeScope, Summary: "Replaces a rule of the sign-on policy",
			Find: lookup.In(s.Store, s.findRule, (*replaceRuleRequest).self), Do: s.replaceRule,
		},
		rest.Op[ruleTarget, rest.NoContent]{
			ID: "deletePolicyRule", Route: "DELETE " + one, Tag: tag, Scopes: writeScope,
			Summary: "Deletes a rule of the sign-on policy", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self), Do: s.deleteRule,
		},
		rest.Op[ruleTarget, rest.NoContent]{
			ID: "activatePolicyRule", Route: "POST " + one + "/lifecycle/activate", Tag: tag, Scopes: writeScope,
			Summary: "Activates a rule of the sign-on policy", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self),
			Do: s.enterRule(model.Active, audit.PolicyRuleActivate),
		},
		rest.Op[ruleTarget, rest.NoContent]{
			ID: "deactivatePolicyRule", Route: "POST " + one + "/lifecycle/deactivate", Tag: tag, Scopes: writeScope,
			Summary: "Deactivates a rule of the sign-on policy", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self),
			Do: s.enterRule(model.Inactive, audit.PolicyRuleDeactivate),
		},
	}
}

// ruleTarget is the rule in a path.
type ruleTarget struct {
	target
	RuleID string `path:"ruleId" doc:"Id of the rule."`

	at int // index of the rule, -1 for the default rule
}

func (t *ruleTarget) self() *ruleTarget { return t }

func (s *Slice) findRule(ctx context.Context, q docstore.Reader, t *ruleTarget) error {
	if err := s.find(ctx, q, &t.target); err != nil {
		return err
	}
	return t.locate()
}

// locate finds the rule in the policy that was read.
func (t *ruleTarget) locate() error {
	t.at = slices.IndexFunc(t.found.Value.SignOn, func(r model.SignOnRule) bool { return r.ID == t.RuleID })
	if t.at < 0 && t.RuleID != t.found.Value.Rule {
		return rest.NotFound("PolicyRule", t.RuleID)
	}
	return nil
}

func (s *Slice) listRules(ctx context.Context, t *target) (rest.Page[Rule], error) {
	var items []Rule
	for i := range t.found.Value.SignOn {
		items = append(items, showRule(ctx, t.found.ID, i, &t.found.Value.SignOn[i]))
	}
	return rest.Page[Rule]{Items: append(items, ownRule(ctx, t.found))}, nil
}

func (s *Slice) getRule(ctx context.Context, t *ruleTarget) (Rule, error) {
	if t.at < 0 {
		return ownRule(ctx, t.found), nil
	}
	return showRule(ctx, t.found.ID, t.at, &t.found.Value.SignOn[t.at]), nil
}

// ruleChange changes the rules of a policy and returns the affected rule.
type ruleChange func(tx *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error)

// changeRules runs a change of the rules of a policy and logs it.
func (s *Slice) changeRules(ctx context.Context, t *target, event audit.Type, change ruleChange) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if t.found.Value.Type != model.PolicySignOn {
			return rest.Failf(rest.CodeUnsupported, "A policy of the type %s has only its default rule.", t.found.Value.Type)
		}
		rule, err := change(tx, &t.found.Value)
		if err != nil {
			return err
		}
		if t.found, err = s.OrgPolicies.Update(ctx, tx, t.found.ID, t.found.Rev, t.found.Value); err != nil {
			return err
		}
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{
			audit.Part(audit.TypePolicyRule, rule.ID, rule.Name), policyParty(t.found),
		}})
	})
}

// changeRule is changeRules for an existing rule other than the default rule.
func (s *Slice) changeRule(ctx context.Context, t *ruleTarget, event audit.Type, change ruleChange) error {
	return s.changeRules(ctx, &t.target, event, func(tx *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error) {
		if err := t.locate(); err != nil {
			return model.SignOnRule{}, err
		}
		if t.at < 0 {
			return model.SignOnRule{}, rest.Invalid("ruleId", "The default rule cannot be changed or deleted")
		}
		return change(tx, p)
	})
}

type createRuleRequest struct {
	target
	Body RuleInput `body:"required"`
}

// maxRules is the maximum number of rules of a policy.
const maxRules = 100

func (s *Slice) createRule(ctx context.Context, r *createRuleRequest) (Rule, error) {
	rule := model.SignOnRule{ID: model.NewID(model.KindPolicyRule), Status: model.Active}
	at := 0
	err := s.changeRules(ctx, &r.target, audit.PolicyRuleAdd, func(tx *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error) {
		if len(p.SignOn) >= maxRules {
			return rule, rest.Invalid("rules", "A policy has at most %d rules", maxRules)
		}
		rule.Created = s.Now()
		if err := s.apply(ctx, tx, &r.Body, p, &rule); err != nil {
			return rule, err
		}
		if at = len(p.SignOn); r.Body.Priority > 0 {
			at = min(at, r.Body.Priority-1)
		}
		p.SignOn = slices.Insert(p.SignOn, at, rule)
		return rule, nil
	})
	if err != nil {
		return Rule{}, err
	}
	return showRule(ctx, r.found.ID, at, &rule), nil
}

// apply checks the input and copies it into a rule.
func (s *Slice) apply(ctx context.Context, tx *docstore.Tx, in *RuleInput, p *model.OrgPolicy, r *model.SignOnRule) error {
	var causes rest.Causes
	if strings.TrimSpace(in.Name) == "" {
		causes.Blank("name")
	}
	taken := func(other model.SignOnRule) bool { return other.ID != r.ID && strings.EqualFold(other.Name, in.Name) }
	if slices.ContainsFunc(p.SignOn, taken) || strings.EqualFold(in.Name, defaultRule) {
		causes.NotUnique("name")
	}
	people := in.Conditions.People.stored()
	if err := callers.CheckPeople(ctx, tx, s.Deps, &people, &causes); err != nil {
		return err
	}
	action := in.Actions.SignOn
	if action.Access == model.AccessDeny && action.Factor {
		causes.Add("actions.signon.requireFactor", "A rule that denies access cannot require a factor")
	}
	if err := causes.Err(); err != nil {
		return err
	}
	r.Name, r.People, r.Access, r.Factor, r.Prompt, r.Updated = in.Name, people, action.Access, action.Factor, "", s.Now()
	if r.Factor {
		if r.Prompt = action.Prompt; r.Prompt == "" {
			r.Prompt = "ALWAYS"
		}
	}
	if in.Status != "" {
		r.Status = in.Status
	}
	return nil
}

// stored returns the people to store. Without any include, the rule applies to every user; an empty include selects no user.
func (p *RulePeople) stored() (out model.RulePeople) {
	everyone := true
	if p != nil && p.Users != nil {
		out.Users, out.ExcludeUsers, everyone = p.Users.Include, p.Users.Exclude, p.Users.Include == nil
	}
	if p != nil && p.Groups != nil {
		out.Groups, out.ExcludeGroups = p.Groups.Include, p.Groups.Exclude
		everyone = everyone && p.Groups.Include == nil
	}
	if everyone {
		out.Groups = []string{model.EveryoneToken}
	}
	return out
}

type replaceRuleRequest struct {
	ruleTarget
	Body RuleInput `body:"required"`
}

func (s *Slice) replaceRule(ctx context.Context, r *replaceRuleRequest) (Rule, error) {
	err := s.changeRule(ctx, &r.ruleTarget, audit.PolicyRuleUpdate, func(tx *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error) {
		rule := p.SignOn[r.at]
		if err := s.apply(ctx, tx, &r.Body, p, &rule); err != nil {
			return rule, err
		}
		p.SignOn[r.at] = rule
		if priority := r.Body.Priority; priority > 0 {
			p.SignOn = slices.Delete(p.SignOn, r.at, r.at+1)
			r.at = min(priority-1, len(p.SignOn))
			p.SignOn = slices.Insert(p.SignOn, r.at, rule)
		}
		return rule, nil
	})
	if err != nil {
		return Rule{}, err
	}
	return s.getRule(ctx, &r.ruleTarget)
}

func (s *Slice) deleteRule(ctx context.Context, t *ruleTarget) (rest.NoContent, error) {
	return rest.NoContent{}, s.changeRule(ctx, t, audit.PolicyRuleDelete, func(_ *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error) {
		rule := p.SignOn[t.at]
		p.SignOn = slices.Delete(p.SignOn, t.at, t.at+1)
		return rule, nil
	})
}

// enterRule sets the status of a rule.
func (s *Slice) enterRule(status model.Status, event audit.Type) func(context.Context, *ruleTarget) (rest.NoContent, error) {
	return func(ctx context.Context, t *ruleTarget) (rest.NoContent, error) {
		return rest.NoContent{}, s.changeRule(ctx, t, event, func(_ *docstore.Tx, p *model.OrgPolicy) (model.SignOnRule, error) {
			rule := &p.SignOn[t.at]
			if rule.Status != status {
				rule.Status, rule.Updated = status, s.Now()
			}
			return *rule, nil
		})
	}
}

// forget removes a deleted user or group from the rules. A rule without any other user or group then applies to no user.
func (s *Slice) forget(ctx context.Context, tx *docstore.Tx, id string) error {
	doc, err := s.OrgPolicy(ctx, tx, model.PolicySignOn)
	if err != nil {
		return err
	}
	before := fmt.Sprint(doc.Value.SignOn)
	for i := range doc.Value.SignOn {
		doc.Value.SignOn[i].People.Forget(id)
	}
	if fmt.Sprint(doc.Value.SignOn) == before {
		return nil
	}
	_, err = s.OrgPolicies.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
	return err
}
