package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A patchCell is one cell of the table operation by kind of target: a user as it is before, the operations, and what a GET
// shows after them.
type patchCell struct {
	id, title string
	reqs      []string
	level     conformance.Level
	// before is what the user is created with beside the defaults.
	before func(t *T) doc
	ops    func(t *T) []doc
	// want lists what is looked at, by the paths of look.
	want func(t *T) []expected
	// refusable says that a 400 is permitted too, which then must change nothing.
	refusable bool
	why, fix  string
}

// expected is a path for look and the value to find there, nil for none.
type expected struct {
	path string
	want any
}

// look finds what an expectation is about: "name.givenName", "emails.*" (all values, sorted), "emails[home].value" (of the
// element with that type), and with "@" in front an attribute of the enterprise extension.
func look(o *scim.Object, path string) any {
	if inner, ok := strings.CutPrefix(path, "@"); ok {
		return value(o.Complex(scim.EnterpriseUserSchema), inner)
	}
	if attribute, ok := strings.CutSuffix(path, ".*"); ok {
		return values(o, attribute, "value")
	}
	if attribute, rest, ok := strings.Cut(path, "["); ok {
		kind, sub, _ := strings.Cut(rest, "].")
		return value(element(o, attribute, "type", kind), sub)
	}
	return value(o, path)
}

// notKept returns the path of something in a body that the answer does not have, "" when it has everything: a target need not
// support every attribute of a schema.
func notKept(sent doc, got *scim.Object) string {
	for name, v := range sent {
		at, ok := got.Get(name)
		switch v := v.(type) {
		case doc:
			inner, _ := at.(*scim.Object)
			if inner == nil {
				return name
			}
			if path := notKept(v, inner); path != "" {
				return name + "." + path
			}
		case []doc:
			list, _ := at.([]any)
			if len(list) < len(v) {
				return name
			}
			for _, item := range v {
				if !slices.ContainsFunc(list, func(have any) bool {
					o, _ := have.(*scim.Object)
					return o != nil && notKept(item, o) == "" && scim.Equal(item["value"], value(o, "value"))
				}) {
					return name
				}
			}
		default:
			if !ok && v != any(omit) && v != nil {
				return name
			}
		}
	}
	return ""
}

// undeclared tells whether the target lists a schema that does not have the attribute.
func undeclared(t *T, urn, attribute string) bool {
	schema := t.Capabilities.Schema(urn)
	if schema == nil || slices.Contains([]string{"schemas", "id", "externalId", "meta"}, attribute) {
		return false
	}
	return !slices.ContainsFunc(schema.Array("attributes"), func(v any) bool {
		o, _ := v.(*scim.Object)
		return scim.EqualName(o.Text("name"), attribute)
	})
}

// prepared creates the user of a cell, or skips when the target does not keep what the cell works on.
func prepared(ctx context.Context, t *T, before doc) *conformance.Created {
	u := t.CreateUser(ctx, "cell", before)
	if u.Resource != nil {
		if path := notKept(before, u.Resource); path != "" {
			t.Skip("the target does not keep " + path)
		}
	}
	return u
}

