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
		Title:        "An object without a required attribute is rejected",
		Requirements: reqs("RFC7643-7-32", "RFC7644-3.3-11"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whySchema,
		Fix:          "Check required attributes before storing, or set required to false.",
		Run:          characteristicsRequired,
	},
	{
		ID:           "characteristics.required-sub-attribute",
		Title:        "A value without a required sub-attribute is rejected",
		Requirements: reqs("RFC7643-7-32"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          whySchema,
		Fix:          "Check required sub-attributes for every value.",
		Run:          characteristicsRequiredSubAttribute,
	},
	{
		ID:           "characteristics.required-extension",
		Title:        "An object without a required extension is rejected",
		Requirements: reqs("RFC7643-6-10"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          whySchema,
		Fix:          "Check required extensions before storing, or set required to false.",
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
		Title:        "A PATCH of a readOnly attribute is rejected and does not change it",
		Requirements: reqs("RFC7644-3.5.2-14", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "After a success response, the client records a change that the server did not make.",
		Fix:          "Check mutability for each operation and return 400 with scimType mutability.",
		Run:          characteristicsReadOnlyPatch,
	},
	{
		ID:           "characteristics.immutable-same",
		Title:        "A PUT that repeats the value of an immutable attribute succeeds",
		Requirements: reqs("RFC7644-3.5.1-08"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A PUT contains all attributes; if the repeated value were rejected, no client could replace the object.",
		Fix:          "Compare the value with the stored one, and accept it when they are equal.",
		Run:          characteristicsImmutableSame,
	},
	{
		ID:           "characteristics.immutable-replace",
		Title:        "A PUT that changes an existing value of an immutable attribute is rejected and does not change it",
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
		Title:        "A PATCH that changes an existing value of an immutable attribute is rejected and does not change it",
		Requirements: reqs("RFC7644-3.5.2-15", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "Other systems use the value as a key; after a change they no longer find the object.",
		Fix:          "Return 400 with scimType mutability when the attribute already has a value.",
		Run:          characteristicsImmutablePatch,
	},
	{
		ID:           "characteristics.immutable-first-put",
		Title:        "A PUT sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.1-09"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "If the first value is rejected, the client has to delete and create the object again to set it.",
		Fix:          "Reject changes of an existing value, not the first value.",
		Run:          characteristicsImmutableFirstPut,
	},
	{
		ID:           "characteristics.immutable-first-patch",
		Title:        "A PATCH add sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.2-16"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "If the first value is rejected, the client has to delete and create the object again to set it.",
		Fix:          "Reject changes of an existing value, not the first value.",
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
		Fix:          "Omit writeOnly attributes from every representation.",
		Run:          characteristicsWriteOnly,
	},
	{
		ID:           "characteristics.returned-never",
		Title:        "Attributes that are never returned are absent even when requested by name",
		Requirements: reqs("RFC7643-7-21"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "Attributes that are never returned hold secrets such as passwords; any client could read them by naming them.",
		Fix:          "Remove attributes with returned \"never\" after applying the attributes parameter.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is never returned", trait(func(a attrDef) bool { return a.returned == "never" && a.writable() && a.sample("x") != nil }),
				func(td typeDef, a attrDef) {
					if where, _, _ := created(ctx, t, td, a, a.sample(t.Prefix()+"secret")); where != "" {
						t.Holds(a.of(a.requested(ctx, t, where)) == nil, td.describe(a)+", requested by name", "absent", "present")
					}
				})
		},
	},
	{
		ID:           "characteristics.returned-always",
		Title:        "Attributes with returned \"always\" are present, even if attributes or excludedAttributes exclude them",
		Requirements: reqs("RFC7643-7-20"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whySchema,
		Fix:          "Add the attributes with returned \"always\" after applying attributes and excludedAttributes.",
		Run:          characteristicsReturnedAlways,
	},
	{
		ID:           "characteristics.returned-request",
		Title:        "Attributes with returned \"request\" are omitted unless the client requests them",
		Requirements: reqs("RFC7643-7-24"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "These attributes can be large, for example the members of a group; including them slows down every list.",
		Fix:          "Omit them from the default representation, and add them when the attributes parameter names them.",
		Run:          characteristicsReturnedRequest,
	},
	{
		ID:           "characteristics.returned-request-written",
		Title:        "Attributes with returned \"request\" are in the response to the POST that sets them",
		Requirements: reqs("RFC7643-7-25"),
		Level:        must,
		Needs:        writesAny,
		Requests:     2,
		Why:          "Without them, the client does not learn whether the server stored or changed the values that it sent.",
		Fix:          "Add the attributes of the request body to the representation in the response.",
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
		ID:           "characteristics.unique",
		Title:        "A duplicate of a unique value is rejected, except for the object that already has the value",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-26"),
		Level:        should,
		Needs:        writesAny,
		Requests:     8,
		Why:          "Clients find an object by its unique value; with two matches they link or change the wrong object.",
		Fix: "Create a unique index for every attribute with uniqueness server or global; exclude the object itself from the " +
			"comparison.",
		Run: characteristicsUnique,
	},
	{
		ID:           "characteristics.unique-other-case",
		Title:        "A unique value that is not caseExact is unique case-insensitively",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-14"),
		Level:        should,
		Needs:        writesAny,
		Requests:     6,
		Why:          "A lookup by such a value finds two objects, and the client links or changes the wrong one.",
		Fix:          "Index the case-folded value unless the attribute is caseExact.",
		Run:          characteristicsUniqueOtherCase,
	},
	{
		ID:           "characteristics.case-kept",
		Title:        "The case of caseExact values is preserved",
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
		Title:        "A value that is not among the canonical values is stored or rejected",
		Requirements: reqs("RFC7643-7-13", "RFC7643-2.3.1-02"),
		Level:        should,
		Needs:        writesAny,
		Requests:     3,
		Why:          "If the server silently stores another value, client and server hold different data.",
		Fix:          "Store the value, or return 400 invalidValue.",
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
		part := doc{}
		for _, s := range a.subs {
			if !s.required && (s.kind == "integer" || s.kind == "boolean") {
				part[s.name] = s.sample("x")
			}
		}
		var v any = part
		if a.multi {
			v = []any{part}
		}
		res := t.Post(ctx, td.endpoint, td.with(t, a.label(""), a, v))
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with an incomplete "+td.describe(a), "400", res.Status)
	})
}

func characteristicsRequiredExtension(ctx context.Context, t *T) {
	found := false
	for _, td := range types(t) {
		for _, urn := range td.mandatory {
			if !slices.ContainsFunc(td.attributes, func(a attrDef) bool { return a.urn == urn && a.required }) {
				continue // without required attributes, an absent extension is valid
			}
			found = true
			body := td.fresh(t, "bare")
			delete(body, urn)
			body["schemas"] = []string{td.schema}
			res := t.Post(ctx, td.endpoint, body)
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
				t.Expect(td.describe(a)+" when another attribute is requested", a.sample("kept"),
					a.of(t.Get(ctx, where, "attributes", td.carrier).Object()))
				t.Expect(td.describe(a)+" when it is excluded", a.sample("kept"), a.of(t.Get(ctx, where, "excludedAttributes", a.path()).Object()))
			}
		})
}

func characteristicsReturnedRequest(ctx context.Context, t *T) {
	traits(t, "is returned on request", trait(func(a attrDef) bool { return a.returned == "request" && a.writable() && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, a.sample("asked")); where != "" {
				t.Holds(a.of(t.Get(ctx, where).Object()) == nil, td.describe(a)+" in a plain GET", "absent", "present")
				t.Expect(td.describe(a)+" when requested", a.sample("asked"), a.of(a.requested(ctx, t, where)))
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
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with a non-canonical "+td.describe(a), "201, or 400", res.Status)
			return
		}
		got := a.of(t.Read(ctx, where).Object())
		t.Holds(got == nil || got == "scimconf-other", td.describe(a), "scimconf-other, or absent", got)
	})
}

// uniqueAttribute selects writable attributes that are unique, except those that hold the name of test objects.
func uniqueAttribute(td typeDef, a attrDef) bool {
	return ownAttribute(td, a) && (a.uniqueness == "server" || a.uniqueness == "global") && a.writable() && !a.multi && a.sample("x") != nil &&
		!carries(td, a) && (a.urn == "" || slices.Contains(td.mandatory, a.urn))
}

// ownAttribute selects attributes of custom resource types and of extensions, including the enterprise extension. Only their values can be
// chosen freely: servers have rules for the other attributes.
func ownAttribute(td typeDef, a attrDef) bool { return td.custom() || a.urn != "" }

// carries reports whether the attribute holds the name of a test object.
func carries(td typeDef, a attrDef) bool { return a.urn == "" && a.name == td.carrier }

// trait selects attributes by a condition on the definition alone.
func trait(has func(a attrDef) bool) func(typeDef, attrDef) bool {
	return func(_ typeDef, a attrDef) bool { return has(a) }
}

// describe returns the path of an attribute and the name of its type, for findings.
func (td typeDef) describe(a attrDef) string { return a.path() + " of " + td.name }

// settable selects immutable attributes that may be absent.
func settable(td typeDef, a attrDef) bool {
	return a.mutability == "immutable" && !a.required && !carries(td, a) && a.sample("x") != nil && !a.hidden()
}

// requested reads an object with the attribute requested by name.
func (a attrDef) requested(ctx context.Context, t *T, where string) *scim.Object {
	return t.Get(ctx, where, "attributes", a.path()).Object()
}
