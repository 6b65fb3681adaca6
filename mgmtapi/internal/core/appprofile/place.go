package appprofile

import (
	"errors"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// AttributePath is where the target of an application has an attribute: in the SCIM
// user or in an extension of it, by itself, as a part of a complex attribute,
// or in an element of a list.
type AttributePath struct {
	extension string // URN, empty for the user itself
	name, sub string
	element   []scim.Member // what the element is like, nil for none
}

// taken are the attributes of users that do not come from a profile.
var taken = []string{"id", "meta", "schemas", "active", "groups", "password", "externalId", "userName"}

// ParsePlace reads the place that a namespace and a name give: a URN, empty
// for that of users, and a path of RFC 7644 section 3.10. The error is meant for
// the caller.
func ParsePlace(namespace, name string) (AttributePath, error) {
	path, err := filter.ParsePath(name)
	switch {
	case err != nil:
		if problem, ok := errors.AsType[*scim.Error](err); ok {
			return AttributePath{}, errors.New(problem.Detail)
		}
		return AttributePath{}, err
	case path.Attr.URN != "":
		return AttributePath{}, errors.New("the URN stands in externalNamespace")
	}
	p := AttributePath{extension: namespace, name: path.Attr.Name, sub: path.Attr.Sub}
	if scim.EqualName(namespace, scim.UserSchema) {
		p.extension = ""
	}
	if p.extension != "" && !strings.HasPrefix(strings.ToLower(p.extension), "urn:") {
		return p, errors.New("the namespace must be a URN")
	}
	if p.extension == "" && slices.ContainsFunc(taken, func(t string) bool { return scim.EqualName(t, p.name) }) {
		return p, errors.New("no profile gives the attribute " + p.name)
	}
	if path.Filter == nil {
		return p, nil
	}
	if p.sub = path.Sub; p.sub == "" {
		return p, errors.New("the path must say which part of the element is meant, as in " + name + ".value")
	}
	if !p.describe(path.Filter) {
		return p, errors.New(`the filter must say with eq and "and" what the element is like, as in [type eq "home"]`)
	}
	return p, nil
}

// describe collects what a filter says an element is like.
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

// Path is the place as a path of RFC 7644 section 3.10.
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

// Within says whether a value at the place would change what the other place
// holds.
func (p AttributePath) Within(other AttributePath) bool {
	a, b := strings.ToLower(p.Path()), strings.ToLower(other.Path())
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[")
}

// Put puts a value into a user: a string, a bool, a float64 or a []any of
// these. Nil clears what is there.
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

// Get reads what a user has at the place, nil for nothing.
func (p AttributePath) Get(r *scim.Resource) any {
	o := &r.Object
	if p.extension != "" {
		o = o.Complex(p.extension)
	}
	if p.element != nil {
		elements := o.Array(p.name)
		i := slices.IndexFunc(elements, p.like)
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

// putElement finds or makes the element. Without a value there is none, and the
// list is there all the same, so that the element of an earlier value goes.
func (p AttributePath) putElement(o *scim.Object, value any) {
	elements := o.Array(p.name)
	if elements == nil {
		elements = []any{}
	}
	if value != nil {
		i := slices.IndexFunc(elements, p.like)
		if i < 0 {
			i = len(elements)
			elements = append(elements, scim.NewObject(p.element...))
		}
		elements[i].(*scim.Object).Set(p.sub, value) // like holds for objects alone
	}
	o.Set(p.name, elements)
}

// like says whether an element is the one that is meant.
func (p AttributePath) like(element any) bool {
	o, ok := element.(*scim.Object)
	return ok && !slices.ContainsFunc(p.element, func(m scim.Member) bool {
		have, there := o.Get(m.Name)
		return !there || !scim.Equal(have, m.Value)
	})
}

// within returns the object that an object has under a name, which it makes
// when it is missing.
func within(o *scim.Object, name string) *scim.Object {
	if o.Complex(name) == nil {
		o.Set(name, scim.NewObject())
	}
	return o.Complex(name)
}