func (c patchCell) check() check {
	n := patches
	if strings.Contains(c.id, "extension") {
		n = append(slices.Clone(patches), conformance.NeedEnterprise)
	}
	return check{
		ID:           "patch." + c.id,
		Title:        c.title,
		Requirements: c.reqs,
		Level:        c.level,
		Needs:        n,
		Requests:     4,
		Why:          c.why,
		Fix:          c.fix,
		Run: func(ctx context.Context, t *T) {
			var before doc
			if c.before != nil {
				before = c.before(t)
			}
			want := c.want(t)
			for _, e := range want {
				name, _, _ := strings.Cut(strings.TrimPrefix(e.path, "@"), ".")
				name, _, _ = strings.Cut(name, "[")
				urn := scim.UserSchema
				if strings.HasPrefix(e.path, "@") {
					urn = scim.EnterpriseUserSchema
				}
				t.SkipIf(undeclared(t, urn, name), "the target's schema does not have "+name)
			}
			u := prepared(ctx, t, before)
			res := t.Patch(ctx, u.Path(), c.ops(t)...)
			if c.refusable && res.Status == 400 {
				t.Inform("status of "+res.Name, "200 or 204; 400 is permitted", res.Status)
				if u.Resource != nil {
					o := t.Read(ctx, u.Path()).Object()
					for _, e := range want {
						t.Expect(e.path+" after the refused PATCH", look(u.Resource, e.path), look(o, e.path))
					}
				}
				return
			}
			succeeded(t, res, 200, 204)
			o := t.Read(ctx, u.Path()).Object()
			for _, e := range want {
				if e.path == "schemas" {
					t.Holds(slices.Contains(texts(o, "schemas"), e.want.(string)), "schemas", e.want.(string)+" among them", value(o, "schemas"))
				} else if got := look(o, e.path); e.want == nil {
					list, isList := got.([]string)
					t.Holds(got == nil || isList && len(list) == 0, e.path, "absent", got)
				} else {
					t.Expect(e.path, e.want, got)
				}
			}
		},
	}
}

// extended is an extra with data in the enterprise extension.
func extended(attributes doc) doc {
	return doc{"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema}, scim.EnterpriseUserSchema: attributes}
}

func always(d doc) func(*T) doc      { return func(*T) doc { return d } }
func ops(list ...doc) func(*T) []doc { return func(*T) []doc { return list } }
func wants(list ...any) func(*T) []expected {
	var out []expected
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, expected{list[i].(string), list[i+1]})
	}
	return func(*T) []expected { return out }
}

const (
	core = scim.UserSchema + ":"
	ext  = scim.EnterpriseUserSchema + ":"
)

// twoWork is an extra with two work addresses and one for home.
func twoWork(t *T) doc {
	return doc{"emails": []doc{
		{"value": t.UserName("work-1"), "type": "work"}, {"value": t.UserName("work-2"), "type": "work"},
		{"value": t.UserName("home"), "type": "home"},
	}}
}

// shown is an extra with a work address whose display has the given text, and one for home.
func shown(text string) func(t *T) doc {
	return func(t *T) doc {
		return doc{
			"emails": []doc{{"value": t.UserName("work"), "type": "work", "display": text},
				{"value": t.UserName("home"), "type": "home", "display": "plain"}}}
	}
}

// addresses are the expected values of emails, by label.
func addresses(t *T, names ...string) []string {
	var out []string
	for _, name := range names {
		out = append(out, t.UserName(name))
	}
	return sorted(out...)
}

const (
	whyCell    = "Clients choose the form of a change; each form has to reach the attribute that it names, and no other."
	whyFilter  = "A client names one of several values by a filter; a filter that is read wrongly changes the wrong value."
	whyEnt     = "Department, cost centre and manager change with every transfer."
	fixPath    = "Resolve the path against the schema, URN and sub-attribute included, and change exactly that."
	fixFilter  = "Evaluate the whole filter grammar in brackets for every element."
	fixUnknown = "Resolve keys like paths, or answer 400; never store them as they are."
)

