package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A view is one way to ask for a part of the users of the fixture staff, and what the answer must and must not hold. The
// names are those of attributes, with dots and URNs.
type view struct {
	query        []string // parameters and their values
	shown, other []string // must be there, must not be there
	of           string   // whose view, gus unless it is said
}

// views makes a check that reads single users in some ways. What the target does not keep is not looked for.
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
				label := v.of
				if label == "" {
					label = "gus"
				}
				user := t.Fixture[label]
				res := t.Get(ctx, user.Path(), v.query...)
				asked := "with " + strings.Join(v.query, "=")
				t.Require("status of "+res.Name+" "+asked, 200, res.Status)
				for _, name := range v.shown {
					want, got := at(user.Resource, inObject(name)), at(res.Object(), inObject(name))
					if name == "schemas" {
						// RFC 7643 section 3: the URIs of the schemas of what is there, so that an extension may go with its data.
						t.Holds(got != nil && len(items(got)) <= len(items(want)), name+" "+asked, "the schemas of what is shown", got)
						continue
					}
					switch want.(type) {
					case nil: // the target does not keep it
					case string, bool:
						t.Expect(name+" "+asked, want, got)
					default:
						t.Holds(got != nil && len(items(got)) == len(items(want)), name+" "+asked, "what is there without the parameter", got)
					}
				}
				for _, name := range v.other {
					got := at(res.Object(), inObject(name))
					t.Holds(got == nil, name+" "+asked, "absent", got)
				}
			}
		},
	}
}

// named is a parameter with names joined by commas.
func named(parameter string, of ...string) []string {
	return []string{parameter, strings.Join(of, ",")}
}

const (
	minimum    = "RFC7644-3.9-02"
	without    = "RFC7644-3.9-03"
	notation   = "RFC7644-3.4.2.5-04"
	projectFix = "Resolve each name of the parameter as an attribute path, and build the answer from id, schemas and what is named."
	cutFix     = "Take what is named out of the default set, and leave everything else as it is."
)

var enterpriseViews = append(slices.Clone(writesUsers), conformance.NeedEnterprise)

// forExtended adds the need of the enterprise extension to a check.
func forExtended(c check) check {
	c.Needs = enterpriseViews
	return c
}

