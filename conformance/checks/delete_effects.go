package checks

import (
	"context"
	"net/url"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var deleteEffects = []check{
	{
		ID:           "delete.others-stay",
		Title:        "DELETE removes one resource and no other",
		Requirements: reqs("RFC7644-3.6-01", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     8,
		Why:          "If a DELETE removes other users too, they lose their accounts and data.",
		Fix:          "Delete only the resource with the id in the URL, not those with the same externalId.",
		Run:          deleteOthersStay,
	},
	{
		ID:           "delete.manager",
		Title:        "A user whose manager was deleted still exists and can be replaced",
		Requirements: reqs("RFC7644-3.6-01", "RFC7643-2.3.7-06"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     6,
		Why:          "If the deletion of a manager also deletes the users who have this manager, all of them lose access.",
		Fix:          "Delete only the manager; clear manager.value of the other users, or preserve it.",
		Run:          deleteManager,
	},
	{
		ID:           "delete.not-searched",
		Title:        "A search by POST to .search does not return a deleted user",
		Requirements: reqs("RFC7644-3.6-02"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     4,
		Why:          "A client that finds the deleted account by name links to it instead of creating a new account.",
		Fix:          "Exclude deleted resources from every query.",
		Run:          deleteNotSearched,
	},
	{
		ID:           "delete.external-id",
		Title:        "A deleted user is not found by externalId, and the externalId can be used again",
		Requirements: reqs("RFC7644-3.6-02", "RFC7644-3.6-03"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     5,
		Why:          "An identity provider that finds the deleted account by externalId links to it and creates no new one.",
		Fix:          "Exclude deleted resources from every query and every uniqueness check.",
		Run:          deleteExternalID,
	},
}

func deleteOthersStay(ctx context.Context, t *T) {
	gone := t.CreateUser(ctx, "gone", doc{"externalId": t.Prefix() + "same"})
	stays, too := t.CreateUser(ctx, "gone-not", doc{"externalId": t.Prefix() + "same"}), t.CreateUser(ctx, "stays", nil)
	t.SkipIf(!t.Delete(ctx, gone.Path()).OK(), "blocked: the user could not be deleted")
	for _, c := range []*conformance.Created{stays, too} {
		res := t.Get(ctx, c.Path())
		t.Expect("status of GET of another user", 200, res.Status)
	}
}

func deleteManager(ctx context.Context, t *T) {
	boss := t.CreateUser(ctx, "boss", nil)
	u := t.CreateUser(ctx, "report", extended(doc{"manager": doc{"value": boss.ID}}))
	t.SkipIf(!t.Delete(ctx, boss.Path()).OK(), "blocked: the target does not delete a user who is a manager")
	res := t.Get(ctx, u.Path())
	t.Expect("status of GET of a user whose manager was deleted", 200, res.Status)
	put := t.Put(ctx, u.Path(), t.User("report", doc{"displayName": "Still here"}))
	t.Expect("status of PUT of a user whose manager was deleted", 200, put.Status)
}

func deleteNotSearched(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "unfound", nil)
	search := func() *conformance.Response {
		return t.Post(ctx, "/Users/.search",
			doc{"schemas": []string{scim.SearchRequestMessage}, "filter": "userName eq " + quote(t.UserName("unfound"))})
	}
	before := search()
	t.SkipIf(before.Status != 200 || len(before.IDs()) != 1, "the target does not support .search on users")
	t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: the user could not be deleted")
	t.Expect("number of users found by a search after DELETE", 0, len(search().IDs()))
}

func deleteExternalID(ctx context.Context, t *T) {
	id := t.Prefix() + "left"
	u := t.CreateUser(ctx, "left", doc{"externalId": id})
	t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: the user could not be deleted")
	found := t.Get(ctx, "/Users", "filter", "externalId eq "+quote(id))
	t.SkipIf(found.Declines(), "the target does not support filters on externalId")
	filterRequired(t, found, "GET /Users with a filter on externalId")
	t.Expect("number of users found by externalId after DELETE", 0, len(found.IDs()))
	res := t.Post(ctx, "/Users", t.User("came-back", doc{"externalId": id}))
	t.Warn(res.Status == 201, "status of POST with the externalId of a deleted user", "201", res.Status)
	if res.OK() {
		t.Holds(res.Object().Text("id") != u.ID, "id of the new user", "an id other than that of the deleted user", url.PathEscape(u.ID))
	}
}
