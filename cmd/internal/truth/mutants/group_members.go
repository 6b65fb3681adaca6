package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var deleteGroup = on("DELETE", "Groups", true)

// withMembers returns a wrapper that changes the members in matching responses.
func withMembers(m match, fn func(members []any) []any) wrap {
	return afterEach(m, func(o *scim.Object) {
		if members := o.Array("members"); len(members) > 0 {
			o.Set("members", fn(slices.Clone(members)))
		}
	})
}

// groupSeparately sends each operation on a group as a separate request. It returns the first error response, or else the last response.
func groupSeparately(next http.Handler, r *http.Request) *reply {
	o, err := scim.Decode(readBody(r))
	if err != nil || length(o) == 0 {
		return serve(next, r)
	}
	var rep *reply
	for _, single := range o.Array("Operations") {
		o.Set("Operations", []any{single})
		if rep = serve(next, derivedRequest(r, http.MethodPatch, r.URL.Path, "", o.AppendJSON(nil))); !rep.ok() {
			return rep
		}
	}
	return rep
}

// prunedMembers returns a wrapper that removes unknown members from the values of a PATCH. If all is set, a value with an unknown member
// becomes an empty list.
func prunedMembers(all bool) wrap {
	return edit(patchGroup, func(o *scim.Object) {
		list := o.Array("value")
		if !slices.ContainsFunc(list, isAbsent) {
			return
		}
		o.Set("value", slices.DeleteFunc(slices.Clone(list), func(v any) bool { return all || isAbsent(v) }))
	})
}

