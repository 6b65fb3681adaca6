package appprofile

import (
	"errors"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// AttributePath is the path of an attribute on the target of an application. It refers to the SCIM user or one of its extensions, and there
// to an attribute, to a sub-attribute of a complex attribute, or to an element of an array.
type AttributePath struct {
	extension string // URN, empty for the core schema
	name, sub string
	element   []scim.Member // values that select the element, nil if unset
}

// reserved lists the attributes of users that do not come from a profile.
var reserved = []string{"id", "meta", "schemas", "active", "groups", "password", "externalId", "userName"}

// ParsePlace parses the path from a namespace and a name: a URN, empty for the core schema of users, and a path of RFC 7644 section 3.10.
// The error is shown to the caller.
func ParsePlace(namespace, name string) (AttributePath, error) {
	path, err := filter.ParsePath(name)
	switch {
	case err != nil:
		if problem, ok := errors.AsType[*scim.Error](err); ok {
			return AttributePath{}, errors.New(problem.Detail)
		}
		return AttributePath{}, err
	case path.Attr.URN != "":
		return AttributePath{}, errors.New("the URN belongs into externalNamespace")
	}
	p := AttributePath{extension: namespace, name: path.Attr.Name, sub: path.Attr.Sub}
	if scim.EqualName(namespace, scim.UserSchema) {
		p.extension = ""
	}
	if p.extension != "" && !strings.HasPrefix(strings.ToLower(p.extension), "urn:") {
		return p, errors.New("the namespace must be a URN")
	}
	if p.extension == "" && slices.ContainsFunc(reserved, func(t string) bool { return scim.EqualName(t, p.name) }) {
		return p, errors.New("a profile cannot set the attribute " + p.name)
	}
	if path.Filter == nil {
		return p, nil
	}
	if p.sub = path.Sub; p.sub == "" {
		return p, errors.New("the path must name a sub-attribute of the element, such as " + name + ".value")
	}
	if !p.describe(path.Filter) {
		return p, errors.New(`the filter must select the element with eq and "and" only, such as [type eq "home"]`)
	}
	return p, nil
}

// describe collects the values that a filter compares the element with. It returns false for filters with other operators than eq and
// "and".
func (p *AttributePath) describe(e filter.Expr) bool {
	switch e := e.(type) {
	case filter.And:
		return p.describe(e.X) && p.describe(e.Y)
	case filter.Compare:
		if e.Op == filter.Eq && e.Path.Sub == "" && e.Path.URN == "" && !scim.EqualName(e.Path.Name, p.sub) {
			p.element = append(p.element, scim.Member{Name: e.Path.Name, Value: e.Value})
			return true
		}
	}
	return false
}

// Path returns the path as in RFC 7644 section 3.10.
func (p AttributePath) Path() string {
	path := p.name
	for i, m := range p.element {
		separator := "["
		if i > 0 {
			separator = " and "
		}
		path += separator + m.Name + " eq " + string(scim.AppendValue(nil, m.Value))
	}
	if p.element != nil {
		path += "]"
	}
	if p.sub != "" {
		path += "." + p.sub
	}
	if p.extension != "" {
		path = p.extension + ":" + path
	}
	return path
}

// Within reports whether a value at the path is part of the value at the other path.
func (p AttributePath) Within(other AttributePath) bool {
	a, b := strings.ToLower(p.Path()), strings.ToLower(other.Path())
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[")
}

// Put sets the value in a user: a string, a bool, a float64 or a []any of these. Nil clears the attribute.
func (p AttributePath) Put(r *scim.Resource, value any) {
	o := &r.Object
	if p.extension != "" {
		if value != nil {
			r.AddSchema(p.extension)
		}
		o = within(o, p.extension)
	}
	switch {
	case p.element != nil:
		p.putElement(o, value)
	case p.sub != "":
		within(o, p.name).Set(p.sub, value)
	default:
		o.Set(p.name, value)
	}
}

// Get returns the value in a user, nil if it has none.
func (p AttributePath) Get(r *scim.Resource) any {
	o := &r.Object
	if p.extension != "" {
		o = o.Complex(p.extension)
	}
	if p.element != nil {
		elements := o.Array(p.name)
		i := slices.IndexFunc(elements, p.selects)
		if i < 0 {
			return nil
		}
		o, _ = elements[i].(*scim.Object)
	} else if p.sub != "" {
		o = o.Complex(p.name)
	}
	name := p.name
	if p.sub != "" {
		name = p.sub
	}
	value, _ := o.Get(name)
	if _, complex := value.(*scim.Object); complex {
		return nil
	}
	return value
}

// putElement sets the value in the matching element and adds the element if it is missing. Without a value it adds no element, but creates
// the array, so that an element with an earlier value is removed from the target.
func (p AttributePath) putElement(o *scim.Object, value any) {
	elements := o.Array(p.name)
	if elements == nil {
		elements = []any{}
	}
	if value != nil {
		i := slices.IndexFunc(elements, p.selects)
		if i < 0 {
			i = len(elements)
			elements = append(elements, scim.NewObject(p.element...))
		}
		elements[i].(*scim.Object).Set(p.sub, value) // p.selects returns true for objects only
	}
	o.Set(p.name, elements)
}

// selects reports whether the path selects the element.
func (p AttributePath) selects(element any) bool {
	o, ok := element.(*scim.Object)
	return ok && !slices.ContainsFunc(p.element, func(m scim.Member) bool {
		have, there := o.Get(m.Name)
		return !there || !scim.Equal(have, m.Value)
	})
}

// within returns the object in a member of an object. It creates the object if it is missing.
func within(o *scim.Object, name string) *scim.Object {
	if o.Complex(name) == nil {
		o.Set(name, scim.NewObject())
	}
	return o.Complex(name)
}
