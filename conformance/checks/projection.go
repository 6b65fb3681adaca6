package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var projection = []check{
	{
		ID:           "projection.attributes",
		Title:        "attributes= returns only the attributes that it names and those that are always returned",
		Requirements: reqs("RFC7644-3.9-02", "RFC7644-3.4.2.5-01", "RFC7644-3.4.2.5-05"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "Clients name attributes to exclude large or confidential ones; returning all slows down imports and exposes data.",
		Fix:          "Build the response from the named attributes, id and schemas.",
		Run:          projectionAttributes,
	},
	{
		ID:           "projection.list",
		Title:        "attributes= applies to the items of a list",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-02", "RFC7644-3.4.2.5-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Imports request a few attributes of all users; with all attributes, they take many times longer.",
		Fix:          "Project every item of Resources, not only single resources.",
		Run:          projectionList,
	},
	{
		ID:           "projection.sub-attribute",
		Title:        "attributes= with a sub-attribute returns only that sub-attribute",
		Requirements: reqs("RFC7644-3.9-05", "RFC7644-3.9-08"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "If sub-attributes are ignored, clients get the whole attribute with data that they did not request, or nothing.",
		Fix:          "Resolve name.familyName and emails.value, and return only those sub-attributes.",
		Run:          projectionSubAttribute,
	},
	{
		ID:           "projection.excluded",
		Title:        "excludedAttributes= omits only the attributes that it names",
		Requirements: reqs("RFC7644-3.9-03", "RFC7644-3.4.2.5-02", "RFC7644-3.9-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Entra ID excludes members to reduce the size of responses; otherwise its requests become slow or time out.",
		Fix:          "Return all attributes with returned \"default\" except those that the parameter names.",
		Run:          projectionExcluded,
	},
	{
		ID:           "projection.id-stays",
		Title:        "excludedAttributes= cannot omit id",
		Requirements: reqs("RFC7644-3.4.2.5-06", "RFC7643-3.1-12", "RFC7643-7-20"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Without the id, the client cannot change or delete the resource.",
		Fix:          "Return attributes with returned \"always\" regardless of the parameters.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "anchored", nil)
			t.Expect("id with excludedAttributes=id", u.ID, value(t.Read(ctx, u.Path(), "excludedAttributes", "id,emails").Object(), "id"))
		},
	},
	{
		ID:           "projection.names-ignore-case",
		Title:        "The names in attributes= are case-insensitive and may start with the URN of their schema",
		Requirements: reqs("RFC7644-3.4.2.5-07", "RFC7644-3.4.2.5-04", "RFC7644-3.10-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients write names with the URN of the schema or in different case; a name that is not recognized returns no value.",
		Fix:          "Compare names case-insensitively, and accept the URN of the schema and a colon before a name.",
		Run:          projectionNamesIgnoreCase,
	},
	{
		ID:           "projection.unknown-name",
		Title:        "An unknown name in attributes= does not cause an error",
		Requirements: reqs("RFC7644-3.4.2.5-08"),
		Level:        interop, // RFC 7644 does not define the response
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients request extension attributes that not every server supports; an error stops their import.",
		Fix:          "Ignore unknown names in attributes and excludedAttributes.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "lenient", nil)
			res := t.Get(ctx, u.Path(), "attributes", "userName,scimconfNoSuchAttribute")
			t.Require("status of "+res.Name+" with an unknown name in attributes", 200, res.Status)
			t.Expect("userName", t.UserName("lenient"), value(res.Object(), "userName"))
		},
	},
	{
		ID:           "projection.on-write",
		Title:        "attributes= applies to the response to POST",
		Requirements: reqs("RFC7644-3.9-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients that send attributes= with a POST get data that they did not request, or miss data that they need.",
		Fix:          "Use the same projection for POST, PUT and PATCH as for GET.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "attributes")
			res := t.Post(ctx, "/Users", t.User("shaped", nil), "attributes", "userName")
			t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be created")
			t.Expect("userName", t.UserName("shaped"), value(res.Object(), "userName"))
			t.Expect("further members of the response to POST with attributes=userName", []string{}, beyond(t, res.Object(), "userName"))
		},
	},
	{
		ID:           "projection.members",
		Title:        "excludedAttributes=members reads a group without its members",
		Requirements: reqs("RFC7644-3.4.2.5-02", "RFC7644-3.9-03"),
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup),
		Requests:     5,
		Why:          "Entra ID reads every group with this parameter; with members the response can be thousands of times larger.",
		Fix:          "Apply excludedAttributes to groups in the same way as to users.",
		Run: func(ctx context.Context, t *T) {
			blockedIfIgnored(ctx, t, "excludedAttributes")
			u := t.CreateUser(ctx, "member", nil)
			g := t.CreateGroup(ctx, "slim", doc{"members": []doc{{"value": u.ID}}})
			o := projected(ctx, t, g.Path(), "excludedAttributes", "members")
			t.Holds(!has(o, "members"), "members with excludedAttributes=members", "absent", value(o, "members"))
			t.Expect("displayName with excludedAttributes=members", g.Sent["displayName"], value(o, "displayName"))
		},
	},
}

func projectionAttributes(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "narrow", nil)
	o := projected(ctx, t, u.Path(), "attributes", "userName")
	t.Expect("userName with attributes=userName", value(u.Resource, "userName"), value(o, "userName"))
	t.Expect("id with attributes=userName", u.ID, value(o, "id"))
	// The second user has attributes that a target may assign itself. It is not created after a finding, so that the finding does not depend
	// on them.
	t.Must(len(beyond(t, o, "userName")) == 0, "further members of the user with attributes=userName", "[]", beyond(t, o, "userName"))
	u = t.CreateUser(ctx, "known", doc{"displayName": "Narrow View", "externalId": t.Prefix() + "narrow"})
	o = projected(ctx, t, u.Path(), "attributes", "userName")
	t.Expect("further members of a user with externalId, with attributes=userName", []string{}, beyond(t, o, "userName"))
}

// blockedIfIgnored blocks the check if the target ignores the parameter attributes or excludedAttributes in a GET of a user, which
// projection.attributes and projection.excluded report.
func blockedIfIgnored(ctx context.Context, t *T, parameter string) {
	names := map[string]string{"attributes": "userName", "excludedAttributes": "emails,name"}[parameter]
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "control", nil)
		o := t.Read(ctx, u.Path(), parameter, names).Object()
		for _, name := range []string{"emails", "name"} {
			if has(u.Resource, name) && !has(o, name) {
				return ""
			}
		}
		if !has(u.Resource, "emails") && !has(u.Resource, "name") {
			return ""
		}
		return "the target ignores the parameter " + parameter + ", which " +
			map[string]string{"attributes": "projection.attributes", "excludedAttributes": "projection.excluded"}[parameter] + " reports"
	})
}

