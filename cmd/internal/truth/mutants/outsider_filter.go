package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// operands returns the operands of a chain of expressions joined by or.
func operands(e expr) []expr {
	if or, ok := e.(disjunction); ok {
		return append(operands(or.x), operands(or.y)...)
	}
	return []expr{e}
}

// neNeedsValue returns the comparison with ne so that it is false for an absent attribute.
func neNeedsValue(e expr) expr {
	if c, ok := e.(comparison); ok && c.op == "ne" && c.operand != "null" {
		return conjunction{presence{c.path}, c}
	}
	return e
}

// falseNeedsValue returns the comparison with false so that it is false for an absent attribute.
func falseNeedsValue(e expr) expr {
	if c, ok := e.(comparison); ok && c.operand == "false" {
		return conjunction{presence{c.path}, c}
	}
	return e
}

// notOfFirst replaces the negation of "a and b" by "not (a) and b".
func notOfFirst(e expr) expr {
	if not, ok := e.(negation); ok {
		if and, ok := not.x.(conjunction); ok {
			return conjunction{negation{and.x}, and.y}
		}
	}
	return e
}

// unmatched returns a wrapper: a comparison matches no resource if its path satisfies when.
func unmatched(when func(p scim.AttrPath) bool) wrap {
	return expressions(func(e expr) expr {
		if p, ok := pathOf(e); ok && when(p) {
			return never(e)
		}
		return e
	})
}

func named(p scim.AttrPath, name string, subs ...string) bool {
	return strings.EqualFold(p.Name, name) && slices.ContainsFunc(subs, func(s string) bool { return strings.EqualFold(p.Sub, s) })
}

// searchFilters returns a wrapper that applies fn to every expression of the filters of searches.
func searchFilters(fn func(expr) expr) wrap {
	return before(anySearch, func(o *scim.Object) {
		if f := o.Text("filter"); f != "" {
			o.Set("filter", rebuilt(f, fn))
		}
	})
}

