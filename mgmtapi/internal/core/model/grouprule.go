package model

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// GroupRuleStatus is the status of a group rule.
type GroupRuleStatus string

// The statuses of a group rule. An INVALID rule cannot be applied: a group that it assigns to was deleted, or it contradicts other rules.
const (
	RuleActive   GroupRuleStatus = "ACTIVE"
	RuleInactive GroupRuleStatus = "INACTIVE"
	RuleInvalid  GroupRuleStatus = "INVALID"
)

// GroupRule makes the users that match an expression members of groups.
type GroupRule struct {
	Name   string          `json:"name"`
	Status GroupRuleStatus `json:"status"`
	// Expression is the condition, in the language of internal/expression.
	Expression string `json:"expression"`
	// Excluded holds the ids of users that the rule does not apply to.
	Excluded []string `json:"excluded,omitempty"`
	// Groups holds the ids of the groups to which the rule adds users.
	Groups []string `json:"groups"`
}

// The indexes of the group rules.
const (
	GroupRuleByName     = "name"     // index by folded name, unique
	GroupRuleByStatus   = "status"   // index by the status
	GroupRuleByGroup    = "group_id" // index by each group to which the rule adds users
	GroupRuleByExcluded = "excluded" // index by each excluded user
)

func groupRuleCollection() docstore.Collection[GroupRule] {
	return docstore.NewCollection("group_rules",
		docstore.Index[GroupRule]{Name: GroupRuleByName, Version: filter.FoldVersion, Unique: true, Values: func(r *GroupRule) []any {
			return []any{filter.Fold(r.Name)}
		}},
		docstore.Index[GroupRule]{Name: GroupRuleByStatus, Values: func(r *GroupRule) []any { return []any{string(r.Status)} }},
		docstore.Index[GroupRule]{Name: GroupRuleByGroup, Multi: true, Values: func(r *GroupRule) []any { return anySlice(r.Groups) }},
		docstore.Index[GroupRule]{Name: GroupRuleByExcluded, Multi: true, Values: func(r *GroupRule) []any { return anySlice(r.Excluded) }},
	).Cached()
}

func anySlice(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// RuleMember reports that a group rule assigns a membership to a user. A membership without a RuleMember was created by a caller, and no
// rule removes it. Its document id is RuleMemberID(rule, group, user).
type RuleMember struct {
	Rule  string `json:"rule"`
	Group string `json:"group"`
	User  string `json:"user"`
}

// RuleMemberID returns the document id of a RuleMember.
func RuleMemberID(rule, group, user string) string { return docstore.JoinID(rule, group, user) }

// The indexes of the RuleMembers.
const (
	RuleMemberByRule       = "rule_id"    // index by the rule
	RuleMemberByGroup      = "group_id"   // index by the group
	RuleMemberByUser       = "user_id"    // index by the user
	RuleMemberByMembership = "membership" // index by MembershipID of group and user
)

func ruleMemberCollection() docstore.Collection[RuleMember] {
	return docstore.NewCollection("rule_members",
		docstore.Index[RuleMember]{Name: RuleMemberByRule, Values: func(m *RuleMember) []any { return []any{m.Rule} }},
		docstore.Index[RuleMember]{Name: RuleMemberByGroup, Values: func(m *RuleMember) []any { return []any{m.Group} }},
		docstore.Index[RuleMember]{Name: RuleMemberByUser, Values: func(m *RuleMember) []any { return []any{m.User} }},
		docstore.Index[RuleMember]{Name: RuleMemberByMembership, Values: func(m *RuleMember) []any {
			return []any{MembershipID(m.Group, m.User)}
		}},
	)
}

// ExcludeFromRules adds the user to the exclusions of every active rule that assigns the membership, because a caller removes the
// membership.
func (d Deps) ExcludeFromRules(ctx context.Context, tx *docstore.Tx, group, user string) error {
	where := docstore.Eq(RuleMemberByMembership, MembershipID(group, user))
	return Each(ctx, tx, d.RuleMembers, where, func(m docstore.Doc[RuleMember]) error {
		rule, err := d.GroupRules.Get(ctx, tx, m.Value.Rule)
		if err != nil {
			return err
		}
		if rule.Value.Status != RuleActive || slices.Contains(rule.Value.Excluded, user) {
			return nil
		}
		rule.Value.Excluded = append(rule.Value.Excluded, user)
		_, err = d.GroupRules.Update(ctx, tx, rule.ID, rule.Rev, rule.Value)
		return err
	})
}
