package checks

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/scim/schema"
)

const operatorFix = "Evaluate the operator as defined in RFC 7644 table 3. If the server translates filters, for " +
	"example to SQL, check the translation of the filter that the finding contains."

var filterOperators = []check{
	{
		ID:           "filter.eq",
		Title:        "The operator eq finds exactly the users whose value is equal to the operand",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-03"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     4,
		Why:          "Every client looks up an account by eq before it creates one. A lookup that finds the wrong user links the wrong account.",
		Fix:          operatorFix + " The operator eq must not match a value that merely contains the operand.",
		Run: rows(true,
			row{`userName eq "«P»ada@example.com"`, "ada"},
			row{`userType eq "«P» Employee"`, "ada cyd"},
			row{`userType eq "«P» Nobody"`, ""},
			row{`title eq "«P» Chief Engineer"`, "cyd"}),
	},
	{
		ID:           "filter.ne",
		Title:        "The operator ne finds the users whose value differs from the operand",
		Requirements: reqs("RFC7644-3.4.2.2-10", "RFC7644-3.4.2.2-11"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients exclude service accounts with ne; after a wrong result, they change these accounts or omit users.",
		Fix:          operatorFix,
		// eve has no userType. The check filter.ne-absent tests absent values.
		Run: rows(false, row{scope + `userType pr and userType ne "«P» Employee"`, "bob dan"}),
	},
	{
		ID:           "filter.ne-absent",
		Title:        "The operator ne also finds the users without a value of the attribute",
		Requirements: reqs("RFC7644-3.4.2.2-11"),
		Level:        may, // only informational: RFC 7644 does not say whether ne matches an absent value
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "Clients exclude a kind of account with ne; users without the attribute are missing in the result, and the client deactivates " +
			"them.",
		Fix: operatorFix + " In SQL, the condition also needs IS NULL, because a comparison with NULL is never true.",
		Run: rows(false, row{scope + `userType ne "«P» Employee"`, "bob dan eve"}),
	},
	{
		ID:           "filter.co",
		Title:        "The operator co finds the users whose value contains the operand",
		Requirements: reqs("RFC7644-3.4.2.2-12"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Administrators search users with co; a wrong result hides users from them.",
		Fix:          operatorFix,
		Run:          rows(false, row{`title co "«P» Chief"`, "cyd"}, row{scope + `title co "ngineerin"`, "dan"}),
	},
	{
		ID:           "filter.sw",
		Title:        "The operator sw finds the users whose value starts with the operand",
		Requirements: reqs("RFC7644-3.4.2.2-13"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients read a directory in parts, for example by first letter with sw; they deactivate users that no part contains.",
		Fix:          operatorFix + " A value that merely contains the operand does not match.",
		Run:          rows(false, row{`userName sw "«P»ada"`, "ada"}, row{`title sw "«P» Chief"`, "cyd"}),
	},
	{
		ID:           "filter.ew",
		Title:        "The operator ew finds the users whose value ends with the operand",
		Requirements: reqs("RFC7644-3.4.2.2-14"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients select the users of an email domain with ew; a wrong result includes users of other domains.",
		Fix:          operatorFix + " A value that merely contains the operand does not match.",
		Run:          rows(false, row{scope + `title ew "f Engineer"`, "cyd"}, row{scope + `title ew "ngineerin"`, ""}),
	},
	{
		ID:           "filter.pr",
		Title:        "The operator pr finds exactly the users who have a value of the attribute",
		Requirements: reqs("RFC7644-3.4.2.2-16", "RFC7644-3.4.2.2-17", "RFC7644-3.4.2.2-18"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Clients search for unlinked accounts with \"not (externalId pr)\"; if pr matches empty values or misses " +
			"others, these accounts stay unlinked or are linked twice.",
		Fix: operatorFix + " The operator pr matches each attribute that has a value, also a complex or multi-valued one, and none that " +
			"is absent, null, an empty string or an empty array.",
		Run: rows(false, row{scope + `title pr`, "ada bob cyd dan"}, row{scope + `userType pr`, "ada bob cyd dan"}),
	},
	{
		ID:           "filter.gt",
		Title:        "The operator gt finds only greater values; the operator ge also finds equal values",
		Requirements: reqs("RFC7644-3.4.2.2-19"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients read a directory in parts with gt and ge as bounds; with a wrong bound, they miss a user or get a user twice.",
		Fix:          operatorFix,
		Run: rows(false,
			row{scope + `title pr and displayName gt "«P» Bob"`, "cyd dan"},
			row{scope + `title pr and displayName ge "«P» Bob"`, "bob cyd dan"}),
	},
	{
		ID:           "filter.lt",
		Title:        "The operator lt finds only smaller values; the operator le also finds equal values",
		Requirements: reqs("RFC7644-3.4.2.2-19"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients read a directory in parts with lt and le as bounds; with a wrong bound, they miss a user or get a user twice.",
		Fix:          operatorFix,
		Run: rows(false,
			row{scope + `title pr and displayName lt "«P» Cyd"`, "ada bob"},
			row{scope + `title pr and displayName le "«P» Cyd"`, "ada bob cyd"}),
	},
	{
		ID:           "filter.absent-less",
		Title:        "The operators lt and le do not match users without a value",
		Requirements: reqs("RFC7644-3.4.2.2-19"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why: "Clients read a directory in parts with lt and le; users without the attribute are then in a part to which they do " +
			"not belong.",
		Fix: "Evaluate a comparison with an absent value as false, for lt and le as for all other operators.",
		Run: unlessWrong(rows(false, row{scope + `title lt "«P» A"`, ""}, row{scope + `title le "«P» A"`, ""}), "lt", "le"),
	},
	{
		ID:           "filter.boolean",
		Title:        "The operator eq finds exactly the users whose boolean value, such as active, is equal to the operand true or false",
		Requirements: reqs("RFC7644-3.4.2.2-44", "RFC7644-3.4.2.2-43"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients select accounts with \"active eq true\"; after a wrong result, they treat former users as active.",
		Fix:          "Compare active with the JSON literals true and false.",
		Run:          rows(false, row{scope + `active eq true`, "ada cyd dan"}, row{scope + `active eq false`, "bob eve"}),
	},
	{
		ID:           "filter.date-time",
		Title:        "A filter compares dateTimes as times, not as strings",
		Requirements: reqs("RFC7644-3.4.2.2-20", "RFC7644-3.4.2.2-60"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     3,
		Why:          "Incremental imports select users by meta.lastModified; a comparison as strings misses changes.",
		Fix:          "Parse the operand and compare times, not strings.",
		Run:          filterDateTime,
	},
	{
		ID:           "filter.and",
		Title:        "The operator \"and\" matches only users who satisfy both conditions",
		Requirements: reqs("RFC7644-3.4.2.2-25"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "Entra ID and Okta join conditions with \"and\". If the server ignores one condition, they get the wrong users.",
		Fix:          operatorFix,
		Run:          rows(false, row{`userType eq "«P» Employee" and title eq "«P» Engineer"`, "ada"}),
	},
	{
		ID:           "filter.or",
		Title:        "The operator \"or\" matches users who satisfy at least one of the conditions",
		Requirements: reqs("RFC7644-3.4.2.2-26"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients look up several accounts with \"or\", and create again the accounts that the response omits.",
		Fix:          operatorFix,
		Run:          rows(false, row{`userName eq "«P»ada@example.com" or userName eq "«P»cyd@example.com"`, "ada cyd"}),
	},
	{
		ID:           "filter.not",
		Title:        "The operator \"not\" matches users who do not satisfy the filter in parentheses",
		Requirements: reqs("RFC7644-3.4.2.2-27", "RFC7644-3.4.2.2-31"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A server that ignores \"not\" returns exactly the users that the client excludes.",
		Fix:          operatorFix,
		Run: rows(false,
			row{scope + `not (userType eq "«P» Employee")`, "bob dan eve"},
			row{scope + `not (userType eq "«P» Employee" or active eq false)`, "dan"}),
	},
}

func filterDateTime(ctx context.Context, t *T) {
	created := t.Fixture["cyd"].Resource.Complex("meta").Text("created")
	instant, err := schema.ParseDateTime(created)
	t.SkipIf(err != nil, "the target does not return meta.created")
	// The first time is one hour before meta.created, written in a time zone 5 hours ahead of UTC; the second is one hour after it, written
	// in a zone 5 hours behind UTC. In both cases, a comparison of the strings gives the wrong order.
	earlier := instant.Add(-time.Hour).In(time.FixedZone("", 5*3600)).Format(time.RFC3339)
	later := instant.Add(time.Hour).In(time.FixedZone("", -5*3600)).Format(time.RFC3339)
	answered := evaluate(ctx, t, row{scope + `meta.created gt ` + quote(later), ""}, false)
	answered = evaluate(ctx, t, row{scope + `meta.created gt ` + quote(earlier), "ada bob cyd dan eve"}, false) || answered
	answered = evaluate(ctx, t, row{scope + `meta.created lt ` + quote(earlier), ""}, false) || answered
	t.SkipIf(!answered, skipUnsupported)
}
