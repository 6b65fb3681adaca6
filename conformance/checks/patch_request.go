package checks

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var patchRequest = []check{
	{
		ID:           "patch.response",
		Title:        "A successful PATCH returns 204, or 200 with the current resource",
		Requirements: reqs("RFC7644-3.5.2-29", "RFC7644-3.1-05"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Clients store the resource from the response; outdated attributes in it lead to wrong updates.",
		Fix:          "Return 204 without a body, or 200 with the complete new representation.",
		Run:          patchResponse,
	},
	{
		ID:           "patch.order",
		Title:        "All operations of a request are applied in the order in which they are listed",
		Requirements: reqs("RFC7644-3.5.2-25"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why: "Entra ID sends dozens of operations in one request; if the server applies them in another order, it stores an outdated " +
			"value.",
		Fix: "Apply every operation to the result of the previous one.",
		Run: patchOrder,
	},
	{
		ID:           "patch.atomic",
		Title:        "If one operation fails, no operation is applied",
		Requirements: reqs("RFC7644-3.5.2-28"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          whyUnchanged,
		Fix:          fixAtomic,
		Run:          patchAtomic,
	},
	{
		ID:           "patch.read-only",
		Title:        "PATCH of a readOnly attribute does not change the attribute and is rejected with 400 mutability",
		Requirements: reqs("RFC7644-3.5.2-17", "RFC7644-3.5.2-14"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "A changed id or creation time breaks every reference to the account.",
		Fix:          "If an operation names a readOnly attribute, return 400 with scimType mutability and change nothing.",
		Run:          patchReadOnly,
	},
	{
		ID:           "patch.unknown-id",
		Title:        "PATCH of an unknown id returns 404",
		Requirements: reqs("RFC7644-3.5.2-31"),
		Level:        should,
		Needs:        patches,
		Requests:     1,
		Why:          "After a 404, a client creates the account again; after another status, the user remains without an account.",
		Fix:          "Check whether the resource exists before validating the operations; if not, return 404.",
		Run: func(ctx context.Context, t *T) {
			expectError(t, t.Patch(ctx, "/Users/"+t.AbsentID(), doc{"op": "replace", "path": "displayName", "value": "x"}), 404)
		},
	},
	{
		ID:           "patch.invalid-path",
		Title:        "A path that violates the grammar is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-09", "RFC7644-3.5.2-12", "RFC7644-3.12-20"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "If the server guesses the meaning of a path, it changes the wrong attribute.",
		Fix:          "Parse the whole path before applying the operation, and return 400 with scimType invalidPath.",
		Run:          patchInvalidPath,
	},
	{
		ID:           "patch.message-schema",
		Title:        "A PATCH body without the PatchOp schema is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-02"),
		Level:        should,
		Needs:        patches,
		Requests:     6,
		Why:          "A server that ignores schemas may apply a body that the client meant for another request, such as a PUT.",
		Fix:          "Return 400 unless schemas contains urn:ietf:params:scim:api:messages:2.0:PatchOp. Return 400 also if schemas is absent.",
		Run:          patchMessageSchema,
	},
	{
		ID:           "patch.unknown-operation",
		Title:        "An operation with an op other than add, remove and replace is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-05", "RFC7644-3.5.2-04"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "After a success the client assumes that the resource has changed, and does not send the change again.",
		Fix:          "Return 400 with scimType invalidSyntax if op is not add, remove or replace.",
		Run:          patchOperationRejected(doc{"op": "move", "path": "displayName", "value": "x"}),
	},
	{
		ID:           "patch.empty-operation",
		Title:        "An operation with an empty string as op is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-05", "RFC7644-3.5.2-04"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "The server has to guess the operation, and may add a value instead of removing it.",
		Fix:          "Return 400 with scimType invalidSyntax if op is an empty string; do not use a default.",
		Run:          patchOperationRejected(doc{"op": "", "path": "displayName", "value": "x"}),
	},
	{
		ID:           "patch.absent-operation",
		Title:        "An operation without op is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-04", "RFC7644-3.5.2-05"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "The server has to guess the operation, and may add a value instead of removing it.",
		Fix:          "Return 400 with scimType invalidSyntax if op is absent; do not use a default.",
		Run:          patchOperationRejected(doc{"path": "displayName", "value": "x"}),
	},
	{
		ID:           "patch.op-ignores-case",
		Title:        "The operations Add, Replace and Remove are accepted with a capital letter",
		Requirements: reqs("RFC7644-3.5.2-06"),
		Level:        should,
		Needs:        patches,
		Requests:     4,
		Why:          "Entra ID sends Add, Replace and Remove unless its compliance flag is set; if they are rejected, no update succeeds.",
		Fix:          "Compare op case-insensitively.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "capital", doc{"displayName": "Before", "nickName": "Nick"})
			o := patched(ctx, t, u, doc{"op": "Replace", "path": "displayName", "value": "After"}, doc{"op": "Add", "path": "title", "value": "Sir"},
				doc{"op": "Remove", "path": "nickName"})
			t.Expect("displayName", "After", value(o, "displayName"))
			t.Expect("title", "Sir", value(o, "title"))
			t.Holds(!has(o, "nickName"), "nickName", "absent", value(o, "nickName"))
		},
	},
	{
		ID:           "patch.wrong-type",
		Title:        "A PATCH with a value of the wrong type, such as a string as name, is rejected with 400 and changes nothing",
		Requirements: reqs("RFC7644-3.5.2-34"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "If the server stores a string as name, which is a complex attribute, clients cannot parse the user.",
		Fix:          "Validate the value against the schema and return 400 invalidValue.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "twisted", nil)
			before := t.Read(ctx, u.Path()).Object()
			res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "name", "value": "Ada Lovelace"})
			expectError(t, res, 400, "invalidValue", "invalidSyntax", "invalidPath")
			t.Expect("name.familyName after the PATCH", value(before, "name.familyName"),
				value(t.Read(ctx, u.Path()).Object(), "name.familyName"))
		},
	},
	{
		ID:           "patch.accepts-json-media-type",
		Title:        "A PATCH sent as application/json is accepted",
		Requirements: reqs("RFC7644-3.8-07", "RFC7644-3.8-05"),
		Level:        should,
		Needs:        patches,
		Requests:     4,
		Why:          "Several identity providers send application/json; if the server rejects this media type, all their updates fail.",
		Fix:          "Accept application/json in addition to application/scim+json with every method, and ignore parameters of the media type.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "plain", nil)
			res := t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: u.Path(),
				Body: doc{"schemas": []string{scim.PatchOpMessage},
					"Operations": []doc{{"op": "replace", "path": "name.givenName", "value": "Ada"}}},
				Header: map[string][]string{"Content-Type": {"application/json; charset=utf-8"}, "Accept": {"application/json"}}})
			succeeded(t, res, 200, 204)
			t.Expect("name.givenName", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "patch.boolean-as-text",
		Title:        "A string that replaces the boolean active is rejected, or stored as a boolean",
		Requirements: reqs("RFC7643-2.3.2-01", "RFC7644-3.5.2-34"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why: "Entra ID sends \"False\" as a string unless its compliance flag is set. If the server stores the string, a typed client " +
			"cannot parse the user, and a program that tests for false treats the user as active.",
		Fix: "Convert the strings \"True\" and \"False\" to booleans, case-insensitively, or return 400 invalidValue.",
		Run: patchBooleanAsText,
	},
	{
		ID:           "patch.password",
		Title:        "The response to a PATCH of the password does not contain the password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7644-3.5.2.3-16"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Okta changes passwords by PATCH; proxies and logs store responses, and other users could read the password there.",
		Fix:          "Never include password in a representation.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "rekeyed", nil)
			res := t.Patch(ctx, u.Path(), doc{"op": "replace", "value": doc{"password": "Xy7!" + t.Prefix() + "pw"}})
			if supported, _ := t.Capabilities.Supports("changePassword"); supported {
				t.Warn(res.OK(), "status of a PATCH of password, while changePassword.supported is true", "200 or 204", res.Status)
			}
			t.SkipIf(!res.OK(), "the target does not accept a password by PATCH")
			t.Holds(!has(res.Object(), "password"), "password in the response to PATCH", "absent", "present")
			t.Holds(!has(t.Get(ctx, u.Path()).Object(), "password"), "password in GET after PATCH", "absent", "present")
		},
	},
}

