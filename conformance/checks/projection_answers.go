package checks

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// projectionAnswers are the checks of the parameters attributes and excludedAttributes in lists and in the responses to POST, PUT and
// PATCH.
var projectionAnswers = []check{
	{
		ID:           "projection.on-put",
		Title:        "attributes= applies to the response to PUT",
		Requirements: reqs("RFC7644-3.9-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients that send attributes= with a PUT get data that they did not request, or miss data that they need.",
		Fix:          "Use the same projection for POST, PUT and PATCH as for GET.",
		Run:          projectionOnPut,
	},
	{
		ID:           "projection.on-put-excluded",
		Title:        "excludedAttributes= applies to the response to PUT",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients exclude large or confidential attributes; a response that contains them is slow or exposes data.",
		Fix:          "Use the same projection for POST, PUT and PATCH as for GET.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "excludedAttributes")
			u := t.CreateUser(ctx, "cut", nil)
			res := t.Put(ctx, u.Path(), t.User("cut", nil), "excludedAttributes", "emails")
			t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be replaced")
			t.Holds(!has(res.Object(), "emails"), "emails in the response to PUT with excludedAttributes=emails", "absent",
				value(res.Object(), "emails"))
			t.Expect("userName in the response to PUT with excludedAttributes=emails", t.UserName("cut"), value(res.Object(), "userName"))
		},
	},
	{
		ID:           "projection.on-patch",
		Title:        "A PATCH with attributes= returns 200 with the requested attributes",
		Requirements: reqs("RFC7644-3.9-01"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedPatch),
		Requests:     3,
		Why:          "A client that names attributes needs their values; without them, it has to read the resource again.",
		Fix: "Apply the parameter to the response only, not to the resource that the PATCH changes. Return 200 with the projected resource if " +
			"attributes or excludedAttributes is present, and 204 only if both are absent.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "attributes")
			u := t.CreateUser(ctx, "patched", nil)
			res := patchWith(ctx, t, u, "attributes", "displayName")
			t.Require("status of a PATCH with attributes=displayName", 200, res.Status)
			t.Expect("displayName in the response", "Patched", value(res.Object(), "displayName"))
			narrow(ctx, t, "response to PATCH with attributes=displayName", u.Path(), res)
		},
	},
	{
		ID:           "projection.on-patch-excluded",
		Title:        "excludedAttributes= applies to the response to PATCH, if it has a body",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedPatch),
		Requests:     3,
		Why:          "Clients exclude large or confidential attributes; a response that contains them is slow or exposes data.",
		Fix:          "Use the same projection for POST, PUT and PATCH as for GET.",
		Run:          projectionOnPatchExcluded,
	},
	{
		ID:           "projection.on-write-excluded",
		Title:        "excludedAttributes= applies to the response to POST",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients exclude large or confidential attributes; a response that contains them is slow or exposes data.",
		Fix:          "Use the same projection for POST, PUT and PATCH as for GET.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "excludedAttributes")
			res := t.Post(ctx, "/Users", t.User("shaped", nil), "excludedAttributes", "emails,name")
			t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be created")
			t.Expect("userName", t.UserName("shaped"), value(res.Object(), "userName"))
			t.Holds(!has(res.Object(), "emails") && !has(res.Object(), "name"), "response to POST with excludedAttributes=emails,name",
				"neither emails nor name", res.Object())
		},
	},
	{
		ID:           "projection.stores-everything",
		Title:        "A POST with attributes=userName stores all attributes of the body",
		Requirements: reqs("RFC7644-3.9-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "If the server selects the attributes before it stores the user, all other attributes of the new user are lost.",
		Fix:          "Store the whole resource first; then select the attributes of the response.",
		Run: func(ctx context.Context, t *T) {
			user := t.User("whole", nil)
			t.SkipIf(user["emails"] == nil, "the target rejects users with emails")
			res := t.Post(ctx, "/Users", user, "attributes", "userName")
			id := res.Object().Text("id")
			t.SkipIf(!res.OK() || id == "", "blocked: the user could not be created")
			o := t.Read(ctx, "/Users/"+id).Object()
			t.Expect("emails.value of a user created with attributes=userName", []string{t.UserName("whole")}, values(o, "emails", "value"))
		},
	},
	{
		ID:           "projection.list-excluded",
		Title:        "excludedAttributes= applies to the items of a list",
		Requirements: reqs("RFC7644-3.4.2.5-02", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Imports exclude large attributes; with them, every page of the list takes longer.",
		Fix:          "Project every item of Resources, not only single resources.",
		Run:          projectionListExcluded,
	},
	{
		ID:           "projection.list-members",
		Title:        "excludedAttributes=members lists groups without their members",
		Requirements: reqs("RFC7644-3.4.2.5-02", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup, conformance.NeedFilter),
		Requests:     5,
		Why:          "Entra ID searches for groups with this parameter; with members the response can be thousands of times larger.",
		Fix:          "Apply excludedAttributes to the items of lists of groups too.",
		Run:          projectionListMembers,
	},
	{
		ID:           "projection.members-on-demand",
		Title:        "attributes=members returns the members of a group",
		Requirements: reqs("RFC7644-3.4.2.5-01", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup),
		Requests:     5,
		Why:          "Some servers omit members by default; if attributes=members is ignored too, clients cannot read the members of a group.",
		Fix:          "Return members if attributes names it.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "attributes")
			u := t.CreateUser(ctx, "member", nil)
			g := t.CreateGroup(ctx, "asked", doc{"members": []doc{{"value": u.ID}}})
			res := t.Read(ctx, g.Path(), "attributes", "members")
			t.Expect("members.value with attributes=members", []string{u.ID}, values(res.Object(), "members", "value"))
			if has(res.Object(), "displayName") && alwaysReturns(ctx, t, g.Path(), "displayName") && alwaysReturns(ctx, t, u.Path(), "userName") {
				t.Note("displayName is returned with attributes=members: the target returns required attributes with every attributes=, which " +
					"projection.id-alone reports")
				return
			}
			t.About(res)
			t.Holds(!has(res.Object(), "displayName"), "displayName with attributes=members", "absent", value(res.Object(), "displayName"))
		},
	},
	{
		ID:           "projection.member-ids",
		Title:        "The parameter attributes=members.value returns only the ids of the members",
		Requirements: reqs("RFC7644-3.9-08", "RFC7644-3.9-05"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup),
		Requests:     5,
		Why:          "Clients compare memberships by id; without the values, they add all members again or remove none.",
		Fix:          "Project members in the same way as any other multi-valued attribute.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "attributes")
			u := t.CreateUser(ctx, "member", nil)
			g := t.CreateGroup(ctx, "ids", doc{"members": []doc{{"value": u.ID}}})
			o := t.Read(ctx, g.Path(), "attributes", "members.value").Object()
			t.Expect("members.value with attributes=members.value", []string{u.ID}, values(o, "members", "value"))
			t.Holds(len(values(o, "members", "$ref")) == 0 && len(values(o, "members", "type")) == 0, "members with attributes=members.value",
				"neither $ref nor type", value(o, "members"))
		},
	},
	{
		ID:           "projection.never",
		Title:        "attributes= does not return a password",
		Requirements: reqs("RFC7643-7-21", "RFC7643-4.1.1-13"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Any client that may read users could read passwords or their hashes by naming the attribute.",
		Fix:          "Never return attributes with returned \"never\", even if the parameter names them in another case or with a URN.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "secret", doc{"password": "Scimconf-Secret-1!"})
			for _, name := range []string{"password", "userName,PASSWORD", scim.UserSchema + ":password"} {
				o := t.Read(ctx, u.Path(), "attributes", name).Object()
				t.Holds(!has(o, "password"), "password with attributes="+name, "absent", "a value")
			}
		},
	},
	{
		ID:           "projection.never-in-writes",
		Title:        "The responses to POST and PUT with attributes=password have no password",
		Requirements: reqs("RFC7643-7-21", "RFC7643-4.1.1-13"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Proxies and logs store responses, so other users could read the password.",
		Fix:          "Never return attributes with returned \"never\", even if the parameter names them in another case or with a URN.",
		Run:          projectionNeverInWrites,
	},
	{
		ID:           "projection.both",
		Title:        "A request with attributes and excludedAttributes is rejected, or the server applies one of them",
		Requirements: reqs("RFC7644-3.4.2.5-03"),
		Level:        may,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "A server that ignores both returns confidential attributes. RFC 7644 excludes the combination but defines no error.",
		Fix:          "Return 400, or apply at least one of the two parameters.",
		Run:          projectionBoth,
	},
	{
		ID:           "projection.unknown-parameter",
		Title:        "An unknown query parameter is ignored",
		Requirements: reqs("RFC7644-3.4.2-02"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Proxies and clients add their own parameters; if the server rejects them, all requests of these clients fail.",
		Fix:          "Ignore unknown parameters, on single resources and on lists.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "plain", nil)
			res := t.Get(ctx, u.Path(), "scimconfNoSuchParameter", "1")
			t.Require("status of "+res.Name+" with an unknown parameter", 200, res.Status)
			t.Expect("userName", t.UserName("plain"), value(res.Object(), "userName"))
		},
	},
}

