package mutants

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// swap returns a wrapper that replaces an operator by another one in filters on users.
func swap(operator, other string) wrap {
	return filtering(listUsers, func(f string) string { return strings.ReplaceAll(f, " "+operator+" ", " "+other+" ") })
}

// sub returns a wrapper that replaces the matches of a pattern in filters on users.
func sub(pattern, replacement string) wrap {
	re := regexp.MustCompile(pattern)
	return filtering(listUsers, func(f string) string { return re.ReplaceAllString(f, replacement) })
}

// filterAnswer returns a wrapper that returns the result of rep for lists of users whose filter satisfies cond.
func filterAnswer(cond func(filter string) bool, rep func() *reply) wrap {
	return instead(listUsers, func(next http.Handler, r *http.Request) *reply {
		if f := r.URL.Query().Get("filter"); f != "" && cond(f) {
			return rep()
		}
		return serve(next, r)
	})
}

func contains(part string) func(string) bool {
	return func(f string) bool { return strings.Contains(f, part) }
}

func invalidFilter() *reply { return failure(400, scim.InvalidFilter) }

// emptyList returns a response that contains an empty list.
func emptyList() *reply {
	return newReply(200,
		scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.ListResponseMessage}}, scim.Member{Name: "totalResults", Value: 0}))
}

// invalid returns a wrapper that replaces responses with scimType invalidFilter by the result of rep.
func invalid(rep func(next http.Handler, r *http.Request) *reply) wrap {
	return instead(with(listUsers, "filter"), func(next http.Handler, r *http.Request) *reply {
		answered := serve(next, r)
		if o := answered.object(); answered.status == 400 && o.Text("scimType") == string(scim.InvalidFilter) {
			return rep(next, r)
		}
		return answered
	})
}

// keep returns a wrapper that removes items that do not satisfy cond from lists, and sets totalResults to the number of remaining items.
func keep(m match, cond func(r *http.Request, o *scim.Object) bool) wrap {
	return after(m, func(r *http.Request, rep *reply) {
		o := rep.object()
		if !rep.ok() || o == nil {
			return
		}
		kept := []any{}
		for _, item := range o.Array("Resources") {
			if cond(r, objectOf(item)) {
				kept = append(kept, item)
			}
		}
		o.Set("Resources", kept)
		o.Set("totalResults", len(kept))
		rep.body = o.AppendJSON(nil)
	})
}

var userNameOperand = regexp.MustCompile(`^userName eq "([^"]*)"$`)