// patchOperationRejected returns the Run function of a check that a PATCH with an invalid operation is rejected.
func patchOperationRejected(op doc) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		u := t.CreateUser(ctx, "jumbled", nil)
		expectError(t, t.Patch(ctx, u.Path(), op), 400, "invalidSyntax", "invalidValue")
	}
}

func patchResponse(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "answered", doc{"displayName": "Before"})
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "displayName", "value": "After"})
	succeeded(t, res, 200, 204)
	after := t.Read(ctx, u.Path()).Object()
	t.About(res)
	if res.Status == 204 {
		t.Expect("length of the body of the response with status 204", 0, len(res.Body))
		return
	}
	for _, name := range []string{"id", "userName", "displayName", "active", "emails"} {
		t.Expect(name+" in the response to PATCH, compared with GET", value(after, name), value(res.Object(), name))
	}
}

func patchMessageSchema(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "untyped", doc{"displayName": "Stays"})
	before := t.Read(ctx, u.Path()).Object()
	change := []doc{{"op": "replace", "path": "displayName", "value": "Changed"}}
	rejected := true
	for _, body := range []doc{{"schemas": []string{scim.UserSchema}, "Operations": change}, {"Operations": change}} {
		with := "without schemas"
		if _, given := body["schemas"]; given {
			with = "whose schemas contains only the User schema"
		}
		res := patchMessage(ctx, t, u.Path(), body)
		rejected = t.Expect("status of a PATCH "+with, 400, res.Status) && rejected
		if kind := res.ScimType(); res.Status == 400 && kind != "" {
			t.Warn(kind == "invalidSyntax" || kind == "invalidValue", "scimType of a PATCH "+with, "invalidSyntax or invalidValue", kind)
		}
	}
	after := t.Read(ctx, u.Path()).Object()
	if rejected {
		t.Expect("displayName after the rejected PATCH", value(before, "displayName"), value(after, "displayName"))
	}
}