var outsiderFilter = []Mutant{
	// RFC7644-3.4.2.2-11
	{"filter.ne-needs-value", "ne does not match resources without the attribute", expressions(neNeedsValue)},
	// RFC7644-3.4.2.2-09
	{"filter.operands-trimmed", "spaces at both ends of an operand are dropped", expressions(func(e expr) expr {
		if c, ok := e.(comparison); ok {
			if text, isText := c.text(); isText {
				c.operand = string(scim.AppendValue(nil, strings.TrimSpace(text)))
			}
			return c
		}
		return e
	})},
	// RFC7644-3.4.2.2-26
	{"filter.or-middle-dropped", "only the first and the last of several conditions joined by the operator \"or\" are evaluated",
		expressions(func(e expr) expr {
			if list := operands(e); len(list) > 2 {
				return disjunction{list[0], list[len(list)-1]}
			}
			return e
		})},
	// RFC7644-3.4.2.2-26
	{"filter.five-operands", "conditions after the fifth of a chain with the operator \"or\" are ignored", expressions(func(e expr) expr {
		list := operands(e)
		if len(list) <= 5 {
			return e
		}
		e = list[0]
		for _, x := range list[1:5] {
			e = disjunction{e, x}
		}
		return e
	})},
	// RFC7644-3.4.2.2-27
	{"filter.and-not-ignored", "the operator \"not\" is ignored after the operator \"and\"", expressions(func(e expr) expr {
		if and, ok := e.(conjunction); ok {
			if not, ok := and.y.(negation); ok {
				return conjunction{and.x, not.x}
			}
		}
		return e
	})},
	// RFC7644-3.4.2.2-27
	{"filter.or-not-left", "the operator \"not\" after the operator \"or\" also negates the left operand", expressions(func(e expr) expr {
		if or, ok := e.(disjunction); ok {
			if not, ok := or.y.(negation); ok {
				return negation{disjunction{or.x, not.x}}
			}
		}
		return e
	})},
	// RFC7644-3.4.2.2-05
	{"filter.operators-mixed-400", "an operator in mixed case, as in Eq, is rejected", rejectFilters(func(f string) bool {
		return slices.ContainsFunc(words(f), func(w string) bool { return isKeyword(w) && w != strings.ToLower(w) && w != strings.ToUpper(w) })
	})},
	// RFC7644-3.4.2.2-05
	{"filter.logic-upper-case-400", "AND, OR and NOT in upper case are rejected", rejectFilters(func(f string) bool {
		return slices.ContainsFunc(words(f), func(w string) bool { return w == "AND" || w == "OR" || w == "NOT" })
	})},
	// RFC7644-3.4.2.2-16
	{"filter.part-present-is-whole", "pr on a sub-attribute acts as pr on its attribute", expressions(func(e expr) expr {
		if p, ok := e.(presence); ok {
			p.path.Sub = ""
			return p
		}
		return e
	})},
	// RFC7644-3.4.2.2-60
	{"filter.location-none", "conditions on meta.location and meta.version match no resource",
		unmatched(func(p scim.AttrPath) bool { return named(p, "meta", "location", "version") })},
	// RFC7644-3.4.2.2-49
	{"filter.ref-400", "$ref in a filter is rejected", rejectFilters(func(f string) bool { return strings.Contains(unquoted(f), "$ref") })},
	// RFC7644-3.4.2.2-46
	{"filter.user-groups-display-none", "users cannot be found by groups.display",
		unmatched(func(p scim.AttrPath) bool { return named(p, "groups", "display") })},
	// RFC7644-3.4.2.2-48
	{"filter.exponent-400", "a number with an exponent is rejected", rejectFilters(func(f string) bool {
		return slices.ContainsFunc(words(f), func(w string) bool { return w[0] >= '0' && w[0] <= '9' && strings.ContainsAny(w, "eE") })
	})},
	// RFC7644-3.10-03
	{"filter.urn-case-exact", "a name with a URN matches no resource if the case of the URN differs",
		unmatched(func(p scim.AttrPath) bool { return !exactURN(p.String()) })},
	// RFC7644-3.4.2.2-46
	{"filter.urn-part-none", "a sub-attribute after a URN and a name matches no resource",
		unmatched(func(p scim.AttrPath) bool { return p.URN != "" && p.Sub != "" })},
	// RFC7644-3.4.2.2-46
	{"filter.urn-brackets-none", "brackets after a name with a URN match no resource",
		valuePaths(func(v bracketed) expr {
			if v.path.URN != "" {
				return never(v)
			}
			return v
		})},
	// RFC7644-3.4.2.2-47
	{"filter.extension-bare-only", "an attribute of an extension is found by its bare name, and not by its qualified name",
		unmatched(func(p scim.AttrPath) bool { return strings.EqualFold(p.URN, scim.EnterpriseUserSchema) })},
	// RFC7644-3.4.2.1-05
	{"root.urn-dropped", "the URN before a name is ignored in queries on the base URL, so that other types match",
		filtering(queryRoot, func(f string) string {
			return rebuilt(f, func(e expr) expr {
				switch t := e.(type) {
				case comparison:
					t.path.URN = ""
					return t
				case presence:
					t.path.URN = ""
					return t
				}
				return e
			})
		})},
	// RFC7644-3.4.3-04
	{"search.not-ignored", "the operator \"not\" in the filter of a search is ignored", searchFilters(func(e expr) expr {
		if not, ok := e.(negation); ok {
			return not.x
		}
		return e
	})},
	// RFC7644-3.4.3-04
	{"search.brackets-ignored", "brackets in the filter of a search act as pr on the attribute", searchFilters(func(e expr) expr {
		if v, ok := e.(bracketed); ok {
			return presence{v.path}
		}
		return e
	})},
}

// partNames are the names of sub-attributes in RFC 7643 that are usual in brackets.
var partNames = []string{"value", "display", "type", "primary", "$ref",
	"formatted", "streetAddress", "locality", "region", "postalCode", "country"}

func exactPart(name string) bool {
	return !slices.ContainsFunc(partNames, func(n string) bool { return n != name && strings.EqualFold(n, name) })
}

// equalOperands returns those operands of eq in a value filter that an element must match: the comparison is in no expression of "or" or
// "not".
func equalOperands(e expr) []string {
	switch t := e.(type) {
	case conjunction:
		return append(equalOperands(t.x), equalOperands(t.y)...)
	case bracketed:
		return equalOperands(t.filter)
	case comparison:
		if text, ok := t.text(); ok && t.op == "eq" {
			return []string{text}
		}
	}
	return nil
}

// containsText reports whether a value, or a value in it, is exactly this string.
func containsText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return containsText(item, text) })
	case *scim.Object:
		for _, item := range v.All() {
			if containsText(item, text) {
				return true
			}
		}
	}
	return false
}

