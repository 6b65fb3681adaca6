package checks

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// keptWhole is a check that attributes come back as they were sent.
func keptWhole(id, title, urn string, n []conformance.Need, sent doc) check {
	return check{
		ID:           "create." + id,
		Title:        title,
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-2.3.1-01", "RFC7643-7-23"),
		Level:        must,
		Needs:        n,
		Requests:     3,
		Why:          "An attribute that gets lost is sent again at every synchronisation, and never arrives.",
		Fix:          "Store and return what the schema lists, or take it out of the schema.",
		Run: func(ctx context.Context, t *T) {
			extra := sent
			if urn != scim.UserSchema {
				extra = extended(sent)
			}
			res := t.Post(ctx, "/Users", t.User("whole", extra))
			t.SkipIf(res.Status >= 400 && res.Status < 500, "the target has rules of its own for these values")
			succeeded(t, res, 201)
			o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
			if urn != scim.UserSchema {
				o = o.Complex(urn)
			}
			unlike(t, urn, sent, o)
		},
	}
}

// A storedKind is a check that values of the wrong JSON type are refused, or at least not stored as they are.
func storedKind(id, title, attribute string, requests int, fits func(v any) bool, wrong ...any) check {
	return check{
		ID:           "create." + id,
		Title:        title,
		Requirements: reqs("RFC7643-2.3-02", "RFC7644-3.3-11"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     requests,
		Why:          "A value of another type breaks every reader after it.",
		Fix:          "Check the JSON type of every value; answer 400 invalidValue.",
		Run: func(ctx context.Context, t *T) {
			for i, v := range wrong {
				res := t.Post(ctx, "/Users", t.User(fmt.Sprint("kind", i), doc{attribute: v}))
				what := attribute + " after a POST with " + jsonText(plain(v))
				if !res.OK() {
					t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with "+jsonText(plain(v))+" as "+attribute,
						"400, or 201 with a value that fits", res.Status)
					continue
				}
				got := value(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), attribute)
				t.Holds(got == nil || fits(got), what, "absent, or of the right type", got)
			}
		},
	}
}

