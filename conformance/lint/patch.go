package lint

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance/internal/grammar"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// patch validates a PatchOp message (RFC 7644 section 3.5.2).
func (l *linter) patch(n *node) {
	operations := n.given("Operations")
	switch {
	case operations == nil:
		l.missing(n, "Operations", "patch.operations", "an array of one or more operations")
		return
	case operations.kind != kindArray || len(operations.items) == 0:
		l.addFinding(operations, "patch.operations", "an array of one or more operations", operations)
		return
	}
	for _, o := range operations.items {
		if o.kind != kindObject {
			l.addFinding(o, "patch.operations", "an object", o)
			continue
		}
		l.operation(o)
	}
}

func (l *linter) operation(o *node) {
	path, value := o.given("path"), o.get("value")
	if path.is(kindString) && secretName(path.text) {
		value.hide()
	}
	op := o.given("op")
	name := strings.ToLower(op.string())
	switch {
	case op == nil:
		l.missing(o, "op", "patch.op", "add, remove or replace")
	case !slices.Contains([]string{scim.OpAdd, scim.OpRemove, scim.OpReplace}, name):
		l.addFinding(op, "patch.op-known", "add, remove or replace", op)
	case op.text != name:
		l.addFinding(op, "patch.op-case", name, op)
	}
	switch {
	case path == nil && name == scim.OpRemove:
		l.missing(o, "path", "patch.remove-path", "a path")
	case path != nil && path.kind != kindString:
		l.addFinding(path, "patch.path", "a string", path)
		return
	case path != nil:
		if err := grammar.Path(path.text); err != nil {
			l.at(path.at, path.path, "patch.path", "a path of RFC 7644 section 3.5.2", err.Error())
			return
		}
	}
	switch {
	case value == nil && name == scim.OpAdd:
		l.missing(o, "value", "patch.value", "a value")
	case value == nil && name == scim.OpReplace:
		l.missing(o, "value", "patch.replace-value", "a value")
	case value.isGiven() && name == scim.OpRemove:
		l.addFinding(value, "patch.remove-value", "no value", value)
	case value == nil || name == scim.OpRemove:
	case path == nil && value.kind != kindObject:
		l.addFinding(value, "patch.value-object", "an object of attributes", value)
	case path == nil:
		l.patchObject(value)
	}
	if path != nil {
		l.target(path, value, name)
	}
}

func (n *node) isGiven() bool { return n != nil && n.kind != kindNull }

// hide marks a value and everything in it as secret.
func (n *node) hide() {
	if n == nil {
		return
	}
	n.secret = true
	for _, m := range n.members {
		m.value.hide()
	}
	for _, item := range n.items {
		item.hide()
	}
}

// patchObject validates the value of an operation without a path.
func (l *linter) patchObject(value *node) {
	for _, m := range value.members {
		if slices.ContainsFunc(commonNames, func(c string) bool { return scim.EqualName(c, m.name) }) {
			continue
		}
		if s := l.schema(m.name); s != nil {
			if m.value.kind == kindObject {
				l.members(m.value, s.Attributes, nil)
			}
			continue
		}
		found, sub := l.find(m.name)
		switch {
		case sub != nil || found != nil && isURN(m.name) || strings.ContainsAny(m.name, "["):
			l.at(m.at, m.value.path, "patch.dotted-name", "the name of an attribute", clip(m.name))
		case found != nil:
			l.written(m.value, found, scim.OpReplace)
		case !isURN(m.name):
			l.at(m.at, m.value.path, "patch.unknown-attribute", "an attribute of a known schema", clip(m.name))
		}
	}
}

// target validates the attribute that a path names, if its schema is known. The resource type is unknown: the first schema with the
// attribute decides.
func (l *linter) target(path, value *node, op string) {
	name, rest, filtered := strings.Cut(path.text, "[")
	a, sub := l.find(name)
	if filtered {
		if i := strings.LastIndexByte(rest, ']'); i >= 0 && strings.HasPrefix(rest[i+1:], ".") && a != nil {
			sub = attributeNamed(a.SubAttributes, rest[i+2:])
			if sub == nil {
				a = nil
			}
		}
	}
	if a == nil {
		if p, err := scim.ParseAttrPath(name); l.schema(name) == nil &&
			(err != nil || !slices.ContainsFunc(commonNames, func(c string) bool { return scim.EqualName(c, p.Name) })) {
			l.addFinding(path, "patch.unknown-attribute", "an attribute of a known schema", path)
		} else if err == nil && (scim.EqualName(p.Name, "id") || scim.EqualName(p.Name, "meta")) {
			l.addFinding(path, "patch.read-only", "an attribute that clients may change", path)
		}
		return
	}
	if a.Mutability == schema.ReadOnly || sub != nil && sub.Mutability == schema.ReadOnly {
		l.addFinding(path, "patch.read-only", "an attribute that clients may change", path)
	}
	if !value.isGiven() || op == scim.OpRemove {
		return
	}
	switch {
	case sub != nil:
		l.attribute(value, sub)
	case filtered:
		l.element(value, a)
	default:
		l.written(value, a, op)
	}
}

// written validates the value of a whole attribute. An element may be added to a multi-valued attribute without an array.
func (l *linter) written(value *node, a *schema.Attribute, op string) {
	if a.MultiValued && op == scim.OpAdd && value.kind != kindArray {
		l.element(value, a)
		return
	}
	before := l.opts.Partial
	l.opts.Partial = op != scim.OpAdd && !a.MultiValued // an operation may set only some sub-attributes of a complex attribute
	l.attribute(value, a)
	l.opts.Partial = before
}

// find returns the definition of the attribute that a path without filter names.
func (l *linter) find(name string) (a, sub *schema.Attribute) {
	p, err := scim.ParseAttrPath(name)
	if err != nil {
		return nil, nil
	}
	for _, s := range l.schemas {
		if p.URN != "" && !scim.EqualName(p.URN, s.ID) {
			continue
		}
		a := s.Attribute(p.Name)
		if a == nil {
			continue
		}
		if p.Sub == "" {
			return a, nil
		}
		if sub := attributeNamed(a.SubAttributes, p.Sub); sub != nil {
			return a, sub
		}
	}
	return nil, nil
}
