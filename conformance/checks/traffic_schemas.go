package checks

import (
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
		Why:          "Clients take the first primary address they find, and the choice changes from answer to answer.",
		Fix:          "Clear primary on the others whenever one is set.",
		Watch: func(w *watched) {
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
		Title:        "No answer has an attribute that the schema calls writeOnly or returned never",
		Requirements: reqs("RFC7643-7-19", "RFC7643-7-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "What is never to be returned is a secret.",
		Fix:          "Filter answers by the schema, in the one place where resources are written.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range declared(w, o) {
					if d.Text("returned") == "never" || d.Text("mutability") == "writeOnly" {
						w.Holds(!has(o, name), name, "nothing", "a value")
					}
				}
			}
		},
	},
	{
		ID:           "traffic.types",
		Title:        "Every attribute has the JSON kind that its schema declares",
		Requirements: reqs("RFC7643-2.3-02", "RFC7643-2.4-01"),
		Level:        must,
		Fixture:      sample,
		Why:          "Typed clients are generated from the schema: a text where a boolean is declared ends the parsing.",
		Fix:          "Write booleans, numbers and arrays as such; do not unwrap an array of one element.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for name, d := range declared(w, o) {
					if v, there := o.Get(name); there && v != nil {
						w.Holds(fitsKind(d, v), name, kindOf(d), v)
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
		Why:          "Typed clients drop what the schema does not declare, and send it back without.",
		Fix:          "Declare the attribute in /Schemas, in an extension of your own if it is not of the RFC, or leave it out.",
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
						"one that it does not")
				}
			}
		},
	},
}

// declared returns the definitions of a resource's core attributes by name in lower case, as the target's own /Schemas has
// them; none when the base schema is not known.
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

// fitsKind tells whether a value has the JSON kind of its definition.
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
	return true // a type that the suite does not know
}

func kindOf(d *scim.Object) string {
	if many, _ := d.Bool("multiValued"); many {
		return "an array of " + d.Text("type")
	}
	return d.Text("type")
}
