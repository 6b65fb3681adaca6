package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim"
)

// variant is a style with a fallback.
type variant struct {
	fallback engine.Fallback
	style    engine.Style
}

func (v variant) String() string { return string(v.fallback) + "/" + string(v.style) }

var variants = []variant{
	{engine.FallbackLearn, engine.Catalog}, {engine.FallbackLearn, engine.Wizard}, {engine.FallbackNone, engine.Catalog},
	{engine.FallbackNone, engine.Wizard},
}

// exchange is one sequence in both styles, with a target without errors. TestUser and TestGroup test targets with errors.
type exchange struct {
	name string // what the sequence does
	when string // the situation before it
	user func(*plan.UserInput)
	// group changes the input of a group's sequence. It is set instead of user if the exchange is about a group.
	group   func(*plan.GroupInput)
	answers []string
	wizard  []string // responses for Wizard; nil: as in answers
	none    []string // responses for FallbackNone; nil: as for FallbackLearn. In Wizard, wizard takes precedence
	// wizardNone has the responses for Wizard with FallbackNone, if they differ from those in none. A non-nil empty slice means no request.
	wizardNone []string
}

// chapter is a part of docs/generated/exchanges.md.
type chapter struct {
	title     string
	exchanges []exchange
}

const enterprise = scim.EnterpriseUserSchema

func members(ids ...string) (out []engine.RemoteMember) {
	for _, id := range ids {
		out = append(out, engine.RemoteMember{User: "u-" + id, ID: id, Display: "name-" + id})
	}
	return out
}

func allOf(ids ...string) func() ([]engine.RemoteMember, error) {
	return func() ([]engine.RemoteMember, error) { return members(ids...), nil }
}

func resource(text string) *scim.Resource {
	r, err := scim.DecodeResource([]byte(text))
	if err != nil {
		panic(err)
	}
	return r
}

