package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// All returns all profiles. The caller may modify the slice.
func All() []conformance.Profile {
	return []conformance.Profile{okta, entra, jumpcloud, onelogin, ping, google, authentik}
}

// Short names for types that all client flows use.
type (
	doc    = conformance.Doc
	step   = conformance.Step
	state  = conformance.State
	expect = conformance.Expectation
)

var (
	groupsServed = []conformance.Need{conformance.NeedGroup}
	patched      = []int{200, 204} // both are permitted (RFC 7644 section 3.5.2)
	deleted      = []int{200, 202, 204}
	saveUser     = map[string]string{"user": "id"}
	saveOther    = map[string]string{"other": "id"}
	saveGroup    = map[string]string{"group": "id"}
	nobody       = expect{Contains: doc{"totalResults": 0, "Resources": []any{}}}
)

// patch returns the body of a PATCH.
func patch(operations ...doc) doc {
	return doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}
}

// op returns an operation of a PATCH. It omits an empty path and the value Omit.
func op(kind, path string, value any) doc {
	d := doc{"op": kind}
	if path != "" {
		d["path"] = path
	}
	if value != conformance.Omit {
		d["value"] = value
	}
	return d
}

// person returns the body with which most clients create a user. The label determines userName and the email address.
func person(label string) doc {
	return doc{
		"schemas":     []string{scim.UserSchema},
		"userName":    mail(label),
		"name":        doc{"givenName": "Marlo", "familyName": "Quist"},
		"emails":      []doc{{"primary": true, "value": mail(label), "type": "work"}},
		"displayName": "Marlo Quist",
		"active":      true,
	}
}

// with adds members to a document and returns the document.
func with(d doc, more doc) doc {
	for name, value := range more {
		d[name] = value
	}
	return d
}

func mail(label string) string { return "${mail:" + label + "}" }

// found returns the expectation of exactly one match of a lookup.
func found(member doc) expect {
	return expect{Contains: doc{"totalResults": 1, "Resources": []doc{member}}}
}

// named returns the query of a lookup by an attribute.
func named(attribute, value string) []string {
	return []string{"filter", attribute + ` eq "` + value + `"`}
}

// paged adds the first page of 100 to a query.
func paged(query ...string) []string { return append(query, "startIndex", "1", "count", "100") }

// gone returns the state in which a GET of the path returns 404.
func gone(path string) []state { return []state{{Path: path, Status: 404}} }

// after returns the expected state of one resource.
func after(path string, contains doc) []state {
	return []state{{Path: path, Answer: expect{Contains: contains}}}
}

// joinedAgain returns the state of a group after a member was added again: it has the members with these names. A target that stores a
// member twice limits the client, which continues.
func joinedAgain(names ...string) []state {
	var each conformance.ContainsAll
	for _, m := range members(names...) {
		each = append(each, m)
	}
	return []state{{Path: "/Groups/${group}", Answer: expect{Contains: doc{"members": each}, Keeps: doc{"members": members(names...)}}}}
}

// members returns group members whose values are placeholders for the ids with these names.
func members(names ...string) []doc {
	list := make([]doc, len(names))
	for i, name := range names {
		list[i] = doc{"value": "${" + name + "}"}
	}
	return list
}

// Texts for Why and Fix that several clients share.
const (
	whyLookup   = "The client searches for a user before it creates one; a response that it cannot read stops the assignment."
	fixLookup   = "Return 200, totalResults 0 (a JSON integer) and no Resources for a filter that matches no user."
	whyCreate   = "The client links its user to the id in the response; without it, the user can be neither updated nor deactivated later."
	fixCreate   = "Return 201 with the whole user, including the id, and ignore members that the server does not support."
	whyConflict = "The client recognizes only by the status 409 that a name is already used; another status counts as another failure."
	fixConflict = "Return 409 with scimType uniqueness if another user has the same userName, ignoring case."
	whyInactive = "The account of a user who has left remains usable."
	fixInactive = "Set active to the value of the request, and return the user in reads and lookups while it is false."
	whyMembers  = "The groups of the target and of the client differ: users retain access that they must lose, or miss access that they need."
	whyDelete   = "A user or group that the client treats as deleted remains on the target, with its access."
	fixDelete   = "Return 204 for the DELETE, and 404 for all later requests for the resource."
	whyGroup    = "The client links its group to the id in the response; without it, no membership can be pushed."
	fixGroup    = "Return 201 with the group and its id."
)