var projectionForms = []check{
	views("several", "attributes= takes several names, joined by commas", must, reqs(minimum, "RFC7644-3.9-04"),
		"Imports map a dozen attributes.", projectFix,
		view{query: named("attributes", "userName", "displayName", "emails"), shown: []string{"id", "userName", "displayName", "emails"},
			other: []string{"name", "profileUrl", "active"}}),
	views("blank-behind-comma", "A blank behind the comma does not hide a name", should, reqs("RFC7644-3.9-04"),
		"The examples of RFC 7644 have one.", "Cut the blanks off each name.",
		view{query: []string{"attributes", "userName, displayName"}, shown: []string{"userName", "displayName"}, other: []string{"emails"}}),
	views("schemas-stay", "schemas is part of every projected resource", should, reqs("RFC7644-3.9-10"),
		"A client reads from it what it has in its hands.", "Keep schemas whatever the parameters say.",
		view{query: named("attributes", "userName"), shown: []string{"schemas"}},
		view{query: named("excludedAttributes", "schemas", "emails"), shown: []string{"schemas"}}),
	views("id-always", "id comes with every projection", must, reqs("RFC7643-7-20", minimum),
		"A resource without an id cannot be addressed.", "Keep attributes with returned always whatever the parameters say.",
		view{query: named("attributes", "displayName"), shown: []string{"id"}},
		view{query: named("attributes", "name.familyName"), shown: []string{"id"}}),
	views("id-alone", "attributes=id returns the minimum only", must, reqs(minimum),
		"It is how clients ask whether somebody is there.", projectFix,
		view{query: named("attributes", "id"), shown: []string{"id"}, other: []string{"userName", "name", "emails", "displayName"}}),
	views("meta", "attributes=meta returns the meta data and nothing else", must, reqs(minimum, "RFC7644-3.9-06"),
		"Clients that look for changes read nothing but meta.", projectFix,
		view{query: named("attributes", "meta"), shown: []string{"meta.resourceType", "meta.created"}, other: []string{"userName", "emails"}}),
	views("meta-part", "A single sub-attribute of meta can be asked for", must, reqs("RFC7644-3.9-05"),
		"Clients that look for changes read nothing but the time.", "Project meta like any other complex attribute.",
		view{query: named("attributes", "meta.lastModified"), shown: []string{"meta.lastModified"}, other: []string{"meta.created", "userName"}}),
	views("whole-complex", "Naming a complex attribute returns all of its parts", must, reqs("RFC7644-3.9-06"),
		"A name without its parts is no name.", "A name without a dot stands for the whole attribute.",
		view{query: named("attributes", "name"), shown: []string{"name.familyName", "name.givenName"}, other: []string{"userName", "emails"}}),
	views("whole-multi-valued", "Naming a multi-valued attribute returns all elements with all their parts", must, reqs("RFC7644-3.9-06"),
		"The second address is as good as the first.", "A name without a dot stands for the whole attribute.",
		view{query: named("attributes", "emails"), shown: []string{"emails.value", "emails.type"}, other: []string{"userName", "name"}}),
	views("two-parts", "Two sub-attributes of one attribute can be asked for", must, reqs("RFC7644-3.9-05", "RFC7644-3.9-08"),
		"Clients map given and family name, and nothing else of it.",
		"Collect the named parts of an attribute instead of replacing one by the next.",
		view{query: named("attributes", "name.familyName", "name.givenName"), shown: []string{"name.familyName", "name.givenName"},
			other: []string{"userName"}},
		view{query: named("attributes", "emails.value", "emails.type"), shown: []string{"emails.value", "emails.type"},
			other: []string{"emails.primary"}}),
	views("every-element", "A sub-attribute is returned from every element", must, reqs("RFC7644-3.9-08"),
		"A projection that stops at the first element loses addresses.", "Project each element of a multi-valued attribute.",
		view{query: named("attributes", "emails.type"), shown: []string{"emails.type"}, other: []string{"emails.value", "userName"}}),
	views("urn-sub-attribute", "A sub-attribute may be named with its schema's URN", must, reqs(notation, "RFC7644-3.10-01"),
		"Clients generated from schemas qualify every name.",
		"Split a qualified name at its last colon; the dot in 2.0 separates nothing, the one behind the colon does.",
		view{query: named("attributes", scim.UserSchema+":name.familyName"), shown: []string{"name.familyName"},
			other: []string{"name.givenName", "userName"}}),
	views("urn-case", "The case of a URN in attributes= does not matter", must, reqs("RFC7644-3.10-03"),
		"URNs compare without regard to case.", "Fold the URN before looking it up.",
		view{query: named("attributes", strings.ToUpper(scim.UserSchema)+":USERNAME"), shown: []string{"userName"}, other: []string{"emails"}}),
	views("sub-attribute-case", "The case of a sub-attribute in attributes= does not matter", must,
		reqs("RFC7644-3.4.2.5-07", "RFC7644-3.10-03"),
		"Clients write names as in their own schema.", "Fold sub-attributes as well.",
		view{query: named("attributes", "Name.FAMILYname"), shown: []string{"name.familyName"}, other: []string{"name.givenName", "userName"}}),
	views("unknown-only", "attributes= with unknown names only returns the minimum", should, reqs("RFC7644-3.4.2.5-08", minimum),
		"A name that is not known must not open the whole resource.", "An empty set of known names is not the same as no parameter.",
		view{query: named("attributes", "scimconfNoSuchAttribute"), shown: []string{"id"}, other: []string{"userName", "emails", "name"}}),
	views("excluded-unknown", "An unknown name in excludedAttributes changes nothing", should, reqs("RFC7644-3.4.2.5-08"),
		"Clients leave out what some targets do not even have.", "Ignore unknown names.",
		view{query: named("excludedAttributes", "scimconfNoSuchAttribute"), shown: []string{"id", "userName", "emails", "name"}}),
	views("excluded-part", "excludedAttributes= with a sub-attribute leaves out just that part", should, reqs("RFC7644-3.9-07"),
		"Leaving out a part must not take the rest with it.", cutFix,
		view{query: named("excludedAttributes", "name.givenName"), shown: []string{"name.familyName", "userName", "emails"},
			other: []string{"name.givenName"}}),
	views("excluded-part-of-elements", "excludedAttributes= takes a part out of every element", should, reqs("RFC7644-3.9-07"),
		"The elements keep their other parts.", cutFix,
		view{query: named("excludedAttributes", "emails.type"), shown: []string{"emails.value", "userName"}, other: []string{"emails.type"}}),
	views("excluded-case", "The case of names in excludedAttributes= does not matter", must, reqs("RFC7644-3.4.2.5-07"),
		"Clients write names as in their own schema.", "Fold the names before looking them up.",
		view{query: named("excludedAttributes", "EMAILS"), shown: []string{"userName", "name"}, other: []string{"emails"}}),
	views("excluded-urn", "A name in excludedAttributes= may be qualified with its schema's URN", must, reqs(notation, "RFC7644-3.10-01"),
		"Clients generated from schemas qualify every name.", "Resolve the names as attribute paths, URN included.",
		view{query: named("excludedAttributes", scim.UserSchema+":emails"), shown: []string{"userName", "name"}, other: []string{"emails"}}),
	views("excluded-meta", "meta can be left out", must, reqs(without),
		"It is returned by default, not always.", cutFix,
		view{query: named("excludedAttributes", "meta"), shown: []string{"id", "userName"}, other: []string{"meta"}}),
	views("excluded-blank-behind-comma", "A blank behind the comma does not save an attribute from being left out", should,
		reqs("RFC7644-3.9-04"),
		"The examples of RFC 7644 have one.", "Cut the blanks off each name.",
		view{query: []string{"excludedAttributes", "name, emails"}, shown: []string{"userName"}, other: []string{"name", "emails"}}),
	views("default-set", "Without parameters everything is returned that is returned by default", must, reqs("RFC7643-7-23", "RFC7644-3.4-01"),
		"Clients that ask for nothing in particular expect the whole resource.", "Return every attribute with returned default that has a value.",
		view{shown: []string{"id", "schemas", "userName", "name", "emails", "displayName", "profileUrl"}, other: []string{"password"}}),
	views("empty", "An empty parameter is read as none, or as the minimum", may, reqs("RFC7644-3.4.2.5-08"),
		"Clients paste empty settings into URLs.", "Treat an empty list of names as an absent one.",
		view{query: []string{"attributes", ""}, shown: []string{"id"}},
		view{query: []string{"excludedAttributes", ""}, shown: []string{"id", "userName"}}),

	forExtended(views("extension", "An attribute of an extension is asked for by its full name", should, reqs("RFC7644-3.9-09"),
		"The extension is where departments and cost centres are.", "Resolve names below the extension's URN.",
		view{query: named("attributes", enterprise+"department"), shown: []string{enterprise + "department"},
			other: []string{enterprise + "employeeNumber", "userName"}})),
	forExtended(views("whole-extension", "A whole extension is asked for by its URN", may, reqs("RFC7644-3.9-09"),
		"Clients read extensions in one piece.", "Take the bare URN for the extension's object.",
		view{query: named("attributes", scim.EnterpriseUserSchema), shown: []string{enterprise + "department", enterprise + "employeeNumber"},
			other: []string{"userName", "emails"}})),
	forExtended(
		views("extension-part", "A part of a complex attribute of an extension is asked for by its full name", should,
			reqs("RFC7644-3.9-09", "RFC7644-3.9-05"),
			"Clients want the id of the manager.", "Behind the URN a name may have a dot.",
			view{query: named("attributes", enterprise+"manager.value"), shown: []string{enterprise + "manager.value"},
				other: []string{enterprise + "department", "userName"}})),
	forExtended(views("core-without-extension", "Asking for core attributes leaves the extension out", must, reqs(minimum),
		"An extension is a set of attributes like all others.", "Project the extension's object by the same rules.",
		view{query: named("attributes", "userName", "name"), shown: []string{"userName", "name"},
			other: []string{scim.EnterpriseUserSchema, "emails"}})),
	forExtended(
		views("excluded-extension", "An attribute of an extension is left out by its full name, and the others stay", should,
			reqs("RFC7644-3.9-09", without),
			"A salary grade is nobody's business, the department is.", cutFix,
			view{query: named("excludedAttributes", enterprise+"department"), shown: []string{enterprise + "employeeNumber", "userName"},
				other: []string{enterprise + "department"}})),
	forExtended(views("excluded-whole-extension", "A whole extension is left out by its URN", may, reqs("RFC7644-3.9-09", without),
		"Clients that do not know it need not read it.", "Take the bare URN for the extension's object.",
		view{query: named("excludedAttributes", scim.EnterpriseUserSchema), shown: []string{"userName", "name"},
			other: []string{scim.EnterpriseUserSchema}})),
}

// items returns the elements of an array, and anything else as the only one.
func items(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// inObject turns an attribute's full name into the steps to its value: the URN of the extension is one step.
func inObject(name string) []string {
	if rest, ok := strings.CutPrefix(name, enterprise); ok {
		return append([]string{scim.EnterpriseUserSchema}, strings.Split(rest, ".")...)
	}
	if name == scim.EnterpriseUserSchema {
		return []string{name}
	}
	return strings.Split(name, ".")
}

// at follows steps into an object; nil and empty arrays are as good as absent.
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
