package patch

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// This file implements the leniencies of Options.Accept, except those for the spelling of operations and values.

// createElement handles an add through a filter that selects no element. It returns noTarget or, with lenient.CreateElement, adds a new
// element that consists of the filter's eq comparisons and the value. The RFC does not define this add (erratum 8097). For a replace, the
// RFC requires noTarget, which this package returns even with the leniency.
func (p *patcher) createElement(at place, v any) error {
	element := &scim.Object{}
	if !p.opts.Accept.Has(lenient.CreateElement) || v == nil || at.filter == nil || at.a.Type != schema.Complex ||
		!describe(at.filter, element) {
		return noTarget(at)
	}
	if at.sub != nil {
		element.Set(at.sub.Name, v)
	} else {
		given, ok := v.(*scim.Object)
		if !ok {
			return fail(scim.InvalidValue, "%s must be an object of sub-attributes", at.path)
		}
		for name, v := range given.All() {
			element.Set(name, v)
		}
	}
	return p.addElements(at, element)
}

// dotted resolves a path in which a dot, not a colon, separates the URN of an extension from the attribute. AttrPath parses such a path
// differently: its Name is the end of the URN.
func (p *patcher) dotted(path scim.AttrPath) (schema.Resolved, bool) {
	return p.rt.Resolve(scim.AttrPath{URN: path.URN + ":" + path.Name, Name: path.Sub})
}

// bare resolves a path that names an attribute of an extension without the URN, if exactly one extension has the attribute.
func (p *patcher) bare(path scim.AttrPath) (found schema.Resolved, ok bool) {
	if path.URN != "" {
		return schema.Resolved{}, false
	}
	for _, e := range p.rt.Extensions {
		path.URN = e.Schema.ID
		r, here := p.rt.Resolve(path)
		if here && ok {
			return schema.Resolved{}, false
		}
		if here {
			found, ok = r, true
		}
	}
	return found, ok
}

// emptiesReference reports whether v unassigns a reference according to lenient.EmptyReferences.
func (p *patcher) emptiesReference(at place, v any) bool {
	return p.opts.Accept.Has(lenient.EmptyReferences) && at.a.EmptyReference(v)
}

func noTarget(at place) error {
	return fail(scim.NoTarget, "no value of %s matches the path", at.path)
}

// describe copies the values that a filter compares with into the element. It returns false for a filter that does not consist of eq
// comparisons joined by "and".
func describe(e filter.Expr, element *scim.Object) bool {
	switch e := e.(type) {
	case filter.And:
		return describe(e.X, element) && describe(e.Y, element)
	case filter.Compare:
		if e.Op != filter.Eq {
			return false
		}
		element.Set(e.Path.Name, e.Value)
		return true
	}
	return false
}

// removeListed removes the elements that a list names. An element matches an entry if it has all values of the entry. An entry that is not
// an object means the "value".
func (p *patcher) removeListed(at place, v any) error {
	entries, _ := listed(v).([]any)
	if at.schemas() {
		return fail(scim.InvalidValue, "remove from schemas must not have a value")
	}
	return p.change(at, func() error {
		elements, _ := at.value().([]any)
		elements = append([]any(nil), elements...)
		m := newMatcher(at.a, entries)
		if err := p.spend(weight(elements) * (1 + len(m.entries))); err != nil {
			return err
		}
		for i, e := range elements {
			if m.match(e) {
				elements[i] = nil
			}
		}
		return p.keep(at, elements)
	})
}

// matcher finds the elements named by entries. References to resources, such as members, are compared only by "value", because clients also
// send other sub-attributes of a member. They are searched with a hash table, because such lists are long.
type matcher struct {
	a       *schema.Attribute
	value   *schema.Attribute
	byValue map[string]bool
	entries []*scim.Object
}

func newMatcher(a *schema.Attribute, entries []any) *matcher {
	m := &matcher{a: a, value: a.SubAttribute("value"), byValue: make(map[string]bool)}
	for _, e := range entries {
		o, ok := e.(*scim.Object)
		switch {
		case !ok && m.value == nil:
			m.byValue[a.Key(e)] = true
		case !ok:
			m.byValue[m.value.Key(e)] = true
		case m.value != nil && a.SubAttribute("$ref") != nil && o.Text("value") != "":
			m.byValue[m.value.Key(o.Text("value"))] = true
		default:
			m.entries = append(m.entries, o)
		}
	}
	return m
}

func (m *matcher) match(element any) bool {
	o, ok := element.(*scim.Object)
	if !ok {
		return m.byValue[m.a.Key(element)]
	}
	if v, ok := o.Get("value"); ok && m.value != nil && m.byValue[m.value.Key(v)] {
		return true
	}
	for _, entry := range m.entries {
		if m.agrees(o, entry) {
			return true
		}
	}
	return false
}

func (m *matcher) agrees(element, entry *scim.Object) bool {
	compared := 0
	for name, want := range entry.All() {
		sub := m.a.SubAttribute(name)
		if sub == nil || want == nil {
			continue
		}
		got, ok := element.Get(name)
		if !ok || sub.Key(got) != sub.Key(want) {
			return false
		}
		compared++
	}
	return compared > 0
}
