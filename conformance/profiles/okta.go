package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// Okta, after its documentation of SCIM 2.0 requests. It takes a 404 for an empty lookup, wants integers in paging, never
// deletes users, and reads a user before it replaces one.
var okta = conformance.Profile{
	ID:     "okta",
	Client: "Okta",
	Conversations: []conformance.Conversation{
		{
			ID: "catalog", Title: "application of the catalogue: profiles by PUT, activation and passwords by PATCH, group push by PATCH",
			Steps: oktaSteps(oktaCatalogUpdates, oktaGroups),
		},
		{
			ID: "wizard", Title: "application made with the wizard: every change of a user by PUT",
			Steps: oktaSteps(oktaWizardUpdates),
		},
	},
}

func oktaSteps(parts ...[]step) []step {
	steps := oktaStart()
	for _, part := range parts {
		steps = append(steps, part...)
	}
	return steps
}

// oktaPage is what Okta reads from a list. Counts must be integers, never texts.
var oktaPage = expect{Contains: doc{"totalResults": conformance.AnInteger, "startIndex": conformance.NothingOrWhole, "itemsPerPage": conformance.NothingOrWhole, "Resources": conformance.AnyList}}

func oktaUser(label, externalID string) doc {
	return with(person(label), doc{"locale": "en-US", "externalId": externalID, "groups": []any{}, "password": "scimconf-placeholder-1mz050nq"})
}

func oktaStart() []step {
	return []step{
		{
			ID: "connection-users", Title: "The connection test reads a first page of users",
			Method: "GET", Path: "/Users", Query: []string{"startIndex", "1", "count", "2"}, Status: []int{200}, Answer: oktaPage,
			Why: "The integration cannot be saved.", Fix: "Answer 200 with a ListResponse whose counters are JSON integers.",
		},
		{
			ID: "connection-groups", Title: "The connection test reads a first page of groups", Needs: groupsServed,
			Method: "GET", Path: "/Groups", Query: paged(), Status: []int{200}, Answer: oktaPage,
			Limit: "groups cannot be read: no import of groups",
			Why:   "Groups can neither be imported nor linked.", Fix: "Answer 200 with a ListResponse whose counters are JSON integers.",
		},
		{
			ID: "lookup-nobody", Title: "Before a create the user is looked up, and nobody is found",
			Method: "GET", Path: "/Users", Query: paged(named("userName", mail("marlo"))...), Status: []int{200, 404}, Answer: nobody,
			Why: whyLookup, Fix: fixLookup,
		},
		{
			ID: "create", Title: "The user is created and the answer is the user with its id",
			Method: "POST", Path: "/Users", Body: oktaUser("marlo", "${run}00u1"), Status: []int{201}, Doubtful: []int{200}, Save: saveUser,
			Answer: expect{Keeps: doc{"userName": mail("marlo"), "active": true}},
			State: []state{{Path: "/Users/${user}", Answer: expect{
				Contains: doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}, "emails": []doc{{"value": mail("marlo")}}},
				Keeps:    doc{"displayName": "Marlo Quist", "locale": "en-US", "externalId": "${run}00u1"},
			}}},
			Why: whyCreate, Fix: fixCreate,
		},
		{
			ID: "create-again", Title: "A second create of the same user is a conflict",
			Method: "POST", Path: "/Users", Body: oktaUser("marlo", "${run}00u1"), Status: []int{409},
			Why: whyConflict, Fix: fixConflict,
		},
		{
			ID: "lookup-found", Title: "The lookup finds exactly that user",
			Method: "GET", Path: "/Users", Query: paged(named("userName", mail("marlo"))...), Status: []int{200},
			Answer: found(doc{"id": "${user}", "userName": mail("marlo")}),
			Why:    "The client takes the first user of the answer for its own and changes a stranger.", Fix: "Apply the filter exactly, and return the matches with their ids.",
		},
		{
			ID: "lookup-second", Title: "The lookup of a second user does not find the first",
			Method: "GET", Path: "/Users", Query: paged(named("userName", mail("ines"))...), Status: []int{200, 404}, Answer: nobody,
			Why: "The client takes somebody else's account for the second user's.", Fix: fixLookup,
		},
		{
			ID: "create-second", Title: "A second user is created",
			Method: "POST", Path: "/Users", Body: oktaUser("ines", "${run}00u2"), Status: []int{201}, Doubtful: []int{200}, Save: saveOther,
			Answer: expect{Keeps: doc{"userName": mail("ines")}},
			Why:    whyCreate, Fix: fixCreate,
		},
		{
			ID: "import", Title: "The import reads the users in pages of a hundred",
			Method: "GET", Path: "/Users", Query: paged(), Status: []int{200}, Answer: oktaPage, Keep: "page",
			Why: "Users of the target cannot be imported and matched.", Fix: "Answer startIndex and count with a page and integer counters.",
		},
		{
			ID: "import-order", Title: "The users stand in the same order whatever the page",
			Method: "GET", Path: "/Users", Query: []string{"startIndex", "2", "count", "1"}, Status: []int{200}, Within: "page",
			Answer: expect{Contains: doc{"totalResults": conformance.AtLeast(2), "Resources": conformance.AnyList}},
			Why:    "Users that change places between two pages, or lie beyond a total that is too small, are missed; the client takes them for deleted.",
			Fix:    "Order lists by something that does not change, such as the creation, and count all users in totalResults.",
		},
		{
			ID: "read", Title: "Before an update the user is read",
			Method: "GET", Path: "/Users/${user}", Status: []int{200}, Keep: "user",
			Answer: expect{Contains: doc{"id": "${user}", "userName": mail("marlo"), "active": true}},
			Why:    "The client sends back what it reads; what it cannot read it cannot update.", Fix: "Answer 200 with the whole user.",
		},
		{
			ID: "update", Title: "A change of the profile sends the whole user back by PUT, with id, groups and meta",
			Method: "PUT", Path: "/Users/${user}", Base: "user",
			Body:   doc{"name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}, "displayName": "Marlo Quist-Hale", "groups": []any{}, "password": "scimconf-placeholder-1mz050nq"},
			Status: []int{200}, Answer: expect{Keeps: doc{"id": "${user}", "name": doc{"familyName": "Quist-Hale"}}},
			State: after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}, "emails": []doc{{"value": mail("marlo")}}}),
			Why:   "Changes of names, addresses and departments do not arrive.", Fix: "Accept PUT of the whole user, and ignore read-only members such as id, meta and groups instead of refusing them.",
		},
	}
}

