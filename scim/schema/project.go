package schema

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Projection selects the attributes of a response (RFC 7644 section 3.9). The zero value selects those that are returned by default.
type Projection struct {
	// Attributes, if not empty, are the only attributes returned, apart from attributes that are always returned.
	Attributes []scim.AttrPath
	// ExcludedAttributes are omitted from the default set. Attributes that are always returned cannot be excluded.
	ExcludedAttributes []scim.AttrPath
	// Written are the attributes and sub-attributes in the body of a POST, PUT or PATCH. The response to that request includes an attribute
	// with returned "request" if the body contained it (RFC 7643 section 7).
	Written []scim.AttrPath
}

// ParseProjection parses the query parameters "attributes" and "excludedAttributes". Each string may contain several names separated by
// commas, with white space around them. Invalid attribute names are kept in the projection but match no attribute. Using both parameters is
// an error, because the RFC defines them as mutually exclusive. The error is a *scim.Error, 400 invalidValue.
func ParseProjection(attributes, excluded []string) (Projection, error) {
	p := Projection{Attributes: parsePaths(attributes), ExcludedAttributes: parsePaths(excluded)}
	if len(p.Attributes) > 0 && len(p.ExcludedAttributes) > 0 {
		return Projection{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "attributes and excludedAttributes are mutually exclusive")
	}
	return p, nil
}

func parsePaths(lists []string) []scim.AttrPath {
	var out []scim.AttrPath
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			p, err := scim.ParseAttrPath(name)
			if err != nil {
				p = scim.AttrPath{Name: name}
			}
			out = append(out, p)
		}
	}
	return out
}

// Project returns the part of the resource that a response contains. The attributes' returned characteristic and the projection determine
// that part. "schemas" and "id" are always included. Attributes with returned "never" are never included, even if the projection names
// them; attributes with returned "request" are included only if the projection names them. The name of a sub-attribute selects that
// sub-attribute alone (and sub-attributes that are always returned), the name of a complex attribute its default sub-attributes, and the
// URN of an extension its default attributes. Names are case-insensitive; unknown names are ignored. The result shares values with r:
// neither may be modified afterwards.
func (rt *ResourceType) Project(r *scim.Resource, p Projection) *scim.Resource {
	v := rt.View(p)
	return v.Project(r)
}

// View returns the projection with its names resolved to the attributes of the type, for callers that project several resources.
func (rt *ResourceType) View(p Projection) View {
	return View{
		rt:       rt,
		restrict: len(p.Attributes) > 0,
		named:    rt.resolveAll(p.Attributes),
		excluded: rt.resolveAll(p.ExcludedAttributes),
		written:  rt.resolveAll(p.Written),
	}
}

// Project returns the part of the resource that a response contains; see [ResourceType.Project].
func (v *View) Project(r *scim.Resource) *scim.Resource {
	out := &scim.Resource{}
	out.Grow(r.Len())
	for name, value := range r.All() {
		if ext := v.rt.Extension(name); ext != nil {
			data, _ := value.(*scim.Object)
			if shown := v.extension(ext.Schema, data); shown.Len() > 0 {
				out.Set(name, shown)
			}
			continue
		}
		a := find(common, name)
		if a == nil {
			a = v.rt.Schema.Attribute(name)
		}
		if a == nil {
			if !v.restrict {
				out.Set(name, value)
			}
			continue
		}
		if shown, ok := v.attribute(a, value); ok {
			out.Set(name, shown)
		}
	}
	return out
}

// Shown describes which part of the value of an attribute a response contains.
type Shown int

// The values of Shown.
const (
	Hidden Shown = iota
	Partly       // some of the sub-attributes
	Wholly
)

// Visibility is the part of one attribute that a response contains.
type Visibility struct {
	URN, Name string // URN is the schema of an extension, or empty
	Shown     Shown
	// Subs are the names of the sub-attributes that the response contains, in its order. They are set only if Shown is Partly.
	Subs []string
}

// Attributes returns the visibility of the attributes of the type: the common ones, those of the base schema, and those of the extensions.
// Attributes of an extension are a part of the value that the resource has under the URN; a response omits an empty value.
func (v *View) Attributes() []Visibility {
	out := make([]Visibility, 0, len(common)+len(v.rt.Schema.Attributes))
	add := func(urn string, attributes []*Attribute) {
		for _, a := range attributes {
			if urn == "" && find(common, a.Name) != nil && find(common, a.Name) != a {
				continue
			}
			shown, subs := v.shown(a)
			visible := Visibility{URN: urn, Name: a.Name, Shown: shown}
			for _, sub := range subs {
				visible.Subs = append(visible.Subs, sub.Name)
			}
			out = append(out, visible)
		}
	}
	add("", common)
	add("", v.rt.Schema.Attributes)
	for _, e := range v.rt.Extensions {
		add(e.Schema.ID, e.Schema.Attributes)
	}
	return out
}

