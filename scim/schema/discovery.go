package schema

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/scim"
)

// Resource returns the discovery document of /Schemas/{id}. Each attribute has every characteristic that applies to its type (RFC 7643
// section 7): caseExact applies to strings; uniqueness applies to all types except booleans and complex attributes, for which the RFC does
// not define it. The document's meta has no location; the server adds it.
func (s *Schema) Resource() *scim.Resource {
	r := document(scim.SchemaSchema, s.ID, "Schema")
	r.Set("name", s.Name)
	r.Set("description", s.Description)
	r.Set("attributes", definitions(s.Attributes))
	return r
}

// Resource returns the discovery document of /ResourceTypes/{id} (RFC 7643 section 6). The document's meta has no location; the server adds
// it.
func (rt *ResourceType) Resource() *scim.Resource {
	r := document(scim.ResourceTypeSchema, cmp.Or(rt.ID, rt.Name), "ResourceType")
	r.Set("name", rt.Name)
	r.Set("endpoint", rt.Endpoint)
	r.Set("description", rt.Description)
	r.Set("schema", rt.Schema.ID)
	extensions := make([]any, len(rt.Extensions))
	for i, e := range rt.Extensions {
		extensions[i] = scim.NewObject(
			scim.Member{Name: "schema", Value: e.Schema.ID},
			scim.Member{Name: "required", Value: e.Required})
	}
	r.Set("schemaExtensions", extensions)
	return r
}

func document(urn, id, kind string) *scim.Resource {
	r := &scim.Resource{}
	r.AddSchema(urn)
	r.SetID(id)
	r.SetMeta(scim.Meta{ResourceType: kind})
	return r
}

func definitions(attributes []*Attribute) []any {
	out := make([]any, len(attributes))
	for i, a := range attributes {
		out[i] = a.definition()
	}
	return out
}

func (a *Attribute) definition() *scim.Object {
	kind := cmp.Or(a.Type, String)
	o := scim.NewObject(
		scim.Member{Name: "name", Value: a.Name},
		scim.Member{Name: "type", Value: string(kind)},
		scim.Member{Name: "multiValued", Value: a.MultiValued},
		scim.Member{Name: "description", Value: a.Description},
		scim.Member{Name: "required", Value: a.Required})
	if len(a.CanonicalValues) > 0 {
		o.Set("canonicalValues", a.CanonicalValues)
	}
	if kind == String || kind == Reference || kind == Binary {
		o.Set("caseExact", a.CaseExact)
	}
	o.Set("mutability", string(cmp.Or(a.Mutability, ReadWrite)))
	returned := cmp.Or(a.Returned, Default)
	if a.Secret() {
		returned = Never
	}
	o.Set("returned", string(returned))
	if kind != Boolean && kind != Complex {
		o.Set("uniqueness", string(cmp.Or(a.Uniqueness, None)))
	}
	if kind == Reference {
		o.Set("referenceTypes", a.ReferenceTypes)
	}
	if kind == Complex {
		o.Set("subAttributes", definitions(a.SubAttributes))
	}
	return o
}

// Parse reads a schema document in the form that [Schema.Resource] writes (RFC 7643 section 7). Missing characteristics get the defaults of
// section 2.2. Parse rejects documents that violate the RFC: names that are invalid or occur twice, unknown types and keywords,
// sub-attributes of simple attributes, complex attributes inside complex ones.
func Parse(data []byte) (*Schema, error) {
	o, err := scim.Decode(data)
	if err != nil {
		return nil, err
	}
	s := &Schema{ID: o.Text("id"), Name: o.Text("name"), Description: o.Text("description")}
	if s.ID == "" {
		return nil, fmt.Errorf("the schema has no id")
	}
	// An id must be usable as the prefix of a path.
	if p, err := scim.ParseAttrPath(s.ID + ":x"); err != nil || p.URN != s.ID {
		return nil, fmt.Errorf("the id %q is not a URI", s.ID)
	}
	if s.Attributes, err = parseAttributes(o, "attributes", "", true); err != nil {
		return nil, err
	}
	if len(s.Attributes) == 0 {
		return nil, fmt.Errorf("the schema has no attributes")
	}
	complete(s.Attributes)
	if scim.EqualName(s.ID, scim.UserSchema) {
		adoptSyntax(s.Attributes, User().Attributes)
	}
	return s, nil
}

