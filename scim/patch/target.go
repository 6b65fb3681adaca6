package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// place is the location of an attribute's value: a name in an object. The object is the resource, an extension, a complex value or an
// element of a multi-valued attribute. An extension itself is also a place; it is handled like a complex attribute whose name is the URN.
//
// If elements is true, the place consists of elements of a multi-valued attribute: those that the filter selects, or all if there is no
// filter. If sub is also set, it consists of the sub-attribute sub of these elements.
type place struct {
	holder    *scim.Object
	a         *schema.Attribute
	path      scim.AttrPath
	extension bool
	// attach adds the holder to the resource if the holder has members, and removes an empty holder. attach is nil if the holder is the
	// resource or an element.
	attach func() error

	elements bool
	filter   filter.Expr
	sub      *schema.Attribute
}

func (at place) value() any {
	v, _ := at.holder.Get(at.a.Name)
	return v
}

func (at place) schemas() bool { return !at.extension && at.path == scim.AttrPath{Name: "schemas"} }

// part returns the place of a sub-attribute in o. o is the value at the place, or one element of that value.
func (at place) part(o *scim.Object, sub *schema.Attribute) place {
	path := at.path
	if at.extension {
		path.Name = sub.Name
	} else {
		path.Sub = sub.Name
	}
	return place{holder: o, a: sub, path: path}
}

// ignoresReadOnly reports whether a read-only attribute in a value without path is ignored.
func (at place) ignoresReadOnly(value any, accept lenient.Set) bool {
	return at.a.Mutability == schema.ReadOnly && (accept.Has(lenient.ReadOnlyEcho) || scim.Equal(at.value(), value))
}

// root returns the place of a top-level attribute.
func (p *patcher) root(r schema.Resolved) place {
	return place{holder: &p.out.Object, a: r.Attribute, path: r.Path}
}

// extension returns the place of an extension's object.
func (p *patcher) extension(s *schema.Schema) place {
	required := false
	if e := p.rt.Extension(s.ID); e != nil {
		required = e.Required
	}
	return place{
		holder:    &p.out.Object,
		a:         &schema.Attribute{Name: s.ID, Type: schema.Complex, Required: required, SubAttributes: s.Attributes},
		path:      scim.AttrPath{URN: s.ID},
		extension: true,
	}
}

// member returns the place for a member name of the value in an operation without path: an attribute of the base schema, a common attribute
// or an extension.
func (p *patcher) member(name string) (place, bool) {
	if e := p.rt.Extension(name); e != nil {
		return p.extension(e.Schema), true
	}
	r, ok := p.rt.Resolve(scim.AttrPath{Name: name})
	if !ok {
		return place{}, false
	}
	return p.root(r), true
}

// resolve returns the place that a path names.
func (p *patcher) resolve(text string) (place, error) {
	path, err := filter.ParsePath(text)
	if err != nil {
		return place{}, err
	}
	r, ok := p.rt.Resolve(path.Attr)
	if !ok && p.opts.Accept.Has(lenient.DottedURNs) {
		r, ok = p.dotted(path.Attr)
	}
	if !ok && p.opts.Accept.Has(lenient.BareExtensions) {
		r, ok = p.bare(path.Attr)
	}
	if !ok {
		return place{}, fail(scim.InvalidPath, "%s is not defined by the schemas of %s", path.Attr, p.rt.Name)
	}
	if r.Attribute == nil {
		if path.Filter != nil {
			return place{}, fail(scim.InvalidPath, "%s is a schema and cannot have a value filter", r.Path)
		}
		return p.extension(r.Schema), nil
	}
	at := p.root(r)
	if r.Extension {
		at = p.child(p.extension(r.Schema), r.Attribute)
	}
	if path.Filter != nil {
		return at.withFilter(path, p.opts.Accept)
	}
	switch {
	case r.Sub == nil:
		return at, nil
	case r.Attribute.MultiValued:
		at.elements, at.sub = true, r.Sub
		return at, nil
	}
	if at.a.Mutability == schema.ReadOnly {
		return place{}, readOnly(at)
	}
	return p.child(at, r.Sub), nil
}

// child returns the place of a sub-attribute of the complex value at parent, even if that value does not exist yet.
func (p *patcher) child(parent place, sub *schema.Attribute) place {
	o, there := parent.value().(*scim.Object)
	if !there {
		o = &scim.Object{}
	}
	at := parent.part(o, sub)
	at.attach = func() error {
		err := p.settle(parent, o, there)
		if err == nil && parent.attach != nil {
			err = parent.attach()
		}
		return err
	}
	return at
}

