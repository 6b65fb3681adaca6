package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// add implements the operation add on an attribute (RFC 7644 section 3.5.2.1).
func (p *patcher) add(at place, v any) error {
	return p.change(at, func() error {
		switch {
		case v == nil:
			return nil
		case at.schemas():
			return p.addSchemas(v)
		case at.a.MultiValued:
			return p.addElements(at, v)
		case at.a.Type == schema.Complex && p.emptiesReference(at, v):
			return p.unassign(at, scim.InvalidValue)
		case at.a.Type == schema.Complex:
			return p.merge(at, v, p.add)
		}
		return p.assign(at, v)
	})
}

// assign sets the value of a single-valued simple attribute.
func (p *patcher) assign(at place, v any) error {
	c, err := at.a.Clean(v, at.path, p.clean)
	if err != nil {
		return err
	}
	if c == nil {
		return p.unassign(at, scim.InvalidValue)
	}
	at.holder.Set(at.a.Name, c)
	return nil
}

// merge applies do to each sub-attribute in the value. Other sub-attributes remain unchanged.
func (p *patcher) merge(at place, v any, do verb) error {
	o, there := at.value().(*scim.Object)
	if !there {
		o = &scim.Object{}
	}
	if err := p.mergeInto(at, o, v, do); err != nil {
		return err
	}
	return p.settle(at, o, there)
}

func (p *patcher) mergeInto(at place, o *scim.Object, v any, do verb) error {
	given, ok := v.(*scim.Object)
	if !ok {
		if !p.opts.Accept.Has(lenient.PlainValues) || at.a.SubAttribute("value") == nil {
			return fail(scim.InvalidValue, "%s must be an object of sub-attributes", at.path)
		}
		given = scim.NewObject(scim.Member{Name: "value", Value: v})
	}
	for name, v := range given.All() {
		sub := at.a.SubAttribute(name)
		if sub == nil {
			if at.extension && p.opts.Accept.Has(lenient.EchoedSchemas) && scim.EqualName(name, "schemas") {
				continue
			}
			path := at.part(o, &schema.Attribute{Name: name}).path
			return fail(scim.InvalidValue, "%s is not defined by the schema", path)
		}
		part := at.part(o, sub)
		if sub.Mutability == schema.ReadOnly && (!at.extension || part.ignoresReadOnly(v, p.opts.Accept)) {
			continue
		}
		if err := do(part, v); err != nil {
			return err
		}
	}
	return nil
}

// addElements appends to a multi-valued attribute the elements that it does not have yet.
func (p *patcher) addElements(at place, v any) error {
	c, err := at.a.Clean(listed(v), at.path, p.clean)
	if err != nil || c == nil {
		return err
	}
	more := c.([]any)
	have, _ := at.value().([]any)
	if err := p.spend(weight(have)); err != nil {
		return err
	}
	all, changed := at.a.Union(have, more)
	if !changed {
		return nil
	}
	for _, e := range more {
		if isPrimary(e) {
			demoteOthers(all, func(other any) bool { return at.a.Key(other) == at.a.Key(e) })
		}
	}
	at.holder.Set(at.a.Name, all)
	return nil
}

// listed converts a single value to an array with one element.
func listed(v any) any {
	if _, ok := v.([]any); ok || v == nil {
		return v
	}
	return []any{v}
}

// addToElements adds to the elements that a path selects, or to one of their sub-attributes.
func (p *patcher) addToElements(at place, v any) error {
	return p.change(at, func() error {
		if v == nil {
			return nil
		}
		elements, meant, err := p.list(at)
		if err != nil {
			return err
		}
		if len(meant) == 0 {
			return p.createElement(at, v)
		}
		if err := p.spend(len(meant) * weight(v)); err != nil {
			return err
		}
		for _, i := range meant {
			if err := p.changeElement(at, elements, i, v, p.add); err != nil {
				return err
			}
		}
		return p.finish(at, elements, meant, v)
	})
}

// changeElement applies do to one element, or to its selected sub-attribute.
func (p *patcher) changeElement(at place, elements []any, i int, v any, do verb) error {
	o, ok := elements[i].(*scim.Object)
	switch {
	case !ok:
		c, err := at.a.CleanElement(v, at.path, p.clean)
		elements[i] = c
		return err
	case at.sub != nil:
		return do(at.part(o, at.sub), v)
	}
	return p.mergeInto(at, o, v, do)
}

// finish stores the elements of a multi-valued attribute after an operation with the value v. changed contains the positions of the
// elements that the operation has added or changed.
func (p *patcher) finish(at place, elements []any, changed []int, v any) error {
	if mentionsPrimary(at, v) {
		var chosen any
		for _, i := range changed {
			if !isPrimary(elements[i]) {
				continue
			}
			if chosen != nil {
				return fail(scim.InvalidValue, "%s would have more than one primary value", at.path)
			}
			chosen = elements[i]
		}
		if chosen != nil {
			demoteOthers(elements, func(other any) bool { return other == chosen })
		}
	}
	kept := make([]any, 0, len(elements))
	for _, e := range elements {
		if o, ok := e.(*scim.Object); e == nil || ok && o.Len() == 0 {
			continue
		}
		kept = append(kept, e)
	}
	if len(kept) == 0 {
		return p.unassign(at, scim.InvalidValue)
	}
	kept, _ = at.a.Union(nil, kept) // a changed element may have become equal to another
	at.holder.Set(at.a.Name, kept)
	return nil
}
