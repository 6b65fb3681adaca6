package oracle

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/scim"
)

// A Patcher generates PATCH operations on resources of a type. It discards operations with results that [Apply] does not define, and
// operations that servers interpret differently: values that already exist, elements that are replaced as a whole under a filter, filters
// that select nothing.
type Patcher struct {
	rand   *rand.Rand
	kind   Type
	domain string
	drawn  int // number of generated values, for unique names
}

// NewPatcher returns a Patcher for the free attributes of a type. Generated email addresses are in domain.
func NewPatcher(r *rand.Rand, t Type, domain string) *Patcher {
	t.Attributes = slices.DeleteFunc(slices.Clone(t.Attributes), func(a Attribute) bool { return !a.Free() })
	return &Patcher{rand: r, kind: t, domain: domain}
}

// Useful reports whether there is an attribute to change.
func (p *Patcher) Useful() bool { return len(p.kind.Attributes) > 0 }

// patchTries is the maximum number of attempts to generate an operation.
const patchTries = 100

// Operations generates n operations that can be applied to the resource in order, or fewer if it finds no more.
func (p *Patcher) Operations(o *scim.Object, n int) []Operation {
	var out []Operation
	for range patchTries {
		if len(out) == n {
			break
		}
		op := p.operation(o)
		if next, defined := Apply(o, []Operation{op}); defined {
			out, o = append(out, op), next
		}
	}
	return out
}

func (p *Patcher) operation(o *scim.Object) Operation {
	// Removals are generated more often, because fewer of them have a defined result.
	op := Operation{Op: pick(p.rand, []string{"add", "replace", "remove", "remove", "remove"})}
	if op.Op != "remove" && p.rand.IntN(6) == 0 {
		for _, i := range p.rand.Perm(len(p.kind.Attributes))[:min(1+p.rand.IntN(3), len(p.kind.Attributes))] {
			a := &p.kind.Attributes[i]
			op.Parts = append(op.Parts, Part{a, p.value(*a)})
		}
		return op
	}
	a := p.target()
	d := NewGenerator(p.rand, p.kind, []*scim.Object{o})
	op.Attribute, op.Spelled = a, spell(p.rand, p.kind, a.Path())
	parts := a.parts()
	switch {
	case a.Kind == "complex" && !a.Multi && p.rand.IntN(3) > 0:
		op.Sub = &parts[p.rand.IntN(len(parts))]
	case a.Kind == "complex" && a.Multi && op.Op != "add" && p.rand.IntN(3) > 0 && a.Of(o) != nil:
		op.Filter = d.inner(Name{Attribute: a, Text: a.Path()}, 1)
		if op.Op == "replace" || p.rand.IntN(4) == 0 {
			op.Sub = &parts[p.rand.IntN(len(parts))]
		}
	}
	if op.Op != "remove" {
		op.Value = p.valueFor(op)
	}
	return op
}

// target selects an attribute, in half of the cases a multi-valued one: most errors in PATCH occur with lists.
func (p *Patcher) target() *Attribute {
	all := p.kind.Attributes
	lists := slices.DeleteFunc(p.rand.Perm(len(all)), func(i int) bool { return !all[i].Multi || all[i].Kind != "complex" })
	if len(lists) > 0 && p.rand.IntN(2) == 0 {
		return &all[lists[0]]
	}
	return &all[p.rand.IntN(len(all))]
}

// valueFor generates the value that an operation sets.
func (p *Patcher) valueFor(op Operation) any {
	switch {
	case op.Sub == nil:
		return p.value(*op.Attribute)
	case scim.EqualName(op.Sub.Name, "primary"):
		return true
	}
	// The sub-attribute is taken from a generated value of the whole attribute, so that it has the correct form, such as an email address.
	for range patchTries {
		whole := elements(p.value(*op.Attribute))
		if v := member(object(whole[0]), op.Sub.Name); v != nil {
			return v
		}
	}
	return op.Sub.one(p.rand, Habit{Plain: true}, "", p.domain)
}

func (p *Patcher) value(a Attribute) any {
	p.drawn++
	return a.fill(p.rand, Habit{Always: true, Plain: p.rand.IntN(2) == 0}, "new"+strconv.Itoa(p.drawn), p.domain)
}

// MembersOf returns the definition of the members of a group, limited to what the oracle predicts: a set of ids.
func MembersOf() Attribute {
	id := Attribute{Name: "value", Kind: "string", CaseExact: true, CaseStated: true, Mutability: "readWrite", Returned: "default"}
	return Attribute{Name: "members", Kind: "complex", Multi: true, Mutability: "readWrite", Returned: "default", Optional: true,
		Subs: []Attribute{id}}
}

// Membership generates n operations on the members of a group, who have the given ids.
func Membership(r *rand.Rand, group *scim.Object, ids []string, n int) []Operation {
	members := MembersOf()
	element := func(id string) any { return scim.NewObject(scim.Member{Name: "value", Value: id}) }
	var out []Operation
	for range patchTries {
		if len(out) == n {
			break
		}
		op := Operation{Op: pick(r, []string{"add", "replace", "remove"}), Attribute: &members, Spelled: members.Name}
		some := r.Perm(len(ids))[:min(1+r.IntN(3), len(ids))]
		switch {
		case op.Op != "remove":
			var list []any
			for _, i := range some {
				list = append(list, element(ids[i]))
			}
			op.Value = list
		case r.IntN(5) > 0:
			var either []Filter
			for _, i := range some {
				either = append(either, Condition{Name: Name{Sub: &members.Subs[0], Text: "value"}, Operator: "eq", Operand: ids[i]})
			}
			if op.Filter = either[0]; len(either) > 1 {
				op.Filter = Or(either...)
			}
		}
		if next, defined := Apply(group, []Operation{op}); defined {
			out, group = append(out, op), next
		}
	}
	return out
}