func chapters() []chapter {
	known := func(in *plan.UserInput) { in.RemoteID, in.Origin, in.MayExist = "r1", engine.Created, true }
	inactive := func(in *plan.UserInput) { known(in); in.Want = engine.Inactive }
	fresh := func(*plan.UserInput) {}
	once := func(in *plan.UserInput) {
		in.OnCreate = resource(`{"schemas":["` + enterprise + `"],"locale":"de-CH","name":{"givenName":"Not this","middleName":"B"},"` +
			enterprise + `":{"costCenter":"1"}}`)
	}
	password := func(in *plan.UserInput) {
		known(in)
		in.SyncPassword, in.PasswordVersion, in.HasPassword = true, "2", "1"
	}
	recycled := func(policy engine.Existing) func(*plan.UserInput) {
		return func(in *plan.UserInput) {
			in.OnRecycled, in.Former = policy, func(*scim.Resource) (string, error) { return "u-2", nil }
		}
	}
	manager := func(id string) func(*plan.UserInput) {
		return func(in *plan.UserInput) {
			known(in)
			value := scim.NewObject(scim.Member{Name: "manager"})
			if id != "" {
				in.Resource.AddSchema(enterprise)
				value.Set("manager", scim.NewObject(scim.Member{Name: "value", Value: id}))
			}
			in.Resource.Set(enterprise, value)
		}
	}
	led := strings.Replace(strings.Replace(same, `"],"id"`, `","`+enterprise+`"],"id"`, 1), `"active"`,
		`"`+enterprise+`":{"department":"D","manager":{"value":"r9","$ref":"../Users/r9","displayName":"Bob"}},"active"`, 1)
	pushed := func(in *plan.GroupInput) { in.RemoteID, in.RemoteName, in.Origin = "g1", "Tea", engine.Created }
	const (
		found   = `200 {"totalResults":1,"startIndex":1,"itemsPerPage":1,"Resources":[` + same + `]}`
		created = `201 ` + same
		group   = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`
	)
	both := strings.Replace(group, `{"value":"a"}`, `{"value":"a"},{"value":"b"}`, 1)
	inactiveFound := strings.Replace(found, `"active":true`, `"active":false`, 1)
	off := strings.Replace(same, `"active":true`, `"active":false`, 1)
	other := strings.Replace(same, `"givenName":"Ann"`, `"givenName":"Anna"`, 1)
	return []chapter{
		{"Users: lookup and create", []exchange{
			{name: "create, an empty list", when: "assigned, and no account is known; the lookup returns an empty list", user: fresh,
				answers: []string{none, created}},
			{name: "create, a 404", when: "the same, and the lookup returns 404", user: fresh, answers: []string{missing, created}},
			{name: "create with attributes that are only sent then", when: "the same, and UserState.OnCreate has some", user: once,
				answers: []string{none, created}},
			{name: "create, and the account exists", when: "the create returns 409", user: fresh,
				answers: []string{none, `409 {"scimType":"uniqueness"}`, found, `200 ` + same}, none: []string{none, `409 {"scimType":"uniqueness"}`}},
			{name: "create, an empty body", when: "the create returns 201 without a body, which is a failure", user: fresh,
				answers: []string{none, `201`}},
			{name: "create again after a lost response", when: "an earlier create had no response, and no account exists",
				user:    func(in *plan.UserInput) { in.MayExist, in.Origin = true, engine.Unconfirmed },
				answers: []string{none, none, created}, none: []string{none, created}},
		}},
		{"Users: link", []exchange{
			{name: "link an active account", when: "assigned, and the lookup finds an account with the desired state", user: fresh,
				answers: []string{found, `200 ` + same}},
			{name: "link an active account that differs", when: "the same, and the account has other values", user: fresh,
				answers: []string{strings.Replace(found, "Ann", "Anna", 1), `200 ` + other, `200 ` + same}},
			{name: "link an inactive account", when: "the same, and the account is inactive", user: fresh,
				answers: []string{inactiveFound, `200 ` + off, `200 ` + same}},
			{name: "link an inactive account without rights to deactivate",
				when:    "the same, and the app does not deactivate users: the engine activates the account and creates no other one",
				user:    func(in *plan.UserInput) { in.Deactivate = false },
				answers: []string{inactiveFound, `200 ` + off, `200 ` + same}},
			{name: "link without rights to update", when: "the lookup finds an active account, and the app neither updates nor deactivates users",
				user: func(in *plan.UserInput) { in.Update, in.Deactivate = false, false }, answers: []string{found}},
		}},
		{"Users: ownership of accounts", []exchange{
			{name: "an existing account requires a decision", when: "assigned, the lookup finds an account, and Target.OnExisting is LinkAsk",
				user: func(in *plan.UserInput) { in.OnExisting = engine.LinkAsk }, answers: []string{one}},
			{name: "an existing account is rejected", when: "the same, and Target.OnExisting is LinkNever", user: func(in *plan.UserInput) {
				in.OnExisting = engine.LinkNever
			}, answers: []string{one}},
			{name: "links are halted", when: "the same, and link is halted", user: func(in *plan.UserInput) {
				in.HaltedLinks = func() (string, error) { return "link is halted for this app: an audit", nil }
			}, answers: []string{one}},
			{name: "a recycled name requires a decision", when: "the account belongs or belonged to another user, and Target.OnRecycled is LinkAsk",
				user: recycled(engine.LinkAsk), answers: []string{one}},
			{name: "a recycled name is rejected", when: "the same, and Target.OnRecycled is LinkNever", user: recycled(engine.LinkNever),
				answers: []string{one}},
			{name: "a recycled name is linked", when: "the same, and Target.OnRecycled is LinkAuto", user: recycled(engine.LinkAuto),
				answers: []string{one, `200 ` + other, `200 ` + same}},
			{name: "a recycled name with our own identifier", when: "the same, and the account has the user's externalId",
				user: recycled(engine.LinkAsk), answers: []string{found, `200 ` + same}},
			{name: "a recycled name is not deactivated",
				when: "unassigned, no account is known, and the lookup finds one that belongs or belonged to another user",
				user: func(in *plan.UserInput) {
					recycled("")(in)
					in.Want, in.MayExist = engine.Absent, true
				}, answers: []string{one}},
			{name: "an account that may be ours is not deactivated",
				when: "the same with an account of no known user, and Target.OnExisting is LinkAsk or LinkNever", user: func(in *plan.UserInput) {
					in.Want, in.MayExist, in.OnExisting = engine.Absent, true, engine.LinkAsk
				}, answers: []string{strings.Replace(one, `,"externalId":"other"`, "", 1)}},
			{name: "an account that is not ours is not deactivated", when: "the same, and the account has another externalId",
				user: func(in *plan.UserInput) {
					in.Want, in.MayExist, in.OnExisting = engine.Absent, true, engine.LinkAsk
				}, answers: []string{one}},
			{name: "a rename to a tombstone", when: "the new name matches Target.HoldNames", user: func(in *plan.UserInput) {
				known(in)
				in.Resource.Set("userName", "deleted-ann")
				in.HoldName = func(name string) bool { return name == "deleted-ann" }
			}, answers: []string{`200 ` + off}},
			{name: "an account without an id", when: "the lookup finds an account without an id", user: fresh,
				answers: []string{`200 {"totalResults":1,"Resources":[{"userName":"ann"}]}`}},
			{name: "several accounts", when: "the lookup finds several", user: fresh, answers: []string{two}},
		}},
		{"Users: update", []exchange{
			{name: "update", when: "a mapped attribute changed", user: known, answers: []string{`200 etag=W/"7" ` + other, `200 ` + same}},
			{name: "update, nothing changed", when: "the account has the desired state", user: known, answers: []string{`200 ` + same}},
			{name: "update ignores what was only sent at create",
				when:    "the account lacks, or has other values for, the attributes of UserState.OnCreate",
				user:    func(in *plan.UserInput) { known(in); once(in) },
				answers: []string{`200 ` + strings.Replace(other, `"nick"`, `"locale":"fr","nick"`, 1), `200 ` + same}},
			{name: "update, changed concurrently", when: "the write returns 412", user: known,
				answers: []string{`200 etag=W/"7" ` + other, `412`, `200 etag=W/"8" ` + other, `200 ` + same}},
			{name: "update, the account is missing", when: "the read returns 404, and Target.OnMissing is Fail", user: func(in *plan.UserInput) {
				known(in)
				in.OnMissing = engine.Fail
			}, answers: []string{`404`}},
			{name: "update, the account is missing and created again", when: "the same, and Target.OnMissing is Recreate", user: known,
				answers: []string{`404`, none, none, `201 ` + strings.Replace(same, "r1", "r2", 1)},
				none:    []string{`404`, none, `201 ` + strings.Replace(same, "r1", "r2", 1)}},
			{name: "update of an inactive account",
				when: "a mapped attribute changed, the account is inactive, and the app does not deactivate users: the engine also activates the " +
					"account",
				user:    func(in *plan.UserInput) { known(in); in.Deactivate = false },
				answers: []string{`200 ` + strings.Replace(other, `"active":true`, `"active":false`, 1), `200 ` + other, `200 ` + same},
				wizard:  []string{`200 ` + strings.Replace(other, `"active":true`, `"active":false`, 1), `200 ` + same}},
		}},
		{"Users: manager", []exchange{
			{name: "manager unknown yet", when: "assigned, and UserState.Manager has no account: created without a manager", user: fresh,
				answers: []string{none, created}},
			{name: "manager", when: "the manager got an account", user: manager("r9"), answers: []string{`200 ` + same, `200 ` + led}},
			{name: "manager, another one", when: "the manager has changed, or has another account", user: manager("r8"),
				answers: []string{`200 ` + led, `200 ` + strings.Replace(led, "r9", "r8", 1)}},
			{name: "manager, nothing changed", when: "the account has this manager", user: manager("r9"), answers: []string{`200 ` + led}},
			{name: "manager removed", when: "no manager is desired any longer, or the manager is not desired in the app", user: manager(""),
				answers: []string{`200 ` + led, `200 ` + same}},
			{name: "manager still absent", when: "the same, and the account has no manager", user: manager(""), answers: []string{`200 ` + same}},
		}},
		{"Users: deactivate and reactivate", []exchange{
			{name: "deactivate", when: "unassigned, or inactive in the directory", user: inactive, answers: []string{`204`},
				none:   []string{`204`, `200 ` + off},
				wizard: []string{`200 etag=W/"7" ` + same, `200 ` + off}},
			{name: "deactivate, the account is missing", when: "the target has no such account, which is a success", user: inactive,
				answers: []string{missing, missing}, wizard: []string{missing}},
			{name: "deactivate, nothing known", when: "unassigned before anything was sent", user: func(in *plan.UserInput) {
				in.Want = engine.Absent
			}},
			{name: "deactivate after a lost create", when: "unassigned after a create whose response was lost", user: func(in *plan.UserInput) {
				in.Want, in.MayExist, in.Origin = engine.Absent, true, engine.Unconfirmed
			},
				answers: []string{found, `204`}, none: []string{found, `204`, `200 ` + off}, wizard: []string{found, `200 ` + same, `200 ` + off}},
			{name: "suspended", when: "the directory says Keep", user: func(in *plan.UserInput) { known(in); in.Want = engine.Keep }},
			{name: "reactivate", when: "assigned again, and the account is inactive", user: known, answers: []string{`200 ` + off, `200 ` + same}},
			{name: "reactivate and update", when: "the same, and the account has other values", user: known,
				answers: []string{`200 ` + strings.Replace(other, `"active":true`, `"active":false`, 1), `200 ` + other, `200 ` + same},
				wizard:  []string{`200 ` + strings.Replace(other, `"active":true`, `"active":false`, 1), `200 ` + same}},
		}},
		{"Users: password", []exchange{
			{name: "password", when: "the account is not known to have this UserState.PasswordVersion, and Target.SyncPasswords is set",
				user:    password,
				answers: []string{`200 ` + same, `204`}, wizard: []string{`200 ` + same, `200 ` + same}},
			{name: "password, and an update", when: "the same, and a mapped attribute changed", user: password,
				answers: []string{`200 ` + other, `200 ` + same, `204`}, wizard: []string{`200 ` + other, `200 ` + same}},
			{name: "password, and a reactivation", when: "the same, and the account is inactive", user: password,
				answers: []string{`200 ` + off, `200 ` + same, `204`}, wizard: []string{`200 ` + off, `200 ` + same}},
			{name: "password at a create", when: "the create sends it", user: func(in *plan.UserInput) {
				in.SyncPassword, in.PasswordVersion = true, "2"
			}, answers: []string{none, created}},
			{name: "password of a linked account", when: "assigned, and the lookup finds an account", user: func(in *plan.UserInput) {
				in.SyncPassword, in.PasswordVersion = true, "2"
			},
				answers: []string{found, `200 ` + same, `204`}, wizard: []string{found, `200 ` + same, `200 ` + same}},
			{name: "password that is known", when: "the account has this version", user: func(in *plan.UserInput) {
				password(in)
				in.HasPassword = "2"
			}, answers: []string{`200 ` + same}},
			{name: "password that is not synced", when: "Target.SyncPasswords is not set", user: func(in *plan.UserInput) {
				password(in)
				in.SyncPassword = false
			}, answers: []string{`200 ` + same}},
			{name: "password alone", when: "the app neither updates nor deactivates users", user: func(in *plan.UserInput) {
				password(in)
				in.Update, in.Deactivate = false, false
			},
				answers: []string{`200 ` + other, `204`}, wizard: []string{`200 ` + other, `200 ` + other}},
		}},
		{"Groups", []exchange{
			{name: "group create", when: "pushed, and the lookup finds none", group: func(in *plan.GroupInput) {
				in.Members = allOf("a")
			}, answers: []string{none, `201 ` + group}},
			{name: "group create in batches", when: "the same, with more members than fit in one request", group: func(in *plan.GroupInput) {
				in.Batch, in.Members = 2, allOf("a", "b", "c")
			},
				answers: []string{none, `201 {"id":"g1"}`, `204`}, none: []string{none, `201 {"id":"g1"}`},
				wizard: []string{none, `201 {"id":"g1"}`, `200 ` + group, `204`}, wizardNone: []string{none, `201 {"id":"g1"}`}},
			{name: "group replaced in batches", when: "the push is active again, with more members than fit in one request",
				group: func(in *plan.GroupInput) {
					pushed(in)
					in.Full, in.Batch, in.Members = true, 2, allOf("a", "b", "c")
				}, answers: []string{`204`, `204`}, none: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group link", when: "pushed, and the lookup finds one", group: func(in *plan.GroupInput) { in.Members = allOf("a", "b") },
				answers: []string{`200 {"Resources":[` + group + `]}`, `204`},
				wizard:  []string{`200 {"Resources":[` + group + `]}`, `200 etag=W/"1" ` + group, `204`}},
			{name: "group delta", when: "members joined and left", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Add, in.Remove, in.Members = members("b"), members("a"), allOf("b")
			}, answers: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group rename", when: "its name has changed", group: func(in *plan.GroupInput) {
				pushed(in)
				in.DisplayName, in.Members = "Coffee", allOf("a")
			},
				answers: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group rename with a delta", when: "its name has changed, and members joined and left", group: func(in *plan.GroupInput) {
				pushed(in)
				in.DisplayName, in.Add, in.Members = "Coffee", members("b"), allOf("a", "b")
			}, answers: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group replace", when: "the members on the target are unknown, or all members were marked",
				group:   func(in *plan.GroupInput) { pushed(in); in.Full, in.Members = true, allOf("a", "b") },
				answers: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group nothing changed", when: "marked without a change", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Members = allOf("a")
			}, wizard: []string{`200 ` + group}},
			{name: "group push stopped", when: "the push is inactive", group: func(in *plan.GroupInput) { pushed(in); in.Want = engine.Inactive }},
			{name: "group push reactivated", when: "the push is active again: all members are sent", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Full, in.Members = true, allOf("a", "c")
			},
				answers: []string{`204`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group is missing", when: "the group no longer exists, and Target.OnMissing is Fail", group: func(in *plan.GroupInput) {
				pushed(in)
				in.DisplayName, in.Members, in.OnMissing = "Coffee", allOf("a"), engine.Fail
			}, answers: []string{`404`, none, none}, wizard: []string{`404`}},
			{name: "group is missing and created again", when: "all members are sent, and the group no longer exists",
				group:   func(in *plan.GroupInput) { pushed(in); in.Full, in.Members = true, allOf("a") },
				answers: []string{`404`, none, `201 {"id":"g2"}`}},
			{name: "group delete", when: "no longer pushed, and GroupState.DeleteRemote is set", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Want, in.DeleteRemote = engine.Absent, true
			}, answers: []string{`204`}},
			{name: "group delete, the group is missing", when: "the same, and the target has no such group", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Want, in.DeleteRemote = engine.Absent, true
			}, answers: []string{`404`}},
			{name: "group unlink", when: "no longer pushed, and the group stays", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Want = engine.Absent
			}},
		}},
		{"Users: a target with errors", []exchange{
			{name: "no lookup", when: "the target rejects the filter", user: fresh,
				answers: []string{`400 {"scimType":"invalidFilter"}`, none, created}, none: []string{`400 {"scimType":"invalidFilter"}`}},
			{name: "a 404 of another server", when: "the lookup returns a 404 that is not a SCIM error", user: fresh,
				answers: []string{`404 page=text/html`}},
			{name: "no method", when: "the target does not support the method that deactivates", user: inactive,
				answers: []string{`405`, `200 ` + same, `200 ` + off}, none: []string{`405`},
				wizard: []string{`200 ` + same, `405`, `204`}, wizardNone: []string{`200 ` + same, `405`}},
			{name: "no route for the method", when: "the target returns 404 for the method that deactivates, and has the account", user: inactive,
				answers: []string{`404`, `200 ` + same, `200 ` + same, `200 ` + off}, none: []string{`404`, `200 ` + same},
				wizard: []string{`200 ` + same, `404`, `200 ` + same, `204`}, wizardNone: []string{`200 ` + same, `404`, `200 ` + same}},
			{name: "no effect of a deactivation", when: "the target returns success, and the account stays active", user: inactive,
				answers:    []string{`200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + off},
				none:       []string{`200 ` + same, `200 ` + same},
				wizard:     []string{`200 ` + same, `200 ` + same, `200 ` + same, `200 ` + off},
				wizardNone: []string{`200 ` + same, `200 ` + same, `200 ` + same}},
			{name: "no effect of an update", when: "the target returns success, and the account does not change", user: known,
				answers: []string{`200 ` + other, `200 ` + other, `200 ` + other, `200 ` + same},
				none:    []string{`200 ` + other, `200 ` + other, `200 ` + other},
				wizard:  []string{`200 ` + other, `200 ` + other, `200 ` + other}},
			{name: "a stale response to an update", when: "the response lacks the new value, and the account has it", user: known,
				answers: []string{`200 ` + other, `200 ` + other, `200 ` + same}},
			{name: "an update is rejected", when: "the target does not support PUT", user: known,
				answers: []string{`200 ` + other, `405`, `200 ` + same}, none: []string{`200 ` + other, `405`}},
			{name: "a reactivation is rejected", when: "assigned again, and the target does not support the method that activates", user: known,
				answers: []string{`200 ` + off, `405`, `200 ` + same}, none: []string{`200 ` + off, `405`}},
			{name: "a password is rejected", when: "the target does not support the method that sets the password", user: password,
				answers: []string{`200 ` + same, `405`, `200 ` + same, `200 ` + same}, none: []string{`200 ` + same, `405`},
				wizard: []string{`200 ` + same, `405`, `204`}, wizardNone: []string{`200 ` + same, `405`}},
		}},
		{"Groups: a target with errors", []exchange{
			{name: "group exists", when: "the create returns 409", group: func(in *plan.GroupInput) { in.Members = allOf("a") },
				answers: []string{none, `409`, `200 {"Resources":[` + group + `]}`, `204`}, none: []string{none, `409`},
				wizard: []string{none, `409`, `200 {"Resources":[` + group + `]}`, `200 ` + group}, wizardNone: []string{none, `409`}},
			{name: "group without a method", when: "the target does not support the method that changes members", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Add, in.Members = members("b"), allOf("a", "b")
			}, answers: []string{`405`, `200 ` + group, `204`}, none: []string{`405`},
				wizard: []string{`200 ` + group, `405`, `204`}, wizardNone: []string{`200 ` + group, `405`}},
			{name: "group without effect", when: "the target returns success, and the group does not change", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Add, in.Members = members("b"), allOf("a", "b")
			}, answers: []string{`200 ` + group, `200 ` + group, `204`}, none: []string{`200 ` + group},
				wizard:     []string{`200 ` + group, `200 ` + group, `200 ` + group, `204`},
				wizardNone: []string{`200 ` + group, `200 ` + group, `200 ` + group}},
			{name: "group without its members", when: "the target returns success for a replacement, and other members remain",
				group: func(in *plan.GroupInput) {
					pushed(in)
					in.Full, in.Members = true, allOf("b")
				}, answers: []string{`200 ` + both, `200 ` + both, `204`}, none: []string{`200 ` + both},
				wizard: []string{`200 ` + both, `200 ` + strings.Replace(group, `{"value":"a"}`, `{"value":"b"}`, 1)}},
			{name: "no group lookup", when: "the target rejects the filter", group: func(in *plan.GroupInput) { in.Members = allOf("a") },
				answers: []string{`400 {"scimType":"invalidFilter"}`, none, `201 ` + group}, none: []string{`400 {"scimType":"invalidFilter"}`}},
			{name: "group create in one request", when: "the target rejects that many members", group: func(in *plan.GroupInput) {
				in.Members = allOf("a", "b")
			},
				answers: []string{none, `413`, `201 {"id":"g1"}`, `204`}, none: []string{none, `413`},
				wizard: []string{none, `413`, `201 {"id":"g1"}`, `200 ` + group, `204`}, wizardNone: []string{none, `413`}},
			{name: "group member that cannot be removed", when: "the target rejects the form that removes a member",
				group: func(in *plan.GroupInput) {
					pushed(in)
					in.Remove, in.Members = members("a"), allOf("b")
				}, answers: []string{`400`, `204`}, none: []string{`400`}, wizard: []string{`200 ` + group, `204`}},
			{name: "group in one request", when: "the target rejects that many members", group: func(in *plan.GroupInput) {
				pushed(in)
				in.Add, in.Members = members("b", "c"), allOf("a", "b", "c")
			}, answers: []string{`413`, `204`, `204`}, none: []string{`413`}, wizard: []string{`200 ` + group, `413`}},
		}},
	}
}

