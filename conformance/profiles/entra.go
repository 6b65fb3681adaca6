package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// entra is Microsoft Entra ID, as described in its documentation and in recorded requests. With the flag aadOptscim062020 in the tenant URL
// its PATCH requests conform to RFC 7644. Without the flag, operations are capitalized, booleans are strings and a list of values removes
// members.
var entra = conformance.Profile{
	ID:     "entra",
	Client: "Microsoft Entra ID",
	ClientFlows: []conformance.ClientFlow{
		{
			ID:    "default",
			Title: "tenant URL without flag: capitalized operations, booleans as strings, members removed by a list",
			Steps: entraSteps(false),
		},
		{
			ID:    "flag",
			Title: "tenant URL with the flag aadOptscim062020: lower-case operations, several attributes in one replace",
			Steps: entraSteps(true),
		},
	},
}

const (
	enterprise  = scim.EnterpriseUserSchema
	entraGroups = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"
)

// entraTrue and entraFalse match the boolean and the strings that the client sends in its place; the client also accepts these strings.
var (
	entraTrue  = conformance.OneOf{true, "True", "true"}
	entraFalse = conformance.OneOf{false, "False", "false"}
)

var extended = []conformance.Need{conformance.NeedEnterprise}

func entraUser(label, given, family string, more doc) doc {
	return with(doc{
		"schemas":     []string{scim.UserSchema, enterprise},
		"externalId":  "${run}" + label,
		"userName":    mail(label),
		"active":      true,
		"displayName": given + " " + family,
		"meta":        doc{"resourceType": "User"},
		"name":        doc{"formatted": given + " " + family, "familyName": family, "givenName": given},
		"roles":       []any{},
	}, more)
}

