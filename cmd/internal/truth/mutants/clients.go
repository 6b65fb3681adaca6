package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Incompatible returns faults that break the flows of known provisioning clients. The RFCs permit many of these faults, so the checks of
// the RFCs need not detect them, but the client profiles must. The area in the id of such a mutant names the part of a client flow that the
// fault breaks, such as lookup or update. The caller may change the slice.
func Incompatible() []Mutant {
	return []Mutant{
		{"lookup.empty-404", "a lookup without a match returns 404", afterList("userName", func(list *scim.Object, rep *reply) {
			if len(list.Array("Resources")) == 0 {
				*rep = *failure(404, "")
			}
		})},
		{"lookup.counts-as-texts", "totalResults, startIndex and itemsPerPage of a list are strings",
			afterBody(either(listUsers, listGroups), func(o *scim.Object) {
				for _, counter := range []string{"totalResults", "startIndex", "itemsPerPage"} {
					if v, ok := o.Get(counter); ok {
						o.Set(counter, string(scim.AppendValue(nil, v)))
					}
				}
			})},
		{"lookup.inactive-hidden", "inactive users are missing from lists", afterBody(listUsers, func(o *scim.Object) {
			var active []any
			for _, item := range o.Array("Resources") {
				if user, ok := item.(*scim.Object); ok {
					if on, known := user.Bool("active"); known && !on {
						continue
					}
				}
				active = append(active, item)
			}
			o.Set("Resources", active)
			o.Set("totalResults", len(active))
		})},
		{"lookup.no-external-id", "a filter on externalId is rejected", filterAnswer(contains("externalId"), invalidFilter)},
		{"lookup.no-value-path", "a filter with brackets is rejected", filterAnswer(contains("["), invalidFilter)},
		{"lookup.case-counts", "userName is compared case-sensitively", filtering(listUsers, func(f string) string {
			if m := userNameOperand.FindStringSubmatch(f); m != nil && m[1] != strings.ToLower(m[1]) {
				return strings.Replace(f, m[1], "nobody", 1)
			}
			return f
		})},
		{"lookup.groups-refused", "a filter in a request to /Groups is rejected",
			instead(with(listGroups, "filter"), func(http.Handler, *http.Request) *reply { return invalidFilter() })},
		{"lookup.reversed-pages", "a list is in reverse order if the request contains startIndex=1",
			after(either(listUsers, listGroups), func(r *http.Request, rep *reply) {
				if o := rep.object(); rep.ok() && o != nil && r.URL.Query().Get("startIndex") == "1" && r.URL.Query().Get("filter") == "" {
					items := slices.Clone(o.Array("Resources"))
					slices.Reverse(items)
					o.Set("Resources", items)
					rep.body = o.AppendJSON(nil)
				}
			})},
		{"lookup.total-of-page", "totalResults is the size of the page",
			afterBody(either(listUsers, listGroups), func(o *scim.Object) { o.Set("totalResults", len(o.Array("Resources"))) })},
		{"discovery.absent", "/Schemas and /ServiceProviderConfig do not exist",
			instead(either(config, listSchemas), func(http.Handler, *http.Request) *reply { return failure(404, "") })},
		{"create.empty-answer", "a POST returns 201 without a body", after(either(createUser, createGroup), func(_ *http.Request, rep *reply) {
			if rep.status == http.StatusCreated {
				rep.body = nil
			}
		})},
		{"create.unknown-schemas-refused", "a POST whose schemas contains an extension without data is rejected",
			refuse(either(createUser, createGroup), func(o *scim.Object) bool {
				return slices.ContainsFunc(o.Array("schemas"), func(s any) bool {
					urn, _ := s.(string)
					_, present := o.Get(urn)
					return urn != scim.UserSchema && urn != scim.GroupSchema && !present
				})
			}, func() *reply { return failure(400, scim.InvalidValue) })},
		{"create.address-required", "a user without an email address is rejected",
			refuse(createUser, func(o *scim.Object) bool { return len(o.Array("emails")) == 0 }, func() *reply {
				return failure(400, scim.InvalidValue)
			})},
		{"create.conflict-as-400", "a userName in use is rejected with 400", after(createUser, func(_ *http.Request, rep *reply) {
			if rep.status == http.StatusConflict {
				*rep = *failure(400, scim.Uniqueness)
			}
		})},
		{"create.json-refused", "application/json is rejected",
			instead(func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") },
				func(http.Handler, *http.Request) *reply { return failure(415, "") })},
		{"create.always-active", "POST and PUT store active as true, whatever the request contains",
			before(either(createUser, putUser), func(o *scim.Object) { o.Set("active", true) })},
		{"update.no-put", "PUT is not supported",
			instead(either(putUser, putGroup), func(http.Handler, *http.Request) *reply { return failure(405, "") })},
		{"update.read-only-refused", "a PUT with readOnly attributes is rejected",
			refuse(either(putUser, putGroup), func(o *scim.Object) bool { _, has := o.Get("id"); return has }, func() *reply {
				return failure(400, scim.Mutability)
			})},
		{"update.no-path-refused", "a PATCH operation without a path is rejected",
			refusePatch(func(op *scim.Object) bool { return op.Text("path") == "" })},
		{"update.op-case-refused", "an op that is not lower case is rejected",
			refusePatch(func(op *scim.Object) bool { return op.Text("op") != strings.ToLower(op.Text("op")) })},
		{"update.boolean-texts-refused", "a PATCH that sets active to a string, such as \"False\", is rejected",
			refusePatch(func(op *scim.Object) bool {
				return op.Text("path") == "active" && op.Text("value") != ""
			})},
		{"update.boolean-texts-stored", "a string that replaces active is stored as a string", booleanAsText},
		{"update.dotted-keys-refused", "a PATCH operation without a path is rejected if a key of its value contains a dot",
			refusePatch(func(op *scim.Object) bool {
				for name := range op.Complex("value").All() {
					if strings.Contains(strings.TrimPrefix(name, "urn:ietf:params:scim:schemas:extension:enterprise:2.0"), ".") {
						return true
					}
				}
				return false
			})},
		{"update.extension-refused", "a PATCH with the URN of the enterprise extension in a path or key is rejected",
			refusePatch(func(op *scim.Object) bool {
				for name := range op.Complex("value").All() {
					if strings.HasPrefix(name, scim.EnterpriseUserSchema) {
						return true
					}
				}
				return strings.HasPrefix(op.Text("path"), scim.EnterpriseUserSchema)
			})},
		{"update.first-operation-only", "only the first operation of a PATCH is applied",
			before(either(patchUser, patchGroup), func(o *scim.Object) {
				if ops := o.Array("Operations"); len(ops) > 1 {
					o.Set("Operations", ops[:1])
				}
			})},
		{"update.filters-refused", "a PATCH path with a filter is rejected",
			refusePatch(func(op *scim.Object) bool { return strings.Contains(op.Text("path"), "[") })},
		{"update.no-target-refused", "a PATCH path whose filter matches nothing is rejected",
			instead(patchUser, func(next http.Handler, r *http.Request) *reply {
				body, user := readBody(r), stored(next, r)
				if o, err := scim.Decode(body); err == nil && anyOp(func(op *scim.Object) bool {
					attribute, _, bracketed := strings.Cut(op.Text("path"), "[")
					return bracketed && len(user.Array(attribute)) == 0
				})(o) {
					return failure(400, scim.NoTarget)
				}
				setBody(r, body)
				return serve(next, r)
			})},
		{"update.manager-object-only", "a PATCH that sets manager to a string instead of an object is rejected",
			refusePatch(func(op *scim.Object) bool {
				return strings.HasSuffix(op.Text("path"), ":manager") && op.Text("value") != ""
			})},
		{"update.empty-manager-ignored", "a PATCH with an empty manager does not remove the manager", drop(patchUser, func(op *scim.Object) bool {
			return strings.HasSuffix(op.Text("path"), ":manager") && op.Complex("value").Text("value") == "" && op.Text("value") == ""
		})},
		{"update.activation-lost", "a PATCH of active succeeds without effect", operations(patchUser, func(op *scim.Object) []*scim.Object {
			if _, named := op.Complex("value").Get("active"); named || op.Text("path") == "active" {
				return nil
			}
			return []*scim.Object{op}
		})},
		{"update.reactivation-lost", "an inactive user cannot be reactivated", operations(patchUser, func(op *scim.Object) []*scim.Object {
			value, _ := op.Get("value")
			if on, _ := op.Complex("value").Bool("active"); on || op.Text("path") == "active" && (value == true || value == "True") {
				return nil
			}
			return []*scim.Object{op}
		})},
		{"update.put-cannot-activate", "PUT never reactivates an inactive user",
			instead(putUser, func(next http.Handler, r *http.Request) *reply {
				body, user := readBody(r), stored(next, r)
				setBody(r, body)
				if on, known := user.Bool("active"); known && !on {
					if o, err := scim.Decode(body); err == nil {
						o.Set("active", false)
						setBody(r, o.AppendJSON(nil))
					}
				}
				return serve(next, r)
			})},
		{"update.password-refused", "a password in a PATCH is rejected",
			refusePatch(func(op *scim.Object) bool { _, has := op.Complex("value").Get("password"); return has })},
		{"groups.no-push", "groups cannot be created",
			instead(createGroup, func(http.Handler, *http.Request) *reply { return failure(403, "") })},
		{"groups.absent-list", "groups cannot be listed",
			instead(listGroups, func(http.Handler, *http.Request) *reply { return failure(403, "") })},
		{"groups.members-of-create-lost", "the members of a new group are not stored",
			before(createGroup, func(o *scim.Object) { o.Delete("members") })},
		{"groups.exclusion-ignored", "excludedAttributes is ignored",
			query(either(readGroup, listGroups), func(q url.Values) { q.Del("excludedAttributes") })},
		{"groups.exclusion-refused", "excludedAttributes is rejected",
			instead(with(either(readGroup, listGroups), "excludedAttributes"), func(http.Handler, *http.Request) *reply {
				return failure(400, "")
			})},
		{"groups.add-replaces", "adding members replaces the existing members", edit(patchGroup, func(op *scim.Object) {
			if strings.EqualFold(op.Text("op"), "add") && op.Text("path") == "members" {
				op.Set("op", "replace")
			}
		})},
		{"groups.add-lost", "adding members returns success without effect", drop(patchGroup, func(op *scim.Object) bool {
			return strings.EqualFold(op.Text("op"), "add") && op.Text("path") == "members"
		})},
		{"groups.add-twice-refused", "adding an existing member is rejected",
			instead(patchGroup, func(next http.Handler, r *http.Request) *reply {
				body, group := readBody(r), stored(next, r)
				if o, err := scim.Decode(body); err == nil && anyOp(func(op *scim.Object) bool {
					return strings.EqualFold(op.Text("op"), "add") && slices.ContainsFunc(op.Array("value"), func(item any) bool {
						m, ok := item.(*scim.Object)
						return ok && find(group, "members", "value", m.Text("value")) != nil
					})
				})(o) {
					return failure(409, "")
				}
				setBody(r, body)
				return serve(next, r)
			})},
		{"groups.references-refused", "a PATCH with a member that contains $ref is rejected",
			refuse(patchGroup, anyOp(func(op *scim.Object) bool {
				return slices.ContainsFunc(op.Array("value"), func(item any) bool {
					m, ok := item.(*scim.Object)
					if !ok {
						return false
					}
					_, has := m.Get("$ref")
					return has
				})
			}), func() *reply { return failure(400, scim.InvalidValue) })},
		{"groups.remove-list-ignored", "a remove with a list of members returns success without effect",
			instead(withJSON(patchGroup, anyOp(func(op *scim.Object) bool {
				return strings.EqualFold(op.Text("op"), "remove") && op.Text("path") == "members" && len(op.Array("value")) > 0
			})), func(http.Handler, *http.Request) *reply {
				return &reply{status: http.StatusNoContent, header: http.Header{}}
			})},
		{"groups.remove-list-empties", "a remove with a list of members removes all members", edit(patchGroup, func(op *scim.Object) {
			if strings.EqualFold(op.Text("op"), "remove") && op.Text("path") == "members" {
				op.Delete("value")
			}
		})},
		{"groups.remove-filter-ignored", "a remove of members by a filter has no effect", drop(patchGroup, func(op *scim.Object) bool {
			return strings.EqualFold(op.Text("op"), "remove") && strings.HasPrefix(op.Text("path"), "members[")
		})},
		{"groups.replace-adds", "replacing members adds to the existing members", edit(patchGroup, func(op *scim.Object) {
			if strings.EqualFold(op.Text("op"), "replace") && op.Text("path") == "members" {
				op.Set("op", "add")
			}
		})},
		{"groups.empty-replace-refused", "replacing members with an empty list is rejected", refuse(patchGroup, anyOp(func(op *scim.Object) bool {
			v, has := op.Get("value")
			list, isList := v.([]any)
			return has && isList && len(list) == 0
		}), func() *reply { return failure(400, scim.InvalidValue) })},
		{"groups.own-id-refused", "a PATCH of a group with an id in its value is rejected",
			refuse(patchGroup, anyOp(func(op *scim.Object) bool { return op.Complex("value").Text("id") != "" }), func() *reply {
				return failure(400, scim.Mutability)
			})},
		{"groups.rename-lost", "a PATCH of the displayName of a group succeeds without effect",
			operations(patchGroup, func(op *scim.Object) []*scim.Object {
				if op.Text("path") == "displayName" || op.Complex("value").Text("displayName") != "" {
					return nil
				}
				return []*scim.Object{op}
			})},
		{"groups.members-put-lost", "PUT of a group does not change the members",
			instead(putGroup, func(next http.Handler, r *http.Request) *reply {
				body, group := readBody(r), stored(next, r)
				setBody(r, body)
				if o, err := scim.Decode(body); err == nil && group != nil {
					o.Set("members", group.Array("members"))
					setBody(r, o.AppendJSON(nil))
				}
				return serve(next, r)
			})},
		{"delete.refused", "DELETE is not supported",
			instead(either(deleteUser, on("DELETE", "Groups", true)), func(http.Handler, *http.Request) *reply { return failure(405, "") })},
		{"delete.repeated-204", "a second DELETE returns 204", after(deleteUser, func(_ *http.Request, rep *reply) {
			if rep.status == http.StatusNotFound {
				*rep = reply{status: http.StatusNoContent, header: http.Header{}}
			}
		})},
		{"read.refused", "a single user cannot be read", instead(readUser, func(http.Handler, *http.Request) *reply { return failure(403, "") })},
	}
}

// refusePatch returns a wrapper that rejects with 400 each PATCH that has an operation that satisfies cond.
func refusePatch(cond func(op *scim.Object) bool) wrap {
	return refuse(either(patchUser, patchGroup), anyOp(cond), func() *reply { return failure(400, scim.InvalidValue) })
}

// afterList returns a wrapper that changes successful lists of users whose filter starts with an attribute.
func afterList(attribute string, fn func(list *scim.Object, rep *reply)) wrap {
	return after(with(listUsers, "filter"), func(r *http.Request, rep *reply) {
		if o := rep.object(); rep.ok() && o != nil && strings.HasPrefix(r.URL.Query().Get("filter"), attribute) {
			fn(o, rep)
		}
	})
}
