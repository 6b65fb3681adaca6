package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// replace implements the operation replace on an attribute (RFC 7644 section 3.5.2.3).
func (p *patcher) replace(at place, v any) error {
	return p.change(at, func() error {
		switch {
		case v == nil && at.extension:
			return p.removeExtension(at)
		case v == nil, at.a.Type == schema.Complex && !at.a.MultiValued && p.emptiesReference(at, v):
			return p.unassign(at, scim.InvalidValue)
		case at.schemas():
			return p.replaceSchemas(v)
		case at.a.MultiValued:
			return p.assign(at, listed(v))
		case at.a.Type == schema.Complex:
			return p.merge(at, v, p.replace)
		}
		return p.assign(at, v)
	})
}

// replaceElements replaces the elements that a path selects, or one of their sub-attributes.
func (p *patcher) replaceElements(at place, v any) error {
	return p.change(at, func() error {
		elements, meant, err := p.list(at)
		if err != nil {
			return err
		}
		if len(meant) == 0 {
			return noTarget(at)
		}
		if err := p.spend(len(meant) * weight(v)); err != nil {
			return err
		}
		if at.sub == nil {
			c, err := at.a.CleanElement(v, at.path, p.clean)
			if err != nil {
				return err
			}
			// All matching elements would become the same value, so the new value replaces the first one and the others are removed.
			for _, i := range meant[1:] {
				elements[i] = nil
			}
			elements[meant[0]] = c
			return p.finish(at, elements, meant[:1], v)
		}
		for _, i := range meant {
			if err := p.changeElement(at, elements, i, v, p.replace); err != nil {
				return err
			}
		}
		return p.finish(at, elements, meant, v)
	})
}
