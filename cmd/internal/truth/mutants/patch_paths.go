package mutants

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// precededBy returns a wrapper that inserts a copy of the operation extra before each operation that satisfies cond.
func precededBy(cond func(op *scim.Object) bool, extra *scim.Object) wrap {
	return operations(patchUser, func(o *scim.Object) []*scim.Object {
		if cond(o) {
			return []*scim.Object{extra.Clone(), o}
		}
		return []*scim.Object{o}
	})
}

// repath returns a wrapper that changes the paths of the operations whose op is kind, or of all operations if kind is empty.
func repath(kind string, fn func(path string) string) wrap {
	return edit(patchUser, func(o *scim.Object) {
		if path := o.Text("path"); path != "" && (kind == "" || o.Text("op") == kind) {
			o.Set("path", fn(path))
		}
	})
}

// cutAt returns a function that truncates the filter in a path at word.
func cutAt(word string) func(string) string {
	return func(path string) string {
		if before, _, ok := strings.Cut(path, word); ok && strings.Contains(path, "[") {
			return before + "]"
		}
		return path
	}
}

// A memory stores values by a key, such as the path or the id of a resource.
type memory struct {
	mu   sync.Mutex
	kept map[string]any
}

func (m *memory) put(key string, v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]any{}
	}
	m.kept[key] = v
}

// putFirst stores the value unless the key has one that is not nil.
func (m *memory) putFirst(key string, v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]any{}
	}
	if m.kept[key] == nil {
		m.kept[key] = v
	}
}

func (m *memory) at(key string) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key]
}