var patchMatrix = cells(
	patchCell{
		id:    "add-sub-attribute",
		title: "add with the path of a sub-attribute sets it and keeps its siblings",
		reqs:  reqs("RFC7644-3.5.2.1-12"),
		level: must,
		ops:   ops(doc{"op": "add", "path": "name.honorificPrefix", "value": "Dr."}),
		why:   whyCell,
		fix:   fixPath,
		want:  wants("name.honorificPrefix", "Dr.", "name.givenName", "Conformance", "name.familyName", "Check"),
	},
	patchCell{
		id:     "add-absent-complex",
		title:  "add creates a complex attribute that has no value",
		reqs:   reqs("RFC7644-3.5.2.1-04", "RFC7644-3.5.2.1-05"),
		level:  must,
		before: always(doc{"name": omit}),
		ops:    ops(doc{"op": "add", "path": "name", "value": doc{"givenName": "Ada", "familyName": "Byron"}}),
		why:    whyCell,
		fix:    fixPath,
		want:   wants("name.givenName", "Ada", "name.familyName", "Byron"),
	},
	patchCell{
		id:     "add-absent-sub-attribute",
		title:  "add with the path of a sub-attribute creates the complex attribute around it",
		reqs:   reqs("RFC7644-3.5.2.1-04", "RFC7644-3.5.2.1-12"),
		level:  must,
		before: always(doc{"name": omit}),
		ops:    ops(doc{"op": "add", "path": "name.familyName", "value": "Byron"}),
		why:    whyCell,
		fix:    "Create the parent when it is not there.",
		want:   wants("name.familyName", "Byron"),
	},
	patchCell{
		id:        "add-value-path-sub",
		title:     "add with a value filter and a sub-attribute sets it on the matching values only",
		reqs:      reqs("RFC7644-3.5.2.1-13"),
		level:     should,
		refusable: true,
		before:    twoEmails,
		why:       "Entra ID sends this form for every e-mail address and telephone number.",
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": `emails[type eq "home"].value`, "value": t.UserName("moved")}}
		},
		want: func(t *T) []expected {
			return []expected{{"emails.*", addresses(t, "work", "moved")}, {"emails[home].value", t.UserName("moved")}}
		},
	},
	patchCell{
		id:        "add-value-path",
		title:     "add with a value filter adds sub-attributes to the matching values and keeps the others",
		reqs:      reqs("RFC7644-3.5.2.1-13", "RFC7644-3.5.2.1-06"),
		level:     should,
		refusable: true,
		before:    twoEmails,
		why:       whyFilter,
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": `emails[type eq "home"]`, "value": doc{"value": t.UserName("moved")}}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "moved")}} },
	},
	patchCell{
		id:        "add-value-path-no-match",
		title:     "add with a value filter that matches nothing creates the value, or fails and changes nothing",
		reqs:      reqs("RFC7644-3.5.2.1-14"),
		level:     should,
		refusable: true,
		before:    twoEmails,
		why:       "Entra ID counts on creation; a success that changes nothing loses the address.",
		fix:       "Create the element that an eq filter describes, or answer 400 noTarget.",
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": `emails[type eq "other"].value`, "value": t.UserName("other")}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home", "other")}} },
	},
	patchCell{
		id:    "add-core-urn",
		title: "add takes the path of a core attribute with its URN",
		reqs:  reqs("RFC7644-3.5.2-19"),
		level: must,
		ops:   ops(doc{"op": "add", "path": core + "nickName", "value": "Nick"}),
		want:  wants("nickName", "Nick"),
		why:   whyCell,
		fix:   fixPath,
	},
	patchCell{
		id:    "add-extension-no-path",
		title: "add without a path takes extension attributes in their container",
		reqs:  reqs("RFC7644-3.5.2.1-02", "RFC7643-3.3-03"),
		level: must,
		ops:   ops(doc{"op": "add", "value": doc{scim.EnterpriseUserSchema: doc{"department": "Engines", "costCenter": "4130"}}}),
		why:   whyEnt,
		fix:   fixPath,
		want:  wants("@department", "Engines", "@costCenter", "4130", "schemas", scim.EnterpriseUserSchema),
	},
	patchCell{
		id:        "add-extension-object",
		title:     "add takes the bare URN of an extension as the path of the whole extension",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		refusable: true,
		ops:       ops(doc{"op": "add", "path": scim.EnterpriseUserSchema, "value": doc{"department": "Engines"}}),
		want:      wants("@department", "Engines"),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or answer 400 invalidPath.",
	},
	patchCell{
		id:     "add-extension-sibling",
		title:  "add to one extension attribute keeps the others",
		reqs:   reqs("RFC7644-3.5.2-20"),
		level:  must,
		before: always(extended(doc{"employeeNumber": "701984"})),
		ops:    ops(doc{"op": "add", "path": ext + "department", "value": "Engines"}),
		why:    whyEnt,
		fix:    fixPath,
		want:   wants("@department", "Engines", "@employeeNumber", "701984"),
	},

	patchCell{
		id:    "replace-sub-attribute",
		title: "replace with the path of a sub-attribute keeps its siblings",
		reqs:  reqs("RFC7644-3.5.2.3-04"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "name.familyName", "value": "Lovelace"}),
		want:  wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why:   "People change their family name.",
		fix:   fixPath,
	},
	patchCell{
		id:    "replace-absent-sub-attribute",
		title: "replace of a sub-attribute without a value acts as add",
		reqs:  reqs("RFC7644-3.5.2.3-06"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "name.middleName", "value": "King"}),
		want:  wants("name.middleName", "King", "name.givenName", "Conformance"),
		why:   "A client that replaces does not know whether there is a value.",
		fix:   "Treat replace of something absent as add.",
	},
	patchCell{
		id:     "replace-absent-complex",
		title:  "replace of a complex attribute without a value acts as add",
		reqs:   reqs("RFC7644-3.5.2.3-06"),
		level:  must,
		before: always(doc{"name": omit}),
		ops:    ops(doc{"op": "replace", "path": "name", "value": doc{"givenName": "Ada", "familyName": "Byron"}}),
		want:   wants("name.givenName", "Ada", "name.familyName", "Byron"),
		why:    "A client that replaces does not know whether there is a value.",
		fix:    "Treat replace of something absent as add.",
	},
	patchCell{
		id:     "replace-absent-multi-valued",
		title:  "replace of a multi-valued attribute without a value acts as add",
		reqs:   reqs("RFC7644-3.5.2.3-06"),
		level:  must,
		before: always(doc{"phoneNumbers": omit}),
		ops:    ops(doc{"op": "replace", "path": "phoneNumbers", "value": []doc{{"value": "tel:+1-201-555-0123", "type": "work"}}}),
		want:   wants("phoneNumbers.*", []string{"tel:+1-201-555-0123"}),
		why:    "A client that replaces does not know whether there is a value.",
		fix:    "Treat replace of something absent as add.",
	},
	patchCell{
		id:     "replace-value-path-object",
		title:  "replace with a value filter replaces the matching value and no other",
		reqs:   reqs("RFC7644-3.5.2.3-09"),
		level:  must,
		before: twoEmails,
		why:    whyFilter,
		fix:    fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"]`, "value": doc{"value": t.UserName("moved"), "type": "home"}}}
		},
		want: func(t *T) []expected {
			return []expected{{"emails.*", addresses(t, "work", "moved")}, {"emails[home].value", t.UserName("moved")}}
		},
	},
	patchCell{
		id:     "replace-all-matches",
		title:  "replace with a value filter and a sub-attribute changes every matching value",
		reqs:   reqs("RFC7644-3.5.2.3-10"),
		level:  must,
		before: twoWork,
		why:    whyFilter,
		fix:    "Do not stop at the first match.",
		ops:    ops(doc{"op": "replace", "path": `emails[type eq "work"].type`, "value": "other"}),
		want: func(t *T) []expected {
			return []expected{{"emails[work].value", nil}, {"emails.*", addresses(t, "work-1", "work-2", "home")},
				{"emails[home].value", t.UserName("home")}}
		},
	},
	patchCell{
		id:    "replace-core-urn",
		title: "replace takes the path of a core sub-attribute with its URN",
		reqs:  reqs("RFC7644-3.5.2-19", "RFC7644-3.5.2-21"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": core + "name.givenName", "value": "Ada"}),
		want:  wants("name.givenName", "Ada", "name.familyName", "Check"),
		why:   whyCell,
		fix:   "Split the URN at the last colon; the dot in 2.0 is no separator.",
	},
	patchCell{
		id:     "replace-extension",
		title:  "replace of an extension attribute changes it and keeps the others",
		reqs:   reqs("RFC7644-3.5.2-20", "RFC7644-3.5.2-21"),
		level:  must,
		before: always(extended(doc{"employeeNumber": "701984", "department": "Old"})),
		ops:    ops(doc{"op": "replace", "path": ext + "department", "value": "New"}),
		why:    whyEnt,
		fix:    fixPath,
		want:   wants("@department", "New", "@employeeNumber", "701984"),
	},
	patchCell{
		id:    "replace-absent-extension",
		title: "replace of an attribute of an extension without data acts as add and names the extension in schemas",
		reqs:  reqs("RFC7644-3.5.2.3-06", "RFC7643-3-06"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": ext + "department", "value": "New"}),
		want:  wants("@department", "New", "schemas", scim.EnterpriseUserSchema),
		why:   whyEnt,
		fix:   "Create the container, and add the URN to schemas.",
	},
	patchCell{
		id:     "replace-extension-no-path",
		title:  "replace without a path changes extension attributes in their container",
		reqs:   reqs("RFC7644-3.5.2.3-01", "RFC7643-3.3-03"),
		level:  must,
		before: always(extended(doc{"department": "Old"})),
		ops:    ops(doc{"op": "replace", "value": doc{scim.EnterpriseUserSchema: doc{"department": "New"}}}),
		want:   wants("@department", "New", "name.givenName", "Conformance"),
		why:    whyEnt,
		fix:    fixPath,
	},
	patchCell{
		id:        "replace-extension-object",
		title:     "replace takes the bare URN of an extension as the path of the whole extension",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		refusable: true,
		before:    always(extended(doc{"department": "Old"})),
		ops:       ops(doc{"op": "replace", "path": scim.EnterpriseUserSchema, "value": doc{"department": "New"}}),
		want:      wants("@department", "New"),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or answer 400 invalidPath.",
	},
	patchCell{
		id:    "replace-no-path-complex",
		title: "replace without a path merges a complex attribute into the stored one",
		reqs:  reqs("RFC7644-3.5.2.3-08", "RFC7644-3.5.2.3-01"),
		level: must,
		ops:   ops(doc{"op": "replace", "value": doc{"name": doc{"familyName": "Lovelace"}}}),
		want:  wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why:   "Changing a family name must not take the given name away.",
		fix:   "Merge the sub-attributes into the stored ones.",
	},
	patchCell{
		id:     "replace-null-sub-attribute",
		title:  "null for a sub-attribute in a replace unassigns that sub-attribute only",
		reqs:   reqs("RFC7644-3.5.2.3-13", "RFC7643-2.5-01"),
		level:  must,
		before: always(doc{"name": doc{"givenName": "Ada", "familyName": "Byron", "middleName": "King"}}),
		ops:    ops(doc{"op": "replace", "value": doc{"name": doc{"middleName": nil}}}),
		want:   wants("name.middleName", nil, "name.givenName", "Ada", "name.familyName", "Byron"),
		why:    "That is how a client takes one part away.",
		fix:    "Treat null like remove.",
	},
	patchCell{
		id:     "replace-primary",
		title:  "Setting primary through a value filter takes it from the other values",
		reqs:   reqs("RFC7644-3.5.2-26"),
		level:  must,
		before: twoEmails,
		ops:    ops(doc{"op": "replace", "path": `emails[type eq "home"].primary`, "value": true}),
		why:    "Two primary addresses leave it to chance where mail goes.",
		fix:    "Set primary to false on all other values.",
		want: func(t *T) []expected {
			return []expected{{"emails[home].primary", true}, {"emails.*", addresses(t, "work", "home")}}
		},
	},
	patchCell{
		id:     "replace-external-id",
		title:  "externalId is changed and removed by PATCH, with its letter case",
		reqs:   reqs("RFC7643-3.1-17", "RFC7643-7-15"),
		level:  must,
		before: always(doc{"externalId": "old-Id"}),
		ops:    ops(doc{"op": "replace", "path": "externalId", "value": "new-ID"}),
		want:   wants("externalId", "new-ID"),
		why:    "Accounts are linked anew when an identity provider is exchanged.",
		fix:    "Store externalId like any readWrite attribute.",
	},
	patchCell{
		id:    "replace-unicode",
		title: "Text set by PATCH comes back unchanged",
		reqs:  reqs("RFC7643-2.3.1-01"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "displayName", "value": "Zoë 山田 “Z” \\ 🚀"}),
		want:  wants("displayName", "Zoë 山田 “Z” \\ 🚀"),
		why:   "People have names in every script.",
		fix:   "Handle bodies as UTF-8 throughout.",
	},

	patchCell{
		id:        "remove-complex",
		title:     "remove of a complex attribute unassigns it with all its sub-attributes",
		reqs:      reqs("RFC7644-3.5.2.2-02"),
		level:     must,
		refusable: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       ops(doc{"op": "remove", "path": "name"}),
		want:      wants("name.givenName", nil, "name.familyName", nil, "displayName", "Stays"),
		why:       whyCell,
		fix:       "Unassign the attribute as a whole.",
	},
	patchCell{
		id:     "remove-core-urn",
		title:  "remove takes the path of a core attribute with its URN",
		reqs:   reqs("RFC7644-3.5.2-19", "RFC7644-3.5.2.2-02"),
		level:  must,
		before: always(doc{"nickName": "Nick"}),
		ops:    ops(doc{"op": "remove", "path": core + "nickName"}),
		want:   wants("nickName", nil, "name.givenName", "Conformance"),
		why:    whyCell,
		fix:    fixPath,
	},
	patchCell{
		id:     "remove-extension",
		title:  "remove of an extension attribute unassigns it and keeps the others",
		reqs:   reqs("RFC7644-3.5.2.2-13"),
		level:  must,
		before: always(extended(doc{"employeeNumber": "701984", "department": "Old"})),
		ops:    ops(doc{"op": "remove", "path": ext + "department"}),
		want:   wants("@department", nil, "@employeeNumber", "701984"),
		why:    whyEnt,
		fix:    fixPath,
	},
	patchCell{
		id:     "remove-last-extension",
		title:  "remove of the last extension attribute leaves no extension data",
		reqs:   reqs("RFC7644-3.5.2.2-13", "RFC7644-3.5.2.2-02"),
		level:  must,
		before: always(extended(doc{"department": "Old"})),
		ops:    ops(doc{"op": "remove", "path": ext + "department"}),
		want:   wants("@department", nil, "name.givenName", "Conformance"),
		why:    whyEnt,
		fix:    fixPath,
	},
	patchCell{
		id:        "remove-extension-object",
		title:     "remove takes the bare URN of an extension as the path of the whole extension",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		refusable: true,
		before:    always(extended(doc{"employeeNumber": "701984", "department": "Old"})),
		ops:       ops(doc{"op": "remove", "path": scim.EnterpriseUserSchema}),
		want:      wants("@department", nil, "@employeeNumber", nil),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or answer 400 invalidPath.",
	},
	patchCell{
		id:     "remove-value-path-sub",
		title:  "remove with a value filter and a sub-attribute unassigns it on the matching values only",
		reqs:   reqs("RFC7644-3.5.2.2-06"),
		level:  must,
		before: shown("shown"),
		ops:    ops(doc{"op": "remove", "path": `emails[type eq "work"].display`}),
		why:    whyFilter,
		fix:    "Keep the element, unassign the sub-attribute.",
		want: func(t *T) []expected {
			return []expected{{"emails[work].display", nil}, {"emails[home].display", "plain"}, {"emails.*", addresses(t, "work", "home")}}
		},
	},
	patchCell{
		id:     "remove-all-matches",
		title:  "remove with a value filter removes every matching value",
		reqs:   reqs("RFC7644-3.5.2.2-04"),
		level:  must,
		before: twoWork,
		ops:    ops(doc{"op": "remove", "path": `emails[type eq "work"]`}),
		why:    whyFilter,
		fix:    "Do not stop at the first match.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:        "remove-not-set",
		title:     "remove of an attribute without a value succeeds and changes nothing",
		reqs:      reqs("RFC7644-3.5.2.2-10"),
		level:     should,
		refusable: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       ops(doc{"op": "remove", "path": "nickName"}),
		want:      wants("nickName", nil, "displayName", "Stays"),
		why:       "A client that clears a value does not know whether there is one.",
		fix:       "Answer 200 or 204.",
	},
	patchCell{
		id:        "remove-no-match",
		title:     "remove with a value filter that matches nothing changes nothing",
		reqs:      reqs("RFC7644-3.5.2.2-09"),
		level:     should,
		refusable: true,
		before:    twoEmails,
		ops:       ops(doc{"op": "remove", "path": `emails[type eq "scimconf-none"]`}),
		why:       "JumpCloud and others repeat removals; what does not match has to stay.",
		fix:       "Answer 204, or 400 noTarget, and keep every value.",
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home")}} },
	},

	patchCell{
		id:        "filter-and",
		title:     "and in a value filter wants both conditions of one value",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		refusable: true,
		before:    twoWork,
		why:       whyFilter,
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "remove", "path": `emails[type eq "work" and value eq ` + quote(t.UserName("work-2")) + `]`}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "home")}} },
	},
	patchCell{
		id:        "filter-or",
		title:     "or in a value filter wants one of its conditions",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		refusable: true,
		before:    twoWork,
		why:       whyFilter,
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "remove", "path": `emails[type eq "home" or value eq ` + quote(t.UserName("work-1")) + `]`}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-2")}} },
	},
	patchCell{
		id:        "filter-not",
		title:     "not in a value filter turns its condition round",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		refusable: true,
		before:    twoWork,
		ops:       ops(doc{"op": "remove", "path": `emails[not (type eq "work")]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "work-2")}} },
	},
	patchCell{
		id:        "filter-ne",
		title:     "ne in a value filter matches the values that differ",
		reqs:      reqs("RFC7644-3.5.2.2-04"),
		level:     must,
		refusable: true,
		before:    twoWork,
		ops:       ops(doc{"op": "remove", "path": `emails[type ne "work"]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "work-2")}} },
	},
	patchCell{
		id:        "filter-boolean",
		title:     "A value filter compares booleans",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7643-2.3.2-01"),
		level:     must,
		refusable: true,
		before:    twoEmails,
		ops:       ops(doc{"op": "remove", "path": `emails[primary eq true]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:     "filter-ignores-case",
		title:  "Names, operators and values of a value filter match in any letter case",
		reqs:   reqs("RFC7644-3.5.2-19", "RFC7644-3.10-03"),
		level:  must,
		before: twoEmails,
		ops:    ops(doc{"op": "remove", "path": `EMAILS[TYPE EQ "Home"]`}),
		why:    "type is no caseExact attribute, and names never are.",
		fix:    "Fold names and operators always, values unless the attribute is caseExact.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work")}} },
	},
	patchCell{
		id:     "filter-quotes",
		title:  "Escaped quotes in a value filter are part of the text",
		reqs:   reqs("RFC7644-3.5.2-09"),
		level:  must,
		before: shown(`say "hi"`),
		ops:    ops(doc{"op": "remove", "path": `emails[display eq "say \"hi\""]`}),
		why:    whyFilter,
		fix:    "Read operands as JSON texts.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:     "filter-brackets",
		title:  "A bracket inside the text of a value filter does not end it",
		reqs:   reqs("RFC7644-3.5.2-09"),
		level:  must,
		before: shown(`a].value[b`),
		ops:    ops(doc{"op": "remove", "path": `emails[display eq "a].value[b"]`}),
		why:    whyFilter,
		fix:    "Parse the path; do not cut it at the first bracket.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:        "dotted-keys",
		title:     "A dotted key in a value without path is read as a path, or refused, and never stored as it is",
		reqs:      reqs("RFC7644-3.5.2.1-15"),
		level:     should,
		refusable: true,
		ops:       ops(doc{"op": "replace", "value": doc{"name.familyName": "Lovelace"}}),
		want:      wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why:       "Entra ID sends such keys with its compliance flag.",
		fix:       fixUnknown,
	},
	patchCell{
		id:        "extension-keys",
		title:     "A qualified key in a value without path is read as a path, or refused, and never stored as it is",
		reqs:      reqs("RFC7644-3.5.2.1-15"),
		level:     should,
		refusable: true,
		ops:       ops(doc{"op": "replace", "value": doc{ext + "department": "New"}}),
		want:      wants("@department", "New"),
		why:       "Entra ID sends such keys with its compliance flag.",
		fix:       fixUnknown,
	},
	patchCell{
		id:     "again-and-again",
		title:  "Several operations on one multi-valued attribute work on each other's results",
		reqs:   reqs("RFC7644-3.5.2-25"),
		level:  must,
		before: twoEmails,
		why:    "Entra ID removes, adds and replaces in one request.",
		fix:    "Apply every operation to the result of the one before.",
		ops: func(t *T) []doc {
			return []doc{{"op": "remove", "path": `emails[type eq "home"]`},
				{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("mobile"), "type": "other"}}},
				{"op": "replace", "path": `emails[type eq "other"].value`, "value": t.UserName("final")}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "final")}} },
	},
	patchCell{
		id:    "many-attributes",
		title: "One request changes many attributes at once",
		reqs:  reqs("RFC7644-3.5.2-25", "RFC7644-3.5.2-03"),
		level: must,
		why:   "Entra ID sends dozens of operations in one request.",
		fix:   "Apply all operations; a limit belongs above a hundred of them.",
		ops: func(*T) []doc {
			var out []doc
			for _, name := range []string{"displayName", "nickName", "title", "userType", "name.middleName", "name.honorificPrefix",
				"name.honorificSuffix", "name.givenName", "name.familyName"} {
				out = append(out, doc{"op": "replace", "path": name, "value": "Old " + name}, doc{"op": "add", "path": name, "value": "New " + name})
			}
			return out
		},
		want: wants("displayName", "New displayName", "nickName", "New nickName", "title", "New title", "userType", "New userType",
			"name.middleName", "New name.middleName", "name.givenName", "New name.givenName", "name.familyName", "New name.familyName"),
	},
	patchCell{
		id:    "hundred-operations",
		title: "A hundred operations in one request are applied",
		reqs:  reqs("RFC7644-3.5.2-25"),
		level: should,
		why:   "A first synchronisation of a large group or profile is one request.",
		fix:   "Set the limit of operations well above a hundred.",
		ops: func(t *T) []doc {
			var out []doc
			for i := range 100 {
				out = append(out, doc{"op": "replace", "path": "displayName", "value": t.Prefix() + string(rune('a'+i%26))})
			}
			return out
		},
		want: func(t *T) []expected { return []expected{{"displayName", t.Prefix() + string(rune('a'+99%26))}} },
	},
)

func cells(list ...patchCell) []check {
	var out []check
	for _, c := range list {
		out = append(out, c.check())
	}
	return out
}
