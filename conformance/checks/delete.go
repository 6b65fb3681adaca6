package checks

import (
	"context"

	"github.com/scimwright/scimwright/conformance"
)

// del are the checks of the area "delete".
var del = []check{
	{
		ID:           "delete.status",
		Title:        "A DELETE of a user returns 204 without a body",
		Requirements: reqs("RFC7644-3.6-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients remove the account from their own records only after a 204; after another status, they retry or report an error.",
		Fix:          "Return 204 No Content.",
		Run: func(ctx context.Context, t *T) {
			expectDeleted(ctx, t, "user", t.CreateUser(ctx, "doomed", nil))
		},
	},
	{
		ID:           "delete.group-status",
		Title:        "A DELETE of a group returns 204 without a body",
		Requirements: reqs("RFC7644-3.6-04"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     2,
		Why:          "Clients remove the group from their own records only after a 204; after another status, they retry or report an error.",
		Fix:          "Return 204 No Content.",
		Run: func(ctx context.Context, t *T) {
			expectDeleted(ctx, t, "group", t.CreateGroup(ctx, "doomed", nil))
		},
	},
	{
		ID:           "delete.gone",
		Title:        "After a DELETE, every operation on the resource returns 404",
		Requirements: reqs("RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "An account that still exists after its deletion gives a former employee access.",
		Fix:          "Remove the resource, or hide it from every operation.",
		Run:          deleteGone,
	},
	{
		ID:           "delete.not-listed",
		Title:        "A deleted user is not found by a filter on userName and not counted in totalResults",
		Requirements: reqs("RFC7644-3.6-02"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter),
		Requests:     4,
		Why:          "A client that finds the deleted account by name links to it instead of creating a new account.",
		Fix:          "Exclude deleted resources from every query and from totalResults.",
		Run:          deleteNotListed,
	},
	{
		ID:           "delete.name-reusable",
		Title:        "A deleted user can be created again, with the same userName and the same email address",
		Requirements: reqs("RFC7644-3.6-03", "RFC7643-3.1-08"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     4,
		Why: "Otherwise a POST for a returning employee fails with 409, because a deleted account still has the userName or the email " +
			"address.",
		Fix: "Exclude deleted resources from every uniqueness check: that of userName, and those of other attributes such as emails.",
		Run: deleteNameReusable,
	},
	{
		ID:           "delete.unknown",
		Title:        "A DELETE of an unknown id returns 404",
		Requirements: reqs("RFC7644-3.6-05"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     1,
		Why:          "Clients treat a 404 as a completed deletion, but retry a 500 indefinitely.",
		Fix:          "Return 404 with an Error body.",
		Run: func(ctx context.Context, t *T) {
			expectError(t, t.Delete(ctx, "/Users/"+t.AbsentID()), 404)
		},
	},
}

// expectDeleted expects that a DELETE of an object returns 204 without a body.
func expectDeleted(ctx context.Context, t *T, noun string, o *conformance.Created) {
	res := t.Delete(ctx, o.Path())
	t.Expect("status of DELETE of a "+noun, 204, res.Status)
	t.Expect("length of the body of DELETE of a "+noun, 0, len(res.Body))
}

func deleteGone(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "gone", nil)
	res := t.Delete(ctx, u.Path())
	t.SkipIf(!res.OK(), "blocked: the user could not be deleted")
	for _, after := range []*conformance.Response{t.Get(ctx, u.Path()), t.Delete(ctx, u.Path()), t.Put(ctx, u.Path(), t.User("gone", nil))} {
		t.About(after)
		t.Expect("status of "+after.Name+" after DELETE", 404, after.Status)
	}
	if supported, known := t.Capabilities.Supports("patch"); supported || !known {
		after := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "displayName", "value": "x"})
		t.Expect("status of "+after.Name+" after DELETE", 404, after.Status)
	}
}

func deleteNotListed(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "unlisted", nil)
	filter := "userName eq " + quote(t.UserName("unlisted"))
	before := t.Get(ctx, "/Users", "filter", filter)
	t.SkipIf(len(before.IDs()) != 1, "blocked: the filter does not find the user")
	res := t.Delete(ctx, u.Path())
	t.SkipIf(!res.OK(), "blocked: the user could not be deleted")
	after := t.Get(ctx, "/Users", "filter", filter)
	t.Expect("number of users found by name after DELETE", 0, len(after.Resources()))
	t.Expect("totalResults after DELETE", 0, value(after.Object(), "totalResults"))
}

func deleteNameReusable(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "again", nil)
	res := t.Delete(ctx, u.Path())
	t.SkipIf(!res.OK(), "blocked: the user could not be deleted")
	second := t.Post(ctx, "/Users", t.User("again", nil))
	t.Require("status of POST with the userName of a deleted user", 201, second.Status)
	t.Holds(second.Object().Text("id") != u.ID, "id of the second user", "an id other than that of the first user", u.ID)
}