// projected returns a resource that is read with the parameter attributes or excludedAttributes. If the target rejects the parameter, but
// returns the resource without the parameter, the check ends with a finding.
func projected(ctx context.Context, t *T, path, parameter, names string) *scim.Object {
	res := t.Get(ctx, path, parameter, names)
	if res.Status != 200 || res.Object() == nil {
		t.Read(ctx, path)
		t.About(res)
		t.Require("status of "+res.Name+" with "+parameter+"="+names, 200, res.Status)
	}
	return res.Object()
}

// beyond returns the names of the members of a user that a response to a request with the attributes parameter must not have, sorted: all
// except the named attributes, id, schemas, unassigned attributes, and attributes with returned "always" in the target's /Schemas. If the
// target has no User schema, beyond returns only attributes of RFC 7643.
func beyond(t *T, user *scim.Object, named ...string) []string {
	permitted := append([]string{"id", "schemas"}, named...)
	declared := t.Capabilities.Schema(scim.UserSchema)
	out := []string{}
	for name, v := range user.All() {
		inner, isObject := v.(*scim.Object)
		equal := func(other string) bool { return scim.EqualName(other, name) }
		switch {
		case !has(user, name) || isObject && inner.Len() == 0 || slices.ContainsFunc(permitted, equal):
		case alwaysReturned(element(declared, "attributes", "name", name)) || alwaysReturned(t.Capabilities.Schema(name)):
		case declared == nil && !slices.ContainsFunc([]string{"meta", "externalId", "displayName", "name", "emails", "active"}, equal):
		default:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// alwaysReturned reports whether the definition of an attribute, of one of its sub-attributes, or of an attribute of a schema has returned
// "always".
func alwaysReturned(definition *scim.Object) bool {
	if strings.EqualFold(definition.Text("returned"), "always") {
		return true
	}
	return slices.ContainsFunc(slices.Concat(definition.Array("attributes"), definition.Array("subAttributes")), func(item any) bool {
		inner, ok := item.(*scim.Object)
		return ok && alwaysReturned(inner)
	})
}

func projectionList(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "attributes")
	t.CreateUser(ctx, "listed", nil)
	res := t.Get(ctx, "/Users", "attributes", "userName", "count", "5")
	t.SkipIf(len(res.Resources()) == 0, "blocked: the list is empty")
	var more []string
	for _, o := range res.Resources() {
		t.Holds(has(o, "userName") && has(o, "id"), "an item with attributes=userName", "id and userName", o)
		more = append(more, beyond(t, o, "userName")...)
	}
	t.Expect("further members of the items with attributes=userName", []string{}, slices.Compact(sorted(more...)))
}

func projectionSubAttribute(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "attributes")
	var extra doc
	if t.Capabilities.Extended() {
		extra = extended(doc{"department": "Sales"})
	}
	u := t.CreateUser(ctx, "partial", extra)
	res := t.Get(ctx, u.Path(), "attributes", "name.familyName")
	if res.Status != http.StatusOK && extra != nil {
		plain := t.CreateUser(ctx, "plain", nil)
		if t.Get(ctx, plain.Path(), "attributes", "name.familyName").Status == http.StatusOK {
			t.About(res)
			t.Require("status of GET of a user with the enterprise extension, with attributes=name.familyName", 200, res.Status)
		}
		t.About(res)
	}
	t.Require("status of GET of a user with attributes=name.familyName", 200, res.Status)
	o := res.Object()
	t.Expect("name.familyName with attributes=name.familyName", "Check", value(o, "name.familyName"))
	t.Holds(value(o, "name.givenName") == nil, "name.givenName with attributes=name.familyName", "absent", value(o, "name.givenName"))
	o = t.Read(ctx, u.Path(), "attributes", "emails.value").Object()
	t.Expect("emails.value with attributes=emails.value", []string{t.UserName("partial")}, values(o, "emails", "value"))
	t.Holds(value(o, "emails.0.type") == nil, "emails.type with attributes=emails.value", "absent", value(o, "emails.0.type"))
}

// blockedIfPartsRejected blocks the check if the target rejects a GET of the same user with the parameter attributes and the simplest name
// with a dot, which projection.sub-attribute reports.
func blockedIfPartsRejected(ctx context.Context, t *T, path, names string) {
	const simplest = "name.familyName"
	if !strings.Contains(names, ".") {
		return
	}
	t.BlockedIf(func() string {
		if res := t.Get(ctx, path, "attributes", simplest); res.Status != http.StatusOK {
			return fmt.Sprintf("GET of a user with attributes=%s returned %d, which projection.sub-attribute reports", simplest, res.Status)
		}
		return ""
	})
}

func projectionExcluded(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "cut", nil)
	o := projected(ctx, t, u.Path(), "excludedAttributes", "name,active")
	for _, name := range []string{"name", "active"} {
		t.Holds(!has(o, name), name+" with excludedAttributes=name,active", "absent", value(o, name))
	}
	for _, name := range []string{"userName", "emails"} {
		t.Holds(has(o, name) || !has(u.Resource, name), name+" with excludedAttributes=name,active", "as without the parameter", value(o, name))
	}
}

func projectionNamesIgnoreCase(ctx context.Context, t *T) {
	blockedIfIgnored(ctx, t, "attributes")
	u := t.CreateUser(ctx, "loud", nil)
	for _, name := range []string{"USERNAME", "urn:ietf:params:scim:schemas:core:2.0:User:userName"} {
		o := t.Read(ctx, u.Path(), "attributes", name).Object()
		t.Expect("userName with attributes="+name, t.UserName("loud"), value(o, "userName"))
		t.Holds(!has(o, "emails"), "emails with attributes="+name, "absent", value(o, "emails"))
	}
}
