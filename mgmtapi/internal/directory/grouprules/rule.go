package grouprules

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

// The only supported type of rules and of expressions.
const (
	ruleType       = "group_rule"
	expressionType = "urn:svc:expression:1.0"
)

// Limits of a rule.
const (
	maxName     = 50   // characters
	maxGroups   = 100  // per rule
	maxExcluded = 1000 // maximum number of excluded users in a request; each removal of a member by a client excludes one more user
)

// GroupRule is a group rule in the API.
type GroupRule struct {
	ID             string                `json:"id" readOnly:"true" doc:"Id of the rule."`
	Type           string                `json:"type" readOnly:"true" enum:"group_rule" doc:"Always group_rule."`
	Name           string                `json:"name" readOnly:"true" doc:"Name of the rule."`
	Status         model.GroupRuleStatus `json:"status" readOnly:"true"`
	Created        rest.Time             `json:"created" readOnly:"true" doc:"When the rule was created."`
	LastUpdated    rest.Time             `json:"lastUpdated" readOnly:"true" doc:"When the rule last changed."`
	Conditions     Conditions            `json:"conditions" readOnly:"true" doc:"Which users the rule applies to."`
	Actions        Actions               `json:"actions" readOnly:"true" doc:"What the rule does with these users."`
	AllGroupsValid bool                  `json:"allGroupsValid" readOnly:"true" doc:"Whether all groups of the rule exist."`
	Embedded       *Embedded             `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
}

// MoreTags implements rest.Described.
func (GroupRule) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"status": `enum:"ACTIVE,INACTIVE,INVALID" doc:"Whether the rule is applied. An INVALID rule assigns to a deleted group, or ` +
			`contradicts other rules."`,
	}
}

// Conditions select the users that a rule applies to.
type Conditions struct {
	People     People     `json:"people" doc:"Excluded users."`
	Expression Expression `json:"expression" doc:"Expression that users must match."`
}

// People lists the users that a rule excludes.
type People struct {
	Users  Exclusion `json:"users" doc:"Users that the rule does not apply to."`
	Groups Exclusion `json:"groups" doc:"Always empty: groups cannot be excluded."`
}

// Exclusion lists the ids that a rule does not apply to.
type Exclusion struct {
	Exclude []string `json:"exclude" doc:"Ids."`
}

// Expression is the condition of a rule.
type Expression struct {
	Value string `json:"value" doc:"Boolean expression over user.<attribute> and the groups of the user."`
	Type  string `json:"type" doc:"Always urn:svc:expression:1.0. Optional."`
}

// Actions are the actions of a rule.
type Actions struct {
	AssignUserToGroups AssignUserToGroups `json:"assignUserToGroups" doc:"Adds users to groups."`
}

// AssignUserToGroups adds users to groups.
type AssignUserToGroups struct {
	GroupIDs []string `json:"groupIds" doc:"Ids of 1 to 100 groups of the type SVC_GROUP."`
}

// Embedded holds the members that expand adds to a rule.
type Embedded struct {
	Names map[string]string `json:"groupIdToGroupNameMap,omitempty" doc:"Names of the groups of the rule, by their ids."`
}

// RuleInput is the body of a new or replaced rule.
type RuleInput struct {
	Type       string     `json:"type" doc:"Always group_rule. Optional."`
	Name       string     `json:"name" doc:"Name of 1 to 50 characters, unique ignoring case."`
	Conditions Conditions `json:"conditions" doc:"Which users the rule applies to."`
	Actions    Actions    `json:"actions" doc:"What the rule does with these users."`
}

// names is the value of expand that adds the names of the groups.
const names = "groupIdToGroupNameMap"

// show renders a rule.
func (s *Slice) show(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.GroupRule], expand string) (GroupRule, error) {
	groups, err := s.assignable(ctx, q, doc.Value.Groups)
	if err != nil {
		return GroupRule{}, err
	}
	r := doc.Value
	out := GroupRule{
		ID: doc.ID, Type: ruleType, Name: r.Name, Status: r.Status, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Conditions: Conditions{
			People:     People{Users: Exclusion{append([]string{}, r.Excluded...)}, Groups: Exclusion{[]string{}}},
			Expression: Expression{Value: r.Expression, Type: expressionType},
		},
		Actions:        Actions{AssignUserToGroups{GroupIDs: r.Groups}},
		AllGroupsValid: len(groups) == len(r.Groups),
	}
	if slices.Contains(strings.Split(expand, ","), names) {
		out.Embedded = &Embedded{Names: groups}
	}
	return out, nil
}

