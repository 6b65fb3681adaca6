package scimserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// membersOf returns the attribute "members" of each group. If a group changes while its members are read, membersOf replaces the record in
// groups by one that matches the members.
func (s *server) membersOf(ctx context.Context, base string, t *resourceType, groups []*Record) ([][]any, error) {
	values := make([][]any, len(groups))
	for i, rec := range groups {
		rec, members, err := s.consistentGroup(ctx, t, rec)
		if err != nil {
			return nil, err
		}
		groups[i], values[i] = rec, s.memberValues(base, members)
	}
	return values, nil
}

// consistencyAttempts is the number of attempts to read the members of a group while it is being changed. The last attempt holds the lock
// of the group, so that no request of this process changes the group.
const consistencyAttempts = 4

// consistentGroup returns a consistent state of a group and its members. Every change of the members changes the group's version, so the
// state is consistent if the version is the same before and after the members are read.
func (s *server) consistentGroup(ctx context.Context, t *resourceType, rec *Record) (*Record, []Member, error) {
	for attempt := 1; ; attempt++ {
		if attempt == consistencyAttempts {
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
		case errors.Is(err, ErrNotFound): // deleted in the meantime, together with its members
			return rec, nil, nil
		case err != nil:
			return nil, nil, err
		case now.Version == rec.Version || attempt > consistencyAttempts:
			return now, members, nil
		}
		rec = now
	}
}

// memberValues returns the attribute "members" of a group (RFC 7643 section 4.2).
func (s *server) memberValues(base string, members []Member) []any {
	values := make([]any, len(members))
	for i, m := range members {
		o := &scim.Object{}
		o.Grow(4)
		o.Set("value", m.ID)
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

// checkMembers returns the members of a group that a client sent. Each needs a value that is a possible id.
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

// memberChange compares the members before and after a change.
func memberChange(before, after []string) MemberChange {
	return MemberChange{Add: without(after, before), Remove: without(before, after)}
}

// without returns the elements of the list a that the list b does not contain.
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
