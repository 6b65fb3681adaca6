package mutants

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// taken returns a mutant that returns an empty list for invalid filters that match the pattern.
func taken(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, nobody)}
}

// breaking returns a mutant that returns 500 for filters that match the pattern.
func breaking(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, func() *reply { return failure(500, "") })}
}

// dropped returns a mutant that replaces the matches of the pattern in filters by rest.
func dropped(id, does, pattern, rest string) Mutant {
	return Mutant{"filter." + id, does, sub(pattern, rest)}
}

var filterSyntax = slices.Concat(
	[]Mutant{
		taken("takes-bare-name", "an attribute name without an operator is accepted", `^\w+$`),
		taken("takes-no-operator", "a missing operator is accepted", `^\w+ "[^"]*"$`),
		taken("takes-no-attribute", "a missing attribute is accepted", `^eq `),
		taken("takes-operand-of-pr", "an operand of pr is ignored", `\bpr "`),
		taken("takes-two-operators", "the first of two operators is ignored", ` eq co `),
		taken("takes-no-conjunction", "conditions without a logical operator are joined by and", `" userName eq`),
		taken("takes-two-conjunctions", "the first of two logical operators is ignored", ` and or `),
		taken("takes-leading-conjunction", "a logical operator at the start is ignored", `^(and|or) `),
		taken("takes-comma", "a comma joins conditions", `", `),
		taken("takes-empty-group", "empty parentheses are ignored", `\(\)`),
		taken("takes-bare-not", "not without parentheses is accepted", `^not userName`),
		taken("takes-not-alone", "not without an operand is ignored", `(^| )not$`),
		taken("takes-empty-brackets", "empty brackets are ignored", `\[\]`),
		taken("takes-stray-bracket", "an extra bracket is ignored", `^[^\[]*\]$`),
		taken("takes-crossed-brackets", "overlapping brackets are accepted", `\[[^\]]*\)\]`),
		taken("takes-nested-brackets", "nested brackets are accepted", `\[\w+\[`),
		taken("takes-escape", "unknown escapes are accepted", `\\x`),
		taken("takes-three-levels", "names with three levels are accepted", `\w\.\w+\.\w+ eq "a"`),
		taken("takes-bare-word", "operands without quotes are accepted", ` eq scimconf$`),
		taken("takes-single-quotes", "operands in single quotes are accepted", ` eq '`),
		dropped("drops-unknown-and", "a condition on an unknown attribute is dropped from and", ` and scimconfNoSuchAttribute.*$`, ``),
		dropped("drops-unknown-sub-attribute", "a condition on an unknown sub-attribute acts as pr on the attribute",
			`name\.scimconfNoSuchAttribute eq "x"`,
			`name pr`),
		dropped("drops-unknown-element", "a condition on an unknown name in brackets is dropped", `emails\[scimconf[^\]]*\]`, `emails pr`),
		dropped("drops-unknown-or", "an unknown attribute as an operand of or matches every user", `scimconfNoSuchAttribute eq "x"$`, `id pr`),
		dropped("drops-schema", "an unknown URN before a name is ignored", `urn:example:\S*:userName`, `userName`),
		dropped("drops-group-schema", "the URN of another type before a name is ignored", `urn:ietf:params:scim:schemas:core:2\.0:Group:`, ``),
		dropped("like-percent", "a percent sign is a wildcard", `nickName co "0%"`, `nickName co "0"`),
		dropped("like-underscore", "an underscore is a wildcard", `nickName co "50_o"`, `nickName co "50 o"`),
		dropped("glob-star", "an asterisk is a wildcard", `nickName (co|sw) "(50)?\*"`, `nickName co "$2"`),
		dropped("regex-full-stop", "a period is a wildcard", `nickName co "50\. off"`, `nickName co "50% off"`),
		dropped("backslash-lost", "an escaped backslash is dropped", `co "\\\\"`, `co ""`),
		dropped("quotation-mark-lost", "an escaped quotation mark is dropped", `\\"(\w+)`, `$1`),
		dropped("solidus-wrong", "an escaped solidus is read as a backslash", `co "\\/"`, `co "\\"`),
		dropped("unicode-escape-wrong", "escaped letters are not decoded", `\\u00`, `u00`),
		dropped("keyword-in-text", "keywords inside strings are interpreted", `eq "([^"]*) and userName pr or"`, `sw "$1"`),
		dropped("bracket-in-text", "brackets inside strings are interpreted", `eq "([^"]*)[\])] or [^"]*"`, `sw "$1"`),
		breaking("sql-500", "an SQL comment causes 500", `--`),
		dropped("sql-all", "operands are inserted into an SQL statement", `userName eq "x' OR 1=1 --"`, `userName pr`),
		dropped("nosql-all", "operands are inserted into a document query", `userName eq "\{\\"\$gt.*"`, `userName pr`),
		dropped("ldap-all", "operands are inserted into an LDAP filter", `userName eq "\*\)\(objectClass.*"`, `userName pr`),
		dropped("pattern-all", "operands are interpreted as regular expressions", `userName eq "\^"`, `userName pr`),
		breaking("template-500", "operands with format directives cause 500", `%s%n|\{\{`),
		breaking("name-500", "attribute names with SQL or __proto__ cause 500", `^userName' OR|^1=1|^__proto__`),
		breaking("long-500", "a long filter causes 500", `.{900}`),
		breaking("deep-500", "a deeply nested filter causes 500", `\({100}`),
		taken("blanks-counted", "two consecutive spaces match no user", `  eq`),
		dropped("null-all", "eq null and ne null are always true", `title (eq|ne) null`, `id pr`),
	},
	[]Mutant{
		{"filter.empty-500", "an empty filter causes 500", func(next http.Handler) http.Handler {
			return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
				if q := r.URL.Query(); q.Has("filter") && strings.TrimSpace(q.Get("filter")) == "" {
					return failure(500, "")
				}
				return ask(next, r)
			})(next)
		}},
	},
)
