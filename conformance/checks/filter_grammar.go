package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var filterGrammar = []check{
	{
		ID:           "filter.precedence",
		Title:        "The operator \"and\" has a higher precedence than the operator \"or\"",
		Requirements: reqs("RFC7644-3.4.2.2-29"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "A server that evaluates a filter from left to right returns the wrong users to the client.",
		Fix:          "Parse the operator \"and\" with a higher precedence than \"or\": read \"a or b and c\" as \"a or (b and c)\".",
		Run:          rows(false, row{`userName eq "«P»bob@example.com" or userType eq "«P» Employee" and active eq true`, "ada bob cyd"}),
	},
	{
		ID:           "filter.grouping",
		Title:        "Parentheses override the precedence, even when nested",
		Requirements: reqs("RFC7644-3.4.2.2-28", "RFC7644-3.4.2.2-32"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A server that ignores parentheses returns the wrong users to the client.",
		Fix:          "Parse expressions in parentheses recursively, and evaluate them first.",
		Run: rows(false,
			row{`(userName eq "«P»bob@example.com" or userType eq "«P» Employee") and active eq true`, "ada cyd"},
			row{`((userName eq "«P»bob@example.com") or (userType eq "«P» Employee")) and (active eq false)`, "bob"}),
	},
	{
		ID:           "filter.sub-attribute",
		Title:        "A dot separates an attribute from its sub-attribute",
		Requirements: reqs("RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients search by name.familyName; without sub-attributes, they find no user or the wrong users.",
		Fix:          "Resolve name.familyName to the sub-attribute.",
		Run:          rows(false, row{`name.familyName eq "«P» Babbage"`, "bob"}),
	},
	{
		ID:           "filter.multi-valued",
		Title:        "A filter on a multi-valued attribute matches a user if any element of the attribute matches",
		Requirements: reqs("RFC7644-3.4.2.2-50"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A user can have several email addresses; a lookup by the second one must find the user.",
		Fix:          "Evaluate all elements, not only the first or the primary one.",
		Run: func(ctx context.Context, t *T) {
			t.BlockedIf(func() string {
				return wrongRow(ctx, t, row{`emails.value eq "«P»bob.w@example.com"`, "bob"}, "with the only address of a user,")
			})
			rows(false, row{`emails.value eq "«P»ada.h@example.com"`, "ada"}, row{`emails.value eq "«P»dan.w@example.com"`, "dan"})(ctx, t)
		},
	},
	{
		ID:           "filter.value-path",
		Title:        "All conditions in square brackets must be satisfied by the same element of a multi-valued attribute",
		Requirements: reqs("RFC7644-3.4.2.2-35", "RFC7644-3.4.2.2-36"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "If different elements satisfy the conditions, a lookup by work address finds a user by the home address.",
		Fix: "Evaluate the whole expression in brackets for each element: emails[type eq \"work\" and value eq \"x\"] applies " +
			"to one email.",
		Run: rows(false,
			row{`emails[type eq "work" and value eq "«P»dan.h@example.com"]`, "dan"},
			row{`emails[type eq "work" and value eq "«P»dan.w@example.com"]`, ""}),
	},
	{
		ID:           "filter.value-path-sub-attribute",
		Title:        "A filter such as emails[type eq \"work\"].value eq \"x\", which Entra ID sends, is evaluated",
		Requirements: reqs("RFC7644-3.4.2.2-62"),
		Level:        may,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Entra ID looks up users with this filter, which the grammar of RFC 7644 does not define; if the server rejects it, " +
			"these lookups fail.",
		Fix: "Evaluate the filter like emails[type eq \"work\" and value eq \"x\"].",
		Run: rows(false,
			row{`emails[type eq "work"].value eq "«P»dan.h@example.com"`, "dan"},
			row{`emails[type eq "work"].value eq "«P»dan.w@example.com"`, ""}),
	},
	{
		ID:           "filter.case-insensitive-values",
		Title:        "A filter compares values of attributes that are not caseExact case-insensitively",
		Requirements: reqs("RFC7644-3.4.2.2-57", "RFC7643-4.1.1-03", "RFC7644-3.4.2.2-58"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Directories use different case for the same userName; a case-sensitive lookup creates duplicates.",
		Fix:          "Compare values case-insensitively unless the schema sets caseExact to true.",
		Run: func(ctx context.Context, t *T) {
			evaluate(ctx, t, row{`userName eq ` + quote(strings.ToUpper(inDomain(t, peoplePrefix(t)+"bob"))), "bob"}, true)
			other := row{`title eq "«P» engineer"`, "ada bob"}
			if _, right := other.found(ctx, t); right {
				return
			}
			if exact, _ := usualCase(ctx, t, `title eq "«P» Engineer"`); slices.Contains(exact, "ada") {
				evaluate(ctx, t, other, false)
			}
		},
	},
	{
		ID:           "filter.case-exact-values",
		Title:        "A filter compares externalId case-sensitively",
		Requirements: reqs("RFC7644-3.4.2.2-57", "RFC7643-3.1-17", "RFC7643-7-14"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "externalIds that differ only by case, such as Salesforce ids, belong to different users.",
		Fix:          "Do not fold the case of id, externalId and attributes with caseExact true.",
		Run:          rows(false, row{`externalId eq "«P»Ext-A"`, "ada"}, row{`externalId eq "«P»ext-a"`, "bob"}),
	},
	{
		ID:           "filter.names-ignore-case",
		Title:        "Attribute names and operators are case-insensitive",
		Requirements: reqs("RFC7644-3.4.2.2-04", "RFC7644-3.4.2.2-05"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     3,
		Why:          "Clients write names and operators in different case; a case-sensitive server rejects their lookups or finds no user.",
		Fix:          "Compare names and keywords case-insensitively.",
		Run: withUsualCase(`userName eq "«P»ada@example.com"`, "ada", rows(true,
			row{`USERNAME eq "«P»ada@example.com"`, "ada"},
			row{`userName EQ "«P»ada@example.com"`, "ada"},
			row{`username Eq "«P»ada@example.com"`, "ada"})),
	},
	{
		ID:           "filter.urn-prefix",
		Title:        "An attribute may be qualified with the URN of its schema",
		Requirements: reqs("RFC7644-3.10-01", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients generated from schemas qualify every name; their lookups fail if the server does not resolve the URN.",
		Fix:          "Split a qualified name at the last colon, also before square brackets; the dot in the URN is not a separator.",
		Run: rows(false, row{scim.UserSchema + `:userName eq "«P»ada@example.com"`, "ada"},
			row{scim.UserSchema + `:emails[type eq "work" and value sw "«P»dan"]`, "dan"}),
	},
	{
		ID:           "filter.escapes",
		Title:        "Operands of filters are JSON strings: escapes are decoded, and % and _ match only themselves",
		Requirements: reqs("RFC7644-3.4.2.2-42", "RFC7644-3.4.2.2-15"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     4,
		Why:          "Names contain quotes and backslashes; if the server reads an operand as a pattern, the client gets the wrong users.",
		Fix:          "Decode the operand as JSON, and escape it when it becomes part of a LIKE pattern.",
		Run: literalRows(
			row{`displayName eq "«P» \"Eve\" \\ «P»"`, "eve"},
			row{`displayName eq "«P» \u0041da"`, "ada"},
			row{`nickName sw "«P» 50%"`, "ada"},
			row{`nickName sw "«P»_50"`, ""}),
	},
	{
		ID:           "filter.no-match",
		Title:        "A filter that matches nothing returns 200 with totalResults 0",
		Requirements: reqs("RFC7644-3.4.2-08"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     2,
		Why:          "Clients look up a user before they create it. If the lookup returns 404, creations and Entra ID's connection test fail.",
		Fix:          "Return an empty ListResponse with 200, not 404.",
		Run:          filterNoMatch,
	},
	{
		ID:           "filter.unknown-attribute",
		Title:        "A filter on an unknown attribute matches no user or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-61"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "A condition that is dropped because its attribute is unknown turns a narrow query into the whole directory.",
		Fix:          "Return 400 invalidFilter or no match; never drop a condition.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "filter", `scimconfNoSuchAttribute eq "x"`, "count", "200")
			t.Must(res.Status == 200 || res.Status == 400, "status of a filter on an unknown attribute", "200 or 400", res.Status)
			t.Expect("number of items", 0, len(res.Resources()))
		},
	},
	{
		ID:           "filter.total",
		Title:        "With a filter, totalResults is the number of matches, and startIndex and count select from the matches",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.4.2.4-10"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A client that reads a wrong totalResults stops paging too early. Okta sends every lookup with paging parameters.",
		Fix:          "Filter first, then count, then select the page.",
		Run:          filterTotal,
	},
	{
		ID:           "filter.invalid-syntax",
		Title:        "A filter that violates the grammar is rejected with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-40", "RFC7644-3.4.2.2-33", "RFC7644-3.12-16"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     6,
		Why:          "A server that ignores an invalid filter returns all users; after a 500, clients retry indefinitely.",
		Fix:          "Parse the whole filter before evaluating it, and return 400 with scimType invalidFilter.",
		Run:          filterInvalidSyntax,
	},
	{
		ID:           "filter.unknown-operator",
		Title:        "An unknown operator is rejected with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-56"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     1,
		Why:          "If the server ignores the operator, the client gets users that it did not search for, and changes them.",
		Fix:          "Return 400 with scimType invalidFilter and name the unknown operator.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "filter", `userName xx "a"`)
			t.Require("status of a filter with the operator xx", 400, res.Status)
			t.Expect("scimType of a filter with the operator xx", "invalidFilter", res.ScimType())
		},
	},
	{
		ID:           "filter.boolean-order",
		Title:        "The operator gt on a boolean is rejected with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-22"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     1,
		Why:          "Booleans have no order; if the server returns users, the client acts on an arbitrary selection.",
		Fix:          "Check that the operator is defined for the type of the attribute; otherwise return 400 invalidFilter.",
		Run: func(ctx context.Context, t *T) {
			expectUnordered(ctx, t, `active gt true`)
		},
	},
	{
		ID:           "filter.hostile-operands",
		Title:        "Filter operands that contain SQL, LDAP or other query syntax match no user and cause no server error",
		Requirements: reqs("RFC7644-3.4.2.2-63", "RFC7644-3.4.2.2-15"),
		Level:        should,
		Needs:        needs(conformance.NeedUser, conformance.NeedFilter),
		Requests:     5,
		Why:          "An attacker could read or change the database through the operand of a filter.",
		Fix:          "Pass operands to the database as query parameters, never as part of the query text; limit length and depth of filters.",
		Run: func(ctx context.Context, t *T) {
			for _, operand := range []string{`' OR '1'='1`, `%`, `*)(uid=*`, `{"$ne":null}`, `.*`} {
				res := t.Get(ctx, "/Users", "filter", "userName eq "+quote(operand))
				t.Holds(res.Status < 500, "status of the filter userName eq "+quote(operand), "200 or 400", res.Status)
				t.Expect("number of items of the filter userName eq "+quote(operand), 0, len(res.Resources()))
			}
		},
	},
}

func filterNoMatch(ctx context.Context, t *T) {
	for _, filter := range []string{`userName eq "scimconf-nobody-has-this-name"`, `id eq "scimconf-no-such-id"`} {
		res := t.Get(ctx, "/Users", "filter", filter)
		if res.Status == 400 && res.Declines() && !strings.HasPrefix(filter, "userName ") {
			t.Note("rejected with 400 invalidFilter, as permitted: %s", filter)
			continue
		}
		filterRequired(t, res, "GET /Users?filter="+filter)
		t.Expect("totalResults of a filter that matches nothing", 0, value(res.Object(), "totalResults"))
		t.Expect("number of items of a filter that matches nothing", 0, len(res.Resources()))
	}
}

func filterTotal(ctx context.Context, t *T) {
	blockedIfEmployeesNotFound(ctx, t)
	filter := expand(t, employee)
	var seen []string
	for _, index := range []string{"1", "2"} {
		res := t.Get(ctx, "/Users", "filter", filter, "startIndex", index, "count", "1")
		t.SkipIf(res.Status == 400 && res.Declines() && !supportsEq(ctx, t, filter), skipUnsupported)
		filterRequired(t, res, "GET /Users?filter="+filter+" with startIndex="+index+" and count=1")
		if t.Expect("totalResults of a filter that two users match", 2, value(res.Object(), "totalResults")) {
			blockedIfPagesIgnored(ctx, t)
		}
		t.Expect("number of items with count=1", 1, len(res.Resources()))
		seen = append(seen, res.IDs()...)
	}
	t.Expect("users on the two pages", []string{"ada", "cyd"}, labels(t.Fixture, seen))
}

func filterInvalidSyntax(ctx context.Context, t *T) {
	for _, filter := range []string{`userName eq "unclosed`, `userName eq`, `userName eq "a" and`, `(userName eq "a"`, `userName eq "a")`,
		`emails[type eq "work"`} {
		res := t.Get(ctx, "/Users", "filter", filter)
		t.Expect("status of GET /Users?filter="+filter, 400, res.Status)
		if kind := res.ScimType(); res.Status == 400 {
			t.Warn(kind == "invalidFilter", "scimType of GET /Users?filter="+filter, "invalidFilter", kind)
		}
	}
}
