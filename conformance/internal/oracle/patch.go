package oracle

import (
	"iter"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// An Operation is one operation of a PATCH request (RFC 7644 section 3.5.2).
type Operation struct {
	Op string // "add", "replace" or "remove"
	// Attribute is the attribute of the path, nil for an operation without a path, which has Parts.
	Attribute *Attribute
	Filter    Filter     // in brackets after the attribute, or nil
	Sub       *Attribute // after the dot, or nil
	Spelled   string     // the attribute as spelled in the path
	Value     any        // of a type that package scim stores; nil for remove
	Parts     []Part
}

// A Part is one attribute of the value of an operation without a path.
type Part struct {
	Attribute *Attribute
	Value     any
}

// Path returns the path of the operation, "" if it has none.
func (op Operation) Path() string {
	path := op.Spelled
	if op.Filter != nil {
		path += "[" + op.Filter.String() + "]"
	}
	if op.Sub != nil {
		path += "." + op.Sub.Name
	}
	return path
}

// Object returns the operation in the form of a PATCH request.
func (op Operation) Object() *scim.Object {
	o := scim.NewObject(scim.Member{Name: "op", Value: op.Op})
	value := op.Value
	if op.Attribute == nil {
		whole := scim.NewObject()
		for _, p := range op.Parts {
			p.Attribute.set(whole, p.Value)
		}
		value = whole
	} else {
		o.Set("path", op.Path())
	}
	if value != nil {
		o.Set("value", value)
	}
	return o
}

// Apply returns the result of operations on a resource, which it does not modify. defined is false if the RFC does not define the
// result of one of the operations, or requires an error; Apply then predicts no result.
func Apply(o *scim.Object, operations []Operation) (result *scim.Object, defined bool) {
	result = o.Clone()
	for _, op := range operations {
		if !op.apply(result) {
			return nil, false
		}
	}
	return result, true
}

// MayBeRejected reports whether a target may reject valid operations, for one of two reasons. One of them results in a list with two
// elements of the same type: the RFCs do not forbid such lists, but some targets permit only one element of each type. Or the filter in a
// path is not a single comparison of a string by eq: the support of other filters is optional (RFC 7644 section 3.4.2.2).
func MayBeRejected(o *scim.Object, operations []Operation) bool {
	for i, op := range operations {
		if op.Filter != nil && !basicFilter(op.Filter) {
			return true
		}
		after, defined := Apply(o, operations[:i+1])
		if defined && slices.ContainsFunc(op.attributes(), func(a *Attribute) bool { return a.typedTwice(after) }) {
			return true
		}
	}
	return false
}

// basicFilter reports whether a filter is a single comparison of a string by eq.
func basicFilter(f Filter) bool {
	c, single := f.(Condition)
	_, isText := c.Operand.(string)
	return single && isText && c.Operator == "eq"
}

// attributes returns the attributes that the operation changes.
func (op Operation) attributes() []*Attribute {
	if op.Attribute != nil {
		return []*Attribute{op.Attribute}
	}
	var out []*Attribute
	for _, part := range op.Parts {
		out = append(out, part.Attribute)
	}
	return out
}

// typedTwice reports whether two elements of the attribute have the same type. Members of a group are excluded, because their type is
// always User or Group.
func (a Attribute) typedTwice(o *scim.Object) bool {
	if a.sub("type") == nil {
		return false
	}
	seen := map[string]bool{}
	for _, e := range elements(a.Of(o)) {
		kind, _ := member(object(e), "type").(string)
		if kind = strings.ToLower(kind); kind != "" && seen[kind] {
			return true
		}
		seen[kind] = true
	}
	return false
}

func (op Operation) apply(o *scim.Object) (defined bool) {
	if op.Attribute == nil {
		return op.Op != "remove" && len(op.Parts) > 0 && !slices.ContainsFunc(op.Parts, func(p Part) bool {
			// The result is not predicted for a complex attribute with a value: RFC 7644 does not define whether it is replaced or merged.
			merged := p.Attribute.Kind == "complex" && !p.Attribute.Multi && p.Attribute.Of(o) != nil
			return merged || !assign(o, p.Attribute, op.Op, p.Value)
		})
	}
	switch a := op.Attribute; {
	case op.Filter != nil:
		return op.applyFiltered(o)
	case op.Sub != nil:
		return !a.Multi && op.applySub(o)
	case op.Op == "remove":
		had := a.Of(o) != nil
		a.set(o, nil)
		return had && a.Optional && !a.Required
	default:
		// RFC 7644 only recommends (SHOULD) that add merges a complex attribute that has a value, so the result is not predicted.
		merged := op.Op == "add" && a.Kind == "complex" && !a.Multi && a.Of(o) != nil
		return !merged && assign(o, a, op.Op, op.Value)
	}
}

// assign sets the value of an attribute by add or replace.
func assign(o *scim.Object, a *Attribute, op string, value any) (defined bool) {
	switch {
	case a.Multi:
		return assignMulti(o, a, op, elements(value))
	case a.Kind == "complex":
		whole := scim.NewObject()
		if present := object(a.Of(o)); present != nil {
			whole = present.Clone()
		}
		for name, v := range object(value).All() {
			whole.Set(name, v)
		}
		value = whole
	}
	a.set(o, value)
	return true
}

// assignMulti appends to a multi-valued attribute or replaces all of its values.
func assignMulti(o *scim.Object, a *Attribute, op string, values []any) (defined bool) {
	var list []any
	if op == "add" {
		for _, e := range elements(a.Of(o)) {
			list = append(list, scim.CloneValue(e))
		}
		if slices.ContainsFunc(values, primary) {
			clearPrimary(list)
		}
	}
	for _, v := range values {
		list = append(list, scim.CloneValue(v))
	}
	a.set(o, list)
	return len(values) > 0 && a.distinct(list)
}

// distinct reports whether no two of the elements are alike, see [Attribute.alike].
func (a *Attribute) distinct(list []any) bool {
	for i, v := range list {
		if slices.ContainsFunc(list[:i], func(w any) bool { return a.alike(v, w) }) {
			return false
		}
	}
	return true
}

func primary(e any) bool { p, _ := object(e).Bool("primary"); return p }

// clearPrimary removes primary from all elements: only one can have it (RFC 7643 section 2.4).
func clearPrimary(list []any) {
	for _, e := range list {
		object(e).Delete("primary")
	}
}

// applySub changes a sub-attribute of a single-valued complex attribute.
func (op Operation) applySub(o *scim.Object) (defined bool) {
	whole := object(op.Attribute.Of(o))
	if op.Op == "remove" {
		had := member(whole, op.Sub.Name) != nil
		if had {
			whole.Delete(op.Sub.Name)
		}
		return had && op.Sub.Optional && !op.Sub.Required && whole.Len() > 0
	}
	if whole == nil {
		whole = scim.NewObject()
	}
	whole.Set(op.Sub.Name, op.Value)
	op.Attribute.set(o, whole)
	return true
}

// applyFiltered changes the elements that a filter selects. If the filter selects none, the result depends on the operation and the target,
// and is not defined.
func (op Operation) applyFiltered(o *scim.Object) (defined bool) {
	a := op.Attribute
	var chosen, others []any
	list := elements(a.Of(o))
	for _, e := range list {
		if !Unambiguous(op.Filter, []*scim.Object{object(e)}) {
			return false
		}
		if Matches(op.Filter, object(e)) {
			chosen = append(chosen, e)
		} else {
			others = append(others, e)
		}
	}
	switch {
	case len(chosen) == 0 || op.Op == "add":
		return false
	case op.Sub == nil:
		if len(others) == 0 {
			a.set(o, nil)
			return op.Op == "remove" && a.Optional && !a.Required
		}
		a.set(o, others)
		return op.Op == "remove"
	case op.Op == "remove":
		for _, e := range chosen {
			if member(object(e), op.Sub.Name) == nil || object(e).Len() < 2 {
				return false
			}
			object(e).Delete(op.Sub.Name)
		}
		return op.Sub.Optional && !op.Sub.Required && a.distinct(list)
	}
	if scim.EqualName(op.Sub.Name, "primary") {
		if len(chosen) > 1 || op.Value != true {
			return false
		}
		clearPrimary(list)
	}
	for _, e := range chosen {
		object(e).Set(op.Sub.Name, op.Value)
	}
	return a.distinct(list)
}

// Simpler yields the lists of operations that are one step simpler: without one operation, or with a simpler operation.
func Simpler(operations []Operation) iter.Seq[[]Operation] {
	return func(yield func([]Operation) bool) {
		for i := range operations {
			if len(operations) > 1 && !yield(slices.Delete(slices.Clone(operations), i, i+1)) {
				return
			}
		}
		for i, op := range operations {
			for _, form := range op.simpler() {
				with := slices.Clone(operations)
				with[i] = form
				if !yield(with) {
					return
				}
			}
		}
	}
}

// simpler returns the operation with one part, element or condition fewer.
func (op Operation) simpler() []Operation {
	var out []Operation
	for i := range op.Parts {
		if len(op.Parts) > 1 {
			form := op
			form.Parts = slices.Delete(slices.Clone(op.Parts), i, i+1)
			out = append(out, form)
		}
	}
	if list, ok := op.Value.([]any); ok && len(list) > 1 {
		for i := range list {
			form := op
			form.Value = slices.Delete(slices.Clone(list), i, i+1)
			out = append(out, form)
		}
	}
	if op.Filter != nil {
		for f := range Smaller(op.Filter) {
			form := op
			form.Filter = f
			out = append(out, form)
		}
	}
	if op.Attribute != nil && op.Spelled != op.Attribute.Path() {
		form := op
		form.Spelled = op.Attribute.Path()
		out = append(out, form)
	}
	return out
}
