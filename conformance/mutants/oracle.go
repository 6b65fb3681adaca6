package mutants

import (
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of this area break what only shows in requests that nobody thought of: each of them passes all checks but those
// of the area.

// group matches a group in parentheses that has neither a further group nor brackets in it.
var group = regexp.MustCompile(`\((?:[^()\[\]"]|"(?:\\.|[^"\\])*")*\)`)

// doubled tells whether the last two conditions that and joins are the same.
func doubled(filter string) bool {
	left, last, ok := sides(filter, "and")
	if !ok || !strings.HasPrefix(filter, "userName sw ") {
		return false
	}
	_, before, ok := sides(left, "and")
	return ok && before == last
}

var oracle = []Mutant{
	{"oracle.or-first-in-groups", "or binds more tightly than and inside of groups", filtering(listUsers, func(f string) string {
		return group.ReplaceAllStringFunc(f, func(g string) string {
			left, right, ok := sides(g[1:len(g)-1], "and")
			for ; ok; left, right, ok = sides(left, "and") {
				g = strings.Replace(g, left+" and "+right, left+") and ("+right, 1)
			}
			return "(" + g + ")"
		})
	})},
	{"oracle.primary-element-only", "conditions on roles and entitlements look at the primary value only", sub(`(?i)\b(roles|entitlements)\.(type|value) (\w\w "(?:\\.|[^"\\])*")`, `$1[primary eq true and $2 $3]`)},
	{"oracle.capitals-in-extension", "operands in capitals do not match attributes of an extension", sub(`(?i:(extension:enterprise:2\.0:User:\w+ (?:eq|sw|ew|co))) "[A-Z ]*[A-Z]"`, `$1 "no such value"`)},
	{"oracle.same-twice", "two equal conditions joined by and cancel each other", filterAnswer(doubled, nobody)},
	{"oracle.search-without-groups", "a search drops the groups of its filter", before(on("POST", "Users", true), func(o *scim.Object) {
		if f := o.Text("filter"); strings.Contains(f, "(") {
			o.Set("filter", regexp.MustCompile(` and (not )?\(.*$`).ReplaceAllString(f, ""))
		}
	})},
}