// exactInBrackets removes the items of a list that match the operands of a value path only by ignoring the case.
func exactInBrackets(next http.Handler, r *http.Request) *reply {
	rep := serve(next, r)
	e, valid := parseFilter(r.URL.Query().Get("filter"))
	v, isPath := e.(bracketed)
	o := rep.object()
	if !valid || !isPath || !rep.ok() || o == nil {
		return rep
	}
	kept := []any{}
	for _, item := range o.Array("Resources") {
		full := at(next, r, "/Users/"+objectOf(item).Text("id"), url.Values{}).object()
		value, _ := full.Get(v.path.Name)
		if !slices.ContainsFunc(equalOperands(v), func(text string) bool { return !containsText(value, text) }) {
			kept = append(kept, item)
		}
	}
	o.Set("totalResults", totalOf(rep)-len(o.Array("Resources"))+len(kept))
	o.Set("itemsPerPage", len(kept))
	o.Set("Resources", kept)
	rep.body = o.AppendJSON(nil)
	return rep
}

var outsiderValuePaths = []Mutant{
	// RFC7644-3.4.2.2-29
	{"filter.value-path-or-first", "the operator \"or\" has higher precedence than the operator \"and\" in brackets",
		everyFilter(func(f string) string { return insideBrackets(f, orFirst) })},
	// RFC7644-3.4.2.2-28
	{"filter.value-path-groups-ignored", "parentheses in brackets are ignored",
		everyFilter(func(f string) string { return insideBrackets(f, withoutGroups) })},
	// RFC7644-3.4.2.2-35
	{"filter.value-path-not-outside", "the operator \"not\" in brackets negates the whole value path, so that no element may match",
		valuePaths(func(v bracketed) expr {
			if not, ok := v.filter.(negation); ok {
				v.filter = not.x
				return negation{v}
			}
			return v
		})},
	// RFC7644-3.4.2.2-27
	{"filter.value-path-not-first", "in brackets, not (a and b) acts as not (a) and b",
		valueFilters(notOfFirst)},
	// RFC7644-3.4.2.2-37
	{"filter.value-path-third-ignored", "the third of three conditions joined by the operator \"and\" in brackets is ignored",
		valueFilters(func(e expr) expr {
			if and, ok := e.(conjunction); ok {
				if _, ok := and.x.(conjunction); ok {
					return and.x
				}
			}
			return e
		})},
	// RFC7644-3.4.2.2-05
	{"filter.value-path-operators-exact", "operators in upper case are rejected in brackets", rejectFilters(func(f string) bool {
		upper := false
		insideBrackets(f, func(inner string) string {
			upper = upper || slices.ContainsFunc(words(inner), func(w string) bool { return isKeyword(w) && w != strings.ToLower(w) })
			return inner
		})
		return upper
	})},
	// RFC7644-3.4.2.2-04
	{"filter.value-path-names-exact", "names in brackets are case-sensitive", valueFilters(func(e expr) expr {
		if p, ok := pathOf(e); ok && !exactPart(p.Name) {
			return never(e)
		}
		return e
	})},
	// RFC7644-3.4.2.2-57
	{"filter.value-path-values-exact", "eq in brackets is case-sensitive", instead(with(listUsers, "filter"), exactInBrackets)},
	// RFC7643-2.4-05
	{"filter.value-path-primary-absent", "primary eq false in brackets does not match an element without primary",
		valueFilters(falseNeedsValue)},
	// RFC7644-3.4.2.2-11
	{"filter.value-path-ne-needs-value", "ne in brackets does not match an element without the sub-attribute", valueFilters(neNeedsValue)},
	// RFC7644-3.4.2.2-39
	{"filter.value-path-or-dropped", "a condition that the operator \"or\" joins to brackets is dropped", expressions(func(e expr) expr {
		if or, ok := e.(disjunction); ok {
			if _, ok := or.x.(bracketed); ok {
				return or.x
			}
		}
		return e
	})},
	// RFC7644-3.4.2.2-35
	{"filter.value-path-or-split", "if brackets contain (a or b) and c, one element may match a or b and another element c",
		valuePaths(func(v bracketed) expr {
			if and, ok := v.filter.(conjunction); ok {
				if _, ok := and.x.(disjunction); ok {
					return conjunction{bracketed{v.path, and.x}, bracketed{v.path, and.y}}
				}
			}
			return v
		})},
}

// qualifiedList returns the names of a list in which each bare name after a name with a URN has that URN.
func qualifiedList(names string) string {
	urn := ""
	list := strings.Split(names, ",")
	for i, name := range list {
		p, err := scim.ParseAttrPath(strings.TrimSpace(name))
		switch {
		case err != nil:
		case p.URN != "":
			urn = p.URN + ":"
		default:
			list[i] = urn + name
		}
	}
	return strings.Join(list, ",")
}

