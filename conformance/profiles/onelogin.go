package profiles

import (
	"net/http"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// onelogin is OneLogin, as described in its developer documentation. Its first request looks up a user that does not exist; it accepts 404
// instead of an empty list.
var onelogin = conformance.Profile{
	ID:     "onelogin",
	Client: "OneLogin",
	Doubt: "The order of the calls is documented, the body of a user's update is not: PUT of the whole user is assumed. Group changes are " +
		"PATCH with the path members.",
	ClientFlows: []conformance.ClientFlow{{
		Title: "SCIM 2.0 provisioner with groups",
		Steps: []step{
			{
				ID:     "lookup-nobody",
				Title:  "The first call looks up a user that does not exist",
				Method: "GET",
				Path:   "/Users",
				Query:  named("userName", mail("marlo")),
				Header: acceptJSON,
				Status: []int{200, 404},
				Answer: nobody,
				Why:    whyLookup,
				Fix:    fixLookup,
			},
			{
				ID:       "create",
				Title:    "The user is created by a request with the Content-Type application/json",
				Method:   "POST",
				Path:     "/Users",
				Header:   plainJSON,
				Body:     with(person("marlo"), doc{"externalId": "${run}ol1"}),
				Status:   []int{201},
				Doubtful: []int{200},
				Save:     saveUser,
				Answer:   expect{Keeps: doc{"userName": mail("marlo")}},
				Why:      whyCreate,
				Fix:      fixCreate + " Accept application/json in addition to application/scim+json.",
			},
			{
				ID:     "read",
				Title:  "The user is read by its id",
				Method: "GET",
				Path:   "/Users/${user}",
				Header: acceptJSON,
				Status: []int{200},
				Keep:   "user",
				Answer: expect{
					Contains: doc{"id": "${user}", "userName": mail("marlo"), "active": true, "name": doc{"givenName": "Marlo", "familyName": "Quist"}},
					Keeps:    doc{"displayName": "Marlo Quist", "externalId": "${run}ol1"},
				},
				Why: "The client compares the user with its own data; if it cannot read the user, every mapping fails.",
				Fix: "Return 200 with the whole user.",
			},
			{
				ID:     "update",
				Title:  "A change sends the whole user by PUT",
				Method: "PUT",
				Path:   "/Users/${user}",
				Header: plainJSON,
				Base:   "user",
				Body:   doc{"name": doc{"givenName": "Marlo", "familyName": "Quist-Hale"}},
				Status: []int{200},
				State:  after("/Users/${user}", doc{"userName": mail("marlo"), "active": true, "name": doc{"familyName": "Quist-Hale"}}),
				Why:    "Changes of names and addresses are lost.",
				Fix:    "Accept PUT of the whole user, and ignore read-only members.",
			},
			{
				ID:     "group-list",
				Title:  "The groups are listed",
				Needs:  groupsServed,
				Method: "GET",
				Path:   "/Groups",
				Header: acceptJSON,
				Status: []int{200},
				Answer: expect{Contains: doc{"totalResults": conformance.AnInteger, "Resources": conformance.AnyList}},
				Why:    "Groups of the target are not offered as entitlements.",
				Fix:    "Return a ListResponse for /Groups.",
			},
			{
				ID:       "group-create",
				Title:    "A group is created",
				Needs:    groupsServed,
				Method:   "POST",
				Path:     "/Groups",
				Header:   plainJSON,
				Body:     doc{"schemas": []string{scim.GroupSchema}, "displayName": "${run}desk"},
				Status:   []int{201},
				Doubtful: []int{200},
				Save:     saveGroup,
				Why:      whyGroup,
				Fix:      fixGroup,
			},
			{
				ID:     "group-join",
				Title:  "A member is added by a PATCH",
				Needs:  groupsServed,
				Method: "PATCH",
				Path:   "/Groups/${group}",
				Header: plainJSON,
				Body:   patch(op("add", "members", members("user"))),
				Status: patched,
				State:  after("/Groups/${group}", doc{"displayName": "${run}desk", "members": members("user")}),
				Why:    whyMembers,
				Fix:    "Add the members of the list by their value; accept application/json.",
			},
			{
				ID:     "group-leave",
				Title:  "The member is removed by a PATCH",
				Needs:  groupsServed,
				Method: "PATCH",
				Path:   "/Groups/${group}",
				Header: plainJSON,
				Body:   patch(op("remove", `members[value eq "${user}"]`, conformance.Omit)),
				Status: patched,
				State:  after("/Groups/${group}", doc{"displayName": "${run}desk", "members": []any{}}),
				Why:    whyMembers,
				Fix:    "Remove exactly the member that the path names.",
			},
			{
				ID:     "suspend",
				Title:  "A user who loses access is suspended (option of the connector)",
				Method: "PUT",
				Path:   "/Users/${user}",
				Header: plainJSON,
				Base:   "user",
				Body:   doc{"active": false},
				Status: []int{200},
				State:  after("/Users/${user}", doc{"active": false, "userName": mail("marlo")}),
				Why:    whyInactive,
				Fix:    fixInactive,
			},
			{
				ID:     "delete",
				Title:  "A user that loses access is deleted, if the connector is configured so",
				Method: "DELETE",
				Path:   "/Users/${user}",
				Header: acceptJSON,
				Status: deleted,
				State:  gone("/Users/${user}"),
				Limit:  "users can only be suspended, not deleted",
				Why:    whyDelete,
				Fix:    fixDelete,
			},
			{
				ID:     "list",
				Title:  "The users are listed",
				Method: "GET",
				Path:   "/Users",
				Header: acceptJSON,
				Status: []int{200},
				Answer: expect{Contains: doc{"totalResults": conformance.AnInteger, "Resources": conformance.AnyList}},
				Why:    "Users of the target cannot be reconciled.",
				Fix:    "Return a ListResponse for /Users.",
			},
		},
	}},
}

// Many clients send application/json.
var (
	acceptJSON = http.Header{"Accept": {"application/json"}}
	plainJSON  = http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}
)
