package oracle

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A Projection selects some attributes of a resource, or excludes some (RFC 7644 section 3.9).
type Projection struct {
	Exclude bool
	Names   []Name
}

// Parameter returns the name of the query parameter.
func (p Projection) Parameter() string {
	if p.Exclude {
		return "excludedAttributes"
	}
	return "attributes"
}

// Value returns the value of the query parameter.
func (p Projection) Value() string {
	texts := make([]string, len(p.Names))
	for i, n := range p.Names {
		texts[i] = n.Text
	}
	return strings.Join(texts, ",")
}

// DrawProjection generates a projection of attributes that the resource has and that are returned by default. The projection names neither
// the carrier of the type, such as userName, nor id, meta and schemas. It names a complex attribute as a whole, or one or two of its
// sub-attributes.
func DrawProjection(r *rand.Rand, t Type, whole *scim.Object) Projection {
	p := Projection{Exclude: r.IntN(2) == 0}
	candidates := slices.DeleteFunc(r.Perm(len(t.Attributes)), func(i int) bool {
		a := t.Attributes[i]
		return a.Of(whole) == nil || a.Returned != "default" ||
			a.URN == "" && (scim.EqualName(a.Name, t.Carrier) || slices.Contains([]string{"id", "meta", "schemas"}, a.Name))
	})
	// A complex attribute comes first: most errors occur with sub-attributes.
	if i := slices.IndexFunc(candidates, func(i int) bool { return t.Attributes[i].Kind == "complex" }); i > 0 {
		candidates[0], candidates[i] = candidates[i], candidates[0]
	}
	for _, i := range candidates[:min(len(candidates), 1+r.IntN(3))] {
		a := &t.Attributes[i]
		parts := slices.DeleteFunc(r.Perm(len(a.Subs)), func(j int) bool {
			return a.Subs[j].Returned != "default" || len(Name{Attribute: a, Sub: &a.Subs[j]}.values(whole)) == 0
		})
		if len(parts) == 0 || r.IntN(5) == 0 {
			p.Names = append(p.Names, Name{Attribute: a, Text: spell(r, t, a.Path())})
			continue
		}
		for _, j := range parts[:min(len(parts), 1+(r.IntN(3)+1)/2)] {
			p.Names = append(p.Names, Name{Attribute: a, Sub: &a.Subs[j], Text: spell(r, t, a.Path()+"."+a.Subs[j].Name)})
		}
	}
	return p
}

// Smaller yields the projections with one name fewer.
func (p Projection) Smaller() iter.Seq[Projection] {
	return func(yield func(Projection) bool) {
		for i := range p.Names {
			if len(p.Names) > 1 && !yield(Projection{p.Exclude, slices.Delete(slices.Clone(p.Names), i, i+1)}) {
				return
			}
		}
	}
}

// Predict returns the paths, sub-attributes included, that the response to the projection must and must not have. Paths that the schemas of
// the type do not name are not included. The parameter `whole` is the resource without a projection. Predict omits id,
// meta, schemas, sub-attributes with returned "always", and sub-attributes with returned "request" that the projection names.
func (p Projection) Predict(t Type, whole *scim.Object) (shown, hidden []string) {
	for i := range t.Attributes {
		a := &t.Attributes[i]
		for _, n := range a.paths() {
			there := len(n.values(whole)) > 0
			switch {
			case p.open(n):
			case there && p.shows(n):
				shown = append(shown, n.Text)
			case !p.shows(n):
				hidden = append(hidden, n.Text)
			}
		}
	}
	return shown, hidden
}

// Has returns the paths that have a value in a resource.
func (t Type) Has(o *scim.Object, paths []string) []string {
	out := []string{}
	for i := range t.Attributes {
		for _, n := range t.Attributes[i].paths() {
			if slices.Contains(paths, n.Text) && len(n.values(o)) > 0 {
				out = append(out, n.Text)
			}
		}
	}
	return out
}

// paths returns the attribute, or its sub-attributes if it is complex.
func (a *Attribute) paths() []Name {
	if len(a.Subs) == 0 {
		return []Name{{Attribute: a, Text: a.Path()}}
	}
	var out []Name
	for i := range a.Subs {
		out = append(out, Name{Attribute: a, Sub: &a.Subs[i], Text: a.Path() + "." + a.Subs[i].Name})
	}
	return out
}

// named reports whether the projection names a path or the attribute that the path is part of.
func (p Projection) named(n Name) bool {
	return slices.ContainsFunc(p.Names, func(m Name) bool { return m.Attribute == n.Attribute && (m.Sub == nil || m.Sub == n.Sub) })
}

func (p Projection) shows(n Name) bool {
	if n.Attribute.Returned == "always" {
		return true
	}
	return p.named(n) != p.Exclude && n.Attribute.visible() && (n.Sub == nil || n.Sub.visible())
}

func (p Projection) open(n Name) bool {
	if n.Attribute.URN == "" && slices.Contains([]string{"id", "meta", "schemas"}, n.Attribute.Name) {
		return true
	}
	if n.Sub != nil && n.Sub.Returned == "request" && p.named(n) {
		return true
	}
	unsure := n.Attribute.Returned == "always" && n.Sub != nil || n.Sub != nil && n.Sub.Returned == "always"
	touched := slices.ContainsFunc(p.Names, func(m Name) bool { return m.Attribute == n.Attribute })
	return unsure && (touched || p.Exclude)
}
