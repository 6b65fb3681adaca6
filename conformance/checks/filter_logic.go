package checks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const logicFix = "Build the expression tree by the precedence of RFC 7644 section 3.4.2.2 and evaluate it; do not rewrite the filter " +
	"string."

// logic returns a check of filters that contain logical operators or parentheses.
func logic(id, title, requirement, why string, table ...row) check {
	return check{
		ID:           "filter." + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     len(table),
		Why:          why,
		Fix:          logicFix,
		Run:          rows(false, table...),
	}
}

// inElement returns a check of filters with logical operators inside square brackets.
func inElement(id, title, requirement, why string, table ...row) check {
	c := logic(id, title, requirement, why, table...)
	c.Fix = "Evaluate the whole condition in square brackets, with its operators \"and\", \"or\" and \"not\", on one element at a time; the " +
		"filter matches if at least one element satisfies the condition."
	c.Run = onValuePath.unlessWrong(c.Run)
	return c
}

// withoutBlanks returns the check of filters without spaces next to parentheses. The grammar of RFC 7644 has no space between "not" and
// its parenthesis, and requires one on both sides of "and" and "or".
func withoutBlanks() check {
	c := logic("group-without-blanks", "The operator \"not\" may be next to its parenthesis; a filter without the space between a "+
		"parenthesis and \"or\" is evaluated or rejected with 400", grouping,
		"Clients that follow the grammar write \"not(\"; a server that requires a space returns them the wrong users.",
		row{scope + `not(` + employee + `)`, "bob dan eve"})
	c.Requests++
	c.Fix = "Accept \"not(\" and \"not (\". Return 400 with scimType invalidFilter for \")or(\", or evaluate it as \") or (\"."
	evaluated := c.Run
	c.Run = func(ctx context.Context, t *T) {
		evaluated(ctx, t)
		written := `(` + bob + `)or(title sw "«P» Chief")`
		if name := unstoredAttribute(t, written); name != "" {
			t.Note("not sent, because the target does not store %s as sent: %s", name, written)
			return
		}
		blockedIfOperatorFails(ctx, t, written)
		blockedIfConditionFails(ctx, t, written)
		filter := expand(t, written)
		res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
		if res.Status == 400 || res.Status == 501 {
			t.Note("rejected with %d: %s", res.Status, filter)
			return
		}
		t.Must(res.Status == 200, "status of GET /Users?filter="+filter, "400 with scimType invalidFilter, or 200", res.Status)
		t.Expect("users found by "+filter, []string{"bob", "cyd"}, labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")))
	}
	return c
}

const (
	orPrecedence = "RFC7644-3.4.2.2-29"
	grouping     = "RFC7644-3.4.2.2-28"
	negation     = "RFC7644-3.4.2.2-27"

	employee = `userType eq "«P» Employee"` // matches ada and cyd
	bob      = `userName eq "«P»bob@example.com"`
	inactive = `active eq false` // matches bob and eve
)

// filterLogic are checks of filters with logical operators or parentheses and their expected results, and of pairs of filters that must
// match the same users.
var filterLogic = []check{
	logic("and-chain", "Three conditions joined by \"and\" match only users who satisfy all three", "RFC7644-3.4.2.2-25",
		"A server that evaluates only two of three conditions returns users that the client did not select.",
		row{scope + employee + ` and title co "Chief"`, "cyd"}, row{scope + employee + ` and title co "Chief" and active eq false`, ""}),
	logic("or-chain", "Three conditions joined by \"or\" match users who satisfy at least one of them", "RFC7644-3.4.2.2-26",
		"Clients look up several accounts with \"or\", and create again the accounts that the response omits.",
		row{bob + ` or userName eq "«P»cyd@example.com" or userName eq "«P»dan@example.com"`, "bob cyd dan"},
		row{strings.Repeat(`userName eq "«P»nobody@example.com" or `, 9) + bob, "bob"}),
	logic("precedence-mirrored", "The operator \"and\" has a higher precedence than \"or\", even if \"and\" comes first", orPrecedence,
		"A server that evaluates a filter from right to left returns the wrong users to the client.",
		row{employee + ` and active eq false or ` + bob, "bob"}),
	logic("precedence-between", "In \"a or b and c or d\", the operator \"and\" joins only \"b\" and \"c\"", orPrecedence,
		"A server that evaluates from left to right or from right to left returns the wrong users.",
		row{bob + ` or ` + employee + ` and title co "Chief" or userName eq "«P»dan@example.com"`, "bob cyd dan"}),
	logic("not-before-and", "The operator \"not\" negates only the parentheses after it, and no condition after the parentheses", orPrecedence,
		"If the server negates the rest of the filter too, the client gets users that it did not select.",
		row{`not (` + employee + `) and userName sw "«P»" and active eq false`, "bob eve"}),
	logic("not-before-or", "In \"not (a) or b\", the operator \"not\" negates only \"a\"", orPrecedence,
		"If the server negates both sides of \"or\", the client gets the wrong users.",
		row{scope + `(not (active eq true) or ` + employee + `)`, "ada bob cyd eve"}),
	logic("not-of-and", "The filter \"not (a and b)\" matches all users except those who satisfy both a and b", negation,
		"Clients exclude users with \"not (a and b)\"; after a wrong result, excluded users get accounts.",
		row{scope + `not (active eq true and ` + employee + `)`, "bob dan eve"}),
	logic("double-negation", "The filter \"not (not (a))\" matches the same users as \"a\"", negation,
		"Clients that generate filters nest negations, and get the wrong users if the server ignores one of them.",
		row{scope + `not (not (` + employee + `))`, "ada cyd"}),
	logic("not-present", "The filter \"not (x pr)\" matches users without a value of the attribute x", negation,
		"Clients search for unlinked accounts with \"not (externalId pr)\"; accounts that the response omits stay unlinked.",
		row{scope + `not (title pr)`, "eve"}, row{scope + `not (emails pr)`, "cyd"}),
	logic("nested-groups", "Nested parentheses are evaluated from the inside", grouping,
		"Generated filters have deeply nested parentheses; if the server ignores a level, clients get the wrong users.",
		row{scope + `((` + employee + ` or (` + inactive + ` and title pr)) and (not (title co "Chief")))`, "ada bob"}),
	logic("group-at-the-end", "Parentheses are accepted after the operator \"and\"", grouping,
		"A parser that expects parentheses only at the start rejects valid filters of clients.",
		row{scope + `(` + bob + ` or title co "Chief")`, "bob cyd"}),
	logic("redundant-groups", "Redundant parentheses do not change the result", "RFC7644-3.4.2.2-32",
		"Clients that generate filters put every condition in parentheses; if the server rejects these, all lookups fail.",
		row{`(((` + bob + `)))`, "bob"}, row{`((` + employee + `)) and ((active eq true))`, "ada cyd"}),
	withoutBlanks(),

	equivalent("de-morgan-and", "The filter \"not (a and b)\" matches the same users as \"not (a) or not (b)\"",
		scope+`not (`+employee+` and title co "Chief")`, scope+`(not (`+employee+`) or not (title co "Chief"))`),
	equivalent("de-morgan-or", "The filter \"not (a or b)\" matches the same users as \"not (a) and not (b)\"",
		scope+`not (`+employee+` or `+inactive+`)`, scope+`not (`+employee+`) and not (`+inactive+`)`),
	equivalent("and-commutes", "The filter \"a and b\" matches the same users as \"b and a\"", employee+` and title co " Engineer"`,
		`title co " Engineer" and `+employee),
	equivalent("or-commutes", "The filter \"a or b\" matches the same users as \"b or a\"", bob+` or `+employee, employee+` or `+bob),
	equivalent("distributes", "The filter \"a and (b or c)\" matches the same users as \"a and b or a and c\"",
		employee+` and (`+bob+` or title co "Chief")`, employee+` and `+bob+` or `+employee+` and title co "Chief"`),
	equivalent("ge-is-not-lt", "Among users with a value, \"x ge v\" matches the same users as \"not (x lt v)\"",
		scope+`title pr and displayName ge "«P» Bob"`, scope+`title pr and not (displayName lt "«P» Bob")`),
	equivalent("sw-and-eq", "A value that the operator eq matches is also matched by the operator sw",
		scope+`name.familyName eq "«P» Ingalls"`, scope+`name.familyName eq "«P» Ingalls" and name.familyName sw "«P» Ingalls"`),
	{
		ID:           "filter.complement",
		Title:        "Every user matches either a condition or its negation, and no user matches both",
		Requirements: reqs(negation),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     4,
		Why: "A client that imports users in two parts misses those that neither filter matches, and creates twice those that " +
			"both match.",
		Fix: logicFix,
		Run: filterComplement,
	},

	inElement("value-path-or", "The operator \"or\" joins conditions inside square brackets", "RFC7644-3.4.2.2-37",
		"Clients search by the work or the home address, and create a duplicate if they do not find the user.",
		row{`emails[value sw "«P»dan" and (type eq "work" or type eq "home")]`, "dan"},
		row{`emails[value eq "«P»ada.w@example.com" or value eq "«P»bob.w@example.com"]`, "ada bob"},
		row{scope + `emails[type eq "home" or type eq "work" and value sw "«P»dan"]`, "ada dan"},
		row{`emails[(type eq "home" or type eq "other") and value eq "«P»ada.h@example.com"]`, "ada"},
		row{`emails[(type eq "home" or type eq "other") and value eq "«P»ada.w@example.com"]`, ""}),
	inElement("value-path-not", "The operator \"not\" in square brackets negates its condition for each element", "RFC7644-3.4.2.2-37",
		"The filter emails[not (type eq \"work\")] finds users with any other address; a server that negates the condition for the whole "+
			"user omits those that also have a work address.",
		row{`emails[value sw "«P»" and not (type eq "work")]`, "ada dan"},
		row{scope + `emails[not (type eq "work")]`, "ada dan"},
		row{scope + `emails[not (type eq "work" and value sw "«P»ada")]`, "ada bob dan eve"}),
	logic("value-path-negated", "The filter \"not (emails[x])\" matches users without an email that satisfies \"x\"", "RFC7644-3.4.2.2-39",
		"Clients send this filter to find users without a home address; after a wrong result, they change other users.",
		row{scope + `not (emails[type eq "home"])`, "bob cyd eve"}),
	logic("value-path-joined", "A condition in square brackets can be joined with others by \"and\" and \"or\"", "RFC7644-3.4.2.2-39",
		"Clients join conditions with and without brackets; if the server ignores one of them, they get the wrong users.",
		row{scope + `emails[type eq "home"] and name.familyName sw "«P» Ing"`, "dan"},
		row{scope + `(emails[type eq "home"] or ` + bob + `)`, "ada bob dan"}),
	logic("value-path-twice", "Two conditions, each in its own square brackets, may be satisfied by different elements", "RFC7644-3.4.2.2-39",
		"A server that evaluates both brackets on one element finds no user, and the client creates a duplicate.",
		row{scope + `emails[type eq "work"] and emails[type eq "home"]`, "ada dan"}),
	{
		ID:           "filter.value-path-primary",
		Title:        "In square brackets, an element without primary matches \"primary eq false\" and not \"primary eq true\"",
		Requirements: reqs("RFC7643-2.4-05", "RFC7644-3.4.2.2-36"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     3,
		Why: "Clients search for secondary addresses with primary eq false; if the server requires a stored false, they do not find the " +
			"user.",
		Fix: "Evaluate primary of an element without primary as false. In SQL, a comparison with NULL is never true.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(hasPrimary(t.Fixture["dan"].Resource), "the target makes an address primary that a client did not make primary")
			rows(false, row{`emails[value sw "«P»dan" and primary eq false]`, "dan"}, row{`emails[value sw "«P»dan" and primary ne true]`, "dan"},
				row{`emails[value sw "«P»dan" and primary eq true]`, ""})(ctx, t)
		},
	},
	sameInCapitals("logic-ignores-case", "The operators \"and\", \"or\" and \"not\" are case-insensitive", "RFC7644-3.4.2.2-05",
		[2]string{employee + ` and title co "Chief"`, employee + ` AND title co "Chief"`},
		[2]string{bob + ` or title co " Chief"`, bob + ` Or title co " Chief"`},
		[2]string{scope + `not (` + employee + `)`, scope + `NOT (` + employee + `)`}),
	sameInCapitals("value-path-ignores-case",
		"In square brackets, names and operators are case-insensitive, and so are values of attributes that are not "+
			"caseExact", "RFC7644-3.4.2.2-36",
		[2]string{`emails[type eq "work" and value sw "«P»dan"]`, `emails[type EQ "work" AND value SW "«P»dan"]`},
		[2]string{`emails[type eq "work" and value sw "«P»dan"]`, `emails[TYPE eq "work" and Value sw "«P»dan"]`},
		[2]string{`emails[type eq "work" and value sw "«P»dan"]`, `emails[type eq "WORK" and value sw "«P»dan"]`}),
	sameInCapitals("urn-ignores-case", "The URN before a name is case-insensitive", "RFC7644-3.10-03",
		[2]string{core + `userName eq "«P»ada@example.com"`, strings.ToUpper(core) + `userName eq "«P»ada@example.com"`},
		[2]string{core + `name.familyName eq "«P» Babbage"`, strings.ToLower(core) + `name.familyName eq "«P» Babbage"`}),
}

// sameInCapitals returns a check that the two filters of each pair match the same users. They differ only in the case of their letters, and
// the first one is in the case of the RFCs. If the target rejects it or finds no user, the second one is not sent, because another check
// reports the first one. Otherwise a rejection of the second one is a finding. A pair that differs in an operand is omitted if the schema
// describes emails.type, the attribute of such pairs, as caseExact.
func sameInCapitals(id, title, requirement string, pairs ...[2]string) check {
	return check{
		ID:           "filter." + id,
		Title:        title,
		Requirements: reqs(requirement, "RFC7644-3.4.2.2-04", "RFC7644-3.4.2.2-05"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2 * len(pairs),
		Why: "Clients write names, URNs and operators in different case; a case-sensitive server rejects their lookups or finds no " +
			"user.",
		Fix: "Compare names, URNs and keywords case-insensitively in every part of a filter.",
		Run: func(ctx context.Context, t *T) {
			answered, unanswered := false, ""
			for _, pair := range pairs {
				operands := [2][]string{filterText.FindAllString(pair[0], -1), filterText.FindAllString(pair[1], -1)}
				if unstoredAttribute(t, pair[0]) != "" || !slices.Equal(operands[0], operands[1]) && isPartCaseExact(t, "emails", "type") {
					continue
				}
				want, reason := usualCase(ctx, t, pair[0])
				if len(want) == 0 {
					unanswered = cmp.Or(reason, unanswered)
					continue
				}
				answered = true
				filter := expand(t, pair[1])
				res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
				if t.Expect("status of GET /Users?filter="+filter, 200, res.Status) {
					t.Expect("users found by "+filter+", compared with "+expand(t, pair[0]), want,
						labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")))
				}
			}
			t.SkipIf(!answered && unanswered != "", "blocked: "+unanswered)
			t.SkipIf(!answered, skipUnsupported)
		},
	}
}

// withUsualCase returns the Run of a check of case-insensitive comparisons. It blocks the check if the filter in the case of the RFCs finds
// none of the expected users, or users that are not expected: then the response to another case shows nothing about case.
func withUsualCase(filter, users string, run func(context.Context, *T)) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		t.BlockedIf(func() string {
			found, reason := usualCase(ctx, t, filter)
			expected := strings.Fields(users)
			if slices.ContainsFunc(found, func(label string) bool { return !slices.Contains(expected, label) }) {
				return "GET /Users?filter, in the case of the RFCs, found other users"
			}
			return reason
		})
		run(ctx, t)
	}
}

// usualCase evaluates a filter in the case of the RFCs, and returns the labels of the matching users. If there are none, reason is the
// response of the target, or "" if the target rejected the filter as permitted.
func usualCase(ctx context.Context, t *T, filter string) (labeled []string, reason string) {
	filter = expand(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Declines() {
		t.Note("rejected with %d: %s", res.Status, filter)
		return nil, ""
	}
	if res.Status != http.StatusOK {
		return nil, fmt.Sprintf("GET /Users?filter, in the case of the RFCs, returned %d", res.Status)
	}
	if labeled = labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")); len(labeled) == 0 {
		reason = "GET /Users?filter, in the case of the RFCs, found no user"
	}
	return labeled, reason
}

func filterComplement(ctx context.Context, t *T) {
	answered := false
	for _, condition := range []string{employee, `title co "Chief"`} {
		if name := unstoredAttribute(t, condition); name != "" {
			continue
		}
		negated := scope + `not (` + condition + `)`
		blockedIfConditionFails(ctx, t, negated)
		with, ok1 := labelsFound(ctx, t, scope+condition)
		without, ok2 := labelsFound(ctx, t, negated)
		if ok1 && ok2 {
			answered = true
			t.Expect("users found by "+expand(t, condition)+" and by its negation, together", sorted("ada", "bob", "cyd", "dan", "eve"),
				sorted(append(with, without...)...))
		}
	}
	t.SkipIf(!answered, skipUnsupported)
}

// equivalent returns a check that two filters match the same users of the fixture: at least one user, but not all.
func equivalent(id, title, one, other string) check {
	return check{
		ID:           "filter." + id,
		Title:        title,
		Requirements: reqs(negation, grouping),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "If two filters of the same meaning return different users, at least one result is wrong, and clients act on it.",
		Fix:          logicFix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(unstoredAttribute(t, one) != "" || unstoredAttribute(t, other) != "", skipUnsupported)
			blockedIfConditionFails(ctx, t, one)
			blockedIfConditionFails(ctx, t, other)
			first, ok1 := labelsFound(ctx, t, one)
			second, ok2 := labelsFound(ctx, t, other)
			t.SkipIf(!ok1 || !ok2, skipUnsupported)
			t.Holds(slices.Equal(first, second), "users found by "+expand(t, one)+", and by "+expand(t, other), "the same users",
				fmt.Sprintf("%q, and %q", first, second))
			t.Holds(len(first) > 0 && len(first) < len(t.Fixture), "number of users found by "+expand(t, one), "some, but not all", len(first))
		},
	}
}

// labelsFound evaluates a filter and returns the labels of the matching users; ok is false if the target rejects it.
func labelsFound(ctx context.Context, t *T, filter string) (labeled []string, ok bool) {
	filter = expand(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Declines() {
		t.Note("rejected with %d: %s", res.Status, filter)
		return nil, false
	}
	filterRequired(t, res, "GET /Users?filter="+filter)
	return labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")), true
}
