package checks

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A typeDef is a resource type as the target describes it.
type typeDef struct {
	name, endpoint, schema string
	attributes             []attrDef // of the base schema and the extensions
	mandatory              []string  // the URNs of required extensions
	carrier                string    // base schema attribute with the name of a test object; "" if none is suitable
}

// An attrDef is the definition of an attribute, as the target describes it.
type attrDef struct {
	urn                              string // URN of the attribute's extension; "" for the base schema
	name, kind                       string
	multi, required, caseExact       bool
	caseStated                       bool // the schema contains caseExact
	mutability, returned, uniqueness string
	canonical, references            []string
	subs                             []attrDef
}

// types returns the resource types that the checks can test: the target lists the base schema, the endpoint starts with a
// slash, and an attribute of the base schema can contain the name of a test object.
func types(t *T) []typeDef {
	var out []typeDef
	for _, rt := range t.Capabilities.ResourceTypes {
		base := t.Capabilities.Schema(rt.Text("schema"))
		if base == nil || !strings.HasPrefix(rt.Text("endpoint"), "/") {
			continue
		}
		td := typeDef{name: rt.Text("name"), endpoint: rt.Text("endpoint"), schema: rt.Text("schema"), attributes: definitions(base, "")}
		for _, v := range rt.Array("schemaExtensions") {
			e, _ := v.(*scim.Object)
			urn := e.Text("schema")
			if required, _ := e.Bool("required"); required {
				td.mandatory = append(td.mandatory, urn)
			}
			td.attributes = append(td.attributes, definitions(t.Capabilities.Schema(urn), urn)...)
		}
		td.carrier = carrier(td)
		if td.carrier != "" {
			out = append(out, td)
		}
	}
	return out
}

// custom reports whether a type is not defined by RFC 7643.
func (td typeDef) custom() bool { return td.endpoint != "/Users" && td.endpoint != "/Groups" }

func definitions(schema *scim.Object, urn string) []attrDef {
	var out []attrDef
	for _, v := range schema.Array("attributes") {
		if o, ok := v.(*scim.Object); ok {
			out = append(out, definition(o, urn))
		}
	}
	return out
}

// definition reads an attribute's characteristics with the defaults of RFC 7643 section 2.2.
func definition(o *scim.Object, urn string) attrDef {
	a := attrDef{
		urn: urn, name: o.Text("name"), kind: cmp.Or(o.Text("type"), "string"), canonical: texts(o, "canonicalValues"),
		references: texts(o, "referenceTypes"),
		mutability: cmp.Or(o.Text("mutability"), "readWrite"), returned: cmp.Or(o.Text("returned"), "default"),
		uniqueness: cmp.Or(o.Text("uniqueness"), "none"),
	}
	a.multi, _ = o.Bool("multiValued")
	a.required, _ = o.Bool("required")
	a.caseExact, a.caseStated = o.Bool("caseExact")
	for _, v := range o.Array("subAttributes") {
		if sub, ok := v.(*scim.Object); ok {
			a.subs = append(a.subs, definition(sub, ""))
		}
	}
	return a
}

// carrier returns the attribute for the name of a test object, "" if none is suitable.
func carrier(td typeDef) string {
	switch td.endpoint {
	case "/Users":
		return "userName"
	case "/Groups":
		return "displayName"
	}
	best := ""
	for _, a := range td.attributes {
		if a.urn != "" || a.kind != "string" || a.multi || len(a.canonical) > 0 || !a.writable() || a.hidden() {
			continue
		}
		if a.required {
			return a.name
		}
		if best == "" || a.uniqueness != "none" {
			best = cmp.Or(best, a.name)
		}
	}
	return best
}

// writable reports whether a client can set the attribute.
func (a attrDef) writable() bool { return a.mutability != "readOnly" }

// hidden reports whether a plain GET omits the attribute.
func (a attrDef) hidden() bool {
	return a.returned == "never" || a.returned == "request" || a.mutability == "writeOnly"
}

// common reports whether every resource has the attribute, or the attribute references other resources.
func (a attrDef) common() bool {
	return slices.Contains([]string{"id", "externalId", "meta", "schemas", "members", "manager"}, a.name)
}

// path returns the attribute's name in PATCH paths and in the parameter attributes.
func (a attrDef) path() string {
	if a.urn != "" {
		return a.urn + ":" + a.name
	}
	return a.name
}

// of returns the attribute's value in a resource, nil if absent.
func (a attrDef) of(o *scim.Object) any {
	if a.urn != "" {
		o = o.Complex(a.urn)
	}
	v, _ := o.Get(a.name)
	return v
}

