package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// place is the attribute that a rule sets.
type place struct {
	extension string // URN of the extension, empty for the base schema
	name      string
	sub       string       // sub-attribute of the element or of the complex attribute
	element   *scim.Object // attributes of the element that the filter of the path selects; nil without a filter
	list      bool         // the value is a list
	known     bool         // the schema of the target defines the attribute
	attribute *schema.Attribute
}

// forbidden are the attributes that rules must not set: the engine sets them itself, or no client sets them.
var forbidden = []string{"id", "meta", "schemas", "active", "groups", "password"}

func placeOf(target string, rt *schema.ResourceType) (place, error) {
	path, err := filter.ParsePath(target)
	if err != nil {
		return place{}, fmt.Errorf("the path is invalid: %w", detail(err))
	}
	p := place{extension: path.Attr.URN, name: path.Attr.Name, sub: path.Attr.Sub}
	if path.Filter != nil {
		p.sub = path.Sub
		if p.sub == "" {
			return p, fmt.Errorf("the path selects an element: add the sub-attribute, for example %s.value", target)
		}
		p.element = scim.NewObject()
		if err := describe(p.element, path.Filter); err != nil {
			return p, err
		}
	}
	if p.name == "" {
		return p, errors.New("the path names a schema, not an attribute")
	}
	base := p.extension == "" || scim.EqualName(p.extension, rt.Schema.ID)
	if base && slices.ContainsFunc(forbidden, func(f string) bool { return scim.EqualName(f, p.name) }) {
		return p, fmt.Errorf("a rule cannot set %s", p.name)
	}
	resolved, ok := rt.Resolve(scim.AttrPath{URN: p.extension, Name: p.name})
	if !ok || resolved.Attribute == nil {
		if base || rt.Extension(p.extension) != nil {
			return p, errors.New("unknown attribute in the target's schema")
		}
		return p, nil // an unknown schema
	}
	return p.resolve(resolved)
}

// describe sets the attributes of the element that a filter selects.
func describe(element *scim.Object, e filter.Expr) error {
	switch e := e.(type) {
	case filter.And:
		if err := describe(element, e.X); err != nil {
			return err
		}
		return describe(element, e.Y)
	case filter.Compare:
		if e.Op == filter.Eq && e.Path.Sub == "" && e.Path.URN == "" {
			element.Set(e.Path.Name, e.Value)
			return nil
		}
	}
	return errors.New(`the filter may only contain the operators "eq" and "and", for example [type eq "work" and primary eq true]`)
}

// resolve checks the path against the definition of its attribute.
func (p place) resolve(r schema.Resolved) (place, error) {
	p.known, p.attribute, p.name = true, r.Attribute, r.Attribute.Name
	p.extension = ""
	if r.Extension {
		p.extension = r.Schema.ID
	}
	if r.Attribute.Mutability == schema.ReadOnly {
		return p, errors.New("the attribute is read-only")
	}
	p.list = r.Attribute.MultiValued && p.element == nil
	switch {
	case p.element != nil && !r.Attribute.MultiValued:
		return p, errors.New("the path has a filter, but the attribute has a single value")
	case p.element != nil:
		for name := range p.element.All() {
			if r.Attribute.SubAttribute(name) == nil {
				return p, fmt.Errorf("the elements have no sub-attribute %s", name)
			}
		}
	case p.sub != "" && r.Attribute.MultiValued:
		return p, fmt.Errorf(`the attribute has several values: select one with a filter, for example %s[type eq "work"].%s`, p.name, p.sub)
	}
	if p.sub == "" {
		return p, nil
	}
	if p.attribute = r.Attribute.SubAttribute(p.sub); p.attribute == nil {
		return p, fmt.Errorf("the attribute has no sub-attribute %s", p.sub)
	}
	p.sub, p.list = p.attribute.Name, p.attribute.MultiValued
	if p.attribute.Mutability == schema.ReadOnly {
		return p, errors.New("the attribute is read-only")
	}
	return p, nil
}

// key returns the same string for equal places. If a place contains another place (name, name.givenName), its key followed by a dot is a
// prefix of the key of the other place.
func (p place) key() string {
	parts := []string{strings.ToLower(p.extension), strings.ToLower(p.name)}
	if p.element != nil {
		var like []string
		for name, value := range p.element.All() {
			like = append(like, strings.ToLower(name)+"="+string(scim.AppendValue(nil, value)))
		}
		slices.Sort(like)
		parts = append(parts, strings.Join(like, "&"))
	}
	if p.sub != "" {
		parts = append(parts, strings.ToLower(p.sub))
	}
	return strings.Join(parts, ".")
}

