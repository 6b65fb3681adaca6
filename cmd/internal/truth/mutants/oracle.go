package mutants

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of this area have faults that only generated requests detect: each mutant passes the checks of all other areas.

// group matches a pair of parentheses that contains no other parentheses.
var group = regexp.MustCompile(`\((?:[^()"]|"(?:\\.|[^"\\])*")*\)`)

// doubled reports whether a filter starts with "userName sw" and ends with two equal conditions that the operator "and" joins.
func doubled(filter string) bool {
	left, last, ok := sides(filter, "and")
	if !ok || !strings.HasPrefix(filter, "userName sw ") {
		return false
	}
	_, before, ok := sides(left, "and")
	return ok && before == last
}

var oracle = []Mutant{
	{"oracle.or-first-in-groups", "inside parentheses, the operator \"or\" has higher precedence than the operator \"and\"",
		filtering(listUsers, func(f string) string {
			return group.ReplaceAllStringFunc(f, func(g string) string {
				left, right, ok := sides(g[1:len(g)-1], "and")
				for ; ok; left, right, ok = sides(left, "and") {
					g = strings.Replace(g, left+" and "+right, left+") and ("+right, 1)
				}
				return "(" + g + ")"
			})
		})},
	{"oracle.primary-element-only", "conditions on roles and entitlements compare only the primary value",
		sub(`(?i)\b(roles|entitlements)\.(type|value) (\w\w "(?:\\.|[^"\\])*")`, `$1[primary eq true and $2 $3]`)},
	{"oracle.one-case-in-extension", "operands entirely in upper or lower case do not match attributes of an extension",
		sub(`(?i:(extension:enterprise:2\.0:User:\w+ (?:eq|sw|ew|co))) "([A-Z ]*[A-Z]|[a-z ]*[a-z])"`, `$1 "no such value"`)},
	{"oracle.same-twice", "a filter with two equal conditions joined by the operator \"and\" matches no user",
		filterAnswer(doubled, emptyList)},
	{"oracle.search-without-groups", "a search drops conditions in parentheses from its filter",
		before(on("POST", "Users", true), func(o *scim.Object) {
			if f := o.Text("filter"); strings.Contains(f, "(") {
				o.Set("filter", regexp.MustCompile(` and (not )?\(.*$`).ReplaceAllString(f, ""))
			}
		})},
	{"oracle.add-replaces-lists", "add to a multi-valued attribute other than emails replaces the existing values",
		rewriting(patchUser, func(op *scim.Object) bool {
			return op.Text("op") == "add" && otherList(op) && !strings.Contains(op.Text("path"), "[")
		}, func(op *scim.Object) { op.Set("op", "replace") })},
	{"oracle.remove-ignores-filter", "remove with a value filter on a multi-valued attribute other than emails removes all values",
		rewriting(patchUser, func(op *scim.Object) bool {
			return op.Text("op") == "remove" && otherList(op) && strings.HasSuffix(op.Text("path"), "]")
		}, func(op *scim.Object) {
			list, _, _ := strings.Cut(op.Text("path"), "[")
			op.Set("path", list)
		})},
	{"oracle.parts-stick", "changes of a rejected PATCH to an extension or to a multi-valued attribute other than emails stay applied",
		applyRejected(func(op *scim.Object) bool {
			return strings.Contains(op.Text("path"), "extension:") || otherList(op)
		})},
	{"oracle.members-replaced-late", "a replace of members after another operation adds to the members", func(next http.Handler) http.Handler {
		late := func(o *scim.Object) bool {
			return slices.ContainsFunc(o.Array("Operations")[min(1, length(o)):], func(item any) bool {
				return is(objectOf(item), "replace", "members")
			})
		}
		return before(withJSON(patchGroup, late), func(o *scim.Object) {
			for _, item := range o.Array("Operations")[1:] {
				if op := objectOf(item); is(op, "replace", "members") {
					op.Set("op", "add")
				}
			}
		})(next)
	}},
	{"oracle.sort-by-names-only", "sortBy is ignored for attributes other than name.familyName, displayName, userName and meta",
		query(listUsers, func(q url.Values) {
			if by := strings.ToLower(q.Get("sortBy")); by != "" && !strings.HasPrefix(by, "name.familyname") &&
				!strings.Contains(by, "displayname") && !strings.Contains(by, "username") && !strings.HasPrefix(by, "meta") {
				q.Del("sortBy")
			}
		})},
	{"oracle.pages-aligned", "startIndex is rounded down to a multiple of count", query(listUsers, func(q url.Values) {
		start, err1 := strconv.Atoi(q.Get("startIndex"))
		count, err2 := strconv.Atoi(q.Get("count"))
		if err1 == nil && err2 == nil && start > 0 && count > 1 {
			q.Set("startIndex", strconv.Itoa((start-1)/count*count+1))
		}
	})},
	{"oracle.one-sub-attribute", "if the attributes parameter names two sub-attributes of the same attribute, only the first is returned",
		query(readUser, func(q url.Values) {
			var kept, parents []string
			for name := range strings.SplitSeq(q.Get("attributes"), ",") {
				parent, _, isSub := strings.Cut(strings.ToLower(name[strings.LastIndex(name, ":")+1:]), ".")
				if !isSub || !slices.Contains(parents, parent) {
					kept, parents = append(kept, name), append(parents, parent)
				}
			}
			if q.Has("attributes") {
				q.Set("attributes", strings.Join(kept, ","))
			}
		})},
	{"oracle.excluding-a-part", "excluding a sub-attribute excludes the whole attribute", query(readUser, func(q url.Values) {
		if q.Has("excludedAttributes") {
			q.Set("excludedAttributes", afterDot.ReplaceAllString(q.Get("excludedAttributes"), "$1"))
		}
	})},
}

// afterDot matches an attribute name with a sub-attribute.
var afterDot = regexp.MustCompile(`([A-Za-z]+)\.[A-Za-z$]+`)

// otherList reports whether the path of an operation starts with a multi-valued attribute other than emails.
func otherList(op *scim.Object) bool {
	path := strings.ToLower(strings.TrimPrefix(op.Text("path"), scim.UserSchema+":"))
	return slices.ContainsFunc([]string{"roles", "entitlements", "addresses"}, func(list string) bool { return strings.HasPrefix(path, list) })
}

// rewriting returns a wrapper that changes the operations that satisfy cond. Requests without such an operation stay unchanged.
func rewriting(m match, cond func(op *scim.Object) bool, fn func(op *scim.Object)) wrap {
	return edit(withJSON(m, anyOp(cond)), func(op *scim.Object) {
		if cond(op) {
			fn(op)
		}
	})
}

// applyRejected returns a wrapper: after the server has rejected a PATCH, it applies those operations of the PATCH that satisfy cond.
func applyRejected(cond func(op *scim.Object) bool) wrap {
	return instead(patchUser, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		if err != nil || rep.status != 400 {
			return rep
		}
		for _, item := range sent.Array("Operations") {
			if op, ok := item.(*scim.Object); ok && cond(op) {
				sent.Set("Operations", []any{op})
				serve(next, derivedRequest(r, http.MethodPatch, r.URL.Path, "", sent.AppendJSON(nil)))
			}
		}
		return rep
	})
}
