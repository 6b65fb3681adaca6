package schema

import "github.com/scimwright/scimwright/scim"

// Resolve returns the definition of the attribute, sub-attribute or extension that a path names, ignoring case. A path without URN names an
// attribute of the base schema or a common one (id, externalId, schemas, meta; RFC 7643 section 3.1). A path with a URN names an attribute
// of that schema. A bare extension URN resolves to the extension itself. If no such attribute, sub-attribute or extension is defined,
// Resolve returns false.
func (rt *ResourceType) Resolve(p scim.AttrPath) (Resolved, bool) {
	if p.URN == "" {
		return rt.resolveCore(p)
	}
	if rt.Schema != nil && scim.EqualName(p.URN, rt.Schema.ID) {
		return rt.resolveCore(p)
	}
	for i := range rt.Extensions {
		s := rt.Extensions[i].Schema
		if scim.EqualName(p.URN, s.ID) && p.Name != "" {
			r, ok := resolveIn(s.Attributes, p)
			r.Schema, r.Extension, r.Path.URN = s, true, s.ID
			return r, ok
		}
		if namesSchema(p, s.ID) {
			return Resolved{Schema: s, Extension: true, Path: scim.AttrPath{URN: s.ID}}, true
		}
	}
	return Resolved{}, false
}

// resolveCore searches the common attributes first and then those of the base schema. A schema that lists a common attribute therefore
// cannot change its definition (RFC 7643 section 3.1).
func (rt *ResourceType) resolveCore(p scim.AttrPath) (Resolved, bool) {
	if r, ok := resolveIn(common, p); ok {
		return r, true
	}
	if rt.Schema == nil {
		return Resolved{}, false
	}
	r, ok := resolveIn(rt.Schema.Attributes, p)
	r.Schema = rt.Schema
	return r, ok
}

func resolveIn(attributes []*Attribute, p scim.AttrPath) (r Resolved, ok bool) {
	r.Attribute = find(attributes, p.Name)
	if r.Attribute == nil {
		return Resolved{}, false
	}
	r.Path.Name = r.Attribute.Name
	if p.Sub == "" {
		return r, true
	}
	if r.Sub = find(r.Attribute.SubAttributes, p.Sub); r.Sub == nil {
		return Resolved{}, false
	}
	r.Path.Sub = r.Sub.Name
	return r, true
}

func find(attributes []*Attribute, name string) *Attribute {
	for _, a := range attributes {
		if scim.EqualName(a.Name, name) {
			return a
		}
	}
	return nil
}

// namesSchema reports whether the path is exactly the URN, however the path was split.
func namesSchema(p scim.AttrPath, urn string) bool {
	switch {
	case p.Name == "":
		return scim.EqualName(p.URN, urn)
	case len(p.URN) >= len(urn) || !scim.EqualName(p.URN, urn[:len(p.URN)]):
		return false
	}
	return scim.EqualName(p.String(), urn)
}

// Attribute returns the attribute with that name, or nil if the schema has no such attribute.
func (s *Schema) Attribute(name string) *Attribute { return find(s.Attributes, name) }

// SubAttribute returns the sub-attribute with that name, or nil if the attribute has no such sub-attribute.
func (a *Attribute) SubAttribute(name string) *Attribute { return find(a.SubAttributes, name) }

// Extension returns the extension with that URN, or nil if the type has no such extension.
func (rt *ResourceType) Extension(urn string) *Extension {
	for i := range rt.Extensions {
		if scim.EqualName(rt.Extensions[i].Schema.ID, urn) {
			return &rt.Extensions[i]
		}
	}
	return nil
}

// Lookup returns the value at the resolved path in a resource: the value of the attribute, the value of the sub-attribute, or the object of
// the extension. If the attribute is multi-valued, Lookup returns its whole value also for a sub-attribute, because the sub-attribute
// occurs in several elements.
func (r Resolved) Lookup(res *scim.Resource) (any, bool) {
	o := &res.Object
	if r.Extension {
		if r.Attribute == nil {
			return o.Get(r.Schema.ID)
		}
		o = o.Complex(r.Schema.ID)
	}
	v, ok := o.Get(r.Attribute.Name)
	if c, single := v.(*scim.Object); single && r.Sub != nil {
		return c.Get(r.Sub.Name)
	}
	return v, ok
}
