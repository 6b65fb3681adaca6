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

// A view is one GET of a user of the fixture staff, and the attributes that its response must and must not have. The names of these
// attributes have the form that the parameters use: name.familyName, or the URN of an extension, a colon and a name.
type view struct {
	query        []string // parameters and their values
	shown, other []string // attributes that the response must have, and attributes that it must not have
	of           string   // label of the user, default: gus
}

// views returns a check that sends the GET requests of its views. It ignores attributes that the target does not store.
func views(id, title string, level conformance.Level, requirements []string, why, fix string, table ...view) check {
	return check{
		ID:           "projection." + id,
		Title:        title,
		Requirements: requirements,
		Level:        level,
		Needs:        writesUsers,
		Fixture:      staff,
		Requests:     len(table),
		Why:          why,
		Fix:          fix,
		Run: func(ctx context.Context, t *T) {
			for _, v := range table {
				if len(v.query) > 0 && len(v.other) > 0 && id != "id-alone" {
					blockedIfIgnored(ctx, t, v.query[0])
				}
				label := v.of
				if label == "" {
					label = "gus"
				}
				user := t.Fixture[label]
				if len(v.query) > 0 && v.query[0] == "attributes" {
					blockedIfPartsRejected(ctx, t, user.Path(), v.query[1])
				}
				if id == "unknown-only" {
					blockedIfUnknownRejected(ctx, t, user.Path())
				}
				res := t.Get(ctx, user.Path(), v.query...)
				asked := "with " + queryText(v.query)
				t.Require("status of "+res.Name+" "+asked, 200, res.Status)
				for _, name := range v.shown {
					want, got := at(user.Resource, inObject(name)), at(res.Object(), inObject(name))
					if name == "schemas" {
						// RFC 7643 section 3: schemas has the URIs of the schemas in use, so an extension may be omitted together with its data.
						t.Holds(got != nil && len(items(got)) <= len(items(want)), name+" "+asked, "the schemas of the returned attributes", got)
						continue
					}
					switch want.(type) {
					case nil: // the target does not store the attribute
					case string, bool:
						t.Expect(name+" "+asked, want, got)
					default:
						t.Holds(got != nil && len(items(got)) == len(items(want)), name+" "+asked, "the same value as without the parameter", got)
					}
				}
				for _, name := range v.other {
					got := at(res.Object(), inObject(name))
					if got != nil && id != "id-alone" && v.query != nil && v.query[0] == "attributes" && alwaysReturns(ctx, t, user.Path(), name) {
						t.Note("%s is returned with every attributes=, which projection.id-alone reports", name)
						continue
					}
					t.About(res)
					t.Holds(got == nil, name+" "+asked, "absent", got)
				}
			}
		},
	}
}

// blockedIfUnknownRejected blocks the check if the target rejects a known name together with an unknown one, which projection.unknown-name
// reports.
func blockedIfUnknownRejected(ctx context.Context, t *T, path string) {
	t.BlockedIf(func() string {
		if res := t.Get(ctx, path, "attributes", "userName,scimconfNoSuchAttribute"); res.Status != http.StatusOK {
			return fmt.Sprintf("GET of a user with a known and an unknown name in attributes returned %d, which projection.unknown-name reports",
				res.Status)
		}
		return ""
	})
}

// idAlone are the attributes of which projection.id-alone reports that the target returns them although attributes names only id.
var idAlone = []string{"userName", "name", "emails", "displayName"}

// alwaysReturns reports whether name is in idAlone, and the target returns this attribute, but not all attributes, if the parameter
// attributes names only id.
func alwaysReturns(ctx context.Context, t *T, path, name string) bool {
	if !slices.Contains(idAlone, name) {
		return false
	}
	o := t.Read(ctx, path, "attributes", "id").Object()
	whole := t.Read(ctx, path).Object()
	return at(o, inObject(name)) != nil && slices.ContainsFunc([]string{"name", "emails", "active", "members"}, func(other string) bool {
		return has(whole, other) && !has(o, other)
	})
}

// named returns a query parameter with names joined by commas.
func named(parameter string, of ...string) []string {
	return []string{parameter, strings.Join(of, ",")}
}

const (
	minimum    = "RFC7644-3.9-02"
	without    = "RFC7644-3.9-03"
	notation   = "RFC7644-3.4.2.5-04"
	projectFix = "Resolve each name of the parameter as an attribute path, and build the response from id, schemas and the named attributes."
	cutFix     = "Omit only the attributes and sub-attributes that the parameter names; return all others with returned \"default\"."
)

var enterpriseViews = append(slices.Clone(writesUsers), conformance.NeedEnterprise)

// forExtended limits a check to targets whose users have the enterprise extension.
func forExtended(c check) check {
	c.Needs = enterpriseViews
	return c
}

