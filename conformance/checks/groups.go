package checks

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var (
	writesGroups  = needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup)
	patchesGroups = needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup, conformance.NeedPatch)
)

var groups = []check{
	{
		ID:           "groups.create",
		Title:        "A POST of a group with members returns 201, id, displayName and meta.resourceType Group",
		Requirements: reqs("RFC7644-3.3-05", "RFC7644-3.3.1-01", "RFC7643-4.2-05"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "Okta creates groups with their members in one request; if the server ignores the members, these users get no access.",
		Fix:          "Store members as references to users, return 201 with the group, and return its members by GET.",
		Run:          groupsCreate,
	},
	{
		ID:           "groups.missing-display-name",
		Title:        "A group without displayName is rejected with 400, and the Group schema declares displayName as required",
		Requirements: reqs("RFC7643-4.2-02", "RFC7643-7-32", "RFC7644-3.3-11"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     1,
		Why:          "Clients cannot find a group without a name.",
		Fix:          "Return 400 invalidValue if the body of a POST to /Groups has no displayName.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Groups", t.Group("anonymous", doc{"displayName": omit}))
			name := element(t.Capabilities.Schema(scim.GroupSchema), "attributes", "name", "displayName")
			if expectError(t, res, 400, "invalidValue", "invalidSyntax") && name != nil {
				required, _ := name.Bool("required")
				t.Warn(required, "required of displayName in the Group schema, while a group without displayName is rejected", "true",
					value(name, "required"))
			}
		},
	},
	{
		ID:           "groups.patch-add-member",
		Title:        "PATCH add of members does not remove members, and a repeated add changes nothing",
		Requirements: reqs("RFC7644-3.5.2.1-07", "RFC7643-4.2-03", "RFC7644-3.5.2.1-10"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     12,
		Why: "Identity providers add members by PATCH add; if the server removes other members, these lose access. JumpCloud sends " +
			"the same add repeatedly; if the server stores a member twice, a removal may leave one of the two.",
		Fix: "Append the new members to the stored members. If a new member has the value of a stored one, do not store it a second time.",
		Run: groupsPatchAddMember,
	},
	{
		ID:           "groups.patch-remove-member",
		Title:        "PATCH remove of one member does not remove the other members",
		Requirements: reqs("RFC7644-3.5.2.2-04", "RFC7643-4.2-03"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     10,
		Why:          "If the removal deletes all members, every user of the group loses access.",
		Fix:          "Evaluate the filter in members[value eq \"...\"] and remove only the matching member.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 3, "ann", "ben", "cat")
			res := t.Patch(ctx, g.Path(), doc{"op": "remove", "path": "members[value eq " + quote(users["ben"].ID) + "]"})
			succeeded(t, res, 200, 204)
			membersAre(ctx, t, "after removing one of three", g, users, "ann", "cat")
		},
	},
	{
		ID:           "groups.patch-remove-all",
		Title:        "PATCH remove of members without a filter removes all members",
		Requirements: reqs("RFC7644-3.5.2.2-03"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     8,
		Why:          "Clients empty a group by remove with the path members; members that remain in the group still have access.",
		Fix:          "Remove all members if the path is members without a filter and the operation has no value.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 2, "ann", "ben")
			succeeded(t, t.Patch(ctx, g.Path(), doc{"op": "remove", "path": "members"}), 200, 204)
			membersAre(ctx, t, "after removing all", g, users)
		},
	},
	{
		ID:           "groups.patch-replace-members",
		Title:        "PATCH replace of members sets exactly the new members",
		Requirements: reqs("RFC7644-3.5.2.3-05", "RFC7644-3.5.2.3-17"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     10,
		Why: "Okta sends the complete list of members by replace; if the server appends the list to the stored list, removed users " +
			"still have access.",
		Fix: "Store the new list instead of appending it to the stored one.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 2, "ann", "ben", "cat")
			res := t.Patch(ctx, g.Path(),
				doc{"op": "replace", "path": "members", "value": []doc{{"value": users["ben"].ID}, {"value": users["cat"].ID}}})
			succeeded(t, res, 200, 204)
			membersAre(ctx, t, "after replacing", g, users, "ben", "cat")
		},
	},
	{
		ID:           "groups.patch-rename",
		Title:        "Renaming a group by PATCH does not change its id or its members",
		Requirements: reqs("RFC7644-3.5.2.3-02", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     9,
		Why:          "Okta renames groups by a replace without a path; if the server removes the members, these users lose access.",
		Fix:          "Change only the attributes in the operation.",
		Run:          groupsPatchRename,
	},
	{
		ID:           "groups.put-members",
		Title:        "PUT sets exactly the members in its body",
		Requirements: reqs("RFC7644-3.5.1-04", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     10,
		Why:          "Clients without PATCH update groups by PUT; if the server does not replace the members, removed users still have access.",
		Fix:          "Replace the stored members with those in the body.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 2, "ann", "ben", "cat")
			res := t.Put(ctx, g.Path(), t.Group("team", doc{"members": []doc{{"value": users["cat"].ID}}}))
			succeeded(t, res, 200)
			membersAre(ctx, t, "after PUT", g, users, "cat")
		},
	},
	{
		ID: "groups.user-groups",
		Title: "The attribute groups of a user contains the user's groups, in single responses and in lists; $ref, if " +
			"present, is the URI of the group",
		Requirements: reqs("RFC7643-4.1.2-11", "RFC7643-4.1.2-12", "RFC7643-7-23"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     6,
		Why: "Applications derive the rights of a user from groups; a wrong value grants access that no group gives, and a missing value " +
			"denies it.",
		Fix: "Compute the attribute groups of a user from the members of all groups. Return it in every response unless a parameter or the " +
			"schema excludes it: returned is \"request\" if clients have to name it.",
		Run: groupsUserGroups,
	},
	{
		ID: "groups.user-groups-current",
		Title: "The attribute groups of a user is current in the first GET after the user is added to a group or removed, or the group is " +
			"renamed",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-4.1.2-11"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     10,
		Why:          "Applications derive the rights of a user from groups; with outdated groups, a user keeps access after the removal.",
		Fix:          "Compute the attribute groups from the current groups on every read; do not store a copy of it with the user.",
		Run:          groupsUserGroupsCurrent,
	},
	{
		ID:           "groups.delete-user",
		Title:        "Deleting a user removes the user from all groups",
		Requirements: reqs("RFC7643-2.3.7-06", "RFC7643-4.2-05"),
		Level:        may,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "A reference to a deleted user breaks later synchronizations. If ids are reused, another user gets the membership.",
		Fix:          "Delete memberships together with the user.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 2, "ann", "ben")
			res := t.Delete(ctx, users["ann"].Path())
			t.SkipIf(!res.OK(), "blocked: the user could not be deleted")
			membersAre(ctx, t, "after one of two users was deleted", g, users, "ben")
		},
	},
	{
		ID:           "groups.delete",
		Title:        "Deleting a group removes the group and does not delete its members",
		Requirements: reqs("RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     6,
		Why: "If deleting a group also deletes its members, these users lose their accounts; a group that remains keeps giving its members " +
			"access.",
		Fix: "Delete the group and its memberships, and nothing else.",
		Run: groupsDelete,
	},
	{
		ID:           "groups.filter-display-name",
		Title:        "A group is found by its displayName",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-03"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup, conformance.NeedFilter),
		Requests:     6,
		Why:          "Identity providers search for a group by name before they create it; if they do not find it, they create a duplicate.",
		Fix:          "Support filters on /Groups in the same way as on /Users.",
		Run:          groupsFilterDisplayName,
	},
}

func groupsCreate(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "founder", nil)
	v := t.CreateUser(ctx, "guest", nil)
	body := t.Group("founders", doc{"members": []doc{{"value": u.ID}, {"value": v.ID}}})
	res := t.Post(ctx, "/Groups", body)
	succeeded(t, res, 201)
	t.Holds(res.Object().Text("id") != "", "id of the new group", "a string", value(res.Object(), "id"))
	t.Expect("displayName of the new group", body["displayName"], value(res.Object(), "displayName"))
	name := "Group"
	if listed := t.Capabilities.ResourceType(scim.GroupSchema).Text("name"); listed != "" {
		name = listed
	}
	t.Expect("meta.resourceType of the new group", name, value(res.Object(), "meta.resourceType"))
	g := &conformance.Created{ID: res.Object().Text("id"), Collection: "/Groups"}
	membersAre(ctx, t, "of the new group", g, map[string]*conformance.Created{"founder": u, "guest": v}, "founder", "guest")
}

func groupsPatchAddMember(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann", "ben", "cat")
	add := func(names ...string) doc {
		var members []doc
		for _, name := range names {
			members = append(members, doc{"value": users[name].ID})
		}
		return doc{"op": "add", "path": "members", "value": members}
	}
	succeeded(t, t.Patch(ctx, g.Path(), add("ben", "cat")), 200, 204)
	membersAre(ctx, t, "after adding two", g, users, "ann", "ben", "cat")
	res := t.Patch(ctx, g.Path(), add("ben"))
	t.Warn(res.OK(), "status of a PATCH that adds one of them again", "200 or 204", res.Status)
	ids := membersOf(ctx, t, g.Path())
	// RFC 7644 section 3.5.2.1 requires only with a SHOULD that a repeated add changes nothing, but with a MUST that it removes no member.
	t.Expect("members after adding one of them again", []string{"ann", "ben", "cat"}, labels(users, slices.Compact(sorted(ids...))))
	t.Warn(len(ids) <= 3, "number of members after adding one of them again", "3", len(ids))
}

func groupsPatchRename(ctx context.Context, t *T) {
	g, users := team(ctx, t, 2, "ann", "ben")
	renamed := t.Prefix() + "team-renamed"
	succeeded(t, t.Patch(ctx, g.Path(), doc{"op": "replace", "value": doc{"displayName": renamed}}), 200, 204)
	o := t.Read(ctx, g.Path()).Object()
	t.Expect("displayName after renaming", renamed, value(o, "displayName"))
	t.Expect("id after renaming", g.ID, value(o, "id"))
	membersAre(ctx, t, "after renaming", g, users, "ann", "ben")
}

func groupsUserGroups(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	o := t.Read(ctx, users["ann"].Path()).Object()
	byDefault := has(o, "groups")
	if !byDefault {
		o = t.Read(ctx, users["ann"].Path(), "attributes", "userName,groups").Object()
	}
	t.SkipIf(!has(o, "groups"), "the target does not return groups of users, which is optional")
	t.Expect("groups.value of the member", []string{g.ID}, values(o, "groups", "value"))
	if ref := element(o, "groups", "value", g.ID).Text("$ref"); ref != "" {
		parsed, err := url.Parse(ref)
		t.Holds(err == nil && strings.HasSuffix(parsed.Path, "Groups/"+g.ID), "$ref in groups of the member", "a URI that ends in Groups/"+g.ID,
			ref)
	}
	if declared := element(t.Capabilities.Schema(scim.UserSchema), "attributes", "name", "groups"); declared.Text("returned") == "default" {
		t.Holds(byDefault, "groups of the member, returned \"default\" by the schema, in a response without the parameter attributes", "present",
			"absent")
	}
	if !byDefault {
		return
	}
	filter := `userName eq ` + quote(t.UserName("ann"))
	if res := t.Get(ctx, "/Users", "filter", filter); res.Status == 200 && len(res.Resources()) == 1 {
		t.Expect("groups.value of the member in GET /Users?filter="+filter, []string{g.ID}, values(res.Resources()[0], "groups", "value"))
	}
}

func groupsUserGroupsCurrent(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	where := users["ann"].Path()
	entry := func() *scim.Object {
		return element(t.Read(ctx, where, "attributes", "userName,groups").Object(), "groups", "value", g.ID)
	}
	first := entry()
	again := entry()
	t.SkipIf(first == nil && again == nil, "the target does not return groups of users, which is optional")
	t.Must(first != nil, "the group in groups of a user, in the first read after the user was added", "present", "absent")
	res := t.Put(ctx, g.Path(), t.Group("team-renamed", doc{"members": memberList(users["ann"].ID)}))
	t.SkipIf(!res.OK() || res.Object().Text("displayName") != t.Prefix()+"team-renamed", "blocked: the group could not be renamed by PUT")
	if display := entry().Text("display"); display != "" {
		t.Expect("display in groups of a user after the group was renamed", t.Prefix()+"team-renamed", display)
	}
	res = t.Put(ctx, g.Path(), t.Group("team-renamed", doc{"members": []doc{}}))
	t.SkipIf(!res.OK() || len(values(res.Object(), "members", "value")) > 0, "blocked: the members could not be removed by PUT")
	t.Holds(entry() == nil, "the group in groups of a user, in the first read after the user was removed", "absent", "present")
}

func groupsDelete(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	res := t.Delete(ctx, g.Path())
	t.SkipIf(!res.OK(), "blocked: the group could not be deleted, which delete.group-status reports")
	after := t.Get(ctx, g.Path())
	t.Expect("status of GET of the deleted group", 404, after.Status)
	member := t.Get(ctx, users["ann"].Path())
	t.Require("status of GET of the member of the deleted group", 200, member.Status)
	t.Holds(!slices.Contains(values(member.Object(), "groups", "value"), g.ID), "the deleted group in groups of the member", "absent",
		element(member.Object(), "groups", "value", g.ID))
}

func groupsFilterDisplayName(ctx context.Context, t *T) {
	g := t.CreateGroup(ctx, "wanted", nil)
	t.CreateGroup(ctx, "wanted-too", nil)
	res := t.Get(ctx, "/Groups", "filter", "displayName eq "+quote(t.Prefix()+"wanted"))
	t.Require("status of "+res.Name+" with a filter on displayName", 200, res.Status)
	t.Expect("ids of the groups found", []string{g.ID}, res.IDs())
	none := t.Get(ctx, "/Groups", "filter", "displayName eq "+quote(t.Prefix()+"nobody"))
	t.Expect("totalResults for a name that no group has", 0, value(none.Object(), "totalResults"))
}

// team creates a group and one user per label; the first n users are its members.
func team(ctx context.Context, t *T, n int, names ...string) (*conformance.Created, map[string]*conformance.Created) {
	users := map[string]*conformance.Created{}
	var members []doc
	for i, name := range names {
		users[name] = t.CreateUser(ctx, name, nil)
		if i < n {
			members = append(members, doc{"value": users[name].ID})
		}
	}
	extra := doc{}
	if n > 0 {
		extra["members"] = members
	}
	return t.CreateGroup(ctx, "team", extra), users
}

// membersAre expects that a group has exactly the given members. want contains their labels in users.
func membersAre(ctx context.Context, t *T, when string, g *conformance.Created, users map[string]*conformance.Created, want ...string) {
	// The request names members, because a target may return the attribute only then.
	ids := values(t.Read(ctx, g.Path(), "attributes", "displayName,members").Object(), "members", "value")
	t.Expect("members "+when, sorted(want...), labels(users, ids))
	t.Expect("number of members "+when, len(want), len(ids))
}
