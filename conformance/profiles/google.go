package profiles

import "github.com/scimwright/scimwright/conformance"

// google is Google Workspace as a client: automated user provisioning. It sends active with every create and update, and suspends users
// with active false. It does not push groups.
var google = conformance.Profile{
	ID:     "google",
	Client: "Google Workspace",
	Doubt: "Server projects report that active is sent on create and update and that suspension is active false; whether an " +
		"update is PUT or PATCH depends on the application, and PUT is assumed.",
	ClientFlows: []conformance.ClientFlow{{
		Title: "automated user provisioning",
		Steps: []step{
			{
				ID:     "lookup-nobody",
				Title:  "Before a create the user is looked up, and no user is found",
				Method: "GET",
				Path:   "/Users",
				Query:  named("userName", mail("marlo")),
				Status: []int{200},
				Answer: nobody,
				Why:    whyLookup,
				Fix:    fixLookup,
			},
			{
				ID:       "create",
				Title:    "The user is created with active",
				Method:   "POST",
				Path:     "/Users",
				Body:     with(person("marlo"), doc{"externalId": "${run}g1"}),
				Status:   []int{201},
				Doubtful: []int{200},
				Save:     saveUser,
				State: []state{{Path: "/Users/${user}", Answer: expect{
					Contains: doc{"userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}},
					Keeps:    doc{"displayName": "Marlo Quist", "externalId": "${run}g1"},
				}}},
				Why: whyCreate,
				Fix: fixCreate,
			},
			{
				ID:     "lookup-found",
				Title:  "The lookup finds exactly that user",
				Method: "GET",
				Path:   "/Users",
				Query:  named("userName", mail("marlo")),
				Status: []int{200},
				Answer: found(doc{"id": "${user}"}),
				Why:    "The client links the wrong user, or creates one twice.",
				Fix:    "Apply the filter exactly, and return the matches with their ids.",
			},
			{
				ID:     "update",
				Title:  "A change sends the whole user, with active, by PUT",
				Method: "PUT",
				Path:   "/Users/${user}",
				Status: []int{200},
				Body:   with(person("marlo"), doc{"externalId": "${run}g1", "name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}}),
				State:  after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"familyName": "Quist-Hale"}}),
				Why:    "Changes of names and addresses are lost.",
				Fix:    "Support PUT of users.",
			},
			{
				ID:     "suspend",
				Title:  "Suspension sends active false",
				Method: "PUT",
				Path:   "/Users/${user}",
				Body:   with(person("marlo"), doc{"externalId": "${run}g1", "active": false}),
				Status: []int{200},
				State:  after("/Users/${user}", doc{"active": false, "userName": mail("marlo")}),
				Why:    whyInactive,
				Fix:    fixInactive,
			},
			{
				ID:     "restore",
				Title:  "The end of a suspension sends active true",
				Method: "PUT",
				Path:   "/Users/${user}",
				Body:   with(person("marlo"), doc{"externalId": "${run}g1"}),
				Status: []int{200},
				State:  after("/Users/${user}", doc{"active": true}),
				Why:    "A returning user remains locked out.",
				Fix:    fixInactive,
			},
			{
				ID:     "delete",
				Title:  "The user is deleted",
				Method: "DELETE",
				Path:   "/Users/${user}",
				Status: deleted,
				State:  gone("/Users/${user}"),
				Limit:  "users can only be suspended, not deleted",
				Why:    whyDelete,
				Fix:    fixDelete,
			},
		},
	}},
}
