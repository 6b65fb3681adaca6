package scimserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// membersOf returns the attribute "members" of each group, and puts the records that fit them into groups.
func (s *server) membersOf(ctx context.Context, base string, t *resourceType, groups []*Record) ([][]any, error) {
	values := make([][]any, len(groups))
	for i, rec := range groups {
		rec, members, err := s.settled(ctx, t, rec)
		if err != nil {
			return nil, err
		}
		groups[i], values[i] = rec, s.memberValues(base, members)
	}
	return values, nil
}

// settleAttempts is how often the members of a group are read while others keep changing it. The last attempt holds off
// the writers in this process.
const settleAttempts = 4

// settled returns a group and its members as they were at one moment: every change of the members is a change of the
// group's version, so the version is the same before and after the members are read.
func (s *server) settled(ctx context.Context, t *resourceType, rec *Record) (*Record, []Member, error) {
	for attempt := 1; ; attempt++ {
		if attempt == settleAttempts {
			unlock, err := s.locks.lock(ctx, rec.ID)
			if err != nil {
				return nil, nil, err
			}
			defer unlock()
		}
		members, err := s.store.Members(ctx, rec.ID, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("read the members of a group: %w", err)
		}
		now, err := s.store.Get(ctx, t.Name, rec.ID)
		switch {
		case errors.Is(err, ErrNotFound): // deleted just now
			return rec, members, nil
		case err != nil:
			return nil, nil, err
		case now.Version == rec.Version || attempt > settleAttempts:
			return now, members, nil
		}
		rec = now
	}
}

// memberValues is the attribute "members" of a group (RFC 7643 section 4.2).
func (s *server) memberValues(base string, members []Member) []any {
	values := make([]any, len(members))
	for i, m := range members {
		o := scim.NewObject(scim.Member{Name: "value", Value: m.ID})
		if t := s.typeNamed(m.Type); t != nil {
			o.Set("$ref", location(base, t, m.ID))
		}
		o.Set("type", m.Type)
		if m.Display != "" {
			o.Set("display", m.Display)
		}
		values[i] = o
	}
	return values
}

// group is one group that a user belongs to, directly or through other groups.
type group struct {
	Membership
	indirect bool
}

// groupsOfAll returns the attribute "groups" of each user.
func (s *server) groupsOfAll(ctx context.Context, base string, users []*Record) ([][]any, error) {
	ids := make([]string, len(users))
	for i, rec := range users {
		ids[i] = rec.ID
	}
	groups, err := s.groupsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	values := make([][]any, len(users))
	for i, id := range ids {
		values[i] = s.groupValues(base, groups[id])
	}
	return values, nil
}

