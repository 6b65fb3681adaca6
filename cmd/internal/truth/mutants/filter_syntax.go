package mutants

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// acceptInvalid returns a mutant that returns an empty list for invalid filters that match the pattern.
func acceptInvalid(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, emptyList)}
}

// failOn returns a mutant that returns 500 for filters that match the pattern.
func failOn(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, func() *reply { return failure(500, "") })}
}

// replaceCondition returns a mutant that replaces the matches of the pattern in filters by the replacement.
func replaceCondition(id, does, pattern, replacement string) Mutant {
	return Mutant{"filter." + id, does, sub(pattern, replacement)}
}

var filterSyntax = slices.Concat(
	[]Mutant{
		acceptInvalid("takes-bare-name", "an attribute name without an operator is accepted", `^\w+$`),
		acceptInvalid("takes-no-operator", "a missing operator is accepted", `^\w+ "[^"]*"$`),
		acceptInvalid("takes-no-attribute", "a missing attribute is accepted", `^eq `),
		acceptInvalid("takes-operand-of-pr", "an operand of pr is ignored", `\bpr "`),
		acceptInvalid("takes-two-operators", "the first of two operators is ignored", ` eq co `),
		acceptInvalid("takes-no-conjunction", "conditions without a logical operator between them are joined by the operator \"and\"",
			`" userName eq`),
		acceptInvalid("takes-two-conjunctions", "the first of two logical operators is ignored", ` and or `),
		acceptInvalid("takes-leading-conjunction", "a logical operator at the start is ignored", `^(and|or) `),
		acceptInvalid("takes-comma", "a comma joins conditions", `", `),
		acceptInvalid("takes-empty-group", "empty parentheses are ignored", `\(\)`),
		acceptInvalid("takes-bare-not", "the operator \"not\" is accepted without parentheses", `^not userName`),
		acceptInvalid("takes-not-alone", "the operator \"not\" without an operand is ignored", `(^| )not$`),
		acceptInvalid("takes-empty-brackets", "empty brackets are ignored", `\[\]`),
		acceptInvalid("takes-stray-bracket", "an extra bracket is ignored", `^[^\[]*\]$`),
		acceptInvalid("takes-crossed-brackets", "overlapping brackets are accepted", `\[[^\]]*\)\]`),
		acceptInvalid("takes-nested-brackets", "nested brackets are accepted", `\[\w+\[`),
		acceptInvalid("takes-escape", "unknown escapes are accepted", `\\x`),
		acceptInvalid("takes-three-levels", "attribute names with three levels, as in a.b.c, are accepted", `\w\.\w+\.\w+ eq "a"`),
		acceptInvalid("takes-bare-word", "operands without quotes are accepted", ` eq scimconf$`),
		acceptInvalid("takes-single-quotes", "operands in single quotes are accepted", ` eq '`),
		replaceCondition("drops-unknown-and", "a condition on an unknown attribute after the operator \"and\" is dropped",
			` and scimconfNoSuchAttribute.*$`, ``),
		replaceCondition("drops-unknown-sub-attribute", "a condition on an unknown sub-attribute acts as pr on the attribute",
			`name\.scimconfNoSuchAttribute eq "x"`,
			`name pr`),
		replaceCondition("drops-unknown-element", "a condition in brackets on an unknown sub-attribute is dropped", `emails\[scimconf[^\]]*\]`,
			`emails pr`),
		replaceCondition("drops-unknown-or", "a condition on an unknown attribute after the operator \"or\" matches every user",
			`scimconfNoSuchAttribute eq "x"$`,
			`id pr`),
		replaceCondition("drops-schema", "an unknown URN before a name is ignored", `urn:example:\S*:userName`, `userName`),
		replaceCondition("drops-group-schema", "the URN of another type before a name is ignored",
			`urn:ietf:params:scim:schemas:core:2\.0:Group:`, ``),
		replaceCondition("like-percent", "a percent sign is a wildcard", `nickName co "0%"`, `nickName co "0"`),
		replaceCondition("like-underscore", "an underscore is a wildcard", `nickName co "50_o"`, `nickName co "50 o"`),
		replaceCondition("glob-star", "an asterisk is a wildcard", `nickName (co|sw) "(50)?\*"`, `nickName co "$2"`),
		replaceCondition("regex-full-stop", "a period is a wildcard", `nickName co "50\. off"`, `nickName co "50% off"`),
		replaceCondition("backslash-lost", "an escaped backslash is dropped", `co "\\\\"`, `co ""`),
		replaceCondition("quotation-mark-lost", "an escaped quotation mark is dropped", `\\"(\w+)`, `$1`),
		replaceCondition("solidus-wrong", "an escaped solidus is read as a backslash", `co "\\/"`, `co "\\"`),
		replaceCondition("unicode-escape-wrong", "escaped letters are not decoded", `\\u00`, `u00`),
		replaceCondition("keyword-in-text", "keywords inside strings are interpreted", `eq "([^"]*) and userName pr or"`, `sw "$1"`),
		replaceCondition("bracket-in-text", "brackets inside strings are interpreted", `eq "([^"]*)[\])] or [^"]*"`, `sw "$1"`),
		failOn("sql-500", "an SQL comment causes 500", `--`),
		replaceCondition("sql-all", "operands are inserted into an SQL statement", `userName eq "x' OR 1=1 --"`, `userName pr`),
		replaceCondition("nosql-all", "operands are inserted into a document query", `userName eq "\{\\"\$gt.*"`, `userName pr`),
		replaceCondition("ldap-all", "operands are inserted into an LDAP filter", `userName eq "\*\)\(objectClass.*"`, `userName pr`),
		replaceCondition("pattern-all", "operands are interpreted as regular expressions", `userName eq "\^"`, `userName pr`),
		failOn("template-500", "operands with format directives cause 500", `%s%n|\{\{`),
		failOn("name-500", "attribute names with SQL or __proto__ cause 500", `^userName' OR|^1=1|^__proto__`),
		failOn("long-500", "a long filter causes 500", `.{900}`),
		failOn("deep-500", "a deeply nested filter causes 500", `\({100}`),
		acceptInvalid("blanks-counted", "two consecutive spaces match no user", `  eq`),
		replaceCondition("null-all", "eq null and ne null are always true", `title (eq|ne) null`, `id pr`),
	},
	[]Mutant{
		{"filter.empty-500", "an empty filter causes 500", func(next http.Handler) http.Handler {
			return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
				if q := r.URL.Query(); q.Has("filter") && strings.TrimSpace(q.Get("filter")) == "" {
					return failure(500, "")
				}
				return serve(next, r)
			})(next)
		}},
	},
)
