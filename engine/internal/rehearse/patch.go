package rehearse

import (
	"errors"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/patch"
	"github.com/scimwright/scimwright/scim/schema"
)

// patched applies a PATCH under the schemas of the RFC. An operation that fails under the schemas is applied without a schema, because a
// target may have attributes of its own and may omit attributes in responses. The removal of an absent value changes nothing.
func patched(have *scim.Resource, body *scim.Object, rt *schema.ResourceType) (*scim.Resource, error) {
	req, err := scim.ParsePatchRequest(body)
	if err != nil {
		return nil, err
	}
	if out, _, err := patch.Apply(have, req, rt, patch.Options{Accept: lenient.All}); err == nil {
		return out, nil
	}
	out := have.Clone()
	for _, op := range req.Operations {
		next, _, err := patch.Apply(out, &scim.PatchRequest{Operations: []scim.PatchOperation{op}}, rt, patch.Options{Accept: lenient.All})
		if err == nil {
			out = next
			continue
		}
		if e, ok := errors.AsType[*scim.Error](err); ok && e.ScimType == scim.NoTarget && strings.EqualFold(op.Op, scim.OpRemove) {
			continue
		}
		if !set(out, op) {
			return nil, err
		}
	}
	return out, nil
}

// set applies an operation without a schema, and reports whether that was possible.
func set(r *scim.Resource, op scim.PatchOperation) bool {
	if op.Path == "" {
		value, ok := op.Value.(*scim.Object)
		if ok {
			merge(&r.Object, value)
		}
		return ok
	}
	p, err := scim.ParseAttrPath(op.Path)
	if err != nil {
		return false
	}
	o := &r.Object
	if p.URN != "" && p.Name != "" {
		o = complexValue(o, p.URN)
	}
	name := p.Name
	switch {
	case name == "":
		name = p.URN
	case p.Sub != "":
		o, name = complexValue(o, name), p.Sub
	}
	list, many := op.Value.([]any)
	switch {
	case strings.EqualFold(op.Op, scim.OpRemove):
		o.Delete(name)
		return true
	case strings.EqualFold(op.Op, scim.OpAdd) && many:
		o.Set(name, slices.Concat(o.Array(name), list))
		return true
	}
	merge(o, scim.NewObject(scim.Member{Name: name, Value: op.Value}))
	return true
}

// complexValue returns the complex value of an attribute, and creates it if absent.
func complexValue(o *scim.Object, name string) *scim.Object {
	if o.Complex(name) == nil {
		o.Set(name, scim.NewObject())
	}
	return o.Complex(name)
}

func merge(into, from *scim.Object) {
	for name, v := range from.All() {
		inner, complex := v.(*scim.Object)
		if have := into.Complex(name); complex && have != nil {
			merge(have, inner)
			continue
		}
		into.Set(name, scim.CloneValue(v))
	}
}