// groupsOf returns, by user id, all groups that users belong to: the direct ones first, then those that these groups are
// members of, level by level. Groups that contain each other do no harm.
func (s *server) groupsOf(ctx context.Context, users []string) (map[string][]group, error) {
	direct, err := s.memberOf(ctx, users)
	if err != nil {
		return nil, err
	}
	parents := map[string][]Membership{} // of every group met so far
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
		for i := 0; i < len(all); i++ { // all grows meanwhile
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

// unread lists the groups in found that are not yet known.
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

// groupValues is the attribute "groups" of a user (RFC 7643 section 4.1.2).
func (s *server) groupValues(base string, groups []group) []any {
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

// memberIDs returns the ids in the attribute "members" of a resource, each once.
func memberIDs(r *scim.Resource) []string {
	var ids []string
	seen := map[string]bool{}
	for _, v := range r.Array(attrMembers) {
		m, _ := v.(*scim.Object)
		if id := m.Text("value"); id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// checkMembers returns the members of a group that a client sent. Each needs a value that an id can have.
func checkMembers(r *scim.Resource) ([]string, error) {
	for _, v := range r.Array(attrMembers) {
		m, _ := v.(*scim.Object)
		switch id := m.Text("value"); {
		case id == "":
			return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "members: a member has no value")
		case !plausibleID(id):
			return nil, &UnknownMemberError{IDs: []string{id}}
		}
	}
	return memberIDs(r), nil
}

// memberScope says which members of a group a change has to look at. Adding one member to a large group must not read the
// group, so a PATCH is applied to the group as it would be if it had only the members that the operations name.
type memberScope struct {
	all bool
	ids []string // when not all
}

// patchScope finds the members that the operations of a PATCH name. Whatever is not certain to concern named members only
// concerns all of them.
func patchScope(req *scim.PatchRequest, t *resourceType) memberScope {
	var scope memberScope
	for _, op := range req.Operations {
		scope.add(op, t)
		if scope.all {
			return memberScope{all: true}
		}
	}
	return scope
}

func (m *memberScope) add(op scim.PatchOperation, t *resourceType) {
	replaces := strings.EqualFold(op.Op, scim.OpReplace)
	if op.Path == "" {
		value, _ := op.Value.(*scim.Object)
		for name, v := range value.All() {
			path, err := scim.ParseAttrPath(name)
			switch {
			case err != nil:
				m.all = true
			case !isMembers(path, t):
			case replaces || path.Sub != "":
				m.all = true
			default:
				m.addValues(v)
			}
		}
		return
	}
	path, err := filter.ParsePath(op.Path)
	switch {
	case err != nil:
		m.all = true
	case !isMembers(path.Attr, t):
	case path.Filter != nil:
		if !m.addNamed(path.Filter) {
			m.all = true
		}
	case path.Attr.Sub != "" || replaces || op.Value == nil:
		m.all = true
	default:
		m.addValues(op.Value)
	}
}

// isMembers says whether a path names the members of a group.
func isMembers(path scim.AttrPath, t *resourceType) bool {
	if resolved, ok := t.Resolve(path); ok && resolved.Attribute != nil {
		return !resolved.Extension && resolved.Attribute.Name == attrMembers
	}
	return false
}

// addValues adds the members in a value: one of {"value": id} or a list of them.
func (m *memberScope) addValues(v any) {
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	for _, v := range values {
		o, ok := v.(*scim.Object)
		id := o.Text("value")
		if !ok || id == "" {
			m.all = true
			return
		}
		m.addID(id)
	}
}

// addNamed adds the members that a filter names and says whether it names them all: value eq "x", and such joined by or.
func (m *memberScope) addNamed(e filter.Expr) bool {
	switch e := e.(type) {
	case filter.Or:
		return m.addNamed(e.X) && m.addNamed(e.Y)
	case filter.Compare:
		id, ok := e.Value.(string)
		if !ok || e.Op != filter.Eq || !scim.EqualName(e.Path.Name, "value") || e.Path.Sub != "" || e.Path.URN != "" {
			return false
		}
		m.addID(id)
		return true
	}
	return false
}

// addID adds a member unless no resource can have that id.
func (m *memberScope) addID(id string) {
	if plausibleID(id) {
		m.ids = append(m.ids, id)
	}
}

// readScope returns the members of a group that are in the scope, as values of the attribute.
func (s *server) readScope(ctx context.Context, base, group string, scope memberScope) ([]any, error) {
	only := scope.ids
	switch {
	case scope.all:
		only = nil
	case len(only) == 0:
		return nil, nil
	}
	members, err := s.store.Members(ctx, group, only)
	if err != nil {
		return nil, fmt.Errorf("read members of a group: %w", err)
	}
	return s.memberValues(base, members), nil
}

// memberChange compares the members before and after a change.
func memberChange(before, after []string) MemberChange {
	return MemberChange{Add: without(after, before), Remove: without(before, after)}
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, id := range b {
		in[id] = true
	}
	var out []string
	for _, id := range a {
		if !in[id] {
			out = append(out, id)
		}
	}
	return out
}

// displayOf is what others show for a resource.
func displayOf(r *scim.Resource) string {
	for _, name := range []string{"displayName", "userName"} {
		if text := r.Text(name); text != "" {
			return text
		}
	}
	return ""
}
