package checks

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var put = []check{
	{
		ID:           "put.replaces",
		Title:        "PUT returns 200 with the new state, and GET returns it",
		Requirements: reqs("RFC7644-3.5.1-03", "RFC7644-3.5.1-13", "RFC7644-3.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Okta and Ping update profiles by PUT; if the new state is not stored, accounts keep outdated data.",
		Fix:          "Replace the stored attributes with those of the body and return the result.",
		Run:          putReplaces,
	},
	{
		ID:           "put.multi-valued",
		Title:        "PUT replaces a multi-valued attribute as a whole",
		Requirements: reqs("RFC7644-3.5.1-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "If the server merges the lists, a removed email address or role remains with the user.",
		Fix:          "Replace the stored list with the list in the body; do not append the new elements to the stored list.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "listed",
				doc{"emails": []doc{{"value": t.UserName("one"), "type": "work"}, {"value": t.UserName("two"), "type": "home"}}})
			res := t.Put(ctx, u.Path(), t.User("listed", doc{"emails": []doc{{"value": t.UserName("three"), "type": "work"}}}))
			succeeded(t, res, 200)
			t.Expect("emails.value read back", []string{t.UserName("three")}, values(t.Read(ctx, u.Path()).Object(), "emails", "value"))
		},
	},
	{
		ID:           "put.clears-null",
		Title:        "null and [] in a PUT clear an attribute",
		Requirements: reqs("RFC7644-3.5.1-06", "RFC7643-2.5-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients clear a value with null or []; if the value remains, the account keeps outdated data.",
		Fix:          "Treat null and [] as unassigned, not as \"no change\".",
		Run:          putClearsNull,
	},
	{
		ID:           "put.ignores-read-only",
		Title:        "readOnly attributes in a PUT are not rejected, and the values that the client sends are neither stored nor returned",
		Requirements: reqs("RFC7644-3.5.1-11", "RFC7644-3.1-06", "RFC7643-7-17", "RFC7644-3.5.1-02", "RFC7644-3.5.1-17"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why: "Okta reads a user, changes it and sends the whole resource back with id, meta and groups; a rejection blocks updates. If " +
			"the server stores the values, a client can claim membership of a group.",
		Fix: "Ignore readOnly attributes of the body before validation.",
		Run: putIgnoresReadOnly,
	},
	{
		ID:           "put.required-missing",
		Title:        "A PUT without userName is rejected with 400 and changes nothing",
		Requirements: reqs("RFC7644-3.5.1-12", "RFC7643-7-32", "RFC7644-3.5.1-15"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "A server that accepts an incomplete PUT deletes the name and other data of the account.",
		Fix:          "Validate the body of a PUT in the same way as that of a POST.",
		Run:          putRequiredMissing,
	},
	{
		ID:           "put.never-creates",
		Title:        "PUT of an unknown id returns 404 and creates nothing",
		Requirements: reqs("RFC7644-3.5.1-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "After a 404, clients know that the account was deleted; an account that PUT creates gives a deleted user access again.",
		Fix:          "Check first that the resource exists; a SCIM PUT does not create resources.",
		Run:          putNeverCreates,
	},
	{
		ID:           "put.conflict",
		Title:        "PUT with the userName of another user is rejected; with the unchanged userName it succeeds",
		Requirements: reqs("RFC7643-4.1.1-02", "RFC7644-3.5.1-14"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     7,
		Why:          "With two accounts of the same name, clients change or deactivate the wrong one.",
		Fix:          "On every write, return 409 with scimType uniqueness if another user has the userName.",
		Run:          putConflict,
	},
	{
		ID:           "put.keeps-password",
		Title:        "The response to a PUT with a password does not contain it",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-19"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Okta sends passwords by PUT; proxies and logs would store the password from the response.",
		Fix:          "Omit password from every response.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "rekeyed", nil)
			res := t.Put(ctx, u.Path(), t.User("rekeyed", doc{"password": "Xy7!" + t.Prefix() + "pw"}))
			t.SkipIf(!res.OK(), "the target does not accept a password by PUT")
			t.Holds(!has(res.Object(), "password"), "password in the response to PUT", "absent", "present")
		},
	},
}

func putReplaces(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "old", doc{"displayName": "Old Name"})
	res := t.Put(ctx, u.Path(), t.User("old", doc{"displayName": "New Name", "active": false}))
	t.Require("status of "+res.Name, 200, res.Status)
	t.Expect("displayName in the response", "New Name", value(res.Object(), "displayName"))
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("displayName read back", "New Name", value(o, "displayName"))
	t.Expect("active read back", false, value(o, "active"))
	t.Expect("id read back", u.ID, value(o, "id"))
}

func putClearsNull(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "full", doc{"displayName": "Has One", "nickName": "Nick"})
	res := t.Put(ctx, u.Path(), t.User("full", doc{"displayName": "Has One", "nickName": nil, "emails": []doc{}}))
	if res.Status == 400 {
		absent := t.Put(ctx, u.Path(), t.User("full", doc{"displayName": "Has One", "emails": omit}))
		t.SkipIf(!absent.OK(), "the target requires one of these attributes")
		t.About(res)
	}
	succeeded(t, res, 200)
	o := t.Read(ctx, u.Path()).Object()
	t.Holds(!has(o, "nickName"), "nickName read back", "absent", value(o, "nickName"))
	t.Holds(!has(o, "emails"), "emails read back", "absent", value(o, "emails"))
}

func putIgnoresReadOnly(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "returned", nil)
	forged := "1999-12-31T23:59:59Z"
	res := t.Put(ctx, u.Path(),
		t.User("returned", doc{"id": u.ID, "meta": doc{"resourceType": forgedType, "created": forged}, "groups": []doc{{"value": t.AbsentID()}}}))
	succeeded(t, res, 200)
	unforged := func(where string, o *scim.Object) {
		t.Expect("id "+where, u.ID, value(o, "id"))
		t.Expect("meta.created "+where, value(u.Resource, "meta.created"), value(o, "meta.created"))
		t.Holds(value(o, "meta.resourceType") != forgedType, "meta.resourceType "+where, "the value of the server", value(o, "meta.resourceType"))
		t.Holds(!has(o, "groups"), "groups "+where, "absent: the user is in no group", value(o, "groups"))
	}
	unforged("in the response to PUT", res.Object())
	unforged("read back", t.Read(ctx, u.Path()).Object())
}

func putRequiredMissing(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "required", nil)
	blockedIfNamelessCreated(ctx, t)
	res := t.Put(ctx, u.Path(), t.User("required", doc{"userName": omit, "displayName": "Half"}))
	expectError(t, res, 400, "invalidValue", "invalidSyntax", "mutability")
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("userName read back", t.UserName("required"), value(o, "userName"))
	t.Holds(value(o, "displayName") != "Half", "displayName read back "+afterRejection("PUT", res), "unchanged", value(o, "displayName"))
}