// rememberAndShow returns a wrapper that changes responses for a path after a matching request. notice returns the value to store for a
// request and its response, or nil. show adds the stored value to the resource in this and later responses.
func rememberAndShow(m match, notice func(r *http.Request, sent *scim.Object, rep *reply) any, show func(o *scim.Object, kept any)) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := r.URL.Path
			var sent *scim.Object
			if m(r) {
				sent, _ = scim.Decode(readBody(r))
			}
			rep := serve(next, r)
			if sent != nil {
				if v := notice(r, sent, rep); v != nil {
					kept.put(path, v)
				}
			}
			if v, o := kept.at(path), rep.object(); v != nil && rep.ok() && o != nil && r.Method != http.MethodDelete {
				show(o, v)
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// late is a time later than every change in a test.
const late = "2099-12-31T23:59:59.999Z"

// pretendStored returns a wrapper that returns 204 without effect for PATCH requests with an operation that satisfies cond. show changes
// the resource in these and later responses for the same path.
//
//go:noinline
func pretendStored(cond func(op *scim.Object) bool, show func(o *scim.Object)) wrap {
	return func(next http.Handler) http.Handler {
		quieted := ignorePatch(cond)(next)
		return rememberAndShow(patchUser, func(_ *http.Request, sent *scim.Object, _ *reply) any {
			if !anyOp(cond)(sent) {
				return nil
			}
			return true
		}, func(o *scim.Object, _ any) { show(o) })(quieted)
	}
}

func valueOf(o *scim.Object) any { v, _ := o.Get("value"); return v }

func valueless(o *scim.Object) bool { _, ok := o.Get("value"); return !ok }

func withKey(o *scim.Object, part string) bool {
	for name := range o.Complex("value").All() {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func length(o *scim.Object) int { return len(o.Array("Operations")) }

var patchPaths = []Mutant{
	{"patch.sub-path-replaces-parent", "an operation on a sub-attribute removes the other sub-attributes",
		precededBy(func(o *scim.Object) bool {
			return o.Text("op") != "remove" && strings.HasPrefix(o.Text("path"), "name.")
		}, op("remove", "name", nil))},
	{"patch.absent-complex-ignored", "operations on an unassigned complex attribute are ignored",
		instead(patchUser, func(next http.Handler, r *http.Request) *reply {
			if has := stored(next, r); has != nil && has.Complex("name") == nil {
				if sent, err := scim.Decode(readBody(r)); err == nil &&
					anyOp(func(o *scim.Object) bool { return strings.HasPrefix(o.Text("path"), "name") })(sent) {
					return unchanged(next, r)
				}
			}
			return serve(next, r)
		})},
	{"patch.add-filter-ignored", "a value filter in an add is ignored", repath("add", func(path string) string {
		if strings.HasPrefix(path, "emails[") && strings.HasSuffix(path, "].value") {
			return "emails[value pr].value"
		}
		return path
	})},
	{"patch.add-element-appends", "add with a value filter appends a value", edit(patchUser, func(o *scim.Object) {
		if o.Text("op") == "add" && strings.HasPrefix(o.Text("path"), "emails[") && strings.HasSuffix(o.Text("path"), "]") {
			o.Set("path", "emails")
		}
	})},
	{"patch.add-no-match-hidden", "add with a value filter that matches nothing returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("op") == "add" && strings.Contains(o.Text("path"), `"other"`) })},
	{"patch.core-urn-unknown", "a path with the URN of the User schema is rejected with 400",
		refuseOp(pathHas(scim.UserSchema+":"), scim.InvalidPath)},
	{"patch.urn-dot-splits", "the dot in 2.0 of a URN is read as a path separator",
		refuseOp(func(o *scim.Object) bool { return strings.Contains(o.Text("path"), ":User:name.") }, scim.InvalidPath)},
	{"patch.extension-no-path-ignored", "extension data in a value without a path is ignored",
		edit(patchUser, func(o *scim.Object) { o.Complex("value").Delete(scim.EnterpriseUserSchema) })},
	{"patch.extension-whole", "a change of one extension attribute removes the others", precededBy(func(o *scim.Object) bool {
		return o.Text("op") != "remove" && strings.HasPrefix(o.Text("path"), scim.EnterpriseUserSchema+":")
	}, op("remove", scim.EnterpriseUserSchema, nil))},
	{"patch.extension-object-ignored", "operations on the bare URN of an extension return 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("path") == scim.EnterpriseUserSchema })},
	{"patch.remove-extension-whole", "remove of one extension attribute removes the whole extension",
		repath("remove", func(path string) string {
			if strings.HasPrefix(path, scim.EnterpriseUserSchema+":") {
				return scim.EnterpriseUserSchema
			}
			return path
		})},
	{"patch.remove-extension-ignored", "remove of an extension attribute is ignored", drop(patchUser, func(o *scim.Object) bool {
		return o.Text("op") == "remove" && strings.HasPrefix(o.Text("path"), scim.EnterpriseUserSchema+":")
	})},
	{"patch.first-match-only", "a value filter matches only the first matching value", repath("", func(path string) string {
		return strings.Replace(path, `emails[type eq "work"]`, `emails[type eq "work" and value co "work-1"]`, 1)
	})},
	{"patch.filter-sees-new-value", "a replace of the sub-attribute that the value filter names is rejected with 400 noTarget",
		refuseOp(pathHas(`[type eq "work"].type`), scim.NoTarget)},
	{"patch.replace-filter-whole", "replace with a value filter replaces all values", edit(patchUser, func(o *scim.Object) {
		if o.Text("op") == "replace" && strings.HasPrefix(o.Text("path"), "emails[") && strings.HasSuffix(o.Text("path"), "]") {
			o.Set("path", "emails")
			o.Set("value", []any{valueOf(o)})
		}
	})},
	{"patch.null-sub-ignored", "null for a sub-attribute is ignored", edit(patchUser, func(o *scim.Object) {
		if name := o.Complex("value").Complex("name"); name != nil {
			for key, v := range name.Clone().All() {
				if v == nil {
					name.Delete(key)
				}
			}
		}
	})},
	{"patch.null-sub-clears-all", "null for a sub-attribute clears the whole attribute", edit(patchUser, func(o *scim.Object) {
		if name := o.Complex("value").Complex("name"); name != nil {
			for _, v := range name.All() {
				if v == nil {
					complexOf(o, "value").Set("name", nil)
					return
				}
			}
		}
	})},
	{"patch.no-path-complex-whole", "replace without a path removes sub-attributes that a complex value omits",
		precededBy(func(o *scim.Object) bool {
			return o.Text("op") == "replace" && pathless(o) && o.Complex("value").Complex("name") != nil
		}, op("remove", "name", nil))},
	{"patch.primary-path-ignored", "an operation with a path that ends with .primary is ignored",
		drop(patchUser, func(o *scim.Object) bool { return strings.HasSuffix(o.Text("path"), ".primary") })},
	{"patch.all-stay-primary", "after a PATCH, several email addresses are primary", afterEach(readUser, func(o *scim.Object) {
		for _, item := range o.Array("emails") {
			if len(o.Array("emails")) > 2 {
				objectOf(item).Set("primary", true)
			}
		}
	})},
	{"patch.external-id-lower-case", "PATCH stores externalId in lower case", edit(patchUser, func(o *scim.Object) {
		if text := o.Text("value"); o.Text("path") == "externalId" {
			o.Set("value", strings.ToLower(text))
		}
	})},
	{"patch.ascii-only", "non-ASCII letters are replaced by question marks", edit(patchUser, func(o *scim.Object) {
		if text := o.Text("value"); text != "" {
			o.Set("value", strings.Map(func(r rune) rune {
				if r > 127 {
					return '?'
				}
				return r
			}, text))
		}
	})},
	{"patch.remove-complex-ignored", "remove of a complex attribute is ignored",
		drop(patchUser, func(o *scim.Object) bool { return is(o, "remove", "name") })},
	{"patch.remove-filter-sub-element", "remove of a sub-attribute with a value filter removes the whole value",
		repath("remove", func(path string) string {
			if before, ok := strings.CutSuffix(path, "].display"); ok {
				return before + "]"
			}
			return path
		})},
	{"patch.remove-not-set-500", "remove of an unassigned attribute causes 500",
		instead(patchUser, func(next http.Handler, r *http.Request) *reply {
			has := stored(next, r)
			sent, err := scim.Decode(readBody(r))
			if err == nil && has != nil && has.Text("nickName") == "" &&
				anyOp(func(o *scim.Object) bool { return is(o, "remove", "nickName") })(sent) && length(sent) == 1 {
				return failure(500, "")
			}
			return serve(next, r)
		})},
	{"patch.remove-no-match-all", "remove with a value filter that matches nothing removes all values",
		repath("remove", func(path string) string {
			if strings.Contains(path, "scimconf-none") {
				return "emails"
			}
			return path
		})},
	{"patch.filter-and-first", "only the left operand of the operator \"and\" in a value filter is evaluated", repath("", cutAt(" and "))},
	{"patch.filter-or-first", "only the left operand of the operator \"or\" in a value filter is evaluated", repath("", cutAt(" or "))},
	{"patch.filter-not-ignored", "the operator \"not\" in a value filter is ignored",
		repath("", func(path string) string { return strings.Replace(path, "not (", "(", 1) })},
	{"patch.filter-ne-is-eq", "ne in a value filter acts as eq",
		repath("", func(path string) string { return strings.Replace(path, " ne ", " eq ", 1) })},
	{"patch.filter-boolean-ignored", "a value filter on a boolean matches nothing", drop(patchUser, pathHas("eq true"))},
	{"patch.filter-case-exact", "operations with a path in upper case are ignored", drop(patchUser, pathHas("EMAILS"))},
	{"patch.filter-escapes-unknown", "an escaped quote in a value filter is rejected with 400", refuseOp(pathHas(`\"`), scim.InvalidPath)},
	{"patch.filter-cut-at-bracket", "a bracket inside a string ends the value filter", refuseOp(pathHas("a].value[b"), scim.InvalidPath)},
	{"patch.dotted-keys-stored", "a key with a dot is stored as an attribute name",
		pretendStored(func(o *scim.Object) bool { return pathless(o) && withKey(o, "name.") }, func(o *scim.Object) {
			o.Set("name.familyName", "Lovelace")
		})},
	{"patch.extension-keys-stored", "a key with a URN is stored as an attribute name",
		pretendStored(func(o *scim.Object) bool { return pathless(o) && withKey(o, ":User:") }, func(o *scim.Object) {
			o.Set(scim.EnterpriseUserSchema+":department", "New")
		})},
	{"patch.first-ten-only", "only the first ten operations are applied", before(patchUser, func(o *scim.Object) {
		if all := o.Array("Operations"); len(all) > 10 {
			o.Set("Operations", all[:10])
		}
	})},
	{"patch.limit-of-fifty", "more than 50 operations are rejected with 413",
		refuse(patchUser, func(o *scim.Object) bool { return length(o) > 50 }, func() *reply { return failure(413, "") })},
	{"patch.once-per-attribute", "only the last operation on an attribute is applied", before(patchUser, func(o *scim.Object) {
		last := map[string]any{}
		var order []string
		for _, item := range o.Array("Operations") {
			name, _, _ := strings.Cut(objectOf(item).Text("path"), "[")
			if _, ok := last[name]; !ok {
				order = append(order, name)
			}
			last[name] = item
		}
		if len(last) < length(o) {
			var kept []any
			for _, name := range order {
				kept = append(kept, last[name])
			}
			o.Set("Operations", kept)
		}
	})},
	{"patch.add-no-value-hidden", "add without a value returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("op") == "add" && valueless(o) })},
	{"patch.replace-no-value-clears", "replace without a value acts as remove", edit(patchUser, func(o *scim.Object) {
		if o.Text("op") == "replace" && valueless(o) {
			o.Set("op", "remove")
		}
	})},
	{"patch.no-path-text-hidden", "an operation with a string value and no path returns 204",
		ignorePatch(func(o *scim.Object) bool { return pathless(o) && !valueless(o) && o.Complex("value") == nil })},
	{"patch.remove-value-hidden", "remove with a value and no path returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("op") == "remove" && pathless(o) && !valueless(o) })},
	{"patch.unknown-stored", "an attribute that no schema defines is stored", pretendStored(func(o *scim.Object) bool {
		return o.Text("path") == "scimconfUnknown" || withKey(o, "scimconfUnknown")
	}, func(o *scim.Object) { o.Set("scimconfUnknown", "x") })},
	{"patch.index-is-path", "an index in a path is accepted", edit(patchUser, func(o *scim.Object) {
		if strings.HasSuffix(o.Text("path"), "[0]") {
			o.Set("path", "emails")
		}
	})},
	{"patch.pointer-hidden", "a JSON Pointer as path returns 204", ignorePatch(pathHas("/"))},
	{"patch.three-names-hidden", "a path with three levels, as in a.b.c, returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("path") == "name.familyName.value" })},
	{"patch.urn-dropped", "an unknown URN in a path is ignored",
		repath("", func(path string) string { return strings.TrimPrefix(path, "urn:example:scimconf:2.0:Unknown:") })},
	{"patch.read-only-taken", "meta in the value of an operation without a path is stored",
		pretendStored(func(o *scim.Object) bool { return withKey(o, "meta") }, func(o *scim.Object) {
			complexOf(o, "meta").Set("created", "1999-12-31T23:59:59Z")
		})},
	{"patch.groups-written", "groups of a user can be written",
		pretendStored(func(o *scim.Object) bool { return o.Text("path") == "groups" || withKey(o, "groups") }, func(o *scim.Object) {
			o.Set("groups", []any{scim.NewObject(scim.Member{Name: "value", Value: "scimconf-no-such-id"})})
		})},
	{"patch.remove-read-only-hidden", "remove of id or meta.created returns 204",
		ignorePatch(func(o *scim.Object) bool { return is(o, "remove", "id") || is(o, "remove", "meta.created") })},
	{"patch.null-required-hidden", "null for userName returns 204", ignorePatch(func(o *scim.Object) bool {
		name, ok := o.Complex("value").Get("userName")
		return ok && name == nil || o.Text("path") == "userName" && !valueless(o) && valueOf(o) == nil
	})},
	{"patch.empty-name-hidden", "an empty userName returns 204",
		ignorePatch(func(o *scim.Object) bool { return o.Text("path") == "userName" && valueOf(o) == "" })},
	{"patch.active-guessed", "a value of active that is not a boolean deactivates the user", edit(patchUser, func(o *scim.Object) {
		if _, isBool := valueOf(o).(bool); o.Text("path") == "active" && !isBool {
			o.Set("value", false)
		}
	})},
	{"patch.number-list-hidden", "a number as value of emails returns 204", ignorePatch(func(o *scim.Object) bool {
		list, isList := valueOf(o).([]any)
		_, isObject := valueOf(o).(*scim.Object)
		return o.Text("path") == "emails" && o.Text("op") != "remove" && !isObject &&
			(!isList ||
				len(list) > 0 && !scim.Equal(list[0], scim.NewObject()) &&
					!slices.ContainsFunc(list, func(v any) bool { _, ok := v.(*scim.Object); return ok }))
	})},
	{"patch.object-text-hidden", "an object as value of a string attribute returns 204", ignorePatch(func(o *scim.Object) bool {
		_, isText := valueOf(o).(string)
		return o.Text("path") == "displayName" && !valueless(o) && !isText
	})},
	{"patch.refused-touches", "a rejected PATCH changes lastModified",
		rememberAndShow(patchUser, func(_ *http.Request, _ *scim.Object, rep *reply) any {
			if rep.status == 400 {
				return late
			}
			return nil
		}, func(o *scim.Object, kept any) { complexOf(o, "meta").Set("lastModified", kept) })},
	{"patch.always-touches", "a PATCH without effect changes lastModified",
		rememberAndShow(patchUser, func(_ *http.Request, _ *scim.Object, rep *reply) any {
			if rep.ok() {
				return late
			}
			return nil
		}, func(o *scim.Object, kept any) { complexOf(o, "meta").Set("lastModified", kept) })},
	{"patch.last-modified-frozen", "PATCH does not change lastModified",
		afterEach(users, func(o *scim.Object) { complexOf(o, "meta").Set("lastModified", o.Complex("meta").Text("created")) })},
	{"patch.not-implemented", "PATCH returns 501 although the ServiceProviderConfig advertises PATCH",
		instead(patchUser, func(http.Handler, *http.Request) *reply { return failure(501, "") })},
	{"patch.no-operations-204", "a PATCH without Operations returns 204",
		refuse(patchUser, func(o *scim.Object) bool { _, ok := o.Get("Operations"); return !ok }, func() *reply {
			return &reply{status: http.StatusNoContent, header: http.Header{}}
		})},
	{"patch.empty-operations-500", "an empty list of operations causes 500",
		refuse(patchUser, func(o *scim.Object) bool { return length(o) == 0 }, func() *reply { return failure(500, "") })},
	{"patch.null-stored", "add with the value null stores null",
		pretendStored(func(o *scim.Object) bool { return is(o, "add", "nickName") && !valueless(o) && valueOf(o) == nil }, func(o *scim.Object) {
			o.Set("nickName", nil)
		})},
	{"patch.attributes-204", "PATCH with the attributes parameter returns 204",
		after(with(patchUser, "attributes"), func(_ *http.Request, rep *reply) {
			if rep.ok() {
				*rep = reply{status: http.StatusNoContent, header: http.Header{}}
			}
		})},
	{"patch.rename-ignored", "a PATCH of userName is ignored", drop(patchUser, func(o *scim.Object) bool {
		return is(o, "replace", "userName") && strings.Contains(o.Text("value"), "married")
	})},
	{"patch.inactive-hidden", "reading an inactive user returns 404", after(readUser, func(_ *http.Request, rep *reply) {
		if active, ok := rep.object().Bool("active"); rep.ok() && ok && !active {
			*rep = *failure(404, "")
		}
	})},
	{"patch.inactive-unlisted", "inactive users are missing from lists", afterBody(listUsers, func(o *scim.Object) {
		kept := slices.DeleteFunc(slices.Clone(o.Array("Resources")), func(v any) bool {
			active, ok := objectOf(v).Bool("active")
			return ok && !active
		})
		o.Set("Resources", kept)
		o.Set("totalResults", len(kept))
	})},
	{"patch.member-names-exact", "the member name operations in lower case is rejected with 400", refuse(patchUser, func(o *scim.Object) bool {
		return !slices.Contains(slices.Collect(maps.Keys(maps.Collect(o.All()))), "Operations")
	}, func() *reply { return failure(400, scim.InvalidSyntax) })},
}
