package conformance

import "github.com/scimwright/scimwright/scim"

// Names makes a collection beside /Users and /Groups known: what is created there carries its name, which begins with
// [T.Prefix], in the given attribute of the base schema. Objects that a POST to an unknown collection creates are not
// removed, so a check calls this first.
func (t *T) Names(collection, attribute string) { t.session.naming[collection] = attribute }

// object returns a decoded value as an object, or nil when it is none.
func object(v any) *scim.Object {
	o, _ := v.(*scim.Object)
	return o
}
