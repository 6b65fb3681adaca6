package scimserver

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

// group is one group that a user belongs to, directly or through other groups.
type group struct {
	Membership
	indirect bool
}

// groupsOfAll returns the attribute "groups" of each user.
func (s *server) groupsOfAll(ctx context.Context, base string, users []*Record) ([][]any, error) {
	groups, err := s.groupsOf(ctx, users)
	if err != nil {
		return nil, err
	}
	values := make([][]any, len(users))
	for i, rec := range users {
		values[i] = s.groupValues(base, groups[rec.ID])
	}
	return values, nil
}

// directGroups returns, by user id, the groups that users are direct members of. It queries the store only for users whose record has no
// groups.
func (s *server) directGroups(ctx context.Context, users []*Record) (map[string][]Membership, error) {
	var ask []string
	direct := map[string][]Membership{}
	for _, rec := range users {
		switch {
		case rec.Groups == nil:
			ask = append(ask, rec.ID)
		case len(rec.Groups) > 0:
			direct[rec.ID] = rec.Groups
		}
	}
	if len(ask) == 0 {
		return direct, nil
	}
	found, err := s.memberOf(ctx, ask)
	maps.Copy(direct, found)
	return direct, err
}

// groupsOf returns, by user id, all groups that users belong to: the direct ones first, then the groups that contain these groups, level by
// level. Cycles of groups are allowed.
func (s *server) groupsOf(ctx context.Context, users []*Record) (map[string][]group, error) {
	direct, err := s.directGroups(ctx, users)
	if err != nil || len(direct) == 0 {
		return nil, err
	}
	parents := map[string][]Membership{} // of every group found so far
	for next := unread(parents, direct); len(next) > 0; {
		found, err := s.memberOf(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, id := range next {
			parents[id] = found[id]
		}
		next = unread(parents, found)
	}
	out := make(map[string][]group, len(direct))
	for user, memberships := range direct {
		var all []group
		seen := map[string]bool{}
		add := func(m Membership, indirect bool) {
			if !seen[m.Group] {
				seen[m.Group] = true
				all = append(all, group{Membership: m, indirect: indirect})
			}
		}
		for _, m := range memberships {
			add(m, false)
		}
		for i := 0; i < len(all); i++ { // the loop appends to all
			for _, m := range parents[all[i].Group] {
				add(m, true)
			}
		}
		out[user] = all
	}
	return out, nil
}

func (s *server) memberOf(ctx context.Context, ids []string) (map[string][]Membership, error) {
	found, err := s.store.MemberOf(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the groups of resources: %w", err)
	}
	return found, nil
}

// unread returns the groups in found that are not in known.
func unread(known map[string][]Membership, found map[string][]Membership) []string {
	var ids []string
	for _, memberships := range found {
		for _, m := range memberships {
			if _, ok := known[m.Group]; !ok {
				ids = append(ids, m.Group)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// groupValues returns the attribute "groups" of a user (RFC 7643 section 4.1.2).
func (s *server) groupValues(base string, groups []group) []any {
	if len(groups) == 0 {
		return nil
	}
	var groupType *resourceType
	for _, t := range s.types {
		if t.isGroup {
			groupType = t
		}
	}
	values := make([]any, len(groups))
	for i, g := range groups {
		o := scim.NewObject(scim.Member{Name: "value", Value: g.Group})
		if groupType != nil {
			o.Set("$ref", location(base, groupType, g.Group))
		}
		if g.Display != "" {
			o.Set("display", g.Display)
		}
		kind := "direct"
		if g.indirect {
			kind = "indirect"
		}
		o.Set("type", kind)
		values[i] = o
	}
	return values
}
