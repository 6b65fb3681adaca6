package mutants

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// pretendMembers wraps next so that deleted users stay members of their groups.
func pretendMembers(next http.Handler) http.Handler {
	var mu sync.Mutex
	former := map[string][]any{} // deleted users that were members, by the id of the group
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base, _, id := place(r)
		switch {
		case deleteUser(r):
			if was := stored(next, r); was != nil {
				mu.Lock()
				for _, item := range was.Array("groups") {
					group := objectOf(item).Text("value")
					former[group] = append(former[group],
						scim.NewObject(scim.Member{Name: "value", Value: id}, scim.Member{Name: "$ref", Value: base + "/Users/" + id}))
				}
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		case readGroup(r):
			mu.Lock()
			dead := former[id]
			mu.Unlock()
			afterBody(everything, func(o *scim.Object) {
				if len(dead) > 0 {
					o.Set("members", append(o.Array("members"), dead...))
				}
			})(next).ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

var groups = []Mutant{
	{"groups.create-members-lost", "members of a new group are not stored", before(createGroup, func(o *scim.Object) { o.Delete("members") })},
	{"groups.create-status-200", "POST of a group returns 200", after(createGroup, func(_ *http.Request, rep *reply) {
		if rep.status == 201 {
			rep.status = 200
		}
	})},
	{"groups.resource-type-user", "meta.resourceType of a group is User",
		afterEach(either(createGroup, readGroup), func(o *scim.Object) { complexOf(o, "meta").Set("resourceType", "User") })},
	{"groups.nameless", "a group without displayName gets a generated one", before(createGroup, func(o *scim.Object) {
		if o.Text("displayName") == "" {
			o.Set("displayName", "scimconf unnamed")
		}
	})},
	{"groups.add-replaces", "adding a member replaces the existing members", edit(patchGroup, func(o *scim.Object) {
		if is(o, "add", "members") {
			o.Set("op", "replace")
		}
	})},
	{"groups.add-first-only", "only the first of several added members is stored", edit(patchGroup, func(o *scim.Object) {
		if all := o.Array("value"); is(o, "add", "members") && len(all) > 1 {
			o.Set("value", all[:1])
		}
	})},
	{"groups.remove-one-empties", "removing one member removes all members", edit(patchGroup, func(o *scim.Object) {
		if o.Text("op") == "remove" && strings.HasPrefix(o.Text("path"), "members[") {
			o.Set("path", "members")
		}
	})},
	{"groups.remove-one-ignored", "removing one member has no effect",
		drop(patchGroup, func(o *scim.Object) bool { return strings.HasPrefix(o.Text("path"), "members[") })},
	{"groups.remove-all-ignored", "removing all members has no effect",
		drop(patchGroup, func(o *scim.Object) bool { return is(o, "remove", "members") })},
	{"groups.replace-adds", "replacing the members adds to the existing members", edit(patchGroup, func(o *scim.Object) {
		if is(o, "replace", "members") {
			o.Set("op", "add")
		}
	})},
	{"groups.rename-empties", "renaming a group removes all members", operations(patchGroup, func(o *scim.Object) []*scim.Object {
		if o.Text("op") == "replace" && pathless(o) {
			return []*scim.Object{o, op("remove", "members", nil)}
		}
		return []*scim.Object{o}
	})},
	{"groups.rename-ignored", "renaming a group has no effect",
		drop(patchGroup, func(o *scim.Object) bool { return o.Text("op") == "replace" && pathless(o) })},
	{"groups.put-merges", "PUT adds to the existing members", merging(putGroup, func(sent, has *scim.Object) {
		sent.Set("members", append(has.Array("members"), sent.Array("members")...))
	})},
	{"groups.user-groups-wrong", "the groups attribute of a user has the name of the group instead of its id",
		afterEach(readUser, func(o *scim.Object) {
			for _, item := range o.Array("groups") {
				objectOf(item).Set("value", objectOf(item).Text("display")+"!")
			}
		})},
	{"groups.deleted-user-stays", "a deleted user stays a member", pretendMembers},
	{"groups.delete-takes-members", "deleting a group deletes its member users",
		instead(on("DELETE", "Groups", true), func(next http.Handler, r *http.Request) *reply {
			was := stored(next, r)
			base, _, _ := place(r)
			for _, item := range was.Array("members") {
				serve(next, derivedRequest(r, http.MethodDelete, base+"/Users/"+objectOf(item).Text("value"), "", nil))
			}
			return serve(next, r)
		})},
	{"groups.delete-keeps", "DELETE of a group returns 204 without deleting it",
		instead(on("DELETE", "Groups", true), func(http.Handler, *http.Request) *reply {
			return &reply{status: 204, header: http.Header{}}
		})},
	{"groups.filter-is-prefix", "displayName eq acts as sw",
		filtering(listGroups, func(f string) string { return strings.ReplaceAll(f, " eq ", " sw ") })},
	{"groups.filter-ignored", "filters on groups are ignored", query(listGroups, func(q url.Values) { q.Del("filter") })},
}