var filter = []Mutant{
	{"filter.eq-is-co", "eq acts as co", swap("eq", "co")},
	{"filter.eq-is-sw", "eq acts as sw", swap("eq", "sw")},
	{"filter.ne-is-eq", "ne acts as eq", swap("ne", "eq")},
	{"filter.co-is-sw", "co acts as sw", swap("co", "sw")},
	{"filter.co-is-eq", "co acts as eq", swap("co", "eq")},
	{"filter.sw-is-co", "sw acts as co", swap("sw", "co")},
	{"filter.ew-is-co", "ew acts as co", swap("ew", "co")},
	{"filter.ew-is-sw", "ew acts as sw", swap("ew", "sw")},
	{"filter.pr-always", "pr is always true", sub(`\b[\w.]+ pr\b`, "id pr")},
	{"filter.gt-is-ge", "gt acts as ge", swap("gt", "ge")},
	{"filter.ge-is-gt", "ge acts as gt", swap("ge", "gt")},
	{"filter.lt-is-le", "lt acts as le", swap("lt", "le")},
	{"filter.le-is-lt", "le acts as lt", swap("le", "lt")},
	{"filter.gt-is-lt", "gt acts as lt", swap("gt", "lt")},
	{"filter.lt-is-gt", "lt acts as gt", swap("lt", "gt")},
	{"filter.absent-is-less", "users without a title match title lt and title le",
		sub(`title (l[te]) ("[^"]*")`, `(title $1 $2 or not (title pr))`)},
	{"filter.eq-by-name-only", "eq compares the operand with userName, whatever the attribute",
		sub(`\b(title|nickName|displayName|userType|profileUrl|externalId) eq "`, `userName eq "`)},
	{"filter.false-is-true", "active eq false acts as active eq true", sub(`active eq false`, "active eq true")},
	{"filter.date-ignored", "comparisons with a date are always true", sub(`meta\.created [gl][te] "[^"]*"`, "id pr")},
	{"filter.date-is-text", "dates are compared without their time zone",
		sub(`(meta\.created [gl][te] "[^"]*)[+-]\d\d:\d\d"`, `${1}Z"`)},
	{"filter.and-is-or", "the operator \"and\" acts as the operator \"or\"", swap("and", "or")},
	{"filter.or-is-and", "the operator \"or\" acts as the operator \"and\"", swap("or", "and")},
	{"filter.or-first", "only the left operand of the operator \"or\" is evaluated", sub(`^(userName eq "[^"]*") or .*$`, "$1")},
	{"filter.not-ignored", "the operator \"not\" is ignored", sub(`\bnot \(`, "(")},
	{"filter.left-to-right", "the operators have equal precedence, from left to right: a or b and c acts as (a or b) and c",
		sub(`^([^()]+ or [^()]+)( and [^()]+)$`, "($1)$2")},
	{"filter.groups-ignored", "parentheses are ignored", sub(`^\(([^()]+)\)`, "$1")},
	{"filter.sub-attribute-ignored", "a filter on name.familyName compares name.givenName", sub(`name\.familyName`, "name.givenName")},
	{"filter.first-element", "a filter on emails.value compares only the email address with the type work",
		sub(`emails\.value eq ("[^"]*")`, `emails[type eq "work" and value eq $1]`)},
	{"filter.value-path-uncorrelated", "two conditions in the same brackets may match different elements",
		sub(`emails\[type eq "work" and value (\w\w "[^"]*")\]`, `(emails.type eq "work" and emails.value $1)`)},
	{"filter.value-path-sub-uncorrelated",
		`in emails[type eq "work"].value eq "a", the condition after the brackets may match another element than the brackets`,
		sub(`emails\[type eq "work"\]\.value eq`, `emails.type eq "work" and emails.value eq`)},
	{"filter.user-name-case-exact", "userName is compared case-sensitively",
		keep(with(listUsers, "filter"), func(r *http.Request, o *scim.Object) bool {
			m := userNameOperand.FindStringSubmatch(r.URL.Query().Get("filter"))
			return m == nil || o.Text("userName") == m[1]
		})},
	{"filter.external-id-folded", "externalId is compared case-insensitively", func(next http.Handler) http.Handler {
		re := regexp.MustCompile(`externalId eq ("[^"]*)(Ext|ext)(-\w)"`)
		return filtering(listUsers, func(f string) string {
			return re.ReplaceAllString(f, `(externalId sw ${1}Ext" or externalId sw ${1}ext")`)
		})(next)
	}},
	{"filter.names-case-exact", "attribute names are case-sensitive", filterAnswer(contains("USERNAME"), emptyList)},
	{"filter.operators-case-exact", "operators are case-sensitive", filterAnswer(contains(" EQ "), invalidFilter)},
	{"filter.urn-unknown", "an attribute name with a URN matches no user",
		filterAnswer(contains("urn:ietf:params:scim:schemas:core:2.0:User:"), emptyList)},
	{"filter.escapes-raw", "JSON escapes in operands are not decoded", sub(`\\`, `\\`)},
	{"filter.wildcards", "% and _ in operands are wildcards", sub(`nickName sw ("[^"]*?)([%_ ]?)(50)[%]?"`, `nickName co "$3"`)},
	{"filter.no-match-404", "a filter that matches nothing returns 404", after(with(listUsers, "filter"), func(_ *http.Request, rep *reply) {
		if o := rep.object(); o != nil && rep.ok() && len(o.Array("Resources")) == 0 {
			*rep = *failure(404, "")
		}
	})},
	{"filter.unknown-attribute-all", "a condition on an unknown attribute is dropped", filtering(listUsers, func(f string) string {
		if strings.Contains(f, "NoSuchAttribute") {
			return ""
		}
		return f
	})},
	{"filter.ignored", "filters are ignored", filtering(listUsers, func(string) string { return "" })},
	{"filter.total-of-page", "totalResults of a filtered list is the size of the page",
		afterBody(with(listUsers, "filter"), func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
	{"filter.invalid-empty", "an invalid filter returns an empty list",
		invalid(func(http.Handler, *http.Request) *reply { return emptyList() })},
	{"filter.invalid-all", "an invalid filter returns all users", invalid(func(next http.Handler, r *http.Request) *reply {
		return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
	})},
	{"filter.invalid-500", "an invalid filter causes 500", invalid(func(http.Handler, *http.Request) *reply { return failure(500, "") })},
	{"filter.invalid-without-type", "an invalid filter is rejected with 400 without scimType",
		invalid(func(http.Handler, *http.Request) *reply { return failure(400, "") })},
	{"filter.unknown-operator-taken", "an unknown operator acts as eq", swap("xx", "eq")},
	{"filter.boolean-ordered", "gt on a boolean is not rejected", filterAnswer(contains("active gt"), emptyList)},
	{"filter.quote-500", "a quote in the operand causes 500", filterAnswer(contains("'"), func() *reply { return failure(500, "") })},
	{"filter.percent-all", "% matches every user", sub(`userName eq "%"`, "userName pr")},
}
