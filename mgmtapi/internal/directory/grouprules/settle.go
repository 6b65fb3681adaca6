package grouprules

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// react registers the event handlers of the slice.
func (s *Slice) react() {
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserChanged) error {
		return s.applyToUser(ctx, tx, e.ID)
	})
	model.On(s.Feed, s.membershipChanged)
	model.On(s.Feed, s.userDeleted)
	model.On(s.Feed, s.groupChanged)
	model.On(s.Feed, s.groupDeleted)
}

// applyingKey marks the context of changes that the rules themselves make. The rules are not applied again for these changes.
type applyingKey struct{}

func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if ctx.Value(applyingKey{}) != nil {
		return nil
	}
	if !e.Member {
		where := docstore.Eq(model.RuleMemberByMembership, model.MembershipID(e.Group, e.User))
		if _, err := s.RuleMembers.DeleteWhere(ctx, tx, where); err != nil {
			return err
		}
	}
	return s.applyToUser(ctx, tx, e.User)
}

// userDeleted removes the user from the exclusions of rules.
func (s *Slice) userDeleted(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
	return model.Each(ctx, tx, s.GroupRules, docstore.Eq(model.GroupRuleByExcluded, e.ID), func(doc docstore.Doc[model.GroupRule]) error {
		doc.Value.Excluded = slices.DeleteFunc(doc.Value.Excluded, func(id string) bool { return id == e.ID })
		_, err := s.GroupRules.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		return err
	})
}

// groupChanged applies the rules to the members of the group again: rules may test the name of the group.
func (s *Slice) groupChanged(ctx context.Context, tx *docstore.Tx, e model.GroupChanged) error {
	rules, err := s.active(ctx, tx)
	if err != nil || !slices.ContainsFunc(rules, (*rule).testsGroups) {
		return err
	}
	return model.Each(ctx, tx, s.Memberships, docstore.Eq(model.MembershipByGroup, e.ID), func(m docstore.Doc[model.Membership]) error {
		return s.applyToUser(ctx, tx, m.Value.User)
	})
}

// groupDeleted invalidates the rules that assign to the group. If rules test groups, it applies them to the previous members again.
func (s *Slice) groupDeleted(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error {
	if _, err := s.RuleMembers.DeleteWhere(ctx, tx, docstore.Eq(model.RuleMemberByGroup, e.ID)); err != nil {
		return err
	}
	err := model.Each(ctx, tx, s.GroupRules, docstore.Eq(model.GroupRuleByGroup, e.ID), func(doc docstore.Doc[model.GroupRule]) error {
		return s.invalidate(ctx, tx, doc, "a group that the rule assigns to was deleted")
	})
	if err != nil {
		return err
	}
	rules, err := s.active(ctx, tx)
	if err != nil || !slices.ContainsFunc(rules, (*rule).testsGroups) {
		return err
	}
	for _, user := range e.Members {
		if err := s.applyToUser(ctx, tx, user); err != nil {
			return err
		}
	}
	return nil
}

// invalidate sets the status of a rule to INVALID.
func (s *Slice) invalidate(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.GroupRule], reason string) error {
	if doc.Value.Status == model.RuleInvalid {
		return nil
	}
	doc.Value.Status = model.RuleInvalid
	doc, err := s.GroupRules.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
	if err != nil {
		return err
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{
		Type: audit.RuleInvalidate, Targets: []model.LogParty{audit.GroupRule(doc)}, Debug: map[string]string{"reason": reason},
	})
}

// active reads the active rules.
func (s *Slice) active(ctx context.Context, tx *docstore.Tx) (rules []*rule, err error) {
	err = model.Each(ctx, tx, s.GroupRules, docstore.Eq(model.GroupRuleByStatus, string(model.RuleActive)),
		func(doc docstore.Doc[model.GroupRule]) error {
			rules = append(rules, &rule{
				id: doc.ID, groups: doc.Value.Groups, excluded: doc.Value.Excluded, program: s.programs.get(doc.Value.Expression),
			})
			return nil
		})
	return rules, err
}

// applyToUser updates the memberships of a user by the rules. Rules that contradict each other for this user become INVALID.
func (s *Slice) applyToUser(ctx context.Context, tx *docstore.Tx, id string) error {
	for {
		rules, err := s.active(ctx, tx)
		if err != nil || len(rules) == 0 {
			return err
		}
		user, err := model.Optional(ctx, tx, s.Users, id)
		if err != nil || user == nil {
			return err
		}
		restless, err := s.applyRules(ctx, tx, rules, *user, true)
		if err != nil || len(restless) == 0 {
			return err
		}
		for _, rule := range slices.Sorted(maps.Keys(restless)) { // the next round has fewer active rules
			doc, err := s.GroupRules.Get(ctx, tx, rule)
			if err != nil {
				return err
			}
			if err := s.invalidate(ctx, tx, doc, "the rule contradicts other rules for the user "+id); err != nil {
				return err
			}
		}
	}
}

// applyToAll updates the memberships of all users after a rule was activated. It skips users that the rule cannot affect, and returns an
// error if the rule contradicts others.
func (s *Slice) applyToAll(ctx context.Context, tx *docstore.Tx, begun string) error {
	rules, err := s.active(ctx, tx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rules, func(r *rule) bool { return r.id == begun })
	if i < 0 {
		return nil
	}
	first := rules[i]
	given := map[string]bool{} // users whose memberships the rule assigned when it was last active
	err = model.Each(ctx, tx, s.RuleMembers, docstore.Eq(model.RuleMemberByRule, begun), func(m docstore.Doc[model.RuleMember]) error {
		given[m.Value.User] = true
		return nil
	})
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, s.Users, nil, func(user docstore.Doc[model.User]) error {
		switch {
		case !evaluated(user.Value.Status):
			return nil
		case !first.testsGroups() && !given[user.ID] && !first.matches(&ruleUser{id: user.ID, profile: user.Value.Profile}, nil):
			return nil
		}
		restless, err := s.applyRules(ctx, tx, rules, user, false)
		if err == nil && len(restless) > 0 {
			return rest.Invalid("conditions.expression", "The rule conflicts with others: for the user %s, these rules contradict each other: %v",
				user.ID, slices.Sorted(maps.Keys(restless)))
		}
		return err
	})
}

