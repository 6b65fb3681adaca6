package checks

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// The checks of this file test requests that the RFCs do not require a server to accept, or do not define, but that known clients send. A
// run without profiles contains them, because without these requests the provisioning of the client stops or loses data.

var createForms = []check{
	{
		ID:           "create.no-emails",
		Title:        "A user without an email address is created",
		Requirements: reqs("RFC7643-8.7.1-08", "RFC7644-3.3-05"),
		Level:        interop,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Directories contain users without a mailbox; clients cannot create their accounts if an email address is required.",
		Fix:          "Make emails optional, or declare emails as required in /Schemas, so that administrators learn the requirement.",
		Run: func(ctx context.Context, t *T) {
			definition := element(t.Capabilities.Schema(scim.UserSchema), "attributes", "name", "emails")
			required, _ := definition.Bool("required")
			t.SkipIf(required, "the target's schema declares emails as required")
			res := t.Post(ctx, "/Users", t.User("mailless", doc{"emails": omit}))
			t.Expect("status of a POST of a user without emails", 201, res.Status)
		},
	},
	{
		ID:           "create.extension-without-data",
		Title:        "A POST whose schemas names the enterprise extension is accepted if the body has no data of the extension",
		Requirements: reqs("RFC7643-3.3-03", "RFC7644-3.3-05"),
		Level:        interop,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedEnterprise),
		Requests:     2,
		Why:          "Entra ID names the enterprise extension in every create, also for users who have no department and no manager.",
		Fix:          "Accept the URN of an extension of the resource type in schemas whether or not the body contains the extension.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Users", t.User("named-only", doc{"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema}}))
			t.Expect("status of a POST whose schemas names an extension without data", 201, res.Status)
		},
	},
}

var filterForms = []check{
	{
		ID:           "filter.external-id",
		Title:        "A filter on externalId with eq finds the user",
		Requirements: reqs("RFC7644-3.4.2.2-60", "RFC7643-3.1-15"),
		Level:        interop,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     3,
		Why:          "Clients that link accounts by externalId do not find the user, and create the account a second time.",
		Fix:          "Store externalId, create an index for it, and support the operator eq on it, compared case-sensitively.",
		Run: func(ctx context.Context, t *T) {
			id := t.Prefix() + "Linked"
			u := prepared(ctx, t, doc{"externalId": id})
			res := t.Get(ctx, "/Users", "filter", "externalId eq "+quote(id))
			t.Require("status of a GET with a filter on externalId", 200, res.Status)
			t.Expect("ids of the users found by externalId", []string{u.ID}, res.IDs())
		},
	},
	{
		ID:           "filter.value-path-accepted",
		Title:        "A filter with a value path, such as emails[type eq \"work\"], is accepted",
		Requirements: reqs("RFC7644-3.4.2.2-34"),
		Level:        may,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     3,
		Why:          "Entra ID can match users by the email address of type work; without value paths, it finds no user by that address.",
		Fix:          "Support filters in square brackets, such as emails[type eq \"work\" and value eq \"ada@example.com\"].",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "bracketed", nil)
			res := t.Get(ctx, "/Users", "filter", `emails[type eq "work" and value eq `+quote(t.UserName("bracketed"))+`]`)
			t.Require("status of a GET with a value path in the filter", 200, res.Status)
			t.Expect("ids of the users found by the value path", []string{u.ID}, res.IDs())
		},
	},
}

