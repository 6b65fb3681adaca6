package checks

import (
	"strings"

	"github.com/scimwright/scimwright/scim"
)

const (
	whyCell = "Clients use all forms of a path; if the server misreads a path, it changes another attribute or none, and the account " +
		"has wrong data."
	whyFilter = "A client selects one of several values, such as the work address, by a filter; after a wrong evaluation, the server " +
		"changes or deletes another value."
	whyEnt  = "Department and manager change with every transfer of a user; wrong values break approvals and access rules."
	fixPath = "Resolve the whole path, with URN and sub-attribute, against the schemas, and change only the attribute or sub-attribute " +
		"that it names."
	fixFilter = "Evaluate the filter in brackets for every element, with all operators of the filter grammar, and apply the operation " +
		"only to the matching elements."
)

var patchMatrix = cells(
	patchCell{
		id:    "add-sub-attribute",
		title: "The operation add with the path of a sub-attribute sets it and does not change the other sub-attributes",
		reqs:  reqs("RFC7644-3.5.2.1-12"),
		level: must,
		ops:   ops(doc{"op": "add", "path": "name.honorificPrefix", "value": "Dr."}),
		why:   whyCell,
		fix:   fixPath,
		want:  wants("name.honorificPrefix", "Dr.", "name.givenName", "Conformance", "name.familyName", "Check"),
	},
	patchCell{
		id:     "add-absent-complex",
		title:  "The operation add sets a complex attribute that has no value yet",
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
		title:  "The operation add with the path of a sub-attribute sets it even if its complex attribute has no value yet",
		reqs:   reqs("RFC7644-3.5.2.1-04", "RFC7644-3.5.2.1-12"),
		level:  must,
		before: always(doc{"name": omit}),
		ops:    ops(doc{"op": "add", "path": "name.familyName", "value": "Byron"}),
		why:    whyCell,
		fix:    "Create the complex attribute if it is absent.",
		want:   wants("name.familyName", "Byron"),
	},
	patchCell{
		id:        "add-value-path-sub",
		title:     "The operation add with a value filter and a sub-attribute sets the sub-attribute only on the matching values",
		reqs:      reqs("RFC7644-3.5.2.1-13"),
		level:     should,
		mayReject: true,
		before:    twoEmails,
		why: "Entra ID sends paths such as emails[type eq \"work\"].value; if the server ignores the filter, it changes the wrong email " +
			"address or phone number.",
		fix: fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": `emails[type eq "home"].value`, "value": t.UserName("moved")}}
		},
		want: func(t *T) []expected {
			return []expected{{"emails.*", addresses(t, "work", "moved")}, {"emails[home].value", t.UserName("moved")}}
		},
	},
	patchCell{
		id:        "add-value-path",
		title:     "The operation add with a value filter adds sub-attributes to the matching values and does not change other values",
		reqs:      reqs("RFC7644-3.5.2.1-13", "RFC7644-3.5.2.1-06"),
		level:     should,
		mayReject: true,
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
		title:     "The operation add with a value filter without a match creates the value, or fails and changes nothing",
		reqs:      reqs("RFC7644-3.5.2.1-14"),
		level:     should,
		mayReject: true,
		before:    twoEmails,
		why: "Entra ID expects that the server creates the email address; after a success without a change, the user does not have the " +
			"address.",
		fix: "Create the element that the filter describes, for example one with type other for emails[type eq \"other\"].value, or " +
			"return 400 noTarget.",
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": `emails[type eq "other"].value`, "value": t.UserName("other")}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home", "other")}} },
	},
	patchCell{
		id:    "add-core-urn",
		title: "The operation add accepts the path of a core attribute with the URN of the User schema",
		reqs:  reqs("RFC7644-3.5.2-19"),
		level: must,
		ops:   ops(doc{"op": "add", "path": core + "nickName", "value": "Nick"}),
		want:  wants("nickName", "Nick"),
		why:   whyCell,
		fix:   fixPath,
	},
	patchCell{
		id:    "add-extension-no-path",
		title: "The operation add without a path accepts extension attributes inside the object of their extension",
		reqs:  reqs("RFC7644-3.5.2.1-02", "RFC7643-3.3-03"),
		level: must,
		ops:   ops(doc{"op": "add", "value": doc{scim.EnterpriseUserSchema: doc{"department": "Engines", "costCenter": "4130"}}}),
		why:   whyEnt,
		fix:   fixPath,
		want:  wants("@department", "Engines", "@costCenter", "4130", "schemas", scim.EnterpriseUserSchema),
	},
	patchCell{
		id:        "add-extension-object",
		title:     "The operation add with the URN of an extension as its path sets attributes of the extension, or is rejected with 400",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		mayReject: true,
		ops:       ops(doc{"op": "add", "path": scim.EnterpriseUserSchema, "value": doc{"department": "Engines"}}),
		want:      wants("@department", "Engines"),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or return 400 invalidPath.",
	},
	patchCell{
		id:     "add-extension-sibling",
		title:  "The operation add to one extension attribute does not change the other attributes of the extension",
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
		title: "The operation replace with the path of a sub-attribute does not change the other sub-attributes",
		reqs:  reqs("RFC7644-3.5.2.3-04"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "name.familyName", "value": "Lovelace"}),
		want:  wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why:   "If a replace of name.familyName deletes the other sub-attributes of name, the user loses the given name.",
		fix:   fixPath,
	},
	patchCell{
		id:    "replace-absent-sub-attribute",
		title: "If a sub-attribute has no value, the operation replace acts as add",
		reqs:  reqs("RFC7644-3.5.2.3-06"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "name.middleName", "value": "King"}),
		want:  wants("name.middleName", "King", "name.givenName", "Conformance"),
		why: "A client that replaces a value may not know whether the attribute has one; if the server rejects the operation, the new value " +
			"is lost.",
		fix: "If the attribute has no value, process replace like add.",
	},
	patchCell{
		id:     "replace-absent-complex",
		title:  "If a complex attribute has no value, the operation replace acts as add",
		reqs:   reqs("RFC7644-3.5.2.3-06"),
		level:  must,
		before: always(doc{"name": omit}),
		ops:    ops(doc{"op": "replace", "path": "name", "value": doc{"givenName": "Ada", "familyName": "Byron"}}),
		want:   wants("name.givenName", "Ada", "name.familyName", "Byron"),
		why: "A client that replaces a value may not know whether the attribute has one; if the server rejects the operation, the new " +
			"value is lost.",
		fix: "If the attribute has no value, process replace like add.",
	},
	patchCell{
		id:     "replace-absent-multi-valued",
		title:  "If a multi-valued attribute has no value, the operation replace acts as add",
		reqs:   reqs("RFC7644-3.5.2.3-06"),
		level:  must,
		before: always(doc{"phoneNumbers": omit}),
		ops:    ops(doc{"op": "replace", "path": "phoneNumbers", "value": []doc{{"value": "tel:+1-201-555-0123", "type": "work"}}}),
		want:   wants("phoneNumbers.*", []string{"tel:+1-201-555-0123"}),
		why: "A client that replaces a value may not know whether the attribute has one; if the server rejects the operation, the new " +
			"value is lost.",
		fix: "If the attribute has no value, process replace like add.",
	},
	patchCell{
		id:     "replace-value-path-object",
		title:  "The operation replace with a value filter replaces only the matching value",
		reqs:   reqs("RFC7644-3.5.2.3-09"),
		level:  must,
		before: twoEmails,
		why:    whyFilter,
		fix:    "Accept a path that ends with the value filter, with an object as value, and replace only the matching elements.",
		ops: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"]`, "value": doc{"value": t.UserName("moved"), "type": "home"}}}
		},
		want: func(t *T) []expected {
			return []expected{{"emails.*", addresses(t, "work", "moved")}, {"emails[home].value", t.UserName("moved")}}
		},
	},
	patchCell{
		id:     "replace-all-matches",
		title:  "The operation replace with a value filter and a sub-attribute changes every matching value",
		reqs:   reqs("RFC7644-3.5.2.3-10"),
		level:  must,
		before: twoWorkDisplayed,
		why:    whyFilter,
		fix:    "Change every matching value; do not stop at the first match.",
		ops:    ops(doc{"op": "replace", "path": `emails[type eq "work"].display`, "value": "Both"}),
		want: func(t *T) []expected {
			return []expected{{"emails.*", addresses(t, "work-1", "work-2", "home")}, {"emails[home].display", "plain"}}
		},
		then: func(t *T, user *scim.Object) {
			t.Expect("emails.display of both work addresses and of the home address", []string{"Both", "Both", "plain"},
				values(user, "emails", "display"))
		},
	},
	patchCell{
		id:     "replace-filter-attribute",
		title:  "The operation replace can change the sub-attribute that its value filter names",
		reqs:   reqs("RFC7644-3.5.2.3-10"),
		level:  must,
		before: twoWork,
		why:    "Clients change the type of an address by emails[type eq \"work\"].type; if this is rejected, the old type remains.",
		fix: "Accept every sub-attribute after a value filter, also the one in the filter. Select the matching elements before the change; do " +
			"not evaluate the filter on the new values.",
		ops: ops(doc{"op": "replace", "path": `emails[type eq "work"].type`, "value": "other"}),
		want: func(t *T) []expected {
			return []expected{{"emails[work].value", nil}, {"emails.*", addresses(t, "work-1", "work-2", "home")},
				{"emails[home].value", t.UserName("home")}}
		},
		instead: &patchCell{
			before: twoEmails,
			ops:    ops(doc{"op": "replace", "path": `emails[type eq "work"].type`, "value": "other"}),
			want: func(t *T) []expected {
				return []expected{{"emails[work].value", nil}, {"emails.*", addresses(t, "work", "home")},
					{"emails[home].value", t.UserName("home")}}
			},
		},
	},
	patchCell{
		id:    "replace-core-urn",
		title: "The operation replace accepts the path of a core sub-attribute with the URN of the User schema",
		reqs:  reqs("RFC7644-3.5.2-19", "RFC7644-3.5.2-21"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": core + "name.givenName", "value": "Ada"}),
		want:  wants("name.givenName", "Ada", "name.familyName", "Check"),
		why:   whyCell,
		fix: "Recognize the URN of the User schema as a prefix of paths: split the path at its last colon into the URN and " +
			"name.givenName; the dot in the URN does not start a sub-attribute.",
	},
	patchCell{
		id:     "replace-extension",
		title:  "The operation replace of an extension attribute changes it and does not change the other attributes of the extension",
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
		title: "The operation replace in an extension without data acts as add, and adds the URN of the extension to schemas",
		reqs:  reqs("RFC7644-3.5.2.3-06", "RFC7643-3-06"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": ext + "department", "value": "New"}),
		want:  wants("@department", "New", "schemas", scim.EnterpriseUserSchema),
		why:   whyEnt,
		fix:   "Create the extension object, and add the URN to schemas.",
	},
	patchCell{
		id:     "replace-extension-no-path",
		title:  "The operation replace without a path changes extension attributes inside the object of their extension",
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
		title:     "The operation replace with the URN of an extension as its path changes attributes of the extension, or is rejected with 400",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		mayReject: true,
		before:    always(extended(doc{"department": "Old"})),
		ops:       ops(doc{"op": "replace", "path": scim.EnterpriseUserSchema, "value": doc{"department": "New"}}),
		want:      wants("@department", "New"),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or return 400 invalidPath.",
	},
	patchCell{
		id:    "replace-no-path-complex",
		title: "The operation replace without a path changes only those sub-attributes of a complex attribute that are in the value",
		reqs:  reqs("RFC7644-3.5.2.3-08", "RFC7644-3.5.2.3-01"),
		level: must,
		ops:   ops(doc{"op": "replace", "value": doc{"name": doc{"familyName": "Lovelace"}}}),
		want:  wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why:   "If sub-attributes that the client did not send are removed, the user loses the given name.",
		fix:   "Set the sub-attributes that are in the value, and do not change the other stored sub-attributes.",
	},
	patchCell{
		id:     "replace-null-sub-attribute",
		title:  "null for a sub-attribute in a replace unassigns only that sub-attribute",
		reqs:   reqs("RFC7644-3.5.2.3-13", "RFC7643-2.5-01"),
		level:  must,
		before: always(doc{"name": doc{"givenName": "Ada", "familyName": "Byron", "middleName": "King"}}),
		ops:    ops(doc{"op": "replace", "value": doc{"name": doc{"middleName": nil}}}),
		want:   wants("name.middleName", nil, "name.givenName", "Ada", "name.familyName", "Byron"),
		why: "Clients delete one sub-attribute with null. If the server rejects null, the value remains; if it removes the whole attribute, " +
			"the user loses the name.",
		fix: "Accept null for a sub-attribute, remove this sub-attribute, and do not change the others.",
	},
	patchCell{
		id:     "replace-primary",
		basic:  ops(doc{"op": "replace", "path": `emails[type eq "home"].type`, "value": "other"}),
		title:  "If a replace with a value filter sets primary of one value to true, primary of the other values is no longer true",
		reqs:   reqs("RFC7644-3.5.2-26", "RFC7644-3.5.2.3-09"),
		level:  must,
		before: twoEmails,
		ops:    ops(doc{"op": "replace", "path": `emails[type eq "home"].primary`, "value": true}),
		why:    "With two primary addresses, it is undefined which one receives email.",
		fix:    "Set primary to false on all other values of the attribute.",
		want: func(t *T) []expected {
			return []expected{{"emails[home].primary", true}, {"emails.*", addresses(t, "work", "home")}}
		},
		then: func(t *T, user *scim.Object) {
			got := look(user, "emails[work].primary")
			t.Holds(got == nil || got == false, "emails[work].primary", "false, or absent", got)
		},
	},
	patchCell{
		id:     "replace-external-id",
		title:  "PATCH replaces externalId and preserves its case",
		reqs:   reqs("RFC7643-3.1-17", "RFC7643-7-15"),
		level:  must,
		before: always(doc{"externalId": "old-Id"}),
		ops:    ops(doc{"op": "replace", "path": "externalId", "value": "new-ID"}),
		want:   wants("externalId", "new-ID"),
		why:    "A new identity provider links accounts by a new externalId; if the server ignores it, duplicates are created.",
		fix:    "Store externalId like any readWrite attribute.",
	},
	patchCell{
		id:    "replace-unicode",
		title: "A string set by PATCH is returned unchanged",
		reqs:  reqs("RFC7643-2.3.1-01"),
		level: must,
		ops:   ops(doc{"op": "replace", "path": "displayName", "value": "Zoë 山田 “Z” \\ 🚀"}),
		want:  wants("displayName", "Zoë 山田 “Z” \\ 🚀"),
		why:   "If the server changes characters, users see wrong names, and clients send them again in every synchronization.",
		fix:   "Decode requests as UTF-8, store all characters unchanged, and encode responses as UTF-8.",
	},

	patchCell{
		id:        "remove-complex",
		title:     "The operation remove of a complex attribute unassigns it with all its sub-attributes",
		reqs:      reqs("RFC7644-3.5.2.2-02"),
		level:     must,
		mayReject: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       ops(doc{"op": "remove", "path": "name"}),
		want:      wants("name.givenName", nil, "name.familyName", nil, "displayName", "Stays"),
		why:       whyCell,
		fix:       "Unassign the complex attribute with all its sub-attributes.",
	},
	patchCell{
		id:     "remove-core-urn",
		title:  "The operation remove accepts the path of a core attribute with the URN of the User schema",
		reqs:   reqs("RFC7644-3.5.2-19", "RFC7644-3.5.2.2-02"),
		level:  must,
		before: always(doc{"nickName": "Nick"}),
		ops:    ops(doc{"op": "remove", "path": core + "nickName"}),
		want:   wants("nickName", nil, "name.givenName", "Conformance"),
		why:    whyCell,
		fix:    fixPath,
	},
	patchCell{
		id:        "urn-case",
		basicSame: true,
		basic: ops(doc{"op": "add", "path": core + "nickName", "value": "Nick"},
			doc{"op": "replace", "path": core + "name.givenName", "value": "Ada"}),
		title: "The URN in a path is case-insensitive",
		reqs:  reqs("RFC7644-3.10-03", "RFC7644-3.5.2-19"),
		level: must,
		ops: ops(doc{"op": "add", "path": strings.ToUpper(core) + "nickName", "value": "Nick"},
			doc{"op": "replace", "path": strings.ToLower(core) + "name.givenName", "value": "Ada"}),
		want: wants("nickName", "Nick", "name.givenName", "Ada"),
		why:  "Clients write URNs in different case; a case-sensitive server rejects their updates.",
		fix:  "Compare URNs case-insensitively when resolving a path.",
	},
	patchCell{
		id: "urn-value-path",
		basic: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"].value`, "value": t.UserName("moved")},
				{"op": "replace", "path": core + "name.givenName", "value": "Ada"}}
		},
		title:  "A path with a value filter can start with the URN of the schema",
		reqs:   reqs("RFC7644-3.5.2-19", "RFC7644-3.5.2-09"),
		level:  must,
		before: twoEmails,
		why:    whyCell,
		fix:    fixPath,
		ops: func(t *T) []doc {
			return []doc{{"op": "replace", "path": core + `emails[type eq "home"].value`, "value": t.UserName("moved")}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "moved")}} },
	},
	patchCell{
		id: "replace-value-path-same",
		basic: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"].value`, "value": t.UserName("moved")}}
		},
		title:  "The operation replace with a value filter accepts the value that is already stored, and changes nothing",
		reqs:   reqs("RFC7644-3.5.2.3-10"),
		level:  must,
		before: twoEmails,
		why:    "Clients repeat operations after a timeout; if the server rejects the repetition, the whole update of the client fails.",
		fix:    "Reject a replace with noTarget only if no element matches the filter, not if the value is equal to the stored one.",
		ops: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"].value`, "value": t.UserName("home")}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home")}} },
	},
	patchCell{
		id:     "remove-extension",
		title:  "The operation remove of an extension attribute unassigns it and does not change the other attributes of the extension",
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
		title:  "After a remove of the only extension attribute that has a value, the user has no extension data",
		reqs:   reqs("RFC7644-3.5.2.2-13", "RFC7644-3.5.2.2-02"),
		level:  must,
		before: always(extended(doc{"department": "Old"})),
		ops:    ops(doc{"op": "remove", "path": ext + "department"}),
		want:   wants("@department", nil, "name.givenName", "Conformance"),
		then:   leavesNoExtension,
		why:    whyEnt,
		fix: "Unassign the attribute; if no attribute of the extension has a value, omit the extension object and its URN in schemas " +
			"from responses.",
	},
	patchCell{
		id:        "remove-extension-object",
		title:     "The operation remove with the URN of an extension as its path removes all data of the extension, or is rejected with 400",
		reqs:      reqs("RFC7644-3.5.2-22"),
		level:     should,
		mayReject: true,
		before:    always(extended(doc{"employeeNumber": "701984", "department": "Old"})),
		ops:       ops(doc{"op": "remove", "path": scim.EnterpriseUserSchema}),
		want:      wants("@department", nil, "@employeeNumber", nil),
		why:       whyEnt,
		fix:       "Treat the URN as the extension object, or return 400 invalidPath.",
	},
	patchCell{
		id:     "remove-value-path-sub",
		title:  "The operation remove with a value filter and a sub-attribute unassigns the sub-attribute only on the matching values",
		reqs:   reqs("RFC7644-3.5.2.2-06"),
		level:  must,
		before: withDisplay("shown"),
		ops:    ops(doc{"op": "remove", "path": `emails[type eq "work"].display`}),
		why:    whyFilter,
		fix:    "Do not remove the element; unassign only the sub-attribute.",
		want: func(t *T) []expected {
			return []expected{{"emails[work].display", nil}, {"emails[home].display", "plain"}, {"emails.*", addresses(t, "work", "home")}}
		},
	},
	patchCell{
		id:     "remove-all-matches",
		basic:  ops(doc{"op": "remove", "path": `emails[type eq "home"]`}),
		title:  "The operation remove with a value filter removes every matching value",
		reqs:   reqs("RFC7644-3.5.2.2-04"),
		level:  must,
		before: twoWork,
		ops:    ops(doc{"op": "remove", "path": `emails[type eq "work"]`}),
		why:    whyFilter,
		fix:    "Remove every matching value; do not stop at the first match.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:        "remove-not-set",
		title:     "The operation remove of an attribute without a value changes nothing and succeeds, or is rejected with 400",
		reqs:      reqs("RFC7644-3.5.2.2-10"),
		level:     should,
		mayReject: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       ops(doc{"op": "remove", "path": "nickName"}),
		want:      wants("nickName", nil, "displayName", "Stays"),
		why:       "A client that removes a value may not know whether the attribute has one; after an error, its whole update is lost.",
		fix:       "Return 200 or 204 if the attribute has no value; 400 is permitted.",
	},
	patchCell{
		id:        "remove-no-match",
		title:     "The operation remove with a value filter without a match changes nothing",
		reqs:      reqs("RFC7644-3.5.2.2-09"),
		level:     should,
		mayReject: true,
		before:    twoEmails,
		ops:       ops(doc{"op": "remove", "path": `emails[type eq "scimconf-none"]`}),
		why:       "JumpCloud and others repeat removals; a server that removes other values instead deletes data of the user.",
		fix:       "Return 204, or 400 noTarget, and remove no value.",
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home")}} },
	},

	patchCell{
		id:        "filter-and",
		title:     "The operator \"and\" in a value filter matches only the values that satisfy both conditions",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		mayReject: true,
		before:    twoWork,
		why:       whyFilter,
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "remove", "path": `emails[type eq "work" and value eq ` + quote(t.UserName("work-2")) + `]`}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "home")}} },
	}.or(`type ne "home" and value ne "«1»"`, typed("other", "work", "home"), "work-1", "home"),
	patchCell{
		id:        "filter-or",
		title:     "The operator \"or\" in a value filter matches the values that satisfy at least one of the two conditions",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		mayReject: true,
		before:    twoWork,
		why:       whyFilter,
		fix:       fixFilter,
		ops: func(t *T) []doc {
			return []doc{{"op": "remove", "path": `emails[type eq "home" or value eq ` + quote(t.UserName("work-1")) + `]`}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-2")}} },
	}.or(`type eq "home" or value eq "«1»"`, typed("other", "work", "home"), "work-2"),
	patchCell{
		id:        "filter-not",
		title:     "The operator \"not\" in a value filter negates its condition",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2-09"),
		level:     must,
		mayReject: true,
		before:    twoWork,
		ops:       ops(doc{"op": "remove", "path": `emails[not (type eq "work")]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "work-2")}} },
	}.or(`not (type eq "home")`, typed("other", "work", "home"), "home"),
	patchCell{
		id:        "filter-ne",
		title:     "The operator ne in a value filter matches the values that differ from the operand",
		reqs:      reqs("RFC7644-3.5.2.2-04"),
		level:     must,
		mayReject: true,
		before:    twoWork,
		ops:       ops(doc{"op": "remove", "path": `emails[type ne "work"]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work-1", "work-2")}} },
	}.or(`type ne "home"`, typed("other", "work", "home"), "home"),
	patchCell{
		id:        "filter-boolean",
		title:     "A value filter on a boolean sub-attribute selects the values with that boolean",
		reqs:      reqs("RFC7644-3.5.2.2-04", "RFC7643-2.3.2-01"),
		level:     must,
		mayReject: true,
		before:    twoEmails,
		ops:       ops(doc{"op": "remove", "path": `emails[primary eq true]`}),
		why:       whyFilter,
		fix:       fixFilter,
		want:      func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:     "filter-ignores-case",
		basic:  ops(doc{"op": "remove", "path": `emails[type eq "home"]`}),
		title:  "In a value filter on emails.type, names, operators and the operand are case-insensitive",
		reqs:   reqs("RFC7644-3.5.2-19", "RFC7644-3.10-03"),
		level:  must,
		before: twoEmails,
		ops:    ops(doc{"op": "remove", "path": `EMAILS[TYPE EQ "Home"]`}),
		why:    "Clients write names and values in different case; a case-sensitive server does not find the value to change.",
		fix:    "Compare names and operators case-insensitively, and values unless the attribute is caseExact.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work")}} },
	},
	patchCell{
		id:     "filter-quotes",
		basic:  ops(doc{"op": "remove", "path": `emails[type eq "home"]`}),
		title:  "Escaped quotes in a value filter are part of the string",
		reqs:   reqs("RFC7644-3.5.2-09"),
		level:  must,
		before: withDisplay(`say "hi"`),
		ops:    ops(doc{"op": "remove", "path": `emails[display eq "say \"hi\""]`}),
		why:    whyFilter,
		fix:    "Parse operands as JSON strings.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id:     "filter-brackets",
		basic:  ops(doc{"op": "remove", "path": `emails[type eq "home"]`}),
		title:  "A bracket inside a string of a value filter does not end the filter",
		reqs:   reqs("RFC7644-3.5.2-09"),
		level:  must,
		before: withDisplay(`a].value[b`),
		ops:    ops(doc{"op": "remove", "path": `emails[display eq "a].value[b"]`}),
		why:    whyFilter,
		fix:    "Parse the path; do not split it at the first bracket.",
		want:   func(t *T) []expected { return []expected{{"emails.*", addresses(t, "home")}} },
	},
	patchCell{
		id: "dotted-keys",
		title: "In an operation without a path, a member name with a dot is resolved as a path or rejected, and never stored as an " +
			"attribute name",
		reqs:      reqs("RFC7644-3.5.2.1-15"),
		level:     should,
		mayReject: true,
		basic:     ops(doc{"op": "replace", "path": "name.familyName", "value": "Lovelace"}),
		ops:       ops(doc{"op": "replace", "value": doc{"name.familyName": "Lovelace"}}),
		want:      wants("name.familyName", "Lovelace", "name.givenName", "Conformance"),
		why: "Entra ID with its compliance flag sends names such as name.familyName; if the server stores them as attributes, the " +
			"update is lost.",
		fix: "Resolve a member name such as name.familyName as a path, or return 400; never store it as the name of an attribute.",
	},
	patchCell{
		id: "extension-keys",
		title: "In an operation without a path, a member name with a URN is resolved as a path or rejected, and never stored as an " +
			"attribute name",
		reqs:      reqs("RFC7644-3.5.2.1-15"),
		level:     should,
		mayReject: true,
		basic:     ops(doc{"op": "replace", "path": ext + "department", "value": "New"}),
		ops:       ops(doc{"op": "replace", "value": doc{ext + "department": "New"}}),
		want:      wants("@department", "New"),
		why:       "Entra ID with its compliance flag sends names with a URN; if the server stores them as attributes, the update is lost.",
		fix: "Resolve a member name such as urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department as a path, or return 400; " +
			"never store it as the name of an attribute.",
	},
	patchCell{
		id:         "again-and-again",
		separately: true,
		title:      "Each of several operations on one multi-valued attribute applies to the result of the previous one",
		reqs:       reqs("RFC7644-3.5.2-25"),
		level:      must,
		before:     twoEmails,
		why: "Clients send several operations on one attribute in one request; if the server applies them in another order, the user has the " +
			"wrong values.",
		fix: "Apply every operation to the result of the previous one.",
		ops: func(t *T) []doc {
			return []doc{{"op": "replace", "path": `emails[type eq "home"].value`, "value": t.UserName("first")},
				{"op": "replace", "path": "emails", "value": []doc{{"value": t.UserName("mobile"), "type": "other"},
					{"value": t.UserName("work"), "type": "work"}}},
				{"op": "replace", "path": `emails[type eq "other"].value`, "value": t.UserName("final")},
				{"op": "remove", "path": `emails[type eq "work"]`}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "final")}} },
	},
	patchCell{
		id:    "many-attributes",
		title: "A request with two operations for each of many attributes changes all of them",
		reqs:  reqs("RFC7644-3.5.2-25", "RFC7644-3.5.2-03"),
		level: must,
		why:   "Entra ID sends dozens of operations in one request; if the server applies only some of them, the account has outdated data.",
		fix:   "Apply all operations; if the server limits the number of operations, set the limit to more than one hundred.",
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
		title: "One hundred operations in one request are applied",
		reqs:  reqs("RFC7644-3.5.2-25"),
		level: should,
		why: "Clients send all members of a large group in one request; if the server rejects it because of a low limit, no member gets " +
			"access.",
		fix: "Set the maximum number of operations to well over one hundred.",
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