// parameter returns a wrapper that changes a query parameter of requests of any kind.
func parameter(m match, name string, fn func(value string) string) wrap {
	return query(m, func(q url.Values) {
		if v := q.Get(name); v != "" {
			if v = fn(v); v == "" {
				q.Del(name)
				return
			}
			q.Set(name, v)
		}
	})
}

var outsiderNames = []Mutant{
	// RFC7644-3.9-09
	{"projection.urn-sticks", "bare names after a qualified name in attributes are read as names of the same schema",
		parameter(everything, "attributes", qualifiedList)},
	// RFC7644-3.9-09
	{"projection.excluded-urn-sticks", "bare names after a qualified name in excludedAttributes are read as names of the same schema",
		parameter(everything, "excludedAttributes", qualifiedList)},
	// RFC7644-1.2-02
	{"projection.encoded-comma", "an encoded comma does not separate names in attributes", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(strings.ToUpper(r.URL.RawQuery), "%2C") && r.URL.Query().Has("attributes") {
				q := r.URL.Query()
				q.Set("attributes", strings.ReplaceAll(q.Get("attributes"), ",", "-"))
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			next.ServeHTTP(w, r)
		})
	}},
	// RFC7644-3.9-09
	{"projection.schema-shown-as-bare", "an attribute of an extension is returned at the top level when attributes names it",
		rewrite(with(either(readUser, listUsers), "attributes"), func(_ *http.Request, rep *reply, o *scim.Object) {
			if !rep.ok() {
				return
			}
			eachResource(o, func(u *scim.Object) {
				if e := u.Complex(scim.EnterpriseUserSchema); e != nil {
					u.Delete(scim.EnterpriseUserSchema)
					for name, v := range e.All() {
						u.Set(name, v)
					}
				}
			})
		})},
	// RFC7644-3.10-03
	{"sort.urn-case-exact", "sortBy with a URN in another case is ignored", parameter(anyList, "sortBy", func(by string) string {
		if !exactURN(by) {
			return ""
		}
		return by
	})},
	// RFC7644-3.4.2.3-02
	{"sort.extension-ignored", "sortBy with an attribute of an extension is ignored", parameter(anyList, "sortBy", func(by string) string {
		if withURN(by) && !strings.HasPrefix(strings.ToLower(by), strings.ToLower(scim.UserSchema)) {
			return ""
		}
		return by
	})},
	// RFC7644-3.4.2.3-02
	{"sort.part-is-user-name", "sortBy with a sub-attribute sorts by userName", parameter(listUsers, "sortBy", func(by string) string {
		if p, err := scim.ParseAttrPath(by); err == nil && p.Sub != "" {
			return "userName"
		}
		return by
	})},
	// RFC7644-3.4.2.3-06
	{"sort.order-guessed", "only desc is recognized as descending", parameter(anyList, "sortOrder", func(order string) string {
		if order == "desc" {
			return "descending"
		}
		return "ascending"
	})},
	// RFC7644-3.4.3-05
	{"search.urn-unknown", "qualified names in attributes of a search are dropped", before(anySearch, func(o *scim.Object) {
		if names := o.Array("attributes"); len(names) > 0 {
			o.Set("attributes", slices.DeleteFunc(slices.Clone(names), func(n any) bool { text, ok := n.(string); return ok && withURN(text) }))
		}
	})},
	// RFC7644-3.10-03
	{"create.extension-urn-exact", "a POST ignores an extension whose URN has another case", before(createUser, func(o *scim.Object) {
		for name := range o.Copy().All() {
			if withURN(name) && !exactURN(name) {
				o.Delete(name)
			}
		}
	})},
	// RFC7644-3.10-03
	{"put.extension-urn-exact", "a PUT ignores an extension whose URN has another case", before(putUser, func(o *scim.Object) {
		for name := range o.Copy().All() {
			if withURN(name) && !exactURN(name) {
				o.Delete(name)
			}
		}
	})},
	// RFC7643-2.1-01
	{"put.names-exact", "a PUT ignores attributes whose names differ from the schema in the case of the first letter",
		before(putUser, func(o *scim.Object) {
			for name := range o.Copy().All() {
				if name != "" && name[0] >= 'A' && name[0] <= 'Z' {
					o.Delete(name)
				}
			}
		})},
}
