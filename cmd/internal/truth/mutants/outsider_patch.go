package mutants

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var patchAny = either(patchUser, patchGroup, patchDevice)

// operationPaths returns a wrapper that replaces the paths of operations by the result of fn.
func operationPaths(fn func(path string) string) wrap {
	return edit(patchAny, func(o *scim.Object) {
		if p := o.Text("path"); p != "" {
			o.Set("path", fn(p))
		}
	})
}

// pathFilters returns a wrapper that applies fn to every expression in the value filters of PATCH paths.
func pathFilters(fn func(expr) expr) wrap {
	return operationPaths(func(path string) string {
		return insideBrackets(path, func(inner string) string { return rebuilt(inner, fn) })
	})
}

// comparing returns a function for pathFilters that replaces an operator by another one.
func comparing(from, to string) func(expr) expr {
	return func(e expr) expr {
		if c, ok := e.(comparison); ok && c.op == from {
			c.op = to
			return c
		}
		return e
	}
}

// rejectPaths returns a wrapper that rejects a PATCH with a path that satisfies when.
func rejectPaths(when func(path string) bool) wrap {
	return refuse(patchAny, anyOp(func(op *scim.Object) bool { return op.Text("path") != "" && when(op.Text("path")) }),
		func() *reply { return failure(400, scim.InvalidPath) })
}

// reorder returns a wrapper that moves the operations that satisfy when to the start of a PATCH, or to its end if last is set.
func reorder(last bool, when func(op *scim.Object) bool) wrap {
	return before(patchAny, func(o *scim.Object) {
		var moved, rest []any
		for _, item := range o.Array("Operations") {
			if op, ok := item.(*scim.Object); ok && when(op) {
				moved = append(moved, item)
			} else {
				rest = append(rest, item)
			}
		}
		if last {
			moved, rest = rest, moved
		}
		if len(moved) > 0 && len(rest) > 0 {
			o.Set("Operations", append(moved, rest...))
		}
	})
}

// exactTargets compares the values in value filters case-sensitively. An operation whose filter then matches nothing is rejected with
// noTarget; a remove has no effect.
func exactTargets(next http.Handler, r *http.Request) *reply {
	o, err := scim.Decode(readBody(r))
	has := stored(next, r)
	if err != nil || has == nil {
		return serve(next, r)
	}
	kept := []any{}
	for _, item := range o.Array("Operations") {
		op, _ := item.(*scim.Object)
		p, inner, _ := splitPath(op.Text("path"))
		if e, ok := parseFilter(inner); ok {
			v, assigned := has.Get(p.Name)
			exact := !slices.ContainsFunc(equalOperands(e), func(text string) bool { return !containsText(v, text) })
			switch {
			case !assigned || exact:
			case strings.EqualFold(op.Text("op"), "remove"):
				continue
			default:
				return failure(400, scim.NoTarget)
			}
		}
		kept = append(kept, item)
	}
	if len(kept) == 0 {
		return unchanged(next, r)
	}
	o.Set("Operations", kept)
	setBody(r, o.AppendJSON(nil))
	return serve(next, r)
}

// changedOnly removes the attributes that a PATCH does not name from its response.
func changedOnly(next http.Handler, r *http.Request) *reply {
	o, err := scim.Decode(readBody(r))
	rep := serve(next, r)
	shown := rep.object()
	if err != nil || !rep.ok() || shown == nil {
		return rep
	}
	names := []string{"schemas", "id", "meta"}
	for _, item := range o.Array("Operations") {
		op, _ := item.(*scim.Object)
		p, _, _ := splitPath(op.Text("path"))
		names = append(names, p.Name, p.URN)
		if v := op.Complex("value"); v != nil && op.Text("path") == "" {
			for name := range v.All() {
				names = append(names, name)
			}
		}
	}
	for name := range shown.Copy().All() {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			shown.Delete(name)
		}
	}
	rep.body = shown.AppendJSON(nil)
	return rep
}