func (at place) withFilter(path filter.Path, accept lenient.Set) (place, error) {
	if !at.a.MultiValued {
		return place{}, fail(scim.InvalidPath, "%s is single-valued and cannot have a value filter", at.path)
	}
	if err := filter.CheckElement(path.Filter, at.a, accept); err != nil {
		return place{}, err
	}
	at.elements, at.filter = true, path.Filter
	if path.Sub != "" {
		if at.sub = at.a.SubAttribute(path.Sub); at.sub == nil {
			return place{}, fail(scim.InvalidPath, "%s has no sub-attribute %s", at.path, path.Sub)
		}
	}
	return at, nil
}

// list returns the elements at the place and the positions of the selected ones.
func (p *patcher) list(at place) (elements []any, meant []int, err error) {
	elements, _ = at.value().([]any)
	if err := p.spend(weight(elements)); err != nil {
		return nil, nil, err
	}
	if at.filter == nil {
		for i := range elements {
			meant = append(meant, i)
		}
		return elements, meant, nil
	}
	m := filter.NewElementMatcher(at.filter, at.a)
	for i, e := range elements {
		matches, work := m.Match(e)
		if matches {
			meant = append(meant, i)
		}
		if p.left -= work; p.left < 0 {
			return nil, nil, p.spend(0)
		}
	}
	return elements, meant, nil
}

// change runs fn, which changes the value at the place. It rejects the change beforehand if the attribute is read-only, and afterwards if
// the attribute is immutable and had another value.
func (p *patcher) change(at place, fn func() error) error {
	if at.a.Mutability == schema.ReadOnly {
		return readOnly(at)
	}
	var before any
	if at.a.Mutability == schema.Immutable {
		if err := p.spend(weight(at.value())); err != nil {
			return err
		}
		before = scim.CloneValue(at.value())
	}
	if err := fn(); err != nil {
		return err
	}
	if before != nil && !scim.Equal(before, at.value()) {
		return fail(scim.Mutability, "%s is immutable and already has a value", at.path)
	}
	if at.attach != nil {
		return at.attach()
	}
	return nil
}

// settle completes a change inside the complex value o at parent. It stores a new value, removes a value that has no sub-attributes left,
// and checks that the required sub-attributes are present. Read-only sub-attributes alone do not keep a value, because they describe the
// other sub-attributes (manager.displayName). In an extension, read-only attributes are independent of the other attributes, so an
// extension with only read-only attributes is not removed.
func (p *patcher) settle(parent place, o *scim.Object, there bool) error {
	if o.Len() == 0 || !parent.extension && onlyReadOnly(parent.a, o) {
		if !there {
			return nil
		}
		return p.unassign(parent, scim.InvalidValue)
	}
	for _, sub := range parent.a.SubAttributes {
		// Required attributes of an extension are checked after all operations, because several operations may set them.
		if _, ok := o.Get(sub.Name); !ok && sub.Required && sub.Mutability != schema.ReadOnly && !parent.extension {
			return fail(scim.InvalidValue, "%s is required", parent.part(o, sub).path)
		}
	}
	if !there {
		parent.holder.Set(parent.a.Name, o)
	}
	return nil
}

func onlyReadOnly(a *schema.Attribute, o *scim.Object) bool {
	for name := range o.All() {
		if sub := a.SubAttribute(name); sub == nil || sub.Mutability != schema.ReadOnly {
			return false
		}
	}
	return true
}

// unassign removes the value. keyword is the error type for a required attribute.
func (p *patcher) unassign(at place, keyword scim.Type) error {
	v := at.value()
	if v == nil {
		return nil
	}
	if at.a.Required {
		return fail(keyword, "%s is required", at.path)
	}
	if o, ok := v.(*scim.Object); ok {
		for _, sub := range at.a.SubAttributes {
			if _, set := o.Get(sub.Name); set && sub.Mutability == schema.Immutable {
				return fail(scim.Mutability, "%s is immutable and already has a value", at.part(o, sub).path)
			}
		}
	}
	at.holder.Delete(at.a.Name)
	return nil
}

func readOnly(at place) error {
	return fail(scim.Mutability, "%s is read-only", at.path)
}