// assignable returns the names, by id, of the given groups that exist and that rules can assign to.
func (s *Slice) assignable(ctx context.Context, q docstore.Reader, ids []string) (map[string]string, error) {
	out := make(map[string]string, len(ids))
	return out, model.EachOf(ctx, q, s.Groups, ids, func(group *docstore.Doc[model.Group]) {
		if group.Value.Type == model.GroupService {
			out[group.ID] = group.Value.Name()
		}
	})
}

// check records errors in name, type and conditions.
func (s *Slice) check(ctx context.Context, q docstore.Reader, in *RuleInput, causes *rest.Causes) error {
	switch {
	case strings.TrimSpace(in.Name) == "":
		causes.Blank("name")
	case utf8.RuneCountInString(in.Name) > maxName:
		causes.Add("name", "The field must have between 1 and %d characters", maxName)
	}
	if in.Type != "" && in.Type != ruleType {
		causes.Add("type", "The value must be one of: %s", ruleType)
	}
	if len(in.Conditions.People.Groups.Exclude) > 0 {
		causes.Add("conditions.people.groups.exclude", "Groups cannot be excluded; the field must be empty")
	}
	if given := in.Conditions.Expression.Type; given != "" && given != expressionType {
		causes.Add("conditions.expression.type", "The value must be one of: %s", expressionType)
	}
	if in.Conditions.Expression.Value == "" {
		causes.Blank("conditions.expression")
	} else {
		attributes, err := s.UserKinds(ctx, q)
		if err != nil {
			return err
		}
		if err := check(in.Conditions.Expression.Value, attributes); err != nil {
			causes.Add("conditions.expression", "%s", err)
		}
	}
	return s.checkExcluded(ctx, q, in.Conditions.People.Users.Exclude, causes)
}

func (s *Slice) checkExcluded(ctx context.Context, q docstore.Reader, ids []string, causes *rest.Causes) error {
	const member = "conditions.people.users.exclude"
	if len(ids) > maxExcluded {
		causes.Add(member, "The field must have at most %d elements", maxExcluded)
		return nil
	}
	users, err := s.Users.GetMany(ctx, q, ids)
	for i, id := range ids {
		if !slices.ContainsFunc(users, func(u docstore.Doc[model.User]) bool { return u.ID == id }) {
			causes.Add(fmt.Sprintf("%s[%d]", member, i), "No user has the id %q", id)
		}
	}
	return err
}

func (s *Slice) checkGroups(ctx context.Context, q docstore.Reader, ids []string, causes *rest.Causes) error {
	const member = "actions.assignUserToGroups.groupIds"
	switch n := len(ids); {
	case n == 0:
		causes.Blank(member)
		return nil
	case n > maxGroups:
		causes.Add(member, "The field must have between 1 and %d elements", maxGroups)
		return nil
	}
	groups, err := s.assignable(ctx, q, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if _, ok := groups[id]; !ok {
			causes.Add(fmt.Sprintf("%s[%d]", member, i), "No group of the type %s has the id %q", model.GroupService, id)
			continue
		}
		if err := s.checkRoles(ctx, q, id, fmt.Sprintf("%s[%d]", member, i), causes); err != nil {
			return err
		}
	}
	return nil
}

// checkRoles records an error if a group has roles: changing what a rule tests must not be a way to become an administrator.
func (s *Slice) checkRoles(ctx context.Context, q docstore.Reader, group, member string, causes *rest.Causes) error {
	has, err := s.HasRoles(ctx, q, group)
	if err == nil && has {
		causes.Add(member, "The group %s has roles and cannot have members by a group rule", group)
	}
	return err
}

// unique returns the ids without duplicates, in their order.
func unique(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

type createRequest struct {
	Body RuleInput `body:"required"`
}

func (s *Slice) create(ctx context.Context, r *createRequest) (out GroupRule, err error) {
	in := &r.Body
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		var causes rest.Causes
		if err := s.check(ctx, tx, in, &causes); err != nil {
			return err
		}
		if err := s.checkGroups(ctx, tx, in.Actions.AssignUserToGroups.GroupIDs, &causes); err != nil {
			return err
		}
		if err := causes.Err(); err != nil {
			return err
		}
		if err := authz.CheckAddAnyUser(ctx, in.Actions.AssignUserToGroups.GroupIDs); err != nil {
			return err
		}
		doc, err := s.GroupRules.Insert(ctx, tx, model.NewID(model.KindGroupRule), model.GroupRule{
			Name: in.Name, Status: model.RuleInactive, Expression: in.Conditions.Expression.Value,
			Excluded: unique(in.Conditions.People.Users.Exclude), Groups: unique(in.Actions.AssignUserToGroups.GroupIDs),
		})
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.RuleCreate, doc); err != nil {
			return err
		}
		out, err = s.show(ctx, tx, doc, "")
		return err
	})
	return out, err
}

