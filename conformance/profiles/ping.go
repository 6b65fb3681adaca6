package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// PingFederate, after the documentation of its SCIM provisioner: users are changed by PUT only, and groups are matched by
// reading all of them.
var ping = conformance.Profile{
	ID:     "ping",
	Client: "PingFederate",
	Doubt:  "That users are changed by PUT and groups are matched by reading all of them is documented; the size of its pages and the bodies are not recorded.",
	Conversations: []conformance.Conversation{{
		Title: "SCIM provisioner with the default unique attribute userName",
		Steps: []step{
			{
				ID: "lookup-nobody", Title: "The user is looked up by the unique attribute, and nobody is found",
				Method: "GET", Path: "/Users", Query: named("userName", mail("marlo")), Status: []int{200}, Answer: nobody,
				Why: whyLookup, Fix: fixLookup,
			},
			{
				ID: "create", Title: "The user is created",
				Method: "POST", Path: "/Users", Body: person("marlo"), Status: []int{201}, Doubtful: []int{200}, Save: saveUser,
				State: []state{{Path: "/Users/${user}", Answer: expect{
					Contains: doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}}, Keeps: doc{"displayName": "Marlo Quist"},
				}}},
				Why: whyCreate, Fix: fixCreate,
			},
			{
				ID: "lookup-found", Title: "The lookup finds exactly that user",
				Method: "GET", Path: "/Users", Query: named("userName", mail("marlo")), Status: []int{200}, Answer: found(doc{"id": "${user}", "userName": mail("marlo")}),
				Why: "The client takes over the wrong user, or creates one twice.", Fix: "Apply the filter exactly, and return the matches with their ids.",
			},
			{
				ID: "update", Title: "A change sends the user by PUT",
				Method: "PUT", Path: "/Users/${user}", Status: []int{200},
				Body:  with(person("marlo"), doc{"name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}}),
				State: after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"familyName": "Quist-Hale"}}),
				Why:   "Changes of names and addresses do not arrive: this client never sends PATCH for users.", Fix: "Support PUT of users.",
			},
			{
				ID: "group-create", Title: "The group is created with its member", Needs: groupsServed,
				Method: "POST", Path: "/Groups", Body: doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}works", "members": members("user")}, Status: []int{201}, Doubtful: []int{200}, Save: saveGroup,
				State: after("/Groups/${group}", doc{"displayName": "${run}works", "members": members("user")}),
				Why:   whyGroup, Fix: fixGroup,
			},
			{
				ID: "group-second", Title: "A second group is created", Needs: groupsServed,
				Method: "POST", Path: "/Groups", Body: doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}yard"}, Status: []int{201}, Doubtful: []int{200}, Save: map[string]string{"yard": "id"},
				Why: whyGroup, Fix: fixGroup,
			},
			{
				ID: "group-read-all", Title: "All groups are read, and matched by name in the client", Needs: groupsServed,
				Method: "GET", Path: "/Groups", Query: paged(), Status: []int{200}, Keep: "groups",
				Answer: expect{Contains: doc{"totalResults": conformance.AnInteger, "Resources": conformance.AnyList}},
				Why:    "Groups that are not in the list are created again.", Fix: "Answer startIndex and count with a page, totalResults with the number of all groups.",
			},
			{
				ID: "group-read-next", Title: "The next page of groups goes on where the first one ended", Needs: groupsServed,
				Method: "GET", Path: "/Groups", Query: []string{"startIndex", "2", "count", "100"}, Status: []int{200}, Within: "groups",
				Answer: expect{Contains: doc{"totalResults": conformance.AtLeast(2), "Resources": conformance.AnyList}},
				Why:    "Groups on the later pages are never seen, and created again.", Fix: "Skip startIndex-1 groups, in an order that does not change.",
			},
			{
				ID: "group-update", Title: "The group is changed by PUT, with all its members", Needs: groupsServed,
				Method: "PUT", Path: "/Groups/${group}", Status: []int{200},
				Body:  doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}mill", "members": []any{}},
				State: after("/Groups/${group}", doc{"displayName": "${run}mill", "members": []any{}}),
				Why:   whyMembers, Fix: "Support PUT of groups: the members of the body are all there are.",
			},
			{
				ID: "group-delete", Title: "The group is deleted", Needs: groupsServed,
				Method: "DELETE", Path: "/Groups/${group}", Status: deleted, State: gone("/Groups/${group}"),
				Limit: "a group out of scope stays in the target", Why: whyDelete, Fix: fixDelete,
			},
			{
				ID: "disable", Title: "A user that loses access is disabled by PUT, where the provisioner is set so",
				Method: "PUT", Path: "/Users/${user}", Body: with(person("marlo"), doc{"active": false}), Status: []int{200},
				State: after("/Users/${user}", doc{"active": false, "userName": mail("marlo")}),
				Why:   whyInactive, Fix: fixInactive,
			},
			{
				ID: "delete", Title: "A user that loses access is deleted, where the provisioner is set so",
				Method: "DELETE", Path: "/Users/${user}", Status: deleted, State: gone("/Users/${user}"),
				Limit: "users can only be disabled, not deleted", Why: whyDelete, Fix: fixDelete,
			},
		},
	}},
}