// given returns the responses for a variant.
func (x exchange) given(v variant) []string {
	answers := x.answers
	strict := v.fallback == engine.FallbackNone
	if strict && x.none != nil {
		answers = x.none
	}
	if v.style == engine.Wizard && x.wizard != nil {
		answers = x.wizard
	}
	if strict && v.style == engine.Wizard && x.wizardNone != nil {
		answers = x.wizardNone
	}
	return answers
}

func (x exchange) run(t *testing.T, v variant) string {
	t.Helper()
	answers := script(t, x.given(v)...)
	if x.group != nil {
		in := plan.GroupInput{Want: engine.Active, DisplayName: "Tea", Style: v.style, Fallback: v.fallback}
		x.group(&in)
		return transcript(t, plan.Group(in), answers)
	}
	in := ann(t)
	in.Style, in.Fallback = v.style, v.fallback
	x.user(&in)
	return transcript(t, plan.User(in), answers)
}

// TestExchanges lists all sequences with their requests, for both styles and both fallbacks.
func TestExchanges(t *testing.T) {
	for _, c := range chapters() {
		for _, x := range c.exchanges {
			for _, v := range variants {
				t.Run(v.String()+"/"+x.name, func(t *testing.T) { golden(t, x.run(t, v)) })
			}
		}
	}
}

