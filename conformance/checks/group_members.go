package checks

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// memberList returns a value of members with the given ids.
func memberList(ids ...string) []doc {
	out := []doc{}
	for _, id := range ids {
		out = append(out, doc{"value": id})
	}
	return out
}

// membersOf returns the ids of a group's members. It requests the attribute explicitly because a target may return it on request only.
func membersOf(ctx context.Context, t *T, where string) []string {
	return values(t.Read(ctx, where, "attributes", "displayName,members").Object(), "members", "value")
}

const (
	whyMembers = "Group membership gives access: an extra member gets access without permission, and a missing member lacks necessary access."
	fixMembers = "With add and remove, change only the members that the request names; with replace, store exactly the members in the value."
)

// A memberCell is a test of one PATCH of the members of a group: the members before it, its operations, and the expected members after it.
type memberCell struct {
	id, title     string
	reqs          []string
	level         conformance.Level
	before, after []string                                 // labels; the users are ann, ben and cat
	ops           func(id func(label string) string) []doc // id returns the id of the user with this label
	mayReject     bool                                     // a 400 is permitted too, if it changes nothing
}

func (c memberCell) check() check {
	return check{
		ID:           "groups." + c.id,
		Title:        c.title,
		Requirements: c.reqs,
		Level:        c.level,
		Needs:        patchesGroups,
		Requests:     10,
		Why:          whyMembers,
		Fix:          fixMembers,
		Run: func(ctx context.Context, t *T) {
			names := []string{"ann", "ben", "cat"}
			g, users := team(ctx, t, len(c.before), names...)
			res := t.Patch(ctx, g.Path(), c.ops(func(label string) string { return users[label].ID })...)
			if c.mayReject && res.Status == 400 {
				t.Inform("status of "+res.Name, "200 or 204; 400 is permitted", res.Status)
				membersAre(ctx, t, "after the rejected PATCH", g, users, c.before...)
				return
			}
			succeeded(t, res, 200, 204)
			membersAre(ctx, t, "after the PATCH", g, users, c.after...)
		},
	}
}

// memberPath returns the PATCH path of the member with an id.
func memberPath(id string) string { return "members[value eq " + quote(id) + "]" }