var outsiderPatch = []Mutant{
	// RFC7644-3.4.2.2-12
	{"patch.value-path-co-is-eq", "co in a value filter acts as eq", pathFilters(comparing("co", "eq"))},
	// RFC7644-3.4.2.2-13
	{"patch.value-path-sw-is-co", "sw in a value filter acts as co", pathFilters(comparing("sw", "co"))},
	// RFC7644-3.4.2.2-14
	{"patch.value-path-ew-is-co", "ew in a value filter acts as co", pathFilters(comparing("ew", "co"))},
	// RFC7644-3.4.2.2-16
	{"patch.value-path-pr-always", "pr in a value filter is true for every element", pathFilters(func(e expr) expr {
		if p, ok := e.(presence); ok {
			return disjunction{p, negation{p}}
		}
		return e
	})},
	// RFC7644-3.4.2.2-29
	{"patch.value-path-or-first", "the operator \"or\" has higher precedence than the operator \"and\" in a value filter",
		operationPaths(func(path string) string { return insideBrackets(path, orFirst) })},
	// RFC7644-3.4.2.2-28
	{"patch.value-path-groups-ignored", "parentheses in a value filter are ignored",
		operationPaths(func(path string) string { return insideBrackets(path, withoutGroups) })},
	// RFC7644-3.4.2.2-27
	{"patch.value-path-not-first", "in a value filter, not (a and b) acts as not (a) and b",
		pathFilters(notOfFirst)},
	// RFC7644-3.4.2.2-05
	{"patch.value-path-operators-exact", "an operator in upper case in a value filter is rejected with 400",
		rejectPaths(func(path string) bool {
			return strings.Contains(unquoted(path), "[") &&
				slices.ContainsFunc(words(path), func(w string) bool { return isKeyword(w) && w != strings.ToLower(w) })
		})},
	// RFC7644-3.4.2.2-57
	{"patch.value-path-values-exact", "eq in a value filter is case-sensitive", instead(patchUser, exactTargets)},
	// RFC7644-3.4.2.2-11
	{"patch.value-path-ne-needs-value", "ne in a value filter does not match an element without the sub-attribute", pathFilters(neNeedsValue)},
	// RFC7643-2.4-05
	{"patch.value-path-primary-absent", "primary eq false in a value filter does not match an element without primary",
		pathFilters(falseNeedsValue)},
	// RFC7644-3.5.2-19
	{"patch.value-path-urn-400", "a URN before a path with brackets is rejected with 400",
		rejectPaths(func(path string) bool { return withURN(path) && strings.Contains(unquoted(path), "[") })},
	// RFC7644-3.10-03
	{"patch.urn-case-exact", "a path whose URN has another case is rejected with 400",
		rejectPaths(func(path string) bool { return !exactURN(path) })},
	// RFC7644-3.10-03
	{"patch.urn-key-case-exact", "a key with a URN in another case is ignored in a value without a path",
		edit(patchUser, func(o *scim.Object) {
			v := o.Complex("value")
			if v == nil || o.Text("path") != "" {
				return
			}
			for name := range v.Copy().All() {
				if !exactURN(name) {
					v.Delete(name)
				}
			}
		})},
	// RFC7644-3.5.2-20
	{"patch.extension-part-ignored", "an operation on a sub-attribute of an extension has no effect",
		drop(patchUser, func(op *scim.Object) bool {
			p, err := scim.ParseAttrPath(op.Text("path"))
			return err == nil && p.Sub != "" && strings.EqualFold(p.URN, scim.EnterpriseUserSchema)
		})},
	// RFC7644-3.5.2-25
	{"patch.removes-last", "remove operations are applied after the other operations",
		reorder(true, func(op *scim.Object) bool { return strings.EqualFold(op.Text("op"), "remove") })},
	// RFC7644-3.5.2-25
	{"patch.filters-see-old-state", "operations with a value filter are applied before the other operations",
		reorder(false, func(op *scim.Object) bool { return strings.Contains(op.Text("path"), "[") })},
	// RFC7644-3.5.2-29
	{"patch.answer-of-changes", "the PATCH response contains only the changed attributes",
		instead(either(patchUser, patchGroup), changedOnly)},
	// RFC7644-3.5.2.1-07
	{"patch.add-list-first-only", "only the first element of an added list is stored", edit(patchUser, func(o *scim.Object) {
		if v, _ := o.Get("value"); strings.EqualFold(o.Text("op"), "add") && o.Text("path") != "" {
			if list, ok := v.([]any); ok && len(list) > 1 {
				o.Set("value", list[:1])
			}
		}
	})},
	// RFC7644-3.5.2.3-10
	{"patch.replace-part-same-rejected",
		"replace with a value filter and a sub-attribute is rejected with noTarget if the sub-attribute already has the value",
		instead(patchUser, func(next http.Handler, r *http.Request) *reply {
			o, err := scim.Decode(readBody(r))
			has := stored(next, r)
			if err == nil && has != nil && anyOp(func(op *scim.Object) bool {
				p, _, sub := splitPath(op.Text("path"))
				v, _ := has.Get(p.Name)
				return sub != "" && op.Text("value") != "" && containsText(v, op.Text("value"))
			})(o) {
				return failure(400, scim.NoTarget)
			}
			return serve(next, r)
		})},
}
