package checks

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var create = []check{
	{
		ID:           "create.status",
		Title:        "POST answers 201 with the new resource and its id",
		Requirements: reqs("RFC7644-3.3-05", "RFC7644-3.3-06", "RFC7643-3.1-05", "RFC7643-3.1-11"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "A client keeps the id for every later change; without it the account cannot be updated or switched off again.",
		Fix:          "Answer 201 Created with the stored representation, including the id.",
		Run:          createStatus,
	},
	{
		ID:           "create.location",
		Title:        "The Location header of a 201 is the resource's own address and equals meta.location",
		Requirements: reqs("RFC7644-3.3-07", "RFC7644-3.3-08", "RFC7643-3.1-24"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients follow the header, or store it as the address of the account.",
		Fix:          "Set Location on 201 to the absolute URI of the resource, and meta.location to the same text.",
		Run:          createLocation,
	},
	{
		ID:           "create.meta",
		Title:        "meta of a new user has resourceType User and valid timestamps that are equal",
		Requirements: reqs("RFC7643-3.1-20", "RFC7643-3.1-21", "RFC7643-3.1-23", "RFC7643-2.3.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients tell users from groups by resourceType, letter for letter, and import only what changed by lastModified.",
		Fix: "Fill meta on the server: resourceType is the name of the resource type, created and lastModified are xsd:dateTime with " +
			"a zone.",
		Run: createMeta,
	},
	{
		ID:           "create.ignores-id",
		Title:        "An id in the body of a POST is ignored and the server issues its own",
		Requirements: reqs("RFC7643-3.1-10", "RFC7643-3.1-02", "RFC7644-3.3-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "A client that can choose ids can guess or take over the address of somebody else's account.",
		Fix:          "Drop readOnly attributes of the request body before storing.",
		Run: func(ctx context.Context, t *T) {
			wanted := t.Prefix() + "my-own-id"
			res := t.Post(ctx, "/Users", t.User("choosy", doc{"id": wanted}))
			succeeded(t, res, 201, 200)
			t.Holds(res.Object().Text("id") != wanted, "id of the new user", "one that the server issued", wanted)
		},
	},
	{
		ID:           "create.ignores-meta",
		Title:        "A meta attribute in the body of a POST is ignored",
		Requirements: reqs("RFC7643-3.1-19", "RFC7643-3.1-18", "RFC7644-3.3-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients send meta along, often only with resourceType; taking it over falsifies when things happened.",
		Fix:          "Drop readOnly attributes of the request body before storing.",
		Run:          createIgnoresMeta,
	},
	{
		ID:           "create.keeps-attributes",
		Title:        "What was sent in a POST comes back from a GET, with the same types",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-2.3-02", "RFC7643-2.3.2-01", "RFC7643-2.3.1-01", "RFC7643-2.4-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "An attribute that gets lost or changes its type is sent again at every synchronisation, or never arrives.",
		Fix: "Store and return the attributes of the User schema; booleans are JSON literals, multi-valued attributes are arrays, " +
			"text is UTF-8.",
		Run: createKeepsAttributes,
	},
	{
		ID:           "create.external-id",
		Title:        "externalId is kept as the client sent it, and never invented",
		Requirements: reqs("RFC7643-3.1-14", "RFC7643-3.1-17", "RFC7643-7-15"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Identity providers find their accounts again by externalId; a lost one leads to duplicates.",
		Fix:          "Store externalId with its letter case, return it, and leave it absent when the client gave none.",
		Run: func(ctx context.Context, t *T) {
			sent := t.Prefix() + "Ext-ID"
			with := t.CreateUser(ctx, "known", doc{"externalId": sent})
			t.Expect("externalId read back", sent, value(t.Read(ctx, with.Path()).Object(), "externalId"))
			without := t.CreateUser(ctx, "unknown", nil)
			t.Holds(!has(without.Resource, "externalId"), "externalId of a user created without one", "absent",
				value(without.Resource, "externalId"))
		},
	},
	{
		ID:           "create.schemas",
		Title:        "schemas of a new user names the User schema once, and no schema that is not in use",
		Requirements: reqs("RFC7643-3.3-01", "RFC7643-3-01", "RFC7643-3-02", "RFC7643-3-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Readers choose how to interpret a resource by its schemas; without them it is no SCIM resource.",
		Fix:          "Return schemas with the base schema and the extensions that the resource has, in POST and in GET alike.",
		Run:          createSchemas,
	},
	{
		ID:           "create.enterprise-extension",
		Title:        "Enterprise attributes are kept below their URN, which then is in schemas",
		Requirements: reqs("RFC7643-3.3-03", "RFC7643-3-06", "RFC7643-4.3-01"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedEnterprise),
		Requests:     3,
		Why:          "Department, cost centre and manager travel in this extension for nearly every workforce directory.",
		Fix:          "Keep the extension as an object whose key is the URN, and list the URN in schemas while it has data.",
		Run:          createEnterpriseExtension,
	},
	{
		ID:           "create.duplicate-user-name",
		Title:        "A second user of the same userName is refused with 409 uniqueness",
		Requirements: reqs("RFC7644-3.3-09", "RFC7643-4.1.1-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients rely on 409 to find out that the account exists and to link to it.",
		Fix:          "Keep userName unique over all users and answer 409 with scimType uniqueness.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "twin", nil)
			res := t.Post(ctx, "/Users", t.User("twin", nil))
			t.Require("status of the second POST of one userName", 409, res.Status)
			t.Expect("scimType of the 409", "uniqueness", res.ScimType())
		},
	},
	{
		ID:           "create.duplicate-other-case",
		Title:        "userName is unique without regard to letter case",
		Requirements: reqs("RFC7643-4.1.1-03", "RFC7643-4.1.1-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Two accounts that differ only by case are the same person to every directory that feeds them.",
		Fix:          "Compare userName case-insensitively in the uniqueness constraint, with Unicode folding.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "shadow", nil)
			upper := strings.ToUpper(t.UserName("shadow"))
			res := t.Post(ctx, "/Users", t.User("shadow", doc{"userName": upper}))
			t.Expect("status of a POST whose userName differs only by case", 409, res.Status)
		},
	},
	{
		ID:           "create.missing-user-name",
		Title:        "A user without userName, or with an empty one, is refused with 400 and not stored",
		Requirements: reqs("RFC7643-4.1.1-01", "RFC7644-3.3-11", "RFC7643-7-32"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "An account without a name cannot be found, linked or logged in to.",
		Fix:          "Check required attributes before storing and answer 400, best with scimType invalidValue.",
		Run: func(ctx context.Context, t *T) {
			for _, name := range []any{omit, ""} {
				res := t.Post(ctx, "/Users", t.User("nameless", doc{"userName": name}))
				refused(t, res, 400, "invalidValue", "invalidSyntax")
			}
		},
	},
	{
		ID:           "create.malformed-json",
		Title:        "A body that is not a JSON object is refused with 400",
		Requirements: reqs("RFC7644-3.3-10", "RFC7644-3.12-07", "RFC7644-3.12-19"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "A 500 makes clients retry a request that can never succeed; a 201 stores rubbish.",
		Fix:          "Catch errors of the JSON reader and answer 400 invalidSyntax.",
		Run: func(ctx context.Context, t *T) {
			for _, body := range []string{`{"schemas":["` + scim.UserSchema + `"],"externalId":"` + t.Prefix() + `malformed","userName":`,
				`["` + t.UserName("array") + `"]`, `"text"`, ``} {
				res := t.Call(ctx, conformance.Request{Method: "POST", Path: "/Users", Body: []byte(body)})
				t.About(res)
				refused(t, res, 400, "invalidSyntax", "invalidValue")
			}
		},
	},
	{
		ID:           "create.wrong-types",
		Title:        "Values of the wrong JSON type are refused with 400",
		Requirements: reqs("RFC7644-3.3-11", "RFC7643-2.3-02", "RFC7644-3.12-22"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "A name stored as a text, or an e-mail list stored as a number, breaks every reader after it.",
		Fix:          "Validate the body against the schema and answer 400 invalidValue.",
		Run: func(ctx context.Context, t *T) {
			for _, extra := range []doc{{"name": "Ada Lovelace"}, {"userName": doc{"value": "x"}}, {"emails": 5}} {
				res := t.Post(ctx, "/Users", t.User("mistyped", extra))
				refused(t, res, 400, "invalidValue", "invalidSyntax")
			}
		},
	},
	{
		ID:           "create.null-and-empty",
		Title:        "null and [] in a POST are accepted and mean that the attribute is absent",
		Requirements: reqs("RFC7644-3.3-04", "RFC7643-2.5-01", "RFC7643-2.5-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Entra ID sends empty arrays and nulls for attributes without a value.",
		Fix:          "Treat null and [] like a missing member before validating.",
		Run:          createNullAndEmpty,
	},
	{
		ID:           "create.names-ignore-case",
		Title:        "Attribute names in a body are recognised in any letter case",
		Requirements: reqs("RFC7643-2.1-01", "RFC7644-3.10-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "RFC 7643 section 2.1 makes names case-insensitive; clients written in other languages use that.",
		Fix:          "Look attributes up without regard to case when reading a body.",
		Run:          createNamesIgnoreCase,
	},
	{
		ID:           "create.password-never-returned",
		Title:        "A password is in no answer: not to POST, GET, a list, or a request for it by name",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-19", "RFC7643-7-21"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Whoever can read the directory, a log or a proxy in between could log in as the user.",
		Fix:          "Never put password into a representation, hashed or not, whatever \"attributes\" asks for.",
		Run:          createPasswordNeverReturned,
	},
	{
		ID:           "create.accepts-json-media-type",
		Title:        "A body sent as application/json is accepted",
		Requirements: reqs("RFC7644-3.8-07", "RFC7644-3.8-05"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Several identity providers send application/json, some with a charset parameter.",
		Fix:          "Accept application/json beside application/scim+json and ignore parameters of the media type.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "POST", Path: "/Users", Body: t.User("plain", nil),
				Header: map[string][]string{"Content-Type": {"application/json; charset=utf-8"}, "Accept": {"application/json"}}})
			succeeded(t, res, 201, 200)
		},
	},
}

func createStatus(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User("new", nil))
	t.SkipIf(res.Status == 403, "the credentials may not create users (403)")
	succeeded(t, res, 201)
	t.Must(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body))
	t.Expect("userName of the new user", t.UserName("new"), res.Object().Text("userName"))
	id := res.Object().Text("id")
	t.Holds(id != "", "id of the new user", "a text", value(res.Object(), "id"))
	t.Holds(!strings.Contains(id, "bulkId"), "id of the new user", "an id without the reserved word bulkId", id)
}

func createLocation(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "located", nil)
	res := t.Post(ctx, "/Users", t.User("located-too", nil))
	t.SkipIf(!res.OK(), "blocked: the user could not be created")
	location := res.Header.Get("Location")
	t.Must(location != "", "Location header of the 201", "the URI of the new user", location)
	t.Expect("meta.location of the new user, compared with the Location header", location, value(res.Object(), "meta.location"))
	parsed, err := url.Parse(location)
	t.Must(err == nil, "Location header of the 201", "a URI", location)
	t.Holds(strings.HasSuffix(parsed.Path, "/Users/"+res.Object().Text("id")), "Location header of the 201",
		"a URI that ends in /Users/"+res.Object().Text("id"), location)
	t.Holds(u.Resource.Text("id") != res.Object().Text("id"), "ids of two users", "two different ones", u.ID)
	if content := res.Header.Get("Content-Location"); content != "" {
		t.Expect("Content-Location header, compared with meta.location", value(res.Object(), "meta.location"), content)
	}
}

func createMeta(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "dated", nil)
	t.SkipIf(u.Resource == nil, "the answer to POST has no body")
	meta := u.Resource.Complex("meta")
	name := "User"
	if listed := t.Capabilities.ResourceType(scim.UserSchema).Text("name"); listed != "" {
		name = listed
	}
	t.Expect("meta.resourceType", name, value(meta, "resourceType"))
	for _, stamp := range []string{"created", "lastModified"} {
		if has(meta, stamp) { // leaving them out is permitted
			t.Holds(dateTime.MatchString(meta.Text(stamp)), "meta."+stamp, "an xsd:dateTime such as 2026-01-31T10:20:30Z", value(meta, stamp))
		}
	}
	if has(meta, "created") && has(meta, "lastModified") {
		t.Warn(meta.Text("created") == meta.Text("lastModified"), "meta.lastModified of a user that was never changed",
			"the same as created: "+meta.Text("created"), meta.Text("lastModified"))
	}
}

func createIgnoresMeta(ctx context.Context, t *T) {
	forged := "1999-12-31T23:59:59Z"
	res := t.Post(ctx, "/Users", t.User("forged", doc{"meta": doc{"resourceType": "Group", "created": forged, "lastModified": forged}}))
	succeeded(t, res, 201, 200)
	for member, sent := range map[string]string{"resourceType": "Group", "created": forged, "lastModified": forged} {
		got, _ := value(res.Object(), "meta."+member).(string)
		t.Holds(got != sent && !strings.HasPrefix(got, "1999-12-31"), "meta."+member+" of the new user", "the server's own value", got)
	}
}

func createKeepsAttributes(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "whole", doc{
		"displayName": "Zoë 山田 “Z” \\ 🚀", "active": false,
		"name":   doc{"givenName": "Zoë", "familyName": "O'Neil-山田"},
		"emails": []doc{{"value": t.UserName("whole"), "type": "work", "primary": true}, {"value": t.UserName("whole-home"), "type": "home"}},
	})
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("userName", t.UserName("whole"), value(o, "userName"))
	t.Expect("name.givenName", "Zoë", value(o, "name.givenName"))
	t.Expect("name.familyName", "O'Neil-山田", value(o, "name.familyName"))
	t.Expect("active", false, value(o, "active"))
	if has(o, "displayName") { // a target may not have every attribute of the schema
		t.Expect("displayName", "Zoë 山田 “Z” \\ 🚀", value(o, "displayName"))
	}
	t.Expect("emails.value", sorted(t.UserName("whole"), t.UserName("whole-home")), values(o, "emails", "value"))
	work := element(o, "emails", "value", t.UserName("whole"))
	t.Expect("type of the first of emails", "work", value(work, "type"))
	if has(work, "primary") {
		t.Expect("primary of the first of emails", true, value(work, "primary"))
	}
}

func createSchemas(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "typed", nil)
	for what, o := range map[string]*scim.Object{"POST": u.Resource, "GET": t.Read(ctx, u.Path()).Object()} {
		if what == "POST" && u.Resource == nil {
			continue
		}
		schemas := texts(o, "schemas")
		t.Holds(slices.Contains(schemas, scim.UserSchema), "schemas in the answer to "+what, scim.UserSchema+" among them", value(o, "schemas"))
		t.Expect("number of different schemas in the answer to "+what, len(slices.Compact(sorted(schemas...))), len(schemas))
		for _, urn := range schemas {
			t.Holds(!strings.HasPrefix(urn, "urn:ietf:params:scim:api:"), "schemas in the answer to "+what, "no message schema", urn)
		}
	}
}

func createEnterpriseExtension(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "employee", doc{
		"schemas":                 []string{scim.UserSchema, scim.EnterpriseUserSchema},
		scim.EnterpriseUserSchema: doc{"employeeNumber": "701984", "department": "Tour Operations"},
	})
	o := t.Read(ctx, u.Path()).Object()
	extension := o.Complex(scim.EnterpriseUserSchema)
	t.Must(extension != nil, "the member "+scim.EnterpriseUserSchema, "an object", value(o, "schemas"))
	t.Expect("employeeNumber", "701984", value(extension, "employeeNumber"))
	t.Expect("department", "Tour Operations", value(extension, "department"))
	t.Holds(slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas of a user with enterprise data",
		scim.EnterpriseUserSchema+" among them", value(o, "schemas"))
}

func createNullAndEmpty(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users", t.User("blank", doc{"nickName": nil, "roles": []doc{}, "phoneNumbers": []doc{}}))
	succeeded(t, res, 201, 200)
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	for _, name := range []string{"nickName", "roles", "phoneNumbers"} {
		t.Holds(!has(o, name), name+" read back", "absent", value(o, name))
	}
}

func createNamesIgnoreCase(ctx context.Context, t *T) {
	body := t.User("shouting",
		doc{"userName": omit, "USERNAME": t.UserName("shouting"), "name": omit, "Name": doc{"GIVENNAME": "Ada", "familyname": "Case"}})
	res := t.Post(ctx, "/Users", body)
	succeeded(t, res, 201, 200)
	o := t.Read(ctx, "/Users/"+url.PathEscape(res.Object().Text("id"))).Object()
	t.Expect("userName of a user sent as USERNAME", t.UserName("shouting"), value(o, "userName"))
	t.Expect("name.givenName of a user sent as Name.GIVENNAME", "Ada", value(o, "name.givenName"))
}

func createPasswordNeverReturned(ctx context.Context, t *T) {
	secret := "Xy7!" + t.Prefix() + "pw"
	u := t.CreateUser(ctx, "secretive", doc{"password": secret})
	silent := func(what string, o *scim.Object) {
		t.Holds(!has(o, "password"), "password in "+what, "absent", "it is there")
	}
	silent("the answer to POST", u.Resource)
	silent("the answer to GET", t.Get(ctx, u.Path()).Object())
	silent("the answer to GET with attributes=password", t.Get(ctx, u.Path(), "attributes", "userName,password").Object())
	for _, o := range t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("secretive"))).Resources() {
		silent("a list", o)
	}
}