func projectionOnPut(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "attributes")
	u := t.CreateUser(ctx, "put", nil)
	res := t.Put(ctx, u.Path(), t.User("put", doc{"displayName": "Put Down", "emails": u.Sent["emails"]}), "attributes", "displayName")
	t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be replaced")
	narrow(ctx, t, "response to PUT with attributes=displayName", u.Path(), res)
	// The parameter applies to the response, not to the stored resource.
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("userName after a PUT with attributes=displayName", t.UserName("put"), value(o, "userName"))
	t.Expect("emails.value after a PUT with attributes=displayName", values(u.Resource, "emails", "value"), values(o, "emails", "value"))
}

func projectionOnPatchExcluded(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "excludedAttributes")
	u := t.CreateUser(ctx, "patched", nil)
	res := patchWith(ctx, t, u, "excludedAttributes", "emails")
	t.SkipIf(res.Status == 204, "the target returns 204 to a PATCH")
	t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be changed")
	t.Holds(!has(res.Object(), "emails"), "emails in the response to PATCH with excludedAttributes=emails", "absent",
		value(res.Object(), "emails"))
	t.Expect("userName in the response to PATCH with excludedAttributes=emails", t.UserName("patched"), value(res.Object(), "userName"))
}

func projectionListExcluded(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "excludedAttributes")
	t.CreateUser(ctx, "listed", nil)
	res := t.Get(ctx, "/Users", "excludedAttributes", "emails,name", "count", "5")
	t.SkipIf(len(res.Resources()) == 0, "blocked: the list is empty")
	for _, o := range res.Resources() {
		t.Holds(has(o, "userName") && has(o, "id"), "an item with excludedAttributes=emails,name", "id and userName", o)
		t.Holds(!has(o, "emails") && !has(o, "name"), "an item with excludedAttributes=emails,name", "neither emails nor name", o)
	}
}