// TestFallbackNone_OnlyListedForms checks that with FallbackNone all requests have the preferred forms of the style.
func TestFallbackNone_OnlyListedForms(t *testing.T) {
	for _, c := range chapters() {
		for _, x := range c.exchanges {
			for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
				file, err := os.ReadFile(variant{engine.FallbackNone, style}.file(x))
				require.NoError(t, err)
				text := string(file)
				require.NotContains(t, text, "instead: ")
				require.NotContains(t, text, "externalId%20eq")
				require.NotContains(t, text, "learned=")
				if style == engine.Wizard {
					require.NotContains(t, text, "PATCH /", x.name)
				} else {
					require.NotContains(t, text, "PUT /Groups", x.name)
				}
				for line := range strings.Lines(text) {
					if strings.Contains(line, `"Operations"`) && strings.Contains(text, "PATCH /Users") {
						require.Regexp(t, onlyOperation, line, x.name)
					}
				}
			}
		}
	}
}

// onlyOperation matches the documented PATCH of a user: one replace operation without a path that sets active or the password.
var onlyOperation = regexp.MustCompile(`"Operations":\[\{"op":"replace","value":\{("active":(true|false)|"password":"[^"]*")\}\}\]`)

// file returns the path of the golden file of an exchange.
func (v variant) file(x exchange) string {
	return fmt.Sprintf("testdata/TestExchanges/%s/%s.txt", v, strings.ReplaceAll(x.name, " ", "_"))
}

