package mutants

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// ignorePatch returns a wrapper that returns 204 without effect for PATCH requests with an operation that satisfies cond.
func ignorePatch(cond func(op *scim.Object) bool) wrap {
	return instead(withJSON(patchUser, anyOp(cond)), func(http.Handler, *http.Request) *reply {
		return &reply{status: 204, header: http.Header{}}
	})
}

// refuseOp returns a wrapper that rejects PATCH requests with an operation that satisfies cond.
func refuseOp(cond func(op *scim.Object) bool, kind scim.Type) wrap {
	return instead(withJSON(patchUser, anyOp(cond)), func(http.Handler, *http.Request) *reply { return failure(400, kind) })
}

// separately returns a wrapper that sends each operation of a PATCH as a separate request and stops at the first error. Before that, the
// function order rearranges the operations.
func separately(order func(operations []any)) wrap {
	return instead(patchUser, func(next http.Handler, r *http.Request) *reply {
		o, err := scim.Decode(readBody(r))
		if err != nil {
			return serve(next, r)
		}
		operations := slices.Clone(o.Array("Operations"))
		order(operations)
		var rep *reply
		for _, single := range operations {
			o.Set("Operations", []any{single})
			if rep = serve(next, derivedRequest(r, http.MethodPatch, r.URL.Path, "", o.AppendJSON(nil))); !rep.ok() {
				return rep
			}
		}
		if rep == nil {
			return serve(next, r)
		}
		return rep
	})
}

func pathHas(part string) func(op *scim.Object) bool {
	return func(op *scim.Object) bool { return strings.Contains(op.Text("path"), part) }
}

func pathless(op *scim.Object) bool { _, ok := op.Get("path"); return !ok }

// removedFirst returns a wrapper that inserts a remove of the same path before each operation with the given op and path.
func removedFirst(kind, path string) wrap {
	return operations(patchUser, func(o *scim.Object) []*scim.Object {
		if is(o, kind, path) {
			return []*scim.Object{op("remove", path, nil), o}
		}
		return []*scim.Object{o}
	})
}

