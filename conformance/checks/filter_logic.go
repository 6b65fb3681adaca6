package checks

import (
	"context"
)

const logicFix = "Build the expression tree by the precedence of RFC 7644 section 3.4.2.2 and evaluate it; do not rewrite the filter " +
	"string."

// logic returns a check of joined conditions.
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

const (
	orPrecedence = "RFC7644-3.4.2.2-29"
	grouping     = "RFC7644-3.4.2.2-28"
	negation     = "RFC7644-3.4.2.2-27"

	employee = `userType eq "«P» Employee"` // ada cyd
	bob      = `userName eq "«P»bob@example.com"`
	inactive = `active eq false` // bob eve
)

// filterLogic are checks of joined conditions with their expected results, and of pairs of filters that must match the same users.
var filterLogic = []check{
	logic("and-chain", "Three conditions joined by and must all hold", "RFC7644-3.4.2.2-25",
		"A server that evaluates two of three conditions finds too many users.",
		row{scope + employee + ` and title co "Chief"`, "cyd"}, row{scope + employee + ` and title co "Chief" and active eq false`, ""}),
	logic("or-chain", "One of three conditions joined by or is enough", "RFC7644-3.4.2.2-26",
		"Clients look up whole batches of accounts with or.",
		row{bob + ` or userName eq "«P»cyd@example.com" or userName eq "«P»dan@example.com"`, "bob cyd dan"}),
	logic("precedence-mirrored", "and binds more tightly than or, also when it comes first", orPrecedence,
		"A server that evaluates from right to left passes the other check of precedence.",
		row{employee + ` and active eq false or ` + bob, "bob"}),
	logic("precedence-between", "An and between two ors joins only the two adjacent conditions", orPrecedence,
		"Only a correct precedence evaluates both sides correctly.",
		row{bob + ` or ` + employee + ` and title co "Chief" or userName eq "«P»dan@example.com"`, "bob cyd dan"}),
	logic("not-before-and", "not applies to its parentheses only, not to the conditions after them", orPrecedence,
		"A not that applies to the rest of the filter turns a narrow query into a wide one.",
		row{`not (` + employee + `) and userName sw "«P»" and active eq false`, "bob eve"}),
	logic("not-before-or", "A not before or negates only its own side", orPrecedence, "The precedence of not is higher than that of or.",
		row{scope + `(not (active eq true) or ` + employee + `)`, "ada bob cyd eve"}),
	logic("not-of-and", "not (A and B) matches users who do not satisfy both conditions", negation,
		"Scoping filters use it to exclude users.",
		row{scope + `not (active eq true and ` + employee + `)`, "bob dan eve"}),
	logic("double-negation", "Two nots cancel each other", negation, "Generated filters nest negations.",
		row{scope + `not (not (` + employee + `))`, "ada cyd"}),
	logic("not-present", "not (x pr) matches users without a value", negation, "Clients search for accounts that were never linked.",
		row{scope + `not (title pr)`, "eve"}, row{scope + `not (emails pr)`, "cyd"}),
	logic("nested-groups", "Nested groups are evaluated from the inside", grouping, "Generated filters are deeply nested.",
		row{scope + `((` + employee + ` or (` + inactive + ` and title pr)) and (not (title co "Chief")))`, "ada bob"}),
	logic("group-at-the-end", "A group may follow and", grouping, "A parser that expects a parenthesis only at the start misses it.",
		row{scope + `(` + bob + ` or title co "Chief")`, "bob cyd"}),
	logic("redundant-groups", "Redundant parentheses change nothing", "RFC7644-3.4.2.2-32", "Generated filters wrap every part.",
		row{`(((` + bob + `)))`, "bob"}, row{`((` + employee + `)) and ((active eq true))`, "ada cyd"}),
	logic("group-without-blanks", "Parentheses need no spaces around them", "RFC7644-3.4.2.2-28", "The grammar has no spaces there.",
		row{scope + `not(` + employee + `)`, "bob dan eve"}, row{`(` + bob + `)or(title sw "«P» Chief")`, "bob cyd"}),

	equivalent("de-morgan-and", "not (a and b) matches the same users as not (a) or not (b)",
		scope+`not (`+employee+` and title co "Chief")`, scope+`(not (`+employee+`) or not (title co "Chief"))`),
	equivalent("de-morgan-or", "not (a or b) matches the same users as not (a) and not (b)",
		scope+`not (`+employee+` or `+inactive+`)`, scope+`not (`+employee+`) and not (`+inactive+`)`),
	equivalent("and-commutes", "a and b matches the same users as b and a", employee+` and title co " Engineer"`,
		`title co " Engineer" and `+employee),
	equivalent("or-commutes", "a or b matches the same users as b or a", bob+` or `+employee, employee+` or `+bob),
	equivalent("distributes", "a and (b or c) matches the same users as a and b or a and c",
		employee+` and (`+bob+` or title co "Chief")`, employee+` and `+bob+` or `+employee+` and title co "Chief"`),
	equivalent("ge-is-not-lt", "For users with a value, ge matches the same users as not lt",
		scope+`title pr and displayName ge "«P» Bob"`, scope+`title pr and not (displayName lt "«P» Bob")`),
	equivalent("sw-and-eq", "A value that eq matches is also matched by sw",
		scope+`name.familyName eq "«P» Ingalls"`, scope+`name.familyName eq "«P» Ingalls" and name.familyName sw "«P» Ingalls"`),
	{
		ID:           "filter.complement",
		Title:        "A condition and its negation together match every user exactly once",
		Requirements: reqs(negation),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     4,
		Why:          "An import misses users that neither matches, and imports users twice that both match.",
		Fix:          logicFix,
		Run:          filterComplement,
	},

	logic("value-path-or", "or works inside brackets", "RFC7644-3.4.2.2-37", "Clients search by the work or the home address.",
		row{`emails[value sw "«P»dan" and (type eq "work" or type eq "home")]`, "dan"},
		row{`emails[value eq "«P»ada.w@example.com" or value eq "«P»bob.w@example.com"]`, "ada bob"}),
	logic("value-path-not", "not works inside brackets", "RFC7644-3.4.2.2-37",
		"A user with an address that is not of a type may still have another address of that type.",
		row{`emails[value sw "«P»" and not (type eq "work")]`, "ada dan"}),
	logic("value-path-negated", "not before brackets matches users without such an element", "RFC7644-3.4.2.2-39",
		"Clients search for users without a work address.",
		row{scope + `not (emails[type eq "home"])`, "bob cyd eve"}),
	logic("value-path-joined", "Brackets can be joined with other conditions", "RFC7644-3.4.2.2-39", "Scoping filters combine both.",
		row{scope + `emails[type eq "home"] and name.familyName sw "«P» Ing"`, "dan"},
		row{scope + `(emails[type eq "home"] or ` + bob + `)`, "ada bob dan"}),
	logic("value-path-twice", "Two bracketed conditions may match different elements", "RFC7644-3.4.2.2-39",
		"Only conditions within one pair of brackets apply to the same element.",
		row{scope + `emails[type eq "work"] and emails[type eq "home"]`, "ada dan"}),
}