var patchForms = []check{
	{
		ID:           "patch.boolean-text-accepted",
		Title:        "The string \"False\" as the new value of active deactivates a user",
		Requirements: reqs("RFC7643-2.3.2-01"),
		Level:        interop,
		Needs:        patches,
		Requests:     4,
		Why: "Entra ID sends \"False\" as a string unless its compliance flag is set; if the server rejects or ignores the string, the " +
			"accounts of users who leave remain active.",
		Fix: "Convert the strings \"True\" and \"False\" to booleans in the values of PATCH operations, case-insensitively.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "leaving", nil)
			succeeded(t, t.Patch(ctx, u.Path(), doc{"op": "Replace", "path": "active", "value": "False"}), 200, 204)
			got := value(t.Read(ctx, u.Path()).Object(), "active")
			// A stored string is not a finding here: the check patch.boolean-as-text reports it.
			t.Holds(got == false || got == "False" || got == "false" || got == nil, "active after a PATCH with the string False", "false", got)
		},
	},
	{
		ID:           "patch.dotted-keys-accepted",
		Title:        "In an operation without a path, a member name such as name.givenName changes the sub-attribute",
		Requirements: reqs("RFC7644-3.5.2.1-15"),
		Level:        interop,
		Needs:        patches,
		Requests:     4,
		Why: "Entra ID with its compliance flag sends a changed given name or family name in this form; if the server rejects the form, the " +
			"whole update is lost.",
		Fix: "In an operation without a path, resolve each member name of the value in the same way as a path.",
		Run: func(ctx context.Context, t *T) {
			o := patched(ctx, t, t.CreateUser(ctx, "dotted", nil), doc{"op": "replace", "value": doc{"name.givenName": "Ada"}})
			t.Expect("name.givenName", "Ada", value(o, "name.givenName"))
		},
	},
	{
		ID: "patch.add-creates-element",
		Title: "A PATCH add with a filter in the path that matches no element, such as emails[type eq \"work\"].value, creates the " +
			"element",
		Requirements: reqs("RFC7644-3.5.2.1-14"),
		Level:        interop,
		Needs:        patches,
		Requests:     4,
		Why: "Entra ID adds an email address or a phone number in this form; if the server rejects it, the user never has the address, " +
			"and every cycle sends the request again.",
		Fix: "If no element matches the filter in the path of an add, create one: emails[type eq \"work\"].value creates an element with " +
			"type work.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "reached", doc{"emails": omit})
			// A target may derive an address from userName. If the derived address has the type work, the filter matches it.
			derived := values(u.Resource, "emails", "value")
			t.SkipIf(element(u.Resource, "emails", "type", "work") != nil, "the target adds an address of type work to a user without one")
			o := patched(ctx, t, u, doc{"op": "add", "path": `emails[type eq "work"].value`, "value": t.UserName("work")})
			got := values(o, "emails", "value")
			if len(derived) == 0 {
				t.Expect("emails.value", []string{t.UserName("work")}, got)
			} else { // the target may keep or replace the derived address
				t.Holds(slices.Contains(got, t.UserName("work")), "emails.value", "with "+t.UserName("work"), got)
			}
			t.Expect("type of the new email address", "work", value(element(o, "emails", "value", t.UserName("work")), "type"))
		},
	},
	{
		ID:           "patch.manager-as-text",
		Title:        "A PATCH that sets manager to a string with the id of a user sets manager.value",
		Requirements: reqs("RFC7643-8.7.1-19", "RFC7643-4.3-02"),
		Level:        interop,
		Needs:        append(slices.Clone(patches), conformance.NeedEnterprise),
		Requests:     6,
		Why: "Entra ID sends the id of the manager as a string instead of an object; if the server rejects it, the manager and all other " +
			"changes in the request are lost.",
		Fix: "Accept a string as the value of manager, and store the string as manager.value.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(undeclared(t, scim.EnterpriseUserSchema, "manager"), "the target's schema does not have manager")
			boss := t.CreateUser(ctx, "boss", nil)
			u := prepared(ctx, t, extended(doc{"department": "Quay"}))
			o := patched(ctx, t, u, doc{"op": "add", "path": ext + "manager", "value": boss.ID})
			t.Expect("manager.value", boss.ID, look(o, "@manager.value"))
		},
	},
}

var groupForms = []check{
	{
		ID:           "groups.rename-with-id",
		Title:        "A PATCH that renames a group is accepted if its value also contains the id of the group",
		Requirements: reqs("RFC7644-3.5.2-18", "RFC7644-3.5.2.3-02"),
		Level:        interop,
		Needs:        needs(conformance.NeedWrite, conformance.NeedGroup, conformance.NeedPatch),
		Requests:     4,
		Why: "Okta includes the id in this request; if the server rejects it, the group keeps its old name, and the client stops the " +
			"synchronization of the group.",
		Fix: "Ignore a readOnly attribute in the value if it is equal to the stored value.",
		Run: func(ctx context.Context, t *T) {
			g := t.CreateGroup(ctx, "old-name", nil)
			o := patched(ctx, t, g, doc{"op": "replace", "value": doc{"id": g.ID, "displayName": t.Prefix() + "new-name"}})
			t.Expect("displayName", t.Prefix()+"new-name", value(o, "displayName"))
			t.Expect("id", g.ID, value(o, "id"))
		},
	},
	memberCell{
		id:     "patch-remove-list",
		title:  "PATCH remove of members with a list as value removes only the members in the list, or is rejected",
		reqs:   reqs("RFC7644-3.5.2.2-12"),
		level:  interop,
		before: []string{"ann", "ben", "cat"},
		after:  []string{"ann", "cat"},
		ops: func(id func(string) string) []doc {
			return []doc{{"op": "remove", "path": "members", "value": memberList(id("ben"))}}
		},
		mayReject: true,
	}.check(),
	memberCell{
		id:     "patch-null-reference",
		title:  "PATCH add of a member whose $ref is null adds the member",
		reqs:   reqs("RFC7643-2.5-01", "RFC7644-3.5.2.1-07"),
		level:  interop,
		before: []string{"ann"},
		after:  []string{"ann", "ben"},
		ops: func(id func(string) string) []doc {
			return []doc{{"op": "add", "path": "members", "value": []doc{{"$ref": nil, "value": id("ben")}}}}
		},
	}.check(),
}