// set sets the attribute's value in a body; the value [omit] deletes it.
func (a attrDef) set(body doc, v any) {
	if a.urn != "" {
		inner, _ := body[a.urn].(doc)
		if inner == nil {
			inner = doc{}
			body[a.urn] = inner
			list, _ := body["schemas"].([]string)
			if !slices.Contains(list, a.urn) {
				body["schemas"] = append(slices.Clone(list), a.urn)
			}
		}
		body = inner
	}
	if v == any(omit) {
		delete(body, a.name)
		return
	}
	body[a.name] = v
}

// sample returns a value that matches the attribute's definition, nil if none can be generated. The same seed gives the same value.
func (a attrDef) sample(seed string) any {
	v := a.element(seed)
	if v != nil && a.multi {
		return []any{v}
	}
	return v
}

func (a attrDef) element(seed string) any {
	switch a.kind {
	case "boolean":
		return true
	case "integer":
		return 42
	case "decimal":
		return 1.5
	case "dateTime":
		return "2026-01-31T10:20:30Z"
	case "binary":
		return "AAEC"
	case "reference":
		if slices.ContainsFunc(a.references, func(r string) bool { return r != "external" && r != "uri" }) {
			return nil
		}
		return "https://example.com/" + seed
	case "complex":
		out := doc{}
		for _, sub := range a.subs {
			if v := sub.sample(seed); v != nil && sub.writable() &&
				(sub.required || sub.kind == "string" && sub.name != "type" && sub.mutability == "readWrite") {
				out[sub.name] = v
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	if len(a.canonical) > 0 {
		return a.canonical[0]
	}
	if a.name == "password" {
		return "Xy7!" + seed
	}
	return seed
}

// fresh returns a body that creates an object of the type: its name and the required attributes.
func (td typeDef) fresh(t *T, label string) doc {
	var body doc
	switch td.endpoint {
	case "/Users":
		body = t.User(label, nil)
	case "/Groups":
		body = t.Group(label, nil)
	default:
		body = doc{"schemas": []string{td.schema}, td.carrier: t.Prefix() + label}
		t.Names(td.endpoint, td.carrier)
	}
	for _, a := range td.attributes {
		given := false
		if a.urn == "" {
			_, given = body[a.name]
		}
		if a.required && a.writable() && !given && !a.common() && (a.urn == "" || slices.Contains(td.mandatory, a.urn)) {
			if v := a.sample(t.Prefix() + label + "-" + a.name); v != nil {
				a.set(body, v)
			}
		}
	}
	return body
}

// with returns the body of [typeDef.fresh] in which the attribute a has the value v.
func (td typeDef) with(t *T, label string, a attrDef, v any) doc {
	body := td.fresh(t, label)
	a.set(body, v)
	if _, named := body[td.carrier].(string); !named {
		body["externalId"] = t.Prefix() + label // so that the cleanup can find an object without a name, if the target creates one
	}
	return body
}

// address returns the path of the object that a response has created, "" if it has created none.
func (td typeDef) address(res *conformance.Response) string {
	if id := res.Object().Text("id"); res.OK() && id != "" {
		return td.endpoint + "/" + url.PathEscape(id)
	}
	return ""
}

// traits calls the function `use` for every attribute for which the function `has` returns true. If there is no such attribute, it skips
// the check. Attributes that RFC 7643 defines for users and groups are included, except those of [attrDef.common].
func traits(t *T, what string, has func(td typeDef, a attrDef) bool, use func(td typeDef, a attrDef)) {
	found := false
	for _, td := range types(t) {
		for _, a := range td.attributes {
			if !a.common() && has(td, a) {
				found = true
				use(td, a)
			}
		}
	}
	t.SkipIf(!found, "the target's schemas define no testable attribute that "+what)
}

// blocked records that an attribute could not be tested.
func blocked(t *T, td typeDef, a attrDef, res *conformance.Response) {
	t.Note("%s of %s could not be tested: %s returned %d", a.path(), td.name, res.Name, res.Status)
}

// label returns the attribute's name in a form for names of test objects, with a suffix.
func (a attrDef) label(suffix string) string { return strings.ToLower(a.name) + suffix }

// created posts an object in which the attribute a has the value v, and returns the path of the created object. If the target does not
// create the object, the path is "".
func created(ctx context.Context, t *T, td typeDef, a attrDef, v any) (where string, body doc, res *conformance.Response) {
	body = td.with(t, a.label(""), a, v)
	res = t.Post(ctx, td.endpoint, body)
	if where = td.address(res); where == "" {
		blocked(t, td, a, res)
	}
	return where, body, res
}
