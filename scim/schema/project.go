package schema

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Projection says what an answer shows (RFC 7644 section 3.9). The zero value shows what is returned by default.
type Projection struct {
	// Attributes, when not empty, are shown besides those always returned, and no others.
	Attributes []scim.AttrPath
	// ExcludedAttributes are left out of the default set; attributes always returned stay.
	ExcludedAttributes []scim.AttrPath
	// Written are the attributes and sub-attributes a POST, PUT or PATCH named in its body. Of those, the ones that are
	// returned on request belong to its answer (RFC 7643 section 7).
	Written []scim.AttrPath
}

// ParseProjection reads the parameters "attributes" and "excludedAttributes"; each string may hold several names joined by
// commas, with white space around them. Names no attribute can have stay in the projection, where they match nothing. Both
// parameters at once are refused, since the RFC calls them mutually exclusive: a *scim.Error 400 invalidValue.
func ParseProjection(attributes, excluded []string) (Projection, error) {
	p := Projection{Attributes: parsePaths(attributes), ExcludedAttributes: parsePaths(excluded)}
	if len(p.Attributes) > 0 && len(p.ExcludedAttributes) > 0 {
		return Projection{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "attributes and excludedAttributes exclude each other")
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

// Project returns what an answer shows of the resource, by the attributes' returned characteristic and the projection.
// "schemas" and "id" are always there; attributes returned "never" are not, even when named; those returned "request" only
// when named. Naming a sub-attribute shows that part alone (and parts always returned), naming a complex attribute its
// default parts, naming an extension's URN its default attributes. Names are found without regard to letter case, unknown
// ones mean nothing. The result shares values with r: change neither afterwards.
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

// ReturnsOnRequest says whether the type has attributes that are returned on request. Projection.Written makes no difference
// to one that has none.
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

// view is a projection resolved against a type.
type view struct {
	restrict                 bool
	named, excluded, written []Resolved
}

// mention says how a list speaks of an attribute or sub-attribute.
type mention int

const (
	unmentioned mention = iota
	inside              // only parts of it are named
	around              // the whole it belongs to is named
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

// attribute returns what is shown of a top-level attribute's value.
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

// shows applies the returned characteristic.
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

// mentioned looks for attribute a, or for its part sub, in the list. Definitions are compared by identity: both come from
// the same type.
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

// mapElements applies f to an object or to each object of an array; elements that become nil are dropped.
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