const exchangesHead = `# Requests of each sequence

This page is for developers of SCIM servers that the engine provisions, and for operators who read its requests.

This page lists every sequence of the engine. A sequence consists of the requests that bring one user or group of a target into its ` +
	`desired state
([engine.md](../reference/engine.md) defines the terms). There are rows for both styles and both fallbacks:

| Style or fallback | Meaning |
|---|---|
| style ` + "`catalog`" + ` | PATCH for activation, deactivation, password and group membership, PUT for other updates |
| style ` + "`wizard`" + ` | PUT for all updates |
| fallback ` + "`learn`" + ` | after a rejection, or a success without effect, the engine sends another form of the request |
| fallback ` + "`none`" + ` | the engine sends only the forms of the style, and does not use learned traits of the target. After each ` +
	`response without the account, such as 204, it reads the account |

A row without a fallback is the same for both. The style ` + "`auto`" + ` is ` + "`wizard`" + ` if the target declares PATCH as ` +
	`unsupported, otherwise ` + "`catalog`" + `.

The column "Requests" has each request with the status of its response. Of the body of a PATCH, it has the operations. It omits all ` +
	`other bodies, the paging parameters, and the URL encoding of filters.
The column "Outcome" has the outcome of the sequence ([outcomes](../reference/engine.md#outcomes)) and the operation. The style of each ` +
	`row is a link to the golden file with the complete exchange,
with which the tests compare the requests of the engine. ` + "`go test ./engine/internal/plan -run TestExchangeIndex -update`" + ` ` +
	`generates this page from these files.
`

