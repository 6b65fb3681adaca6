package scimserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// memberScope defines which members of a group a change has to read. Adding one member to a large group must not read all its members, so a
// PATCH is applied to the group as if it had only the members that the operations name.
type memberScope struct {
	all bool
	ids []string // used if all is false
}

// patchScope returns the members that the operations of a PATCH name. If an operation may affect other members, the scope is all members.
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

// isMembers reports whether a path names the members of a group.
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

// addNamed adds the members that a filter names. It returns false if the filter may match other members too. It returns true for value eq
// "x", and for several of these joined by or.
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

// addID adds a member, unless the string cannot be an id.
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
