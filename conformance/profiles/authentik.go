package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// authentik is the outgoing SCIM provider of authentik, as described in issue reports and its source code. It first reads the
// ServiceProviderConfig and then changes groups by PATCH or by PUT, depending on patch.supported. It always replaces users by PUT.
var authentik = conformance.Profile{
	ID:     "authentik",
	Client: "authentik",
	Doubt:  "The sequence follows issues and source of the project in 2025 and 2026; other versions differ in how they remove members.",
	ClientFlows: []conformance.ClientFlow{
		{ID: "patch", Title: "target that supports PATCH", Steps: append(authentikStart(), authentikPatch...)},
		{ID: "put", Title: "target that does not support PATCH: groups by PUT", Steps: append(authentikStart(), authentikPut...)},
	},
}

func authentikStart() []step {
	return []step{
		{
			ID:     "config",
			Title:  "The ServiceProviderConfig is read",
			Method: "GET",
			Path:   "/ServiceProviderConfig",
			Status: []int{200},
			Answer: expect{
				Contains: doc{"patch": doc{"supported": conformance.ABoolean}, "bulk": doc{"supported": conformance.ABoolean},
					"filter": doc{"supported": conformance.ABoolean}}},
			Limit: "the client uses defaults in place of the features that the target supports",
			Why:   "The client cannot determine whether the target supports PATCH, and uses its defaults.",
			Fix:   "Serve /ServiceProviderConfig with all its members.",
		},
		{
			ID:     "create",
			Title:  "The user is created",
			Method: "POST",
			Path:   "/Users",
			Body: with(person("marlo"),
				doc{"externalId": "${run}ak1", "name": doc{"formatted": "Marlo Quist", "givenName": "Marlo", "familyName": "Quist"}}),
			Status:   []int{201},
			Doubtful: []int{200},
			Save:     saveUser,
			State: []state{{Path: "/Users/${user}", Answer: expect{
				Contains: doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}},
				Keeps:    doc{"displayName": "Marlo Quist", "externalId": "${run}ak1"},
			}}},
			Why: whyCreate,
			Fix: fixCreate,
		},
		{
			ID:     "create-again",
			Title:  "A create of an existing user is a conflict",
			Method: "POST",
			Path:   "/Users",
			Body:   person("marlo"),
			Status: []int{409},
			Why:    whyConflict,
			Fix:    fixConflict,
		},
		{
			ID:     "lookup-found",
			Title:  "After a conflict the user is looked up by userName",
			Method: "GET",
			Path:   "/Users",
			Query:  named("userName", mail("marlo")),
			Status: []int{200},
			Answer: found(doc{"id": "${user}"}),
			Why:    "A user that existed before the client was connected can never be linked.",
			Fix:    "Apply the filter exactly, and return the matches with their ids.",
		},
		{
			ID:     "update",
			Title:  "A change replaces the user by PUT, with its id",
			Method: "PUT",
			Path:   "/Users/${user}",
			Status: []int{200},
			Body: with(person("marlo"),
				doc{"id": "${user}", "externalId": "${run}ak1", "name": doc{"formatted": "Marlo Hale", "givenName": "Marlo", "familyName": "Hale"}}),
			State: after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"familyName": "Hale"}}),
			Why:   "Changes of users are lost: this client never sends PATCH for users.",
			Fix:   "Support PUT of users, and ignore an id in the body.",
		},
		{
			ID:       "group-create",
			Title:    "The group is created",
			Needs:    groupsServed,
			Method:   "POST",
			Path:     "/Groups",
			Body:     doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}lab", "externalId": "${run}akg"},
			Status:   []int{201},
			Doubtful: []int{200},
			Save:     saveGroup,
			Answer:   expect{Keeps: doc{"displayName": "${run}lab"}},
			Why:      whyGroup,
			Fix:      fixGroup,
		},
	}
}

var groupsPatched = []conformance.Need{conformance.NeedGroup, conformance.NeedPatch}

var authentikPatch = []step{
	{
		ID:     "group-update",
		Title:  "A change of the group is a PATCH without a path, and the value repeats its id",
		Needs:  groupsPatched,
		Method: "PATCH",
		Path:   "/Groups/${group}",
		Body:   patch(op("replace", "", doc{"id": "${group}", "displayName": "${run}studio", "externalId": "${run}akg"})),
		Status: patched,
		State:  after("/Groups/${group}", doc{"displayName": "${run}studio"}),
		Why:    "The group keeps its old name.",
		Fix:    "Ignore an id in the value that equals the id of the group.",
	},
	{
		ID:     "group-join",
		Title:  "A member is added by a PATCH",
		Needs:  groupsPatched,
		Method: "PATCH",
		Path:   "/Groups/${group}",
		Body:   patch(op("add", "members", members("user"))),
		Status: patched,
		State:  after("/Groups/${group}", doc{"displayName": "${run}studio", "members": members("user")}),
		Why:    whyMembers,
		Fix:    "Add the members of the list by their value.",
	},
	{
		ID:     "group-leave",
		Title:  "The member is removed by a list of values",
		Needs:  groupsPatched,
		Method: "PATCH",
		Path:   "/Groups/${group}",
		Body:   patch(op("remove", "members", members("user"))),
		Status: patched,
		State:  after("/Groups/${group}", doc{"displayName": "${run}studio", "members": []any{}}),
		Why:    whyMembers,
		Fix:    "Remove the members that the value lists: RFC 7644 defines no remove with a value, but this client sends it.",
	},
	authentikGroupDelete, authentikDelete,
}

var authentikPut = []step{
	{
		ID:     "group-join",
		Title:  "A member is added by PUT of the group",
		Needs:  groupsServed,
		Method: "PUT",
		Path:   "/Groups/${group}",
		Body:   doc{"schemas": []string{scim.GroupSchema}, "id": "${group}", "displayName": "${run}lab", "members": members("user")},
		Status: []int{200},
		State:  after("/Groups/${group}", doc{"displayName": "${run}lab", "members": members("user")}),
		Why:    whyMembers,
		Fix:    "Support PUT of groups: replace all members by those of the body.",
	},
	{
		ID:     "group-leave",
		Title:  "The member is removed by PUT of the group",
		Needs:  groupsServed,
		Method: "PUT",
		Path:   "/Groups/${group}",
		Body:   doc{"schemas": []string{scim.GroupSchema}, "id": "${group}", "displayName": "${run}studio", "members": []any{}},
		Status: []int{200},
		State:  after("/Groups/${group}", doc{"displayName": "${run}studio", "members": []any{}}),
		Why:    whyMembers,
		Fix:    "Support PUT of groups: replace all members by those of the body.",
	},
	authentikGroupDelete, authentikDelete,
}

var authentikGroupDelete = step{
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
}

var authentikDelete = step{
	ID:     "delete",
	Title:  "The user is deleted",
	Method: "DELETE",
	Path:   "/Users/${user}",
	Status: deleted,
	State:  gone("/Users/${user}"),
	Limit:  "users that are deleted on the client remain on the target",
	Why:    whyDelete,
	Fix:    fixDelete,
}
