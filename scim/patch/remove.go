package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// removal implements the operation remove (RFC 7644 section 3.5.2.2).
func (p *patcher) removal(op scim.PatchOperation) error {
	if op.Path == "" {
		return fail(scim.NoTarget, "remove needs a path")
	}
	at, err := p.resolve(op.Path)
	if err != nil {
		return err
	}
	if at.elements {
		return p.removeElements(at)
	}
	if op.HasValue && op.Value != nil && at.a.MultiValued {
		if !p.opts.Accept.Has(lenient.RemoveValues) {
			return fail(scim.InvalidValue, "remove must not have a value; select the values with a filter: %s[...]", at.path)
		}
		return p.removeListed(at, op.Value)
	}
	return p.remove(at)
}

// remove unassigns an attribute.
func (p *patcher) remove(at place) error {
	return p.change(at, func() error {
		switch {
		case at.schemas():
			return fail(scim.Mutability, "schemas is required")
		case at.extension:
			return p.removeExtension(at)
		}
		return p.unassign(at, scim.Mutability)
	})
}

// removeExtension removes the attributes of an extension that clients may write.
func (p *patcher) removeExtension(at place) error {
	o, there := at.value().(*scim.Object)
	if !there {
		return nil
	}
	if at.a.Required {
		return fail(scim.Mutability, "%s is required", at.path)
	}
	for _, a := range at.a.SubAttributes {
		if a.Mutability == schema.ReadOnly {
			continue
		}
		part := at.part(o, a)
		part.a = optional(a) // a required attribute may be removed together with the whole extension
		if err := p.remove(part); err != nil {
			return err
		}
	}
	return p.settle(at, o, true)
}

func optional(a *schema.Attribute) *schema.Attribute {
	c := *a
	c.Required = false
	return &c
}

// removeElements removes the elements that a path selects, or one of their sub-attributes. A path without match is not an error.
func (p *patcher) removeElements(at place) error {
	if at.schemas() {
		return p.removeSchemas(at)
	}
	return p.change(at, func() error {
		elements, meant, err := p.list(at)
		if err != nil || len(meant) == 0 {
			return err
		}
		for _, i := range meant {
			o, _ := elements[i].(*scim.Object)
			if at.sub == nil {
				elements[i] = nil
			} else if err := p.remove(at.part(o, at.sub)); err != nil {
				return err
			}
		}
		return p.keep(at, elements)
	})
}

// keep stores the elements that a removal did not remove.
func (p *patcher) keep(at place, elements []any) error {
	kept := elements[:0]
	for _, e := range elements {
		if o, ok := e.(*scim.Object); e == nil || ok && o.Len() == 0 {
			continue
		}
		kept = append(kept, e)
	}
	if len(kept) == 0 {
		return p.unassign(at, scim.Mutability)
	}
	at.holder.Set(at.a.Name, kept)
	return nil
}
