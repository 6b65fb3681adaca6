package oracle

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

// Rand returns the random numbers of one purpose under a seed. Purposes are independent: what one check draws does not depend
// on which other checks run.
func Rand(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose)) // a hash never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// A Type is a resource type of the target with the attributes that the oracle may speak of.
type Type struct {
	// Schema is the URN of the base schema.
	Schema string
	// Carrier is the attribute of the base schema that carries the name of a test object. Every object has it.
	Carrier    string
	Attributes []Attribute
}

// An Attribute is a definition as the target gives it, with the defaults of RFC 7643 section 2.2 filled in.
type Attribute struct {
	URN             string // of the extension it belongs to; "" for the base schema
	Name, Kind      string // Kind is the type: "string", "boolean", ...
	Multi, Required bool
	CaseExact       bool
	CaseStated      bool // whether the schema says what CaseExact is; where it does not, nothing is made of it
	Mutability      string
	Returned        string
	Uniqueness      string
	Canonical       []string // empty and not nil when the schema says that there are none
	// Optional tells that the target has been seen to leave the attribute absent where no value was sent. Where it has not, it
	// may have a default of its own, and what removing a value leads to is not known.
	Optional bool
	Subs     []Attribute
}

// Path is how PATCH paths, filters and projections name the attribute.
func (a Attribute) Path() string {
	if a.URN != "" {
		return a.URN + ":" + a.Name
	}
	return a.Name
}

// Of returns the attribute's value in a resource, nil when it has none: null and [] are as good as absent (RFC 7643 section 2.5).
func (a Attribute) Of(o *scim.Object) any {
	if a.URN != "" {
		o = o.Complex(a.URN)
	}
	return member(o, a.Name)
}

// set gives the attribute a value in a resource; nil takes it out.
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

// Observe finds out from what the target has stored whether it leaves the attribute and its sub-attributes absent.
func (a *Attribute) Observe(stored []*scim.Object) {
	a.Optional = slices.ContainsFunc(stored, func(o *scim.Object) bool { return a.Of(o) == nil })
	for i := range a.Subs {
		s := &a.Subs[i]
		s.Optional = slices.ContainsFunc(stored, func(o *scim.Object) bool {
			return slices.ContainsFunc(elements(a.Of(o)), func(e any) bool { return member(object(e), s.Name) == nil })
		})
	}
}

// member returns a member that counts as a value, nil when there is none.
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

// elements are the values of an attribute one by one: none, one, or those of an array.
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

// object returns a value as an object, nil when it is none.
func object(v any) *scim.Object {
	o, _ := v.(*scim.Object)
	return o
}

// sub returns a sub-attribute by its name, nil when there is none.
func (a Attribute) sub(name string) *Attribute {
	i := slices.IndexFunc(a.Subs, func(s Attribute) bool { return scim.EqualName(s.Name, name) })
	if i < 0 {
		return nil
	}
	return &a.Subs[i]
}

// visible tells whether a plain GET shows the attribute.
func (a Attribute) visible() bool {
	return (a.Returned == "default" || a.Returned == "always") && a.Mutability != "writeOnly"
}

// ruled are names whose values have a syntax or a meaning of their own (RFC 7643 sections 3.1, 4 and 8.7), that servers derive,
// or that stand for relations between resources. Values for them cannot be made up from a schema.
var ruled = []string{
	"id", "meta", "schemas", "password", "groups", "members", "manager", "formatted", "display", "$ref",
	"profileUrl", "preferredLanguage", "locale", "timezone", "phoneNumbers", "ims", "photos", "x509Certificates", "country",
}

// Free tells whether the oracle may give the attribute values of its own choice and expect to find them again.
func (a Attribute) Free() bool {
	if a.Mutability != "readWrite" || !a.visible() || a.Uniqueness != "none" && a.Uniqueness != "" {
		return false
	}
	if slices.ContainsFunc(ruled, func(name string) bool { return scim.EqualName(name, a.Name) }) {
		return false
	}
	if scim.EqualName(a.Name, "type") && a.Canonical != nil && len(a.Canonical) == 0 {
		return false // RFC 7643 section 8.7.1 has an empty list for the types of roles, and some servers then take none
	}
	switch a.Kind {
	case "string", "boolean", "integer", "decimal", "dateTime":
		return true
	case "complex":
		return len(a.parts()) > 0
	}
	return false // references must lead somewhere, and there are two spellings of base64
}

// parts are the sub-attributes that the oracle speaks of. The others may come and go.
func (a Attribute) parts() []Attribute {
	return slices.DeleteFunc(slices.Clone(a.Subs), func(s Attribute) bool { return !s.Free() || s.Kind == "complex" || s.Multi })
}
