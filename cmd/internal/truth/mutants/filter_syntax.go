package mutants

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// taken makes a mutant that takes filters outside of the grammar, and finds nobody by them.
func taken(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, nobody)}
}

// breaking makes a mutant that a filter breaks.
func breaking(id, does, pattern string) Mutant {
	return Mutant{"filter." + id, does, filterAnswer(regexp.MustCompile(pattern).MatchString, func() *reply { return failure(500, "") })}
}

// dropped makes a mutant that leaves a condition out where an unknown name is in it.
func dropped(id, does, pattern, rest string) Mutant {
	return Mutant{"filter." + id, does, sub(pattern, rest)}
}

var filterSyntax = slices.Concat(
	[]Mutant{
		taken("takes-bare-name", "a name alone is a filter", `^\w+$`),
		taken("takes-no-operator", "an operator may be left out", `^\w+ "[^"]*"$`),
		taken("takes-no-attribute", "an attribute may be left out", `^eq `),
		taken("takes-operand-of-pr", "what stands behind pr is ignored", `\bpr "`),
		taken("takes-two-operators", "the first of two operators is ignored", ` eq co `),
		taken("takes-no-conjunction", "conditions that nothing joins are joined by and", `" userName eq`),
		taken("takes-two-conjunctions", "the first of two conjunctions is ignored", ` and or `),
		taken("takes-leading-conjunction", "a conjunction at the beginning is ignored", `^(and|or) `),
		taken("takes-comma", "a comma joins conditions", `", `),
		taken("takes-empty-group", "empty parentheses are ignored", `\(\)`),
		taken("takes-bare-not", "not needs no parentheses", `^not userName`),
		taken("takes-not-alone", "not alone is ignored", `(^| )not$`),
		taken("takes-empty-brackets", "empty brackets are ignored", `\[\]`),
		taken("takes-stray-bracket", "a bracket too many is ignored", `^[^\[]*\]$`),
		taken("takes-crossed-brackets", "brackets may cross", `\[[^\]]*\)\]`),
		taken("takes-nested-brackets", "brackets may stand in brackets", `\[\w+\[`),
		taken("takes-escape", "unknown escapes are taken as they are", `\\x`),
		taken("takes-three-levels", "names may have three levels", `\w\.\w+\.\w+ eq "a"`),
		taken("takes-bare-word", "operands need no quotes", ` eq scimconf$`),
		taken("takes-single-quotes", "operands may stand in single quotes", ` eq '`),
		dropped("drops-unknown-and", "a condition on an unknown attribute is dropped from and", ` and scimconfNoSuchAttribute.*$`, ``),
		dropped("drops-unknown-sub-attribute", "an unknown sub-attribute means the attribute is there", `name\.scimconfNoSuchAttribute eq "x"`,
			`name pr`),
		dropped("drops-unknown-element", "an unknown name in brackets is dropped", `emails\[scimconf[^\]]*\]`, `emails pr`),
		dropped("drops-unknown-or", "an unknown attribute beside or finds everybody", `scimconfNoSuchAttribute eq "x"$`, `id pr`),
		dropped("drops-schema", "the URN of a name is cut off unread", `urn:example:\S*:userName`, `userName`),
		dropped("drops-group-schema", "the URN of another type is cut off unread", `urn:ietf:params:scim:schemas:core:2\.0:Group:`, ``),
		dropped("like-percent", "a percent sign is a wildcard", `nickName co "0%"`, `nickName co "0"`),
		dropped("like-underscore", "an underscore is a wildcard", `nickName co "50_o"`, `nickName co "50 o"`),
		dropped("glob-star", "a star is a wildcard", `nickName (co|sw) "(50)?\*"`, `nickName co "$2"`),
		dropped("regex-full-stop", "a full stop is a wildcard", `nickName co "50\. off"`, `nickName co "50% off"`),
		dropped("backslash-lost", "an escaped backslash is nothing", `co "\\\\"`, `co ""`),
		dropped("quotation-mark-lost", "an escaped quotation mark is nothing", `\\"(\w+)`, `$1`),
		dropped("solidus-wrong", "an escaped solidus is a backslash", `co "\\/"`, `co "\\"`),
		dropped("unicode-escape-wrong", "escapes of letters are left as they are", `\\u00`, `u00`),
		dropped("keyword-in-text", "keywords are looked for in texts as well", `eq "([^"]*) and userName pr or"`, `sw "$1"`),
		dropped("bracket-in-text", "brackets are looked for in texts as well", `eq "([^"]*)[\])] or [^"]*"`, `sw "$1"`),
		breaking("sql-500", "an SQL comment breaks the server", `--`),
		dropped("sql-all", "operands become part of an SQL statement", `userName eq "x' OR 1=1 --"`, `userName pr`),
		dropped("nosql-all", "operands become part of a document query", `userName eq "\{\\"\$gt.*"`, `userName pr`),
		dropped("ldap-all", "operands become part of an LDAP filter", `userName eq "\*\)\(objectClass.*"`, `userName pr`),
		dropped("pattern-all", "operands are regular expressions", `userName eq "\^"`, `userName pr`),
		breaking("template-500", "operands are formats", `%s%n|\{\{`),
		breaking("name-500", "names reach the database", `^userName' OR|^1=1|^__proto__`),
		breaking("long-500", "a long filter breaks the server", `.{900}`),
		breaking("deep-500", "a deep filter breaks the server", `\({100}`),
		taken("blanks-counted", "a second blank finds nobody", `  eq`),
		dropped("null-all", "eq null and ne null are always true", `title (eq|ne) null`, `id pr`),
	},
	[]Mutant{
		{"filter.empty-500", "an empty filter breaks the server", func(next http.Handler) http.Handler {
			return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
				if q := r.URL.Query(); q.Has("filter") && strings.TrimSpace(q.Get("filter")) == "" {
					return failure(500, "")
				}
				return ask(next, r)
			})(next)
		}},
	},
)
