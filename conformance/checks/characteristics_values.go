package checks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// characteristicValues are the checks of data types and of multi-valued attributes.
var characteristicValues = []check{
	kindCheck("integer", "integer", "Fractions, strings, objects and arrays are not stored in an integer attribute", "RFC7643-2.3.4-01", 12,
		isWholeNumber, 1.5, "many", doc{"value": 1}, []int{1}),
	kindCheck("decimal", "decimal", "Strings and objects are not stored in a decimal attribute", "RFC7643-2.3.3-01", 2, isNumber, "heavy",
		doc{"value": 1}),
	kindCheck("boolean", "boolean", "Values other than true and false are not stored in a boolean attribute", "RFC7643-2.3.2-01", 2,
		func(v any) bool { _, ok := v.(bool); return ok }, "perhaps", doc{"value": true}),
	kindCheck("date-time", "dateTime", "Values that are not a date with a time are not stored in a dateTime attribute",
		"RFC7643-2.3.5-02", 3, isDateTime, "2026-01-31", "yesterday", 5),
	kindCheck("binary", "binary", "Values that are not base64 are not stored in a binary attribute", "RFC7643-2.3.6-01", 2, isBase64,
		"not base64!", 5),
	kindCheck("string", "string", "Numbers and objects are not stored in a string attribute", "RFC7643-2.3-02", 26, isText, 5,
		doc{"value": "x"}),
	kindCheck("complex", "complex", "Numbers and arrays of strings are not stored in a complex attribute", "RFC7643-2.3-02", 2,
		func(v any) bool { _, ok := v.(*scim.Object); return ok }, 5, []string{"x"}),
	kindCheck("reference", "reference", "Numbers and objects are not stored in a reference attribute", "RFC7643-2.3.7-01", 2, isText, 5,
		doc{"value": "x"}),
	{
		ID:           "characteristics.instant",
		Title:        "A dateTime with a time zone offset represents the same time when it is read back",
		Requirements: reqs("RFC7643-2.3.5-01", "RFC7644-3.1-05"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          "A server that drops the offset shifts the time; an account then expires too early or too late.",
		Fix:          "Store the time with its offset, or convert it to UTC; do not drop the offset.",
		Run:          characteristicsInstant,
	},
	{
		ID:           "characteristics.multi-valued",
		Title:        "A multi-valued attribute with one value is an array",
		Requirements: reqs("RFC7643-2.4-01", "RFC7643-2.3-02"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          "A client that expects an array cannot parse a single value, and fails only for the accounts that have one value.",
		Fix:          "Return an array for every attribute with multiValued true.",
		Run:          characteristicsMultiValued,
	},
	{
		ID:           "characteristics.primary",
		Title:        "Two primary values are rejected, or at most one of them is stored as primary",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Needs:        writesAny,
		Requests:     1,
		Why:          "With two primary values, a client cannot determine which one to use, for example as the email address.",
		Fix:          "Return 400 invalidValue, or store primary as true for only one of the values.",
		Run:          characteristicsPrimary,
	},
	{
		ID:           "characteristics.duplicates",
		Title:        "A value that a POST contains twice in a multi-valued attribute is not returned twice",
		Requirements: reqs("RFC7643-2.4-11"),
		Level:        should,
		Needs:        writesAny,
		Requests:     6,
		Why: "A client that compares the list with its own finds a difference in every synchronization, and updates the object " +
			"each time.",
		Fix: "Remove repeated values before storing.",
		Run: characteristicsDuplicates,
	},
	{
		ID:           "characteristics.round-trip",
		Title:        "Every writable and readable attribute of an extension or a custom resource type is returned as sent",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-7-23"),
		Level:        must,
		Needs:        writesAny,
		Requests:     6,
		Why:          whySchema,
		Fix:          fixSchema,
		Run:          characteristicsRoundTrip,
	},
}

func characteristicsInstant(ctx context.Context, t *T) {
	traits(t, "is a dateTime", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.kind == "dateTime" && a.writable() && !a.hidden() && !a.multi
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, "2026-01-31T12:20:30+02:00"); where != "" {
			text, _ := a.of(t.Read(ctx, where).Object()).(string)
			got, err := schema.ParseDateTime(text)
			t.Holds(err == nil && got.Equal(time.Date(2026, 1, 31, 10, 20, 30, 0, time.UTC)), td.describe(a), "2026-01-31T10:20:30Z in any zone",
				text)
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
			t.Holds(isList && len(list) == 1, td.describe(a), "an array of one value", got)
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
			t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with two primary values in "+td.describe(a),
				"400, or 201 with one primary value",
				res.Status)
			return
		}
		holder := t.Read(ctx, where).Object()
		if a.urn != "" {
			holder = holder.Complex(a.urn)
		}
		n := primaries(holder, a.name)
		t.Holds(n <= 1, "number of primary values in "+td.describe(a), "at most 1", n)
	})
}

func characteristicsDuplicates(ctx context.Context, t *T) {
	traits(t, "is multi-valued", func(td typeDef, a attrDef) bool {
		return ownAttribute(td, a) && a.multi && a.writable() && !a.hidden() && a.sample("x") != nil
	}, func(td typeDef, a attrDef) {
		if where, _, _ := created(ctx, t, td, a, []any{a.element("same"), a.element("same"), a.element("other")}); where != "" {
			list, _ := a.of(t.Read(ctx, where).Object()).([]any)
			t.Expect("number of values of "+td.describe(a)+" after a POST with two equal values and a third one", 2, len(list))
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
			t.Note("%s with all attributes could not be created: %s returned %d", td.name, res.Name, res.Status)
			continue
		}
		o := t.Read(ctx, where).Object()
		for _, a := range written {
			t.Expect(td.describe(a), a.sample(t.Prefix()+a.name), a.of(o))
		}
	}
	t.SkipIf(!found, "the target's schemas define no testable attribute of an extension or a custom resource type")
}

// kindCheck returns a check that values of the wrong data type are rejected or not stored as sent. It sends each of the wrong values; fits
// reports whether a value that a GET returns has the right type.
func kindCheck(word, kind, title, requirement string, requests int, fits func(v any) bool, wrong ...any) check {
	return check{
		ID:           "characteristics." + word,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        must,
		Needs:        writesAny,
		Requests:     requests,
		Why:          "A client that expects the type of the schema cannot parse an object with a value of another type.",
		Fix:          "Check the type of every value against the schema; return 400 invalidValue.",
		Run: func(ctx context.Context, t *T) {
			traits(t, "is of type "+kind, func(td typeDef, a attrDef) bool {
				return ownAttribute(td, a) && a.kind == kind && a.writable() && !a.hidden() && !a.multi && len(a.canonical) == 0 && !carries(td, a)
			}, func(td typeDef, a attrDef) {
				for i, v := range wrong {
					body := td.with(t, a.label("-"+string(rune('a'+i))), a, v)
					res := t.Post(ctx, td.endpoint, body)
					where := td.address(res)
					if where == "" {
						t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with "+jsonText(plain(v))+" as "+td.describe(a),
							"400, or 201 with a value of the right type", res.Status)
						continue
					}
					got := a.of(t.Read(ctx, where).Object())
					t.Holds(got == nil || fits(got), td.describe(a)+" after a POST with "+jsonText(plain(v)), "absent, or a "+kind, got)
				}
			})
		},
	}
}

// plain converts a value of a request body to the value types of package scim. For a value that it cannot convert, it returns nil.
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
