package plan

import "github.com/scimwright/scimwright/scim"

// overlay returns the fetched resource with the desired attributes in it, and whether that differs from what was fetched.
// Attributes that are not desired stay as they are; a desired null or empty list clears one. Complex values are merged, so that
// sub-attributes the target derives (name.formatted) stay. A list counts as unchanged when the target's elements say at least
// what the desired ones say, in the same order.
func overlay(fetched, desired *scim.Resource) (*scim.Resource, bool) {
	out := fetched.Clone()
	for _, urn := range desired.Schemas() {
		out.AddSchema(urn)
	}
	changed := len(out.Schemas()) != len(fetched.Schemas())
	for name, v := range desired.All() {
		switch {
		case scim.EqualName(name, "schemas"), scim.EqualName(name, "id"), scim.EqualName(name, "meta"):
		case put(&out.Object, name, v):
			changed = true
		}
	}
	return out, changed
}

// put sets one attribute and says whether that changed anything.
func put(o *scim.Object, name string, want any) bool {
	have, present := o.Get(name)
	switch want := want.(type) {
	case nil:
		if !present || unassigned(have) {
			return false
		}
		return o.Delete(name)
	case []any:
		if len(want) == 0 {
			if !present || unassigned(have) {
				return false
			}
			o.Set(name, want)
			return true
		}
	case *scim.Object:
		if inner, ok := have.(*scim.Object); ok {
			changed := false
			for sub, v := range want.All() {
				changed = put(inner, sub, v) || changed
			}
			return changed
		}
	}
	if present && says(have, want) {
		return false
	}
	o.Set(name, scim.CloneValue(want))
	return true
}

// unassigned says whether a value is the same as none (RFC 7643 section 2.5).
func unassigned(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// says reports whether have contains all that want says.
func says(have, want any) bool {
	switch want := want.(type) {
	case *scim.Object:
		h, ok := have.(*scim.Object)
		if !ok {
			return false
		}
		for name, v := range want.All() {
			hv, present := h.Get(name)
			if !present && (unassigned(v) || v == false) {
				continue // false and absent are the same for primary, which some servers leave out
			}
			if !says(hv, v) {
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
			if !says(h[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return scim.Equal(have, want)
	}
}
