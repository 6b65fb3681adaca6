package checks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// The checks of this area know no schema: they read what the target says of its own attributes and hold it to that.

var (
	writesAny  = needs(conformance.NeedWrite)
	patchesAny = needs(conformance.NeedWrite, conformance.NeedPatch)
)

// ownAttribute selects attributes of resource types and extensions that RFC 7643 does not define, and of the enterprise
// extension: only their values are free of rules of their own.
func ownAttribute(td typeDef, a attrDef) bool { return td.custom() || a.urn != "" }

// carries says whether the attribute is the one that carries the name of a test object.
func carries(td typeDef, a attrDef) bool { return a.urn == "" && a.name == td.carrier }

// trait selects attributes by a condition on the definition alone.
func trait(has func(a attrDef) bool) func(typeDef, attrDef) bool {
	return func(_ typeDef, a attrDef) bool { return has(a) }
}

// naming says which attribute of which type a finding is about.
func (td typeDef) naming(a attrDef) string { return a.path() + " of " + td.name }

// settable selects immutable attributes that may be absent.
func settable(td typeDef, a attrDef) bool {
	return a.mutability == "immutable" && !a.required && !carries(td, a) && a.sample("x") != nil && !a.hidden()
}

// asked reads an object with the attribute asked for by name.
func (a attrDef) asked(ctx context.Context, t *T, where string) *scim.Object {
	return t.Get(ctx, where, "attributes", a.path()).Object()
}

// kindCheck is a check that values which do not fit a data type are refused, or not stored as they are.
func kindCheck(word, kind, title, requirement string, requests int, fits func(v any) bool, wrong ...any) check {
	return check{
		ID:           "characteristics." + word,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        must,
		Needs:        writesAny,
		Requests:     requests,
		Why:          "A value of another type breaks every reader after it.",
		Fix:          "Check the type of every value against the schema; answer 400 invalidValue.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is of the type "+kind, func(td typeDef, a attrDef) bool {
				return ownAttribute(td, a) && a.kind == kind && a.writable() && !a.hidden() && !a.multi && len(a.canonical) == 0 && !carries(td, a)
			}, func(td typeDef, a attrDef) {
				for i, v := range wrong {
					body := td.with(t, a.label("-"+string(rune('a'+i))), a, v)
					res := t.Post(ctx, td.endpoint, body)
					where := td.address(res)
					if where == "" {
						t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with "+jsonText(plain(v))+" as "+td.naming(a),
							"400, or 201 with a value that fits", res.Status)
						continue
					}
					got := a.of(t.Read(ctx, where).Object())
					t.Holds(got == nil || fits(got), td.naming(a)+" after a POST with "+jsonText(plain(v)), "absent, or a "+kind, got)
				}
			})
		},
	}
}

// plain turns what a body holds into what package scim writes.
func plain(v any) any {
	out, err := scim.Value(v)
	if err != nil {
		return nil
	}
	return out
}

func isText(v any) bool { _, ok := v.(string); return ok }

func isNumber(v any) bool { _, ok := v.(json.Number); return ok }

func isWholeNumber(v any) bool {
	n, ok := v.(json.Number)
	return ok && !strings.ContainsAny(n.String(), ".eE")
}

func isBase64(v any) bool {
	s, ok := v.(string)
	s = strings.TrimRight(s, "=")
	_, std := base64.RawStdEncoding.DecodeString(s)
	_, safe := base64.RawURLEncoding.DecodeString(s)
	return ok && (std == nil || safe == nil)
}

func isDateTime(v any) bool { s, ok := v.(string); return ok && dateTime.MatchString(s) }

const (
	whySchema = "A client that reads the schema builds its requests by it."
	fixSchema = "Enforce what the schema says, or change the schema."
)