var patch = []Mutant{
	{"patch.add-replaces", "add to a multi-valued attribute replaces the existing values", edit(patchUser, func(o *scim.Object) {
		if is(o, "add", "emails") {
			o.Set("op", "replace")
		}
	})},
	{"patch.add-needs-array", "add of a single object to a multi-valued attribute is ignored", drop(patchUser, func(o *scim.Object) bool {
		v, _ := o.Get("value")
		_, isObject := v.(*scim.Object)
		return is(o, "add", "emails") && isObject
	})},
	{"patch.add-keeps-value", "add to an attribute that has a value is ignored",
		drop(patchUser, func(o *scim.Object) bool { return is(o, "add", "displayName") })},
	{"patch.add-pathless-ignored", "add without a path is ignored",
		drop(patchUser, func(o *scim.Object) bool { return o.Text("op") == "add" && pathless(o) })},
	{"patch.add-complex-replaces", "add to a complex attribute removes the omitted sub-attributes", removedFirst("add", "name")},
	{"patch.add-copies", "add of an existing value adds a copy", edit(patchUser, func(o *scim.Object) {
		for _, item := range o.Array("value") {
			if e, ok := item.(*scim.Object); ok && is(o, "add", "emails") && e.Text("type") == "work" {
				e.Set("type", "other")
			}
		}
	})},
	{"patch.urn-unknown", "a path with a URN is rejected with 400", refuseOp(pathHas("urn:"), scim.InvalidPath)},
	{"patch.extension-unnamed", "schemas does not contain an extension that PATCH added",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"patch.primary-stays", "after a PATCH makes another value primary, the old primary value stays primary too",
		func(next http.Handler) http.Handler {
			return afterEach(readUser, func(o *scim.Object) {
				for _, item := range o.Array("emails") {
					if e := objectOf(item); e.Text("type") == "work" {
						e.Set("primary", true)
					}
				}
			})(next)
		}},
	{"patch.primary-ignored", "the sub-attribute primary of an added value is ignored", edit(patchUser, func(o *scim.Object) {
		for _, item := range o.Array("value") {
			if e, ok := item.(*scim.Object); ok {
				e.Delete("primary")
			}
		}
	})},
	{"patch.ignored", "PATCH returns 200 without effect", instead(patchUser, unchanged)},
	{"patch.replace-needs-value", "replace of an unassigned attribute is ignored",
		drop(patchUser, func(o *scim.Object) bool { return is(o, "replace", "nickName") })},
	{"patch.replace-pathless-ignored", "replace without a path is ignored",
		drop(patchUser, func(o *scim.Object) bool { return o.Text("op") == "replace" && pathless(o) })},
	{"patch.replace-pathless-is-put", "replace without a path removes omitted attributes",
		operations(patchUser, func(o *scim.Object) []*scim.Object {
			if o.Text("op") == "replace" && pathless(o) {
				return []*scim.Object{op("remove", "nickName", nil), o}
			}
			return []*scim.Object{o}
		})},
	{"patch.active-ignored", "active:false without a path returns 200 without effect",
		edit(patchUser, func(o *scim.Object) { o.Complex("value").Delete("active") })},
	{"patch.active-one-way", "a deactivated user cannot be reactivated", drop(patchUser, func(o *scim.Object) bool {
		on, _ := o.Bool("value")
		return is(o, "replace", "active") && on
	})},
	{"patch.replace-appends", "replace of a multi-valued attribute adds to the existing values", edit(patchUser, func(o *scim.Object) {
		if is(o, "replace", "emails") {
			o.Set("op", "add")
			for _, item := range o.Array("value") {
				objectOf(item).Delete("primary")
			}
		}
	})},
	{"patch.replace-complex-whole", "replace of a complex attribute removes omitted sub-attributes", removedFirst("replace", "name")},
	{"patch.value-filter-ignored", "a value filter in a replace is ignored", edit(patchUser, func(o *scim.Object) {
		if o.Text("op") == "replace" && strings.HasPrefix(o.Text("path"), "emails[") && strings.HasSuffix(o.Text("path"), "].value") {
			o.Set("path", "emails[value pr].value")
		}
	})},
	{"patch.no-target-hidden", "replace with a value filter that matches nothing returns 204", ignorePatch(pathHas("scimconf-none"))},
	{"patch.no-target-without-type", "replace with a value filter that matches nothing is rejected without scimType",
		after(patchUser, func(_ *http.Request, rep *reply) {
			if rep.status == 400 && rep.object().Text("scimType") == string(scim.NoTarget) {
				*rep = *failure(400, "")
			}
		})},
	{"patch.null-ignored", "replace with null is ignored",
		drop(patchUser, func(o *scim.Object) bool { v, ok := o.Get("value"); return ok && empty(v) })},
	{"patch.names-case-exact", "attribute names in a path are case-sensitive", refuseOp(pathHas("DISPLAYNAME"), scim.InvalidPath)},
	{"patch.conflict-hidden", "PATCH to a userName in use returns 200", pretend(patchUser, 409)},
	{"patch.remove-ignored", "remove is ignored",
		drop(patchUser, func(o *scim.Object) bool { return o.Text("op") == "remove" && !pathless(o) })},
	{"patch.remove-parent", "remove of a sub-attribute removes the whole attribute", edit(patchUser, func(o *scim.Object) {
		if is(o, "remove", "name.givenName") {
			o.Set("path", "name")
		}
	})},
	{"patch.remove-filter-ignored", "a value filter in a remove is ignored", edit(patchUser, func(o *scim.Object) {
		if o.Text("op") == "remove" && strings.HasPrefix(o.Text("path"), "emails[") {
			o.Set("path", "emails")
		}
	})},
	{"patch.remove-first-only", "remove of a multi-valued attribute removes one value", edit(patchUser, func(o *scim.Object) {
		if is(o, "remove", "emails") {
			o.Set("path", `emails[type eq "work"]`)
		}
	})},
	{"patch.remove-pathless-hidden", "remove without a path returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("op") == "remove" && pathless(o) })},
	{"patch.remove-required-hidden", "remove of userName returns 204",
		ignorePatch(func(o *scim.Object) bool { return is(o, "remove", "userName") })},
	{"patch.answer-stale", "the PATCH response contains the state before the PATCH",
		instead(patchUser, func(next http.Handler, r *http.Request) *reply {
			old := stored(next, r)
			rep := serve(next, r)
			if rep.ok() && old != nil {
				return newReply(200, old)
			}
			return rep
		})},
	{"patch.status-202", "PATCH returns 202", after(patchUser, func(_ *http.Request, rep *reply) {
		if rep.ok() {
			rep.status = 202
		}
	})},
	{"patch.first-only", "only the first operation is applied", before(patchUser, func(o *scim.Object) {
		if all := o.Array("Operations"); len(all) > 1 {
			o.Set("Operations", all[:1])
		}
	})},
	{"patch.last-first", "operations are applied from the last to the first",
		separately(func(operations []any) { slices.Reverse(operations) })},
	{"patch.not-atomic", "operations before the failing one stay applied", separately(func([]any) {})},
	{"patch.read-only-hidden", "PATCH of id returns 204", ignorePatch(func(o *scim.Object) bool { return is(o, "replace", "id") })},
	{"patch.created-hidden", "PATCH of meta.created returns 204",
		ignorePatch(func(o *scim.Object) bool { return is(o, "replace", "meta.created") })},
	{"patch.unknown-204", "PATCH of an unknown id returns 204", after(patchUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = reply{status: 204, header: http.Header{}}
		}
	})},
	{"patch.path-guessed", "a PATCH with a malformed path returns 204", ignorePatch(func(o *scim.Object) bool {
		path := o.Text("path")
		return strings.Contains(path, "..") || strings.Count(path, "[") != strings.Count(path, "]")
	})},
	{"patch.schema-not-needed", "a PATCH without the PatchOp schema is accepted",
		before(patchUser, func(o *scim.Object) { o.Set("schemas", []any{scim.PatchOpMessage}) })},
	{"patch.unknown-operation-hidden", "a PATCH with an unknown op returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("op") == "move" })},
	{"patch.empty-operation-replaces", "an op that is an empty string acts as replace", edit(patchUser, func(o *scim.Object) {
		if v, there := o.Get("op"); there && v == "" {
			o.Set("op", "replace")
		}
	})},
	{"patch.absent-operation-replaces", "an absent op acts as replace", edit(patchUser, func(o *scim.Object) {
		if _, there := o.Get("op"); !there && o.Text("path") != "" {
			o.Set("op", "replace")
		}
	})},
	{"patch.value-path-refused", "a path with a value filter is rejected with 400 invalidPath",
		refuseOp(func(o *scim.Object) bool { return strings.Contains(o.Text("path"), "[") }, scim.InvalidPath)},
	{"patch.remove-needs-value", "the operation remove without a value is rejected with 400",
		refuseOp(func(o *scim.Object) bool { return o.Text("op") == "remove" && valueless(o) }, "")},
	{"patch.deactivation-refused", "a PATCH that sets active to false is rejected with 400", refuseOp(func(o *scim.Object) bool {
		inner, _ := o.Complex("value").Get("active")
		return is(o, "replace", "active") && valueOf(o) == false || inner == false
	}, scim.InvalidValue)},
	{"patch.list-unwrapped", "a list of one string as value of a string attribute is stored as this " +
		"string", edit(patchUser, func(o *scim.Object) {
		if list, _ := valueOf(o).([]any); len(list) == 1 && o.Text("path") == "displayName" {
			o.Set("value", list[0])
		}
	})},
	{"patch.op-case-exact", "an op with an upper-case letter is rejected with 400",
		refuseOp(func(o *scim.Object) bool { return o.Text("op") != strings.ToLower(o.Text("op")) }, scim.InvalidSyntax)},
	{"patch.wrong-type-hidden", "a PATCH that sets name to a string returns 204",
		ignorePatch(func(o *scim.Object) bool { return is(o, "replace", "name") && o.Text("value") != "" })},
	{"patch.password-echoed", "the PATCH response contains the password", echo(patchUser, func(sent, got *scim.Object) {
		for _, item := range sent.Array("Operations") {
			if password := objectOf(item).Complex("value").Text("password"); password != "" {
				got.Set("password", password)
			}
		}
	})},
}
