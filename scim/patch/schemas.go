package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
)

// The attribute "schemas" names the extensions in use (RFC 7643 section 3). Operations on it therefore only check their input and remove
// the data of a removed schema. The list itself is set after all operations.

func (p *patcher) addSchemas(v any) error {
	_, err := p.checkedURNs(v)
	return err
}

func (p *patcher) replaceSchemas(v any) error {
	urns, err := p.checkedURNs(v)
	if err != nil {
		return err
	}
	if !urns.HasSchema(p.rt.Schema.ID) {
		return fail(scim.Mutability, "schemas must name %s", p.rt.Schema.ID)
	}
	return p.keepSchemas(urns)
}

// removeSchemas removes the schemas a filter selects.
func (p *patcher) removeSchemas(at place) error {
	urns := &scim.Resource{}
	elements, meant, err := p.list(at)
	if err != nil {
		return err
	}
	for _, i := range meant {
		elements[i] = nil
	}
	for _, e := range elements {
		if s, ok := e.(string); ok {
			urns.AddSchema(s)
		}
	}
	if !urns.HasSchema(p.rt.Schema.ID) {
		return fail(scim.Mutability, "schemas must name %s", p.rt.Schema.ID)
	}
	p.out.Set("schemas", urns.Array("schemas"))
	return p.keepSchemas(urns)
}

// checkedURNs returns the given URNs as the "schemas" of an otherwise empty resource.
func (p *patcher) checkedURNs(v any) (*scim.Resource, error) {
	urns := &scim.Resource{}
	list, _ := listed(v).([]any)
	for _, v := range list {
		urn, ok := v.(string)
		if !ok {
			return nil, fail(scim.InvalidValue, "schemas must hold strings")
		}
		if !scim.EqualName(urn, p.rt.Schema.ID) && p.rt.Extension(urn) == nil {
			if p.opts.Accept.Has(lenient.UnknownSchemas) {
				continue
			}
			return nil, fail(scim.InvalidValue, "%s is not a schema of %s", urn, p.rt.Name)
		}
		urns.AddSchema(urn)
	}
	return urns, nil
}

// keepSchemas removes the data of the extensions that urns does not list.
func (p *patcher) keepSchemas(urns *scim.Resource) error {
	for _, e := range p.rt.Extensions {
		if urns.HasSchema(e.Schema.ID) {
			continue
		}
		if err := p.remove(p.extension(e.Schema)); err != nil {
			return err
		}
	}
	return nil
}