// entraSteps returns the steps of the client flow with the flag aadOptscim062020 or without it.
func entraSteps(flag bool) []step {
	add, replace, remove := "Add", "Replace", "Remove"
	var off, on any = "False", "True"
	if flag {
		add, replace, remove, off, on = "add", "replace", "remove", false, true
	}
	profile := patch(
		op(replace, "displayName", "Ines Moreau-Roy"), op(replace, "name.givenName", "Inès"), op(replace, "name.familyName", "Moreau-Roy"),
	)
	work := patch(op(add, enterprise+":employeeNumber", "7001"), op(add, enterprise+":department", "Quay"))
	leave := patch(op(remove, "members", []doc{{"$ref": nil, "value": "${user}"}}))
	if flag {
		profile = patch(op(replace, "", doc{"displayName": "Ines Moreau-Roy", "name.givenName": "Inès", "name.familyName": "Moreau-Roy"}))
		work = patch(op(replace, "", doc{enterprise + ":employeeNumber": "7001", enterprise + ":department": "Quay"}))
		leave = patch(op(remove, `members[value eq "${user}"]`, conformance.Omit))
	}
	join := func(names ...string) doc {
		list := members(names...)
		for _, m := range list {
			m["$ref"] = nil
		}
		return patch(op(add, "members", list))
	}
	steps := []step{
		{
			ID:     "connection",
			Title:  "The connection test looks up a random value and finds no user",
			Method: "GET",
			Path:   "/Users",
			Query:  named("userName", "6c0cb3b0-5b94-4b8e-8f7e-0f5a3f1f7a01"),
			Status: []int{200},
			Answer: nobody,
			Why:    "The credentials cannot be saved: any response other than 200 with an empty list counts as a failure.",
			Fix:    fixLookup,
		},
		{
			ID:     "schemas",
			Title:  "The attributes of the target are read for the mapping",
			Method: "GET",
			Path:   "/Schemas",
			Status: []int{200},
			Answer: expect{Contains: doc{"totalResults": conformance.AnInteger, "Resources": conformance.AnyList}},
			Limit:  "the attributes of the target are not offered in the mapping",
			Why:    "The client offers only default attributes for the mapping; administrators cannot map attributes of the server.",
			Fix:    "Serve /Schemas as a ListResponse.",
		},
		{
			ID:     "lookup-nobody",
			Title:  "Before a create the user is looked up, and no user is found",
			Method: "GET",
			Path:   "/Users",
			Query:  named("userName", mail("ines")),
			Status: []int{200},
			Answer: nobody,
			Why:    whyLookup,
			Fix:    fixLookup,
		},
		{
			ID:       "create",
			Title:    "The user is created with both schemas, meta.resourceType and an empty list of roles",
			Method:   "POST",
			Path:     "/Users",
			Status:   []int{201},
			Doubtful: []int{200},
			Save:     saveUser,
			Body:     entraUser("ines", "Ines", "Moreau", doc{"emails": []doc{{"primary": true, "type": "work", "value": mail("ines")}}}),
			Answer:   expect{Keeps: doc{"userName": mail("ines")}},
			State: []state{{Path: "/Users/${user}", Answer: expect{
				Contains: doc{"userName": mail("ines"), "active": entraTrue, "name": doc{"givenName": "Ines", "familyName": "Moreau"},
					"emails": []doc{{"type": "work", "value": mail("ines")}}},
				Keeps: doc{"displayName": "Ines Moreau", "name": doc{"formatted": "Ines Moreau"}, "externalId": "${run}ines"},
			}}},
			Why: whyCreate,
			Fix: fixCreate + " Accept the URN of an extension in schemas without data of the extension, and an empty list of roles.",
		},
		{
			ID:     "create-again",
			Title:  "A second create of the same user is a conflict",
			Method: "POST",
			Path:   "/Users",
			Status: []int{409},
			Body:   entraUser("ines", "Ines", "Moreau", nil),
			Why:    whyConflict,
			Fix:    fixConflict,
		},
		{
			ID:       "create-bare",
			Title:    "A user without an email address is created",
			Method:   "POST",
			Path:     "/Users",
			Status:   []int{201},
			Doubtful: []int{200},
			Save:     saveOther,
			Body:     entraUser("ada", "Ada", "Boss", nil),
			Answer:   expect{Keeps: doc{"userName": mail("ada")}},
			Limit:    "users without an email address are rejected",
			Why:      "Users without a mailbox cannot be provisioned.",
			Fix:      "Do not require attributes that /Schemas does not list as required.",
		},
		{
			ID:     "lookup-found",
			Title:  "The lookup by userName finds exactly that user, ignoring case",
			Method: "GET",
			Path:   "/Users",
			Query:  named("userName", "${upper:ines}"),
			Status: []int{200},
			Answer: found(doc{"id": "${user}"}),
			Why: "If the userName of the client differs in case, the client creates the user again, in every cycle: as a duplicate, or rejected " +
				"with a conflict.",
			Fix: "Compare userName case-insensitively.",
		},
		{
			ID:     "lookup-external-id",
			Title:  "The lookup by externalId finds exactly that user",
			Method: "GET",
			Path:   "/Users",
			Query:  named("externalId", "${run}ines"),
			Status: []int{200},
			Answer: found(doc{"id": "${user}"}),
			Limit:  "externalId cannot be the matching attribute",
			Why:    "The client never finds users that it matches by externalId, and creates them a second time.",
			Fix:    "Store externalId, and support filters on it with case-sensitive comparison.",
		},
		{
			ID:     "lookup-email",
			Title:  "The lookup by the email address of type work finds exactly that user",
			Method: "GET",
			Path:   "/Users",
			Query:  named(`emails[type eq "work"].value`, mail("ines")),
			Status: []int{200},
			Answer: found(doc{"id": "${user}"}),
			Limit:  "the email address cannot be the matching attribute",
			Why:    "The client never finds users that it matches by email address, and creates them a second time.",
			Fix:    `Accept emails[type eq "work"].value eq "…" in a filter, although it is not in the grammar of RFC 7644.`,
		},
		{
			ID:     "read",
			Title:  "The user is read by its id",
			Method: "GET",
			Path:   "/Users/${user}",
			Status: []int{200},
			Answer: expect{Contains: doc{"id": "${user}", "active": entraTrue}},
			Why:    "The client compares the user with its own data; if it cannot read the user, it sends no change.",
			Fix:    "Return 200 with the whole user.",
		},
		{
			ID:     "update",
			Title:  "Several attributes of the profile change in one PATCH",
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   profile,
			State: after("/Users/${user}",
				doc{"displayName": "Ines Moreau-Roy", "active": entraTrue, "name": doc{"givenName": "Inès", "familyName": "Moreau-Roy"},
					"emails": []doc{{"value": mail("ines")}}}),
			Why: "Changes of names are lost.",
			Fix: "Ignore the case of op, apply every operation, and resolve keys such as name.givenName inside a value as paths.",
		},
		{
			ID:     "update-work",
			Title:  "Attributes of the enterprise extension change in one PATCH",
			Needs:  extended,
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   work,
			State:  after("/Users/${user}", doc{"userName": mail("ines"), enterprise: doc{"employeeNumber": "7001", "department": "Quay"}}),
			Why:    "Departments and employee numbers are lost.",
			Fix: "Treat a replace of an attribute without a value as an add (RFC 7644 section 3.5.2.3): before this step, the user has no data " +
				"of the extension. Accept the URN of the extension before the name of an attribute, in a path and as a key of a value.",
		},
		{
			ID:     "update-twice",
			Title:  "Several replacements of displayName in one PATCH are applied in order",
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(replace, "displayName", "First"), op(replace, "displayName", "Second"), op(replace, "displayName", "Ines Roy")),
			State:  after("/Users/${user}", doc{"displayName": "Ines Roy"}),
			Why:    "The user keeps an earlier value, so the change is lost.",
			Fix:    "Accept a replace of displayName by its path, and apply the operations of a PATCH in order.",
		},
		{
			ID:     "update-email",
			Title:  "The email address of type work is replaced",
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(replace, `emails[type eq "work"].value`, mail("roy"))),
			State:  after("/Users/${user}", doc{"emails": []doc{{"type": "work", "value": mail("roy")}}}),
			Why:    "The old address remains, and later lookups match it.",
			Fix:    "Apply an operation whose path contains a filter to the elements that match the filter, and to no others.",
		},
		{
			ID:     "add-email",
			Title:  `A PATCH of emails[type eq "work"].value adds an email address to a user without one, and likewise a phone number`,
			Method: "PATCH",
			Path:   "/Users/${other}",
			Status: patched,
			Body: patch(op(add, `emails[type eq "work"].value`, mail("ada")),
				op(add, `phoneNumbers[type eq "mobile"].value`, "+33 1 99 00 00 00")),
			State: after("/Users/${other}",
				doc{"emails": conformance.ContainsAll{doc{"type": "work", "value": mail("ada")}},
					"phoneNumbers": []doc{{"type": "mobile", "value": "+33 1 99 00 00 00"}}}),
			Why: "A user who gets an email address or phone number later never has it on the target, and every cycle sends the PATCH again.",
			Fix: `Support emails[type eq "work"].value and phoneNumbers[type eq "mobile"].value as paths. If no element matches the filter ` +
				"of an add, create one with this type.",
		},
		{
			ID:     "manager",
			Title:  "The manager is set by a string with the id instead of an object",
			Needs:  extended,
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(add, enterprise+":manager", "${other}")),
			State:  after("/Users/${user}", doc{enterprise: doc{"manager": doc{"value": "${other}"}}}),
			Why:    "The target rejects the whole PATCH, so the manager and all other changes in it are lost.",
			Fix:    "Accept a string as the value of manager, and store the string as manager.value.",
		},
		{
			ID:     "manager-removed",
			Title:  "The manager is removed by an object with an empty value",
			Needs:  extended,
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(replace, enterprise+":manager", doc{"value": ""})),
			State:  after("/Users/${user}", doc{"userName": mail("ines"), enterprise: doc{"manager": nil}}),
			Limit:  "a manager cannot be removed by Replace with the object {\"value\":\"\"}",
			Why:    "The previous manager remains.",
			Fix:    "Treat an empty manager.value as no manager.",
		},
		{
			ID:     "disable",
			Title:  "The user is disabled",
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(replace, "active", off)),
			State: []state{{Path: "/Users/${user}", Answer: expect{
				Contains: doc{"active": entraFalse, "displayName": "Ines Roy"}, Keeps: doc{"active": conformance.ABoolean}}}},
			Why: whyInactive,
			Fix: `Accept the strings "True" and "False" for boolean attributes. ` + fixInactive,
		},
		{
			ID:     "lookup-disabled",
			Title:  "A disabled user is still found",
			Method: "GET",
			Path:   "/Users",
			Query:  named("userName", mail("ines")),
			Status: []int{200},
			Answer: found(doc{"id": "${user}", "active": entraFalse}),
			Why:    "The client creates a second account for a returning user.",
			Fix:    fixInactive,
		},
		{
			ID:     "enable",
			Title:  "The user is enabled again",
			Method: "PATCH",
			Path:   "/Users/${user}",
			Status: patched,
			Body:   patch(op(replace, "active", on)),
			State: []state{{Path: "/Users/${user}", Answer: expect{
				Contains: doc{"active": entraTrue}, Keeps: doc{"active": conformance.ABoolean}}}},
			Why: "A returning user remains locked out.",
			Fix: fixInactive,
		},
		{
			ID:     "group-lookup",
			Title:  "The group is looked up without its members, and none is found",
			Needs:  groupsServed,
			Method: "GET",
			Path:   "/Groups",
			Query:  append([]string{"excludedAttributes", "members"}, named("displayName", "${run}harbour")...),
			Status: []int{200},
			Answer: nobody,
			Why:    "The group cannot be provisioned.",
			Fix:    "Filter groups by displayName, and return 200 with an empty list if none matches.",
		},
		{
			ID:       "group-create",
			Title:    "The group is created without members, and with a Microsoft schema",
			Needs:    groupsServed,
			Method:   "POST",
			Path:     "/Groups",
			Status:   []int{201},
			Doubtful: []int{200},
			Save:     saveGroup,
			Body: doc{"schemas": []string{scim.GroupSchema, entraGroups}, "externalId": "${run}harbour", "displayName": "${run}harbour",
				"meta": doc{"resourceType": "Group"}},
			Answer: expect{Keeps: doc{"displayName": "${run}harbour"}},
			Why:    whyGroup,
			Fix:    fixGroup + " Accept an unknown URI in schemas, without data of its schema.",
		},
		{
			ID:     "group-found",
			Title:  "The group is found by its name, without its members",
			Needs:  groupsServed,
			Method: "GET",
			Path:   "/Groups",
			Query:  append([]string{"excludedAttributes", "members"}, named("displayName", "${run}harbour")...),
			Status: []int{200},
			Answer: found(doc{"id": "${group}", "members": nil}),
			Why:    "The client creates the group a second time.",
			Fix:    "Filter groups by displayName, and honor excludedAttributes.",
		},
		{
			ID:     "group-join",
			Title:  "Two members are added, each with an empty $ref",
			Needs:  groupsServed,
			Method: "PATCH",
			Path:   "/Groups/${group}",
			Status: patched,
			Body:   join("user", "other"),
			State:  after("/Groups/${group}", doc{"displayName": "${run}harbour", "members": members("user", "other")}),
			Why:    whyMembers,
			Fix:    "Add the members of the list by their value, and ignore a $ref of null.",
		},
		{
			ID:     "group-join-again",
			Title:  "Adding a member again changes nothing",
			Needs:  groupsServed,
			Method: "PATCH",
			Path:   "/Groups/${group}",
			Status: patched,
			Body:   join("user"),
			State:  joinedAgain("user", "other"),
			Why: "The client repeats additions after a failure. If the target rejects one, the client stops updating the group; if the target " +
				"stores the member twice or loses another, the list of members is wrong.",
			Fix: "Return success if the member already exists, and store one entry.",
		},
		{
			ID:     "group-read",
			Title:  "The group is read without its members",
			Needs:  groupsServed,
			Method: "GET",
			Path:   "/Groups/${group}",
			Query:  []string{"excludedAttributes", "members"},
			Status: []int{200},
			Answer: expect{Contains: doc{"id": "${group}", "displayName": "${run}harbour", "members": nil}},
			Limit:  "large groups are read with all their members",
			Why:    "The client reads groups often; with all members it runs into timeouts.",
			Fix:    "Honor excludedAttributes=members.",
		},
		{
			ID:     "group-leave",
			Title:  "One member is removed, the other remains",
			Needs:  groupsServed,
			Method: "PATCH",
			Path:   "/Groups/${group}",
			Status: patched,
			Body:   leave,
			State:  after("/Groups/${group}", doc{"displayName": "${run}harbour", "members": members("other")}),
			Why:    whyMembers,
			Fix:    "Remove exactly the members that the request names: by a filter in the path, or by the list in its value.",
		},
		{
			ID:     "group-rename",
			Title:  "The group is renamed without losing its members",
			Needs:  groupsServed,
			Method: "PATCH",
			Path:   "/Groups/${group}",
			Status: patched,
			Body:   patch(op(replace, "displayName", "${run}quay")),
			State:  after("/Groups/${group}", doc{"displayName": "${run}quay", "members": members("other")}),
			Why:    "The group keeps its old name, and the client creates a second group with the new name.",
			Fix:    "Change only the attributes that the operation names.",
		},
		{
			ID:     "group-delete",
			Title:  "The group is deleted",
			Needs:  groupsServed,
			Method: "DELETE",
			Path:   "/Groups/${group}",
			Status: deleted,
			State:  gone("/Groups/${group}"),
			Limit:  "a group out of scope remains on the target",
			Why:    whyDelete,
			Fix:    fixDelete,
		},
		{
			ID:     "delete",
			Title:  "The user is deleted",
			Method: "DELETE",
			Path:   "/Users/${user}",
			Status: deleted,
			State:  gone("/Users/${user}"),
			Limit:  "a permanently deleted user remains on the target",
			Why:    whyDelete,
			Fix:    fixDelete,
		},
		{
			ID:     "delete-again",
			Title:  "A second deletion finds no user",
			Method: "DELETE",
			Path:   "/Users/${user}",
			Status: []int{404},
			Limit:  "a repeated deletion is recorded as a failure",
			Why:    "The client repeats deletions whose response was lost; after a server error, it repeats them again.",
			Fix:    fixDelete,
		},
	}
	return steps
}