var groupMembers = []Mutant{
	{"groups.empty-refused", "a group without members is rejected with 400",
		refuse(createGroup, func(o *scim.Object) bool { return len(o.Array("members")) == 0 }, func() *reply {
			return failure(400, scim.InvalidValue)
		})},
	{"groups.same-name-500", "a second group with the same displayName causes 500", func(next http.Handler) http.Handler {
		posted := &names{}
		return refuse(createGroup, func(o *scim.Object) bool { return o.Text("displayName") != "" && posted.add(o.Text("displayName")) },
			func() *reply { return failure(500, "") })(next)
	}},
	{"groups.same-name-same-id", "POST of a second group with the same displayName returns the first group",
		func(next http.Handler) http.Handler {
			first := &memory{}
			return instead(createGroup, func(next http.Handler, r *http.Request) *reply {
				sent, err := scim.Decode(readBody(r))
				if err == nil && sent.Text("displayName") != "" {
					if old, _ := first.at(sent.Text("displayName")).(*scim.Object); old != nil {
						return newReply(201, old)
					}
				}
				rep := serve(next, r)
				if o := rep.object(); o != nil && rep.ok() {
					first.put(o.Text("displayName"), o)
				}
				return rep
			})(next)
		}},
	{"groups.add-again-touches", "adding an existing member changes lastModified",
		rememberAndShow(patchGroup, func(_ *http.Request, _ *scim.Object, rep *reply) any {
			if rep.ok() {
				return late
			}
			return nil
		}, func(o *scim.Object, kept any) { complexOf(o, "meta").Set("lastModified", kept) })},
	{"groups.unknown-drops-all", "a PATCH with a member that refers to no existing user succeeds and drops the known members",
		prunedMembers(true)},
	{"groups.unknown-half-way", "a PATCH with a member that refers to no existing user is rejected with 400, but the known members are added",
		instead(withJSON(patchGroup, func(o *scim.Object) bool {
			return strings.Contains(string(o.AppendJSON(nil)), "no-such-id")
		}), func(next http.Handler, r *http.Request) *reply {
			serve(prunedMembers(false)(next), r)
			return failure(400, scim.InvalidValue)
		})},
	{"groups.unknown-creates-empty", "a POST with a member that refers to no existing user is rejected with 400, but the group is created",
		instead(withJSON(createGroup, func(o *scim.Object) bool {
			return strings.Contains(string(o.AppendJSON(nil)), "no-such-id")
		}), func(next http.Handler, r *http.Request) *reply {
			sent, _ := scim.Decode(readBody(r))
			sent.Delete("members")
			as(next, r, sent)
			return failure(400, scim.InvalidValue)
		})},
	{"groups.members-never-shown", "members are stored, and responses contain an empty list",
		afterEach(either(createGroup, readGroup, putGroup, patchGroup, listGroups), func(o *scim.Object) { o.Set("members", []any{}) })},
	{"groups.members-twice", "a duplicate member is returned twice", echoedMembers},
	{"groups.nested-dropped", "groups as members are dropped", withMembers(either(createGroup, readGroup), func(members []any) []any {
		return slices.DeleteFunc(members, func(v any) bool { return objectOf(v).Text("type") == "Group" })
	})},
	{"groups.all-are-users", "every member has the type User", withMembers(either(createGroup, readGroup), func(members []any) []any {
		for _, v := range members {
			objectOf(v).Set("type", "User")
		}
		return members
	})},
	{"groups.cycle-500", "circular group membership causes 500", func(next http.Handler) http.Handler {
		nested := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, err := scim.Decode(readBody(r))
			if err == nil && patchGroup(r) && nested.at("group") != nil &&
				strings.Contains(string(sent.AppendJSON(nil)), nested.at("group").(string)) {
				failure(500, "").send(w)
				return
			}
			rep := serve(next, r)
			for _, v := range rep.object().Array("members") {
				if createGroup(r) && objectOf(v).Text("type") == "Group" {
					nested.put("group", rep.object().Text("id"))
				}
			}
			rep.send(w)
		})
	}},
	{"groups.reference-of-group", "$ref of a member is the URL of the group", withMembers(readGroup, func(members []any) []any {
		for _, v := range members {
			objectOf(v).Set("$ref", "https://example.com/scim/v2/Groups/1")
		}
		return members
	})},
	{"groups.always-indirect", "every element of the attribute groups of a user has the type indirect",
		afterEach(readUser, func(o *scim.Object) {
			for _, v := range o.Array("groups") {
				objectOf(v).Set("type", "indirect")
			}
		})},
	{"groups.one-per-user", "a POST of a group removes its members from other groups",
		instead(createGroup, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			base, _, _ := place(r)
			if err == nil {
				for _, v := range sent.Array("members") {
					m, _ := v.(*scim.Object)
					u := serve(next, derivedRequest(r, http.MethodGet, base+"/Users/"+m.Text("value"), "", nil)).object()
					for _, g := range u.Array("groups") {
						body := scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.PatchOpMessage}},
							scim.Member{Name: "Operations", Value: []any{op("remove", "members", nil)}})
						serve(next, derivedRequest(r, http.MethodPatch, base+"/Groups/"+objectOf(g).Text("value"), "", body.AppendJSON(nil)))
					}
				}
			}
			return serve(next, r)
		})},
	{"groups.members-cut", "at most 30 members are returned",
		withMembers(readGroup, func(members []any) []any { return members[:min(30, len(members))] })},
	{"groups.gone-204", "DELETE of a deleted group returns 204", after(deleteGroup, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = reply{status: http.StatusNoContent, header: http.Header{}}
		}
	})},
	{"groups.gone-500", "PATCH of an unknown group causes 500", changeStatus(patchGroup, 404, 500)},
	{"groups.exclusion-ignored", "excludedAttributes is ignored on groups",
		query(either(readGroup, listGroups), func(q url.Values) { q.Del("excludedAttributes") })},
	{"groups.exclusion-ignored-in-lists", "excludedAttributes is ignored in lists of groups",
		query(listGroups, func(q url.Values) { q.Del("excludedAttributes") })},
	{"groups.member-filter-ignored", "a filter on members.value is ignored", filtering(listGroups, func(f string) string {
		if strings.HasPrefix(f, "members.value") {
			return ""
		}
		return f
	})},
	{"groups.external-id-lost", "externalId of a group is not stored", before(createGroup, func(o *scim.Object) { o.Delete("externalId") })},
	{"groups.names-exact", "filters on displayName are case-sensitive", filtering(listGroups, func(f string) string {
		if strings.Contains(f, "SCIMCONF") {
			return strings.ReplaceAll(f, "SCIMCONF", "other")
		}
		return f
	})},
	{"groups.members-text-500", "members that are not a list cause 500", changeStatus(createGroup, 400, 500)},
	{"groups.put-name-ignored", "PUT does not rename a group", merging(putGroup, func(sent, has *scim.Object) {
		if sent.Text("displayName") != "" {
			sent.Set("displayName", has.Text("displayName"))
		}
	})},
	{"groups.put-keeps-members", "a PUT without members does not remove the members", merging(putGroup, func(sent, has *scim.Object) {
		if _, ok := sent.Get("members"); !ok {
			sent.Set("members", has.Array("members"))
		}
	})},
	{"groups.put-name-kept", "a PUT without displayName keeps the old value", merging(putGroup, func(sent, has *scim.Object) {
		if sent.Text("displayName") == "" {
			sent.Set("displayName", has.Text("displayName"))
		}
	})},
	{"groups.not-atomic", "operations on a group before the failing one stay applied", instead(patchGroup, groupSeparately)},
	{"groups.member-exchanged", "a replace of the value of a member is accepted, although value is immutable",
		operations(patchGroup, func(o *scim.Object) []*scim.Object {
			if member, ok := strings.CutSuffix(o.Text("path"), ".value"); ok && o.Text("op") == "replace" {
				return []*scim.Object{op("remove", member, nil),
					op("add", "members", []any{scim.NewObject(scim.Member{Name: "value", Value: o.Text("value")})})}
			}
			return []*scim.Object{o}
		})},
	{"groups.one-namespace", "GET of /Users with the id of a group returns the group",
		instead(readUser, func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			base, _, id := place(r)
			if rep.status == 404 {
				return serve(next, derivedRequest(r, http.MethodGet, base+"/Groups/"+id, "", nil))
			}
			return rep
		})},
	{"groups.remove-first-named", "a remove of members whose filter contains the operator \"or\" removes only the first member",
		edit(patchGroup, func(o *scim.Object) {
			o.Set("path", cutAt(" or ")(o.Text("path")))
		})},
	{"groups.stranger-removes-all", "removing a user that is not a member removes all members",
		instead(patchGroup, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			has := stored(next, r)
			if err == nil && has != nil {
				text := string(has.AppendJSON(nil))
				for _, v := range sent.Array("Operations") {
					o := objectOf(v)
					_, id, ok := strings.Cut(o.Text("path"), `value eq "`)
					if id, _, _ = strings.Cut(id, `"`); ok && o.Text("op") == "remove" && !strings.Contains(text, id) {
						o.Set("path", "members")
					}
				}
				return as(next, r, sent)
			}
			return serve(next, r)
		})},
	{"groups.pathless-ignored", "a PATCH operation without a path ignores members in its value",
		edit(patchGroup, func(o *scim.Object) { o.Complex("value").Delete("members") })},
	{"groups.pathless-adds", "replace of members without a path adds to the existing members", edit(patchGroup, func(o *scim.Object) {
		if pathless(o) && o.Complex("value").Array("members") != nil {
			o.Set("op", "add")
		}
	})},
	{"groups.object-dropped", "add of a single member without an array is ignored", edit(patchGroup, func(o *scim.Object) {
		if is(o, "add", "members") && o.Complex("value") != nil {
			o.Set("value", []any{})
		}
	})},
	{"groups.urn-unknown", "a path that consists of the Group URN and members is rejected with 400",
		refusing(withJSON(patchGroup, anyOp(pathHas(scim.GroupSchema))), 400)},
	{"groups.empty-list-ignored", "replace of members with an empty list is ignored",
		drop(patchGroup, func(o *scim.Object) bool { v, ok := o.Get("value"); return ok && empty(v) })},
	{"groups.patch-empties", "a PATCH of another attribute removes all members", operations(patchGroup, func(o *scim.Object) []*scim.Object {
		if o.Text("path") == "externalId" {
			return []*scim.Object{o, op("remove", "members", nil)}
		}
		return []*scim.Object{o}
	})},
	{"groups.repeated-value-twice", "a member that a replace of members lists twice is stored twice", repeatedMembers},
	{"groups.same-members-refused", "a replace of members with the same members is rejected with 400", sameMembersRefused},
	{"groups.add-again-twice", "an add of an existing member stores it a second time", addedTwice},
	{"groups.add-again-replaces", "an add of an existing member removes the others", edit(patchGroup, func(o *scim.Object) {
		if len(o.Array("value")) == 1 && is(o, "add", "members") {
			o.Set("op", "replace")
		}
	})},
	{"groups.same-members-twice", "replacing members with the same members duplicates a member",
		withMembers(readGroup, func(members []any) []any {
			if len(members) == 2 {
				return append(members, members[0])
			}
			return members
		})},
	{"groups.last-operation-only", "only the last operation on a group is applied", before(patchGroup, func(o *scim.Object) {
		if all := o.Array("Operations"); len(all) > 1 {
			o.Set("Operations", all[len(all)-1:])
		}
	})},
}

