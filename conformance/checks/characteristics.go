package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// The checks of this area read the characteristics of attributes from the schemas of the target, and expect the target to enforce them.

var (
	writesAny  = needs(conformance.NeedWrite)
	patchesAny = needs(conformance.NeedWrite, conformance.NeedPatch)
)

const (
	whySchema = "Clients build their requests from the schema; if the server behaves differently, their requests fail or lose data."
	fixSchema = "Enforce the schema, or change it so that it describes what the server does."
)

var characteristics = []check{
	{
		ID:           "characteristics.required",
		Title:        "A POST without an attribute that the schema declares as required is rejected",
		Requirements: reqs("RFC7643-7-32", "RFC7644-3.3-11"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whySchema,
		Fix:          "Return 400 for a POST without the attribute, or set required to false in the schema.",
		Run:          characteristicsRequired,
	},
	{
		ID:           "characteristics.required-sub-attribute",
		Title:        "A POST with a value that lacks a required sub-attribute is rejected",
		Requirements: reqs("RFC7643-7-32"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          whySchema,
		Fix:          "Return 400 for a value without the sub-attribute, or set required to false in the schema.",
		Run:          characteristicsRequiredSubAttribute,
	},
	{
		ID:           "characteristics.required-extension",
		Title:        "A POST without an extension that the resource type declares as required is rejected, or the server adds the extension",
		Requirements: reqs("RFC7643-6-10"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          whySchema,
		Fix:          "Return 400 for a POST without the extension, or set required to false in schemaExtensions of the resource type.",
		Run:          characteristicsRequiredExtension,
	},
	{
		ID:           "characteristics.read-only-create",
		Title:        "readOnly attributes in a POST are ignored",
		Requirements: reqs("RFC7644-3.3-02", "RFC7643-7-17"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "Clients send back whole resources that they have read; a server that rejects readOnly attributes blocks every such POST.",
		Fix:          "Ignore readOnly attributes in the body.",
		Run:          characteristicsReadOnlyCreate,
	},
	{
		ID:           "characteristics.read-only-replace",
		Title:        "readOnly attributes in a PUT are ignored",
		Requirements: reqs("RFC7644-3.5.1-11", "RFC7643-7-17"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "Clients send back whole resources that they have read; a server that rejects readOnly attributes blocks every such PUT.",
		Fix:          "Ignore readOnly attributes in the body.",
		Run:          characteristicsReadOnlyReplace,
	},
	{
		ID:           "characteristics.read-only-patch",
		Title:        "A PATCH of a readOnly attribute is rejected and does not change the attribute",
		Requirements: reqs("RFC7644-3.5.2-14", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why: "If the PATCH returns a success, the client records a value that the server did not store, or falsifies data of " +
			"the server.",
		Fix: "Return 400 with scimType mutability for every operation on a readOnly attribute.",
		Run: characteristicsReadOnlyPatch,
	},
	{
		ID:           "characteristics.immutable-same",
		Title:        "A PUT that repeats the value of an immutable attribute succeeds",
		Requirements: reqs("RFC7644-3.5.1-08"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A PUT contains all attributes; if the server rejects the repeated value, clients cannot replace the object.",
		Fix:          "Accept an immutable attribute in a PUT if its value equals the stored one.",
		Run:          characteristicsImmutableSame,
	},
	{
		ID:           "characteristics.immutable-replace",
		Title:        "A PUT that changes the value of an immutable attribute is rejected, and the stored value remains",
		Requirements: reqs("RFC7643-7-18", "RFC7644-3.5.1-07"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "Other systems use the value as a key; after a change they no longer find the object.",
		Fix:          "Return 400 with scimType mutability when the value differs from the stored one.",
		Run:          characteristicsImmutableReplace,
	},
	{
		ID:           "characteristics.immutable-patch",
		Title:        "A PATCH that changes the value of an immutable attribute is rejected, and the stored value remains",
		Requirements: reqs("RFC7644-3.5.2-15", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "Other systems use the value as a key; after a change they no longer find the object.",
		Fix:          "Return 400 with scimType mutability when the attribute already has another value.",
		Run:          characteristicsImmutablePatch,
	},
	{
		ID:           "characteristics.immutable-first-put",
		Title:        "A PUT sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.1-09"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "If the server rejects the first value, the client has to delete the object and create it again with the value.",
		Fix:          "Return 400 with scimType mutability only if the attribute already has another value.",
		Run:          characteristicsImmutableFirstPut,
	},
	{
		ID:           "characteristics.immutable-first-patch",
		Title:        "A PATCH add sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.2-16"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "If the server rejects the first value, the client has to delete the object and create it again with the value.",
		Fix:          "Return 400 with scimType mutability only if the attribute already has another value.",
		Run:          characteristicsImmutableFirstPatch,
	},
	{
		ID:           "characteristics.immutable-omitted",
		Title:        "A PUT without an immutable attribute preserves its value",
		Requirements: reqs("RFC7644-3.5.1-10"),
		Level:        should,
		Needs:        writesAny,
		Requests:     4,
		Why:          "If the value disappears, other systems that use it as a key no longer find the object.",
		Fix:          "Preserve the stored value when a PUT omits the attribute, or return 400 with scimType mutability.",
		Run:          characteristicsImmutableOmitted,
	},
	{
		ID:           "characteristics.write-only",
		Title:        "writeOnly attributes appear in no response",
		Requirements: reqs("RFC7643-7-19"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "writeOnly attributes hold secrets such as passwords; any client that may read the object would learn them.",
		Fix:          "Omit writeOnly attributes from the body of every response, whatever the attributes parameter names.",
		Run:          characteristicsWriteOnly,
	},
	{
		ID:           "characteristics.returned-never",
		Title:        "Attributes with returned \"never\" are absent, even if the attributes parameter names them",
		Requirements: reqs("RFC7643-7-21"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "Attributes with returned \"never\" hold secrets; any client could read them with the attributes parameter.",
		Fix:          "Remove attributes with returned \"never\" after applying the attributes parameter.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is never returned", trait(func(a attrDef) bool { return a.returned == "never" && a.writable() && a.sample("x") != nil }),
				func(td typeDef, a attrDef) {
					if where, _, _ := created(ctx, t, td, a, a.sample(t.Prefix()+"secret")); where != "" {
						t.Holds(a.of(a.requested(ctx, t, where)) == nil, td.describe(a)+" in a GET whose attributes parameter names it", "absent", "present")
					}
				})
		},
	},
	{
		ID:           "characteristics.returned-always",
		Title:        "Attributes with returned \"always\" are present, whatever the parameters attributes and excludedAttributes name",
		Requirements: reqs("RFC7643-7-20"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whySchema,
		Fix:          "Add the attributes with returned \"always\" after applying the parameters attributes and excludedAttributes.",
		Run:          characteristicsReturnedAlways,
	},
	{
		ID:           "characteristics.returned-request",
		Title:        "Attributes with returned \"request\" are omitted unless the attributes parameter names them",
		Requirements: reqs("RFC7643-7-24"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "These attributes can be large, for example the members of a group; including them slows down every list.",
		Fix:          "Omit attributes with returned \"request\" by default, and add them if the attributes parameter names them.",
		Run:          characteristicsReturnedRequest,
	},
	{
		ID:           "characteristics.returned-request-written",
		Title:        "Attributes with returned \"request\" are in the response to the POST that sets them",
		Requirements: reqs("RFC7643-7-25"),
		Level:        must,
		Needs:        writesAny,
		Requests:     2,
		Why:          "If the response omits the attribute, the client does not learn which value the server stored.",
		Fix:          "In the response to a POST, also return the attributes with returned \"request\" that the body of the POST contains.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is returned on request",
				trait(func(a attrDef) bool { return a.returned == "request" && a.writable() && a.sample("x") != nil }), func(td typeDef, a attrDef) {
					if where, _, res := created(ctx, t, td, a, a.sample("written")); where != "" {
						t.Expect(td.describe(a)+" in the response to POST", a.sample("written"), a.of(res.Object()))
					}
				})
		},
	},
	{
		ID: "characteristics.unique",
		Title: "A POST with a value of a unique attribute that another object has is rejected; a PUT that repeats the object's own value is " +
			"not",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-26"),
		Level:        should,
		Needs:        writesAny,
		Requests:     8,
		Why:          "Clients find an object by its unique value; with two matches they link or change the wrong object.",
		Fix: "Create a unique index for every attribute with uniqueness server or global. In a PUT, compare the value only with " +
			"those of other objects.",
		Run: characteristicsUnique,
	},
	{
		ID: "characteristics.unique-other-case",
		Title: "A POST is rejected if its value of a unique attribute that is not caseExact differs only by case from the value of another " +
			"object",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-14"),
		Level:        should,
		Needs:        writesAny,
		Requests:     6,
		Why:          "If two values differ only by case, a lookup finds two objects, and the client links or changes the wrong one.",
		Fix:          "Create the unique index on the case-folded value, unless caseExact is true.",
		Run:          characteristicsUniqueOtherCase,
	},
	{
		ID:           "characteristics.case-kept",
		Title:        "The value of a caseExact attribute is returned in the case in which it was sent",
		Requirements: reqs("RFC7643-7-15"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "Other systems compare the value exactly; after its case changes, they no longer find the object.",
		Fix:          "Store caseExact values as received; do not convert their case.",
		Run:          characteristicsCaseKept,
	},
	{
		ID:           "characteristics.canonical-values",
		Title:        "A value that is not among the canonicalValues of its attribute is stored as sent, ignored or rejected",
		Requirements: reqs("RFC7643-7-13", "RFC7643-2.3.1-02"),
		Level:        should,
		Needs:        writesAny,
		Requests:     3,
		Why:          "If the server silently stores another value, client and server hold different data.",
		Fix:          "Store the value as sent, ignore it, or return 400 invalidValue; do not replace it with another value.",
		Run:          characteristicsCanonicalValues,
	},
}

func characteristicsRequired(ctx context.Context, t *T) {
	traits(t, "is required", func(td typeDef, a attrDef) bool {
		return a.required && a.writable() && (a.urn == "" || slices.Contains(td.mandatory, a.urn))
	}, func(td typeDef, a attrDef) {
		res := t.Post(ctx, td.endpoint, td.with(t, a.label(""), a, omit))
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST without "+td.describe(a), "400", res.Status)
	})
}

func characteristicsRequiredSubAttribute(ctx context.Context, t *T) {
	traits(t, "has a required sub-attribute", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.writable() && slices.ContainsFunc(a.subs, func(s attrDef) bool { return s.required }) &&
			slices.ContainsFunc(a.subs, func(s attrDef) bool { return !s.required && s.kind == "integer" || s.kind == "boolean" })
	}, func(td typeDef, a attrDef) {
		incomplete := doc{}
		for _, s := range a.subs {
			if !s.required && (s.kind == "integer" || s.kind == "boolean") {
				incomplete[s.name] = s.sample("x")
			}
		}
		var v any = incomplete
		if a.multi {
			v = []any{incomplete}
		}
		res := t.Post(ctx, td.endpoint, td.with(t, a.label(""), a, v))
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with "+td.describe(a)+" without its required sub-attributes",
			"400", res.Status)
	})
}

func characteristicsRequiredExtension(ctx context.Context, t *T) {
	found := false
	for _, td := range types(t) {
		for _, urn := range td.mandatory {
			found = true
			body := td.fresh(t, "bare")
			delete(body, urn)
			body["schemas"] = []string{td.schema}
			res := t.Post(ctx, td.endpoint, body)
			if res.OK() && !slices.ContainsFunc(td.attributes, func(a attrDef) bool { return a.urn == urn && a.required }) {
				// If the extension has no required attributes, the server may add it. The response must then have its URN in schemas.
				added := slices.ContainsFunc(texts(res.Object(), "schemas"), func(s string) bool { return scim.EqualName(s, urn) })
				t.Holds(added, "schemas in the response to a POST of a "+td.name+" without "+urn, urn+", or the status 400",
					value(res.Object(), "schemas"))
				continue
			}
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST of a "+td.name+" without "+urn, "400", res.Status)
		}
	}
	t.SkipIf(!found, "no resource type requires an extension")
}

func characteristicsReadOnlyCreate(ctx context.Context, t *T) {
	traits(t, "is readOnly", trait(func(a attrDef) bool { return !a.writable() && a.sample("x") != nil && !a.hidden() }),
		func(td typeDef, a attrDef) {
			forged := a.sample("scimconf-forged")
			where, _, res := created(ctx, t, td, a, forged)
			if t.Holds(res.OK(), "status of a POST with "+td.describe(a), "201", res.Status) {
				got := a.of(t.Read(ctx, where).Object())
				t.Holds(!scim.Equal(plain(forged), got), td.describe(a), "the target's own value, or absent", got)
			}
		})
}

func characteristicsReadOnlyReplace(ctx context.Context, t *T) {
	traits(t, "is readOnly", trait(func(a attrDef) bool { return !a.writable() && a.sample("x") != nil && !a.hidden() }),
		func(td typeDef, a attrDef) {
			body := td.fresh(t, a.label(""))
			where := td.address(t.Post(ctx, td.endpoint, body))
			if where == "" {
				return
			}
			forged := a.sample("scimconf-forged")
			a.set(body, forged)
			res := t.Put(ctx, where, body)
			t.Expect("status of a PUT with "+td.describe(a), 200, res.Status)
			got := a.of(t.Read(ctx, where).Object())
			t.Holds(!scim.Equal(plain(forged), got), td.describe(a), "the target's own value, or absent", got)
		})
}

func characteristicsReadOnlyPatch(ctx context.Context, t *T) {
	traits(t, "is readOnly", trait(func(a attrDef) bool { return !a.writable() && a.sample("x") != nil && !a.hidden() }),
		func(td typeDef, a attrDef) {
			where := td.address(t.Post(ctx, td.endpoint, td.fresh(t, a.label(""))))
			if where == "" {
				return
			}
			forged := a.sample("scimconf-forged")
			res := t.Patch(ctx, where, doc{"op": "replace", "path": a.path(), "value": forged})
			t.Warn(res.Status == 400, "status of a PATCH of "+td.describe(a), "400", res.Status)
			got := a.of(t.Read(ctx, where).Object())
			t.Holds(!scim.Equal(plain(forged), got), td.describe(a), "the target's own value, or absent", got)
		})
}

func characteristicsImmutableSame(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			res := t.Put(ctx, where, body)
			t.Expect("status of a PUT that repeats "+td.describe(a), 200, res.Status)
		}
	})
}

func characteristicsImmutableReplace(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			a.set(body, a.sample("second"))
			res := t.Put(ctx, where, body)
			t.Warn(res.Status == 400, "status of a PUT that changes "+td.describe(a), "400", res.Status)
			t.Expect(td.describe(a)+" after the PUT", a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutablePatch(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			res := t.Patch(ctx, where, doc{"op": "replace", "path": a.path(), "value": a.sample("second")})
			t.Expect("status of a PATCH that changes "+td.describe(a), 400, res.Status)
			t.Expect(td.describe(a)+" after the PATCH", a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableFirstPut(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		body := td.fresh(t, a.label(""))
		if where := td.address(t.Post(ctx, td.endpoint, body)); where != "" {
			a.set(body, a.sample("first"))
			res := t.Put(ctx, where, body)
			t.Expect("status of a PUT that sets "+td.describe(a), 200, res.Status)
			t.Expect(td.describe(a), a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableFirstPatch(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where := td.address(t.Post(ctx, td.endpoint, td.fresh(t, a.label("")))); where != "" {
			succeeded(t, t.Patch(ctx, where, doc{"op": "add", "path": a.path(), "value": a.sample("first")}), 200, 204)
			t.Expect(td.describe(a), a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableOmitted(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			a.set(body, omit)
			t.Put(ctx, where, body)
			t.Expect(td.describe(a)+" after a PUT without it", a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsWriteOnly(ctx context.Context, t *T) {
	traits(t, "is writeOnly", trait(func(a attrDef) bool { return a.mutability == "writeOnly" && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			where, _, res := created(ctx, t, td, a, a.sample(t.Prefix()+"secret"))
			if where == "" {
				return
			}
			t.Holds(a.of(res.Object()) == nil, td.describe(a)+" in the response to POST", "absent", "present")
			t.Holds(a.of(t.Get(ctx, where).Object()) == nil, td.describe(a)+" in GET", "absent", "present")
		})
}

func characteristicsReturnedAlways(ctx context.Context, t *T) {
	traits(t, "is always returned", trait(func(a attrDef) bool { return a.returned == "always" && a.writable() && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, a.sample("kept")); where != "" {
				t.Expect(td.describe(a)+" when the attributes parameter names another attribute", a.sample("kept"),
					a.of(t.Get(ctx, where, "attributes", td.carrier).Object()))
				t.Expect(td.describe(a)+" when excludedAttributes names it", a.sample("kept"),
					a.of(t.Get(ctx, where, "excludedAttributes", a.path()).Object()))
			}
		})
}

func characteristicsReturnedRequest(ctx context.Context, t *T) {
	traits(t, "is returned on request", trait(func(a attrDef) bool { return a.returned == "request" && a.writable() && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, a.sample("asked")); where != "" {
				t.Holds(a.of(t.Get(ctx, where).Object()) == nil, td.describe(a)+" in a GET without parameters", "absent", "present")
				t.Expect(td.describe(a)+" when the attributes parameter names it", a.sample("asked"), a.of(a.requested(ctx, t, where)))
			}
		})
}

func characteristicsUnique(ctx context.Context, t *T) {
	traits(t, "is unique", uniqueAttribute, func(td typeDef, a attrDef) {
		v := a.sample(t.Prefix() + "unique")
		where, body, _ := created(ctx, t, td, a, v)
		if where == "" {
			return
		}
		own := t.Put(ctx, where, body)
		t.Holds(own.Status != 409, "status of a PUT that repeats the object's own "+td.describe(a), "200", own.Status)
		second := t.Post(ctx, td.endpoint, td.with(t, a.label("-second"), a, v))
		t.Holds(second.Status == 409 || second.Status == 400, "status of a second POST with the same "+td.describe(a), "409", second.Status)
	})
}

func characteristicsUniqueOtherCase(ctx context.Context, t *T) {
	traits(t, "is unique case-insensitively",
		func(td typeDef, a attrDef) bool { return uniqueAttribute(td, a) && !a.caseExact && a.kind == "string" }, func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, t.Prefix()+"shadow"); where != "" {
				second := t.Post(ctx, td.endpoint, td.with(t, a.label("-second"), a, strings.ToUpper(t.Prefix()+"shadow")))
				t.Holds(second.Status == 409 || second.Status == 400, "status of a second POST with the same "+td.describe(a)+" in upper case", "409",
					second.Status)
			}
		})
}

func characteristicsCaseKept(ctx context.Context, t *T) {
	traits(t, "is a caseExact string", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.caseExact && a.kind == "string" && !a.multi && a.writable() && !a.hidden() && len(a.canonical) == 0 &&
			!carries(td, a)
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, "MiXeD-Case"); where != "" {
			t.Expect(td.describe(a), "MiXeD-Case", a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsCanonicalValues(ctx context.Context, t *T) {
	traits(t, "has canonical values", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && len(a.canonical) > 0 && a.writable() && !a.hidden() && !a.multi
	}, func(td typeDef, a attrDef) {
		where, _, res := created(ctx, t, td, a, "scimconf-other")
		if where == "" {
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with a non-canonical value of "+td.describe(a), "201, or 400",
				res.Status)
			return
		}
		got := a.of(t.Read(ctx, where).Object())
		t.Holds(got == nil || got == "scimconf-other", td.describe(a), "scimconf-other, or absent", got)
	})
}

// uniqueAttribute reports whether a check can test the uniqueness of an attribute: the schema declares the attribute as unique, it is
// single-valued and writable, it does not hold the name of test objects, and it is a string or [ownAttribute] is true.
func uniqueAttribute(td typeDef, a attrDef) bool {
	testable := (ownAttribute(td, a) || a.kind == "string") && a.writable() && !a.multi && a.sample("x") != nil && !carries(td, a)
	return testable && (a.uniqueness == "server" || a.uniqueness == "global") && (a.urn == "" || slices.Contains(td.mandatory, a.urn))
}

// ownAttribute reports whether an attribute belongs to a custom resource type or to an extension, including the enterprise extension.
// Servers often have further rules for the other attributes, those of the User and Group schemas, and may reject the values of a check.
func ownAttribute(td typeDef, a attrDef) bool { return td.custom() || a.urn != "" }

// carries reports whether the attribute holds the name of a test object.
func carries(td typeDef, a attrDef) bool { return a.urn == "" && a.name == td.carrier }

// trait returns a condition for [traits] that depends only on the attribute, not on the resource type.
func trait(has func(a attrDef) bool) func(typeDef, attrDef) bool {
	return func(_ typeDef, a attrDef) bool { return has(a) }
}

// describe returns the path of an attribute and the name of its type, for findings.
func (td typeDef) describe(a attrDef) string { return a.path() + " of " + td.name }

// settable reports whether an attribute is immutable, and a check can create objects with and without a value of it.
func settable(td typeDef, a attrDef) bool {
	return a.mutability == "immutable" && !a.required && !carries(td, a) && a.sample("x") != nil && !a.hidden()
}

// requested reads the object at a path with a GET whose attributes parameter names the attribute.
func (a attrDef) requested(ctx context.Context, t *T, where string) *scim.Object {
	return t.Get(ctx, where, "attributes", a.path()).Object()
}
