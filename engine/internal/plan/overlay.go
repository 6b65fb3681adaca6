package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// assignment is the new value of one attribute. Null and an empty list clear it.
type assignment struct {
	chain []string // from the outermost name: [title], [name givenName], [urn:… department]
	value any
}

func (a assignment) path() string { return Path(a.chain) }

// Path joins the names of an attribute, from the outermost, to its path of RFC 7644 section 3.10: title, name.givenName, urn:…:department.
// The outermost name may be the URN of an extension.
func Path(chain []string) string {
	if strings.Contains(chain[0], ":") && len(chain) > 1 {
		return chain[0] + ":" + strings.Join(chain[1:], ".")
	}
	return strings.Join(chain, ".")
}

// clears reports whether the assignment removes the value.
func (a assignment) clears() bool { return unassigned(a.value) }

// digest identifies the value without disclosing it.
func (a assignment) digest() string {
	sum := sha256.Sum256(scim.AppendValue(nil, a.value))
	return hex.EncodeToString(sum[:8])
}

// set applies the assignment to an object.
func (a assignment) set(o *scim.Object) {
	for _, name := range a.chain[:len(a.chain)-1] {
		inner := o.Complex(name)
		if inner == nil {
			inner = scim.NewObject()
			o.Set(name, inner)
		}
		o = o.Complex(name)
	}
	last := a.chain[len(a.chain)-1]
	if a.value == nil {
		o.Delete(last)
		return
	}
	o.Set(last, scim.CloneValue(a.value))
}

// assigned returns a copy of a resource in which the assignments have set or removed values.
func assigned(r *scim.Resource, all []assignment) *scim.Resource {
	out := r.Clone()
	for _, a := range all {
		a.set(&out.Object)
	}
	return out
}

// overlay returns the differences between a fetched resource and the desired one. Attributes that are not desired stay unchanged; a desired
// null or empty list clears the attribute. Complex values are merged, so that sub-attributes that the target derives (name.formatted) stay.
// A list is unchanged if it has as many elements as the desired list, and each element contains all values of the desired element at the
// same position.
func overlay(fetched, desired *scim.Resource) []assignment {
	var out []assignment
	merged := fetched.Clone()
	for _, urn := range desired.Schemas() {
		merged.AddSchema(urn)
	}
	if len(merged.Schemas()) != len(fetched.Schemas()) {
		out = append(out, assignment{chain: []string{"schemas"}, value: merged.Array("schemas")})
	}
	for name, v := range desired.All() {
		switch {
		case scim.EqualName(name, "schemas"), scim.EqualName(name, "id"), scim.EqualName(name, "meta"):
		default:
			out = differing(out, &fetched.Object, []string{name}, v)
		}
	}
	return out
}

// differing appends the assignments that change an attribute of o to its desired value.
func differing(out []assignment, o *scim.Object, chain []string, want any) []assignment {
	have, present := o.Get(chain[len(chain)-1])
	switch want := want.(type) {
	case nil:
		if !present || unassigned(have) {
			return out
		}
		return append(out, assignment{chain, nil})
	case []any:
		if len(want) == 0 && (!present || unassigned(have)) {
			return out
		}
	case *scim.Object:
		inner, ok := have.(*scim.Object)
		value, refers := want.Get("value")
		switch {
		case !ok && isEmpty(want):
			return out
		case ok && refers && !containsAll(inner, scim.NewObject(scim.Member{Name: "value", Value: value})):
			// the reference has changed: replace the whole value, because its other sub-attributes describe the previous reference
			return append(out, assignment{chain, want})
		case ok:
			for sub, v := range want.All() {
				out = differing(out, inner, append(chain[:len(chain):len(chain)], sub), v)
			}
			return out
		}
	}
	if present && containsAll(have, want) {
		return out
	}
	return append(out, assignment{chain, want})
}

// complete adds to o the attributes of more that o lacks. It merges complex values, but not lists.
func complete(o, more *scim.Object) {
	for name, v := range more.All() {
		have, present := o.Get(name)
		if !present {
			o.Set(name, scim.CloneValue(v))
			continue
		}
		inner, ok := have.(*scim.Object)
		if extra, complex := v.(*scim.Object); ok && complex {
			complete(inner, extra)
		}
	}
}

// isEmpty reports whether no attribute of an object has a value.
func isEmpty(o *scim.Object) bool {
	for _, v := range o.All() {
		if inner, ok := v.(*scim.Object); ok && isEmpty(inner) || unassigned(v) {
			continue
		}
		return false
	}
	return true
}

// unassigned reports whether a value (null or an empty list) is equivalent to an absent value (RFC 7643 section 2.5).
func unassigned(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// containsAll reports whether have contains all values of want.
func containsAll(have, want any) bool {
	switch want := want.(type) {
	case *scim.Object:
		h, ok := have.(*scim.Object)
		if !ok {
			return false
		}
		for name, v := range want.All() {
			hv, present := h.Get(name)
			if !present && (unassigned(v) || v == false) {
				continue // false and absent are equal for primary, which some servers omit
			}
			if !containsAll(hv, v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(want) {
			return false
		}
		for i := range want {
			if !containsAll(h[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return scim.Equal(have, want)
	}
}
