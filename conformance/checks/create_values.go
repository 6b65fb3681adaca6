package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// roundTrip returns a check that a GET returns the attributes of a POST as sent. The attributes belong to the schema with the given URN.
func roundTrip(id, title, urn string, n []conformance.Need, sent doc) check {
	return check{
		ID:           "create." + id,
		Title:        title,
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-2.3.1-01", "RFC7643-7-23"),
		Level:        must,
		Needs:        n,
		Requests:     3,
		Why:          "If the server loses an attribute, the client sends it again in every synchronization, without effect.",
		Fix:          "Store and return every attribute that the schema lists, or remove it from the schema.",
		Run: func(ctx context.Context, t *T) {
			extra := sent
			if urn != scim.UserSchema {
				extra = extended(sent)
			}
			res := t.Post(ctx, "/Users", t.User("whole", extra))
			t.SkipIf(res.Status >= 400 && res.Status < 500, "the target rejects the attributes of this check with a 4xx status, by rules of its own")
			succeeded(t, res, 201)
			o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
			if urn != scim.UserSchema {
				o = o.Complex(urn)
			}
			compareStored(t, urn, sent, o)
		},
	}
}

// wrongKind returns a check that values of the wrong JSON type are rejected or not stored as sent. It sends each of the wrong values; fits
// reports whether a value that a GET returns has the right type.
func wrongKind(id, title, attribute string, requests int, fits func(v any) bool, wrong ...any) check {
	return check{
		ID:           "create." + id,
		Title:        title,
		Requirements: reqs("RFC7643-2.3-02", "RFC7644-3.3-11"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     requests,
		Why:          "A client that expects the type of the schema cannot parse a user with a value of another type.",
		Fix:          "Check the JSON type of every value against the schema; return 400 invalidValue for another type.",
		Run: func(ctx context.Context, t *T) {
			for i, v := range wrong {
				res := t.Post(ctx, "/Users", t.User(fmt.Sprint("kind", i), doc{attribute: v}))
				what := attribute + " after a POST with " + jsonText(plain(v))
				if !res.OK() {
					t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with "+jsonText(plain(v))+" as "+attribute,
						"400, or 201 with a value of the right type", res.Status)
					continue
				}
				got := value(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), attribute)
				t.Holds(got == nil || fits(got), what, "absent, or of the right type", got)
			}
		},
	}
}

