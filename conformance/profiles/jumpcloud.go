package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// JumpCloud, after its support articles and what server projects report. Its connection test creates a user and a group
// and deletes both; it repeats additions of members.
var jumpcloud = conformance.Profile{
	ID:     "jumpcloud",
	Client: "JumpCloud",
	Doubt:  "The order of the connection test and the body of membership changes are taken from a support article and from reports of server projects, not from recorded requests; updates are taken to be PUT.",
	Conversations: []conformance.Conversation{{
		Title: "SCIM 2.0 integration with group management",
		Steps: []step{
			{
				ID: "connection-lookup", Title: "The connection test looks up its test user",
				Method: "GET", Path: "/Users", Query: named("userName", mail("test")), Status: []int{200}, Answer: nobody,
				Why: "The connection cannot be activated.", Fix: fixLookup,
			},
			{
				ID: "connection-user", Title: "The connection test creates a test user",
				Method: "POST", Path: "/Users", Body: person("test"), Status: []int{201}, Doubtful: []int{200}, Save: map[string]string{"tester": "id"},
				Why: "The connection cannot be activated.", Fix: fixCreate,
			},
			{
				ID: "connection-group", Title: "The connection test creates a test group", Needs: groupsServed,
				Method: "POST", Path: "/Groups", Body: doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}test"}, Status: []int{201}, Doubtful: []int{200}, Save: map[string]string{"trial": "id"},
				Why: "The connection cannot be activated with group management on.", Fix: fixGroup,
			},
			{
				ID: "connection-group-delete", Title: "The connection test deletes its group", Needs: groupsServed,
				Method: "DELETE", Path: "/Groups/${trial}", Status: deleted, State: gone("/Groups/${trial}"),
				Limit: "the test group of the connection test stays in the target", Why: whyDelete, Fix: fixDelete,
			},
			{
				ID: "connection-user-delete", Title: "The connection test deletes its user",
				Method: "DELETE", Path: "/Users/${tester}", Status: deleted, State: gone("/Users/${tester}"),
				Limit: "the test user of the connection test is only deactivated", Why: whyDelete, Fix: fixDelete,
			},
			{
				ID: "lookup-nobody", Title: "Before a create the user is looked up, and nobody is found",
				Method: "GET", Path: "/Users", Query: named("userName", mail("marlo")), Status: []int{200}, Answer: nobody,
				Why: whyLookup, Fix: fixLookup,
			},
			{
				ID: "create", Title: "The user is created",
				Method: "POST", Path: "/Users", Body: with(person("marlo"), doc{"externalId": "${run}jc1"}), Status: []int{201}, Doubtful: []int{200}, Save: saveUser,
				State: []state{{Path: "/Users/${user}", Answer: expect{
					Contains: doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}},
					Keeps:    doc{"displayName": "Marlo Quist", "externalId": "${run}jc1"},
				}}},
				Why: whyCreate, Fix: fixCreate,
			},
			{
				ID: "lookup-found", Title: "The lookup finds exactly that user",
				Method: "GET", Path: "/Users", Query: named("userName", mail("marlo")), Status: []int{200}, Answer: found(doc{"id": "${user}"}), Keep: "users",
				Why: "The client takes over the wrong user, or creates one twice.", Fix: "Apply the filter exactly, and return the matches with their ids.",
			},
			{
				ID: "update", Title: "A change sends the user as the client knows it by PUT",
				Method: "PUT", Path: "/Users/${user}", Status: []int{200},
				Body:  with(person("marlo"), doc{"id": "${user}", "externalId": "${run}jc1", "name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}}),
				State: after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"familyName": "Quist-Hale"}}),
				Why:   "Changes of names and addresses do not arrive.", Fix: "Accept PUT of the user, and ignore an id in the body.",
			},
			{
				ID: "group-create", Title: "The group is created", Needs: groupsServed,
				Method: "POST", Path: "/Groups", Body: doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}crew"}, Status: []int{201}, Doubtful: []int{200}, Save: saveGroup,
				Why: whyGroup, Fix: fixGroup,
			},
			{
				ID: "group-join", Title: "A member is added by a PATCH of members", Needs: groupsServed,
				Method: "PATCH", Path: "/Groups/${group}", Body: patch(op("add", "members", members("user"))), Status: patched,
				State: after("/Groups/${group}", doc{"displayName": "${run}crew", "members": members("user")}),
				Why:   whyMembers, Fix: "Add the members of the list by their value.",
			},
			{
				ID: "group-join-again", Title: "The same addition comes a second time and changes nothing", Needs: groupsServed,
				Method: "PATCH", Path: "/Groups/${group}", Body: patch(op("add", "members", members("user"))), Status: patched,
				State: after("/Groups/${group}", doc{"members": members("user")}),
				Why:   "The client repeats additions as a matter of course; refusing them stops the group.", Fix: "Answer success when the member is there already, and keep one entry.",
			},
			{
				ID: "group-leave", Title: "The member is removed by a PATCH of members", Needs: groupsServed,
				Method: "PATCH", Path: "/Groups/${group}", Body: patch(op("remove", `members[value eq "${user}"]`, conformance.Omit)), Status: patched,
				State: after("/Groups/${group}", doc{"displayName": "${run}crew", "members": []any{}}),
				Why:   whyMembers, Fix: "Remove exactly the member that the path names.",
			},
			{
				ID: "group-rename", Title: "The group is renamed", Needs: groupsServed,
				Method: "PATCH", Path: "/Groups/${group}", Body: patch(op("replace", "displayName", "${run}deck")), Status: patched,
				State: after("/Groups/${group}", doc{"displayName": "${run}deck"}),
				Why:   "The group keeps its old name.", Fix: "Change only what the operation names.",
			},
			{
				ID: "group-delete", Title: "The group is deleted", Needs: groupsServed,
				Method: "DELETE", Path: "/Groups/${group}", Status: deleted, State: gone("/Groups/${group}"),
				Limit: "a group out of scope stays in the target", Why: whyDelete, Fix: fixDelete,
			},
			{
				ID: "deprovision", Title: "Deprovisioning deactivates the user",
				Method: "PATCH", Path: "/Users/${user}", Body: patch(op("replace", "active", false)), Status: patched,
				State: after("/Users/${user}", doc{"active": false, "userName": mail("marlo")}),
				Why:   whyInactive, Fix: fixInactive,
			},
			{
				ID: "delete", Title: "The user is deleted",
				Method: "DELETE", Path: "/Users/${user}", Status: deleted, State: gone("/Users/${user}"),
				Limit: "a user that is deleted at the client is only deactivated", Why: whyDelete, Fix: fixDelete,
			},
		},
	}},
}