// Undefined reports whether a response contains attributes that neither the base schema nor RFC 7643 section 3.1 defines.
func (v *View) Undefined() bool { return !v.restrict }

// ReturnsOnRequest reports whether the type has attributes with returned "request". For other types, Projection.Written has no effect.
func (rt *ResourceType) ReturnsOnRequest() bool {
	return slices.ContainsFunc(rt.Schema.Attributes, (*Attribute).onRequest) ||
		slices.ContainsFunc(rt.Extensions, func(e Extension) bool { return slices.ContainsFunc(e.Schema.Attributes, (*Attribute).onRequest) })
}

func (a *Attribute) onRequest() bool {
	return a.Returned == Request || slices.ContainsFunc(a.SubAttributes, (*Attribute).onRequest)
}

func (rt *ResourceType) resolveAll(paths []scim.AttrPath) []Resolved {
	var out []Resolved
	for _, p := range paths {
		if r, ok := rt.Resolve(p); ok {
			out = append(out, r)
		}
	}
	return out
}

// View is a [Projection] whose names are resolved to the attributes of a resource type. [ResourceType.View] returns it.
type View struct {
	rt                       *ResourceType
	restrict                 bool
	named, excluded, written []Resolved
}

// mention describes how a list of names selects an attribute or sub-attribute.
type mention int

const (
	unmentioned mention = iota
	inside              // the list names only some of its sub-attributes
	around              // the list names the attribute or extension that contains it
	exactly
)

func (v *View) extension(s *Schema, data *scim.Object) *scim.Object {
	out := &scim.Object{}
	out.Grow(data.Len())
	for name, value := range data.All() {
		a := s.Attribute(name)
		if a == nil {
			continue
		}
		if shown, ok := v.attribute(a, value); ok {
			out.Set(name, shown)
		}
	}
	return out
}

// attribute returns the part of a top-level attribute's value that the response contains.
func (v *View) attribute(a *Attribute, value any) (any, bool) {
	shown, subs := v.shown(a)
	if shown != Partly {
		return value, shown == Wholly
	}
	return mapElements(value, func(o *scim.Object) any {
		out := &scim.Object{}
		out.Grow(min(len(subs), o.Len()))
		for _, sub := range subs {
			if part, ok := o.Get(sub.Name); ok {
				out.Set(sub.Name, part)
			}
		}
		if out.Len() == 0 {
			return nil
		}
		return out
	})
}

// shown returns which part of a top-level attribute the response contains, and the sub-attributes if it is Partly shown.
func (v *View) shown(a *Attribute) (Shown, []*Attribute) {
	named := v.mentioned(v.named, a, nil)
	if !v.shows(a, named, v.mentioned(v.excluded, a, nil), v.mentioned(v.written, a, nil)) {
		return Hidden, nil
	}
	if a.Type != Complex {
		return Wholly, nil
	}
	hidden := func(sub *Attribute) bool {
		mention := v.mentioned(v.named, a, sub)
		if a.Returned == Always && mention == unmentioned {
			mention = around
		}
		return !v.shows(sub, mention, v.mentioned(v.excluded, a, sub), v.mentioned(v.written, a, sub))
	}
	if !slices.ContainsFunc(a.SubAttributes, hidden) {
		return Wholly, nil
	}
	return Partly, slices.DeleteFunc(slices.Clone(a.SubAttributes), hidden)
}

// shows reports whether the response contains the attribute, by its returned characteristic.
func (v *View) shows(a *Attribute, named, excluded, written mention) bool {
	if a.Secret() {
		return false
	}
	switch a.Returned {
	case Always:
		return true
	case Request:
		return named == exactly || named == inside || written == exactly || written == inside
	}
	if v.restrict {
		return named != unmentioned
	}
	return excluded != exactly && excluded != around
}

// mentioned returns how the list selects attribute a, or its sub-attribute sub if sub is not nil. Definitions are compared by identity,
// because both are from the same type.
func (v *View) mentioned(list []Resolved, a, sub *Attribute) mention {
	best := unmentioned
	for _, r := range list {
		switch {
		case r.Attribute == nil: // a whole extension
			if find(r.Schema.Attributes, a.Name) == a {
				best = max(best, around)
			}
		case r.Attribute != a:
		case r.Sub == sub:
			best = exactly
		case sub == nil:
			best = max(best, inside)
		case r.Sub == nil:
			best = max(best, around)
		}
	}
	return best
}

// mapElements applies f to an object or to each object of an array. Elements for which f returns nil are dropped.
func mapElements(value any, f func(*scim.Object) any) (any, bool) {
	switch value := value.(type) {
	case *scim.Object:
		v := f(value)
		return v, v != nil
	case []any:
		out := make([]any, 0, len(value))
		for _, e := range value {
			if o, ok := e.(*scim.Object); ok {
				if e = f(o); e == nil {
					continue
				}
			}
			out = append(out, e)
		}
		return out, len(out) > 0
	}
	return value, true
}