var createValues = []check{
	roundTrip("core-attributes", "Every single-valued attribute of the User schema is returned as sent", scim.UserSchema, writesUsers,
		doc{
			"displayName": "Ada Byron", "nickName": "Ada", "title": "Countess", "userType": "Employee", "preferredLanguage": "en-GB",
			"locale": "en-GB", "timezone": "Europe/London",
			"profileUrl": "https://example.com/ada",
			"name": doc{"formatted": "Dr. Ada King Byron III", "familyName": "Byron", "givenName": "Ada", "middleName": "King",
				"honorificPrefix": "Dr.", "honorificSuffix": "III"},
		}),
	roundTrip("multi-valued-attributes", "phoneNumbers, ims, photos, entitlements and roles of a user are returned as sent", scim.UserSchema,
		writesUsers, doc{
			"phoneNumbers": []doc{{"value": "tel:+1-201-555-0123", "type": "work", "display": "Office", "primary": true},
				{"value": "tel:+1-201-555-0124", "type": "mobile"}},
			"ims":          []doc{{"value": "ada", "type": "xmpp"}},
			"photos":       []doc{{"value": "https://example.com/ada.jpg", "type": "photo", "display": "Portrait"}},
			"entitlements": []doc{{"value": "engines", "type": "use", "display": "Use of engines", "primary": true}},
			"roles":        []doc{{"value": "mathematician", "type": "main"}},
		}),
	roundTrip("certificates", "The certificates of a user are returned as sent", scim.UserSchema, writesUsers,
		doc{"x509Certificates": []doc{{"value": certificate}}}),
	roundTrip("addresses", "An address is returned with all its sub-attributes", scim.UserSchema, writesUsers, doc{
		"addresses": []doc{
			{"type": "work", "streetAddress": "12 St James's Square\nSecond floor", "locality": "London", "region": "LDN", "postalCode": "SW1Y 4JH",
				"country": "GB", "formatted": "12 St James's Square\nLondon"}},
	}),
	roundTrip("enterprise-attributes", "Every string attribute of the enterprise extension is returned as sent", scim.EnterpriseUserSchema,
		append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		// The zeros at the start are lost if a server stores the string as a number.
		doc{"employeeNumber": "00701984", "costCenter": "0413", "organization": "Universal Studios", "division": "Theme Park",
			"department": "Tour Operations"}),
	{
		ID:           "create.manager",
		Title:        "The manager of a user is returned with the value that was sent; $ref, if present, is the URI of the manager",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-4.3-02"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     5,
		Why:          "Applications send approval requests to the manager; with a wrong manager.value, no user or the wrong user receives them.",
		Fix:          "Store manager.value as sent; return as manager.$ref the URI of that user, such as https://example.com/v2/Users/42.",
		Run:          createManager,
	},
	{
		ID:           "create.manager-name",
		Title:        "A manager.displayName in a POST does not set the name of the manager",
		Requirements: reqs("RFC7643-7-17", "RFC7643-4.3-04"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     5,
		Why:          "Applications show the name of the approver from manager.displayName; a client could write the name of another user there.",
		Fix:          "Ignore the readOnly manager.displayName in request bodies; derive it from the user that manager.value names, or omit it.",
		Run:          createManagerName,
	},
	{
		ID:           "create.extension-urn-case",
		Title:        "The URN of an extension in a POST is case-insensitive",
		Requirements: reqs("RFC7644-3.10-03", "RFC7643-2.1-01"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     3,
		Why:          "If the server ignores an extension because of the case of its URN, the user has no department and no manager.",
		Fix:          "Compare URNs case-insensitively when reading a body.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(undeclared(t, scim.EnterpriseUserSchema, "department"), "the target's schema does not have department")
			res := t.Post(ctx, "/Users", t.User("capitals", extendedInCapitals(doc{"department": "Engines"})))
			succeeded(t, res, 201)
			o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
			t.Expect("department of a user sent with the URN in capitals", "Engines", look(o, "@department"))
		},
	},
	{
		ID:           "create.outer-spaces",
		Title:        "A displayName with spaces at both ends is stored unchanged, ignored or rejected",
		Requirements: reqs("RFC7643-2.3.1-01"),
		// The level is May, because RFC 7644 section 3.3 permits servers to change the content of a POST. traffic.no-server-errors reports a
		// server error.
		Level:    may,
		Needs:    writesUsers,
		Requests: 3,
		Why:      "If the server removes the spaces, the client finds a difference in every synchronization, and updates the user each time.",
		Fix:      "Store strings unchanged, or return 400 invalidValue.",
		Run:      createOuterSpaces,
	},
	{
		ID:           "create.odd-user-name",
		Title:        "A userName with plus and percent signs, quotes and letters of any script is stored and found by a filter, or rejected",
		Requirements: reqs("RFC7643-2.3.1-01", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     4,
		Why:          "Some users have names with these characters; if a lookup does not find the user, the client creates a duplicate.",
		Fix: "Decode the percent-encoding of the URL exactly once, and then read the operands of the filter as JSON strings, with the escapes " +
			"\\\" and \\\\.",
		Run: createOddUserName,
	},
	{
		ID:           "create.long-text",
		Title:        "A displayName of 1,998 characters is stored whole, ignored or rejected",
		Requirements: reqs("RFC7643-2.3.1-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "If a value is truncated without an error, no client or administrator notices the wrong value.",
		Fix:          "Return 400 if a string is longer than its database column; do not truncate it.",
		Run:          createLongText,
	},
	{
		ID:           "create.many-emails",
		Title:        "Fifty email addresses are stored, or rejected",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-2.4-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "If the server drops addresses without an error, users receive no email at these addresses.",
		Fix:          "Store all email addresses, or return 400 if there are more than the server can store.",
		Run:          createManyEmails,
	},
	{
		ID:           "create.null-user-name",
		Title:        "A user whose userName is null is rejected with 400",
		Requirements: reqs("RFC7643-4.1.1-01", "RFC7643-2.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     1,
		Why:          "An account without a name cannot be found, linked or used to log in.",
		Fix:          "Treat null like an absent member before checking required attributes.",
		Run: func(ctx context.Context, t *T) {
			blockedIfNamelessCreated(ctx, t)
			expectError(t, t.Post(ctx, "/Users", t.User("null", doc{"userName": nil})), 400, "invalidValue", "invalidSyntax")
		},
	},
	{
		ID:           "create.no-schemas",
		Title:        "A user without schemas is rejected, or gets the schema of the endpoint",
		Requirements: reqs("RFC7643-3-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     1,
		Why:          "Clients that interpret a resource by its schemas cannot read a user without them.",
		Fix:          "Return 400 invalidSyntax or invalidValue for a body without schemas, or store the user with the User schema in schemas.",
		Run:          createNoSchemas,
	},
	{
		ID:           "create.unknown-schema",
		Title:        "A URI in schemas that the resource type does not declare is rejected or removed, and not returned",
		Requirements: reqs("RFC7643-3-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why: "Entra ID sends schema URIs that no server declares; if they are returned, other clients assume that the server " +
			"supports them.",
		Fix: "Remove from schemas each URI that /ResourceTypes does not list for the resource type, or return 400.",
		Run: createUnknownSchema,
	},
	{
		ID:           "create.unnamed-extension",
		Title:        "Extension data whose URN is not in schemas is rejected, removed, or returned with the URN in schemas",
		Requirements: reqs("RFC7643-3-06"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     3,
		Why:          "Clients ignore extension data whose URN is not in schemas, so the user lacks this data.",
		Fix:          "In schemas, include the URN of every extension that has data.",
		Run:          createUnnamedExtension,
	},
	{
		ID:           "create.unknown-attribute",
		Title:        "An attribute that no schema defines is ignored or rejected, and not returned",
		Requirements: reqs("RFC7644-3.3-13"),
		Level:        interop,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Strict clients reject a resource with attributes that the schema does not list.",
		Fix:          "Ignore unknown attributes, or return 400.",
		Run:          createUnknownAttribute,
	},
	wrongKind("kind-text", "Numbers, arrays and objects are not stored in displayName", "displayName", 3, isText, 5,
		[]string{"x"}, doc{"value": "x"}),
	wrongKind("kind-boolean", "Numbers and objects are not stored in active", "active", 2,
		func(v any) bool { _, ok := v.(bool); return ok }, 5, doc{"value": true}),
	wrongKind("kind-complex", "Numbers and arrays are not stored in name", "name", 2,
		func(v any) bool { _, ok := v.(*scim.Object); return ok }, 5, []string{"x"}),
	wrongKind("kind-list", "Strings and arrays of numbers are not stored in emails", "emails", 4, func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { _, isObject := e.(*scim.Object); return !isObject })
	}, "x", []int{5}),
	{
		ID:           "create.failed-creates-nothing",
		Title:        "A POST that is rejected creates no user",
		Requirements: reqs("RFC7644-3.3-12"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     6,
		Why:          "When the client sends a corrected POST, the incomplete account that the rejected POST created causes a 409.",
		Fix:          "Validate before storing, or store in a transaction.",
		Run:          createFailedCreatesNothing,
	},
	{
		ID:           "create.external-id-shared",
		Title:        "Two users may have the same externalId",
		Requirements: reqs("RFC7643-3.1-16"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     4,
		Why: "The client alone chooses externalId, and several clients may choose the same one; if the server rejects the second user, the " +
			"user gets no account.",
		Fix: "Do not make externalId unique.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "one", doc{"externalId": t.Prefix() + "shared"})
			res := t.Post(ctx, "/Users", t.User("two", doc{"externalId": t.Prefix() + "shared"}))
			t.Expect("status of a second POST with the same externalId", 201, res.Status)
		},
	},
	{
		ID:           "create.repeated-emails",
		Title:        "An email address that a POST contains twice with the same type is not returned twice",
		Requirements: reqs("RFC7643-2.4-11"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients that read the user show the address twice, and a client cannot select only one of the two.",
		Fix:          "Before storing, remove a value whose type and value are equal to those of another one.",
		Run:          createRepeatedEmails,
	},
	{
		ID:           "create.member-order",
		Title:        "The order of members in a body does not matter",
		Requirements: reqs("RFC7643-2.3.8-01", "RFC7643-3-04"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     3,
		Why: "Some clients sort the members of an object, so that extension data precedes schemas; a server that depends on the " +
			"order rejects these users.",
		Fix: "Read all members of the body before evaluating schemas.",
		Run: createMemberOrder,
	},
	{
		ID:           "create.groups-ignored",
		Title:        "The attribute groups in a POST of a user is ignored",
		Requirements: reqs("RFC7643-4.1.2-13", "RFC7644-3.3-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why: "A client that can write the groups of a user can grant itself rights. A server that rejects the attribute rejects " +
			"all users from Okta, which sends an empty list.",
		Fix: "Ignore the readOnly attribute groups in request bodies.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Users", t.User("grouped", doc{"groups": []doc{{"value": t.AbsentID(), "display": "Administrators"}}}))
			succeeded(t, res, 201)
			o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id")), "attributes", "userName,groups").Object()
			t.Holds(!slices.Contains(values(o, "groups", "value"), t.AbsentID()), "the group of the request in groups of the user", "absent",
				element(o, "groups", "value", t.AbsentID()))
		},
	},
	{
		ID:           "create.read-only-in-capitals",
		Title:        "readOnly attributes in a POST are ignored whatever the case of their names",
		Requirements: reqs("RFC7643-3.1-10", "RFC7643-2.1-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "If the server protects id but not ID, a client can overwrite readOnly attributes by changing the case.",
		Fix:          "Look up attributes case-insensitively before checking mutability.",
		Run: func(ctx context.Context, t *T) {
			forged := t.Prefix() + "forged"
			res := t.Post(ctx, "/Users", t.User("capitals", doc{"ID": forged, "META": doc{"resourceType": forgedType}}))
			succeeded(t, res, 201)
			t.Holds(res.Object().Text("id") != forged, "id of the new user", "an id that the server assigned", forged)
			t.Holds(value(res.Object(), "meta.resourceType") != forgedType, "meta.resourceType", "the server's own value",
				value(res.Object(), "meta.resourceType"))
		},
	},
	{
		ID:           "create.no-extension",
		Title:        "In a user created without enterprise data, schemas does not contain the enterprise extension",
		Requirements: reqs("RFC7643-6-11", "RFC7643-3-03"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why: "A client that finds an extension in schemas expects its data. A server that requires the extension rejects users " +
			"without data.",
		Fix: "Accept users without extension data; in schemas, list only the extensions that have data.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "plain", nil)
			o := t.Read(ctx, u.Path()).Object()
			if o.Complex(scim.EnterpriseUserSchema).Len() == 0 {
				t.Holds(!slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas of a user without enterprise data",
					"only the User schema", value(o, "schemas"))
			}
		},
	},
}

func createManager(ctx context.Context, t *T) {
	boss := t.CreateUser(ctx, "boss", nil)
	u := t.CreateUser(ctx, "report", extended(doc{"manager": doc{"value": boss.ID}}))
	o := t.Read(ctx, u.Path()).Object()
	t.SkipIf(undeclared(t, scim.EnterpriseUserSchema, "manager"), "the target's schema does not have manager")
	t.Expect("manager.value", boss.ID, look(o, "@manager.value"))
	if ref, _ := look(o, "@manager.$ref").(string); ref != "" {
		t.Holds(strings.HasSuffix(ref, "Users/"+boss.ID), "manager.$ref", "a URI that ends in Users/"+boss.ID, ref)
	}
}

func createManagerName(ctx context.Context, t *T) {
	t.SkipIf(undeclared(t, scim.EnterpriseUserSchema, "manager"), "the target's schema does not have manager")
	t.SkipIf(declaresPart(t, scim.EnterpriseUserSchema, "manager", "displayName"), "the target's schema has manager.displayName as readWrite")
	forged := t.Prefix() + "forged"
	boss := t.CreateUser(ctx, "boss", doc{"displayName": t.Prefix() + "boss"})
	u := t.CreateUser(ctx, "report", extended(doc{"manager": doc{"value": boss.ID, "displayName": forged}}))
	for what, o := range byName(map[string]*scim.Object{"POST": u.Resource, "GET": t.Read(ctx, u.Path()).Object()}) {
		got := look(o, "@manager.displayName")
		t.Holds(got != forged, "manager.displayName in the response to "+what, "absent, or the displayName of the manager", got)
	}
}

func createOuterSpaces(ctx context.Context, t *T) {
	padded := "  Ada  Byron "
	res := t.Post(ctx, "/Users", t.User("padded", doc{"displayName": padded}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with spaces at both ends of displayName", "201, or 400", res.Status)
		return
	}
	got, there := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object().Get("displayName")
	t.Holds(!there || got == padded, "displayName read back", quote(padded), json.RawMessage(jsonText(got)))
}

func createOddUserName(ctx context.Context, t *T) {
	name := inDomain(t, t.Prefix()+`o'neil+tag%41&"zoë"\山田`)
	res := t.Post(ctx, "/Users", t.User("odd", doc{"userName": name}))
	if res.Status == 400 {
		t.Inform("status of a POST with a userName that contains quotes, plus and percent signs", "201", res.Status)
		return
	}
	succeeded(t, res, 201)
	where := "/Users/" + url.PathEscape(res.Object().Text("id"))
	t.Expect("userName read back", name, value(t.Read(ctx, where).Object(), "userName"))
	found := t.Get(ctx, "/Users", "filter", "userName eq "+quote(name)).IDs()
	if want := []string{res.Object().Text("id")}; !t.Expect("ids found by the userName", want, found) {
		blockedIfLookupFails(ctx, t)
	}
}

func createLongText(ctx context.Context, t *T) {
	long := strings.Repeat("abcdefghi ", 199) + "the-end."
	res := t.Post(ctx, "/Users", t.User("long", doc{"displayName": long}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with a long displayName", "201, or 400", res.Status)
		return
	}
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	got, there := o.Get("displayName")
	t.Holds(!there || got == long, "displayName read back", "the whole string of 1,998 characters",
		fmt.Sprintf("%d characters", len(fmt.Sprint(got))))
}

func createManyEmails(ctx context.Context, t *T) {
	var emails []doc
	var want []string
	for i := range 50 {
		address := t.UserName(fmt.Sprintf("alias-%02d", i))
		emails, want = append(emails, doc{"value": address, "type": "other"}), append(want, address)
	}
	res := t.Post(ctx, "/Users", t.User("aliases", doc{"emails": emails}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with fifty email addresses", "201, or 400", res.Status)
		return
	}
	t.Expect("emails.value", want, values(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), "emails", "value"))
}

func createNoSchemas(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User(withoutSchemas, doc{"schemas": omit}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST without schemas", "400, or 201 with schemas", res.Status)
		return
	}
	t.Inform("status of a POST without schemas", "400", res.Status)
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(slices.Contains(texts(o, "schemas"), scim.UserSchema), "schemas of the created user", scim.UserSchema, value(o, "schemas"))
}

func createUnknownSchema(ctx context.Context, t *T) {
	unknown := "urn:example:scimconf:2.0:Unknown"
	res := t.Post(ctx, "/Users", t.User("foreign", doc{"schemas": []string{scim.UserSchema, unknown}, unknown: doc{"x": "y"}}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with an unknown schema", "201, or 400", res.Status)
		return
	}
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(!slices.Contains(texts(o, "schemas"), unknown), "the unknown schema of the request in schemas", "absent", unknown)
}

func createUnnamedExtension(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User("unnamed", doc{scim.EnterpriseUserSchema: doc{"department": "Engines"}}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with data of an extension that schemas does not name", "201, or 400",
			res.Status)
		return
	}
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	if o.Complex(scim.EnterpriseUserSchema).Len() > 0 {
		t.Holds(slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas", scim.EnterpriseUserSchema+" among them",
			value(o, "schemas"))
	}
}

func createUnknownAttribute(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User("surplus", doc{"scimconfUnknown": "x"}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with an unknown attribute", "201, or 400", res.Status)
		return
	}
	t.Holds(!has(res.Object(), "scimconfUnknown"), "scimconfUnknown in the response to POST", "absent", value(res.Object(), "scimconfUnknown"))
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(!has(o, "scimconfUnknown"), "scimconfUnknown", "absent", value(o, "scimconfUnknown"))
}

func createFailedCreatesNothing(ctx context.Context, t *T) {
	t.CreateUser(ctx, "first", nil)
	for label, extra := range byName(map[string]doc{"first": nil, "bad": {"name": 5}}) {
		res := t.Post(ctx, "/Users", t.User(label, extra))
		if res.OK() {
			continue // not a finding here: create.duplicate-user-name or create.kind-complex reports that the POST is accepted
		}
		want := map[string]int{"first": 1, "bad": 0}[label]
		found := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName(label)))
		t.Expect("number of users named "+t.UserName(label)+" "+afterRejection("POST", res), want, len(found.IDs()))
	}
}

func createRepeatedEmails(ctx context.Context, t *T) {
	same := doc{"value": t.UserName("same"), "type": "work"}
	res := t.Post(ctx, "/Users", t.User("repeated", doc{"emails": []doc{same, same}}))
	if res.Status == 400 {
		t.Inform("status of a POST with a repeated email address", "201", res.Status)
		return
	}
	succeeded(t, res, 201)
	t.Expect("emails.value", []string{t.UserName("same")},
		values(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), "emails", "value"))
}

func createMemberOrder(ctx context.Context, t *T) {
	// The body is composed by hand to fix the order of members: the extension first, schemas last and in reverse order.
	body := extended(doc{"department": "Engines"})
	whole := t.User("ordered", body)
	delete(whole, "schemas")
	delete(whole, scim.EnterpriseUserSchema)
	rest := strings.TrimPrefix(jsonText(plain(whole)), "{")
	text := `{"` + scim.EnterpriseUserSchema + `":{"department":"Engines"},` + strings.TrimSuffix(rest, "}") + `,"schemas":["` +
		scim.EnterpriseUserSchema + `","` + scim.UserSchema + `"]}`
	res := t.Call(ctx, conformance.Request{Method: "POST", Path: "/Users", Body: []byte(text)})
	succeeded(t, res, 201)
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Expect("userName", t.UserName("ordered"), value(o, "userName"))
	t.Expect("department", "Engines", look(o, "@department"))
}

// extendedInCapitals is extended with the URN of the extension in capitals as the name of its object.
func extendedInCapitals(attributes doc) doc {
	return doc{
		"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema}, strings.ToUpper(scim.EnterpriseUserSchema): attributes,
	}
}

// declaresPart reports whether the target's schema declares a sub-attribute as readWrite.
func declaresPart(t *T, urn, attribute, part string) bool {
	definition := element(element(t.Capabilities.Schema(urn), "attributes", "name", attribute), "subAttributes", "name", part)
	return definition != nil && slices.Contains([]string{"", "readWrite"}, definition.Text("mutability"))
}

// certificate is an X.509 certificate in base64, valid until 2049.
const certificate = "MIIBEjCBuaADAgECAgEBMAoGCCqGSM49BAMCMBMxETAPBgNVBAMTCHNjaW1jb25mMB4XDTI1MDEwMTAwMDAwMFoXDTQ5MTIzMTAwMDAwMFow" +
	"EzERMA8GA1UEAxMIc2NpbWNvbmYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASTMUXeSiL4nTzsw3bdh5R06sNx+DF33nuRv95L51m//eFQ49ea0USP" +
	"ePTB+vnnhRRig/YHyXz9B4N6L2mV0/J8MAoGCCqGSM49BAMCA0gAMEUCIQCprX8H2TdjFitcqZe32jUkUqGlognMWOruWxdk2oPaQAIgSdoJu/M1gbfd" +
	"Bo0rbA0pkrabIGpERytUtTiP3mbmgW8="

// compareStored compares the attributes sent with those read back. It skips attributes that the target's schema does not define, and
// absent sub-attributes other than value and type that the schema does not declare as readWrite.
func compareStored(t *T, urn string, sent doc, holder *scim.Object) {
	names := []string{}
	for name := range sent {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if undeclared(t, urn, name) {
			continue
		}
		got, there := holder.Get(name)
		if t.Capabilities.Schema(urn) == nil && !there {
			continue // without a schema, support for the attribute is unknown
		}
		switch want := sent[name].(type) {
		case []doc:
			list, _ := got.([]any)
			t.Expect("number of "+name, len(want), len(list))
			for _, w := range want {
				e := element(holder, name, "value", fmt.Sprint(w["value"]))
				if w["value"] == nil && len(list) > 0 {
					e, _ = list[0].(*scim.Object)
				}
				for sub, v := range byName(w) {
					if have, ok := e.Get(sub); ok || sub == "value" || sub == "type" || declaresPart(t, urn, name, sub) {
						t.Expect(name+"."+sub, v, have)
					}
				}
			}
		case doc:
			inner, _ := got.(*scim.Object)
			for sub, v := range byName(want) {
				t.Expect(name+"."+sub, v, value(inner, sub))
			}
		default:
			t.Expect(name, want, got)
		}
	}
}
