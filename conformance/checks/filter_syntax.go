package checks

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var asksUsers = needs(conformance.NeedUser, conformance.NeedFilter)

// broken returns a check that a filter outside the grammar is rejected.
func broken(id, what, requirement string, level conformance.Level, filters ...string) check {
	return check{
		ID:           "filter.invalid-" + id,
		Title:        "A filter with " + what + " is rejected with 400 invalidFilter",
		Requirements: reqs(requirement, "RFC7644-3.12-16"),
		Level:        level,
		Needs:        asksUsers,
		Requests:     len(filters),
		Why: "A server that misreads a filter returns the wrong users, and the client does not notice. After a 500, the client repeats the " +
			"filter. Without a scimType, the client does not know the reason for a 400.",
		Fix: "Parse the whole filter by the grammar of RFC 7644 section 3.4.2.2 before evaluating it; return 400 invalidFilter if " +
			"characters remain.",
		Run: func(ctx context.Context, t *T) {
			for _, filter := range filters {
				if strings.ContainsAny(filter, "[]") {
					blockedIfRestIgnored(ctx, t)
				}
				res := t.Get(ctx, "/Users", "filter", filter)
				t.Expect("status of GET /Users?filter="+filter, 400, res.Status)
				if kind := res.ScimType(); res.Status == 400 {
					t.Warn(kind == "invalidFilter", "scimType of GET /Users?filter="+filter, "invalidFilter", kind)
				}
			}
		},
	}
}

// blockedIfRestIgnored blocks the check of an error in a part of a filter that a target may not read: if the target accepts a filter with
// an error after its only condition. filter.invalid-syntax reports that.
func blockedIfRestIgnored(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		const filter = `userName eq "a")`
		if res := t.Get(ctx, "/Users", "filter", filter); res.Status == http.StatusOK {
			return "GET /Users?filter=" + filter + " returned 200, which filter.invalid-syntax reports"
		}
		return ""
	})
}

const (
	abnf        = "RFC7644-3.4.2.2-40"
	expressions = "RFC7644-3.4.2.2-08"
	brackets    = "RFC7644-3.4.2.2-33"
)

var filterSyntax = slices.Concat(
	[]check{
		broken("no-operator", "no operator", expressions, must, `userName`, `userName "a"`),
		broken("no-attribute", "no attribute", expressions, must, `eq "a"`),
		broken("operand-of-pr", "an operand after pr", expressions, must, `userName pr "a"`),
		broken("two-operators", "two operators in a row", abnf, must, `userName eq co "a"`),
		broken("no-conjunction", "two conditions without a logical operator between them", abnf, must, `userName eq "a" userName eq "b"`),
		broken("two-conjunctions", "two logical operators in a row", abnf, must, `userName eq "a" and or userName eq "b"`),
		broken("leading-conjunction", "a logical operator at the start", abnf, must, `and userName eq "a"`, `or userName eq "a"`),
		broken("comma", "a comma between conditions", abnf, must, `userName eq "a", userName eq "b"`),
		broken("empty-group", "an empty pair of parentheses", brackets, must, `()`, `userName eq "a" and ()`),
		broken("bare-not", "the operator \"not\" and no parentheses around its condition", "RFC7644-3.4.2.2-30", must, `not userName eq "a"`),
		broken("not-alone", "the operator \"not\" and no condition after it", "RFC7644-3.4.2.2-30", must, `not`, `userName eq "a" and not`),
		broken("empty-brackets", "empty brackets", brackets, must, `emails[]`),
		broken("unopened-bracket", "an unopened bracket", brackets, must, `emails type eq "work"]`),
		broken("crossed-brackets", "brackets and parentheses that overlap", brackets, must, `(emails[type eq "work")]`),
		broken("nested-brackets", "brackets inside brackets", "RFC7644-3.4.2.2-38", should, `emails[value[type eq "work"] eq "a"]`),
		withFix("Decode the operand as a JSON string, and return 400 invalidFilter for an escape that JSON does not define.",
			broken("escape", "an escape that JSON does not define", "RFC7644-3.4.2.2-42", should, `userName eq "\x"`)),
		broken("three-levels", "a name with a sub-attribute of a sub-attribute", "RFC7644-3.4.2.2-46", should, `name.familyName.first eq "a"`),
		broken("bare-word", "an operand without quotes", "RFC7644-3.4.2.2-41", may, `userName eq scimconf`),
		broken("single-quotes", "an operand in single quotes", "RFC7644-3.4.2.2-41", may, `userName eq 'scimconf'`),
	},
	filterUnknown,
	filterLiterals,
	filterInjections,
)

