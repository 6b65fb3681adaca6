package trace

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

// differences compares two versions of a resource, either of which may be absent. Attributes that the target sets itself and the members of
// a group are omitted.
func differences(before, after *scim.Resource) []engine.Difference {
	var from, to *scim.Object
	if before != nil {
		from = &before.Object
	}
	if after != nil {
		to = &after.Object
	}
	var out []engine.Difference
	differing(nil, from, to, &out)
	return out
}

// omitted lists the attributes that are not compared here: those that the target sets, and those that are compared elsewhere.
var omitted = []string{"id", "meta", "schemas", "password", "members"}

func differing(chain []string, before, after *scim.Object, out *[]engine.Difference) {
	each := func(name string) {
		if len(chain) == 0 {
			for _, other := range omitted {
				if scim.EqualName(name, other) {
					return
				}
			}
		}
		a, _ := before.Get(name)
		b, _ := after.Get(name)
		inner, wasComplex := a.(*scim.Object)
		other, isComplex := b.(*scim.Object)
		switch at := append(chain[:len(chain):len(chain)], name); {
		case wasComplex && (isComplex || b == nil), isComplex && a == nil:
			differing(at, inner, other, out)
		case !same(a, b):
			path := plan.Path(at)
			*out = append(*out, engine.Difference{Path: path, Before: WithoutSecrets(path, a), After: WithoutSecrets(path, b)})
		}
	}
	for name := range after.All() {
		each(name)
	}
	for name := range before.All() {
		if _, both := after.Get(name); !both {
			each(name)
		}
	}
}

// same reports whether values are equal. Null, an empty list and an absent value are equal (RFC 7643 section 2.5), and a boolean equals its
// string form, which some targets return.
func same(a, b any) bool {
	if none(a) || none(b) {
		return none(a) && none(b)
	}
	return scim.Equal(boolean(a, b), boolean(b, a))
}

func none(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// boolean returns v, parsed as a boolean if v is "true" or "false" and other is a boolean.
func boolean(v, other any) any {
	text, isText := v.(string)
	if _, ok := other.(bool); !ok || !isText {
		return v
	}
	switch {
	case scim.EqualName(text, "true"):
		return true
	case scim.EqualName(text, "false"):
		return false
	}
	return v
}