// evaluated reports whether rules apply to users in the status.
func evaluated(status model.UserStatus) bool {
	return status != model.UserStaged && status != model.UserDeprovisioned
}

// applyRules updates the memberships of a user by the rules. If rules contradict each other, it changes nothing and returns those rules. If
// tell is set, it logs the rules that had an effect.
func (s *Slice) applyRules(ctx context.Context, tx *docstore.Tx, rules []*rule, user docstore.Doc[model.User], tell bool) (map[string]bool,
	error) {
	have, err := s.memberships(ctx, tx, rules, user.ID)
	if err != nil {
		return nil, err
	}
	matched := map[string]bool{}
	if evaluated(user.Value.Status) {
		p := &ruleUser{id: user.ID, profile: user.Value.Profile}
		if slices.ContainsFunc(rules, (*rule).testsGroups) {
			if p.groups, err = s.testableGroups(ctx, tx, rules, have); err != nil {
				return nil, err
			}
		}
		var restless map[string]bool
		if matched, restless = match(rules, p, have.base(rules)); len(restless) > 0 {
			return restless, nil
		}
	}
	ctx = context.WithValue(ctx, applyingKey{}, true)
	changed, err := s.apply(ctx, tx, rules, matched, user.ID, have)
	if err != nil || !tell {
		return nil, err
	}
	for _, id := range changed {
		doc, err := s.GroupRules.Get(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if err := s.log(ctx, tx, audit.RuleTrigger, doc, audit.User(user)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// memberships maps the groups of a user to the rules that assign the membership. A membership that a client created has no rules.
type memberships map[string][]string

func (s *Slice) memberships(ctx context.Context, tx *docstore.Tx, rules []*rule, user string) (memberships, error) {
	out := memberships{}
	err := model.Each(ctx, tx, s.Memberships, docstore.Eq(model.MembershipByUser, user), func(m docstore.Doc[model.Membership]) error {
		out[m.Value.Group] = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, model.Each(ctx, tx, s.RuleMembers, docstore.Eq(model.RuleMemberByUser, user), func(m docstore.Doc[model.RuleMember]) error {
		if _, ok := out[m.Value.Group]; !ok {
			return fmt.Errorf("inconsistent store: the rule %s gives the user %s the group %s, but the membership does not exist", m.Value.Rule,
				user, m.Value.Group)
		}
		out[m.Value.Group] = append(out[m.Value.Group], m.Value.Rule)
		return nil
	})
}

// base returns the groups that do not depend on the active rules: a client, or a rule that is no longer active, has added the user.
func (m memberships) base(rules []*rule) map[string]bool {
	working := map[string]bool{}
	for _, r := range rules {
		working[r.id] = true
	}
	out := map[string]bool{}
	for group, givers := range m {
		if len(givers) == 0 || slices.ContainsFunc(givers, func(id string) bool { return !working[id] }) {
			out[group] = true
		}
	}
	return out
}

// testableGroups reads the groups that rules can test: those of the user, and those that the rules assign to.
func (s *Slice) testableGroups(ctx context.Context, tx *docstore.Tx, rules []*rule, have memberships) (map[string]expression.Group, error) {
	ids := slices.Sorted(maps.Keys(have))
	for _, r := range rules {
		ids = append(ids, r.groups...)
	}
	docs, err := s.Groups.GetMany(ctx, tx, ids)
	out := make(map[string]expression.Group, len(docs))
	for _, doc := range docs {
		out[doc.ID] = doc.Value.Named(doc.ID)
	}
	return out, err
}

// apply creates and removes memberships, and stores for each membership which rules assign it. It returns the rules that changed the user's
// memberships.
func (s *Slice) apply(ctx context.Context, tx *docstore.Tx, rules []*rule, matched map[string]bool, user string,
	have memberships) (changed []string, err error) {
	effect := func(id string) {
		if !slices.Contains(changed, id) {
			changed = append(changed, id)
		}
	}
	for _, r := range rules { // join first, so that no user leaves a group that another rule assigns
		for _, group := range r.groups {
			givers, member := have[group]
			if !matched[r.id] || slices.Contains(givers, r.id) || member && len(givers) == 0 {
				continue
			}
			if !member {
				if err := s.Join(ctx, tx, group, user); err != nil {
					return nil, err
				}
				effect(r.id)
			}
			if _, err := s.RuleMembers.Insert(ctx, tx, model.RuleMemberID(r.id, group, user),
				model.RuleMember{Rule: r.id, Group: group, User: user}); err != nil {
				return nil, err
			}
			have[group] = append(givers, r.id)
		}
	}
	for _, r := range rules {
		for _, group := range r.groups {
			if matched[r.id] || !slices.Contains(have[group], r.id) {
				continue
			}
			if err := s.RuleMembers.Delete(ctx, tx, model.RuleMemberID(r.id, group, user)); err != nil {
				return nil, err
			}
			have[group] = slices.DeleteFunc(have[group], func(id string) bool { return id == r.id })
			if len(have[group]) > 0 {
				continue
			}
			if err := s.Leave(ctx, tx, group, user); err != nil {
				return nil, err
			}
			effect(r.id)
		}
	}
	return changed, nil
}