var memberChanges = func() []check {
	var out []check
	for _, c := range []memberCell{
		{"patch-add-remove", "One PATCH adds a member and removes another", reqs("RFC7644-3.5.2-25"), must, []string{"ann", "ben"},
			[]string{"ben", "cat"}, func(id func(string) string) []doc {
				return []doc{{"op": "remove", "path": memberPath(id("ann"))}, {"op": "add", "path": "members", "value": memberList(id("cat"))}}
			}, false},
		{"patch-replace-empty", "PATCH replace of members with an empty list empties the group", reqs("RFC7644-3.5.2.3-13", "RFC7644-3.5.2.3-05"),
			must, []string{"ann", "ben"}, nil, func(func(string) string) []doc {
				return []doc{{"op": "replace", "path": "members", "value": []doc{}}}
			}, false},
		{"patch-remove-several", "PATCH remove with a filter of two ids, joined by the operator \"or\", removes both members",
			reqs("RFC7644-3.5.2.2-04"), must,
			[]string{"ann", "ben", "cat"}, []string{"cat"}, func(id func(string) string) []doc {
				return []doc{{"op": "remove", "path": "members[value eq " + quote(id("ann")) + " or value eq " + quote(id("ben")) + "]"}}
			}, true},
		{"patch-remove-stranger", "PATCH remove of a user who is not a member changes nothing", reqs("RFC7644-3.5.2.2-09"), should,
			[]string{"ann", "ben"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "remove", "path": memberPath(id("cat"))}}
			}, true},
		{"patch-no-path", "PATCH add without a path adds members", reqs("RFC7644-3.5.2.1-02", "RFC7644-3.5.2.1-07"), must, []string{"ann"},
			[]string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "add", "value": doc{"members": memberList(id("ben"))}}}
			}, false},
		{"patch-replace-no-path", "PATCH replace without a path sets exactly the members in the value", reqs("RFC7644-3.5.2.3-03"), must,
			[]string{"ann", "ben"}, []string{"cat"}, func(id func(string) string) []doc {
				return []doc{{"op": "replace", "value": doc{"members": memberList(id("cat"))}}}
			}, false},
		{"patch-add-object", "PATCH add accepts a single member without an array", reqs("RFC7644-3.5.2.1-08"), should, []string{"ann"},
			[]string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "add", "path": "members", "value": doc{"value": id("ben")}}}
			}, true},
		{"patch-core-urn", "PATCH add adds a member if the path is members, qualified with the URN of the Group schema", reqs("RFC7644-3.5.2-19"),
			must, []string{"ann"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "add", "path": scim.GroupSchema + ":members", "value": memberList(id("ben"))}}
			}, false},
		{"patch-other-attribute", "PATCH of another attribute does not change the members", reqs("RFC7644-3.5.2.3-04", "RFC7644-3.5.2.3-02"),
			must,
			[]string{"ann", "ben"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "replace", "path": "externalId", "value": "scimconf-" + id("ann")}}
			}, false},
		{"patch-twice-in-one", "A member that is removed and added again in one PATCH remains a member", reqs("RFC7644-3.5.2-25"), must,
			[]string{"ann", "ben"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "remove", "path": memberPath(id("ann"))}, {"op": "add", "path": "members", "value": memberList(id("ann"))}}
			}, false},
		{"patch-same-members", "PATCH replace of members with the same members changes nothing", reqs("RFC7644-3.5.2.3-17"), should,
			[]string{"ann", "ben"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
				return []doc{{"op": "replace", "path": "members", "value": memberList(id("ben"), id("ann"))}}
			}, false},
	} {
		out = append(out, c.check())
	}
	repeated := memberCell{"patch-repeated-members", "A member that a PATCH replace of members lists twice is stored once",
		reqs("RFC7643-2.4-11", "RFC7644-3.5.2.3-17"), should,
		[]string{"ann", "ben"}, []string{"ann", "ben"}, func(id func(string) string) []doc {
			return []doc{{"op": "replace", "path": "members", "value": memberList(id("ben"), id("ann"), id("ben"))}}
		}, true}.check()
	stored := repeated.Run
	repeated.Run = func(ctx context.Context, t *T) {
		blockedIfRepeatedMembersStored(ctx, t)
		stored(ctx, t)
	}
	repeated.Why = "A client that counts the members, or that removes one of them by its value, has another result than the server."
	repeated.Fix = "Remove repeated values from the new list before storing it, or return 400."
	qualified := slices.IndexFunc(out, func(c check) bool { return c.ID == "groups.patch-core-urn" })
	out[qualified].Fix = "Split the path at its last colon into the URN of the schema and the name members; the dot in the URN does not " +
		"start a sub-attribute. Then handle the operation in the same way as with the path members."
	return append(out, repeated)
}()

// blockedIfRepeatedMembersStored blocks the check if the target also stores a member twice that a POST lists twice, which
// groups.repeated-members reports.
func blockedIfRepeatedMembersStored(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "twin", nil)
		g := t.CreateGroup(ctx, "twins", doc{"members": memberList(u.ID, u.ID)})
		if len(membersOf(ctx, t, g.Path())) < 2 {
			return ""
		}
		return "a member that appears twice in a POST is stored twice, which groups.repeated-members reports"
	})
}