func filterComplement(ctx context.Context, t *T) {
	answered := false
	for _, condition := range []string{employee, `title co "Chief"`} {
		if name := unstoredAttribute(t, condition); name != "" {
			continue
		}
		with, ok1 := labelsFound(ctx, t, scope+condition)
		without, ok2 := labelsFound(ctx, t, scope+`not (`+condition+`)`)
		if ok1 && ok2 {
			answered = true
			t.Expect("users found by "+expand(t, condition)+" and by its negation, together", sorted("ada", "bob", "cyd", "dan", "eve"),
				sorted(append(with, without...)...))
		}
	}
	t.SkipIf(!answered, skipUnsupported)
}

// equivalent returns a check that two filters match the same users: at least one, but not all.
func equivalent(id, title, one, other string) check {
	return check{
		ID:           "filter." + id,
		Title:        title,
		Requirements: reqs(negation, grouping),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "The equivalence holds in every query language; a target that violates it does not evaluate the filter as sent.",
		Fix:          logicFix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(unstoredAttribute(t, one) != "" || unstoredAttribute(t, other) != "", skipUnsupported)
			first, ok1 := labelsFound(ctx, t, one)
			second, ok2 := labelsFound(ctx, t, other)
			t.SkipIf(!ok1 || !ok2, skipUnsupported)
			t.Expect("users found by "+expand(t, other)+", compared with "+expand(t, one), first, second)
			t.Holds(len(first) > 0 && len(first) < len(t.Fixture), "number of users found by "+expand(t, one), "some, but not all", len(first))
		},
	}
}

// labelsFound evaluates a filter and returns the labels of the matching users; ok is false if the target rejects it.
func labelsFound(ctx context.Context, t *T, filter string) (labeled []string, ok bool) {
	filter = expand(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Status == 400 || res.Status == 501 {
		t.Note("rejected with %d: %s", res.Status, filter)
		return nil, false
	}
	t.Require("status of GET /Users?filter="+filter, 200, res.Status)
	return labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200")), true
}
