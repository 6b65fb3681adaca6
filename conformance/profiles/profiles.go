// Package profiles holds the conversations of known provisioning clients as data: the requests they send, in their order,
// the answers they work with, and what a target must hold after each step. A conformance run with profiles gives a second
// verdict beside the RFC's: will this client's provisioning work here?
//
// Where a client is content with more than the RFCs permit, or wants more than they ask for, the conversation follows the
// client. A profile whose requests are not documented or recorded to the last byte says so in its Doubt. The package is no
// simulation of a client's schedule, retries or attribute mappings.
package profiles

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// All returns every profile. The caller may change the slice.
func All() []conformance.Profile {
	return []conformance.Profile{okta, entra, jumpcloud, onelogin, ping, google, authentik}
}

// Short names for what every conversation uses.
type (
	doc    = conformance.Doc
	step   = conformance.Step
	state  = conformance.State
	expect = conformance.Expectation
)

var (
	groupsServed = []conformance.Need{conformance.NeedGroup}
	patched      = []int{200, 204} // both are right (RFC 7644 section 3.5.2)
	deleted      = []int{200, 202, 204}
	saveUser     = map[string]string{"user": "id"}
	saveOther    = map[string]string{"other": "id"}
	saveGroup    = map[string]string{"group": "id"}
	nobody       = expect{Contains: doc{"totalResults": 0, "Resources": []any{}}}
)

// patch is the body of a PATCH.
func patch(operations ...doc) doc {
	return doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}
}

// op is an operation of a PATCH; an empty path is left out, and so is the value Omit.
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

// person is the user that most clients create under a label.
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

// with returns a document with further members.
func with(d doc, more doc) doc {
	for name, value := range more {
		d[name] = value
	}
	return d
}

func mail(label string) string { return "${mail:" + label + "}" }

// found expects exactly one match of a lookup.
func found(member doc) expect {
	return expect{Contains: doc{"totalResults": 1, "Resources": []doc{member}}}
}

// named is the query of a lookup by an attribute.
func named(attribute, value string) []string {
	return []string{"filter", attribute + ` eq "` + value + `"`}
}

// paged adds the first page of a hundred to a query.
func paged(query ...string) []string { return append(query, "startIndex", "1", "count", "100") }

// gone expects that a resource cannot be read any more.
func gone(path string) []state { return []state{{Path: path, Status: 404}} }

// after expects a state of one resource.
func after(path string, contains doc) []state {
	return []state{{Path: path, Answer: expect{Contains: contains}}}
}

// members lists group members by the placeholders of their ids.
func members(names ...string) []doc {
	list := make([]doc, len(names))
	for i, name := range names {
		list[i] = doc{"value": "${" + name + "}"}
	}
	return list
}

// Reasons and hints that several clients share.
const (
	whyLookup   = "The client looks for a user before it creates one; an answer it cannot read stops the assignment."
	fixLookup   = "Answer a filter that matches nobody with 200, totalResults 0 (a JSON integer) and no Resources."
	whyCreate   = "The client links its user to the id in the answer; without it nothing can be updated or deactivated later."
	fixCreate   = "Answer 201 with the whole user, id included, and ignore members that the server does not know."
	whyConflict = "The client tells a name that is taken from a failure by the status 409."
	fixConflict = "Answer 409 with scimType uniqueness when another user has the userName, in any letter case."
	whyInactive = "The account of somebody who has left stays open."
	fixInactive = "Set active as the request says, and keep the user readable and findable while it is false."
	whyMembers  = "The group of the target and that of the client drift apart: people keep access they should lose, or never get it."
	whyDelete   = "What the client believes to be gone stays."
	fixDelete   = "Answer 204, and 404 to everything that follows."
	whyGroup    = "The client links its group to the id in the answer; without it no membership can be pushed."
	fixGroup    = "Answer 201 with the group and its id."
)
