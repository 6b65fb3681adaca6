package oracle

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Keys are the names that a population can be sorted by without doubt (RFC 7644 section 3.4.2.3): single-valued texts without
// regard to case, which every object has and every collation puts in the same order.
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

// Key is what a resource is sorted by.
func (n Name) Key(o *scim.Object) string {
	for _, v := range n.values(o) {
		if text, ok := v.(string); ok {
			return strings.ToLower(text)
		}
	}
	return ""
}

// InOrder tells whether keys ascend, or descend. Equal ones may come in any order.
func InOrder(keys []string, descending bool) bool {
	if descending {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
	}
	return slices.IsSorted(keys)
}