var groupMembers = []check{
	{
		ID:           "groups.create-empty",
		Title:        "A group can be created without members",
		Requirements: reqs("RFC7644-3.3-05", "RFC7643-4.2-03"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup),
		Requests:     3,
		Why: "Entra ID creates every group without members and adds the members later; if the server rejects the empty group, its " +
			"users get no access.",
		Fix: "Accept groups without members.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Groups", t.Group("empty", nil))
			t.Require("status of POST of a group without members", 201, res.Status)
			t.Expect("number of members", 0, len(membersOf(ctx, t, "/Groups/"+url.PathEscape(res.Object().Text("id")))))
		},
	},
	{
		ID:           "groups.same-name",
		Title:        "A POST of a second group with the same displayName returns 201 or 409",
		Requirements: reqs("RFC7644-3.3-09", "RFC7643-4.2-02"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup),
		Requests:     4,
		Why:          "Clients handle only these two responses; any other response stops the synchronization of the group.",
		Fix:          "Return 201, or 409 with scimType uniqueness.",
		Run: func(ctx context.Context, t *T) {
			first := t.CreateGroup(ctx, "double", nil)
			res := t.Post(ctx, "/Groups", t.Group("double", nil))
			t.Must(res.Status == 201 || res.Status == 409, "status of a second POST with the same displayName", "201 or 409", res.Status)
			t.Holds(res.Status == 409 || res.Object().Text("id") != first.ID, "id of the second group", "different from the id of the first group",
				first.ID)
		},
	},
	{
		ID:           "groups.add-again-unchanged",
		Title:        "PATCH add of an existing member does not change lastModified",
		Requirements: reqs("RFC7644-3.5.2.1-11", "RFC7644-3.5.2.1-10"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     7,
		Why:          "JumpCloud repeats its add operations; if a repetition changes lastModified, other clients import it as a change.",
		Fix:          "Compare the new members with the stored members by value; if no member is new, do not change lastModified.",
		Run:          groupsAddAgainUnchanged,
	},
	{
		ID:           "groups.unknown-member",
		Title:        "A PATCH with one known and one unknown member adds the known member, or is rejected and changes nothing",
		Requirements: reqs("RFC7644-3.5.2-28", "RFC7644-3.5.2.1-07"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     6,
		Why: "The client assumes that a success has added the known member, and that an error has changed nothing. Otherwise, the group " +
			"has the wrong members, and the client does not correct them.",
		Fix: "Return 400 and add no member, or return a success and add at least the known member.",
		Run: groupsUnknownMember,
	},
	{
		ID:           "groups.create-unknown-member",
		Title:        "A POST with an unknown member creates the group, or is rejected without a server error",
		Requirements: reqs("RFC7644-3.3-12", "RFC7643-4.2-05"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup, conformance.NeedFilter),
		Requests:     2,
		Why: "Clients send ids of users that were deleted in the meantime. After a server error they repeat the request; if the first " +
			"request created the group, the second one creates a duplicate.",
		Fix: "Return 400 and create no group, or return 201 and create the group, with or without the unknown member.",
		Run: groupsCreateUnknownMember,
	},
	{
		ID:           "groups.repeated-members",
		Title:        "A member that appears twice in a POST is stored once",
		Requirements: reqs("RFC7643-2.4-11"),
		Level:        should,
		Needs:        writesGroups,
		Requests:     5,
		Why:          "If a member is stored twice, the user may still have access after the client has removed one of the two entries.",
		Fix:          "Store only one entry for each value of members.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "ann", nil)
			g := t.CreateGroup(ctx, "twice", doc{"members": memberList(u.ID, u.ID)})
			t.Expect("members", []string{u.ID}, membersOf(ctx, t, g.Path()))
		},
	},
	{
		ID:           "groups.nested",
		Title:        "A group can be a member of a group, or the request is rejected with 400",
		Requirements: reqs("RFC7643-4.2-07", "RFC7643-4.2-05"),
		Level:        should,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup),
		Requests:     5,
		Why:          "Directories nest groups. If a nested group is lost without an error, all its users lose access.",
		Fix:          "Store the group as a member, or return 400.",
		Run:          groupsNested,
	},
	{
		ID:           "groups.member-type",
		Title:        "The type of a member is the resource type of the member, User or Group",
		Requirements: reqs("RFC7643-4.2-05"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "Clients that read a wrong type request the member from the wrong endpoint, get a 404 and treat the member as deleted.",
		Fix:          "Set type to the resource type of the member, User or Group; ignore the type that the client sends.",
		Run:          groupsMemberType,
	},
	{
		ID:           "groups.cycle",
		Title:        "Groups that are members of each other are rejected, or remain readable",
		Requirements: reqs("RFC7644-3.12-07"),
		Level:        should,
		Needs:        writesGroups,
		Requests:     9,
		Why:          "A server that follows a cycle of groups without limit becomes unavailable to all clients.",
		Fix:          "Skip groups that were already visited when following nested groups, or return 400 to the request that closes the cycle.",
		Run:          groupsCycle,
	},
	{
		ID:           "groups.member-reference",
		Title:        "The $ref of a member is the URL of the member",
		Requirements: reqs("RFC7643-4.2-06", "RFC7643-2.3.7-01"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     5,
		Why:          "Clients that follow a wrong $ref read or change another resource, or get a 404.",
		Fix: "Build $ref from the endpoint of the member's resource type and from its id, for example " +
			"https://example.com/scim/v2/Users/2819c223.",
		Run: groupsMemberReference,
	},
	{
		ID:           "groups.direct",
		Title:        "In the attribute groups of a user, the type of a direct membership is direct",
		Requirements: reqs("RFC7643-4.1.2-15"),
		Level:        should,
		Needs:        writesGroups,
		Requests:     5,
		Why:          "A client that reads a wrong type tries to remove a membership that the group does not contain, and the access remains.",
		Fix:          "Set type to direct for direct membership, and to indirect for membership through another group.",
		Run:          groupsDirect,
	},
	{
		ID:           "groups.two-groups",
		Title:        "A user can be a member of several groups",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-4.2-05"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     8,
		Why:          "If the second group replaces the first group of the user, the user loses the access that the first group gives.",
		Fix:          "Store memberships per group, not one group per user.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "ann", nil)
			a, b := t.CreateGroup(ctx, "red", doc{"members": memberList(u.ID)}), t.CreateGroup(ctx, "blue", doc{"members": memberList(u.ID)})
			t.Expect("members of the first group", []string{u.ID}, membersOf(ctx, t, a.Path()))
			t.Expect("members of the second group", []string{u.ID}, membersOf(ctx, t, b.Path()))
		},
	},
	{
		ID:           "groups.many-members",
		Title:        "A group stores forty members from POST, PATCH and PUT",
		Requirements: reqs("RFC7644-3.1-05", "RFC7644-3.5.2.1-07"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     87,
		Why:          "Members beyond an undocumented limit lose access, and no error shows why.",
		Fix:          "Store and return all members of a group; do not apply the maximum page size of lists to members.",
		Run:          groupsManyMembers,
	},
	{
		ID:           "groups.gone",
		Title:        "PUT and PATCH of a deleted or unknown group, and a second DELETE of a group, return 404",
		Requirements: reqs("RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "A client that gets no 404 continues to push members to a deleted group, and these users get no access.",
		Fix:          "Return 404 to every method for a deleted id; if the server keeps deleted groups, exclude them from every request.",
		Run:          groupsGone,
	},
	{
		ID:           "groups.exclude-members",
		Title:        "excludedAttributes=members omits the members of a group, in single responses and in lists",
		Requirements: reqs("RFC7644-3.9-03"),
		Level:        must,
		Needs:        append(slices.Clone(writesGroups), conformance.NeedFilter),
		Requests:     6,
		Why:          "Entra ID reads groups without members; a server that returns them slows down every synchronization.",
		Fix:          "Evaluate excludedAttributes before loading the members, both for GET of one group and for lists.",
		Run:          groupsExcludeMembers,
	},
	{
		ID:           "groups.find-by-member",
		Title:        "A filter on members.value finds the groups of a member, or returns 400",
		Requirements: reqs("RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        append(slices.Clone(writesGroups), conformance.NeedFilter),
		Requests:     7,
		Why:          "Clients find the groups of a user with this filter; if it returns all groups, they give the user wrong rights.",
		Fix:          "Evaluate filters on members, or return 400 invalidFilter.",
		Run:          groupsFindByMember,
	},
	{
		ID:           "groups.external-id",
		Title:        "The externalId of a group is stored, and a filter on externalId finds the group",
		Requirements: reqs("RFC7643-3.1-17", "RFC7643-7-15"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup, conformance.NeedFilter),
		Requests:     4,
		Why:          "Entra ID identifies its groups by externalId; if the value is lost, it creates duplicates.",
		Fix:          "Store externalId for groups, and support externalId in filters, in the same way as for users.",
		Run:          groupsExternalID,
	},
	{
		ID:           "groups.find-ignores-case",
		Title:        "A filter on displayName of a group is case-insensitive",
		Requirements: reqs("RFC7643-7-14", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup, conformance.NeedFilter),
		Requests:     3,
		Why:          "A client that does not find the group creates a duplicate.",
		Fix:          "Compare displayName case-insensitively, unless the schema sets caseExact to true.",
		Run:          groupsFindIgnoresCase,
	},
	{
		ID: "groups.members-no-list",
		Title: "A POST in which members is not a list of objects is rejected, or creates a group whose members are absent or a list of " +
			"objects",
		Requirements: reqs("RFC7643-2.4-01", "RFC7643-2.3-02"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "Clients cannot parse a group whose members are a string or a number, and do not import the group.",
		Fix:          "Validate the type of members and of its elements; return 400 invalidValue.",
		Run:          groupsMembersNoList,
	},
	{
		ID:           "groups.put-rename",
		Title:        "A PUT renames a group and does not change its id",
		Requirements: reqs("RFC7644-3.5.1-03", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     7,
		Why:          "Ping updates groups by PUT; a rejected PUT leaves the old name, and a new id breaks the link to the group.",
		Fix:          "Replace the attributes and do not change the id.",
		Run:          groupsPutRename,
	},
	{
		ID:           "groups.put-without-members",
		Title:        "A PUT without members removes all members",
		Requirements: reqs("RFC7644-3.5.1-05"),
		Level:        may,
		Needs:        writesGroups,
		Requests:     6,
		Why: "RFC 7644 permits a server to remove or to keep members that a PUT omits; a client that expects the other behavior " +
			"unintentionally removes or keeps the access of all members.",
		Fix: "Remove all members if a PUT omits members, or state in the documentation of the server that it keeps them.",
		Run: func(ctx context.Context, t *T) {
			g, _ := team(ctx, t, 1, "ann")
			succeeded(t, t.Put(ctx, g.Path(), t.Group("team", nil)), 200)
			t.Expect("number of members after a PUT without members", 0, len(membersOf(ctx, t, g.Path())))
		},
	},
	{
		ID:           "groups.put-no-display-name",
		Title:        "A PUT of a group without displayName is rejected and changes nothing",
		Requirements: reqs("RFC7644-3.5.1-12", "RFC7643-4.2-02"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup),
		Requests:     4,
		Why:          "Clients cannot find a group without a name.",
		Fix:          "Validate the body of a PUT like that of a POST: return 400 invalidValue if displayName is absent.",
		Run: func(ctx context.Context, t *T) {
			g := t.CreateGroup(ctx, "named", nil)
			blockedIfAccepted(t, "POST /Groups without displayName", "groups.missing-display-name", func() *conformance.Response {
				return t.Post(ctx, "/Groups", t.Group("control", doc{"displayName": omit}))
			})
			expectError(t, t.Put(ctx, g.Path(), t.Group("named", doc{"displayName": omit})), 400, "invalidValue", "invalidSyntax", "mutability")
			t.Expect("displayName", t.Prefix()+"named", value(t.Read(ctx, g.Path()).Object(), "displayName"))
		},
	},
	{
		ID:           "groups.patch-atomic",
		Title:        "If an operation of a PATCH fails, the members that its earlier operations add are not stored",
		Requirements: reqs("RFC7644-3.5.2-28"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     6,
		Why:          whyUnchanged,
		Fix:          fixAtomic,
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 0, "ann")
			res := t.Patch(ctx, g.Path(), doc{"op": "add", "path": "members", "value": memberList(users["ann"].ID)}, doc{"op": "remove"})
			t.SkipIf(res.OK(), "the target does not reject the operation remove without a path, which another check reports")
			t.Expect("number of members "+afterRejection("PATCH", res), 0, len(membersOf(ctx, t, g.Path())))
		},
	},
	{
		ID:           "groups.member-immutable",
		Title:        "A PATCH that changes the value of a member to another id is rejected with 400 and changes nothing",
		Requirements: reqs("RFC7643-4.2-04", "RFC7644-3.5.2-15"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     8,
		Why:          whyMembers,
		Fix:          "Treat the sub-attributes of members as immutable: return 400 with scimType mutability.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 1, "ann", "ben")
			res := t.Patch(ctx, g.Path(), doc{"op": "replace", "path": memberPath(users["ann"].ID) + ".value", "value": users["ben"].ID})
			t.Warn(res.Status == 400, "status of a PATCH of the sub-attribute value of a member", "400", res.Status)
			membersAre(ctx, t, "after the PATCH", g, users, "ann")
		},
	},
	{
		ID:           "groups.other-endpoint",
		Title:        "A group is not found under /Users, nor a user under /Groups",
		Requirements: reqs("RFC7644-3.4.1-02"),
		Level:        should,
		Needs:        writesGroups,
		Requests:     6,
		Why:          "A client that uses the wrong endpoint could overwrite or delete a resource of another type.",
		Fix:          "Look up ids within the resource type of the endpoint.",
		Run:          groupsOtherEndpoint,
	},
}

func groupsAddAgainUnchanged(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	before := t.Read(ctx, g.Path()).Object()
	stamp, _ := value(before, "meta.lastModified").(string)
	later(ctx, t, stamp)
	o := patched(ctx, t, g, doc{"op": "add", "path": "members", "value": memberList(users["ann"].ID)})
	t.Expect("meta.lastModified", value(before, "meta.lastModified"), value(o, "meta.lastModified"))
}

// addMembers adds members to a group that has the members before: by PATCH, or by PUT if the target does not support PATCH.
func addMembers(ctx context.Context, t *T, g *conformance.Created, before []string, added ...string) *conformance.Response {
	if supportsPatch(t) {
		return t.Patch(ctx, g.Path(), doc{"op": "add", "path": "members", "value": memberList(added...)})
	}
	return t.Put(ctx, g.Path(), t.Group("", doc{"displayName": g.Sent["displayName"], "members": memberList(slices.Concat(before, added)...)}))
}

func groupsUnknownMember(ctx context.Context, t *T) {
	g, users := team(ctx, t, 0, "ann")
	res := t.Patch(ctx, g.Path(), doc{"op": "add", "path": "members", "value": memberList(users["ann"].ID, t.AbsentID())})
	there := slices.Contains(membersOf(ctx, t, g.Path()), users["ann"].ID)
	t.About(res)
	if res.OK() {
		t.Holds(there, "the known member after a PATCH that succeeded", "a member", "no member")
		return
	}
	t.Holds(res.Status < 500, "status of "+res.Name+" with an unknown member", "a success, 400, 404 or 409", res.Status)
	t.Holds(!there, "the known member after a PATCH that was rejected", "no member", "a member")
}

func groupsCreateUnknownMember(ctx context.Context, t *T) {
	body := t.Group("stale", doc{"members": memberList(t.AbsentID())})
	res := t.Post(ctx, "/Groups", body)
	if res.OK() {
		return
	}
	t.Holds(res.Status < 500, "status of a POST with an unknown member", "201, 400, 404 or 409", res.Status)
	found := t.Get(ctx, "/Groups", "filter", "displayName eq "+quote(body["displayName"].(string)))
	t.Expect("number of groups "+afterRejection("POST", res), 0, len(found.IDs()))
}

func groupsNested(ctx context.Context, t *T) {
	inner := t.CreateGroup(ctx, "inner", nil)
	res := t.Post(ctx, "/Groups", t.Group("outer", doc{"members": memberList(inner.ID)}))
	if res.Status == 400 || res.Status == 501 {
		t.Inform("status of a POST of a group with a group as member", "201", res.Status)
		return
	}
	t.Require("status of a POST of a group with a group as member", 201, res.Status)
	t.Expect("members of the outer group", []string{inner.ID}, membersOf(ctx, t, "/Groups/"+url.PathEscape(res.Object().Text("id"))))
}

func groupsMemberType(ctx context.Context, t *T) {
	u, inner := t.CreateUser(ctx, "ann", nil), t.CreateGroup(ctx, "inner", nil)
	res := t.Post(ctx, "/Groups", t.Group("outer", doc{"members": memberList(u.ID, inner.ID)}))
	t.SkipIf(!res.OK(), "the target does not accept groups as members")
	o := t.Read(ctx, "/Groups/"+url.PathEscape(res.Object().Text("id")), "attributes", "members").Object()
	for want, id := range byName(map[string]string{"User": u.ID, "Group": inner.ID}) {
		if got := value(element(o, "members", "value", id), "type"); got != nil {
			t.Expect("type of a member that is a "+want, want, got)
		}
	}
}

func groupsCycle(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "ann", nil)
	a := t.CreateGroup(ctx, "red", doc{"members": memberList(u.ID)})
	res := t.Post(ctx, "/Groups", t.Group("blue", doc{"members": memberList(a.ID)}))
	t.SkipIf(!res.OK(), "the target does not accept groups as members")
	res = addMembers(ctx, t, a, []string{u.ID}, res.Object().Text("id"))
	t.Holds(res.Status < 500, "status of "+res.Name+", which closes the cycle", "a success, or 400", res.Status)
	for _, where := range []string{a.Path(), u.Path()} {
		after := t.Get(ctx, where)
		t.Expect("status of "+after.Name+" with a cycle of groups", 200, after.Status)
	}
}

func groupsMemberReference(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	o := t.Read(ctx, g.Path(), "attributes", "members").Object()
	m := element(o, "members", "value", users["ann"].ID)
	t.SkipIf(m == nil, "blocked: the group does not return its member")
	ref := m.Text("$ref")
	if ref == "" { // $ref is optional
		return
	}
	parsed, err := url.Parse(ref)
	t.Holds(err == nil && strings.HasSuffix(parsed.Path, "Users/"+users["ann"].ID), "$ref of the member",
		"a URL that ends in Users/"+users["ann"].ID, ref)
}

func groupsDirect(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	o := t.Read(ctx, users["ann"].Path(), "attributes", "userName,groups").Object()
	entry := element(o, "groups", "value", g.ID)
	t.SkipIf(entry == nil, "the target does not return groups of users, which is optional")
	if kind := value(entry, "type"); kind != nil {
		t.Expect("type of the entry of a direct membership in the user's groups", "direct", kind)
	}
	if ref := entry.Text("$ref"); ref != "" {
		t.Expect("last path segment of $ref of the entry in the user's groups", g.ID, path.Base(ref))
	}
}

func groupsManyMembers(ctx context.Context, t *T) {
	var ids []string
	for i := range 40 {
		ids = append(ids, t.CreateUser(ctx, fmt.Sprint("m", i), nil).ID)
	}
	slices.Sort(ids)
	g := t.CreateGroup(ctx, "crowd", doc{"members": memberList(ids[:20]...)})
	t.Expect("number of members after POST", 20, len(membersOf(ctx, t, g.Path())))
	res := addMembers(ctx, t, g, ids[:20], ids[20:]...)
	succeeded(t, res, 200, 204)
	t.Expect("number of members after "+res.Name, 40, len(membersOf(ctx, t, g.Path())))
	succeeded(t, t.Put(ctx, g.Path(), t.Group("crowd", doc{"members": memberList(ids[1:]...)})), 200)
	t.Expect("members after PUT", ids[1:], membersOf(ctx, t, g.Path()))
}

func groupsGone(ctx context.Context, t *T) {
	g := t.CreateGroup(ctx, "gone", nil)
	t.SkipIf(!t.Delete(ctx, g.Path()).OK(), "blocked: the group could not be deleted")
	for _, where := range []string{g.Path(), "/Groups/" + t.AbsentID()} {
		var updates []*conformance.Response
		if supportsPatch(t) {
			updates = append(updates, t.Patch(ctx, where, doc{"op": "replace", "path": "displayName", "value": "x"}))
		}
		for _, res := range append(updates, t.Put(ctx, where, t.Group("gone", nil))) {
			t.About(res)
			t.Expect("status of "+res.Name, 404, res.Status)
		}
	}
	again := t.Delete(ctx, g.Path())
	t.Expect("status of the second DELETE", 404, again.Status)
}

func groupsExcludeMembers(ctx context.Context, t *T) {
	g, _ := team(ctx, t, 1, "ann")
	o := t.Read(ctx, g.Path(), "excludedAttributes", "members").Object()
	t.Holds(!has(o, "members"), "members in GET with excludedAttributes=members", "absent", value(o, "members"))
	t.Holds(has(o, "displayName"), "displayName in GET with excludedAttributes=members", "a string", value(o, "displayName"))
	list := t.Get(ctx, "/Groups", "excludedAttributes", "members", "filter", "displayName eq "+quote(t.Prefix()+"team")).Resources()
	t.Must(len(list) == 1, "number of groups found", "1", len(list))
	t.Holds(!has(list[0], "members"), "members in a list with excludedAttributes=members", "absent", value(list[0], "members"))
}

func groupsFindByMember(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	t.CreateGroup(ctx, "other", nil)
	res := t.Get(ctx, "/Groups", "filter", "members.value eq "+quote(users["ann"].ID))
	if res.Declines() {
		t.Inform("status of "+res.Name+" with a filter on members.value", "200", res.Status)
		return
	}
	blockedIfAbsentFails(ctx, t, res)
	filterRequired(t, res, res.Name+" with a filter on members.value")
	t.Expect("ids of the groups of a member", []string{g.ID}, res.IDs())
}

func groupsExternalID(ctx context.Context, t *T) {
	id := t.Prefix() + "Ext-ID"
	g := t.CreateGroup(ctx, "known", doc{"externalId": id})
	t.Expect("externalId read back", id, value(t.Read(ctx, g.Path()).Object(), "externalId"))
	res := t.Get(ctx, "/Groups", "filter", "externalId eq "+quote(id))
	if res.Declines() {
		t.Inform("status of "+res.Name+" with a filter on externalId", "200", res.Status)
		return
	}
	filterRequired(t, res, res.Name+" with a filter on externalId")
	t.Expect("ids found by externalId", []string{g.ID}, res.IDs())
}

func groupsFindIgnoresCase(ctx context.Context, t *T) {
	for _, v := range t.Capabilities.Schema(scim.GroupSchema).Array("attributes") {
		o, _ := v.(*scim.Object)
		exact, _ := o.Bool("caseExact")
		t.SkipIf(exact && scim.EqualName(o.Text("name"), "displayName"), "the target describes displayName as caseExact")
	}
	g := t.CreateGroup(ctx, "MixedCase", nil)
	res := t.Get(ctx, "/Groups", "filter", "displayName eq "+quote(strings.ToUpper(t.Prefix()+"mixedcase")))
	t.Require("status of "+res.Name+" with a filter", 200, res.Status)
	t.Expect("ids found by the name in upper case", []string{g.ID}, res.IDs())
}

func groupsMembersNoList(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "ann", nil)
	for i, members := range []any{u.ID, 5} {
		res := t.Post(ctx, "/Groups", t.Group(fmt.Sprint("g", i), doc{"members": members}))
		if !res.OK() {
			t.Holds(res.Status < 500, "status of a POST with "+jsonText(plain(members))+" as members", "400", res.Status)
			continue
		}
		o := t.Read(ctx, "/Groups/"+url.PathEscape(res.Object().Text("id")), "attributes", "members").Object()
		got := value(o, "members")
		list, isList := got.([]any)
		ok := got == nil || isList && !slices.ContainsFunc(list, func(v any) bool { _, isObject := v.(*scim.Object); return !isObject })
		t.Holds(ok, "members read back", "absent, or a list of objects", got)
	}
	malformed := t.Post(ctx, "/Groups", t.Group("g2", doc{"members": []any{5}}))
	t.Holds(malformed.Status < 500, "status of a POST with a list of numbers as members", "400", malformed.Status)
}

func groupsPutRename(ctx context.Context, t *T) {
	g, users := team(ctx, t, 1, "ann")
	res := t.Put(ctx, g.Path(), t.Group("renamed", doc{"members": memberList(users["ann"].ID)}))
	t.Require("status of "+res.Name, 200, res.Status)
	o := t.Read(ctx, g.Path()).Object()
	t.Expect("displayName", t.Prefix()+"renamed", value(o, "displayName"))
	t.Expect("id", g.ID, value(o, "id"))
	t.Expect("members", []string{users["ann"].ID}, membersOf(ctx, t, g.Path()))
}

func groupsOtherEndpoint(ctx context.Context, t *T) {
	g, users := team(ctx, t, 0, "ann")
	for _, where := range []string{"/Users/" + url.PathEscape(g.ID), "/Groups/" + url.PathEscape(users["ann"].ID)} {
		res := t.Get(ctx, where)
		// Not a finding if the response is a resource of the right type: a target may assign the same id to a user and a group.
		t.Holds(res.Status == 404 || res.Object().Text("userName") != "" && strings.HasPrefix(where, "/Users") ||
			res.Object().Text("displayName") != "" && value(res.Object(), "userName") == nil && strings.HasPrefix(where, "/Groups"),
			"status of "+res.Name, "404", res.Status)
	}
}
