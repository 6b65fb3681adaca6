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
	v := view{
		restrict: len(p.Attributes) > 0,
		named:    rt.resolveAll(p.Attributes),
		excluded: rt.resolveAll(p.ExcludedAttributes),
		written:  rt.resolveAll(p.Written),
	}
	out := &scim.Resource{}
	out.Grow(r.Len())
	for name, value := range r.All() {
		if ext := rt.Extension(name); ext != nil {
			data, _ := value.(*scim.Object)
			if shown := v.extension(ext.Schema, data); shown.Len() > 0 {
				out.Set(name, shown)
			}
			continue
		}
		a := find(common, name)
		if a == nil {
			a = rt.Schema.Attribute(name)
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

// view is a projection whose names are resolved to the attributes of a resource type.
type view struct {
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

func (v *view) extension(s *Schema, data *scim.Object) *scim.Object {
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
func (v *view) attribute(a *Attribute, value any) (any, bool) {
	named := v.mentioned(v.named, a, nil)
	if !v.shows(a, named, v.mentioned(v.excluded, a, nil), v.mentioned(v.written, a, nil)) {
		return nil, false
	}
	if a.Type != Complex {
		return value, true
	}
	hidden := func(sub *Attribute) bool {
		mention := v.mentioned(v.named, a, sub)
		if a.Returned == Always && mention == unmentioned {
			mention = around
		}
		return !v.shows(sub, mention, v.mentioned(v.excluded, a, sub), v.mentioned(v.written, a, sub))
	}
	if !slices.ContainsFunc(a.SubAttributes, hidden) {
		return value, true
	}
	shown := slices.DeleteFunc(slices.Clone(a.SubAttributes), hidden)
	return mapElements(value, func(o *scim.Object) any {
		out := &scim.Object{}
		out.Grow(min(len(shown), o.Len()))
		for _, sub := range shown {
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

// shows reports whether the response contains the attribute, by its returned characteristic.
func (v *view) shows(a *Attribute, named, excluded, written mention) bool {
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
func (v *view) mentioned(list []Resolved, a, sub *Attribute) mention {
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