var oktaCatalogUpdates = []step{
	{
		ID: "deactivate", Title: "Deactivation is a PATCH without a path",
		Method: "PATCH", Path: "/Users/${user}", Body: patch(op("replace", "", doc{"active": false})), Status: patched,
		State: after("/Users/${user}", doc{"active": false, "userName": mail("marlo"), "name": doc{"familyName": "Quist-Hale"}}),
		Why:   whyInactive, Fix: "Apply a replace without a path to the members of its value. " + fixInactive,
	},
	{
		ID: "lookup-inactive", Title: "An inactive user is still found",
		Method: "GET", Path: "/Users", Query: paged(named("userName", mail("marlo"))...), Status: []int{200},
		Answer: found(doc{"id": "${user}", "active": false}),
		Why:    "The client creates a second account for somebody who comes back.", Fix: fixInactive,
	},
	{
		ID: "reactivate", Title: "Reactivation is a PATCH without a path",
		Method: "PATCH", Path: "/Users/${user}", Body: patch(op("replace", "", doc{"active": true})), Status: patched,
		State: after("/Users/${user}", doc{"active": true}),
		Why:   "Somebody who comes back stays locked out.", Fix: fixInactive,
	},
	{
		ID: "password", Title: "A new password is a PATCH without a path, and is never answered",
		Method: "PATCH", Path: "/Users/${user}", Body: patch(op("replace", "", doc{"password": "scimconf-t1meMa$heen"})), Status: patched,
		Answer: expect{Contains: doc{"password": nil}},
		State:  after("/Users/${user}", doc{"active": true, "password": nil}),
		Limit:  "passwords are not synchronised",
		Why:    "Passwords of the client do not arrive.", Fix: "Accept password in a PATCH, store its hash and never return it.",
	},
}