func projectionListMembers(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "excludedAttributes")
	u := t.CreateUser(ctx, "member", nil)
	g := t.CreateGroup(ctx, "slim", doc{"members": []doc{{"value": u.ID}}})
	res := t.Get(ctx, "/Groups", "filter", `displayName eq `+quote(t.Prefix()+"slim"), "excludedAttributes", "members")
	t.SkipIf(len(res.Resources()) != 1, "blocked: the group is not found by its name")
	o := res.Resources()[0]
	t.Holds(!has(o, "members"), "members in a list with excludedAttributes=members", "absent", value(o, "members"))
	t.Expect("displayName in a list with excludedAttributes=members", g.Sent["displayName"], value(o, "displayName"))
}

func projectionNeverInWrites(ctx context.Context, t *T) {
	secret := doc{"password": "Scimconf-Secret-1!"}
	res := t.Post(ctx, "/Users", t.User("secret", secret), "attributes", "userName,password")
	id := res.Object().Text("id")
	t.SkipIf(!res.OK() || id == "", "blocked: the user could not be created")
	t.Holds(!has(res.Object(), "password"), "password in the response to POST with attributes=userName,password", "absent", "a value")
	res = t.Put(ctx, "/Users/"+id, t.User("secret", secret), "attributes", "userName,password")
	t.Holds(!has(res.Object(), "password"), "password in the response to PUT with attributes=userName,password", "absent", "a value")
}

func projectionBoth(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "both", doc{"displayName": "Both Ways"})
	res := t.Get(ctx, u.Path(), "attributes", "userName,displayName", "excludedAttributes", "displayName")
	t.Must(res.Status == 200 || res.Status == 400, "status with both parameters", "200 or 400", res.Status)
	if res.Status == 200 {
		t.Expect("id with both parameters", u.ID, value(res.Object(), "id"))
		t.Expect("userName with both parameters", t.UserName("both"), value(res.Object(), "userName"))
		t.Holds(!has(res.Object(), "displayName") || !has(res.Object(), "emails"), "response with both parameters",
			"no displayName, or no emails", res.Object())
	}
}

// narrow records a finding if the response to a request with attributes=displayName lacks displayName, or if it has userName, name, emails
// or active. It ignores those that a GET of the user with attributes=id returns as well, which projection.id-alone reports.
func narrow(ctx context.Context, t *T, what, path string, res *conformance.Response) {
	o := res.Object()
	t.Holds(has(o, "displayName"), what, "displayName", o)
	for _, name := range []string{"userName", "name", "emails", "active"} {
		if has(o, name) && alwaysReturns(ctx, t, path, name) {
			t.Note("%s is returned with every attributes=, which projection.id-alone reports", name)
			continue
		}
		t.About(res)
		t.Holds(!has(o, name), what, "no "+name, o)
	}
}

// patchWith replaces the displayName of a user by a PATCH with a query parameter.
func patchWith(ctx context.Context, t *T, u *conformance.Created, parameter, names string) *conformance.Response {
	return t.Call(ctx, conformance.Request{
		Method: "PATCH", Path: u.Path(), Query: map[string][]string{parameter: {names}},
		Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "replace", "path": "displayName", "value": "Patched"}}},
	})
}
