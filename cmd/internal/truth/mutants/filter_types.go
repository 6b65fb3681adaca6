package mutants

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// filterOperand matches the operand of a filter condition.
const filterOperand = `("(?:\\.|[^"\\])*"|true|false|null|-?[\d.]+)`

// wrongOperator maps each operator to the operator that replaces it, or to "" if its condition becomes always true.
var wrongOperator = map[string]string{
	"eq": "co", "ne": "", "co": "sw", "sw": "co", "ew": "co", "pr": "", "gt": "ge", "ge": "gt", "lt": "le", "le": "lt",
}

// wrongOperators returns one mutant per operator. The operator is wrong only on attributes that match the pattern.
func wrongOperators(kind, noun, attribute string, operators ...string) []Mutant {
	var out []Mutant
	for _, operator := range operators {
		other, does := wrongOperator[operator], "acts as "+wrongOperator[operator]
		operand, replacement := " "+filterOperand, `${1} `+other+` ${2}`
		if other == "" {
			does, replacement = "is always true", "id pr"
		}
		if operator == "pr" {
			operand = `\b`
		}
		out = append(out,
			Mutant{"filter." + kind + "-" + operator + "-wrong", operator + " on " + noun + " " + does,
				sub(`(`+attribute+`) `+operator+operand, replacement)})
	}
	return out
}

// neverTrue returns one mutant per operator. A condition with the operator is never true on attributes that match the pattern.
func neverTrue(kind, noun, attribute string, operators ...string) []Mutant {
	var out []Mutant
	for _, operator := range operators {
		operand := " " + filterOperand
		if operator == "pr" {
			operand = `\b`
		}
		out = append(out,
			Mutant{"filter." + kind + "-" + operator + "-never", operator + " on " + noun + " is never true",
				sub(attribute+` `+operator+operand, `id eq "nobody"`)})
	}
	return out
}

// inBrackets returns a wrapper that replaces an operator inside the brackets of a value path.
func inBrackets(operator, other string) wrap {
	brackets := regexp.MustCompile(`\[.*\]`)
	word := regexp.MustCompile(`\b` + operator + `\b`)
	return filtering(listUsers, func(f string) string {
		return brackets.ReplaceAllStringFunc(f, func(part string) string { return word.ReplaceAllString(part, other) })
	})
}

const (
	urnName        = `urn:ietf:params:scim:schemas:core:2\.0:User:[\w.]+`
	enterpriseName = `urn:ietf:params:scim:schemas:extension:enterprise:2\.0:User:[\w.]+`
)