var oktaWizardUpdates = []step{
	{
		ID: "deactivate", Title: "Deactivation is a PUT of the whole user",
		Method: "PUT", Path: "/Users/${user}", Base: "user", Body: doc{"active": false}, Status: []int{200},
		State: after("/Users/${user}", doc{"active": false, "userName": mail("marlo")}),
		Why:   whyInactive, Fix: fixInactive,
	},
	{
		ID: "lookup-inactive", Title: "An inactive user is still found",
		Method: "GET", Path: "/Users", Query: paged(named("userName", mail("marlo"))...), Status: []int{200},
		Answer: found(doc{"id": "${user}", "active": false}),
		Why:    "The client creates a second account for somebody who comes back.", Fix: fixInactive,
	},
	{
		ID: "reactivate", Title: "Reactivation is a PUT of the whole user",
		Method: "PUT", Path: "/Users/${user}", Base: "user", Body: doc{"active": true}, Status: []int{200},
		State: after("/Users/${user}", doc{"active": true}),
		Why:   "Somebody who comes back stays locked out.", Fix: fixInactive,
	},
}

var oktaGroups = []step{
	{
		ID: "group-push", Title: "A group is pushed with its members", Needs: groupsServed,
		Method: "POST", Path: "/Groups", Status: []int{201}, Doubtful: []int{200}, Save: saveGroup,
		Body:   doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}editors", "members": []doc{{"value": "${user}", "display": mail("marlo")}}},
		Answer: expect{Keeps: doc{"displayName": "${run}editors"}},
		State:  after("/Groups/${group}", doc{"displayName": "${run}editors", "members": members("user")}),
		Why:    whyGroup, Fix: fixGroup,
	},
	{
		ID: "group-list", Title: "The groups are read in pages of a hundred", Needs: groupsServed,
		Method: "GET", Path: "/Groups", Query: paged(), Status: []int{200}, Answer: oktaPage,
		Limit: "groups cannot be read: no import of groups",
		Why:   "Groups of the target cannot be imported and linked.", Fix: "Answer startIndex and count with a page and integer counters.",
	},
	{
		ID: "group-members", Title: "One member leaves and one joins, in one PATCH", Needs: groupsServed,
		Method: "PATCH", Path: "/Groups/${group}", Status: patched,
		Body:  patch(op("remove", `members[value eq "${user}"]`, conformance.Omit), op("add", "members", []doc{{"value": "${other}", "display": mail("ines")}})),
		State: after("/Groups/${group}", doc{"displayName": "${run}editors", "members": members("other")}),
		Why:   whyMembers, Fix: "Apply all operations of a PATCH in their order; understand members[value eq \"…\"], and ignore the display of a member.",
	},
	{
		ID: "group-rename", Title: "A group is renamed without a path, and the value repeats its id", Needs: groupsServed,
		Method: "PATCH", Path: "/Groups/${group}", Status: patched,
		Body:  patch(op("replace", "", doc{"id": "${group}", "displayName": "${run}writers"})),
		State: after("/Groups/${group}", doc{"displayName": "${run}writers", "members": members("other")}),
		Why:   "The group keeps its old name, and membership changes in the same request are lost with it.", Fix: "Ignore the id in the value when it is the group's own.",
	},
	{
		ID: "group-replace", Title: "A full push replaces all members", Needs: groupsServed,
		Method: "PATCH", Path: "/Groups/${group}", Status: patched,
		Body:  patch(op("replace", "members", []doc{{"value": "${user}", "display": mail("marlo")}})),
		State: after("/Groups/${group}", doc{"displayName": "${run}writers", "members": members("user")}),
		Why:   whyMembers, Fix: "Let replace on members set exactly the members of its value.",
	},
	{
		ID: "group-empty", Title: "An empty group is pushed as an empty list of members", Needs: groupsServed,
		Method: "PATCH", Path: "/Groups/${group}", Status: patched,
		Body:  patch(op("replace", "members", []any{})),
		State: after("/Groups/${group}", doc{"displayName": "${run}writers", "members": []any{}}),
		Why:   whyMembers, Fix: "Let replace with an empty list take all members out.",
	},
	{
		ID: "group-delete", Title: "Unlinking deletes the group", Needs: groupsServed,
		Method: "DELETE", Path: "/Groups/${group}", Status: deleted, State: gone("/Groups/${group}"),
		Limit: "a group that is unlinked stays in the target",
		Why:   whyDelete, Fix: fixDelete,
	},
}
