package filter

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// Matcher is a filter that is prepared for the resources of one type: paths are resolved and operands are folded once instead of once for
// each resource. It is immutable, so several goroutines may use it.
type Matcher struct{ test test }

// NewMatcher returns the matcher of a filter. Call [Check] first: the part of a filter that Check rejects is false, see [Eval].
func NewMatcher(e Expr, rt *schema.ResourceType) *Matcher { return &Matcher{resourceTest(e, rt)} }

// Match reports whether the resource matches, see [Eval]. work is the number of values that were compared; a string longer than 256 bytes
// counts once per 256 bytes. Callers add it up to limit the work of a request.
func (m *Matcher) Match(r *scim.Resource) (matches bool, work int) {
	return m.test.holds(r, &work), work
}

// ElementMatcher is a value filter that is prepared for the elements of one attribute. It is immutable, so several goroutines may use it.
type ElementMatcher struct{ test test }

// NewElementMatcher returns the matcher of a value filter. Call [CheckElement] first: the part of a filter that CheckElement rejects is
// false.
func NewElementMatcher(e Expr, a *schema.Attribute) *ElementMatcher {
	return &ElementMatcher{elementTest(e, a)}
}

// Match reports whether the element matches, see [EvalElement]. work is as in [Matcher.Match].
func (m *ElementMatcher) Match(element any) (matches bool, work int) {
	return m.test.holds(element, &work), work
}

// test is a part of a prepared filter. It is applied to a *scim.Resource or to an element of an attribute, and adds its work to *work.
type test interface {
	holds(on any, work *int) bool
}

type (
	bothTests   [2]test
	eitherTest  [2]test
	invertTest  [1]test
	neverTest   struct{}
	presentTest struct{ of schema.Resolved } // an extension has data

	// attributeTest compares an attribute of a resource. sub is the sub-attribute to compare, or nil.
	attributeTest struct {
		of      schema.Resolved
		a, sub  *schema.Attribute
		op      Op
		operand any
	}

	// partTest compares a sub-attribute of an element, or the element itself if it is not an object.
	partTest struct {
		a       *schema.Attribute
		op      Op
		operand any
	}

	// pathTest is true if one element of an attribute of a resource passes all tests.
	pathTest struct {
		of   schema.Resolved
		each test
	}
)

func (t bothTests) holds(on any, work *int) bool { return t[0].holds(on, work) && t[1].holds(on, work) }
func (t eitherTest) holds(on any, work *int) bool {
	return t[0].holds(on, work) || t[1].holds(on, work)
}
func (t invertTest) holds(on any, work *int) bool { return !t[0].holds(on, work) }
func (neverTest) holds(any, *int) bool            { return false }

func (t presentTest) holds(on any, work *int) bool {
	v, _ := t.of.Lookup(on.(*scim.Resource))
	*work++
	return present(v)
}

func (t attributeTest) holds(on any, work *int) bool {
	v, _ := t.of.Lookup(on.(*scim.Resource))
	return evalValues(t.a, t.sub, t.op, t.operand, v, work)
}

func (t partTest) holds(on any, work *int) bool {
	if o, ok := on.(*scim.Object); ok {
		if on, _ = o.Get(t.a.Name); t.op != Pr && t.operand != nil {
			on = assumed(t.a, on)
		}
	}
	return evalValues(t.a, nil, t.op, t.operand, on, work)
}

func (t pathTest) holds(on any, work *int) bool {
	v, _ := t.of.Lookup(on.(*scim.Resource))
	list, isList := v.([]any)
	if !isList {
		return v != nil && t.each.holds(v, work)
	}
	for _, element := range list {
		if t.each.holds(element, work) {
			return true
		}
	}
	return false
}

// resourceTest prepares a filter on resources.
func resourceTest(e Expr, rt *schema.ResourceType) test {
	switch e := e.(type) {
	case And:
		return bothTests{resourceTest(e.X, rt), resourceTest(e.Y, rt)}
	case Or:
		return eitherTest{resourceTest(e.X, rt), resourceTest(e.Y, rt)}
	case Not:
		return invertTest{resourceTest(e.X, rt)}
	case Compare:
		return comparison(e.Path, e.Op, e.Value, rt)
	case Present:
		return comparison(e.Path, Pr, nil, rt)
	case ValuePath:
		return valuePath(e, rt)
	}
	return neverTest{}
}

// elementTest prepares a value filter on elements.
func elementTest(e Expr, a *schema.Attribute) test {
	switch e := e.(type) {
	case And:
		return bothTests{elementTest(e.X, a), elementTest(e.Y, a)}
	case Or:
		return eitherTest{elementTest(e.X, a), elementTest(e.Y, a)}
	case Not:
		return invertTest{elementTest(e.X, a)}
	case Compare:
		return partComparison(e.Path.Name, e.Op, e.Value, a)
	case Present:
		return partComparison(e.Path.Name, Pr, nil, a)
	}
	return neverTest{}
}

func comparison(path scim.AttrPath, op Op, operand any, rt *schema.ResourceType) test {
	of, ok := rt.Resolve(path)
	switch {
	case !ok:
		return neverTest{}
	case of.Attribute == nil && op == Pr:
		return presentTest{of}
	case of.Attribute == nil || of.Attribute.Secret():
		return neverTest{}
	}
	a, sub := of.Attribute, of.Sub
	if sub == nil && a.Type == schema.Complex && op != Pr && operand != nil {
		if sub = defaultSub(a); sub == nil {
			return neverTest{}
		}
	}
	if sub != nil {
		a = sub
	}
	return attributeTest{of: of, a: a, sub: sub, op: op, operand: foldedOperand(a, operand)}
}

// partComparison prepares the comparison of a part of an element: of a sub-attribute, or of the element itself if the name is "value".
func partComparison(name string, op Op, operand any, a *schema.Attribute) test {
	sub := elementAttribute(a, name)
	if sub == nil {
		return neverTest{}
	}
	return partTest{a: sub, op: op, operand: foldedOperand(sub, operand)}
}

func valuePath(e ValuePath, rt *schema.ResourceType) test {
	of, ok := rt.Resolve(e.Path)
	if !ok || of.Attribute == nil || of.Sub != nil || of.Attribute.Secret() {
		return neverTest{}
	}
	each := elementTest(e.Filter, of.Attribute)
	if e.Op != "" {
		each = bothTests{each, partComparison(e.Sub, e.Op, e.Value, of.Attribute)}
	}
	return pathTest{of: of, each: each}
}

// foldedOperand returns the operand in the form in which strings of the attribute are compared. Folding it again does not change it.
func foldedOperand(a *schema.Attribute, operand any) any {
	s, ok := operand.(string)
	if ok && (a.Type == schema.String || a.Type == "") {
		return prepared(a, s)
	}
	return operand
}