// whyNameless is the Why of checks of requests that would remove userName.
const whyNameless = "Clients cannot find a user without a userName. After an error without the reason, they send the request again."

// blockedIfAccepted blocks the check if the target accepts a request without a required attribute, which another check reports.
func blockedIfAccepted(t *T, request, reporter string, send func() *conformance.Response) {
	t.BlockedIf(func() string {
		if res := send(); res.OK() {
			return fmt.Sprintf("%s, which %s tests, returned %d", request, reporter, res.Status)
		}
		return ""
	})
}

// blockedIfNamelessCreated blocks the check if the target creates a user without userName.
func blockedIfNamelessCreated(ctx context.Context, t *T) {
	blockedIfAccepted(t, "POST /Users without userName", "create.missing-user-name", func() *conformance.Response {
		return t.Post(ctx, "/Users", t.User("control", doc{"userName": omit}))
	})
}

// blockedIfNamelessReplaced blocks the check if the target accepts a PUT of a user without userName.
func blockedIfNamelessReplaced(ctx context.Context, t *T) {
	blockedIfAccepted(t, "PUT /Users/{id} without userName", "put.required-missing", func() *conformance.Response {
		u := t.CreateUser(ctx, "nameless", nil)
		return t.Put(ctx, u.Path(), t.User("nameless", doc{"userName": omit}))
	})
}

func putNeverCreates(ctx context.Context, t *T) {
	path := "/Users/" + t.AbsentID()
	res := t.Put(ctx, path, t.User("upsert", nil))
	t.Holds(!res.OK(), "status of PUT of an unknown id", "404", res.Status)
	t.Warn(res.OK() || res.Status == 404, "status of PUT of an unknown id", "404", res.Status)
	after := t.Get(ctx, path)
	t.Holds(after.Status != 200, "status of GET after PUT of an unknown id", "404", after.Status)
}

func putConflict(ctx context.Context, t *T) {
	t.CreateUser(ctx, "taken", nil)
	u := t.CreateUser(ctx, "mine", nil)
	own := t.Put(ctx, u.Path(), t.User("mine", doc{"displayName": "Still Me"}))
	t.Expect("status of a PUT with the unchanged userName", 200, own.Status)
	res := t.Put(ctx, u.Path(), t.User("mine", doc{"userName": t.UserName("taken")}))
	t.Holds(res.Status == 409 || res.Status == 400, "status of a PUT with a userName in use", "409 (or 400)", res.Status)
	if kind := res.ScimType(); kind != "" {
		t.Warn(kind == "uniqueness", "scimType of a PUT with a userName in use", "uniqueness", kind)
	}
	t.Expect("userName read back "+afterRejection("PUT", res), t.UserName("mine"), value(t.Read(ctx, u.Path()).Object(), "userName"))
}
