package checks

import (
	"context"
)

const logicFix = "Build the expression tree by the precedence of RFC 7644 section 3.4.2.2 and evaluate it; do not rewrite the text of " +
	"the filter."

// logic makes a check of how conditions are joined.
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

// filterLogic are the ways to join conditions, with what they find, and pairs of filters that must find the same.
var filterLogic = []check{
	logic("and-chain", "Three conditions joined by and must all hold", "RFC7644-3.4.2.2-25",
		"A server that evaluates two of three conditions finds too many.",
		row{scope + employee + ` and title co "Chief"`, "cyd"}, row{scope + employee + ` and title co "Chief" and active eq false`, ""}),
	logic("or-chain", "One of three conditions joined by or is enough", "RFC7644-3.4.2.2-26",
		"Clients look up whole batches of accounts by or.",
		row{bob + ` or userName eq "«P»cyd@example.com" or userName eq "«P»dan@example.com"`, "bob cyd dan"}),
	logic("precedence-mirrored", "and binds more tightly than or, also when it comes first", orPrecedence,
		"A server that reads from right to left passes the other test of precedence.",
		row{employee + ` and active eq false or ` + bob, "bob"}),
	logic("precedence-between", "An and between two ors takes its own two neighbours", orPrecedence,
		"Only a real precedence gets both sides right.",
		row{bob + ` or ` + employee + ` and title co "Chief" or userName eq "«P»dan@example.com"`, "bob cyd dan"}),
	logic("not-before-and", "not applies to its parentheses only, not to what follows them", orPrecedence,
		"A not that swallows the rest of the filter turns a narrow query into a wide one.",
		row{`not (` + employee + `) and userName sw "«P»" and active eq false`, "bob eve"}),
	logic("not-before-or", "A not before or negates its own side only", orPrecedence, "The precedence of not is above that of or.",
		row{scope + `(not (active eq true) or ` + employee + `)`, "ada bob cyd eve"}),
	logic("not-of-and", "not of a conjunction finds whoever lacks one of the two", negation,
		"It is the condition of every scoping filter that leaves people out.",
		row{scope + `not (active eq true and ` + employee + `)`, "bob dan eve"}),
	logic("double-negation", "Two nots cancel each other", negation, "Generated filters nest negations.",
		row{scope + `not (not (` + employee + `))`, "ada cyd"}),
	logic("not-present", "not of pr finds who has no value", negation, "Clients look for the accounts that were never linked.",
		row{scope + `not (title pr)`, "eve"}, row{scope + `not (emails pr)`, "cyd"}),
	logic("nested-groups", "Groups inside of groups are evaluated from the inside", grouping, "Generated filters are deep.",
		row{scope + `((` + employee + ` or (` + inactive + ` and title pr)) and (not (title co "Chief")))`, "ada bob"}),
	logic("group-at-the-end", "A group may stand behind and", grouping, "Parsers that look for a parenthesis at the beginning only miss it.",
		row{scope + `(` + bob + ` or title co "Chief")`, "bob cyd"}),
	logic("redundant-groups", "Superfluous parentheses change nothing", "RFC7644-3.4.2.2-32", "Generated filters wrap every part.",
		row{`(((` + bob + `)))`, "bob"}, row{`((` + employee + `)) and ((active eq true))`, "ada cyd"}),
	logic("group-without-blanks", "Parentheses need no blanks around them", "RFC7644-3.4.2.2-28", "The grammar has none there.",
		row{scope + `not(` + employee + `)`, "bob dan eve"}, row{`(` + bob + `)or(title sw "«P» Chief")`, "bob cyd"}),

	equivalent("de-morgan-and", "not (a and b) finds whom not (a) or not (b) finds",
		scope+`not (`+employee+` and title co "Chief")`, scope+`(not (`+employee+`) or not (title co "Chief"))`),
	equivalent("de-morgan-or", "not (a or b) finds whom not (a) and not (b) finds",
		scope+`not (`+employee+` or `+inactive+`)`, scope+`not (`+employee+`) and not (`+inactive+`)`),
	equivalent("and-commutes", "a and b finds whom b and a finds", employee+` and title co " Engineer"`, `title co " Engineer" and `+employee),
	equivalent("or-commutes", "a or b finds whom b or a finds", bob+` or `+employee, employee+` or `+bob),
	equivalent("distributes", "a and (b or c) finds whom a and b or a and c finds",
		employee+` and (`+bob+` or title co "Chief")`, employee+` and `+bob+` or `+employee+` and title co "Chief"`),
	equivalent("ge-is-not-lt", "For users who have a value, ge finds whom not lt finds",
		scope+`title pr and displayName ge "«P» Bob"`, scope+`title pr and not (displayName lt "«P» Bob")`),
	equivalent("sw-and-eq", "Who equals an operand also begins with it",
		scope+`name.familyName eq "«P» Ingalls"`, scope+`name.familyName eq "«P» Ingalls" and name.familyName sw "«P» Ingalls"`),
	{
		ID:           "filter.complement",
		Title:        "A condition and its negation divide the users between them",
		Requirements: reqs(negation),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     4,
		Why:          "Whoever is found by neither is never imported; whoever is found by both is imported twice.",
		Fix:          logicFix,
		Run:          filterComplement,
	},

	logic("value-path-or", "or works inside of brackets", "RFC7644-3.4.2.2-37", "Clients ask for the work or the home address.",
		row{`emails[value sw "«P»dan" and (type eq "work" or type eq "home")]`, "dan"},
		row{`emails[value eq "«P»ada.w@example.com" or value eq "«P»bob.w@example.com"]`, "ada bob"}),
	logic("value-path-not", "not works inside of brackets", "RFC7644-3.4.2.2-37",
		"Whoever has an address that is not of one type is not the same as whoever has none of that type.",
		row{`emails[value sw "«P»" and not (type eq "work")]`, "ada dan"}),
	logic("value-path-negated", "not before brackets finds who has no such element", "RFC7644-3.4.2.2-39",
		"Clients look for people without a work address.",
		row{scope + `not (emails[type eq "home"])`, "bob cyd eve"}),
	logic("value-path-joined", "Brackets join with other conditions", "RFC7644-3.4.2.2-39", "Scoping filters mix both.",
		row{scope + `emails[type eq "home"] and name.familyName sw "«P» Ing"`, "dan"},
		row{scope + `(emails[type eq "home"] or ` + bob + `)`, "ada bob dan"}),
	logic("value-path-twice", "Two bracketed conditions may hold for different elements", "RFC7644-3.4.2.2-39",
		"Only what stands in one pair of brackets is bound to one element.",
		row{scope + `emails[type eq "work"] and emails[type eq "home"]`, "ada dan"}),
}