// TestExchangeIndex generates docs/generated/exchanges.md from the golden files.
func TestExchangeIndex(t *testing.T) {
	read := func(v variant, x exchange) string {
		text, err := os.ReadFile(v.file(x))
		require.NoError(t, err)
		return string(text)
	}
	var b strings.Builder
	b.WriteString(exchangesHead)
	for _, c := range chapters() {
		fmt.Fprintf(&b, "\n## %s\n\n| Sequence | When | Style | Fallback | Requests | Outcome |\n|---|---|---|---|---|---|\n", c.title)
		for _, x := range c.exchanges {
			for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
				learn, none := variant{engine.FallbackLearn, style}, variant{engine.FallbackNone, style}
				row := func(v variant, fallback string) {
					requests, outcome := summary(t, read(v, x))
					fmt.Fprintf(&b, "| %s | %s | [%s](../../engine/internal/plan/%s) | %s | %s | %s |\n", x.name, x.when, style, v.file(x), fallback,
						requests, outcome)
				}
				if read(learn, x) == read(none, x) {
					row(learn, "")
					continue
				}
				row(learn, "learn")
				row(none, "none")
			}
		}
	}
	index := filepath.Join("..", "..", "..", "docs", "generated", "exchanges.md")
	goldentest.Check(t, index, b.String())
}

var (
	requestLine = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (\S+)$`)
	answerLine  = regexp.MustCompile(`^  -> (\d+)$`)
	outcomeLine = regexp.MustCompile(`^= (\S+) (\S+) `)
)

// summary returns a golden file in one line: the requests with the status of their responses, and the outcome.
func summary(t *testing.T, text string) (requests, outcome string) {
	t.Helper()
	var steps []string
	step := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := requestLine.FindStringSubmatch(line); m != nil {
			path := strings.NewReplacer("%20", " ", "%22", `"`, "&startIndex=1&count=100", "").Replace(m[2])
			step = "`" + m[1] + " " + path
		} else if m := answerLine.FindStringSubmatch(line); m != nil {
			steps = append(steps, step+"` "+m[1])
		} else if m := outcomeLine.FindStringSubmatch(line); m != nil {
			outcome = m[1] + " " + m[2]
		} else if _, operations, ok := strings.Cut(line, `"Operations":[`); ok {
			step += " " + strings.TrimSuffix(operations, "]}")
		}
	}
	require.NotEmpty(t, outcome, "the last line has the outcome")
	if len(steps) == 0 {
		return "none", outcome
	}
	return strings.Join(steps, "<br>"), outcome
}