// unknown returns a check that a condition on an unknown name matches no user.
func unknown(id, title, filter string) check {
	return check{
		ID:           "filter.unknown-" + id,
		Title:        title,
		Requirements: reqs("RFC7644-3.4.2.2-61"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "If the server drops a condition with an unknown name, the client gets and changes users that it did not select.",
		Fix:          "Return 400 invalidFilter, or treat the condition as false; never drop it.",
		Run:          func(ctx context.Context, t *T) { expectNoMatch(ctx, t, filter) },
	}
}

var filterUnknown = []check{
	unknown("attribute-and",
		"A filter that joins a condition on an unknown attribute to another one by \"and\" matches no user or is rejected",
		scope+`scimconfNoSuchAttribute eq "x"`),
	unknown("attribute-present", "The operator pr on an unknown attribute matches no user or is rejected", scope+`scimconfNoSuchAttribute pr`),
	unknown("sub-attribute", "A condition on an unknown sub-attribute matches no user or is rejected",
		scope+`name.scimconfNoSuchAttribute eq "x"`),
	unknown("element", "An unknown name in brackets matches no user or is rejected", scope+`emails[scimconfNoSuchAttribute eq "x"]`),
	unknown("schema", "A name under the URN of an unknown schema matches no user or is rejected",
		`urn:example:scimconf:2.0:None:userName sw "«P»"`),
	{
		ID:           "filter.unknown-attribute-or",
		Title:        "With \"or\", a condition on an unknown attribute adds no users to the result, or the filter is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-61"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "If the server ignores the condition, the client gets users that do not satisfy the filter.",
		Fix:          "Treat the condition as false, or return 400 invalidFilter.",
		Run:          rows(false, row{bob + ` or scimconfNoSuchAttribute eq "x"`, "bob"}),
	},
}

// literal returns a check that a character in an operand represents itself.
func literal(id, character string, table ...row) check {
	return check{
		ID:           "filter.literal-" + id,
		Title:        character + " in an operand represents itself",
		Requirements: reqs("RFC7644-3.4.2.2-15", "RFC7644-3.4.2.2-42"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     len(table),
		Why:          "If the server treats a character of the operand as a wildcard or as syntax, the client finds and changes the wrong users.",
		Fix: "Decode the operand as a JSON string, then escape it for the database, for example % and _ in a LIKE pattern; or use a " +
			"comparison without patterns.",
		Run: literalRows(table...),
	}
}

// plainRows are filters whose operands consist of letters, digits and spaces, by attribute and operator. They apply to the fixture people.
var plainRows = map[string]row{
	"displayName eq":     {`displayName eq "«P» Bob"`, "bob"},
	"displayName co":     {scope + `displayName co " Bo"`, "bob"},
	"displayName ew":     {scope + `displayName ew "Bob"`, "bob"},
	"nickName co":        {scope + `nickName co "of 9"`, "cyd"},
	"nickName sw":        {`nickName sw "«P» 50 of"`, "cyd"},
	"nickName ew":        {scope + `nickName ew "of 9"`, "cyd"},
	"title co":           {scope + `title co "Chief"`, "cyd"},
	"name.familyName ew": {scope + `name.familyName ew "bage"`, "bob"},
}

// literalRows is rows with filters that are optional. The check is blocked if the target evaluates one of the plainRows with the same
// attribute and operator wrong.
func literalRows(table ...row) func(context.Context, *T) {
	run := rows(false, table...)
	return func(ctx context.Context, t *T) {
		for _, r := range table {
			match := comparison.FindStringSubmatch(strings.TrimPrefix(r.filter, scope))
			if match == nil {
				continue
			}
			if plain, ok := plainRows[match[1]+" "+match[2]]; ok {
				t.BlockedIf(func() string {
					if wrongRow(ctx, t, plain, "") == "" {
						return ""
					}
					return "GET /Users?filter with " + match[1] + " " + match[2] + " and an operand without special characters does not return " +
						"exactly the users that match"
				})
			}
		}
		run(ctx, t)
	}
}

var filterLiterals = []check{
	literal("percent", "A percent sign", row{scope + `nickName co "0%"`, "ada"}, row{scope + `nickName ew "%9"`, ""}),
	literal("underscore", "An underscore", row{scope + `nickName co "50_o"`, ""}),
	literal("star", "An asterisk", row{scope + `nickName co "50*"`, ""}, row{scope + `nickName sw "*"`, ""}),
	literal("full-stop", "A full stop", row{scope + `nickName co "50. off"`, ""}, row{scope + `nickName ew ".9"`, ""}),
	literal("space", "A leading or trailing space", row{`displayName eq "«P» Bob "`, ""}, row{scope + `title co "Engineer "`, ""},
		row{scope + `displayName ew " Bob"`, "bob"}),
	literal("backslash", "An escaped backslash", row{scope + `displayName co "\\"`, "eve"}),
	literal("quotation-mark", "An escaped quotation mark", row{scope + `displayName co "\"Eve\""`, "eve"},
		row{scope + `displayName co "\"Ada"`, ""}),
	literal("solidus", "An escaped solidus", row{scope + `displayName co "\/"`, ""}),
	literal("unicode-escape", "A letter that is written as a Unicode escape, such as \\u0061,",
		row{scope + `name.familyName ew "\u0061ge"`, "bob"},
		row{scope + `name.familyName ew "\u0061\u0067\u0065"`, "bob"}),
	literal("keyword", "A keyword of the filter grammar", row{`displayName eq "«P» and userName pr or"`, ""},
		row{`displayName eq "«P» Bob" and title eq "«P» ENGINEER"`, "bob"}),
	literal("bracket", "A bracket", row{`displayName eq "«P») or (userName pr"`, ""}, row{`displayName eq "«P»] or emails[type pr"`, ""}),
}

// injection returns a check that operands with code of a language match no user and cause no server error.
func injection(id, language string, operands ...string) check {
	return check{
		ID:           "filter.injection-" + id,
		Title:        language + " in an operand matches no user and causes no server error",
		Requirements: reqs("RFC7644-3.4.2.2-63", "RFC7644-3.4.2.2-15"),
		Level:        should,
		Needs:        asksUsers,
		Requests:     len(operands),
		Why:          "An attacker could read or change the server's data through the operand of a filter.",
		Fix: "Pass operands to a database as bound parameters. Never insert an operand unescaped into the text of a query; in an LDAP " +
			"filter, escape it by RFC 4515 section 3.",
		Run: func(ctx context.Context, t *T) {
			for _, operand := range operands {
				// The target receives each operand as a string between quotation marks, also an operand such as {"$gt":""}.
				filter := "userName eq " + quote(operand)
				res := t.Get(ctx, "/Users", "filter", filter)
				t.Holds(res.Status < 500, "status of the filter "+filter, "200 or 400", res.Status)
				t.Expect("number of users found by the filter "+filter, 0, len(res.Resources()))
			}
		},
	}
}

var filterInjections = []check{
	injection("sql", "SQL", `x' OR 1=1 --`, `x'; DROP TABLE users; --`, `x' UNION SELECT NULL,NULL --`),
	injection("nosql", "A document database query", `{"$gt":""}`, `';return true;//`),
	injection("ldap", "An LDAP filter", `*)(objectClass=*`, `x)(|(uid=*))`),
	injection("pattern", "A regular expression or a wildcard", `.*`, `^`, `%`, `(a+)+$`),
	injection("template", "A template expression such as {{7*7}}", `${7*7}`, `{{7*7}}`, `%s%n%x`),
	{
		ID:           "filter.injection-name",
		Title:        "Code in place of an attribute name matches no user and causes no server error",
		Requirements: reqs("RFC7644-3.4.2.2-63", abnf),
		Level:        should,
		Needs:        filters,
		Fixture:      people,
		Requests:     3,
		Why:          "A server that uses names as columns without checking them lets an attacker insert code into database queries.",
		Fix:          "Resolve names against the schema, and reject unknown names.",
		Run: func(ctx context.Context, t *T) {
			for _, name := range []string{`userName' OR '1'='1`, `1=1;--`, `__proto__`} {
				expectNoMatch(ctx, t, name+` eq "x"`)
			}
		},
	},
	{
		ID:           "filter.long",
		Title:        "A filter of two hundred conditions is evaluated or rejected, without a server error",
		Requirements: reqs("RFC7644-3.4.2.2-63"),
		Level:        should,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Clients look up many users in one filter. After a server error, they repeat the request indefinitely.",
		Fix:          "Limit the length of filters, for example to 8 KiB, and return 400, 413 or 414 above the limit.",
		Run: func(ctx context.Context, t *T) {
			expectHandled(ctx, t, `userName eq "scimconf-nobody"`+strings.Repeat(` or userName eq "scimconf-nobody"`, 199))
		},
	},
	{
		ID:           "filter.deep",
		Title:        "A filter with two hundred nested pairs of parentheses is evaluated or rejected, without a server error",
		Requirements: reqs("RFC7644-3.4.2.2-63"),
		Level:        should,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "One client can crash the server if nested parentheses exhaust the stack of the filter parser.",
		Fix:          "Limit the depth of nested parentheses, for example to 50, and return 400 above the limit.",
		Run: func(ctx context.Context, t *T) {
			expectHandled(ctx, t, strings.Repeat("(", 200)+`userName eq "scimconf-nobody"`+strings.Repeat(")", 200))
		},
	},
	{
		ID:           "filter.empty",
		Title:        "A filter that is empty or a space is rejected or treated as absent",
		Requirements: reqs("RFC7644-3.4.2.2-07"),
		Level:        should,
		Needs:        asksUsers,
		Requests:     2,
		Why: "A search form sends an empty filter or a space if the administrator enters nothing; after a server error, the administrator " +
			"sees no users.",
		Fix: "Return 400 invalidFilter, or treat a filter of spaces only as absent and return all users.",
		Run: func(ctx context.Context, t *T) {
			for _, filter := range []string{"", " "} {
				res := t.Get(ctx, "/Users", "filter", filter, "count", "1")
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with the filter "+quote(filter), "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "filter.null",
		Title:        "A comparison of an attribute with null by eq matches the users without a value, or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-45"),
		Level:        may,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients use eq null to find users without a value; a server that ignores the filter returns all users.",
		Fix:          "Treat x eq null as not (x pr), and x ne null as x pr, or return 400 invalidFilter.",
		Run:          rows(false, row{scope + `title eq null`, "eve"}, row{scope + `title ne null`, "ada bob cyd dan"}),
	},
	{
		ID:           "filter.extra-blanks",
		Title:        "Extra spaces before, between and after the parts of a filter do not change the result",
		Requirements: reqs(abnf),
		Level:        may,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "Administrators type filters by hand, with extra spaces, and see no users after a rejection. The grammar permits the " +
			"rejection: it has one space between tokens.",
		Fix: "Accept several spaces between tokens, and spaces before and after the filter.",
		Run: rows(false, row{`  userType   eq  "«P» Employee"  `, "ada cyd"}),
	},
	{
		ID:           "filter.core-schema-of-group",
		Title:        "On /Users, a condition on displayName with the URN of the Group schema matches no users or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-61", "RFC7644-3.10-01"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "A server that ignores the URN of the Group schema compares displayName of users instead, and the client gets and " +
			"changes users that it did not select.",
		Fix: "Resolve the name with its URN; if no schema of users has this URN, return 400 invalidFilter or treat the condition as " +
			"false.",
		Run: func(ctx context.Context, t *T) { expectNoMatch(ctx, t, scim.GroupSchema+`:displayName sw "«P»"`) },
	},
}

// expectHandled sends a filter that must match no user. The target may reject the filter, but must not return a 5xx status other than 501.
func expectHandled(ctx context.Context, t *T, filter string) {
	res := t.Get(ctx, "/Users", "filter", filter)
	t.Holds(res.Status < 500 || res.Status == 501, "status of a filter of "+strconv.Itoa(len(filter))+" characters",
		"200, 4xx or 501", res.Status)
	t.Expect("number of users found by a filter of "+strconv.Itoa(len(filter))+" characters", 0, len(res.Resources()))
}