func filterComplement(ctx context.Context, t *T) {
	answered := false
	for _, condition := range []string{employee, `title co "Chief"`} {
		if name := unkept(t, condition); name != "" {
			continue
		}
		with, ok1 := found(ctx, t, scope+condition)
		without, ok2 := found(ctx, t, scope+`not (`+condition+`)`)
		if ok1 && ok2 {
			answered = true
			t.Expect("users found by "+fill(t, condition)+" and by its negation, together", sorted("ada", "bob", "cyd", "dan", "eve"),
				sorted(append(with, without...)...))
		}
	}
	t.SkipIf(!answered, unanswered)
}

// equivalent makes a check that two filters find the same, whatever that is, and somebody but not everybody.
func equivalent(id, title, one, other string) check {
	return check{
		ID:           "filter." + id,
		Title:        title,
		Requirements: reqs(negation, grouping),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "Logic is the same in every query language. A target for which it does not hold evaluates something else than the filter.",
		Fix:          logicFix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(unkept(t, one) != "" || unkept(t, other) != "", unanswered)
			first, ok1 := found(ctx, t, one)
			second, ok2 := found(ctx, t, other)
			t.SkipIf(!ok1 || !ok2, unanswered)
			t.Expect("users found by "+fill(t, other)+", compared with "+fill(t, one), first, second)
			t.Holds(len(first) > 0 && len(first) < len(t.Fixture), "number of users found by "+fill(t, one), "some, but not all", len(first))
		},
	}
}

// found puts a filter and returns the labels of who is found; ok is false when the target declines it.
func found(ctx context.Context, t *T, filter string) (labelled []string, ok bool) {
	filter = fill(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Status == 400 || res.Status == 501 {
		t.Note("declined with %d: %s", res.Status, filter)
		return nil, false
	}
	t.Require("status of GET /Users?filter="+filter, 200, res.Status)
	return labels(t.Fixture, rest(ctx, t, res, "filter", filter, "count", "200")), true
}