var filterTypes = slices.Concat(
	wrongOperators("sub-attribute", "a sub-attribute", `name\.\w+`, "eq", "ne", "co", "sw", "ew", "pr", "gt", "ge", "lt", "le"),
	wrongOperators("multi-valued", "a multi-valued attribute", `emails\.value`, "eq", "co", "sw", "ew", "pr", "gt", "ge", "lt", "le"),
	wrongOperators("urn", "a name with a URN", urnName, "eq", "co", "sw", "pr", "ge"),
	wrongOperators("enterprise", "an extension's attribute", enterpriseName, "eq", "ne", "co", "sw", "ew", "pr", "gt", "le"),
	wrongOperators("reference", "a reference", `profileUrl`, "eq", "ne", "co", "sw", "ew", "pr"),
	wrongOperators("external-id", "externalId", `externalId`, "ne", "co", "sw", "pr"),
	wrongOperators("id", "id", `\bid`, "eq", "ne"),
	wrongOperators("boolean", "a boolean", `active`, "ne"),
	wrongOperators("date-time", "a dateTime", `meta\.\w+`, "ne", "gt", "ge", "lt", "le"),
	neverTrue("id", "id", `\bid`, "pr"),
	neverTrue("date-time", "a dateTime", `meta\.\w+`, "eq", "pr"),
	neverTrue("boolean", "a boolean", `active`, "pr"),
	[]Mutant{
		{"filter.boolean-pr-truth", "active pr matches active users only: false is treated as absent", sub(`active pr`, `active eq true`)},
		{"filter.value-path-ne-wrong", "ne in brackets acts as eq", inBrackets("ne", "eq")},
		{"filter.value-path-co-wrong", "co in brackets acts as eq", inBrackets("co", "eq")},
		{"filter.value-path-sw-wrong", "sw in brackets acts as eq", inBrackets("sw", "eq")},
		{"filter.value-path-ew-wrong", "ew in brackets acts as co", inBrackets("ew", "co")},
		{"filter.value-path-or-wrong", "the operator \"or\" in brackets acts as the operator \"and\"", inBrackets("or", "and")},
		{"filter.value-path-and-wrong", "the operator \"and\" in brackets acts as the operator \"or\"", inBrackets("and", "or")},
		{"filter.value-path-not-ignored", "the operator \"not\" in brackets is ignored", sub(`(\[[^\]]*)not \(`, `$1(`)},
		{"filter.value-path-pr-wrong", "pr in brackets is never true", sub(`type pr`, `type eq "none"`)},
		{"filter.boolean-orders", "ge, lt and le on a boolean are not rejected",
			filterAnswer(regexp.MustCompile(`active (ge|lt|le) `).MatchString, emptyList)},
		{"filter.binary-orders", "gt, ge, lt and le on a binary attribute are not rejected",
			filterAnswer(regexp.MustCompile(`x509Certificates\.value (gt|ge|lt|le) `).MatchString, emptyList)},
		{"filter.schemas-none", "filters on the attribute schemas match no user", filterAnswer(contains("schemas eq"), emptyList)},
		{"filter.schemas-all", "conditions on the attribute schemas are always true", sub(`schemas eq "[^"]*"`, `id pr`)},
		{"filter.resource-type-all", "conditions on meta.resourceType are always true", sub(`meta\.resourceType eq "[^"]*"`, `id pr`)},
		{"filter.manager-none", "filters on manager match no user", filterAnswer(contains("manager.value"), emptyList)},
		{"filter.complex-absent", "pr on a complex attribute is never true", sub(`(name|manager) pr`, `id eq "nobody"`)},
		{"filter.complex-always", "pr on a complex attribute is always true", sub(`(urn:\S*:)?(name|manager) pr`, `id pr`)},
		{"filter.element-type-ignored", "conditions on the type of an element are always true", sub(`emails\.type eq "[^"]*"`, `emails pr`)},
		{"filter.bare-name-none", "a filter on a multi-valued attribute without a sub-attribute matches no user",
			filterAnswer(regexp.MustCompile(`emails (eq|co)`).MatchString, emptyList)},
		{"filter.complex-as-text", "a complex attribute is compared as its JSON string",
			sub(`\bname co "Lovelace"`, `name.familyName co "Lovelace"`)},
		{"filter.id-folded", "id is compared case-insensitively", filtering(listUsers, func(f string) string {
			return regexp.MustCompile(`id eq "[0-9A-F-]+"`).ReplaceAllStringFunc(f, strings.ToLower)
		})},
		{"filter.external-id-substring-folded", "co on externalId is case-insensitive",
			sub(`externalId co ("[^"]*)EXT"`, `externalId co ${1}Ext"`)},
		{"filter.substring-exact", "sw, co and ew on title are case-sensitive",
			sub(`title (sw "[^"]*ENGINEER|co "chief|ew "engineer)"`, `id eq "nobody"`)},
		{"filter.order-by-code-point", "strings are ordered by code points, upper case first",
			sub(`displayName gt ("[^"]*) Bravo"`, `(displayName gt $1 Bravo" or displayName eq $1 alpha")`)},
		{"filter.extension-exact", "values of the extension are compared case-sensitively",
			keep(with(listUsers, "filter"), func(r *http.Request, o *scim.Object) bool {
				m := departmentOperand.FindStringSubmatch(r.URL.Query().Get("filter"))
				return m == nil || o.Complex(scim.EnterpriseUserSchema).Text("department") == m[1]
			})},
		{"filter.last-modified-ignored", "conditions on meta.lastModified are always true", sub(`meta\.lastModified gt "[^"]*"`, `id pr`)},
		{"filter.range-half", "only the first of two conditions on meta.created is evaluated",
			sub(`(meta\.created gt "[^"]*") and meta\.created lt "[^"]*"`, `$1`)},
	},
)

var departmentOperand = regexp.MustCompile(fmt.Sprintf(`^%s:department eq "([^"]*)"$`, regexp.QuoteMeta(scim.EnterpriseUserSchema)))