var createValues = []check{
	keptWhole("core-attributes", "Every single-valued attribute of the User schema comes back as it was sent", scim.UserSchema, writesUsers,
		doc{
			"displayName": "Ada Byron", "nickName": "Ada", "title": "Countess", "userType": "Employee", "preferredLanguage": "en-GB",
			"locale": "en-GB", "timezone": "Europe/London",
			"profileUrl": "https://example.com/ada",
			"name": doc{"formatted": "Dr. Ada King Byron III", "familyName": "Byron", "givenName": "Ada", "middleName": "King",
				"honorificPrefix": "Dr.", "honorificSuffix": "III"},
		}),
	keptWhole("multi-valued-attributes", "Every multi-valued attribute of the User schema comes back as it was sent", scim.UserSchema,
		writesUsers, doc{
			"phoneNumbers": []doc{{"value": "tel:+1-201-555-0123", "type": "work"}, {"value": "tel:+1-201-555-0124", "type": "mobile"}},
			"ims":          []doc{{"value": "ada", "type": "xmpp"}}, "photos": []doc{{"value": "https://example.com/ada.jpg", "type": "photo"}},
			"entitlements": []doc{{"value": "engines", "type": "use"}}, "roles": []doc{{"value": "mathematician", "type": "main"}},
		}),
	keptWhole("addresses", "An address comes back with all its parts", scim.UserSchema, writesUsers, doc{
		"addresses": []doc{
			{"type": "work", "streetAddress": "12 St James's Square\nSecond floor", "locality": "London", "region": "LDN", "postalCode": "SW1Y 4JH",
				"country": "GB", "formatted": "12 St James's Square\nLondon"}},
	}),
	keptWhole("enterprise-attributes", "Every attribute of the enterprise extension comes back as it was sent", scim.EnterpriseUserSchema,
		append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		doc{"employeeNumber": "701984", "costCenter": "4130", "organization": "Universal Studios", "division": "Theme Park",
			"department": "Tour Operations"}),
	{
		ID:           "create.manager",
		Title:        "The manager of a user comes back with its value, and with the address of that user",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-4.3-02"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     5,
		Why:          "Approvals go to the manager.",
		Fix:          "Store manager.value; build $ref from it.",
		Run:          createManager,
	},
	{
		ID:           "create.odd-user-name",
		Title:        "A userName with plus, percent, quotes and letters of any script is kept and found, or refused",
		Requirements: reqs("RFC7643-2.3.1-01", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     4,
		Why:          "Such names exist, and clients look accounts up by them.",
		Fix:          "Decode percent-encoding once, and read filter operands as JSON texts.",
		Run:          createOddUserName,
	},
	{
		ID:           "create.long-text",
		Title:        "A text of two thousand characters is kept whole, or refused",
		Requirements: reqs("RFC7643-2.3.1-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "A text that is cut off without an error is wrong for ever.",
		Fix:          "Answer 400 when a text is longer than the column.",
		Run:          createLongText,
	},
	{
		ID:           "create.many-emails",
		Title:        "Fifty e-mail addresses are kept, or refused",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-2.4-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Aliases pile up over the years; the one that gets lost is the one in use.",
		Fix:          "Answer 400 when there are too many.",
		Run:          createManyEmails,
	},
	{
		ID:           "create.null-user-name",
		Title:        "A user whose userName is null is refused with 400",
		Requirements: reqs("RFC7643-4.1.1-01", "RFC7643-2.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     1,
		Why:          "An account without a name cannot be found, linked or logged in to.",
		Fix:          "Treat null like a missing member before checking what is required.",
		Run: func(ctx context.Context, t *T) {
			refused(t, t.Post(ctx, "/Users", t.User("null", doc{"userName": nil})), 400, "invalidValue", "invalidSyntax")
		},
	},
	{
		ID:           "create.no-schemas",
		Title:        "A user without schemas is refused, or gets the schema that the endpoint stands for",
		Requirements: reqs("RFC7643-3-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     1,
		Why:          "A resource that does not name its schemas cannot be read by anybody who goes by them.",
		Fix:          "Answer 400 invalidSyntax or invalidValue to a body without schemas.",
		Run:          createNoSchemas,
	},
	{
		ID:           "create.unknown-schema",
		Title:        "A schema that the type does not have is refused or dropped, and never returned",
		Requirements: reqs("RFC7643-3-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Entra ID names schemas that no server has; readers would take them for real.",
		Fix:          "Drop undeclared URIs from schemas, or answer 400.",
		Run:          createUnknownSchema,
	},
	{
		ID:           "create.unnamed-extension",
		Title:        "Extension data that schemas does not name is refused, dropped, or named in the answer",
		Requirements: reqs("RFC7643-3-06"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     3,
		Why:          "Data that no schema explains cannot be read by anybody.",
		Fix:          "List every extension that has data.",
		Run:          createUnnamedExtension,
	},
	{
		ID:           "create.unknown-attribute",
		Title:        "An attribute that no schema has is ignored or refused, and not returned",
		Requirements: reqs("RFC7644-3.3-13"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "What the schema does not list no reader expects.",
		Fix:          "Drop unknown attributes, or answer 400.",
		Run:          createUnknownAttribute,
	},
	storedKind("kind-text", "Numbers, lists and objects do not become a displayName of another type", "displayName", 3, isText, 5,
		[]string{"x"}, doc{"value": "x"}),
	storedKind("kind-boolean", "Numbers and objects do not become an active of another type", "active", 2,
		func(v any) bool { _, ok := v.(bool); return ok }, 5, doc{"value": true}),
	storedKind("kind-complex", "Numbers and lists do not become a name of another type", "name", 2,
		func(v any) bool { _, ok := v.(*scim.Object); return ok }, 5, []string{"x"}),
	storedKind("kind-list", "Texts do not become e-mail addresses of another type", "emails", 4, func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { _, isObject := e.(*scim.Object); return !isObject })
	}, "x", []int{5}),
	{
		ID:           "create.failed-creates-nothing",
		Title:        "A POST that is refused creates nothing",
		Requirements: reqs("RFC7644-3.3-12"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     6,
		Why:          "The client tries again after mending its request, and would find its own half-made account.",
		Fix:          "Validate before storing, or store in a transaction.",
		Run:          createFailedCreatesNothing,
	},
	{
		ID:           "create.external-id-shared",
		Title:        "Two users may have one externalId",
		Requirements: reqs("RFC7643-3.1-16"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "externalId belongs to the client; two clients choose the same.",
		Fix:          "Do not make externalId unique.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "one", doc{"externalId": t.Prefix() + "shared"})
			res := t.Post(ctx, "/Users", t.User("two", doc{"externalId": t.Prefix() + "shared"}))
			t.Expect("status of a second POST of one externalId", 201, res.Status)
		},
	},
	{
		ID:           "create.repeated-emails",
		Title:        "The same value of the same type is not returned twice",
		Requirements: reqs("RFC7643-2.4-11"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Synchronisations that compare lists never come to rest.",
		Fix:          "Drop repeated values when storing.",
		Run:          createRepeatedEmails,
	},
	{
		ID:           "create.member-order",
		Title:        "The order of members in a body does not matter",
		Requirements: reqs("RFC7643-2.3.8-01", "RFC7643-3-04"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedEnterprise),
		Requests:     3,
		Why:          "JSON objects have no order; many clients sort their members.",
		Fix:          "Read the whole object before looking at schemas.",
		Run:          createMemberOrder,
	},
	{
		ID:           "create.groups-ignored",
		Title:        "groups in a POST of a user are ignored",
		Requirements: reqs("RFC7643-4.1.2-13", "RFC7644-3.3-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Whoever can write groups at the user gives himself rights. Okta sends an empty list.",
		Fix:          "Drop groups from what clients send.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Users", t.User("grouped", doc{"groups": []doc{{"value": t.AbsentID(), "display": "Administrators"}}}))
			succeeded(t, res, 201)
			o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id")), "attributes", "userName,groups").Object()
			t.Holds(!slices.Contains(values(o, "groups", "value"), t.AbsentID()), "groups", "without "+t.AbsentID(), value(o, "groups"))
		},
	},
	{
		ID:           "create.read-only-in-capitals",
		Title:        "readOnly attributes in a POST are ignored in any letter case",
		Requirements: reqs("RFC7643-3.1-10", "RFC7643-2.1-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "A rule that holds for id and not for ID can be walked around.",
		Fix:          "Look attributes up without regard to case before checking mutability.",
		Run: func(ctx context.Context, t *T) {
			forged := t.Prefix() + "forged"
			res := t.Post(ctx, "/Users", t.User("capitals", doc{"ID": forged, "META": doc{"resourceType": "Group"}}))
			succeeded(t, res, 201)
			t.Holds(res.Object().Text("id") != forged, "id of the new user", "one that the server issued", forged)
			t.Holds(value(res.Object(), "meta.resourceType") != "Group", "meta.resourceType", "the server's own value",
				value(res.Object(), "meta.resourceType"))
		},
	},
	{
		ID:           "create.no-extension",
		Title:        "A user without extension data is created, and schemas names no extension",
		Requirements: reqs("RFC7643-6-11", "RFC7643-3-03"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Not every user has an employee number.",
		Fix:          "List only the extensions that have data.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "plain", nil)
			o := t.Read(ctx, u.Path()).Object()
			if o.Complex(scim.EnterpriseUserSchema).Len() == 0 {
				t.Holds(!slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas of a user without enterprise data",
					"the User schema", value(o, "schemas"))
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
		t.Holds(strings.HasSuffix(ref, "Users/"+boss.ID), "manager.$ref", "an address that ends in Users/"+boss.ID, ref)
	}
}

func createOddUserName(ctx context.Context, t *T) {
	name := t.Prefix() + `o'neil+tag%41&"zoë"\山田@example.com`
	res := t.Post(ctx, "/Users", t.User("odd", doc{"userName": name}))
	if res.Status == 400 {
		t.Inform("status of a POST with an unusual userName", "201", res.Status)
		return
	}
	succeeded(t, res, 201)
	where := "/Users/" + url.PathEscape(res.Object().Text("id"))
	t.Expect("userName read back", name, value(t.Read(ctx, where).Object(), "userName"))
	t.Expect("ids found by this userName", []string{res.Object().Text("id")}, t.Get(ctx, "/Users", "filter", "userName eq "+quote(name)).IDs())
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
	t.Holds(!there || got == long, "displayName read back", "the whole text of 1,998 characters",
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
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with fifty e-mail addresses", "201, or 400", res.Status)
		return
	}
	t.Expect("emails.value", want, values(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), "emails", "value"))
}

func createNoSchemas(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User("bare", doc{"schemas": omit}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST without schemas", "400, or 201 with schemas", res.Status)
		return
	}
	t.Inform("status of a POST without schemas", "400", res.Status)
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(slices.Contains(texts(o, "schemas"), scim.UserSchema), "schemas of what came of it", scim.UserSchema, value(o, "schemas"))
}

func createUnknownSchema(ctx context.Context, t *T) {
	unknown := "urn:example:scimconf:2.0:Unknown"
	res := t.Post(ctx, "/Users", t.User("foreign", doc{"schemas": []string{scim.UserSchema, unknown}, unknown: doc{"x": "y"}}))
	if !res.OK() {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a POST with an unknown schema", "201, or 400", res.Status)
		return
	}
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(!slices.Contains(texts(o, "schemas"), unknown), "schemas", "without "+unknown, value(o, "schemas"))
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
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Holds(!has(o, "scimconfUnknown"), "scimconfUnknown", "absent", value(o, "scimconfUnknown"))
}

func createFailedCreatesNothing(ctx context.Context, t *T) {
	t.CreateUser(ctx, "first", nil)
	for label, extra := range map[string]doc{"first": nil, "bad": {"name": 5}} {
		res := t.Post(ctx, "/Users", t.User(label, extra))
		if res.OK() {
			continue // another check's finding
		}
		want := map[string]int{"first": 1, "bad": 0}[label]
		found := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName(label)))
		t.Expect("number of users named "+t.UserName(label)+" after the refused POST", want, len(found.IDs()))
	}
}

func createRepeatedEmails(ctx context.Context, t *T) {
	same := doc{"value": t.UserName("same"), "type": "work"}
	res := t.Post(ctx, "/Users", t.User("repeated", doc{"emails": []doc{same, same}}))
	if res.Status == 400 {
		t.Inform("status of a POST with a repeated e-mail address", "201", res.Status)
		return
	}
	succeeded(t, res, 201)
	t.Expect("emails.value", []string{t.UserName("same")},
		values(t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object(), "emails", "value"))
}

func createMemberOrder(ctx context.Context, t *T) {
	// The members of an object without order, written by hand: the extension first, schemas last and reversed.
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

// unlike compares what was sent with what is read back, attribute by attribute, and leaves out what the target's schema does
// not have.
func unlike(t *T, urn string, sent doc, holder *scim.Object) {
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
			continue // without a schema nobody knows whether the target has the attribute
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
				for sub, v := range w {
					if have, ok := e.Get(sub); ok || sub == "value" || sub == "type" {
						t.Expect(name+"."+sub, v, have)
					}
				}
			}
		case doc:
			inner, _ := got.(*scim.Object)
			for sub, v := range want {
				t.Expect(name+"."+sub, v, value(inner, sub))
			}
		default:
			t.Expect(name, want, got)
		}
	}
}
