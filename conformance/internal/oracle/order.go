package oracle

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Keys returns the names with an unambiguous sort order (RFC 7644 section 3.4.2.3): case-insensitive single-valued strings that every
// object has and that every collation puts in the same order.
func Keys(t Type, population []*scim.Object) []Name {
	var out []Name
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if a.Multi {
			continue
		}
		for _, n := range a.paths() {
			leaf := n.leaf()
			var values []any
			for _, o := range population {
				values = append(values, n.values(o)...)
			}
			if leaf.Kind == "string" && leaf.CaseStated && !leaf.CaseExact && len(values) == len(population) && sortable(values) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Key returns the sort key of a resource.
func (n Name) Key(o *scim.Object) string {
	for _, v := range n.values(o) {
		if text, ok := v.(string); ok {
			return strings.ToLower(text)
		}
	}
	return ""
}

// InOrder reports whether the keys are in ascending order or, if descending is set, in descending order.
func InOrder(keys []string, descending bool) bool {
	if descending {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
	}
	return slices.IsSorted(keys)
}
