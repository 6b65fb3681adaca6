package patch

import "github.com/scimwright/scimwright/scim"

// The primary value of a multi-valued attribute: an operation that sets primary on one element clears it on all others (RFC 7644 section
// 3.5.2).

func isPrimary(element any) bool {
	o, _ := element.(*scim.Object)
	primary, _ := o.Bool("primary")
	return primary
}

// demoteOthers sets primary to false in all primary elements for which chosen returns false. The patcher owns the elements, so demoteOthers
// modifies them in place.
func demoteOthers(elements []any, chosen func(any) bool) {
	for _, e := range elements {
		if isPrimary(e) && !chosen(e) {
			e.(*scim.Object).Set("primary", false)
		}
	}
}

// mentionsPrimary reports whether an operation on elements sets "primary".
func mentionsPrimary(at place, v any) bool {
	if at.sub != nil {
		return scim.EqualName(at.sub.Name, "primary")
	}
	o, _ := v.(*scim.Object)
	_, ok := o.Get("primary")
	return ok
}