// echoedMembers wraps next so that the members of a new group are returned as they were sent, including duplicates.
func echoedMembers(next http.Handler) http.Handler {
	kept := &memory{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		o := rep.object()
		if id := o.Text("id"); createGroup(r) && err == nil && rep.ok() {
			kept.put(id, sent.Array("members"))
		} else if members := kept.at(id); readGroup(r) && rep.ok() && members != nil {
			o.Set("members", members)
			rep.body = o.AppendJSON(nil)
		}
		rep.send(w)
	})
}

// storedTwice returns a wrapper that returns a member of a group twice after a PATCH with an operation for which again returns true. The
// arguments of again are the value of the operation and the ids of the members before the PATCH.
func storedTwice(kind string, again func(value []any, before []string) (id string, ok bool)) wrap {
	return func(next http.Handler) http.Handler {
		twice := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _, group := place(r)
			if patchGroup(r) {
				before := memberIDs(stored(next, r).Array("members"))
				o, err := scim.Decode(readBody(r))
				for _, item := range o.Array("Operations") {
					op, _ := item.(*scim.Object)
					if err != nil || !is(op, kind, "members") {
						continue
					}
					if id, ok := again(op.Array("value"), before); ok {
						twice.put(group, id)
					}
				}
			}
			rep := serve(next, r)
			if o := rep.object(); o != nil && readGroup(r) && rep.ok() && twice.at(group) != nil && len(o.Array("members")) > 0 {
				o.Set("members", append(slices.Clone(o.Array("members")), scim.NewObject(scim.Member{Name: "value", Value: twice.at(group)})))
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// memberIDs returns the ids of members.
func memberIDs(members []any) []string {
	var out []string
	for _, item := range members {
		if o, ok := item.(*scim.Object); ok {
			out = append(out, o.Text("value"))
		}
	}
	return out
}

// repeatedMembers wraps next so that a replace of members stores a repeated member twice.
var repeatedMembers = storedTwice("replace", func(value []any, _ []string) (string, bool) {
	ids := memberIDs(value)
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return id, true
		}
	}
	return "", false
})

// addedTwice wraps next so that an add of an existing member stores it a second time.
var addedTwice = storedTwice("add", func(value []any, before []string) (string, bool) {
	for _, id := range memberIDs(value) {
		if slices.Contains(before, id) {
			return id, true
		}
	}
	return "", false
})

// sameMembersRefused wraps next so that a replace of members with the stored members is rejected.
var sameMembersRefused = instead(patchGroup, func(next http.Handler, r *http.Request) *reply {
	before := slices.Sorted(slices.Values(memberIDs(stored(next, r).Array("members"))))
	o, err := scim.Decode(readBody(r))
	if err == nil && anyOp(func(op *scim.Object) bool {
		return is(op, "replace", "members") && len(before) > 0 && slices.Equal(before, slices.Sorted(slices.Values(memberIDs(op.Array("value")))))
	})(o) {
		return failure(400, scim.InvalidValue)
	}
	return serve(next, r)
})
