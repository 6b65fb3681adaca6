package oracle

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

// Rand returns a random number generator for one purpose under a seed. Purposes are independent: the requests of one check do not depend on
// which other checks run.
func Rand(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose)) // a hash never returns an error
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// A Type is a resource type of the target with the attributes that the oracle may use.
type Type struct {
	// Schema is the URN of the base schema.
	Schema string
	// Carrier is the attribute of the base schema that contains the name of a test object. Every object has it.
	Carrier    string
	Attributes []Attribute
}

// An Attribute is an attribute definition of the target, with the defaults of RFC 7643 section 2.2.
type Attribute struct {
	URN             string // of the extension it belongs to; "" for the base schema
	Name, Kind      string // Kind is the type: "string", "boolean", ...
	Multi, Required bool
	CaseExact       bool
	CaseStated      bool // whether the schema has caseExact; if not, CaseExact is not used
	Mutability      string
	Returned        string
	Uniqueness      string
	Canonical       []string // canonicalValues; nil if the schema has no such list, empty and not nil if the list is empty
	// Optional reports that the target was observed to omit the attribute if no value was sent. Otherwise the attribute may have a default,
	// and the result of removing a value is unknown.
	Optional bool
	Subs     []Attribute
}

// Path returns the name of the attribute in PATCH paths, filters and projections.
func (a Attribute) Path() string {
	if a.URN != "" {
		return a.URN + ":" + a.Name
	}
	return a.Name
}

// Of returns the attribute's value in a resource, nil if absent: null and [] are equivalent to absent (RFC 7643 section 2.5).
func (a Attribute) Of(o *scim.Object) any {
	if a.URN != "" {
		o = o.Complex(a.URN)
	}
	return member(o, a.Name)
}

// set sets the attribute's value in a resource; nil removes it.
func (a Attribute) set(o *scim.Object, v any) {
	if a.URN != "" {
		inner := o.Complex(a.URN)
		if inner == nil {
			inner = scim.NewObject()
			o.Set(a.URN, inner)
		}
		o = inner
	}
	put(o, a.Name, v)
}

// Observe sets Optional of the attribute and of each sub-attribute: true if the attribute is absent from at least one stored object, or the
// sub-attribute from at least one of its elements.
func (a *Attribute) Observe(stored []*scim.Object) {
	a.Optional = slices.ContainsFunc(stored, func(o *scim.Object) bool { return a.Of(o) == nil })
	for i := range a.Subs {
		s := &a.Subs[i]
		s.Optional = slices.ContainsFunc(stored, func(o *scim.Object) bool {
			return slices.ContainsFunc(elements(a.Of(o)), func(e any) bool { return member(object(e), s.Name) == nil })
		})
	}
}

// member returns the value of a member, nil if the member is absent, null or an empty array.
func member(o *scim.Object, name string) any {
	v, _ := o.Get(name)
	if list, ok := v.([]any); ok && len(list) == 0 {
		return nil
	}
	return v
}

func put(o *scim.Object, name string, v any) {
	if v == nil {
		o.Delete(name)
		return
	}
	o.Set(name, v)
}

// elements returns the single values of an attribute: none, one, or those of an array.
func elements(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// object returns a value as an object, nil if it is not one.
func object(v any) *scim.Object {
	o, _ := v.(*scim.Object)
	return o
}

// sub returns a sub-attribute by its name, nil if there is none.
func (a Attribute) sub(name string) *Attribute {
	i := slices.IndexFunc(a.Subs, func(s Attribute) bool { return scim.EqualName(s.Name, name) })
	if i < 0 {
		return nil
	}
	return &a.Subs[i]
}

// visible reports whether a plain GET returns the attribute.
func (a Attribute) visible() bool {
	return (a.Returned == "default" || a.Returned == "always") && a.Mutability != "writeOnly"
}

// specialAttributes are attributes for which values cannot be generated from a schema. Their values have a special syntax or meaning (RFC
// 7643 sections 3.1, 4 and 8.7), are derived by servers, or refer to other resources.
var specialAttributes = []string{
	"id", "meta", "schemas", "password", "groups", "members", "manager", "formatted", "display", "$ref",
	"profileUrl", "preferredLanguage", "locale", "timezone", "phoneNumbers", "ims", "photos", "x509Certificates", "country",
}

// Free reports whether the oracle may set the attribute to any value of its type and expect to read it back.
func (a Attribute) Free() bool {
	if a.Mutability != "readWrite" || !a.visible() || a.Uniqueness != "none" && a.Uniqueness != "" {
		return false
	}
	if slices.ContainsFunc(specialAttributes, func(name string) bool { return scim.EqualName(name, a.Name) }) {
		return false
	}
	if scim.EqualName(a.Name, "type") && a.Canonical != nil && len(a.Canonical) == 0 {
		// RFC 7643 section 8.7.1 declares an empty list of canonical values for the type of a role. Some servers reject every type of an
		// attribute with such a list.
		return false
	}
	switch a.Kind {
	case "string", "boolean", "integer", "decimal", "dateTime":
		return true
	case "complex":
		return len(a.parts()) > 0
	}
	return false // for a reference, an existing resource would be necessary; for binary, servers use two alphabets of base64
}

// parts returns the sub-attributes that the oracle uses. The oracle ignores all other sub-attributes in responses.
func (a Attribute) parts() []Attribute {
	return slices.DeleteFunc(slices.Clone(a.Subs), func(s Attribute) bool { return !s.Free() || s.Kind == "complex" || s.Multi })
}
