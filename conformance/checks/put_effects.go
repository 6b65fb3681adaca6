package checks

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var putEffects = []check{
	{
		ID:           "put.round-trip",
		Title:        "A PUT of the response to GET changes nothing",
		Requirements: reqs("RFC7644-3.5.1-02", "RFC7644-3.1-06"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Okta reads a user, changes an attribute and sends the whole resource back; all other attributes must not change.",
		Fix:          "Ignore readOnly and unknown attributes in a PUT.",
		Run:          putRoundTrip,
	},
	{
		ID:           "put.twice",
		Title:        "Two identical PUT requests have the same result as one",
		Requirements: reqs("RFC7644-3.5.1-03", "RFC7644-3.5.1-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "Clients repeat a PUT after a timeout; if the server appends values, the user has each value twice.",
		Fix:          "Replace each stored list with the list in the body; do not append to it.",
		Run:          putTwice,
	},
	{
		ID:           "put.omitted",
		Title:        "A PUT clears the attributes that it omits",
		Requirements: reqs("RFC7644-3.5.1-05"),
		Level:        may,
		Needs:        writesUsers,
		Requests:     4,
		Why: "RFC 7644 permits a server to clear or to keep the attributes that a PUT omits; a client that expects the other behavior " +
			"loses data or leaves outdated data.",
		Fix: "Clear attributes that a PUT omits, or document what the server does.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, doc{"nickName": "Nick"})
			succeeded(t, t.Put(ctx, u.Path(), t.User("cell", nil)), 200)
			o := t.Read(ctx, u.Path()).Object()
			t.Holds(!has(o, "nickName"), "nickName after a PUT without it", "absent", value(o, "nickName"))
		},
	},
	{
		ID:           "put.other-id",
		Title:        "A different id in the body of a PUT does not change the id",
		Requirements: reqs("RFC7643-7-17", "RFC7644-3.5.1-17", "RFC7644-3.5.1-11"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "A changed id breaks every reference to the account.",
		Fix:          "Use the id in the path; ignore an id in the body, or return 400 if it differs.",
		Run:          putOtherID,
	},
	{
		ID:           "put.extension",
		Title:        "A PUT replaces the data of an extension",
		Requirements: reqs("RFC7644-3.5.1-18", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     4,
		Why:          "Department and cost center change with every transfer of a user; outdated values send approvals to the wrong manager.",
		Fix:          "Replace the members of the extension object in the same way as core attributes.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, extended(doc{"department": "Old", "costCenter": "1"}))
			succeeded(t, t.Put(ctx, u.Path(), t.User("cell", extended(doc{"department": "New", "costCenter": "2"}))), 200)
			o := t.Read(ctx, u.Path()).Object()
			t.Expect("department", "New", look(o, "@department"))
			t.Expect("costCenter", "2", look(o, "@costCenter"))
		},
	},
	{
		ID:           "put.extension-null",
		Title:        "null for an extension attribute in a PUT clears it",
		Requirements: reqs("RFC7644-3.5.1-18", "RFC7644-3.5.1-06"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     4,
		Why:          "Clients clear a value with null; if the value remains, the user keeps an outdated department or manager.",
		Fix:          "Remove a value for which the body has null, in extensions too.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, extended(doc{"department": "Old", "costCenter": "1"}))
			succeeded(t, t.Put(ctx, u.Path(), t.User("cell", extended(doc{"department": nil, "costCenter": "1"}))), 200)
			o := t.Read(ctx, u.Path()).Object()
			t.Holds(look(o, "@department") == nil, "department", "absent", look(o, "@department"))
			t.Expect("costCenter", "1", look(o, "@costCenter"))
		},
	},
	{
		ID:           "put.extension-added",
		Title:        "A PUT can add extension data to a user, and schemas then contains the URN of the extension",
		Requirements: reqs("RFC7644-3.5.1-18", "RFC7643-3-06"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     4,
		Why:          "If extension data can be set only on creation, clients have to delete and create users to add it.",
		Fix:          "Accept extension data in every POST, PUT and PATCH, and add the URN of the extension to schemas.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "cell", nil)
			succeeded(t, t.Put(ctx, u.Path(), t.User("cell", extended(doc{"department": "New"}))), 200)
			o := t.Read(ctx, u.Path()).Object()
			t.Expect("department", "New", look(o, "@department"))
			t.Holds(slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas", scim.EnterpriseUserSchema+" in the list",
				value(o, "schemas"))
		},
	},
	{
		ID:           "put.rename",
		Title:        "A PUT changes userName, and the user is found only by the new name",
		Requirements: reqs("RFC7644-3.5.1-03", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     6,
		Why:          "Users are renamed; a client that does not find the account by its new name creates a duplicate.",
		Fix:          "Accept a new userName in a PUT, and update the index that filters by userName use.",
		Run:          putRename,
	},
	{
		ID:           "put.external-id",
		Title:        "A PUT changes externalId and preserves its case",
		Requirements: reqs("RFC7643-3.1-17", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "A new identity provider links accounts by a new externalId; if the server ignores it, duplicates are created.",
		Fix:          "Store externalId like any readWrite attribute.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, doc{"externalId": "old-Id"})
			succeeded(t, t.Put(ctx, u.Path(), t.User("cell", doc{"externalId": "new-ID"})), 200)
			t.Expect("externalId", "new-ID", value(t.Read(ctx, u.Path()).Object(), "externalId"))
		},
	},
	{
		ID:           "put.active",
		Title:        "A PUT deactivates and reactivates a user",
		Requirements: reqs("RFC7643-4.1.1-12", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "Okta apps without PATCH deactivate users by PUT; if active is ignored, former users still have access.",
		Fix:          "Store active as a boolean, and return inactive users in the response to GET.",
		Run:          putActive,
	},
	{
		ID:           "put.null-required",
		Title:        "null for userName in a PUT is rejected and changes nothing",
		Requirements: reqs("RFC7644-3.5.1-12", "RFC7643-2.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          whyNameless,
		Fix:          "Treat null as an absent member before validating required attributes.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "needed", nil)
			blockedIfNamelessReplaced(ctx, t)
			expectError(t, t.Put(ctx, u.Path(), t.User("needed", doc{"userName": nil})), 400, "invalidValue", "invalidSyntax", "mutability")
			t.Expect("userName", t.UserName("needed"), value(t.Read(ctx, u.Path()).Object(), "userName"))
		},
	},
	{
		ID:           "put.names-ignore-case",
		Title:        "Attribute names in a PUT are case-insensitive, and so is the URN of an extension",
		Requirements: reqs("RFC7643-2.1-01", "RFC7644-3.10-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "Some clients write names in another case; a server that compares case-sensitively ignores these values, or deletes them.",
		Fix:          "Look up attributes and URNs case-insensitively when reading the body of a PUT, in the same way as that of a POST.",
		Run:          putNamesIgnoreCase,
	},
	{
		ID:           "put.keeps-groups",
		Title:        "A PUT of a user does not remove the user from its groups if the body has no attribute groups",
		Requirements: reqs("RFC7643-4.1.2-13", "RFC7644-3.5.1-11"),
		Level:        must,
		Needs:        writesGroups,
		Requests:     6,
		Why: "Clients that update profiles by PUT do not send the readOnly groups; if the server removes the user from all groups, the user " +
			"loses access.",
		Fix: "Change memberships only through the group, not by a PUT of a user.",
		Run: func(ctx context.Context, t *T) {
			g, users := team(ctx, t, 1, "ann")
			succeeded(t, t.Put(ctx, users["ann"].Path(), t.User("ann", nil)), 200)
			t.Expect("members of the group after a PUT of its member without groups", []string{users["ann"].ID}, membersOf(ctx, t, g.Path()))
		},
	},
	{
		ID:           "put.wrong-type",
		Title:        "A value of the wrong type in a PUT is rejected and changes nothing",
		Requirements: reqs("RFC7644-3.5.1-15", "RFC7643-2.3-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients expect an object as name; if the server stores a string, clients cannot parse the user.",
		Fix:          "Validate the body of a PUT in the same way as that of a POST.",
		Run:          putWrongType,
	},
	{
		ID:           "put.two-primaries",
		Title:        "Two primary values in a PUT do not both remain primary",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "With two primary addresses, it is undefined which one receives email.",
		Fix:          "Return 400 invalidValue, or leave only one of them primary.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "torn", nil)
			res := t.Put(ctx, u.Path(),
				t.User("torn",
					doc{
						"emails": []doc{{"value": t.UserName("one"), "type": "work", "primary": true},
							{"value": t.UserName("two"), "type": "home", "primary": true}}}))
			t.Holds(res.OK() || res.Status == 400, "status of a PUT with two primary values", "200, or 400", res.Status)
			n := primaries(t.Read(ctx, u.Path()).Object(), "emails")
			t.Holds(n <= 1, "number of primary emails", "at most 1", n)
		},
	},
	{
		ID:           "put.address",
		Title:        "The response to a PUT has the id of the resource, and its location, creation time and resource type in meta",
		Requirements: reqs("RFC7644-3.5.1-13", "RFC7643-3.1-24", "RFC7643-3.1-18"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients store the resource from the response; without id and location, they cannot change it later.",
		Fix:          "Return the same representation as GET.",
		Run:          putAddress,
	},
}

func putRoundTrip(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "returned", twoEmails(t))
	before := t.Read(ctx, u.Path()).Object()
	res := t.Put(ctx, u.Path(), before.AppendJSON(nil))
	t.Require("status of a PUT of the response to GET", 200, res.Status)
	after := t.Read(ctx, u.Path()).Object()
	for _, name := range []string{"id", "userName", "name", "active", "externalId", "meta.created"} {
		t.Expect(name+" after a PUT of the response to GET", value(before, name), value(after, name))
	}
	t.Expect("emails.value after a PUT of the response to GET", values(before, "emails", "value"), values(after, "emails", "value"))
}

func putTwice(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "twice", nil)
	body := t.User("twice", doc{"emails": []doc{{"value": t.UserName("one"), "type": "work"}, {"value": t.UserName("two"), "type": "home"}}})
	for range 2 {
		succeeded(t, t.Put(ctx, u.Path(), body), 200)
		t.Expect("emails.value read back", addresses(t, "one", "two"), values(t.Read(ctx, u.Path()).Object(), "emails", "value"))
	}
}

func putOtherID(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "fixed", nil)
	res := t.Put(ctx, u.Path(), t.User("fixed", doc{"id": "scimconf-other-id"}))
	if !res.OK() {
		t.Inform("status of a PUT with another id", "200", res.Status)
		t.Holds(res.Status < 500, "status of a PUT with another id", "200, or 400", res.Status)
	}
	after := t.Get(ctx, u.Path())
	t.Require("status of GET by the original id", 200, after.Status)
	t.Expect("id", u.ID, value(after.Object(), "id"))
}

func putRename(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "maiden", nil)
	succeeded(t, t.Put(ctx, u.Path(), t.User("married", nil)), 200)
	o := t.Read(ctx, u.Path()).Object()
	if t.Expect("userName", t.UserName("married"), value(o, "userName")) {
		blockedIfLookupFails(ctx, t)
	}
	t.Expect("ids of the users found by the new name", []string{u.ID},
		t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("married"))).IDs())
	t.Expect("number of users found by the old name", 0,
		len(t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("maiden"))).IDs()))
}

