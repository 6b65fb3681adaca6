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

// react adds the reactions of the slice to the feed.
func (s *Slice) react() {
	model.On(s.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserChanged) error {
		return s.settleUser(ctx, tx, e.ID)
	})
	model.On(s.Feed, s.membershipChanged)
	model.On(s.Feed, s.userDeleted)
	model.On(s.Feed, s.groupChanged)
	model.On(s.Feed, s.groupDeleted)
}

// settlingKey marks the context of changes that the rules themselves make: they are worked out to their end already.
type settlingKey struct{}

func (s *Slice) membershipChanged(ctx context.Context, tx *docstore.Tx, e model.MembershipChanged) error {
	if ctx.Value(settlingKey{}) != nil {
		return nil
	}
	if !e.Member {
		where := docstore.Eq(model.RuleMemberByMembership, model.MembershipID(e.Group, e.User))
		if _, err := s.RuleMembers.DeleteWhere(ctx, tx, where); err != nil {
			return err
		}
	}
	return s.settleUser(ctx, tx, e.User)
}

// userDeleted forgets whom rules leave alone.
func (s *Slice) userDeleted(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error {
	return model.Each(ctx, tx, s.GroupRules, docstore.Eq(model.GroupRuleByExcluded, e.ID), func(doc docstore.Doc[model.GroupRule]) error {
		doc.Value.Excluded = slices.DeleteFunc(doc.Value.Excluded, func(id string) bool { return id == e.ID })
		_, err := s.GroupRules.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		return err
	})
}

// groupChanged looks at the members of the group again: rules may test its name.
func (s *Slice) groupChanged(ctx context.Context, tx *docstore.Tx, e model.GroupChanged) error {
	rules, err := s.active(ctx, tx)
	if err != nil || !slices.ContainsFunc(rules, (*rule).testsGroups) {
		return err
	}
	return model.Each(ctx, tx, s.Memberships, docstore.Eq(model.MembershipByGroup, e.ID), func(m docstore.Doc[model.Membership]) error {
		return s.settleUser(ctx, tx, m.Value.User)
	})
}

// groupDeleted ends the rules that assign to the group, and looks at those who were in it again when rules test groups.
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
		if err := s.settleUser(ctx, tx, user); err != nil {
			return err
		}
	}
	return nil
}

// invalidate ends a rule that cannot work.
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

// active reads the rules that work.
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

// settleUser brings the memberships of a user in line with the rules. Rules that turn out to contradict each other for this
// user end as INVALID.
func (s *Slice) settleUser(ctx context.Context, tx *docstore.Tx, id string) error {
	for {
		rules, err := s.active(ctx, tx)
		if err != nil || len(rules) == 0 {
			return err
		}
		user, err := model.Optional(ctx, tx, s.Users, id)
		if err != nil || user == nil {
			return err
		}
		restless, err := s.settle(ctx, tx, rules, *user, true)
		if err != nil || len(restless) == 0 {
			return err
		}
		for _, rule := range slices.Sorted(maps.Keys(restless)) { // fewer rules are active next time
			doc, err := s.GroupRules.Get(ctx, tx, rule)
			if err != nil {
				return err
			}
			if err := s.invalidate(ctx, tx, doc, "the rule contradicts others for the user "+id); err != nil {
				return err
			}
		}
	}
}

// settleAll brings the memberships of everybody in line with a rule that has begun to work. Others are only looked at where it
// makes a difference, and it is refused when it contradicts others.
func (s *Slice) settleAll(ctx context.Context, tx *docstore.Tx, begun string) error {
	rules, err := s.active(ctx, tx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rules, func(r *rule) bool { return r.id == begun })
	if i < 0 {
		return nil
	}
	first := rules[i]
	given := map[string]bool{} // users to whom the rule gave something when it last worked
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
		case !first.testsGroups() && !given[user.ID] && !first.matches(&person{id: user.ID, profile: user.Value.Profile}, nil):
			return nil
		}
		restless, err := s.settle(ctx, tx, rules, user, false)
		if err == nil && len(restless) > 0 {
			return rest.Invalid("conditions.expression", "The rule cannot work: for the user %s, these rules contradict each other: %v",
				user.ID, slices.Sorted(maps.Keys(restless)))
		}
		return err
	})
}

// evaluated says whether rules apply to users in the status.
func evaluated(status model.UserStatus) bool {
	return status != model.UserStaged && status != model.UserDeprovisioned
}

// settle brings the memberships of a user in line with the rules, and returns those that contradict each other, having changed
// nothing, when there are such. With tell, the log says which rules had an effect.
func (s *Slice) settle(ctx context.Context, tx *docstore.Tx, rules []*rule, user docstore.Doc[model.User], tell bool) (map[string]bool,
	error) {
	have, err := s.memberships(ctx, tx, rules, user.ID)
	if err != nil {
		return nil, err
	}
	matched := map[string]bool{}
	if evaluated(user.Value.Status) {
		p := &person{id: user.ID, profile: user.Value.Profile}
		if slices.ContainsFunc(rules, (*rule).testsGroups) {
			if p.groups, err = s.known(ctx, tx, rules, have); err != nil {
				return nil, err
			}
		}
		var restless map[string]bool
		if matched, restless = match(rules, p, have.base(rules)); len(restless) > 0 {
			return restless, nil
		}
	}
	ctx = context.WithValue(ctx, settlingKey{}, true)
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

// memberships are the groups of a user, each with the rules that give it; none for one that a caller gave.
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
			return fmt.Errorf("the rule %s gives the user %s the group %s, and there is no membership", m.Value.Rule, user, m.Value.Group)
		}
		out[m.Value.Group] = append(out[m.Value.Group], m.Value.Rule)
		return nil
	})
}

// base are the groups that do not hang on the active rules: a caller, or a rule that stopped since, has given them.
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

// known reads the groups that rules can ask about: those of the user, and those that it may get.
func (s *Slice) known(ctx context.Context, tx *docstore.Tx, rules []*rule, have memberships) (map[string]expression.Group, error) {
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

// apply makes and ends memberships and notes which rule gives what. It returns the rules that changed anything for the user.
func (s *Slice) apply(ctx context.Context, tx *docstore.Tx, rules []*rule, matched map[string]bool, user string,
	have memberships) (changed []string, err error) {
	effect := func(id string) {
		if !slices.Contains(changed, id) {
			changed = append(changed, id)
		}
	}
	for _, r := range rules { // joining comes first, so that nobody leaves a group that another rule gives
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
