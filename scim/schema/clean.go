package schema

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
)

// CleanOptions configures [ResourceType.Clean]. The zero value follows the RFC, for the creation of a resource.
type CleanOptions struct {
	// Previous is the stored resource if the representation replaces one (PUT, RFC 7644 section 3.5.1). The result contains its read-only
	// values. It also contains its immutable values; a representation with a different value is rejected. It contains its write-only values
	// (password) unless the representation contains a new value or null. Default: nil, for a creation.
	Previous *scim.Resource
	// RefuseUnknown rejects attributes that the type does not define. Default: drop them.
	RefuseUnknown bool
	// RefuseUnknownSchemas rejects schemas that the type does not have. Default: drop them.
	RefuseUnknownSchemas bool
	// Accept is the set of nonstandard inputs to accept: SpelledBooleans, SingleValues, PlainValues, EmptyReferences, EchoedSchemas,
	// LooseValues and JSONValues. Default: none.
	Accept lenient.Set
}

// Clean converts a client's representation of a resource into the form to store. Names have canonical spelling, and "schemas" is first and
// lists the base schema and the extensions in use. Clean removes null, empty arrays, empty objects (RFC 7643 section 2.5), read-only
// attributes (id, meta, groups...), undefined attributes and repeated elements. It does not change the order of the remaining attributes or
// the spelling of values.
//
// Clean rejects values of the wrong type, more than one primary, and missing required attributes with 400 invalidValue, and changes of
// immutable attributes with 400 mutability (see [CleanOptions.Previous]). An extension that the type requires must be present. The required
// attributes of an optional extension are required only if the extension is in use. An extension with data is in use even if "schemas" does
// not list it. Canonical values are suggestions and not enforced (RFC 7643 section 2.3.1 permits both). The result shares no object or
// array with in. The error is a *scim.Error.
func (rt *ResourceType) Clean(in *scim.Resource, opts CleanOptions) (*scim.Resource, error) {
	if err := rt.checkSchemas(in, opts); err != nil {
		return nil, err
	}
	out := &scim.Resource{}
	out.Grow(in.Len() + 1)
	out.Set("schemas", []any{rt.Schema.ID})
	if opts.Previous != nil && opts.Previous.ID() != "" {
		out.SetID(opts.Previous.ID())
	}
	for name, v := range in.All() {
		if scim.EqualName(name, "schemas") {
			continue
		}
		if ext := rt.Extension(name); ext != nil {
			if err := ext.clean(out, v, opts); err != nil {
				return nil, err
			}
			continue
		}
		r, ok := rt.resolveCore(scim.AttrPath{Name: name})
		if !ok {
			if opts.RefuseUnknown {
				return nil, invalid(scim.AttrPath{Name: name}, "is not defined by the schemas of "+rt.Name)
			}
			continue
		}
		if err := r.Attribute.cleanInto(&out.Object, v, r.Path, opts); err != nil {
			return nil, err
		}
	}
	if prev := opts.Previous; prev != nil {
		if err := rt.keepProtected(in, out, prev); err != nil {
			return nil, err
		}
	}
	if err := rt.CheckRequired(out); err != nil {
		return nil, err
	}
	rt.SetSchemas(out)
	return out, nil
}

// cleanInto stores the cleaned value of a top-level attribute, unless it is read-only or unassigned.
func (a *Attribute) cleanInto(out *scim.Object, v any, path scim.AttrPath, opts CleanOptions) error {
	if a.Mutability == ReadOnly {
		return nil
	}
	c, err := a.Clean(v, path, opts)
	if err != nil || c == nil {
		return err
	}
	out.Set(a.Name, c)
	return nil
}

func (e *Extension) clean(out *scim.Resource, v any, opts CleanOptions) error {
	urn := e.Schema.ID
	if v == nil {
		return nil
	}
	in, ok := v.(*scim.Object)
	if !ok {
		return invalid(scim.AttrPath{URN: urn}, "must be an object of attributes")
	}
	data := &scim.Object{}
	data.Grow(in.Len())
	for name, v := range in.All() {
		path := scim.AttrPath{URN: urn, Name: name}
		a := e.Schema.Attribute(name)
		if a == nil {
			if opts.RefuseUnknown && (!opts.Accept.Has(lenient.EchoedSchemas) || !scim.EqualName(name, "schemas")) {
				return invalid(path, "is not defined by the schema")
			}
			continue
		}
		path.Name = a.Name
		if err := a.cleanInto(data, v, path, opts); err != nil {
			return err
		}
	}
	if data.Len() > 0 {
		out.Set(urn, data)
	}
	return nil
}

func (rt *ResourceType) checkSchemas(in *scim.Resource, opts CleanOptions) error {
	path := scim.AttrPath{Name: "schemas"}
	v, _ := in.Get("schemas")
	list, ok := v.([]any)
	if !ok {
		return invalid(path, "must be an array that names "+rt.Schema.ID)
	}
	for _, v := range list {
		urn, ok := v.(string)
		if !ok {
			return invalid(path, "must hold strings")
		}
		if opts.RefuseUnknownSchemas && !scim.EqualName(urn, rt.Schema.ID) && rt.Extension(urn) == nil {
			return invalid(path, "names "+urn+", which is not a schema of "+rt.Name)
		}
	}
	if !in.HasSchema(rt.Schema.ID) {
		return invalid(path, "must name "+rt.Schema.ID)
	}
	return nil
}