type listRequest struct {
	Search string `query:"search" doc:"Substring of the name, case-insensitive."`
	Limit  int    `query:"limit" default:"50" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After  string `query:"after" doc:"Cursor from the link to the next page."`
	Expand string `query:"expand" doc:"groupIdToGroupNameMap adds the names of the groups."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[GroupRule], err error) {
	query := docstore.Query[model.GroupRule]{After: r.After, Limit: r.Limit}
	if part := filter.Fold(r.Search); part != "" {
		query.Match = func(doc *docstore.Doc[model.GroupRule]) bool {
			return strings.Contains(filter.Fold(doc.Value.Name), part)
		}
	}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Page(ctx, s.GroupRules, q, query)
		if err != nil {
			return err
		}
		out = rest.Page[GroupRule]{Next: page.Next}
		for _, doc := range page.Docs {
			rule, err := s.show(ctx, q, doc, r.Expand)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, rule)
		}
		return nil
	})
	return out, err
}

type getRequest struct {
	target
	Expand string `query:"expand" doc:"groupIdToGroupNameMap adds the names of the groups."`
}

func (s *Slice) get(ctx context.Context, r *getRequest) (GroupRule, error) {
	return s.show(ctx, s.Store.Reader(), r.found, r.Expand)
}

type replaceRequest struct {
	target
	Body RuleInput `body:"required"`
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (out GroupRule, err error) {
	in := &r.Body
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		rule := r.found.Value
		var causes rest.Causes
		if err := s.check(ctx, tx, in, &causes); err != nil {
			return err
		}
		if groups := unique(in.Actions.AssignUserToGroups.GroupIDs); len(groups) > 0 && !sameSet(groups, rule.Groups) {
			causes.Add("actions", "The groups of a rule cannot be changed")
		}
		if err := causes.Err(); err != nil {
			return err
		}
		if rule.Status == model.RuleActive {
			return rest.Fail(rest.CodeState, "status: Deactivate the rule before changing it")
		}
		if err := authz.CheckAddAnyUser(ctx, rule.Groups); err != nil {
			return err
		}
		groups, err := s.assignable(ctx, tx, rule.Groups)
		if err != nil {
			return err
		}
		rule.Name, rule.Expression = in.Name, in.Conditions.Expression.Value
		rule.Excluded = unique(in.Conditions.People.Users.Exclude)
		if len(groups) == len(rule.Groups) { // another expression can resolve a contradiction, but not a missing group
			rule.Status = model.RuleInactive
		}
		doc, err := s.GroupRules.Update(ctx, tx, r.found.ID, r.found.Rev, rule)
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.RuleUpdate, doc); err != nil {
			return err
		}
		out, err = s.show(ctx, tx, doc, "")
		return err
	})
	return out, err
}

// sameSet compares ids ignoring their order.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

type deleteRequest struct {
	target
	RemoveUsers bool `query:"removeUsers" default:"false" doc:"Whether to remove the members that the rule added."`
}

func (s *Slice) delete(ctx context.Context, r *deleteRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		if r.found.Value.Status == model.RuleActive {
			return rest.Fail(rest.CodeState, "status: Deactivate the rule before deleting it")
		}
		if err := s.GroupRules.Delete(ctx, tx, r.found.ID); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.RuleDelete, r.found); err != nil {
			return err
		}
		return model.Each(ctx, tx, s.RuleMembers, docstore.Eq(model.RuleMemberByRule, r.found.ID), func(m docstore.Doc[model.RuleMember]) error {
			if err := s.RuleMembers.Delete(ctx, tx, m.ID); err != nil || !r.RemoveUsers {
				return err
			}
			return s.leaveUnlessGiven(ctx, tx, m.Value.Group, m.Value.User)
		})
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.RuleDelete, Targets: []model.LogParty{audit.GroupRule(r.found)}},
		err)
}

// leaveUnlessGiven removes a user from a group after a rule has ended its assignment. A user whom another rule still assigns to the group
// stays.
func (s *Slice) leaveUnlessGiven(ctx context.Context, tx *docstore.Tx, group, user string) error {
	others, err := s.RuleMembers.Count(ctx, tx, docstore.Eq(model.RuleMemberByMembership, model.MembershipID(group, user)))
	if err != nil || others > 0 {
		return err
	}
	return s.Leave(ctx, tx, group, user)
}