func patchBooleanAsText(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "quoted", nil)
	before := value(t.Read(ctx, u.Path()).Object(), "active")
	t.SkipIf(before == nil, "the target does not return active")
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "active", "value": "False"})
	t.Holds(res.OK() || res.Status == 400, "status of a PATCH that replaces active with the string False", "200, 204 or 400", res.Status)
	got := value(t.Read(ctx, u.Path()).Object(), "active")
	if _, isBool := got.(bool); !t.Holds(isBool, "active after a PATCH with the string False", "a boolean", got) {
		return
	}
	if !res.OK() {
		t.Expect("active after a rejected PATCH with the string False", before, got)
	}
}

func patchOrder(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "sequence", doc{"displayName": "Zero",
		"name": doc{"givenName": "Conformance", "familyName": "Check", "middleName": "Zero"}})
	operations := []doc{
		{"op": "replace", "path": "displayName", "value": "One"},
		{"op": "add", "path": "nickName", "value": "Nick"},
		{"op": "replace", "path": "displayName", "value": "Two"},
		{"op": "remove", "path": "nickName"},
	}
	hasMiddleName := value(u.Resource, "name.middleName") == "Zero"
	if hasMiddleName {
		operations = append(operations, doc{"op": "remove", "path": "name.middleName"},
			doc{"op": "add", "path": "name.middleName", "value": "King"})
	}
	o := patched(ctx, t, u, append(operations, doc{"op": "add", "path": "title", "value": "Last"})...)
	t.Expect("displayName, replaced twice", "Two", value(o, "displayName"))
	t.Holds(!has(o, "nickName"), "nickName, added and then removed", "absent", value(o, "nickName"))
	if hasMiddleName {
		t.Expect("name.middleName, removed and then added", "King", value(o, "name.middleName"))
	}
	t.Expect("title, added by the last operation", "Last", value(o, "title"))
}

func patchAtomic(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "atom", doc{"displayName": "Before"})
	before := t.Read(ctx, u.Path()).Object()
	res := t.Patch(ctx, u.Path(),
		doc{"op": "replace", "path": "displayName", "value": "After"},
		doc{"op": "remove"})
	t.SkipIf(res.OK(), "the target does not reject the operation remove without a path, which another check reports")
	t.Expect("displayName "+afterRejection("PATCH", res), value(before, "displayName"), value(t.Read(ctx, u.Path()).Object(), "displayName"))
}

func patchReadOnly(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "fixed", nil)
	for _, op := range []doc{
		{"op": "replace", "path": "id", "value": t.Prefix() + "other-id"},
		{"op": "replace", "path": "meta.created", "value": "1999-12-31T23:59:59Z"},
	} {
		res := t.Patch(ctx, u.Path(), op)
		t.Expect("status of PATCH of "+op["path"].(string), 400, res.Status)
		if kind := res.ScimType(); res.Status == 400 && kind != "" {
			t.Warn(kind == "mutability", "scimType of PATCH of "+op["path"].(string), "mutability", kind)
		}
	}
	res := t.Get(ctx, u.Path())
	t.Require("status of GET by the old id", 200, res.Status)
	t.Expect("id", u.ID, value(res.Object(), "id"))
	t.Expect("meta.created", value(u.Resource, "meta.created"), value(res.Object(), "meta.created"))
}

func patchInvalidPath(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "lost", nil)
	for _, path := range []string{`emails[type eq "work"`, `emails[type eq].value`, `displayName..x`} {
		res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": path, "value": "x"})
		t.Expect("status of PATCH with the path "+path, 400, res.Status)
		if kind := res.ScimType(); res.Status == 400 && kind != "" {
			t.Warn(kind == "invalidPath" || kind == "invalidFilter", "scimType of PATCH with the path "+path, "invalidPath or invalidFilter", kind)
		}
	}
}