// SetSchemas sets "schemas" to the schemas of the resource: the base schema, then each extension that has data, in the order in which the
// type declares them (RFC 7643 section 3). It removes extensions without data. If "schemas" is already equal, SetSchemas does not modify
// it.
func (rt *ResourceType) SetSchemas(r *scim.Resource) {
	count, same := 1, r.HasSchema(rt.Schema.ID)
	for _, e := range rt.Extensions {
		if _, there := r.Get(e.Schema.ID); !there {
			continue
		}
		if r.Complex(e.Schema.ID).Len() == 0 {
			r.Delete(e.Schema.ID)
			continue
		}
		count++
		same = same && r.HasSchema(e.Schema.ID)
	}
	if same && len(r.Array("schemas")) == count {
		return
	}
	urns := append(make([]any, 0, count), rt.Schema.ID)
	for _, e := range rt.Extensions {
		if _, there := r.Get(e.Schema.ID); there {
			urns = append(urns, e.Schema.ID)
		}
	}
	r.Set("schemas", urns)
}

// CheckRequired rejects a resource that lacks a required attribute that clients may write, or a required extension. The error is a
// *scim.Error, 400 invalidValue.
func (rt *ResourceType) CheckRequired(r *scim.Resource) error {
	if err := checkRequired(rt.Schema.Attributes, &r.Object, ""); err != nil {
		return err
	}
	for _, e := range rt.Extensions {
		data := r.Complex(e.Schema.ID)
		if data.Len() == 0 {
			if e.Required {
				return invalid(scim.AttrPath{URN: e.Schema.ID}, "is required")
			}
			continue
		}
		if err := checkRequired(e.Schema.Attributes, data, e.Schema.ID); err != nil {
			return err
		}
	}
	return nil
}

func checkRequired(attributes []*Attribute, o *scim.Object, urn string) error {
	for _, a := range attributes {
		if !a.Required || a.Mutability == ReadOnly {
			continue
		}
		if v, _ := o.Get(a.Name); v == nil || v == "" {
			return invalid(scim.AttrPath{URN: urn, Name: a.Name}, "is required")
		}
	}
	return nil
}

// keepProtected copies the values that a PUT must not change from the stored resource to the new one.
func (rt *ResourceType) keepProtected(in, out, prev *scim.Resource) error {
	if err := carry(common, &in.Object, &out.Object, &prev.Object, ""); err != nil {
		return err
	}
	if err := carry(rt.Schema.Attributes, &in.Object, &out.Object, &prev.Object, ""); err != nil {
		return err
	}
	for _, e := range rt.Extensions {
		urn := e.Schema.ID
		was := prev.Complex(urn)
		if was.Len() == 0 {
			continue
		}
		data := out.Complex(urn)
		if data == nil {
			data = &scim.Object{}
		}
		if err := carry(e.Schema.Attributes, in.Complex(urn), data, was, urn); err != nil {
			return err
		}
		if data.Len() > 0 {
			out.Set(urn, data)
		}
	}
	return nil
}

func carry(attributes []*Attribute, in, out, prev *scim.Object, urn string) error {
	for _, a := range attributes {
		was, set := prev.Get(a.Name)
		if !set || was == nil {
			continue
		}
		path := scim.AttrPath{URN: urn, Name: a.Name}
		now, given := out.Get(a.Name)
		switch a.Mutability {
		case ReadOnly:
			out.Set(a.Name, scim.CloneValue(was))
		case Immutable:
			if given && !scim.Equal(now, was) {
				return scim.Errorf(http.StatusBadRequest, scim.Mutability, "%s is immutable and already has a value", path)
			}
			out.Set(a.Name, scim.CloneValue(was))
		case WriteOnly:
			if _, named := in.Get(a.Name); !named {
				out.Set(a.Name, scim.CloneValue(was))
			}
		default:
			if err := a.keepProtectedParts(now, was, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepProtectedParts does the same as keepProtected, for the sub-attributes of a single-valued complex attribute in the request. Read-only
// sub-attributes describe the other ones (manager.displayName), so their stored values are copied only if the other sub-attributes are
// unchanged.
func (a *Attribute) keepProtectedParts(now, was any, path scim.AttrPath) error {
	o, isObject := now.(*scim.Object)
	w, wasObject := was.(*scim.Object)
	if !isObject || !wasObject {
		return nil
	}
	rest := w.Clone()
	for _, sub := range a.SubAttributes {
		v, set := w.Get(sub.Name)
		if !set {
			continue
		}
		switch sub.Mutability {
		case ReadOnly:
			rest.Delete(sub.Name)
		case Immutable:
			if n, given := o.Get(sub.Name); given && !scim.Equal(n, v) {
				path.Sub = sub.Name
				return scim.Errorf(http.StatusBadRequest, scim.Mutability, "%s is immutable and already has a value", path)
			}
			o.Set(sub.Name, scim.CloneValue(v))
		}
	}
	if scim.Equal(o, rest) {
		for _, sub := range a.SubAttributes {
			if v, set := w.Get(sub.Name); set && sub.Mutability == ReadOnly {
				o.Set(sub.Name, scim.CloneValue(v))
			}
		}
	}
	return nil
}