func parseAttributes(o *scim.Object, member, parent string, complexAllowed bool) ([]*Attribute, error) {
	v, _ := o.Get(member)
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s%s is not an array", parent, member)
	}
	var out []*Attribute
	for i, v := range list {
		d, ok := v.(*scim.Object)
		if !ok {
			return nil, fmt.Errorf("%s%s[%d] is not an object", parent, member, i)
		}
		a, err := parseAttribute(d, parent, complexAllowed)
		if err != nil {
			return nil, err
		}
		if find(out, a.Name) != nil {
			return nil, fmt.Errorf("%s%s is defined twice", parent, a.Name)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAttribute(d *scim.Object, parent string, complexAllowed bool) (*Attribute, error) {
	r := reader{o: d}
	a := &Attribute{
		Name:            r.text("name"),
		Type:            keyword(&r, "type", String, Boolean, Decimal, Integer, DateTime, Binary, Reference, Complex),
		MultiValued:     r.bool("multiValued"),
		Description:     r.text("description"),
		Required:        r.bool("required"),
		CanonicalValues: r.texts("canonicalValues"),
		CaseExact:       r.bool("caseExact"),
		Mutability:      keyword(&r, "mutability", ReadWrite, ReadOnly, Immutable, WriteOnly),
		Returned:        keyword(&r, "returned", Default, Always, Never, Request),
		Uniqueness:      keyword(&r, "uniqueness", None, Server, Global),
		ReferenceTypes:  r.texts("referenceTypes"),
	}
	name := parent + a.Name
	if p, err := scim.ParseAttrPath(a.Name); err != nil || p.Name != a.Name || p.URN != "" {
		return nil, fmt.Errorf("%q is not an attribute name", name)
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", name, r.err)
	}
	var err error
	if a.SubAttributes, err = parseAttributes(d, "subAttributes", name+".", false); err != nil {
		return nil, err
	}
	switch {
	case a.Type == Complex && !complexAllowed:
		return nil, fmt.Errorf("%s: a complex attribute cannot be part of another", name)
	case a.Type == Complex && len(a.SubAttributes) == 0:
		return nil, fmt.Errorf("%s: a complex attribute needs sub-attributes", name)
	case a.Type != Complex && len(a.SubAttributes) > 0:
		return nil, fmt.Errorf("%s: only a complex attribute has sub-attributes", name)
	}
	return a, nil
}

// reader reads typed members and stores the first error.
type reader struct {
	o   *scim.Object
	err error
}

func (r *reader) fail(name, want string, v any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %s, not %s", name, scim.AppendValue(nil, v), want)
	}
}

func (r *reader) text(name string) string {
	v, _ := r.o.Get(name)
	s, ok := v.(string)
	if !ok && v != nil {
		r.fail(name, "a string", v)
	}
	return s
}

func (r *reader) bool(name string) bool {
	v, _ := r.o.Get(name)
	b, ok := v.(bool)
	if !ok && v != nil {
		r.fail(name, "true or false", v)
	}
	return b
}

func (r *reader) texts(name string) []string {
	v, _ := r.o.Get(name)
	list, ok := v.([]any)
	if !ok && v != nil {
		r.fail(name, "an array of strings", v)
	}
	var out []string
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			r.fail(name, "an array of strings", v)
		}
		out = append(out, s)
	}
	return out
}

// keyword reads a member whose value is one of the given words. It returns the first word if the member is absent.
func keyword[T ~string](r *reader, name string, words ...T) T {
	v, _ := r.o.Get(name)
	if v == nil {
		return words[0]
	}
	for _, w := range words {
		if v == string(w) {
			return w
		}
	}
	r.fail(name, fmt.Sprintf("one of %v", words), v)
	return words[0]
}

// MarshalJSON writes the discovery document.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.Resource().MarshalJSON() }

// UnmarshalJSON reads the document with [Parse].
func (s *Schema) UnmarshalJSON(data []byte) error {
	p, err := Parse(data)
	if err != nil {
		return err
	}
	*s = *p
	return nil
}

var (
	_ json.Marshaler   = (*Schema)(nil)
	_ json.Unmarshaler = (*Schema)(nil)
)
