package checks

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// trafficSchemas are the checks of values against the schemas of the target.
var trafficSchemas = []check{
	{
		ID:           "traffic.one-primary",
		Title:        "No multi-valued attribute has two primary elements",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients use the first primary address; it can differ between responses, so email goes to different addresses.",
		Fix:          "If a request makes one element primary, remove primary from all other elements of the attribute.",
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodDelete {
				return // a body shows the state that another request has stored
			}
			for _, o := range w.Resources() {
				for name, v := range o.All() {
					list, _ := v.([]any)
					primary := 0
					for _, item := range list {
						if e, ok := item.(*scim.Object); ok {
							if on, _ := e.Bool("primary"); on {
								primary++
							}
						}
					}
					if len(list) > 0 {
						w.Holds(primary < 2, "primary elements of "+name, "at most one", primary)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.written-only",
		Title:        "No response has an attribute that the schema declares as writeOnly or with returned \"never\"",
		Requirements: reqs("RFC7643-7-19", "RFC7643-7-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "Such attributes hold secrets such as passwords; any client that may read the resource would learn them.",
		Fix:          "Omit these attributes according to the schema, in the one function that writes resources.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range byName(declared(w, o)) {
					if d.Text("returned") == "never" || d.Text("mutability") == "writeOnly" {
						w.Holds(!has(o, name), name, "nothing", "a value")
					}
				}
			}
		},
	},
	{
		ID:           "traffic.types",
		Title:        "Every attribute and sub-attribute has the JSON type of its schema",
		Requirements: reqs("RFC7643-2.3-02", "RFC7643-2.4-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Typed clients are generated from the schema: a string in place of a declared boolean is a parse error.",
		Fix:          "Write booleans and numbers without quotation marks, and a multi-valued attribute as an array, even if it has one element.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range byName(declared(w, o)) {
					if v, there := o.Get(name); there && v != nil {
						hasKind(w, name, d, v)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.declared",
		Title:        "No resource has an attribute that its schemas do not declare",
		Requirements: reqs("RFC7643-3-05"),
		Level:        interop,
		Fixture:      sample,
		Why:          "Typed clients drop undeclared attributes, so a later PUT loses them.",
		Fix:          "Declare the attribute in /Schemas (in your own extension if the RFC does not define it), or omit it.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				known := declared(w, o)
				if len(known) == 0 {
					continue
				}
				for name := range o.All() {
					common := slices.ContainsFunc([]string{"schemas", "id", "externalId", "meta"}, func(c string) bool { return scim.EqualName(c, name) })
					_, ok := known[strings.ToLower(name)]
					w.Holds(ok || common || strings.HasPrefix(strings.ToLower(name), "urn:"), "member "+name, "an attribute that the schema declares",
						"an undeclared attribute")
				}
			}
		},
	},
}

// declared returns the definitions of a resource's core attributes from the target's /Schemas, by name in lower case. The map is empty if
// the base schema is unknown.
func declared(w *watched, o *scim.Object) map[string]*scim.Object {
	if w.Capabilities == nil || discoveries[w.Collection()] {
		return nil
	}
	known := map[string]*scim.Object{}
	for _, urn := range texts(o, "schemas") {
		if rt := w.Capabilities.ResourceType(urn); rt == nil {
			continue
		}
		for _, a := range w.Capabilities.Schema(urn).Array("attributes") {
			if d, ok := a.(*scim.Object); ok {
				known[strings.ToLower(d.Text("name"))] = d
			}
		}
	}
	return known
}

// hasKind expects that a value and its sub-attributes have the JSON types of the definition d. path is the path of the attribute.
func hasKind(w *watched, path string, d *scim.Object, v any) {
	if !w.Holds(fitsKind(d, v), path, kindOf(d), v) || d.Text("type") != "complex" {
		return
	}
	elements, isList := v.([]any)
	if !isList {
		elements = []any{v}
	}
	for _, item := range d.Array("subAttributes") {
		sub, _ := item.(*scim.Object)
		for _, e := range elements {
			complex, _ := e.(*scim.Object)
			if part, there := complex.Get(sub.Text("name")); there && part != nil {
				hasKind(w, path+"."+strings.ToLower(sub.Text("name")), sub, part)
			}
		}
	}
}

// fitsKind reports whether a value has the JSON type of its definition.
func fitsKind(d *scim.Object, v any) bool {
	if many, _ := d.Bool("multiValued"); many {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { return item != nil && !isKind(d.Text("type"), item) })
	}
	return isKind(d.Text("type"), v)
}

var integerForm = regexp.MustCompile(`^-?(0|[1-9]\d*)$`)

func isKind(kind string, v any) bool {
	text := string(scim.AppendValue(nil, v))
	switch kind {
	case "", "string", "reference", "binary", "dateTime":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		return integerForm.MatchString(text)
	case "decimal":
		return text != "" && strings.ContainsAny(text[:1], "-0123456789")
	case "complex":
		_, ok := v.(*scim.Object)
		return ok
	}
	return true // a type that the suite does not support
}

func kindOf(d *scim.Object) string {
	if many, _ := d.Bool("multiValued"); many {
		return "an array of " + d.Text("type")
	}
	return d.Text("type")
}