func putNamesIgnoreCase(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "shouting", nil)
	succeeded(t, t.Put(ctx, u.Path(), t.User("shouting", doc{"name": omit, "Name": doc{"GIVENNAME": "Ada", "familyname": "Case"}})), 200)
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("name.givenName of a user sent as Name.GIVENNAME", "Ada", value(o, "name.givenName"))
	t.Expect("name.familyName of a user sent as Name.familyname", "Case", value(o, "name.familyName"))
	if !t.Capabilities.Extended() || undeclared(t, scim.EnterpriseUserSchema, "department") {
		return
	}
	succeeded(t, t.Put(ctx, u.Path(), t.User("shouting", extendedInCapitals(doc{"department": "Engines"}))), 200)
	t.Expect("department of a user sent with the URN in capitals", "Engines", look(t.Read(ctx, u.Path()).Object(), "@department"))
}

func putActive(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "leaver", nil)
	for _, active := range []bool{false, true} {
		succeeded(t, t.Put(ctx, u.Path(), t.User("leaver", doc{"active": active})), 200)
		res := t.Get(ctx, u.Path())
		t.Require("status of GET after a PUT of active", 200, res.Status)
		t.Expect("active", active, value(res.Object(), "active"))
	}
}

func putWrongType(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "typed", nil)
	res := t.Put(ctx, u.Path(), t.User("typed", doc{"name": "Ada Byron"}))
	t.Warn(res.Status == 400, "status of a PUT with a string as name", "400", res.Status)
	got := value(t.Read(ctx, u.Path()).Object(), "name")
	_, isObject := got.(*scim.Object)
	t.Holds(isObject || got == nil && res.OK(), "name after the PUT", "unchanged", got)
}

func putAddress(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "located", nil)
	res := t.Put(ctx, u.Path(), t.User("located", nil))
	succeeded(t, res, 200)
	t.Expect("id in the response", u.ID, value(res.Object(), "id"))
	for _, name := range []string{"meta.location", "meta.created", "meta.resourceType"} {
		if was := value(u.Resource, name); was != nil {
			t.Expect(name+" in the response, compared with the response to POST", was, value(res.Object(), name))
		}
	}
}