var projectionForms = []check{
	views("several", "attributes= accepts several names separated by commas", must, reqs(minimum, "RFC7644-3.9-04"),
		"Imports request several attributes; if the server reads only the first name, accounts lack the others.", projectFix,
		view{query: named("attributes", "userName", "displayName", "emails"), shown: []string{"id", "userName", "displayName", "emails"},
			other: []string{"name", "profileUrl", "active"}}),
	views("blank-behind-comma", "Whitespace after a comma in attributes= is ignored", should, reqs("RFC7644-3.9-04"),
		"Clients write names as in the examples of RFC 7644, with a space; if the space is not ignored, a value is missing.",
		"Trim whitespace from each name.",
		view{query: []string{"attributes", "userName, displayName"}, shown: []string{"userName", "displayName"}, other: []string{"emails"}}),
	views("schemas-stay", "schemas is returned even if attributes= omits it or excludedAttributes= names it, and the name is not rejected",
		should, reqs("RFC7644-3.9-10"),
		"Clients cannot interpret a resource without schemas, and reject it; a client whose parameter is rejected gets no resource.",
		"Accept the name schemas in the parameters, although no schema defines it, and return schemas regardless of them.",
		view{query: named("attributes", "userName"), shown: []string{"schemas"}},
		view{query: named("excludedAttributes", "schemas", "emails"), shown: []string{"schemas"}}),
	views("id-always", "id is returned regardless of attributes=", must, reqs("RFC7643-7-20", minimum),
		"Without the id, the client cannot change or delete the resource.",
		"Return attributes with returned \"always\" regardless of the parameters.",
		view{query: named("attributes", "displayName"), shown: []string{"id"}},
		view{query: named("attributes", "name.familyName"), shown: []string{"id"}}),
	views("id-alone", "The parameter attributes=id returns only the attributes with returned \"always\"", must, reqs(minimum),
		"Clients send attributes=id to check whether a user exists; a response with more is slower and exposes data.",
		projectFix+" Do not add attributes because they are required or returned by default.",
		view{query: named("attributes", "id"), shown: []string{"id"}, other: idAlone}),
	views("meta", "The parameter attributes=meta returns only meta and the attributes with returned \"always\"",
		must, reqs(minimum, "RFC7644-3.9-06"),
		"Clients that search for changes read only meta; without it they have to read whole users.", projectFix,
		view{query: named("attributes", "meta"), shown: []string{"meta.resourceType", "meta.created"}, other: []string{"userName", "emails"}}),
	views("meta-part", "attributes= accepts a single sub-attribute of meta", must, reqs("RFC7644-3.9-05"),
		"Clients that search for changes read only meta.lastModified; without it, they miss changes.",
		"Project meta in the same way as any other complex attribute.",
		view{query: named("attributes", "meta.lastModified"), shown: []string{"meta.lastModified"}, other: []string{"meta.created", "userName"}}),
	views("whole-complex", "attributes= with a complex attribute returns all its sub-attributes", must, reqs("RFC7644-3.9-06"),
		"Clients that request name and get only a part of it store an incomplete name.", "Treat a name without a dot as the whole attribute.",
		view{query: named("attributes", "name"), shown: []string{"name.familyName", "name.givenName"}, other: []string{"userName", "emails"}}),
	views("whole-multi-valued", "attributes= with a multi-valued attribute returns all elements with all their sub-attributes", must,
		reqs("RFC7644-3.9-06"),
		"Clients that get only the first address, or no type, store incomplete addresses.", "Treat a name without a dot as the whole attribute.",
		view{query: named("attributes", "emails"), shown: []string{"emails.value", "emails.type"}, other: []string{"userName", "name"}}),
	views("two-parts", "attributes= accepts two sub-attributes of one attribute", must, reqs("RFC7644-3.9-05", "RFC7644-3.9-08"),
		"Clients request given name and family name; if one is missing, they store an incomplete name.",
		"Return all named sub-attributes of an attribute; the last one must not replace the earlier ones.",
		view{query: named("attributes", "name.familyName", "name.givenName"), shown: []string{"name.familyName", "name.givenName"},
			other: []string{"userName"}},
		view{query: named("attributes", "emails.value", "emails.type"), shown: []string{"emails.value", "emails.type"},
			other: []string{"emails.primary"}}),
	views("every-element", "attributes= with a sub-attribute of a multi-valued attribute returns the sub-attribute of every element", must,
		reqs("RFC7644-3.9-08"),
		"If only the first element is returned, clients lose the other addresses.",
		"Select the sub-attribute in each element of a multi-valued attribute.",
		view{query: named("attributes", "emails.type"), shown: []string{"emails.type"}, other: []string{"emails.value", "userName"}}),
	views("urn-sub-attribute", "attributes= accepts a sub-attribute with the URN of its schema", must, reqs(notation, "RFC7644-3.10-01"),
		"Clients generated from schemas qualify every name; if the URN is not resolved, they get the wrong attributes.",
		"Split a qualified name at its last colon; only a dot after this colon separates a sub-attribute.",
		view{query: named("attributes", scim.UserSchema+":name.familyName"), shown: []string{"name.familyName"},
			other: []string{"name.givenName", "userName"}}),
	views("urn-case", "The URNs in attributes= are case-insensitive", must, reqs("RFC7644-3.10-03"),
		"Clients write URNs in different case; if one is not recognized, its value is missing.", "Compare URNs case-insensitively.",
		view{query: named("attributes", strings.ToUpper(scim.UserSchema)+":USERNAME"), shown: []string{"userName"}, other: []string{"emails"}}),
	views("sub-attribute-case", "The names of sub-attributes in attributes= are case-insensitive", must,
		reqs("RFC7644-3.4.2.5-07", "RFC7644-3.10-03"),
		"Clients write names in different case; if one is not recognized, they get the wrong attributes.",
		"Compare names of sub-attributes case-insensitively.",
		view{query: named("attributes", "Name.FAMILYname"), shown: []string{"name.familyName"}, other: []string{"name.givenName", "userName"}}),
	views("unknown-only", "attributes= with only unknown names returns the attributes with returned \"always\"", interop,
		reqs("RFC7644-3.4.2.5-08", minimum),
		"If the server ignores the parameter, clients get attributes that they did not request.",
		"Distinguish an empty set of known names from an absent parameter.",
		view{query: named("attributes", "scimconfNoSuchAttribute"), shown: []string{"id"}, other: []string{"userName", "emails", "name"}}),
	views("excluded-unknown", "An unknown name in excludedAttributes changes nothing", interop, reqs("RFC7644-3.4.2.5-08"),
		"Clients exclude attributes that some servers do not support; an error stops their import.", "Ignore unknown names.",
		view{query: named("excludedAttributes", "scimconfNoSuchAttribute"), shown: []string{"id", "userName", "emails", "name"}}),
	views("excluded-part", "excludedAttributes= with a sub-attribute omits only that sub-attribute", should, reqs("RFC7644-3.9-07"),
		"If the server omits the whole attribute, clients lose the other parts of the name.", cutFix,
		view{query: named("excludedAttributes", "name.givenName"), shown: []string{"name.familyName", "userName", "emails"},
			other: []string{"name.givenName"}}),
	views("excluded-part-of-elements", "excludedAttributes= omits a sub-attribute from every element", should, reqs("RFC7644-3.9-07"),
		"If the elements lose their other sub-attributes, clients store incomplete addresses.", cutFix,
		view{query: named("excludedAttributes", "emails.type"), shown: []string{"emails.value", "userName"}, other: []string{"emails.type"}}),
	views("excluded-case", "The names in excludedAttributes= are case-insensitive", must, reqs("RFC7644-3.4.2.5-07"),
		"Clients write names in different case; if one is not recognized, they get the wrong attributes.", "Compare names case-insensitively.",
		view{query: named("excludedAttributes", "EMAILS"), shown: []string{"userName", "name"}, other: []string{"emails"}}),
	views("excluded-urn", "excludedAttributes= accepts names with the URN of their schema", must, reqs(notation, "RFC7644-3.10-01"),
		"Clients generated from schemas qualify every name; if the URN is not resolved, they get the wrong attributes.",
		"Resolve the names as attribute paths, including the URN.",
		view{query: named("excludedAttributes", scim.UserSchema+":emails"), shown: []string{"userName", "name"}, other: []string{"emails"}}),
	views("excluded-meta", "excludedAttributes= can omit meta", must, reqs(without),
		"Clients exclude meta to compare resources; if meta is returned anyway, changed timestamps look like changes of the user.", cutFix,
		view{query: named("excludedAttributes", "meta"), shown: []string{"id", "userName"}, other: []string{"meta"}}),
	views("excluded-blank-behind-comma", "Whitespace after a comma in excludedAttributes= is ignored", should,
		reqs("RFC7644-3.9-04"),
		"Clients write names as in the examples of RFC 7644, with a space; if the space is not ignored, the attribute after it is returned.",
		"Trim whitespace from each name.",
		view{query: []string{"excludedAttributes", "name, emails"}, shown: []string{"userName"}, other: []string{"name", "emails"}}),
	views("default-set", "Without parameters all attributes with returned \"default\" are returned",
		must, reqs("RFC7643-7-23", "RFC7644-3.4-01"),
		"Clients that set no parameter treat a missing attribute as removed, and delete it on their side.",
		"Return every attribute with returned \"default\" that has a value.",
		view{shown: []string{"id", "schemas", "userName", "name", "emails", "displayName", "profileUrl"}, other: []string{"password"}}),
	views("empty",
		"Empty attributes= and excludedAttributes= are accepted; an empty excludedAttributes= omits nothing", may, reqs("RFC7644-3.4.2.5-08"),
		"Clients send attributes= without names if their setting is empty; an error stops all requests of such a client.",
		"Treat a parameter without names as an absent parameter.",
		view{query: []string{"attributes", ""}, shown: []string{"id"}},
		view{query: []string{"excludedAttributes", ""}, shown: []string{"id", "userName"}}),

	forExtended(views("extension", "attributes= accepts the full name of an extension attribute", should, reqs("RFC7644-3.9-09"),
		"If the response lacks department or cost center, clients that request the attribute treat it as removed.",
		"Resolve names that start with the URN of an extension.",
		view{query: named("attributes", enterprise+"department"), shown: []string{enterprise + "department"},
			other: []string{enterprise + "employeeNumber", "userName"}},
		view{query: named("attributes", enterprise+"department", "displayName"), shown: []string{enterprise + "department", "displayName"},
			other: []string{enterprise + "employeeNumber", "userName"}})),
	forExtended(views("whole-extension", "attributes= accepts the URN of a whole extension", may, reqs("RFC7644-3.9-09"),
		"If the response lacks the extension, clients that request a whole extension treat its data as removed.",
		"Treat the URN of an extension as the name of the extension object.",
		view{query: named("attributes", scim.EnterpriseUserSchema), shown: []string{enterprise + "department", enterprise + "employeeNumber"},
			other: []string{"userName", "emails"}})),
	forExtended(
		views("extension-part", "attributes= accepts the full name of a sub-attribute of an extension", should,
			reqs("RFC7644-3.9-09", "RFC7644-3.9-05"),
			"Clients that do not get the id of the manager cannot link the user to the manager.",
			"Split the name at its last colon, then at the dot after it; return only that sub-attribute.",
			view{query: named("attributes", enterprise+"manager.value"), shown: []string{enterprise + "manager.value"},
				other: []string{enterprise + "department", "userName"}})),
	forExtended(views("core-without-extension", "attributes= with only core attributes omits the extension", must, reqs(minimum),
		"If the extension is returned anyway, clients get data that they did not request and that can be confidential.",
		"Return the extension object only if attributes names the extension or one of its attributes.",
		view{query: named("attributes", "userName", "name"), shown: []string{"userName", "name"},
			other: []string{scim.EnterpriseUserSchema, "emails"}})),
	forExtended(
		views("excluded-extension", "excludedAttributes= with the full name of an extension attribute omits only that attribute", should,
			reqs("RFC7644-3.9-09", without),
			"If the name is not resolved, clients that exclude one confidential attribute still get it, or lose the extension.", cutFix,
			view{query: named("excludedAttributes", enterprise+"department"), shown: []string{enterprise + "employeeNumber", "userName"},
				other: []string{enterprise + "department"}},
			view{query: named("excludedAttributes", enterprise+"department", "displayName"),
				shown: []string{enterprise + "employeeNumber", "userName"}, other: []string{enterprise + "department", "displayName"}})),
	forExtended(
		views("excluded-whole-extension", "excludedAttributes= with the URN of an extension omits the extension", may,
			reqs("RFC7644-3.9-09", without),
			"If the URN is ignored, clients that exclude an extension get large or confidential data.",
			"Treat the URN of an extension as the name of the extension object.",
			view{query: named("excludedAttributes", scim.EnterpriseUserSchema), shown: []string{"userName", "name"},
				other: []string{scim.EnterpriseUserSchema}})),
}

// items returns the elements of an array, and any other value as a single element.
func items(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// inObject splits an attribute's full name into the member names on the path to its value. The URN of the extension is one of them.
func inObject(name string) []string {
	if rest, ok := strings.CutPrefix(name, enterprise); ok {
		return append([]string{scim.EnterpriseUserSchema}, strings.Split(rest, ".")...)
	}
	if name == scim.EnterpriseUserSchema {
		return []string{name}
	}
	return strings.Split(name, ".")
}

// at returns the value at a path of member names. It returns nil for null, empty arrays and absent values.
func at(o *scim.Object, steps []string) any {
	var v any = o
	for _, step := range steps {
		switch node := v.(type) {
		case *scim.Object:
			v, _ = node.Get(step)
		case []any:
			var all []any
			for _, item := range node {
				if e, ok := item.(*scim.Object); ok {
					if member, ok := e.Get(step); ok && member != nil {
						all = append(all, member)
					}
				}
			}
			v = all
		default:
			return nil
		}
		if list, ok := v.([]any); ok && len(list) == 0 {
			return nil
		}
	}
	return v
}