// accepts returns an error if a value of the kind does not fit the attribute.
func (p place) accepts(k expression.Kind) error {
	if k == expression.Any || !p.known {
		return nil
	}
	if p.list {
		return nil // allowed: Apply converts a single value to a list
	}
	var ok bool
	switch p.attribute.Type {
	case schema.Boolean:
		ok = k == expression.Boolean || k == expression.String
	case schema.Integer:
		ok = k == expression.Integer || k == expression.String
	case schema.Decimal:
		ok = k == expression.Integer || k == expression.Number || k == expression.String
	case schema.Complex:
		ok = k == expression.Object
	case schema.DateTime, schema.Binary:
		ok = k == expression.String
	default:
		ok = k != expression.Array && k != expression.Object
	}
	if !ok {
		return fmt.Errorf("the expression has type %s, the attribute has type %s", k, p.attribute.Type)
	}
	return nil
}

// convert converts a value to the type of the attribute. It treats an empty string as null. Callers prepend the subject to its errors.
func (p place) convert(v any) (any, error) {
	if v == nil || v == "" {
		return nil, nil
	}
	if !p.known {
		return v, nil
	}
	if !p.list {
		return convert(v, p.attribute)
	}
	values, isList := v.([]any)
	if !isList {
		values = []any{v}
	}
	out := []any{}
	for _, one := range values {
		if one == nil || one == "" {
			continue
		}
		if _, isObject := one.(*scim.Object); p.attribute.Type == schema.Complex && !isObject {
			value := p.attribute.SubAttribute("value")
			if value == nil {
				return nil, fmt.Errorf("%v is not an object", one)
			}
			inner, err := convert(one, value)
			if err != nil {
				return nil, err
			}
			out = append(out, scim.NewObject(scim.Member{Name: "value", Value: inner}))
			continue
		}
		converted, err := convert(one, p.attribute)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

func convert(v any, a *schema.Attribute) (any, error) {
	if a.Type == schema.Complex {
		if _, isObject := v.(*scim.Object); !isObject {
			return nil, fmt.Errorf("%v is not an object", v)
		}
		return v, nil
	}
	var plain string
	switch v := v.(type) {
	case string:
		plain = v
	case bool:
		plain = strconv.FormatBool(v)
	case json.Number:
		plain = string(v)
	default:
		return nil, errors.New("is a list or an object, but the attribute has a single value")
	}
	switch a.Type {
	case schema.Boolean:
		switch strings.ToLower(plain) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not a boolean", plain)
	case schema.Integer, schema.Decimal:
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || a.Type == schema.Integer && f != math.Trunc(f) {
			return nil, fmt.Errorf("%q is not of type %s", plain, a.Type)
		}
		return scim.Value(json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
	}
	if _, err := a.Clean(plain, scim.AttrPath{Name: a.Name}, schema.CleanOptions{}); err != nil {
		return nil, fmt.Errorf("%q violates the target's schema: %w", plain, detail(err))
	}
	return plain, nil
}

// detail returns a protocol error without its code.
func detail(err error) error {
	if problem, ok := errors.AsType[*scim.Error](err); ok {
		return errors.New(problem.Detail)
	}
	return err
}

// set sets a value in a resource. A nil value removes the attribute.
func (p place) set(r *scim.Resource, value any) {
	o := &r.Object
	if p.extension != "" {
		if value == nil && p.element != nil {
			return
		}
		r.AddSchema(p.extension)
		o = inner(o, p.extension)
	}
	switch {
	case p.element != nil:
		p.setElement(o, value)
	case p.sub != "":
		inner(o, p.name).Set(p.sub, value)
	default:
		o.Set(p.name, value)
	}
}

// setElement finds or creates the element that the path selects, and sets the sub-attribute to value. If value is nil, it creates no
// element; an absent attribute becomes an empty list, so that the engine removes an earlier value.
func (p place) setElement(o *scim.Object, value any) {
	elements := o.Array(p.name)
	if elements == nil {
		elements = []any{}
	}
	defer func() { o.Set(p.name, elements) }()
	if value == nil {
		return
	}
	for _, e := range elements {
		element := e.(*scim.Object) // an object, because only setElement adds elements
		if matches(element, p.element) {
			element.Set(p.sub, value)
			return
		}
	}
	made := scim.NewObject()
	made.Set(p.sub, value)
	for name, like := range p.element.All() {
		made.Set(name, like)
	}
	elements = append(elements, made)
}

func matches(element, like *scim.Object) bool {
	for name, want := range like.All() {
		if have, ok := element.Get(name); !ok || !scim.Equal(have, want) {
			return false
		}
	}
	return true
}

func inner(o *scim.Object, name string) *scim.Object {
	if have := o.Complex(name); have != nil {
		return have
	}
	o.Set(name, scim.NewObject())
	return o.Complex(name)
}
