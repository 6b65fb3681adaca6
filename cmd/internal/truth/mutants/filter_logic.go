package mutants

import (
	"regexp"
	"strings"
)

// rewriteFilter replaces the filters that hold a part.
func rewriteFilter(part string, fn func(filter string) string) wrap {
	return filtering(listUsers, func(f string) string {
		if strings.Contains(f, part) {
			return fn(f)
		}
		return f
	})
}

// sides splits a filter at the last " word " that stands outside of parentheses, brackets and texts.
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
	{"filter.and-drops-last", "the last of three conditions joined by and is dropped", rewriteFilter(" and ", func(f string) string {
		if left, _, ok := sides(f, "and"); ok && strings.Count(left, " and ") > 0 {
			return left
		}
		return f
	})},
	{"filter.or-drops-last", "the last of three conditions joined by or is dropped", rewriteFilter(" or ", func(f string) string {
		if left, _, ok := sides(f, "or"); ok && strings.Count(left, " or ") > 0 {
			return left
		}
		return f
	})},
	{"filter.right-to-left", "and and or bind alike, from right to left", rewriteFilter(" and ", func(f string) string {
		if left, right, ok := sides(f, "or"); ok {
			if a, b, ok := sides(left, "and"); ok {
				return a + " and (" + b + " or " + right + ")"
			}
		}
		return f
	})},
	{"filter.or-first-precedence", "or binds more tightly than and", rewriteFilter(" or ", func(f string) string {
		parts := strings.Split(f, " and ")
		if len(parts) < 2 || strings.ContainsAny(f, "()[]") {
			return f
		}
		return "(" + strings.Join(parts, ") and (") + ")"
	})},
	{"filter.not-swallows", "not applies to everything behind it", rewriteFilter("not (", func(f string) string {
		if rest, ok := strings.CutPrefix(f, "not ("); ok {
			return "not ((" + rest + ")"
		}
		return f
	})},
	{"filter.not-first-part", "not of a conjunction negates its first part only", sub(`not \(([^()]+) and ([^()]+)\)`, `(not ($1) and $2)`)},
	{"filter.not-distributes", "not of a conjunction negates both parts and joins them by and",
		sub(`not \(([^()]+) and ([^()]+)\)`, `(not ($1) and not ($2))`)},
	{"filter.not-or-distributes", "not of a disjunction negates both parts and joins them by or",
		sub(`not \(([^()]+) or ([^()]+)\)`, `(not ($1) or not ($2))`)},
	{"filter.not-twice", "two nots are one", sub(`not \(not \((.*)\)\)`, `not ($1)`)},
	{"filter.not-present-ignored", "not of pr finds everybody", sub(`not \([\w.:]+ pr\)`, `id pr`)},
	{"filter.nested-dropped", "a group inside of a group is dropped", rewriteFilter("((", func(f string) string {
		return regexp.MustCompile(` or \([^()]*\)`).ReplaceAllString(f, "")
	})},
	{"filter.group-refused", "a group at the end is refused",
		filterAnswer(regexp.MustCompile(` and \([^()]* or [^()]*\)$`).MatchString, nobody)},
	{"filter.groups-nested-500", "three parentheses in a row break the server",
		filterAnswer(contains("((("), func() *reply { return failure(500, "") })},
	{"filter.blank-required", "not( without a blank finds nobody", filterAnswer(contains("not("), nobody)},
	{"filter.and-order", "only the first condition counts where a sub-string is looked for", sub(`^(title co "[^"]*") and .*$`, `$1`)},
	{"filter.or-order", "the second side of or is dropped when the first is a type", sub(`^(userType eq "[^"]*") or .*$`, `$1`)},
	{"filter.group-left-only", "of a group behind and only the first side counts",
		sub(`^(userType eq "[^"]*") and \(([^()]+) or [^()]+\)$`, `$1 and ($2)`)},
	{"filter.not-lt-drops-equal", "not of lt leaves out who is equal", sub(`not \((\w+) lt ("[^"]*")\)`, `$1 gt $2`)},
	{"filter.sw-not-equal", "who equals the operand does not begin with it",
		sub(`(name\.familyName) sw ("[^"]* Ingalls")`, `($1 sw $2 and $1 ne $2)`)},
	{"filter.not-loses-absent", "not finds only users who have a value", sub(`not \((\w+) (eq|co) ("[^"]*")\)`, `($1 pr and not ($1 $2 $3))`)},
	{"filter.value-path-not-any", "not before brackets finds who has another element",
		sub(`not \(emails\[type eq "home"\]\)`, `emails[type ne "home"]`)},
	{"filter.value-path-first", "of brackets and another condition only the brackets count",
		sub(`(emails\[type eq "home"\]) and name\.familyName.*$`, `$1`)},
	{"filter.value-path-merged", "two pairs of brackets are bound to one element",
		sub(`emails\[type eq "work"\] and emails\[type eq "home"\]`, `emails[type eq "work" and type eq "home"]`)},
}