var characteristics = []check{
	{
		ID:           "characteristics.required",
		Title:        "An object without an attribute that its schema requires is refused",
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
		Title:        "A value without a sub-attribute that its schema requires is refused",
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
		Title:        "An object without an extension that its type requires is refused",
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
		Why:          "Clients send back what they have read.",
		Fix:          "Drop readOnly attributes of the body.",
		Run:          characteristicsReadOnlyCreate,
	},
	{
		ID:           "characteristics.read-only-replace",
		Title:        "readOnly attributes in a PUT are ignored",
		Requirements: reqs("RFC7644-3.5.1-11", "RFC7643-7-17"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "Clients send back what they have read.",
		Fix:          "Drop readOnly attributes of the body.",
		Run:          characteristicsReadOnlyReplace,
	},
	{
		ID:           "characteristics.read-only-patch",
		Title:        "readOnly attributes are not changed by PATCH, and the attempt is refused",
		Requirements: reqs("RFC7644-3.5.2-14", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "A success would tell the client that something has changed.",
		Fix:          "Check mutability per operation and answer 400 mutability.",
		Run:          characteristicsReadOnlyPatch,
	},
	{
		ID:           "characteristics.immutable-same",
		Title:        "A PUT that repeats the value of an immutable attribute succeeds",
		Requirements: reqs("RFC7644-3.5.1-08"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A PUT has all attributes; without this nothing could be replaced.",
		Fix:          "Compare the value with the stored one, and let it pass when it is the same.",
		Run:          characteristicsImmutableSame,
	},
	{
		ID:           "characteristics.immutable-replace",
		Title:        "A PUT does not change an immutable attribute that has a value, and is refused",
		Requirements: reqs("RFC7643-7-18", "RFC7644-3.5.1-07"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "Other systems rely on it never changing.",
		Fix:          "Answer 400 mutability when the value differs from the stored one.",
		Run:          characteristicsImmutableReplace,
	},
	{
		ID:           "characteristics.immutable-patch",
		Title:        "A PATCH does not change an immutable attribute that has a value, and is refused",
		Requirements: reqs("RFC7644-3.5.2-15", "RFC7644-3.5.2-17"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "Other systems rely on it never changing.",
		Fix:          "Answer 400 mutability when there is a value already.",
		Run:          characteristicsImmutablePatch,
	},
	{
		ID:           "characteristics.immutable-first-put",
		Title:        "A PUT sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.1-09"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "Otherwise it could be set on creation only.",
		Fix:          "Refuse changes of a value, not the first value.",
		Run:          characteristicsImmutableFirstPut,
	},
	{
		ID:           "characteristics.immutable-first-patch",
		Title:        "A PATCH add sets an immutable attribute that has no value yet",
		Requirements: reqs("RFC7644-3.5.2-16"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     4,
		Why:          "Otherwise it could be set on creation only.",
		Fix:          "Refuse changes of a value, not the first value.",
		Run:          characteristicsImmutableFirstPatch,
	},
	{
		ID:           "characteristics.immutable-omitted",
		Title:        "A PUT without an immutable attribute keeps its value",
		Requirements: reqs("RFC7644-3.5.1-10"),
		Level:        should,
		Needs:        writesAny,
		Requests:     4,
		Why:          "What cannot change cannot be removed by leaving it out.",
		Fix:          "Carry the stored value over, or refuse the PUT.",
		Run:          characteristicsImmutableOmitted,
	},
	{
		ID:           "characteristics.write-only",
		Title:        "writeOnly attributes are in no answer",
		Requirements: reqs("RFC7643-7-19"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "They are secrets.",
		Fix:          "Leave writeOnly attributes out of every representation.",
		Run:          characteristicsWriteOnly,
	},
	{
		ID:           "characteristics.returned-never",
		Title:        "Attributes that are never returned cannot be asked for by name",
		Requirements: reqs("RFC7643-7-21"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "They are secrets.",
		Fix:          "Apply returned:never after attributes.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is returned never", trait(func(a attrDef) bool { return a.returned == "never" && a.writable() && a.sample("x") != nil }),
				func(td typeDef, a attrDef) {
					if where, _, _ := created(ctx, t, td, a, a.sample(t.Prefix()+"secret")); where != "" {
						t.Holds(a.of(a.asked(ctx, t, where)) == nil, td.naming(a)+", asked for by name", "absent", "it is there")
					}
				})
		},
	},
	{
		ID:           "characteristics.returned-always",
		Title:        "Attributes that are always returned survive attributes and excludedAttributes",
		Requirements: reqs("RFC7643-7-20"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whySchema,
		Fix:          "Add the attributes that are always returned after every projection.",
		Run:          characteristicsReturnedAlways,
	},
	{
		ID:           "characteristics.returned-request",
		Title:        "Attributes that are returned on request are left out until they are asked for",
		Requirements: reqs("RFC7643-7-24"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          "They are large or costly: members of a large group, for example.",
		Fix:          "Leave them out of the default representation and add them for attributes.",
		Run:          characteristicsReturnedRequest,
	},
	{
		ID:           "characteristics.returned-request-written",
		Title:        "Attributes that are returned on request are in the answer to the POST that sets them",
		Requirements: reqs("RFC7643-7-25"),
		Level:        must,
		Needs:        writesAny,
		Requests:     2,
		Why:          "The client sees what became of what it sent.",
		Fix:          "Add the attributes of the request's body to the answer's representation.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is returned on request",
				trait(func(a attrDef) bool { return a.returned == "request" && a.writable() && a.sample("x") != nil }), func(td typeDef, a attrDef) {
					if where, _, res := created(ctx, t, td, a, a.sample("written")); where != "" {
						t.Expect(td.naming(a)+" in the answer to POST", a.sample("written"), a.of(res.Object()))
					}
				})
		},
	},
	{
		ID:           "characteristics.unique",
		Title:        "A second object with a value that has to be unique is refused; the object itself keeps it",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-26"),
		Level:        should,
		Needs:        writesAny,
		Requests:     8,
		Why:          "Two objects of one key cannot be told apart.",
		Fix:          "Keep a unique index for every attribute with uniqueness server or global; leave the object itself out of the comparison.",
		Run:          characteristicsUnique,
	},
	{
		ID:           "characteristics.unique-other-case",
		Title:        "A unique value that is not caseExact is taken in every letter case",
		Requirements: reqs("RFC7643-7-27", "RFC7643-7-14"),
		Level:        should,
		Needs:        writesAny,
		Requests:     6,
		Why:          "What compares equal in filters must not exist twice.",
		Fix:          "Fold the value in the unique index unless the attribute is caseExact.",
		Run:          characteristicsUniqueOtherCase,
	},
	{
		ID:           "characteristics.case-kept",
		Title:        "The letter case of caseExact values is kept",
		Requirements: reqs("RFC7643-7-15"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A key of another system does not match any more in another case.",
		Fix:          "Store values as they came.",
		Run:          characteristicsCaseKept,
	},
	{
		ID:           "characteristics.canonical-values",
		Title:        "A value that is not among the canonical ones is kept or refused",
		Requirements: reqs("RFC7643-7-13", "RFC7643-2.3.1-02"),
		Level:        should,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A value that is silently exchanged for another one is wrong data.",
		Fix:          "Store the value, or answer 400 invalidValue.",
		Run:          characteristicsCanonicalValues,
	},
	kindCheck("integer", "integer", "Values with a fraction, texts and objects do not become integers", "RFC7643-2.3.4-01", 12, isWholeNumber,
		1.5, "many", doc{"value": 1}, []int{1}),
	kindCheck("decimal", "decimal", "Texts and objects do not become decimals", "RFC7643-2.3.3-01", 2, isNumber, "heavy", doc{"value": 1}),
	kindCheck("boolean", "boolean", "Texts and numbers do not become booleans other than true and false", "RFC7643-2.3.2-01", 2,
		func(v any) bool { _, ok := v.(bool); return ok }, "perhaps", doc{"value": true}),
	kindCheck("date-time", "dateTime", "What is no date with a time does not become a dateTime", "RFC7643-2.3.5-02", 3, isDateTime,
		"2026-01-31", "yesterday", 5),
	kindCheck("binary", "binary", "What is not base64 does not become binary", "RFC7643-2.3.6-01", 2, isBase64, "not base64!", 5),
	kindCheck("string", "string", "Numbers and objects do not become texts of another type", "RFC7643-2.3-02", 26, isText, 5,
		doc{"value": "x"}),
	kindCheck("complex", "complex", "Texts and numbers do not become complex values", "RFC7643-2.3-02", 2,
		func(v any) bool { _, ok := v.(*scim.Object); return ok }, 5, []string{"x"}),
	kindCheck("reference", "reference", "Numbers and objects do not become references", "RFC7643-2.3.7-01", 2, isText, 5, doc{"value": "x"}),
	{
		ID:           "characteristics.instant",
		Title:        "A dateTime with a time zone comes back as the same instant",
		Requirements: reqs("RFC7643-2.3.5-01", "RFC7644-3.1-05"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "Two hours are the difference between a contract that runs and one that has ended.",
		Fix:          "Convert instants; do not cut the zone off.",
		Run:          characteristicsInstant,
	},
	{
		ID:           "characteristics.multi-valued",
		Title:        "A multi-valued attribute with one value is an array",
		Requirements: reqs("RFC7643-2.4-01", "RFC7643-2.3-02"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "A reader that expects an array fails on the object, for accounts with one value only.",
		Fix:          "Write an array for every attribute with multiValued true.",
		Run:          characteristicsMultiValued,
	},
	{
		ID:           "characteristics.primary",
		Title:        "Two primary values are refused, or one of them stays",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          "primary is there to choose one.",
		Fix:          "Answer 400 invalidValue, or keep one.",
		Run:          characteristicsPrimary,
	},
	{
		ID:           "characteristics.duplicates",
		Title:        "The same value is not returned twice",
		Requirements: reqs("RFC7643-2.4-11"),
		Level:        should,
		Needs:        writesAny,
		Requests:     6,
		Why:          "Synchronisations that compare lists never come to rest.",
		Fix:          "Drop repeated values when storing.",
		Run:          characteristicsDuplicates,
	},
	{
		ID:           "characteristics.round-trip",
		Title:        "Every attribute that a schema describes as writable and readable comes back as it was sent",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-7-23"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          whySchema,
		Fix:          fixSchema,
		Run:          characteristicsRoundTrip,
	},
}

func characteristicsRequired(ctx context.Context, t *T) {
	traits(t, "is required", func(td typeDef, a attrDef) bool {
		return a.required && a.writable() && (a.urn == "" || slices.Contains(td.mandatory, a.urn))
	}, func(td typeDef, a attrDef) {
		res := t.Post(ctx, td.endpoint, td.with(t, a.label(""), a, omit))
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST without "+td.naming(a), "400", res.Status)
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
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with an incomplete "+td.naming(a), "400", res.Status)
	})
}

func characteristicsRequiredExtension(ctx context.Context, t *T) {
	found := false
	for _, td := range types(t) {
		for _, urn := range td.mandatory {
			if !slices.ContainsFunc(td.attributes, func(a attrDef) bool { return a.urn == urn && a.required }) {
				continue // nothing in it is required, so absence and emptiness are the same
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
			if t.Holds(res.OK(), "status of a POST with "+td.naming(a), "201", res.Status) {
				got := a.of(t.Read(ctx, where).Object())
				t.Holds(!scim.Equal(plain(forged), got), td.naming(a), "the target's own value, or absent", got)
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
			t.Expect("status of a PUT with "+td.naming(a), 200, res.Status)
			got := a.of(t.Read(ctx, where).Object())
			t.Holds(!scim.Equal(plain(forged), got), td.naming(a), "the target's own value, or absent", got)
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
			t.Warn(res.Status == 400, "status of a PATCH of "+td.naming(a), "400", res.Status)
			got := a.of(t.Read(ctx, where).Object())
			t.Holds(!scim.Equal(plain(forged), got), td.naming(a), "the target's own value, or absent", got)
		})
}

func characteristicsImmutableSame(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			res := t.Put(ctx, where, body)
			t.Expect("status of a PUT that repeats "+td.naming(a), 200, res.Status)
		}
	})
}

func characteristicsImmutableReplace(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			a.set(body, a.sample("second"))
			res := t.Put(ctx, where, body)
			t.Warn(res.Status == 400, "status of a PUT that changes "+td.naming(a), "400", res.Status)
			t.Expect(td.naming(a)+" after the PUT", a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutablePatch(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			res := t.Patch(ctx, where, doc{"op": "replace", "path": a.path(), "value": a.sample("second")})
			t.Expect("status of a PATCH that changes "+td.naming(a), 400, res.Status)
			t.Expect(td.naming(a)+" after the PATCH", a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableFirstPut(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		body := td.fresh(t, a.label(""))
		if where := td.address(t.Post(ctx, td.endpoint, body)); where != "" {
			a.set(body, a.sample("first"))
			res := t.Put(ctx, where, body)
			t.Expect("status of a PUT that sets "+td.naming(a), 200, res.Status)
			t.Expect(td.naming(a), a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableFirstPatch(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where := td.address(t.Post(ctx, td.endpoint, td.fresh(t, a.label("")))); where != "" {
			succeeded(t, t.Patch(ctx, where, doc{"op": "add", "path": a.path(), "value": a.sample("first")}), 200, 204)
			t.Expect(td.naming(a), a.sample("first"), a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsImmutableOmitted(ctx context.Context, t *T) {
	traits(t, "is immutable", settable, func(td typeDef, a attrDef) {
		if where, body, _ := created(ctx, t, td, a, a.sample("first")); where != "" {
			a.set(body, omit)
			t.Put(ctx, where, body)
			t.Expect(td.naming(a)+" after a PUT without it", a.sample("first"), a.of(t.Read(ctx, where).Object()))
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
			t.Holds(a.of(res.Object()) == nil, td.naming(a)+" in the answer to POST", "absent", "it is there")
			t.Holds(a.of(t.Get(ctx, where).Object()) == nil, td.naming(a)+" in GET", "absent", "it is there")
		})
}

func characteristicsReturnedAlways(ctx context.Context, t *T) {
	traits(t, "is returned always", trait(func(a attrDef) bool { return a.returned == "always" && a.writable() && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, a.sample("kept")); where != "" {
				t.Expect(td.naming(a)+" when another attribute is asked for", a.sample("kept"),
					a.of(t.Get(ctx, where, "attributes", td.carrier).Object()))
				t.Expect(td.naming(a)+" when it is excluded", a.sample("kept"), a.of(t.Get(ctx, where, "excludedAttributes", a.path()).Object()))
			}
		})
}

func characteristicsReturnedRequest(ctx context.Context, t *T) {
	traits(t, "is returned on request", trait(func(a attrDef) bool { return a.returned == "request" && a.writable() && a.sample("x") != nil }),
		func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, a.sample("asked")); where != "" {
				t.Holds(a.of(t.Get(ctx, where).Object()) == nil, td.naming(a)+" in a plain GET", "absent", "it is there")
				t.Expect(td.naming(a)+" when it is asked for", a.sample("asked"), a.of(a.asked(ctx, t, where)))
			}
		})
}

func characteristicsUnique(ctx context.Context, t *T) {
	traits(t, "has to be unique", uniqueAttribute, func(td typeDef, a attrDef) {
		v := a.sample(t.Prefix() + "unique")
		where, body, _ := created(ctx, t, td, a, v)
		if where == "" {
			return
		}
		own := t.Put(ctx, where, body)
		t.Holds(own.Status != 409, "status of a PUT that keeps the own "+td.naming(a), "200", own.Status)
		second := t.Post(ctx, td.endpoint, td.with(t, a.label("-second"), a, v))
		t.Holds(second.Status == 409 || second.Status == 400, "status of a second POST of one "+td.naming(a), "409", second.Status)
	})
}

func characteristicsUniqueOtherCase(ctx context.Context, t *T) {
	traits(t, "has to be unique in any letter case",
		func(td typeDef, a attrDef) bool { return uniqueAttribute(td, a) && !a.caseExact && a.kind == "string" }, func(td typeDef, a attrDef) {
			if where, _, _ := created(ctx, t, td, a, t.Prefix()+"shadow"); where != "" {
				second := t.Post(ctx, td.endpoint, td.with(t, a.label("-second"), a, strings.ToUpper(t.Prefix()+"shadow")))
				t.Holds(second.Status == 409 || second.Status == 400, "status of a second POST of one "+td.naming(a)+" in capitals", "409",
					second.Status)
			}
		})
}

func characteristicsCaseKept(ctx context.Context, t *T) {
	traits(t, "is a caseExact text", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.caseExact && a.kind == "string" && !a.multi && a.writable() && !a.hidden() && len(a.canonical) == 0 &&
			!carries(td, a)
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, "MiXeD-Case"); where != "" {
			t.Expect(td.naming(a), "MiXeD-Case", a.of(t.Read(ctx, where).Object()))
		}
	})
}

func characteristicsCanonicalValues(ctx context.Context, t *T) {
	traits(t, "has canonical values", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && len(a.canonical) > 0 && a.writable() && !a.hidden() && !a.multi
	}, func(td typeDef, a attrDef) {
		where, _, res := created(ctx, t, td, a, "scimconf-other")
		if where == "" {
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with another "+td.naming(a), "201, or 400", res.Status)
			return
		}
		got := a.of(t.Read(ctx, where).Object())
		t.Holds(got == nil || got == "scimconf-other", td.naming(a), "scimconf-other, or absent", got)
	})
}

func characteristicsInstant(ctx context.Context, t *T) {
	traits(t, "is a dateTime", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.kind == "dateTime" && a.writable() && !a.hidden() && !a.multi
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, "2026-01-31T12:20:30+02:00"); where != "" {
			text, _ := a.of(t.Read(ctx, where).Object()).(string)
			got, err := time.Parse(time.RFC3339, text)
			t.Holds(err == nil && got.Equal(time.Date(2026, 1, 31, 10, 20, 30, 0, time.UTC)), td.naming(a), "2026-01-31T10:20:30Z in any zone", text)
		}
	})
}

func characteristicsMultiValued(ctx context.Context, t *T) {
	traits(t, "is multi-valued", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.multi && a.writable() && !a.hidden() && a.sample("x") != nil
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, a.sample("one")); where != "" {
			got := a.of(t.Read(ctx, where).Object())
			list, isList := got.([]any)
			t.Holds(isList && len(list) == 1, td.naming(a), "an array of one value", got)
		}
	})
}

func characteristicsPrimary(ctx context.Context, t *T) {
	traits(t, "is multi-valued with primary", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.multi && a.writable() && !a.hidden() && a.sample("x") != nil &&
			slices.ContainsFunc(a.subs, func(s attrDef) bool { return s.name == "primary" })
	}, func(td typeDef, a attrDef) {
		one, two := a.element("one").(doc), a.element("two").(doc)
		one["primary"], two["primary"] = true, true
		where, _, res := created(ctx, t, td, a, []any{one, two})
		if where == "" {
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with two primary values in "+td.naming(a), "400, or 201 with one",
				res.Status)
			return
		}
		holder := t.Read(ctx, where).Object()
		if a.urn != "" {
			holder = holder.Complex(a.urn)
		}
		n := primaries(holder, a.name)
		t.Holds(n <= 1, "number of primary values in "+td.naming(a), "at most 1", n)
	})
}

func characteristicsDuplicates(ctx context.Context, t *T) {
	traits(t, "is multi-valued", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.multi && a.writable() && !a.hidden() && a.sample("x") != nil
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, []any{a.element("same"), a.element("same"), a.element("other")}); where != "" {
			list, _ := a.of(t.Read(ctx, where).Object()).([]any)
			t.Expect("number of values of "+td.naming(a)+" of which two are the same", 2, len(list))
		}
	})
}

func characteristicsRoundTrip(ctx context.Context, t *T) {
	found := false
	for _, td := range types(t) {
		body := td.fresh(t, "whole")
		var written []attrDef
		for _, a := range td.attributes {
			v := a.sample(t.Prefix() + a.name)
			if !ownAttribute(td, a) || a.common() || a.hidden() || !a.writable() || v == nil || a.required {
				continue
			}
			a.set(body, v)
			written = append(written, a)
		}
		if len(written) == 0 {
			continue
		}
		found = true
		res := t.Post(ctx, td.endpoint, body)
		where := td.address(res)
		if where == "" {
			t.Note("%s with all attributes could not be created: %s answered %d", td.name, res.Name, res.Status)
			continue
		}
		o := t.Read(ctx, where).Object()
		for _, a := range written {
			t.Expect(td.naming(a), a.sample(t.Prefix()+a.name), a.of(o))
		}
	}
	t.SkipIf(!found, "the target describes no attributes beyond those of RFC 7643")
}

// uniqueAttribute selects writable attributes that are unique, but for those that name test objects.
func uniqueAttribute(td typeDef, a attrDef) bool {
	return ownAttribute(td, a) && (a.uniqueness == "server" || a.uniqueness == "global") && a.writable() && !a.multi && a.sample("x") != nil &&
		!carries(td, a) && (a.urn == "" || slices.Contains(td.mandatory, a.urn))
}

// eachCustom calls use for every resource type beside users and groups, and skips the check when there is none.
func eachCustom(t *T, use func(td typeDef)) {
	found := false
	for _, td := range types(t) {
		if td.custom() {
			found = true
			use(td)
		}
	}
	t.SkipIf(!found, "the target describes no resource type beside User and Group")
}

// instance creates an object of a type, or skips the check.
func instance(ctx context.Context, t *T, td typeDef, label string) (*conformance.Created, doc) {
	body := td.fresh(t, label)
	return t.Create(ctx, td.endpoint, body), body
}

// optional is an attribute of the base schema that can be set and changed, nil when there is none.
func (td typeDef) optional() *attrDef {
	for _, a := range td.attributes {
		if a.urn == "" && a.kind == "string" && !a.multi && a.mutability == "readWrite" && !a.hidden() && !a.common() && len(a.canonical) == 0 &&
			a.uniqueness == "none" && a.name != td.carrier {
			return &a
		}
	}
	return nil
}

const (
	whyType = "A resource type that is listed is one that clients will use."
	fixType = "Serve every listed resource type like users and groups."
)

var customTypes = []check{
	{
		ID:           "types.create",
		Title:        "Objects of every listed type are created: 201, id, Location, and meta.resourceType as the type is called",
		Requirements: reqs("RFC7644-3.3-05", "RFC7643-6-03", "RFC7644-3.3-07", "RFC7643-3.1-20"),
		Level:        must,
		Needs:        writesAny,
		Requests:     2,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesCreate,
	},
	{
		ID:           "types.read",
		Title:        "Objects of every listed type are read by id, and unknown ids answer 404",
		Requirements: reqs("RFC7644-3.4.1-01", "RFC7644-3.4.1-02"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesRead,
	},
	{
		ID:           "types.replace",
		Title:        "Objects of every listed type are replaced by PUT",
		Requirements: reqs("RFC7644-3.5-01", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesReplace,
	},
	{
		ID:           "types.patch",
		Title:        "Objects of every listed type are changed by PATCH",
		Requirements: reqs("RFC7644-3.5-03", "RFC7644-3.5.2.3-04", "RFC7644-3.5.2.2-02"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     6,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesPatch,
	},
	{
		ID:           "types.delete",
		Title:        "Objects of every listed type are deleted",
		Requirements: reqs("RFC7644-3.6-04", "RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          whyType,
		Fix:          fixType,
		Run: func(ctx context.Context, t *T) {
			eachCustom(t, func(td typeDef) {
				c, _ := instance(ctx, t, td, "delete")
				t.Expect("status of DELETE", 204, t.Delete(ctx, c.Path()).Status)
				t.Expect("status of GET afterwards", 404, t.Get(ctx, c.Path()).Status)
			})
		},
	},
	{
		ID:           "types.find",
		Title:        "Objects of every listed type are found by a filter, and the list is of that type alone",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7643-6-05"),
		Level:        must,
		Needs:        append(slices.Clone(writesAny), conformance.NeedFilter),
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesFind,
	},
	{
		ID:           "types.malformed",
		Title:        "Malformed bodies for every listed type are refused with 400",
		Requirements: reqs("RFC7644-3.3-10", "RFC7644-3.12-07"),
		Level:        should,
		Needs:        writesAny,
		Requests:     2,
		Why:          "A 500 is retried for ever.",
		Fix:          "Read bodies of all types by the same code.",
		Run:          typesMalformed,
	},
}

func typesCreate(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		res := t.Post(ctx, td.endpoint, td.fresh(t, "new"))
		t.Require("status of "+res.Name, 201, res.Status)
		id := res.Object().Text("id")
		t.Holds(id != "", "id of the new "+td.name, "a text", id)
		t.Holds(strings.HasSuffix(res.Header.Get("Location"), td.endpoint+"/"+id), "Location header",
			"an address that ends in "+td.endpoint+"/"+id, res.Header.Get("Location"))
		t.Expect("meta.resourceType", td.name, value(res.Object(), "meta.resourceType"))
		t.Holds(slices.Contains(texts(res.Object(), "schemas"), td.schema), "schemas", td.schema+" among them", value(res.Object(), "schemas"))
	})
}

func typesRead(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		c, body := instance(ctx, t, td, "read")
		res := t.Get(ctx, c.Path())
		t.Require("status of "+res.Name, 200, res.Status)
		t.Expect("id", c.ID, value(res.Object(), "id"))
		t.Expect(td.carrier, body[td.carrier], value(res.Object(), td.carrier))
		unknown := t.Get(ctx, td.endpoint+"/"+t.AbsentID())
		t.Warn(unknown.Status == 404, "status of "+unknown.Name, "404", unknown.Status)
	})
}

func typesReplace(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		a := td.optional()
		t.SkipIf(a == nil, td.name+" has no attribute that could be changed")
		c, body := instance(ctx, t, td, "put")
		a.set(body, "changed")
		res := t.Put(ctx, c.Path(), body)
		t.Require("status of "+res.Name, 200, res.Status)
		t.Expect(a.name+" after PUT", "changed", a.of(t.Read(ctx, c.Path()).Object()))
	})
}

func typesPatch(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		a := td.optional()
		t.SkipIf(a == nil, td.name+" has no attribute that could be changed")
		c, _ := instance(ctx, t, td, "patch")
		o := patched(ctx, t, c, doc{"op": "replace", "path": a.name, "value": "changed"})
		t.Expect(a.name+" after replace", "changed", a.of(o))
		o = patched(ctx, t, c, doc{"op": "remove", "path": a.name})
		t.Holds(a.of(o) == nil, a.name+" after remove", "absent", a.of(o))
	})
}

func typesFind(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		c, body := instance(ctx, t, td, "found")
		name, _ := body[td.carrier].(string)
		res := t.Get(ctx, td.endpoint, "filter", td.carrier+" eq "+quote(name))
		t.Require("status of "+res.Name+" with a filter", 200, res.Status)
		t.Expect("ids found", []string{c.ID}, res.IDs())
		none := t.Get(ctx, td.endpoint, "filter", td.carrier+" eq "+quote(name+"-none"))
		t.Expect("number found for a name that nothing has", 0, len(none.IDs()))
	})
}

func typesMalformed(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		t.Names(td.endpoint, td.carrier)
		for _, body := range []string{`{"externalId":"` + t.Prefix() + `malformed","schemas":[`, `[]`} {
			refused(t, t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: td.endpoint, Body: []byte(body)}), 400, "invalidSyntax",
				"invalidValue")
		}
	})
}
