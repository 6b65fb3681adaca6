package mutants

import (
	"regexp"
	"strings"
)

// rewriteFilter returns a wrapper that changes filters on users that contain the string part.
func rewriteFilter(part string, fn func(filter string) string) wrap {
	return filtering(listUsers, func(f string) string {
		if strings.Contains(f, part) {
			return fn(f)
		}
		return f
	})
}

// sides splits a filter at the last occurrence of a logical operator, word, outside parentheses, brackets and strings.
func sides(filter, word string) (left, right string, ok bool) {
	depth, quoted := 0, false
	at := -1
	for i := 0; i < len(filter); i++ {
		switch c := filter[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && strings.HasPrefix(filter[i:], " "+word+" "):
			at = i
		}
	}
	if at < 0 {
		return "", "", false
	}
	return filter[:at], filter[at+len(word)+2:], true
}

var filterLogic = []Mutant{
	{"filter.and-drops-last", "the last of three conditions joined by \"and\" is dropped",
		rewriteFilter(" and ", func(f string) string {
			if left, _, ok := sides(f, "and"); ok && strings.Count(left, " and ") > 0 {
				return left
			}
			return f
		})},
	{"filter.or-drops-last", "the last of three conditions joined by \"or\" is dropped", rewriteFilter(" or ", func(f string) string {
		if left, _, ok := sides(f, "or"); ok && strings.Count(left, " or ") > 0 {
			return left
		}
		return f
	})},
	{"filter.right-to-left", "the operators have equal precedence, from right to left: a and b or c acts as a and (b or c)",
		rewriteFilter(" and ", func(f string) string {
			if left, right, ok := sides(f, "or"); ok {
				if a, b, ok := sides(left, "and"); ok {
					return a + " and (" + b + " or " + right + ")"
				}
			}
			return f
		})},
	{"filter.or-first-precedence", "the operator \"or\" has higher precedence than \"and\"", rewriteFilter(" or ", func(f string) string {
		parts := strings.Split(f, " and ")
		if len(parts) < 2 || strings.ContainsAny(f, "()[]") {
			return f
		}
		return "(" + strings.Join(parts, ") and (") + ")"
	})},
	{"filter.not-swallows", "not (a) and b acts as not (a and b)", rewriteFilter("not (", func(f string) string {
		if rest, ok := strings.CutPrefix(f, "not ("); ok {
			return "not ((" + rest + ")"
		}
		return f
	})},
	{"filter.not-first-part", "not (a and b) acts as not (a) and b", sub(`not \(([^()]+) and ([^()]+)\)`, `(not ($1) and $2)`)},
	{"filter.not-distributes", "not (a and b) acts as not (a) and not (b)",
		sub(`not \(([^()]+) and ([^()]+)\)`, `(not ($1) and not ($2))`)},
	{"filter.not-or-distributes", "not (a or b) acts as not (a) or not (b)",
		sub(`not \(([^()]+) or ([^()]+)\)`, `(not ($1) or not ($2))`)},
	{"filter.not-twice", "not (not (a)) acts as not (a)", sub(`not \(not \((.*)\)\)`, `not ($1)`)},
	{"filter.not-present-ignored", "the operator \"not\" with a pr condition matches every user", sub(`not \([\w.:]+ pr\)`, `id pr`)},
	{"filter.nested-dropped", "nested parentheses are dropped", rewriteFilter("((", func(f string) string {
		return regexp.MustCompile(` or \([^()]*\)`).ReplaceAllString(f, "")
	})},
	{"filter.group-refused", "a filter that ends with a group in parentheses matches no user",
		filterAnswer(regexp.MustCompile(` and \([^()]* or [^()]*\)$`).MatchString, emptyList)},
	{"filter.groups-nested-500", "three consecutive parentheses cause 500",
		filterAnswer(contains("((("), func() *reply { return failure(500, "") })},
	{"filter.blank-required", "not( without a space matches no user", filterAnswer(contains("not("), emptyList)},
	{"filter.and-order", "only the left operand of the operator \"and\" is evaluated if it is a co condition",
		sub(`^(title co "[^"]*") and .*$`, `$1`)},
	{"filter.or-order", "only the left operand of the operator \"or\" is evaluated if it is a condition on userType",
		sub(`^(userType eq "[^"]*") or .*$`, `$1`)},
	{"filter.group-left-only", "a and (b or c) acts as a and b",
		sub(`^(userType eq "[^"]*") and \(([^()]+) or [^()]+\)$`, `$1 and ($2)`)},
	{"filter.not-lt-drops-equal", "the operator \"not\" with an lt condition does not match equal values",
		sub(`not \((\w+) lt ("[^"]*")\)`, `$1 gt $2`)},
	{"filter.sw-not-equal", "sw does not match a value equal to the operand",
		sub(`(name\.familyName) sw ("[^"]* Ingalls")`, `($1 sw $2 and $1 ne $2)`)},
	{"filter.not-loses-absent", "not (a) matches only users that have the attribute that the condition a compares",
		sub(`not \((\w+) (eq|co) ("[^"]*")\)`, `($1 pr and not ($1 $2 $3))`)},
	{"filter.value-path-not-any", `not (emails[type eq "home"]) acts as emails[type ne "home"]`,
		sub(`not \(emails\[type eq "home"\]\)`, `emails[type ne "home"]`)},
	{"filter.value-path-first", "a condition that the operator \"and\" joins to a condition in brackets is dropped",
		sub(`(emails\[type eq "home"\]) and name\.familyName.*$`, `$1`)},
	{"filter.value-path-merged", "conditions in two pairs of brackets must match the same element",
		sub(`emails\[type eq "work"\] and emails\[type eq "home"\]`, `emails[type eq "work" and type eq "home"]`)},
}
